//! A box of elements to move.

use crate::clip::{Part, clip};
use crate::crowded;
use crate::error::{Buffer, NestError};
use crate::isa::Isa;
use crate::kernel::Kernel;
use crate::nest::{Loop, Nest};
use crate::parts::{Parts, count, cuts};
use crate::prepared::Prepared;
use crate::simd::LINE;
use crate::tuning::{Tuning, Written};

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

    /// The most bytes that lie side by side in the source or in the destination, as far as one loop goes.
    pub fn longer_row(&self) -> usize {
        let [source, destination] = self.along();
        source.max(destination)
    }

    /// The bytes that lie side by side on each side, as far as one loop goes.
    fn along(&self) -> [usize; 2] {
        let along = |stride: fn(&Loop) -> isize| {
            let width = self.0.nest.width;
            let mut loops = self.0.nest.loops.iter();
            let along = loops.find(|l| stride(l).unsigned_abs() == width);
            along.map_or(width, |l| l.extent * width)
        };
        [along(|l| l.source), along(|l| l.destination)]
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

/// Whether a nest is better written past the caches by one thread, and by several.
fn streams(nest: &Nest, tuning: &Tuning) -> (bool, bool) {
    // At most a line is touched for every element: small arrays, whose plans are in a hurry, are asked nothing else.
    let most = nest.bytes.saturating_mul(LINE / nest.width);
    if !tuning.streams(most) {
        return (false, false);
    }
    let touched = nest.touched();
    let (much, early) = (tuning.streams(touched), tuning.streams_crowded(nest.bytes));
    if !(much || early) {
        return (false, false);
    }
    let crowds = crowded::crowds(nest.width, &nest.loops);
    let cut = cut_columns(nest);
    let early = early && crowds && cut.is_none();
    let long = nest.width >= WIDE && cut.is_some_and(|column| column >= LONG);
    let written = match cut {
        _ if long || has_runs(nest) => Written::Ordered,
        Some(_) => Written::Cut,
        None => Written::Lines,
    };
    let repeats = nest.repeated() >= REPEATED;
    let kept =
        touched < tuning.kept_by_one(written) || repeats && tuning.keeps_repeated(touched, false);
    let shared = tuning.keeps(touched)
        || repeats && tuning.keeps_repeated(touched, true)
        || separates(nest) && tuning.keeps_separated(touched);
    (
        early || much && (crowds || !kept),
        early || much && (crowds || !shared),
    )
}

/// How often each element is written from which on the source is little beside the destination.
const REPEATED: usize = 3;

/// Whether the source is a run of a few elements of each row of the destination: pixels that become planes, or blocks of channels.
fn separates(nest: &Nest) -> bool {
    let unit = nest.width as isize;
    let along = |stride: fn(&Loop) -> isize| nest.loops.iter().find(move |l| stride(l) == unit);
    let (few, row) = (along(|l| l.source), along(|l| l.destination));
    few.zip(row).is_some_and(|(few, row)| {
        let bytes = few.extent * nest.width;
        bytes <= LINE && row.source == bytes as isize
    })
}

/// Bytes of columns from which on, and of their elements, they are left in the caches where they cut lines. On a Zen 5
/// f32[300,8003], of 1200 bytes, gains a quarter by that where all is cached and loses a sixth where half of it is; u16[2049,2501]
/// takes twice as long.
const LONG: usize = 4 << 10;
const WIDE: usize = 4;

/// Bytes of runs from which on they are left in the caches. On a Zen 5 f32[2001,100,8]{2,0,1} from row-major takes 329 us streamed
/// and 214 not; runs of 12 bytes gain where all is cached and lose where half of it is.
const RUN: usize = LINE / 2;

/// Whether elements that lie side by side do so on both sides.
fn has_runs(nest: &Nest) -> bool {
    let unit = nest.width as isize;
    let goes_on = |l: &Loop| (l.source, l.destination) == (unit, unit);
    let is_long = |l: &Loop| l.extent * nest.width >= RUN;
    nest.loops.iter().any(|l| goes_on(l) && is_long(l))
}

/// The bytes of a transpose's columns, where these do not lie on lines.
fn cut_columns(nest: &Nest) -> Option<usize> {
    let unit = nest.width as isize;
    let row = nest.loops.iter().find(|l| l.source == unit)?;
    let column = nest.loops.iter().find(|l| l.destination == unit);
    let cut = row.destination != unit && row.destination % LINE as isize != 0;
    cut.then(|| column.map_or(0, |l| l.extent * nest.width))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuning::{Caches, Stores, is_zen, is_zen3, is_zen5};

    /// Whether one thread and two stream `rows` by `columns` to columns that begin `step` elements apart.
    fn streams(
        width: usize,
        rows: usize,
        columns: usize,
        step: usize,
        stores: Stores,
    ) -> [bool; 2] {
        let stride = |elements: usize| (elements * width) as isize;
        let loops = [
            Loop {
                extent: columns,
                source: stride(1),
                destination: stride(step),
            },
            Loop {
                extent: rows,
                source: stride(columns),
                destination: stride(1),
            },
        ];
        let tuning = Tuning {
            stores,
            ..Tuning::default()
        };
        let made = Move::tuned(width, 0, 0, &loops, &tuning).expect("a transpose");
        [made.streams_on(1), made.streams_on(2)]
    }

    /// What a thread and two leave in the caches of a Zen 3 beyond what they leave of other moves: up to three quarters of the last one and
    /// three times that where elements are repeated, and up to seven eighths by two where a run is separated into a few rows.
    #[test]
    fn more_of_what_is_repeated_and_separated_stays_in_the_caches_of_a_zen_3() {
        let last = Caches::of_this_cpu().last;
        let of = |width: usize, loops: [(usize, isize, isize); 2]| {
            let loops = loops.map(|(extent, source, destination)| Loop {
                extent,
                source,
                destination,
            });
            let made = Move::tuned(width, 0, 0, &loops, &Tuning::default()).expect("a move");
            [made.streams_on(1), made.streams_on(2)]
        };
        let zen3 = is_zen3();
        for (part, stays) in [
            (last / 16 * 11, [true, true]),
            (last / 16 * 13, [false, true]),
            (last / 16 * 47, [false, true]),
            (last / 16 * 49, [false, false]),
        ] {
            let rows = of(4, [(part / 20_012, 4, 20_012), (5003, 0, 4)]);
            assert_eq!(rows, stays.map(|stays| !(stays && zen3)), "{part} bytes");
        }
        for (part, stays) in [(last / 16 * 13, true), (last / 16 * 15, false)] {
            // Odd, so that rows push none of another out of the caches.
            let len = (part / 12) | 1;
            let planes = of(4, [(3, 4, 4 * len as isize), (len, 12, 4)]);
            assert_eq!(planes, [true, !(stays && zen3)], "{part} bytes");
            // The way back streams.
            let pixels = of(4, [(3, 4 * len as isize, 4), (len, 4, 12)]);
            assert_eq!(pixels, [true, true], "{part} bytes");
        }
    }

    /// Runs of one and a half times the bytes from which on a move streams, but short ones on a Zen 5; not of two and a half times.
    #[test]
    fn runs_stay_in_the_caches_of_a_zen() {
        let from = Caches::of_this_cpu().streams_from();
        let of = |run: usize, part: usize| {
            let planes = from * part / 2 / (101 * run);
            let loops = [
                Loop {
                    extent: 101,
                    source: run as isize,
                    destination: (planes * run) as isize,
                },
                Loop {
                    extent: planes,
                    source: (101 * run) as isize,
                    destination: run as isize,
                },
                Loop {
                    extent: run,
                    source: 1,
                    destination: 1,
                },
            ];
            let made = Move::tuned(1, 0, 0, &loops, &Tuning::default()).expect("runs");
            made.streams_on(1)
        };
        for run in [RUN, 75, 512] {
            assert_eq!(of(run, 3), !is_zen(), "{run}");
            assert!(of(run, 5), "{run}");
        }
        assert_eq!(of(RUN - 5, 3), !is_zen() || is_zen5());
    }

    /// Of one and a half times the bytes from which on a move streams, long columns that cut lines are left in the caches of
    /// a Zen 5, and by two threads all are, as by one of an older Zen; not of two and a half times, and none whose columns push
    /// each other out. Lines are streamed from less on than others.
    #[test]
    fn columns_stay_in_the_caches_of_a_zen() {
        let from = Caches::of_this_cpu().streams_from();
        let of = |width: usize, rows: usize, step: usize, part: usize| {
            let columns = from * part / 2 / (rows * width);
            streams(width, rows, columns, step, Stores::Auto)
        };
        let streamed = [true, true];
        for (width, rows, step) in [
            (4, 1500, 1500),
            (8, 1001, 1001),
            (16, 701, 701),
            (4, 1600, 1604),
        ] {
            let [one, _] = of(width, rows, step, 3);
            assert_eq!(one, !is_zen(), "{width} {rows}");
            assert_eq!(of(width, rows, step, 5), streamed, "{width} {rows}");
            assert_eq!(
                streams(width, rows, 1501, step, Stores::Streaming),
                streamed
            );
        }
        // On lines, short, narrow: on a Zen 5 only threads that share them leave them there.
        for (width, rows, step) in [(4, 1504, 1504), (4, 300, 300), (2, 3001, 3001)] {
            let [one, two] = of(width, rows, step, 3);
            assert_eq!(one, !is_zen() || is_zen5(), "{width} {rows}");
            assert_eq!(two, !is_zen(), "{width} {rows}");
        }
        let lines = streams(4, 1504, from * 11 / 6 / (1504 * 4), 1504, Stores::Auto);
        assert_eq!(lines, [true, !is_zen()]);
        // A line of the source goes to as many lines of a slot, or nearly.
        for (width, rows, step) in [
            (1, 4096, 4096),
            (2, 2048, 2048),
            (2, 2049, 2049),
            (1, 4099, 4099),
        ] {
            assert_eq!(of(width, rows, step, 3), streamed, "{width} {rows}");
        }
    }
}
