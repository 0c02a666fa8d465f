//! Where answers go: standard output, locked and buffered, and files that are written whole.

use std::borrow::Cow;
use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::Path;

use crate::error::Stop;

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

/// Writes a file in one step: beside its place, then renamed.
pub fn write_beside(path: &Path, text: &str) -> Result<(), Stop> {
    let failed = |error: &dyn std::fmt::Display| Stop::new(path.display(), error);
    if path.is_dir() {
        return Err(failed(
            &"is a directory; expected the name of a file to write",
        ));
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if !folder.is_dir() {
        let cause = format!(
            "there is no directory {}; create it first",
            folder.display()
        );
        return Err(failed(&cause));
    }
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As any new file; the umask takes away what it must.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut file = builder
        .tempfile_in(folder)
        .map_err(|error| failed(&format!("can't write there: {}", error.kind())))?;
    file.as_file_mut()
        .write_all(text.as_bytes())
        .map_err(|error| failed(&error))?;
    file.persist(path).map_err(|error| failed(&error.error))?;
    Ok(())
}

/// A name or text of a file on one line: it may hold anything.
pub fn one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return text.into();
    }
    let escaped = text.chars().map(|character| match character.is_control() {
        true => character.escape_default().to_string(),
        false => character.to_string(),
    });
    escaped.collect::<String>().into()
}
