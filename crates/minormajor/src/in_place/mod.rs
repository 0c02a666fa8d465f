//! Relayouts inside one buffer.

mod crew;
mod elements;
mod ready;

use minormajor_core::plan::{GeneralMove, GeneralValue, Plan, PlanError};
use minormajor_core::{ArrayShape, InPlacePlan, Step};
use minormajor_kernels::{NestError, Tuning};

use crate::bits::put_unit;
use crate::executor::{Job, Relayout, RunError};
use crate::memory::{ExtraMemory, KERNEL_STACK, THREAD_HEAP};
use crate::threads;
use crew::Scratch;
use ready::Ready;

/// A relayout inside one buffer, made ready to run.
///
/// The array is in the one layout before a run and in the other after it, in the same bytes, and
/// the run takes no more memory from the allocator than its caller allows: nothing at all, if
/// need be. With more, it takes fewer passes.
///
/// Padding is written as by [`Relayout`]; where its value is `unknown`, it is undefined
/// afterwards.
///
/// ```
/// use minormajor::{InPlace, Shape};
///
/// let rows: Shape = "u16[2,3]{1,0}".parse()?;
/// let columns: Shape = "u16[2,3]{0,1}".parse()?;
/// let transpose = InPlace::new(rows.as_array()?, columns.as_array()?, 0)?;
/// let mut buffer = *b"a1b1c1d1e1f1";
/// transpose.run(&mut buffer)?;
/// assert_eq!(&buffer, b"a1d1b1e1c1f1");
/// assert_eq!(transpose.extra_memory().heap, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct InPlace {
    plan: InPlacePlan,
    way: Way,
    fills: Vec<Job>,
    /// Fills where the plan has no boxes.
    general: Option<GeneralMove>,
    buffer_bytes: usize,
    threads: usize,
    extra: ExtraMemory,
}

/// How the elements get to their places.
#[derive(Clone, Debug)]
enum Way {
    Steps(Vec<Ready>, Scratch),
    /// The source is copied and moved back from there, where there is room for it all.
    Copy(Box<Relayout>),
}

/// Why a relayout in place was refused. The buffer is as it was then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InPlaceError {
    /// There is no plan from the one shape to the other.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The buffer ends before the larger of the two layouts does.
    #[error(
        "the larger of the two layouts takes {expected} bytes, and the buffer has {found}; give room for both"
    )]
    #[allow(missing_docs)]
    BufferTooShort { expected: usize, found: usize },
    /// An array that this machine can't hold in memory.
    #[error(
        "{bytes} bytes are more than this machine can hold in memory at once; choose a smaller array or less padding"
    )]
    #[allow(missing_docs)]
    TooLarge { bytes: i64 },
    /// A run that needs more memory than it is allowed.
    #[error("a run needs at least {least} bytes of heap, and is allowed {limit}; allow that much")]
    #[allow(missing_docs)]
    Memory { limit: usize, least: usize },
    /// The allocator has no scratch.
    #[error("no {bytes} bytes of scratch are to be had; allow less, or free some")]
    #[allow(missing_docs)]
    NoScratch { bytes: usize },
    /// A step that can't be run; no plan has one.
    #[error("a step of the plan can't be run: {source}; please report this")]
    #[allow(missing_docs)]
    Step {
        #[from]
        source: NestError,
    },
}

/// Buffers below this are left to one thread.
const SMALLEST: usize = 4 << 20;

impl InPlace {
    /// A relayout from one layout of an array to another that takes at most `heap` bytes from the
    /// allocator when it runs, on as many threads as the machine runs at once.
    ///
    /// With 0 it takes none. Each thread's stack holds some scratch besides, as much for any
    /// array: [`extra_memory`](InPlace::extra_memory) tells.
    ///
    /// # Errors
    ///
    /// [`InPlaceError::Plan`] where the shapes are of different arrays,
    /// [`InPlaceError::TooLarge`] for more bytes than this machine can address, and
    /// [`InPlaceError::Memory`] where a run can't do with that heap: only where elements are moved
    /// ([`Step::Elements`]) or filled one by one, and the layouts have very many dimensions and
    /// tiles.
    pub fn new(
        source: &ArrayShape,
        destination: &ArrayShape,
        heap: usize,
    ) -> Result<InPlace, InPlaceError> {
        InPlace::on_threads(source, destination, heap, 0)
    }

    /// As [`new`](InPlace::new), on at most this many threads, the caller's included; 0 for as
    /// many as the machine runs at once. Each takes its part of the heap.
    ///
    /// # Errors
    ///
    /// As [`new`](InPlace::new).
    pub fn on_threads(
        source: &ArrayShape,
        destination: &ArrayShape,
        heap: usize,
        threads: usize,
    ) -> Result<InPlace, InPlaceError> {
        let plan = Plan::new(source, destination)?;
        let bytes = plan.source_bytes().max(plan.destination_bytes());
        let too_large = || InPlaceError::TooLarge { bytes };
        let buffer_bytes = isize::try_from(bytes).map_err(|_| too_large())? as usize;
        let mut team = threads::count(threads);
        if buffer_bytes <= SMALLEST {
            team = 1;
        }
        let threads = team.min(1 + heap / THREAD_HEAP);
        let spawning = (threads - 1) * THREAD_HEAP;
        let each = (heap - spawning) / threads;
        // Beyond a copy of everything there is nothing to gain.
        let each = each.clamp(Scratch::STACK, buffer_bytes.max(Scratch::STACK));
        let plan = InPlacePlan::new(source, destination, each as i64)?;
        let least = InPlace::looking(&plan);
        if heap < least {
            return Err(InPlaceError::Memory { limit: heap, least });
        }
        let scratch = Scratch::of(plan.scratch_bytes() as usize);
        let (way, extra) = InPlace::way(&plan, scratch, threads, heap)?;
        let ordinary = plan.plan();
        let fills = ordinary.fills().iter();
        Ok(InPlace {
            way,
            fills: fills
                .map(|fill| Job::of_fill(ordinary, fill, &Tuning::default()))
                .collect::<Result<_, _>>()?,
            general: ordinary.general().cloned(),
            plan,
            buffer_bytes,
            threads,
            extra,
        })
    }

    /// Bytes of heap that it takes to look single elements up.
    fn looking(plan: &InPlacePlan) -> usize {
        let filling = plan.plan().general().map_or(0, GeneralMove::heap_bytes);
        match plan.steps() {
            [Step::Elements(elements)] => filling.max(elements.heap_bytes()),
            _ => filling,
        }
    }

    fn way(
        plan: &InPlacePlan,
        scratch: Scratch,
        threads: usize,
        heap: usize,
    ) -> Result<(Way, ExtraMemory), InPlaceError> {
        let ordinary = plan.plan();
        let source = ordinary.source_bytes() as usize;
        let many = plan.bytes_moved() > plan.buffer_bytes().saturating_mul(2);
        let is_slow = matches!(plan.steps(), [Step::Elements(_)]);
        if (many || is_slow) && source <= heap {
            let prepare = || {
                Relayout::new(ordinary)?
                    .threads(threads)
                    .memory_limit(heap - source)
            };
            match prepare() {
                Ok(relayout) => {
                    let extra = relayout.extra_memory();
                    let extra = ExtraMemory {
                        heap: extra.heap + source,
                        ..extra
                    };
                    return Ok((Way::Copy(Box::new(relayout)), extra));
                }
                // The steps take less.
                Err(RunError::Memory { .. }) => {}
                Err(RunError::Box { source }) => return Err(InPlaceError::Step { source }),
                Err(_) => {
                    let bytes = plan.buffer_bytes();
                    return Err(InPlaceError::TooLarge { bytes });
                }
            }
        }
        let steps = plan.steps().iter();
        let steps = steps.map(|step| Ready::new(step, plan.scratch_bytes() as usize));
        let steps: Vec<Ready> = steps.collect::<Result<_, _>>()?;
        let extra = ExtraMemory {
            // Scratch is given back before the filling begins.
            heap: InPlace::looking(plan)
                .max((threads - 1) * THREAD_HEAP + threads * scratch.heap()),
            stack: threads * (KERNEL_STACK + scratch.stack()),
        };
        Ok((Way::Steps(steps, scratch), extra))
    }

    /// Bytes that the buffer must have: those of the layout that takes more.
    pub fn buffer_bytes(&self) -> usize {
        self.buffer_bytes
    }

    /// The plan that is run: its steps, and the ordinary plan whose fills are run at the end.
    pub fn plan(&self) -> &InPlacePlan {
        &self.plan
    }

    /// Whether the whole source is copied first, since there is room for it and that is faster
    /// than the steps of the plan.
    pub fn copies(&self) -> bool {
        matches!(self.way, Way::Copy(_))
    }

    /// Memory that a run takes at most beside the buffer.
    pub fn extra_memory(&self) -> ExtraMemory {
        self.extra
    }

    /// Moves the array in the buffer, from whose start on it lies. Bytes behind it are left alone.
    ///
    /// # Errors
    ///
    /// [`InPlaceError::BufferTooShort`], or [`InPlaceError::NoScratch`] where the allocator has
    /// not what was allowed; nothing has been moved then.
    pub fn run(&self, buffer: &mut [u8]) -> Result<(), InPlaceError> {
        let found = buffer.len();
        let Some(buffer) = buffer.get_mut(..self.buffer_bytes) else {
            return Err(InPlaceError::BufferTooShort {
                expected: self.buffer_bytes,
                found,
            });
        };
        match &self.way {
            Way::Steps(steps, scratch) => {
                if !steps.is_empty() {
                    scratch.with_crew(self.threads, |crew| {
                        steps.iter().try_for_each(|step| step.run(buffer, crew))
                    })?;
                }
                self.fill(buffer)
            }
            Way::Copy(relayout) => {
                let bytes = relayout.source_bytes();
                let mut copy = crew::allocate(bytes)?;
                copy.copy_from_slice(&buffer[..bytes]);
                // Only a buffer that is too short is refused, and neither is.
                let _ = relayout.run(&copy, buffer);
                Ok(())
            }
        }
    }

    fn fill(&self, buffer: &mut [u8]) -> Result<(), InPlaceError> {
        for fill in &self.fills {
            fill.fill(buffer)?;
        }
        if let Some(general) = &self.general {
            let plan = self.plan.plan();
            let unit = plan.destination_unit_bits();
            let units = 8 * plan.destination_bytes() / unit;
            general.for_each(0..units, |at, value| {
                if let GeneralValue::Fill(pattern) = value {
                    put_unit(buffer, (at * unit) as usize, unit as usize, |byte| {
                        pattern[byte]
                    });
                }
            });
        }
        Ok(())
    }
}
