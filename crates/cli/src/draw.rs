//! `draw`: the picture of an array, on the terminal or as an SVG file.

use std::io::{self, Write};

use anstream::{AutoStream, ColorChoice};

use crate::arguments::Draw;
use crate::error::{Outcome, Stop};
use crate::output::{Output, write_beside};
use crate::request;
use minormajor::Picture;

/// Draws the shape of the arguments.
pub fn run(arguments: &Draw, output: &mut Output) -> Result<Outcome, Stop> {
    let text = &arguments.shape;
    let array = request::array(text, text.len())?;
    let picture = Picture::new(&array).map_err(|error| request::without_size(text, &error))?;
    match &arguments.output {
        Some(path) => write_beside(path, &picture.to_svg())?,
        None => {
            let colour = AutoStream::choice(&io::stdout()) != ColorChoice::Never;
            output.write_all(picture.to_text(width(arguments), colour).as_bytes())?;
        }
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
