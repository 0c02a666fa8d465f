//! The suites in one table, for the page and for the README.

use std::fmt::Write as _;

use crate::case::SUITES;
use crate::contest::{KEPT, MEMCPY, PLANNED};
use crate::machine::Machine;
use crate::results::{Results, Row, geometric_mean};

use super::{PLOT, TABLE};

/// The README's section.
pub fn section(results: &Results, rows: &[&Row]) -> String {
    format!(
        "The time of `memcpy` over that of a relayout, of the same bytes between the same touched \
         buffers, on huge pages, by as many threads: geometric means, and the least. {} \
         [All cases](docs/{TABLE}).\n\n{}\n![Ratios to memcpy, case by case](docs/{PLOT})\n",
        machine(&results.setting.machine),
        suites(rows)
    )
}

/// The machine in a sentence.
pub fn machine(machine: &Machine) -> String {
    format!(
        "Measured on {} threads of {} ({}; {} GiB; {}; {}).",
        machine.threads,
        machine.cpu,
        machine.caches,
        machine.memory_gib,
        machine.system,
        machine.rustc
    )
}

/// Numbers of threads that rows have, rising.
pub fn threads(rows: &[&Row]) -> Vec<usize> {
    let mut threads: Vec<usize> = rows.iter().map(|row| row.threads).collect();
    threads.sort_unstable();
    threads.dedup();
    threads
}

/// The heading of a column of so many threads.
pub fn column(threads: usize) -> String {
    match threads {
        1 => "1 thread".to_owned(),
        _ => format!("{threads} threads"),
    }
}

/// The suites of large arrays, and then those of small ones, in two tables.
pub fn suites(rows: &[&Row]) -> String {
    let threads = threads(rows);
    let mut text = large(rows, &threads);
    let small = small(rows, &threads);
    if !small.is_empty() {
        text.push('\n');
        text.push_str(&small);
    }
    text
}

/// The suites that have rows: letters, words, rows.
fn of_kind<'a>(
    rows: &'a [&'a Row],
    small: bool,
) -> impl Iterator<Item = (&'static str, &'static str, Vec<&'a Row>)> {
    SUITES
        .iter()
        .filter(move |(.., is_small)| *is_small == small)
        .filter_map(|(suite, words, _)| {
            let rows: Vec<&Row> = rows
                .iter()
                .filter(|row| row.suite == *suite)
                .copied()
                .collect();
            (!rows.is_empty()).then_some((*suite, *words, rows))
        })
}

fn large(rows: &[&Row], threads: &[usize]) -> String {
    let has_peers = rows.iter().any(|row| row.best_peer().is_some());
    let columns = &["least", "4 KiB pages", "best peer of each case"][..2 + usize::from(has_peers)];
    let mut text = String::from("| suite | cases |");
    for &threads in threads {
        let _ = write!(text, " {} | {} |", column(threads), columns.join(" | "));
    }
    let dashes = "--:|".repeat((1 + columns.len()) * threads.len());
    let _ = write!(text, "\n|---|--:|{dashes}\n");
    for (suite, words, rows) in of_kind(rows, false) {
        let _ = write!(text, "| {suite}: {words} | {} |", cases(&rows));
        for &threads in threads {
            let rows = rows.iter().filter(|row| row.threads == threads);
            let of = |ratio: &dyn Fn(&Row) -> Option<f64>| -> Vec<f64> {
                rows.clone().filter_map(|row| ratio(row)).collect()
            };
            let huge = of(&|row| row.ratio(false));
            let values = [
                geometric_mean(&huge),
                huge.iter().copied().reduce(f64::min),
                geometric_mean(&of(&|row| row.ratio(true))),
                geometric_mean(&of(&|row| row.ratio_of(row.best_peer()?))),
            ];
            for value in &values[..1 + columns.len()] {
                let _ = write!(text, " {} |", ratio(*value));
            }
        }
        text.push('\n');
    }
    text
}

/// What a small array takes beyond memcpy, where everything is in the first cache.
fn small(rows: &[&Row], threads: &[usize]) -> String {
    let mut text = String::new();
    for (suite, words, rows) in of_kind(rows, true) {
        for &threads in threads {
            let rows: Vec<&Row> = rows
                .iter()
                .filter(|row| row.threads == threads)
                .copied()
                .collect();
            let median = |name: &str| {
                let mut times: Vec<f64> = rows
                    .iter()
                    .filter_map(|row| Some(row.entry(name, false)?.median_s))
                    .collect();
                times.sort_by(f64::total_cmp);
                times.get(times.len() / 2).copied()
            };
            if rows.is_empty() {
                continue;
            }
            if text.is_empty() {
                text.push_str("| suite | cases | threads | `memcpy`, ns | plan kept, ns | plan made each time, ns |\n|---|--:|--:|--:|--:|--:|\n");
            }
            let _ = write!(
                text,
                "| {suite}: {words}, medians | {} | {threads} |",
                cases(&rows)
            );
            for name in [MEMCPY, KEPT, PLANNED] {
                let _ = write!(text, " {} |", nanoseconds(median(name)));
            }
            text.push('\n');
        }
    }
    text
}

fn cases(rows: &[&Row]) -> usize {
    let mut names: Vec<&str> = rows.iter().map(|row| row.case.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.len()
}

/// A ratio with two decimals; a dash for none.
pub fn ratio(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:.2}"))
}

/// Seconds in nanoseconds with three digits or more.
pub fn nanoseconds(seconds: Option<f64>) -> String {
    let Some(seconds) = seconds else {
        return "–".to_owned();
    };
    let nanoseconds = seconds * 1e9;
    match nanoseconds {
        ..9.95 => format!("{nanoseconds:.2}"),
        ..99.5 => format!("{nanoseconds:.1}"),
        _ => format!("{nanoseconds:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{sorted, tests::results};

    #[test]
    fn a_row_a_suite() {
        let results = results();
        let rows = sorted(&results.rows).unwrap();
        let text = suites(&rows);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[2],
            "| A: matrices, elements of 1 to 16 bytes | 2 | 1.25 | 1.25 | – | 0.25 | 0.50 | 0.50 | 1.00 | 0.62 |"
        );
        assert_eq!(
            lines[6],
            "| S: small arrays, medians | 1 | 1 | 20.0 | 30.0 | 300 |"
        );
        assert_eq!(lines.len(), 7, "{text}");
        let bars = |line: &str| line.matches('|').count();
        assert!(
            lines[..3].iter().all(|line| bars(line) == bars(lines[0])),
            "{text}"
        );
        assert!(section(&results, &rows).contains("2 threads of A CPU (L1 32K, L2 1M; 16 GiB;"));
    }

    #[test]
    fn times_have_three_digits() {
        for (seconds, text) in [
            (1.234e-9, "1.23"),
            (23.46e-9, "23.5"),
            (456.7e-9, "457"),
            (78e-6, "78000"),
        ] {
            assert_eq!(nanoseconds(Some(seconds)), text);
        }
        assert_eq!(nanoseconds(None), "–");
    }
}
