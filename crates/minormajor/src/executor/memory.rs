//! The memory that a run takes, and a bound on it.

use super::{Job, Relayout, RunError, Sharing};
use crate::memory::{ExtraMemory, KERNEL_STACK, PACKED_HEAP, PIECE_HEAP, THREAD_HEAP};

impl Relayout {
    /// Runs with at most so many bytes from the allocator, on fewer threads if need be. With 0 a
    /// run takes none, and is in one go on the caller's thread.
    ///
    /// What rayon takes to start its threads, once a process, is not counted.
    ///
    /// # Errors
    ///
    /// [`RunError::Memory`] where a run can't do with that: only where elements are packed or
    /// converted, which takes up to about a MiB a thread, or where no boxes describe the plan, and
    /// its layouts have very many dimensions and tiles.
    ///
    /// ```
    /// use minormajor::{Plan, Relayout, Shape};
    ///
    /// let rows: Shape = "f32[4096,4096]{1,0}".parse()?;
    /// let columns: Shape = "f32[4096,4096]{0,1}".parse()?;
    /// let plan = Plan::new(rows.as_array()?, columns.as_array()?)?;
    /// let frugal = Relayout::new(&plan)?.memory_limit(0)?;
    /// assert_eq!(frugal.extra_memory().heap, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn memory_limit(mut self, heap: usize) -> Result<Relayout, RunError> {
        if heap < self.heap_of_a_thread() {
            // Windows do without the stages that bands may have.
            self.sequence = self.sequence.filter(|sequence| sequence.scratch() == 0);
        }
        let least = self.heap_of_a_thread();
        if heap < least {
            return Err(RunError::Memory { limit: heap, least });
        }
        self.heap = Some(heap);
        Ok(self)
    }

    /// Memory that a run takes at most beside the two buffers.
    pub fn extra_memory(&self) -> ExtraMemory {
        // Those who watch have more parts, and no more threads.
        let threads = match self.sharing(|| 0, true) {
            Sharing::Whole | Sharing::Bands { threads: 1, .. } => {
                return ExtraMemory {
                    heap: self.heap_of_a_thread(),
                    stack: KERNEL_STACK,
                };
            }
            Sharing::Parts { threads, .. }
            | Sharing::Bands { threads, .. }
            | Sharing::Steps { threads, .. }
            | Sharing::Windows { threads, .. } => threads,
        };
        ExtraMemory {
            heap: self.heap_of(threads),
            stack: threads * KERNEL_STACK,
        }
    }

    /// The most threads that the bound allows; 0 where there is not even room for pieces on one.
    pub(super) fn affordable_threads(&self) -> usize {
        let Some(heap) = self.heap else {
            return usize::MAX;
        };
        let one = self.heap_of(1);
        if heap < one {
            return 0;
        }
        1 + (heap - one) / (self.heap_of(2) - one)
    }

    /// Bytes that a run in pieces takes on so many threads.
    fn heap_of(&self, threads: usize) -> usize {
        let pieces = match self.scratch() {
            0 => PIECE_HEAP,
            // Pieces of boxes are prepared anew, with tables of what is mixed where.
            _ => PIECE_HEAP + PACKED_HEAP,
        };
        threads * (pieces + self.heap_of_a_thread()) + (threads - 1) * THREAD_HEAP
    }

    /// Bytes that a run in one go takes: for stages, or for the way element by element.
    fn heap_of_a_thread(&self) -> usize {
        let general = self.general.as_ref().map_or(0, |g| g.heap_bytes());
        let stages = self.sequence.as_ref().map_or(0, |s| s.scratch());
        self.scratch() + stages + general
    }

    /// Bytes of stages that a thread needs.
    fn scratch(&self) -> usize {
        self.moves.iter().map(Job::scratch).max().unwrap_or(0)
    }
}
