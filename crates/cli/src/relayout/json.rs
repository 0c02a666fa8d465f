//! What becomes of a file's arrays, for programs.

use std::io::{self, Write};

use minormajor::files::{ArrayMove, FilePlan, RelayoutReport};
use minormajor::rules::UnusedRule;
use serde::Serialize;

use super::text::type_name;
use crate::error::Stop;
use crate::output::Output;

#[derive(Serialize)]
struct FileObject<'a> {
    output: String,
    arrays: Vec<ArrayObject<'a>>,
    bytes_read: u64,
    bytes_written: u64,
    memory_bytes: usize,
    predicted_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    moving_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    elapsed_s: Option<f64>,
    metadata_lost: &'a [String],
    unused_rules: Vec<UnusedObject<'a>>,
}

#[derive(Serialize)]
struct ArrayObject<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    type_name: String,
    from: String,
    to: String,
    class: &'static str,
    /// By its number, from 1.
    rule: Option<usize>,
    bytes_read: i64,
    bytes_written: i64,
    predicted_s: f64,
}

#[derive(Serialize)]
struct UnusedObject<'a> {
    rule: &'a str,
    why: String,
}

/// Writes what would become of all arrays.
pub fn write_plan(plan: &FilePlan, output: &mut Output) -> Result<(), Stop> {
    let named = plan.files().last();
    let object = FileObject {
        output: named.map_or(String::new(), |path| path.to_string_lossy().into_owned()),
        arrays: arrays(plan.arrays()),
        bytes_read: plan.bytes_read(),
        bytes_written: plan.bytes_written(),
        memory_bytes: plan.extra_memory().heap,
        predicted_s: plan.predicted().as_secs_f64(),
        moving_s: None,
        elapsed_s: None,
        metadata_lost: plan.metadata_lost(),
        unused_rules: unused(plan.unused_rules()),
    };
    write(&object, output)
}

/// Writes what became of all arrays.
pub fn write_report(
    report: &RelayoutReport,
    rules: &[UnusedRule],
    output: &mut Output,
) -> Result<(), Stop> {
    let predicted = report.arrays.iter().map(|array| array.predicted);
    let object = FileObject {
        output: report.output.to_string_lossy().into_owned(),
        arrays: arrays(&report.arrays),
        bytes_read: report.bytes_read,
        bytes_written: report.bytes_written,
        memory_bytes: report.extra.heap,
        predicted_s: predicted.sum::<std::time::Duration>().as_secs_f64(),
        moving_s: Some(report.moving.as_secs_f64()),
        elapsed_s: Some(report.elapsed.as_secs_f64()),
        metadata_lost: &report.metadata_lost,
        unused_rules: unused(rules),
    };
    write(&object, output)
}

fn arrays(arrays: &[ArrayMove]) -> Vec<ArrayObject<'_>> {
    let objects = arrays.iter().map(|array| ArrayObject {
        name: &array.name,
        type_name: type_name(array),
        from: array.source.to_string(),
        to: array.destination.to_string(),
        class: array.plan.class().name(),
        rule: array.rule.map(|rule| rule + 1),
        bytes_read: array.plan.bytes_read(),
        bytes_written: array.plan.bytes_written(),
        predicted_s: array.predicted.as_secs_f64(),
    });
    objects.collect()
}

fn unused(rules: &[UnusedRule]) -> Vec<UnusedObject<'_>> {
    let objects = rules.iter().map(|unused| UnusedObject {
        rule: &unused.text,
        why: unused.to_string(),
    });
    objects.collect()
}

fn write(object: &FileObject<'_>, output: &mut Output) -> Result<(), Stop> {
    serde_json::to_writer(&mut *output, object).map_err(io::Error::from)?;
    output.write_all(b"\n")?;
    Ok(())
}
