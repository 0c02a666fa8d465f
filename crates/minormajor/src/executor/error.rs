//! Why plans are not run.

use minormajor_core::plan::PlanError;
use minormajor_kernels::NestError;

/// Why a run was refused. Nothing has been written then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The source buffer ends before the array does.
    #[error(
        "the source takes {expected} bytes, and the buffer has {found}; give the whole array's"
    )]
    #[allow(missing_docs)]
    SourceTooShort { expected: usize, found: usize },
    /// The destination buffer ends before the array does.
    #[error(
        "the destination takes {expected} bytes, and the buffer has {found}; give room for the whole array"
    )]
    #[allow(missing_docs)]
    DestinationTooShort { expected: usize, found: usize },
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
    /// A box that no kernel takes; no plan has one.
    #[error("a box of the plan can't be run: {source}; please report this")]
    #[allow(missing_docs)]
    Box {
        #[from]
        source: NestError,
    },
}

/// Why [`relayout`](crate::relayout) failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RelayoutError {
    /// There is no plan from the one shape to the other.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The plan can't be run on this source, or its result can't be held.
    #[error(transparent)]
    Run(#[from] RunError),
}
