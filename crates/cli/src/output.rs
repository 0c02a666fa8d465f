//! Standard output: locked, buffered, and quiet when its reader has gone.

use std::io::{self, BufWriter, StdoutLock, Write};

/// Buffered standard output.
pub struct Output(BufWriter<StdoutLock<'static>>);

impl Output {
    /// Locks standard output.
    pub fn stdout() -> Output {
        Output(BufWriter::with_capacity(64 << 10, io::stdout().lock()))
    }

    /// Writes what is left.
    pub fn finish(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
