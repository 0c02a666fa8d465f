//! The name of the kernel that a box uses, for explaining plans.

use std::fmt;

use crate::recode::Recoding;

/// What moves a box. Its text reads "copy runs of 512 bytes" or "transpose 4-byte avx512".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kernel {
    /// There is no element to move.
    Nothing,
    /// Runs of bytes that are contiguous on both sides.
    Copy {
        /// Bytes in one run.
        run: usize,
    },
    /// One element repeated over a contiguous run of the destination.
    Repeat {
        /// Bytes of the element.
        width: usize,
        /// Bytes in one run.
        run: usize,
    },
    /// Different loops are contiguous on the two sides.
    Transpose {
        /// Bytes of an element.
        width: usize,
        /// The instruction set used.
        isa: &'static str,
    },
    /// A few rows become one run, or a run a few rows.
    Weave {
        /// Bytes of an element.
        width: usize,
        /// The instruction set used.
        isa: &'static str,
    },
    /// Blocks of the destination are put together of pieces of the source.
    Gather {
        /// Bytes of an element.
        width: usize,
        /// Bytes of a block.
        block: usize,
        /// The instruction set used.
        isa: &'static str,
    },
    /// Elements are written anew.
    Rewrite {
        /// What is made of what.
        recoding: Recoding,
        /// Elements in a run, where both sides have the same; otherwise blocks are put in order first.
        run: Option<usize>,
        /// The instruction set used.
        isa: &'static str,
    },
    /// A few rows of packed elements become runs, or runs a few rows.
    Braid {
        /// Bits of an element.
        bits: usize,
        /// The rows.
        rows: usize,
        /// The instruction set used.
        isa: &'static str,
    },
    /// Packed elements repeated.
    FillBits {
        /// Bits of an element.
        bits: usize,
    },
    /// Lines of elements at any strides, put together where they come to lie side by side, else one by one.
    Strided {
        /// Bytes of an element.
        width: usize,
    },
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kernel::Nothing => f.write_str("nothing"),
            Kernel::Copy { run } => write!(f, "copy runs of {run} bytes"),
            Kernel::Repeat { width, run } => {
                write!(f, "repeat {width} bytes in runs of {run} bytes")
            }
            Kernel::Transpose { width, isa } => write!(f, "transpose {width}-byte {isa}"),
            Kernel::Weave { width, isa } => write!(f, "weave {width}-byte {isa}"),
            Kernel::Gather { width, block, isa } => {
                write!(f, "gather {width}-byte into {block} bytes {isa}")
            }
            Kernel::Rewrite { recoding, run, isa } => {
                let Recoding {
                    source,
                    destination,
                } = recoding;
                write!(f, "rewrite {source} as {destination} ")?;
                match run {
                    Some(run) => write!(f, "in runs of {run} elements {isa}"),
                    None => write!(f, "in blocks {isa}"),
                }
            }
            Kernel::Braid { bits, rows, isa } => {
                write!(f, "braid {rows} rows of {bits} bits {isa}")
            }
            Kernel::FillBits { bits } => write!(f, "repeat {bits} bits"),
            Kernel::Strided { width } => write!(f, "strided {width}-byte"),
        }
    }
}
