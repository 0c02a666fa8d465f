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

/// Why a nest was refused. Running one that was built gives only `TooShort` and `CutElement`. Figures are in bytes, or in
/// bits where the nest counts bits.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NestError {
    /// An element width that no kernel has.
    Width {
        /// The width asked for, in bytes.
        width: usize,
    },

    /// A recoding that no kernel does.
    Recoding {
        /// What was asked for.
        recoding: crate::Recoding,
    },

    /// A packed element that lies across the places of its width, or a wider one inside a byte.
    CutByte {
        /// The buffer at fault.
        buffer: Buffer,
        /// The offset or stride, in bits.
        bits: isize,
        /// The width, in bits; 8 for elements of whole bytes.
        width: usize,
    },

    /// A nest that touches bytes before the start of a buffer.
    BeforeStart {
        /// The buffer at fault.
        buffer: Buffer,
        /// The lowest byte offset that the nest touches.
        lowest: i128,
    },

    /// A nest whose reach or size no buffer can have.
    Overflow {
        /// The buffer at fault.
        buffer: Buffer,
    },

    /// A buffer that ends before the nest does.
    TooShort {
        /// The buffer at fault.
        buffer: Buffer,
        /// The bytes that the nest needs, counted from the start of the buffer.
        needed: usize,
        /// The bytes that the buffer has.
        got: usize,
    },

    /// A buffer that is no whole number of batches.
    Batches {
        /// The bytes that the buffer has.
        length: usize,
        /// The bytes of a batch.
        batch: usize,
    },

    /// Extents that can't be changed in one go.
    Resize,

    /// A window that starts or ends inside an element.
    CutElement {
        /// The destination byte offset of the element.
        element: usize,
        /// The width of the element in bytes.
        width: usize,
        /// The edge of the window that crosses it, in destination bytes.
        edge: usize,
    },
}

impl fmt::Display for NestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NestError::Width { width } => {
                write!(f, "element width: expected 1, 2, 4, 8 or 16 bytes, got {width}")
            }
            NestError::Recoding { recoding } => write!(
                f,
                "recoding: expected bits of which one side has 1, 2 or 4, two of f32, f16 and bf16, or both orders of a \
                 number, got {} to {}",
                recoding.source, recoding.destination
            ),
            NestError::CutByte { buffer, bits, width } => write!(
                f,
                "{buffer}: expected places and strides in multiples of {width} bits, got {bits}"
            ),
            NestError::BeforeStart { buffer, lowest } => write!(
                f,
                "{buffer}: the nest must stay at or after byte 0, but reaches byte {lowest}"
            ),
            NestError::Overflow { buffer } => write!(
                f,
                "{buffer}: the nest must touch at most {} bytes, and its size or reach is more",
                isize::MAX
            ),
            NestError::TooShort { buffer, needed, got } => {
                write!(f, "{buffer}: expected at least {needed} bytes, got {got}")
            }
            NestError::Batches { length, batch } => write!(
                f,
                "buffer: expected a whole number of batches of {batch} bytes, got {length} bytes"
            ),
            NestError::Resize => f.write_str(
                "resize: expected as many extents after as before, at least one, and behind the first all growing or all \
                 shrinking",
            ),
            NestError::CutElement { element, width, edge } => write!(
                f,
                "window: expected its edges between elements, but the {width}-byte element at destination byte {element} \
                 crosses byte {edge}"
            ),
        }
    }
}

impl std::error::Error for NestError {}

#[cfg(test)]
mod tests {
    use super::{Buffer, NestError};

    #[test]
    fn errors_say_where_what_was_expected_and_what_came() {
        let (buffer, needed, got) = (Buffer::Destination, 211, 197);
        let error = NestError::TooShort {
            buffer,
            needed,
            got,
        };
        assert_eq!(
            error.to_string(),
            "destination: expected at least 211 bytes, got 197"
        );
        let error = NestError::CutElement {
            element: 12,
            width: 4,
            edge: 13,
        };
        assert_eq!(
            error.to_string(),
            "window: expected its edges between elements, but the 4-byte element at destination byte 12 crosses byte 13"
        );
    }
}
