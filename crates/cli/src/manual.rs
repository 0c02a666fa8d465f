//! `man`: the manual pages.

use std::fmt::Write as _;
use std::fs;
use std::io;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::arguments::{self, Arguments};
use crate::error::{Outcome, Stop};
use crate::help;
use crate::output::write_beside;

/// Writes the pages of the program and of each command.
pub fn run(arguments: &arguments::Man) -> Result<Outcome, Stop> {
    let folder = &arguments.folder;
    fs::create_dir_all(folder)
        .map_err(|error| Stop::new(folder.display(), format!("can't make the folder: {error}")))?;
    let mut program = Arguments::command();
    program.build();
    for command in std::iter::once(&program).chain(program.get_subcommands()) {
        let man =
            Man::new(command.clone()).source(concat!("minormajor ", env!("CARGO_PKG_VERSION")));
        write_beside(&folder.join(man.get_filename()), &page(&man, command)?)?;
    }
    Ok(Outcome::Done)
}

/// A page of the manual, in the language of `man`.
fn page(man: &Man, command: &Command) -> io::Result<String> {
    let mut bytes = Vec::new();
    man.render_title(&mut bytes)?;
    man.render_name_section(&mut bytes)?;
    man.render_synopsis_section(&mut bytes)?;
    man.render_description_section(&mut bytes)?;
    man.render_options_section(&mut bytes)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut bytes)?;
    }
    let mut page = String::from_utf8(bytes).map_err(io::Error::other)?;
    let text = match command.has_subcommands() {
        true => help::SHAPES.to_owned(),
        false => command
            .get_after_help()
            .map(ToString::to_string)
            .unwrap_or_default(),
    };
    match text.split_once('\n') {
        Some((first, rest)) if first.starts_with("Example") => section(&mut page, "EXAMPLES", rest),
        _ => section(&mut page, "NOTES", &text),
    }
    section(&mut page, "EXIT STATUS", help::EXIT);
    Ok(page)
}

/// Prose in paragraphs, and indented lines as they stand.
fn section(page: &mut String, title: &str, text: &str) {
    let _ = writeln!(page, ".SH \"{title}\"");
    let mut as_is = false;
    let mut lines = text.trim_matches('\n').lines().peekable();
    while let Some(line) = lines.next() {
        let indented = line.starts_with("  ");
        // Empty lines between indented ones belong to them.
        let stays = indented
            || as_is && line.is_empty() && lines.peek().is_some_and(|next| next.starts_with("  "));
        if stays != as_is {
            page.push_str(if stays { ".PP\n.EX\n" } else { ".EE\n" });
            as_is = stays;
        }
        match line {
            "" if as_is => page.push('\n'),
            "" => page.push_str(".PP\n"),
            line => {
                escape(page, line);
                page.push('\n');
            }
        }
    }
    if as_is {
        page.push_str(".EE\n");
    }
}

/// A line of text that means itself.
fn escape(page: &mut String, line: &str) {
    if line.starts_with(['.', '\'']) {
        page.push_str("\\&");
    }
    for c in line.chars() {
        match c {
            '\\' => page.push_str("\\e"),
            '-' => page.push_str("\\-"),
            // Straight, as a shell wants them.
            '\'' => page.push_str("\\(aq"),
            '`' => page.push_str("\\(ga"),
            '^' => page.push_str("\\(ha"),
            '~' => page.push_str("\\(ti"),
            c if c.is_ascii() => page.push(c),
            c => {
                let _ = write!(page, "\\[u{:04X}]", u32::from(c));
            }
        }
    }
}
