//! `relayout`: moves a file's arrays to other layouts.

mod json;
mod text;

use std::fs;

use minormajor::files::{FilePlan, FileStrides, RelayoutOptions};
use minormajor::rules::{Rule, RuleError, Rules, RulesFileError};

use crate::arguments::Relayout;
use crate::error::{Outcome, RequestError, Stop};
use crate::output::Output;
use crate::progress::Watched;
use crate::{request, side};

/// Runs the relayout of the arguments.
pub fn run(arguments: &Relayout, output: &mut Output) -> Result<Outcome, Stop> {
    let answered = answer(arguments, output);
    if arguments.json {
        let of_a_file = |error: String| RequestError {
            input: arguments.input.to_string_lossy().into_owned(),
            error,
            column: None,
        };
        match &answered {
            Err(Stop::Request(error)) => error.write(output)?,
            Err(Stop::File(error)) => of_a_file(error.to_string()).write(output)?,
            Err(Stop::Line(error)) => of_a_file(error.clone()).write(output)?,
            _ => {}
        }
    }
    answered.map(|()| Outcome::Done)
}

fn answer(arguments: &Relayout, output: &mut Output) -> Result<(), Stop> {
    let options = options(arguments)?;
    let plan = FilePlan::new(&arguments.input, &arguments.output, &options)?;
    for unused in plan.unused_rules() {
        if arguments.strict {
            return Err(Stop::Line(format!(
                "{unused}; correct it, or leave out --strict"
            )));
        }
        if !arguments.quiet {
            Stop::Line(format!("warning: {unused}")).report();
        }
    }
    if arguments.dry_run {
        return match arguments.json {
            true => json::write_plan(&plan, output),
            false => text::write_plan(&plan, output),
        };
    }
    let unused = plan.unused_rules().to_vec();
    let watched = Watched::new(arguments.quiet);
    let report = plan.run(&|done, total| watched.report(done, total));
    watched.finish();
    let report = report?;
    match (arguments.json, arguments.quiet) {
        (true, _) => json::write_report(&report, &unused, output),
        (false, false) => text::write_report(&report, arguments.verify, output),
        (false, true) => Ok(()),
    }
}

fn options(arguments: &Relayout) -> Result<RelayoutOptions, Stop> {
    let mut options = RelayoutOptions::default();
    options.threads = arguments.threads;
    if let Some(shape) = &arguments.shape {
        options.input_shape = Some(request::array(shape, shape.len())?);
    }
    options.element_type = arguments.element_type;
    options.input_type = arguments.input_type;
    options.input_order = arguments.endians.src_endian.map(Into::into);
    options.output_order = arguments.endians.dst_endian.map(Into::into);
    options.memory = arguments.memory;
    options.resume = arguments.resume;
    options.sync_bytes = arguments.sync.map(|bytes| bytes as u64);
    options.verify = arguments.verify;
    options.input_strides = file_strides(
        arguments.strides.src_strides.as_deref(),
        arguments.strides.src_offset,
    )?;
    options.output_strides = file_strides(
        arguments.strides.dst_strides.as_deref(),
        arguments.strides.dst_offset,
    )?;
    if let Some(layout) = &arguments.to {
        options.layout = Some(request::layout(layout)?);
    }
    if let Some(chunks) = &arguments.chunks {
        options.chunks = Some(request::sizes(chunks)?);
    }
    if let Some(shards) = &arguments.shards {
        options.shards = Some(request::sizes(shards)?);
    }
    options.compressor = arguments.compressor;
    options.rules = rules(arguments)?;
    Ok(options)
}

/// The rules of the command line, and behind them those of the file.
fn rules(arguments: &Relayout) -> Result<Rules, Stop> {
    let mut rules = Vec::new();
    for text in &arguments.rule {
        let rule: Rule = text
            .parse()
            .map_err(|error: RuleError| RequestError::new(text, error.column(), error.reason()))?;
        rules.push(rule);
    }
    if let Some(path) = &arguments.rules {
        let name = path.to_string_lossy();
        let text = fs::read_to_string(path)
            .map_err(|error| Stop::new(&name, format!("can't read the rules in it: {error}")))?;
        let more = Rules::from_toml(&text).map_err(|error| match error {
            RulesFileError::Rule { line, rule, source } => {
                let reason = format!("{} ({name}, line {line})", source.reason());
                Stop::Request(RequestError::new(rule, source.column(), reason))
            }
            error => Stop::new(&name, error),
        })?;
        rules.extend(more.rules().iter().cloned());
    }
    Ok(Rules::new(rules))
}

fn file_strides(strides: Option<&str>, offset: i64) -> Result<Option<FileStrides>, Stop> {
    let Some(strides) = strides else {
        return Ok(None);
    };
    Ok(Some(FileStrides {
        strides: side::parse_strides(strides)?,
        offset,
    }))
}
