//! What can be wrong with a header.

use minormajor_core::ShapeError;

/// Why bytes are no `.npy` header that can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NpyError {
    /// The bytes start otherwise.
    #[error("not a .npy file: expected it to start with \\x93NUMPY; check the name's ending")]
    Magic,
    /// A version of the format that is not known.
    #[error(
        "version {major}.{minor} of the .npy format is not known; expected 1.0, 2.0 or 3.0, which numpy.save writes"
    )]
    #[allow(missing_docs)]
    Version { major: u8, minor: u8 },
    /// A header longer than any that an array needs.
    #[error(
        "the header claims {found} bytes, and at most {limit} can be right; the file is damaged"
    )]
    #[allow(missing_docs)]
    HeaderLength { found: u64, limit: u64 },
    /// The bytes end before the header does.
    #[error(
        "the header ends at byte {needed}, but there are {found} bytes; the file is truncated, copy it again"
    )]
    #[allow(missing_docs)]
    Truncated { needed: u64, found: u64 },
    /// The header is not the dictionary that it should be.
    #[error("the header is damaged at byte {byte}: expected {expected}, found {found}")]
    #[allow(missing_docs)]
    Syntax {
        /// Counted from the start of the file.
        byte: usize,
        expected: &'static str,
        found: String,
    },
    /// One of the three keys is not there.
    #[error("the header has no key '{key}'; the file is damaged")]
    #[allow(missing_docs)]
    MissingKey { key: &'static str },
    /// An element type that XLA has no name for, or in another byte order.
    #[error("the element type {dtype} can't be read: {remedy}")]
    #[allow(missing_docs)]
    DataType {
        /// As the header says it, cut after 60 characters.
        dtype: String,
        remedy: &'static str,
    },
    /// More dimensions than NumPy has.
    #[error("the array has more than {limit} dimensions, NumPy's limit; the file is damaged")]
    #[allow(missing_docs)]
    Rank { limit: usize },
    /// Sizes that no array can have.
    #[error("the header's sizes are wrong: {source}; the file is damaged")]
    #[allow(missing_docs)]
    Shape {
        #[from]
        source: ShapeError,
    },
}
