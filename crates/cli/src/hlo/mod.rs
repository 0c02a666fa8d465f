//! `hlo`: what a module or a TPU compiler's memory report allocates, wastes and moves.

mod json;
mod text;

use std::fs;
use std::io::{self, Read};

use minormajor::hlo::{Analysis, Document, page};

use crate::arguments::Hlo;
use crate::error::{Outcome, Stop};
use crate::output::{Output, write_beside};

/// So many of the places that can't be read are shown on standard error; JSON and the page have
/// all.
const SHOWN: usize = 10;

/// Analyses the file of the arguments; `-` stands for standard input.
pub fn run(arguments: &Hlo, output: &mut Output) -> Result<Outcome, Stop> {
    let is_stdin = arguments.file.as_os_str() == "-";
    let name = match is_stdin {
        true => "standard input".to_owned(),
        false => arguments.file.display().to_string(),
    };
    let failed = |cause: &dyn std::fmt::Display| Stop::new(&name, cause);
    let bytes = match is_stdin {
        true => {
            let mut bytes = Vec::new();
            let read = io::stdin().lock().read_to_end(&mut bytes);
            read.map(|_| bytes)
        }
        false => fs::read(&arguments.file),
    };
    let bytes = bytes.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => failed(&"there is no such file; check the path"),
        _ => failed(&error),
    })?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        failed(&format!(
            "line {line}: expected UTF-8 text, found a byte that is none; \
             of a dump, give the file that ends in .txt"
        ))
    })?;
    let document = Document::read(&text).map_err(|error| failed(&error))?;
    let analysis = Analysis::of(&document);
    if let Some(path) = &arguments.html {
        write_beside(path, &page(&analysis, &name))?;
    }
    if arguments.json {
        json::write(&analysis, output)?;
    } else if arguments.html.is_none() {
        let rows = match arguments.top {
            0 => usize::MAX,
            top => top,
        };
        text::write(&analysis, rows, output)?;
    }
    output.finish()?;
    for unread in analysis.unread().iter().take(SHOWN) {
        Stop::new(&name, unread).report();
    }
    if analysis.unread().len() > SHOWN {
        let more = analysis.unread().len() - SHOWN;
        Stop::new(
            &name,
            format!("{more} more places can't be read; --json lists them"),
        )
        .report();
    }
    Ok(match analysis.unread().is_empty() {
        true => Outcome::Done,
        false => Outcome::SomeFailed,
    })
}
