//! Running plans on the CPU.
//!
//! A plan is prepared once: its boxes and fills get their kernels. A run cuts the destination
//! into windows, and threads take windows from a queue; each window gets the parts of all boxes
//! and fills that lie in it. So every byte of the destination has one writer, which owns it, and
//! no thread waits for another.

mod error;
mod explain;
mod general;
mod job;
mod measured;
mod memory;
mod sharing;
#[cfg(test)]
mod tests;
mod windows;

use minormajor_core::ArrayShape;
use minormajor_core::plan::{Change, MoveBox, Plan};
use minormajor_kernels::{Kernel, Scratch, Sequence, Tuning};
use smallvec::SmallVec;

use crate::threads::team;
pub use error::{RelayoutError, RunError};
pub use explain::{ExplainedBands, ExplainedBox, Explanation};
use general::General;
pub(crate) use job::Job;
pub(crate) use sharing::Told;
use sharing::{SMALLEST_PART, Sharing, share};
use windows::{Window, windows};

/// Called with the bytes of the destination that are done and their total, whenever a part of a
/// run is done: never at the same time from two threads, and rising from call to call.
pub type Progress<'a> = &'a (dyn Fn(u64, u64) + Sync);

/// A plan made ready to run: kernels are chosen, offsets are in bytes.
///
/// Prepare once and run often, from many threads at once if need be: a run changes nothing here,
/// and allocates nothing when it is small.
///
/// ```
/// use minormajor::{Plan, Relayout, Shape};
///
/// let rows: Shape = "u16[2,3]{1,0}".parse()?;
/// let columns: Shape = "u16[2,3]{0,1}".parse()?;
/// let transpose = Relayout::new(&Plan::new(rows.as_array()?, columns.as_array()?)?)?;
/// let mut destination = [0; 12];
/// transpose.run(b"a1b1c1d1e1f1", &mut destination)?;
/// assert_eq!(&destination, b"a1d1b1e1c1f1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A plan may convert on the way ([`Plan::converting`]), and elements may be packed:
///
/// ```
/// use minormajor::plan::{ByteOrder, ByteOrders};
/// use minormajor::{Plan, Relayout, Shape};
///
/// // Big-endian floats to halves.
/// let floats: Shape = "f32[2]".parse()?;
/// let halves: Shape = "f16[2]".parse()?;
/// let orders = ByteOrders { source: ByteOrder::Big, ..ByteOrders::default() };
/// let narrow = Plan::converting(floats.as_array()?, halves.as_array()?, orders)?;
/// let mut destination = [0; 4];
/// Relayout::new(&narrow)?.run(&[0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0], &mut destination)?;
/// assert_eq!(destination, [0x00, 0x3c, 0x00, 0xc0]); // 1 and -2
///
/// // Rows of nibbles to columns of bytes.
/// let nibbles: Shape = "u4[2,3]{1,0:E(4)}".parse()?;
/// let bytes: Shape = "u4[2,3]{0,1}".parse()?;
/// let unpack = Plan::new(nibbles.as_array()?, bytes.as_array()?)?;
/// let mut destination = [0; 6];
/// Relayout::new(&unpack)?.run(&[0x21, 0x43, 0x65], &mut destination)?;
/// assert_eq!(destination, [1, 4, 2, 5, 3, 6]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Relayout {
    moves: SmallVec<[Job; 1]>,
    fills: Vec<Job>,
    /// Both in the destination's order, where there is one.
    sequence: Option<Box<Sequence>>,
    general: Option<Box<General>>,
    /// Bytes that the destination can be cut between; `None` where elements lie at any byte.
    unit_bytes: Option<usize>,
    source_bytes: usize,
    destination_bytes: usize,
    /// The same without what lies between the elements of strided views.
    array_bytes: [usize; 2],
    /// That of the plan, where the destination may be cut.
    reach: usize,
    /// 0 for as many as the machine runs at once.
    threads: usize,
    /// The most bytes that a run may take from the allocator, where there is a bound.
    heap: Option<usize>,
}

/// Moves an array to another layout: the short way for one array in memory.
///
/// `source` holds the array in the layout of `source_shape`; the bytes that come back hold it in
/// that of `destination_shape`. Padding is written with the destination's padding value, and is
/// zero where that is `unknown`. For many arrays of the same shapes, keep a [`Relayout`].
///
/// # Errors
///
/// [`RelayoutError`] where the shapes are of different arrays, or the source is too short.
///
/// ```
/// use minormajor::{relayout, Shape};
///
/// let rows: Shape = "u8[2,3]{1,0}".parse()?;
/// let columns: Shape = "u8[2,3]{0,1}".parse()?;
/// assert_eq!(relayout(b"abcdef", rows.as_array()?, columns.as_array()?)?, b"adbecf");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn relayout(
    source: &[u8],
    source_shape: &ArrayShape,
    destination_shape: &ArrayShape,
) -> Result<Vec<u8>, RelayoutError> {
    let plan = Plan::new(source_shape, destination_shape)?;
    let relayout = Relayout::new(&plan)?;
    relayout.check_source(source)?;
    let bytes = relayout.destination_bytes;
    // Asks first, since `vec!` ends the process where memory is short. The kernel hands pages out
    // only when they are written, so this costs nothing.
    if Vec::<u8>::new().try_reserve_exact(bytes).is_err() {
        return Err(RunError::TooLarge {
            bytes: plan.destination_bytes(),
        }
        .into());
    }
    let mut destination = vec![0; bytes];
    relayout.run(source, &mut destination)?;
    Ok(destination)
}

/// Bytes of the destination in which every box reads runs of `windows::RUN` bytes of the source.
fn reach(plan: &Plan) -> usize {
    let [from, to] = [plan.source_unit_bits(), plan.destination_unit_bits()];
    let of = |made: &MoveBox| {
        let along = made.loops.iter().find(|l| l.source.abs() == 1)?;
        let units = along.extent.min(8 * windows::RUN as i64 / from);
        Some((units * along.destination.abs() * to / 8) as usize)
    };
    plan.boxes().iter().filter_map(of).max().unwrap_or(0)
}

impl Relayout {
    /// Prepares a plan.
    ///
    /// # Errors
    ///
    /// [`RunError::TooLarge`] where a buffer is larger than this machine's address space.
    pub fn new(plan: &Plan) -> Result<Relayout, RunError> {
        Relayout::tuned(plan, &Tuning::default())
    }

    /// Prepares a plan for an instruction set and a kind of stores that the caller chose;
    /// [`new`](Relayout::new) takes the best instruction set, and streams what the caches would
    /// not hold.
    ///
    /// # Errors
    ///
    /// As [`new`](Relayout::new).
    pub fn tuned(plan: &Plan, tuning: &Tuning) -> Result<Relayout, RunError> {
        // Every position that a plan names lies inside a buffer whose bits fit an i64, and
        // strides reach no further; so once what kernels count, bytes or bits, fits an isize, all
        // products with the unit do.
        let scale = if plan.unit_bytes().is_some() { 1 } else { 8 };
        let fits = |bytes: i64| {
            bytes
                .checked_mul(scale)
                .and_then(|count| isize::try_from(count).ok())
                .map(|_| bytes as usize)
                .ok_or(RunError::TooLarge { bytes })
        };
        let source_bytes = fits(plan.source_bytes())?;
        let destination_bytes = fits(plan.destination_bytes())?;
        let mut moves = SmallVec::with_capacity(plan.boxes().len());
        for made in plan.boxes() {
            moves.push(Job::of_move(plan, made, tuning)?);
        }
        let fills = plan.fills().iter();
        let fills = fills.map(|made| Job::of_fill(plan, made, tuning));
        let fills = fills.collect::<Result<Vec<_>, _>>()?;
        let unit_bytes = (plan.destination_unit_bits() / 8).max(1) as usize;
        let unit_bytes = match plan.change() {
            Change::Values { destination, .. }
                if destination.element_type.byte_width() as usize != unit_bytes =>
            {
                None
            }
            _ => Some(unit_bytes),
        };
        // A small destination is not cut.
        let (sequence, reach) = match destination_bytes {
            ..=SMALLEST_PART => (None, 0),
            _ => (job::sequence(&moves, &fills, tuning), reach(plan)),
        };
        Ok(Relayout {
            moves,
            fills,
            sequence: sequence.map(Box::new),
            general: General::new(plan, tuning)?,
            unit_bytes,
            source_bytes,
            destination_bytes,
            array_bytes: [plan.source_array_bytes(), plan.destination_array_bytes()]
                .map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
            reach,
            threads: 0,
            heap: None,
        })
    }

    /// Runs on at most this many threads, the caller's included; 0, the default, for as many as
    /// the machine runs at once. Small arrays take one, whatever is asked for.
    pub fn threads(mut self, threads: usize) -> Relayout {
        self.threads = threads;
        self
    }

    /// Bytes that the source must have at least.
    pub fn source_bytes(&self) -> usize {
        self.source_bytes
    }

    /// Bytes that the destination must have at least.
    pub fn destination_bytes(&self) -> usize {
        self.destination_bytes
    }

    /// Bytes of the source's array and of the destination's, padding included; of a strided view,
    /// those of its elements.
    pub fn array_bytes(&self) -> [usize; 2] {
        self.array_bytes
    }

    /// The kernels of the plan's boxes and then of its fills, in their order; none for a general
    /// plan.
    pub fn kernels(&self) -> impl Iterator<Item = Kernel> + '_ {
        self.moves.iter().chain(&self.fills).map(Job::kernel)
    }

    /// Moves the array from `source` to `destination`. Bytes behind the array are left alone, on
    /// both sides; so is padding whose value is `unknown`.
    ///
    /// # Errors
    ///
    /// [`RunError`] for a buffer that is too short; then nothing has been written.
    pub fn run(&self, source: &[u8], destination: &mut [u8]) -> Result<(), RunError> {
        if self.destination_bytes <= SMALLEST_PART
            && source.len() >= self.source_bytes
            && let Some(destination) = destination.get_mut(..self.destination_bytes)
        {
            // What is asked otherwise would take a small array longer than its move.
            return match self.only_move() {
                Some(movement) => Ok(movement.run(source, destination)?),
                None => self.run_whole(source, destination),
            };
        }
        self.run_telling(source, destination, None)
    }

    /// [`run`](Relayout::run), telling how far it is.
    ///
    /// # Errors
    ///
    /// As [`run`](Relayout::run).
    ///
    /// ```
    /// use minormajor::{Plan, Relayout, Shape};
    ///
    /// let shape: Shape = "u8[6]".parse()?;
    /// let copy = Relayout::new(&Plan::new(shape.as_array()?, shape.as_array()?)?)?;
    /// let mut destination = [0; 6];
    /// copy.run_with_progress(b"abcdef", &mut destination, &|done, total| {
    ///     println!("{done} of {total} bytes");
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run_with_progress(
        &self,
        source: &[u8],
        destination: &mut [u8],
        progress: Progress<'_>,
    ) -> Result<(), RunError> {
        self.run_telling(source, destination, Some(progress))
    }

    fn run_telling(
        &self,
        source: &[u8],
        destination: &mut [u8],
        progress: Option<Progress<'_>>,
    ) -> Result<(), RunError> {
        self.check_source(source)?;
        let found = destination.len();
        let Some(destination) = destination.get_mut(..self.destination_bytes) else {
            return Err(RunError::DestinationTooShort {
                expected: self.destination_bytes,
                found,
            });
        };
        let head = || windows::head(destination, self.unit_bytes.unwrap_or(1));
        let sharing = self.sharing(head, progress.is_some());
        let told = Told::new(self.destination_bytes, progress);
        let run_window =
            |window: Window<'_>, scratch: &mut Scratch| self.run_window(source, window, scratch);
        match sharing {
            Sharing::Whole => {
                self.run_whole(source, destination)?;
                told.more(destination.len());
                Ok(())
            }
            Sharing::Parts {
                main,
                threads,
                parts,
                rest,
            } => {
                let Some(movement) = self.moves[main].as_move() else {
                    return self.run_whole(source, destination);
                };
                let outside = destination.len() - movement.bytes();
                movement.run_parts(source, destination, parts, threads, |take| {
                    team(threads, |thread| {
                        while let Some(bytes) = take(thread) {
                            told.more(bytes);
                        }
                    });
                })?;
                let silent = Told::new(0, None);
                match rest {
                    Some(cut) => {
                        let windows = windows(destination, cut);
                        share(
                            threads,
                            windows,
                            &silent,
                            |Window { start, bytes }, scratch| {
                                for job in self.jobs_but(main) {
                                    job.run_window(source, bytes, start, scratch)?;
                                }
                                Ok(())
                            },
                        )?;
                    }
                    None => {
                        for job in self.jobs_but(main) {
                            job.run(source, destination, &mut Scratch::default())?;
                        }
                    }
                }
                told.more(outside);
                Ok(())
            }
            Sharing::Bands {
                threads,
                sequence,
                windows,
            } => {
                let windows = windows::between(destination, sequence.cuts(windows));
                share(
                    threads,
                    windows,
                    &told,
                    |Window { start, bytes }, scratch| {
                        Ok(sequence.run_window(source, bytes, start, scratch)?)
                    },
                )
            }
            Sharing::Steps {
                threads,
                recode,
                windows,
            } => {
                let windows = windows::between(destination, recode.cuts(windows));
                share(threads, windows, &told, run_window)
            }
            Sharing::Windows { threads, cut } => {
                share(threads, windows(destination, cut), &told, run_window)
            }
        }
    }

    fn check_source(&self, source: &[u8]) -> Result<(), RunError> {
        if source.len() < self.source_bytes {
            return Err(RunError::SourceTooShort {
                expected: self.source_bytes,
                found: source.len(),
            });
        }
        Ok(())
    }

    fn run_whole(&self, source: &[u8], destination: &mut [u8]) -> Result<(), RunError> {
        let mut scratch = Scratch::default();
        for job in self.moves.iter().chain(&self.fills) {
            job.run(source, destination, &mut scratch)?;
        }
        let window = Window {
            start: 0,
            bytes: destination,
        };
        self.run_general(source, window, &mut scratch)
    }

    /// All jobs but the move of this number.
    fn jobs_but(&self, number: usize) -> impl Iterator<Item = &Job> {
        let (before, after) = (&self.moves[..number], &self.moves[number + 1..]);
        before.iter().chain(after).chain(&self.fills)
    }

    fn run_window(
        &self,
        source: &[u8],
        window: Window<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), RunError> {
        let Window { start, bytes } = window;
        for job in self.moves.iter().chain(&self.fills) {
            job.run_window(source, bytes, start, scratch)?;
        }
        self.run_general(source, Window { start, bytes }, scratch)
    }

    fn run_general(
        &self,
        source: &[u8],
        mut window: Window<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), RunError> {
        if let Some(general) = &self.general {
            general.run(source, &mut window, scratch)?;
        }
        Ok(())
    }
}
