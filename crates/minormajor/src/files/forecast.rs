//! What is expected of a run before it begins.

use std::time::Duration;

/// What a run is expected to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Forecast {
    /// How often arrays are read and written: more than once where memory is very short for one
    /// of them.
    pub passes: usize,
    /// Bytes read, by all passes.
    pub bytes_read: u64,
    /// Bytes written, by all passes.
    pub bytes_written: u64,
    /// Bytes that the unfinished file has beside the output's own, for what passes leave each
    /// other.
    pub bytes_beside: u64,
    /// About how long it takes where both files lie in the system's cache. A disk that is slower
    /// than memory takes the time that it takes.
    pub time: Duration,
}
