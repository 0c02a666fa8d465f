//! What a time is asked for.

use minormajor_kernels::Kernel;

/// What a prepared plan does, as far as its time depends on it.
pub(crate) struct Work {
    /// Bytes of source and destination that are touched.
    pub footprint: usize,
    /// Whether they are written by ordinary stores, and so stay in the caches as far as these have room.
    pub kept: bool,
    pub moves: Vec<Moved>,
    /// Bytes of padding that are written.
    pub filled: usize,
    /// Positions that are looked up one by one.
    pub positions: usize,
}

/// A box that is moved.
pub(crate) struct Moved {
    pub kernel: Kernel,
    /// Half of the bytes of lines that are read and written.
    pub bytes: usize,
    /// How often the kernel is entered.
    pub entries: usize,
    /// The fewest bytes that lie side by side on a side, as far as one loop goes,
    pub row: usize,
    /// and the most, as far as others go on with it.
    pub longer_row: usize,
    /// Whether the rows follow one another, one for each element of the other side's.
    pub interleaves: bool,
    /// Whether a line or more lies between each row and the next, on a side.
    pub apart: bool,
    /// How often what is read is written.
    pub repeated: usize,
    /// Whether rows and columns of a transpose lie pages apart.
    pub paged: bool,
    /// Whether all rows begin on lines of a cache, on both sides,
    pub lined: bool,
    /// or in the destination.
    pub written_on_lines: bool,
}
