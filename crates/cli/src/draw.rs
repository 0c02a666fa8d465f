//! `draw`: the picture of an array, on the terminal or as an SVG file.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use crate::arguments::{ColorChoice, Draw};
use crate::error::{Outcome, Stop};
use crate::output::Output;
use crate::request;
use minormajor::Picture;

/// Draws the shape of the arguments.
pub fn run(arguments: &Draw, output: &mut Output) -> Result<Outcome, Stop> {
    let text = &arguments.shape;
    let array = request::array(text, text.len())?;
    let picture = Picture::new(&array).map_err(|error| request::without_size(text, &error))?;
    match &arguments.output {
        Some(path) => write_beside(path, &picture.to_svg())?,
        None => output.write_all(
            picture
                .to_text(width(arguments), colour(arguments))
                .as_bytes(),
        )?,
    }
    Ok(Outcome::Done)
}

fn width(arguments: &Draw) -> usize {
    let columns = || std::env::var("COLUMNS").ok()?.parse().ok();
    let terminal = || terminal_size::terminal_size().map(|(terminal_size::Width(width), _)| width);
    let width = arguments
        .width
        .or_else(terminal)
        .or_else(columns)
        .unwrap_or(80);
    usize::from(width)
}

fn colour(arguments: &Draw) -> bool {
    match arguments.color {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            let forbidden = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
            io::stdout().is_terminal() && !forbidden && !dumb
        }
    }
}

/// Writes a file in one step: beside its place, then renamed.
fn write_beside(path: &Path, text: &str) -> Result<(), Stop> {
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
