//! A box of elements to move.

use crate::clip::{Part, clip};
use crate::crowded::near_page;
use crate::error::{Buffer, NestError};
use crate::isa::Isa;
use crate::kernel::Kernel;
use crate::nest::{Loop, Nest};
use crate::parts::{Parts, count, cuts};
use crate::prepared::Prepared;
use crate::simd::LINE;
use crate::streaming::streams;
use crate::tuning::Tuning;

/// The strides of a loop, of the source and of the destination.
const SIDES: [fn(&Loop) -> isize; 2] = [|l| l.source, |l| l.destination];

/// A box of elements to move from one buffer to another: checked and prepared once, run often.
///
/// It holds no pointer and no state that a run changes, so one `Move` may be run by many threads at once, on the same
/// or on different buffers.
///
/// The positions written must be distinct for the result to be determined: where two elements have the same place in
/// the destination, either may win. Sources may repeat (stride 0) and either side may walk backwards.
///
/// # Example
///
/// Two threads share a destination by windows, each of which is run on its own:
///
/// ```
/// use minormajor_kernels::{Loop, Move};
/// let reverse = Move::new(1, 4, 0, &[Loop { extent: 5, source: -1, destination: 1 }])?;
/// let mut word = [0; 5];
/// let (left, right) = word.split_at_mut(2);
/// std::thread::scope(|threads| {
///     threads.spawn(|| reverse.run_window(b"lever", left, 0));
///     threads.spawn(|| reverse.run_window(b"lever", right, 2));
/// });
/// assert_eq!(&word, b"revel");
/// # Ok::<(), minormajor_kernels::NestError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Move(Box<Made>);

/// Built in its place, as it is large.
#[derive(Debug, Clone)]
struct Made {
    nest: Nest,
    prepared: Prepared,
    isa: Isa,
    /// Whether the whole move streams; so does then every window of it,
    stream: bool,
    /// and every part that several threads share.
    share: bool,
}

impl Move {
    /// Checks a nest and chooses its kernel.
    ///
    /// `width` is the size of an element in bytes; `source` and `destination` are the byte offsets of the element
    /// whose indices are all zero. Loops may come in any order. Those with an extent of 1 are dropped, neighbours
    /// merged; an extent of 0 makes a move of nothing.
    ///
    /// # Errors
    ///
    /// [`NestError::Width`] unless the width is 1, 2, 4, 8 or 16; [`NestError::BeforeStart`] if a negative stride
    /// leads out of a buffer; [`NestError::Overflow`] if the reach on either side, or elements times width, is more
    /// than `isize::MAX`.
    pub fn new(
        width: usize,
        source: usize,
        destination: usize,
        loops: &[Loop],
    ) -> Result<Move, NestError> {
        Move::tuned(width, source, destination, loops, &Tuning::default())
    }

    /// As [`new`](Move::new), with an instruction set and a kind of stores that the caller chose.
    ///
    /// # Errors
    ///
    /// As `new`.
    pub fn tuned(
        width: usize,
        source: usize,
        destination: usize,
        loops: &[Loop],
        tuning: &Tuning,
    ) -> Result<Move, NestError> {
        Nest::check_width(width)?;
        let isa = tuning.isa;
        let mut made = Box::write(
            Box::new_uninit(),
            Made {
                nest: Nest::empty(width),
                prepared: Prepared::empty(isa),
                isa,
                stream: false,
                share: false,
            },
        );
        made.nest.set((width, width), source, destination, loops)?;
        (made.stream, made.share) = streams(&made.nest, tuning);
        made.prepared = Prepared::new(width, &made.nest.loops, isa, made.stream);
        Ok(Move(made))
    }

    /// Moves every element.
    ///
    /// # Errors
    ///
    /// [`NestError::TooShort`] if an element lies outside a buffer; then nothing has been written.
    #[inline]
    pub fn run(&self, source: &[u8], destination: &mut [u8]) -> Result<(), NestError> {
        self.check(source, destination)?;
        if self.0.nest.bytes == 0 {
            return Ok(());
        }
        // SAFETY: `prepared` was made from this nest's loops and width. By the invariants of `Nest` all bytes that it
        // touches lie in 0..source_end and 0..destination_end when it starts at the nest's offsets; the two
        // comparisons above put these ends inside the slices. A shared and an exclusive slice do not overlap.
        unsafe {
            self.0.prepared.run(
                source.as_ptr().offset(self.0.nest.source),
                destination.as_mut_ptr().offset(self.0.nest.destination),
            );
        }
        Ok(())
    }

    /// Moves every element in about `parts` parts, which threads take in turn.
    ///
    /// `team` is called once, with a function that moves a part that nobody has taken, says how many bytes it had, and
    /// `None` once no part is left. It may call this from as many threads as it likes, each with a number of its own,
    /// best below `threads`; what it leaves is moved here after it returns. There are fewer parts, down to one, where
    /// more would make them slow, and where elements may share bytes of the destination.
    ///
    /// ```
    /// use minormajor_kernels::{Loop, Move};
    /// let every_second = Move::new(1, 0, 0, &[Loop { extent: 4, source: 2, destination: 1 }])?;
    /// let mut letters = [0; 4];
    /// every_second.run_parts(b"a-b-c-d", &mut letters, 2, 2, |take| {
    ///     std::thread::scope(|threads| {
    ///         threads.spawn(|| while take(1).is_some() {});
    ///         while take(0).is_some() {}
    ///     })
    /// })?;
    /// assert_eq!(&letters, b"abcd");
    /// # Ok::<(), minormajor_kernels::NestError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run`](Move::run).
    pub fn run_parts(
        &self,
        source: &[u8],
        destination: &mut [u8],
        parts: usize,
        threads: usize,
        team: impl FnOnce(&(dyn Fn(usize) -> Option<usize> + Sync)),
    ) -> Result<(), NestError> {
        self.check(source, destination)?;
        if self.0.nest.bytes == 0 {
            return Ok(());
        }
        // SAFETY: as in `run`. The slices stay borrowed until this returns, and so does what `team` is given: its
        // lifetime ends with the call.
        let parts = unsafe {
            Parts::new(
                self,
                parts,
                threads,
                source.as_ptr().offset(self.0.nest.source),
                destination.as_mut_ptr().offset(self.0.nest.destination),
            )
        };
        team(&|thread| parts.take(thread));
        while parts.take(0).is_some() {}
        Ok(())
    }

    /// The parts that [`run_parts`](Move::run_parts) makes when asked for so many.
    pub fn count_parts(&self, parts: usize) -> usize {
        count(&cuts(&self.0.nest, parts))
    }

    /// Moves the elements that lie in bytes `start .. start + window.len()` of the destination, where `window` is
    /// that part of it.
    ///
    /// Windows that together cover the destination do together what [`run`](Move::run) does. The source is always
    /// the whole one.
    ///
    /// # Errors
    ///
    /// [`NestError::TooShort`] if the source does not hold every element of the whole move, also those outside the
    /// window; [`NestError::CutElement`] if an edge of the window lies inside an element. Nothing has been written
    /// then.
    pub fn run_window(
        &self,
        source: &[u8],
        window: &mut [u8],
        start: usize,
    ) -> Result<(), NestError> {
        self.check_source(source)?;
        if self.0.nest.bytes == 0 {
            return Ok(());
        }
        let end = start.saturating_add(window.len());
        if start <= self.0.nest.destination as usize && end >= self.0.nest.destination_end {
            let destination = self.0.nest.destination - start as isize;
            // SAFETY: as in `run`. The destination's bytes are nest.destination..nest.destination_end, as its strides
            // are not negative; both are inside start..end, which are the bytes that `window` holds.
            unsafe {
                self.0.prepared.run(
                    source.as_ptr().offset(self.0.nest.source),
                    window.as_mut_ptr().offset(destination),
                );
            }
            return Ok(());
        }
        // The whole window is looked at before anything is written.
        clip(&self.0.nest, start, end, &mut |_| {})?;
        clip(&self.0.nest, start, end, &mut |part| {
            self.run_part(source, window, start, &part)
        })
    }

    /// Runs one box of the clipped nest, which `clip` has put inside the window, on a source that holds the whole.
    fn run_part(&self, source: &[u8], window: &mut [u8], start: usize, part: &Part<'_>) {
        let mut run = |loops: &[Loop]| {
            let prepared = Prepared::new(self.0.nest.width, loops, self.0.isa, self.0.stream);
            // SAFETY: the part is a sub-box of the nest, so its source bytes lie inside `source`, whose length was
            // compared with `source_end`; `clip` promises that its destination bytes lie inside the window, which
            // starts at byte `start` of the destination. The slices do not overlap.
            unsafe {
                prepared.run(
                    source.as_ptr().offset(part.source),
                    window
                        .as_mut_ptr()
                        .offset(part.destination - start as isize),
                );
            }
        };
        match part.head {
            None => run(part.rest),
            Some(head) => {
                let mut loops = Vec::with_capacity(part.rest.len() + 1);
                if head.extent > 1 {
                    loops.push(head);
                }
                loops.extend_from_slice(part.rest);
                run(&loops);
            }
        }
    }

    /// The kernel that moves this box, for explaining a plan.
    pub fn kernel(&self) -> Kernel {
        self.0.prepared.kernel()
    }

    /// Whether the destination is written past the caches, by streaming stores: by one thread, or where so many share its
    /// [parts](Move::run_parts), which up to some size they rather don't.
    pub fn streams_on(&self, threads: usize) -> bool {
        if threads > 1 {
            self.0.share
        } else {
            self.0.stream
        }
    }

    /// How often the kernel is entered: the iterations of the loops around it.
    pub fn entries(&self) -> usize {
        self.0.prepared.entries()
    }

    /// The bytes moved: elements times width. They are read once and written once.
    pub fn bytes(&self) -> usize {
        self.0.nest.bytes
    }

    /// As [`bytes`](Move::bytes), with what lies between elements where gaps are less than a cache line: what memory
    /// brings and takes, about.
    pub fn touched(&self) -> usize {
        self.0.nest.touched()
    }

    /// The fewest bytes that lie side by side in the source or in the destination, as far as one loop goes, or a block.
    pub fn row(&self) -> usize {
        if let Some(run) = self.0.prepared.shortest_run() {
            return run;
        }
        let [source, destination] = self.along();
        source.min(destination)
    }

    /// The most bytes that lie side by side in the source or in the destination, as far as loops go that are not those of
    /// the other side's rows.
    ///
    /// ```
    /// use minormajor_kernels::{Loop, Move};
    /// // Pairs of rows, two in each of 4 tiles: u16[4,512] to {1,0:T(4,128)(2,1)}.
    /// let pairs = Move::new(2, 0, 0, &[
    ///     Loop { extent: 4, source: 256, destination: 1024 },
    ///     Loop { extent: 2, source: 2048, destination: 512 },
    ///     Loop { extent: 128, source: 2, destination: 4 },
    ///     Loop { extent: 2, source: 1024, destination: 2 },
    /// ])?;
    /// assert_eq!((pairs.row(), pairs.longer_row()), (4, 1024));
    /// # Ok::<(), minormajor_kernels::NestError>(())
    /// ```
    pub fn longer_row(&self) -> usize {
        let [of_source, of_destination] = SIDES;
        let [source, destination] = self.along();
        let source = self.as_far_as_it_goes(source, of_source, of_destination);
        source.max(self.as_far_as_it_goes(destination, of_destination, of_source))
    }

    /// The bytes of a row with those loops of its side that go on where it ends, but for the other side's row.
    fn as_far_as_it_goes(
        &self,
        row: usize,
        side: fn(&Loop) -> isize,
        other: fn(&Loop) -> isize,
    ) -> usize {
        let (mut end, width) = (row, self.0.nest.width);
        let goes_on = |l: &Loop, end| side(l).unsigned_abs() == end && l.extent > 1;
        let is_other = |l: &Loop| other(l).unsigned_abs() == width;
        let loops = &self.0.nest.loops;
        while let Some(l) = loops.iter().find(|&l| goes_on(l, end) && !is_other(l)) {
            end *= l.extent;
        }
        end
    }

    /// The bytes that lie side by side on each side, as far as one loop goes.
    fn along(&self) -> [usize; 2] {
        SIDES.map(|stride| {
            let width = self.0.nest.width;
            let mut loops = self.0.nest.loops.iter();
            let along = loops.find(|l| stride(l).unsigned_abs() == width);
            along.map_or(width, |l| l.extent * width)
        })
    }

    /// Whether rows lie apart in the source or in the destination: a line of the caches or more lies between each and the next.
    ///
    /// ```
    /// use minormajor_kernels::{Loop, Move};
    /// let rows = |source: isize| Move::new(4, 0, 0, &[
    ///     Loop { extent: 100, source, destination: 64 },
    ///     Loop { extent: 16, source: 4, destination: 4 },
    /// ]);
    /// assert!(rows(128)?.is_apart());
    /// assert!(!rows(124)?.is_apart());
    /// # Ok::<(), minormajor_kernels::NestError>(())
    /// ```
    pub fn is_apart(&self) -> bool {
        SIDES.iter().zip(self.along()).any(|(stride, row)| {
            let strides = self.0.nest.loops.iter().map(|l| stride(l).unsigned_abs());
            let next = strides.filter(|&stride| stride >= row).min();
            next.is_some_and(|next| next >= row + LINE)
        })
    }

    /// How often each element of the source is written, by loops that stay where they are in it.
    ///
    /// ```
    /// use minormajor_kernels::{Loop, Move};
    /// let rows = Move::new(4, 0, 0, &[
    ///     Loop { extent: 7, source: 0, destination: 64 },
    ///     Loop { extent: 16, source: 4, destination: 4 },
    /// ])?;
    /// assert_eq!(rows.repeated(), 7);
    /// # Ok::<(), minormajor_kernels::NestError>(())
    /// ```
    pub fn repeated(&self) -> usize {
        self.0.nest.repeated()
    }

    /// Whether these rows follow one another, one for each element of the other side's, as pixels of a block of channels.
    pub fn interleaves(&self) -> bool {
        let (width, loops) = (self.0.nest.width, &self.0.nest.loops);
        let follow = |short: fn(&Loop) -> isize, long: fn(&Loop) -> isize| {
            let along =
                |stride: fn(&Loop) -> isize| loops.iter().find(|l| stride(l) == width as isize);
            let (Some(row), Some(other)) = (along(short), along(long)) else {
                return false;
            };
            short(other) == (row.extent * width) as isize
        };
        follow(|l| l.source, |l| l.destination) || follow(|l| l.destination, |l| l.source)
    }

    /// Whether it is a transpose whose rows and columns lie pages of 4 KiB apart, so that the caches look many of them up at one place.
    ///
    /// ```
    /// use minormajor_kernels::{Loop, Move};
    /// let transpose = |rows: usize, columns: usize| {
    ///     let (row, column) = (4 * columns as isize, 4 * rows as isize);
    ///     Move::new(4, 0, 0, &[
    ///         Loop { extent: rows, source: row, destination: 4 },
    ///         Loop { extent: columns, source: 4, destination: column },
    ///     ])
    /// };
    /// assert!(transpose(1024, 3072)?.is_paged());
    /// assert!(!transpose(1024, 3073)?.is_paged());
    /// assert!(!transpose(512, 3072)?.is_paged());
    /// # Ok::<(), minormajor_kernels::NestError>(())
    /// ```
    pub fn is_paged(&self) -> bool {
        let (loops, unit) = (&self.0.nest.loops, self.0.nest.width as isize);
        let apart = |along: fn(&Loop) -> isize, far: fn(&Loop) -> isize| {
            let mut lines = loops.iter().filter(|l| along(l) == unit);
            lines.any(|l| far(l) != 0 && near_page(far(l), 0))
        };
        apart(|l| l.source, |l| l.destination) && apart(|l| l.destination, |l| l.source)
    }

    /// Whether all rows begin on lines of a cache, on both sides, where the buffers do.
    pub fn lined(&self) -> bool {
        self.0.nest.lined(LINE)
    }

    /// Whether all rows begin on lines of a cache in the destination, where the buffer does.
    pub fn written_on_lines(&self) -> bool {
        self.0.nest.written_on_lines(LINE)
    }

    /// The bytes that the source must have at least.
    pub fn source_len(&self) -> usize {
        self.0.nest.source_end
    }

    /// The bytes that the destination must have at least.
    pub fn destination_len(&self) -> usize {
        self.0.nest.destination_end
    }

    pub(crate) fn nest(&self) -> &Nest {
        &self.0.nest
    }

    pub(crate) fn prepared(&self) -> &Prepared {
        &self.0.prepared
    }

    pub(crate) fn isa(&self) -> Isa {
        self.0.isa
    }

    #[inline]
    fn check(&self, source: &[u8], destination: &[u8]) -> Result<(), NestError> {
        self.check_source(source)?;
        if destination.len() < self.0.nest.destination_end {
            return Err(NestError::TooShort {
                buffer: Buffer::Destination,
                needed: self.0.nest.destination_end,
                got: destination.len(),
            });
        }
        Ok(())
    }

    #[inline]
    fn check_source(&self, source: &[u8]) -> Result<(), NestError> {
        if source.len() < self.0.nest.source_end {
            return Err(NestError::TooShort {
                buffer: Buffer::Source,
                needed: self.0.nest.source_end,
                got: source.len(),
            });
        }
        Ok(())
    }
}
