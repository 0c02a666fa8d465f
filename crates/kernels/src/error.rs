//! What can be wrong with a nest, or with the buffers given to it.

use std::fmt;

/// Which of the two buffers an error speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Buffer {
    /// The buffer that is read.
    Source,
    /// The buffer that is written.
    Destination,
}

impl fmt::Display for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Buffer::Source => "source",
            Buffer::Destination => "destination",
        })
    }
}

/// Why a nest was refused. Building a [`Move`](crate::Move) or a [`Fill`](crate::Fill) can give `Width`,
/// `BeforeStart` and `Overflow`; running one only `TooShort` and `CutElement`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NestError {
    /// An element width that no kernel has.
    #[error("element width: expected 1, 2, 4, 8 or 16 bytes, got {width}")]
    Width {
        /// The width asked for, in bytes.
        width: usize,
    },

    /// A nest that touches bytes before the start of a buffer.
    #[error("{buffer}: the nest must stay at or after byte 0, but reaches byte {lowest}")]
    BeforeStart {
        /// The buffer at fault.
        buffer: Buffer,
        /// The lowest byte offset that the nest touches.
        lowest: i128,
    },

    /// A nest whose reach or size no buffer can have.
    #[error(
        "{buffer}: the nest must touch at most {} bytes, and its size or reach is more",
        isize::MAX
    )]
    Overflow {
        /// The buffer at fault.
        buffer: Buffer,
    },

    /// A buffer that ends before the nest does.
    #[error("{buffer}: expected at least {needed} bytes, got {got}")]
    TooShort {
        /// The buffer at fault.
        buffer: Buffer,
        /// The bytes that the nest needs, counted from the start of the buffer.
        needed: usize,
        /// The bytes that the buffer has.
        got: usize,
    },

    /// A buffer that is no whole number of batches.
    #[error("buffer: expected a whole number of batches of {batch} bytes, got {length} bytes")]
    Batches {
        /// The bytes that the buffer has.
        length: usize,
        /// The bytes of a batch.
        batch: usize,
    },

    /// Extents that can't be changed in one go.
    #[error(
        "resize: expected as many extents after as before, at least one, and behind the first all growing or all \
         shrinking"
    )]
    Resize,

    /// A window that starts or ends inside an element.
    #[error(
        "window: expected its edges between elements, but the {width}-byte element at destination byte {element} crosses byte {edge}"
    )]
    CutElement {
        /// The destination byte offset of the element.
        element: usize,
        /// The width of the element in bytes.
        width: usize,
        /// The edge of the window that crosses it, in destination bytes.
        edge: usize,
    },
}
