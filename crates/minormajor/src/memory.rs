//! The memory that running a plan takes beside its buffers.

use std::fmt;

/// Memory that a run takes at most beside the buffers that it is given, in bytes.
///
/// ```
/// use minormajor::ExtraMemory;
///
/// let extra = ExtraMemory { heap: 1 << 20, stack: 1 << 16 };
/// assert_eq!(extra.total(), 1114112);
/// assert_eq!(extra.to_string(), "1048576 bytes of heap, 65536 of stack");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtraMemory {
    /// Asked of the allocator. This is what a caller can bound.
    pub heap: usize,
    /// On the stacks of all threads: a constant for each of them, whatever the array. Builds without optimisation take more.
    pub stack: usize,
}

impl ExtraMemory {
    /// Heap and stack together.
    pub fn total(&self) -> usize {
        self.heap + self.stack
    }
}

impl fmt::Display for ExtraMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of heap, {} of stack", self.heap, self.stack)
    }
}

/// Bytes of heap that a thread takes to be given work.
pub(crate) const THREAD_HEAP: usize = 2 << 10;

/// Bytes of stack that the kernels take, with those that call them: most of it is room for pieces of rows.
pub(crate) const KERNEL_STACK: usize = 512 << 10;

/// Bytes of heap that a thread takes to cut pieces out of boxes.
pub(crate) const PIECE_HEAP: usize = 32 << 10;

/// Bytes of heap more where the boxes are of packed or converted elements.
pub(crate) const PACKED_HEAP: usize = 2 << 20;

/// Bytes of heap that a relayout from file to file takes for names, headers and shapes.
pub(crate) const FILE_HEAP: usize = 128 << 10;

/// Bytes of heap that each array of a file takes for its name, its place and its shapes.
pub(crate) const ARRAY_HEAP: usize = 4 << 10;

/// Bytes of heap that each box or fill takes to be planned and prepared, in its order too.
pub(crate) const PLANNED_HEAP: usize = 8 << 10;
