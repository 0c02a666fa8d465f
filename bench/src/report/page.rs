//! The page: everything that was measured.

use std::fmt::Write as _;

use crate::case::SUITES;
use crate::contest::{CACHED, KEPT, MEMCPY, PLANNED};
use crate::results::{Results, Row, geometric_mean};

use super::PLOT;
use super::summary::{self, column, nanoseconds, ratio};

/// A peer that is faster by no more than this is as fast.
const EVEN: f64 = 0.05;

const HEAD: &str = "\
# Performance

This page is written by `cargo xtask bench`; `cargo xtask bench --help` tells its options.

A ratio is the median time of `memcpy` over the median time of the relayout: 1 is as fast as
copying, more is faster. Both move between the same two buffers, whose pages were touched before,
by the same number of threads, and take turns with everyone else who is measured, round by round;
buffers on 4 KiB pages have their rounds after those on huge pages, so that two buffers are in use, as
with `minormajor bench`, not four. `memcpy` copies half of what both arrays take, which is the array's size where there is no
padding, whatever lies between the elements of strided views; by several threads, each copies a part, and the clock
starts when all are ready. What takes less than two milliseconds is done four times before its clock
starts, by everyone: no one finds memory where another left it, or threads asleep. Where nothing else is
said, buffers are on huge pages. In brackets are the ratios at the quartiles of the relayout's times:
half of the rounds lie between them.

Every result was compared with the naive relayout, all bytes of it, before it was timed.
";

/// The whole page.
pub fn page(results: &Results, rows: &[&Row]) -> String {
    let mut text = HEAD.to_owned();
    let setting = &results.setting;
    let rounds = rows
        .iter()
        .flat_map(|row| &row.entries)
        .map(|entry| entry.rounds)
        .min();
    let _ = write!(
        text,
        "\n{} Commit {}. Rounds: {} or more.\n",
        summary::machine(&setting.machine),
        setting.commit,
        rounds.unwrap_or(0)
    );
    text.push_str(&huge_pages(rows));
    text.push_str(&peers(results));
    text.push_str("\n## Suites\n\nGeometric means of ratios.\n\n");
    text.push_str(&summary::suites(rows));
    let _ = write!(text, "\n![Ratios to memcpy, case by case]({PLOT})\n");
    text.push_str(&predictions(rows));
    text.push_str(&roofs(rows));
    text.push_str(&behind(rows));
    text.push_str(&peer_means(rows));
    for (suite, words, is_small) in SUITES {
        let rows: Vec<&Row> = rows
            .iter()
            .filter(|row| row.suite == suite)
            .copied()
            .collect();
        if !rows.is_empty() {
            let _ = write!(text, "\n## {suite}: {words}\n\n");
            text.push_str(&if is_small {
                small_cases(&rows)
            } else {
                cases(&rows)
            });
            text.push_str(&notes(&rows));
        }
    }
    if !results.left_out.is_empty() {
        text.push_str("\n## Not measured\n\n");
        for line in &results.left_out {
            let _ = writeln!(text, "- {line}");
        }
    }
    text
}

/// Whether what is called huge pages was that.
fn huge_pages(rows: &[&Row]) -> String {
    let shares = rows
        .iter()
        .filter(|row| row.bytes >= 8 << 20)
        .filter_map(|row| row.huge_share);
    match shares.reduce(f64::min) {
        Some(least) => format!(
            "Of every large destination, at least {:.0} % was on huge pages.\n",
            100.0 * least
        ),
        None => String::new(),
    }
}

fn peers(results: &Results) -> String {
    let setting = &results.setting;
    let mut text = String::new();
    if !setting.peers.is_empty() {
        let _ = write!(
            text,
            "\nOther libraries took part in the same rounds: {}. They write the same buffers where they are in Rust, \
             and buffers of their own process on huge pages where they are not. candle and JAX allocate their results; \
             the allocator is told to keep memory, so that its pages were touched before too. NumPy and \
             PyTorch copy between strided views, box by box of the plan. NumPy, ndarray, candle and transpose use one thread always. \
             The libraries of another process are called from Python, and that call is in their times.\n",
            setting.peers.join(", ")
        );
    }
    if !setting.missing.is_empty() {
        let _ = write!(text, "\nMissing: {}.\n", setting.missing.join("; "));
    }
    text
}

/// How well plans foretold their times.
fn predictions(rows: &[&Row]) -> String {
    let mut lines = String::new();
    for (suite, _, is_small) in SUITES {
        for threads in summary::threads(rows) {
            let mut errors: Vec<f64> = rows
                .iter()
                .filter(|row| row.suite == suite && row.threads == threads && !is_small)
                .filter_map(|row| {
                    Some((row.predicted_s / row.entry(KEPT, false)?.median_s - 1.0).abs())
                })
                .collect();
            errors.sort_by(f64::total_cmp);
            if let Some(median) = errors.get(errors.len() / 2) {
                let _ = writeln!(
                    lines,
                    "| {suite} | {threads} | {} | {:.0} % |",
                    errors.len(),
                    100.0 * median
                );
            }
        }
    }
    if lines.is_empty() {
        return lines;
    }
    format!(
        "\n## Predictions\n\nHow far the plan's prediction is from the measured median; the machine is measured afresh every eight cases, as a program that starts then would.\n\n| suite | threads | cases | median error |\n|---|--:|--:|--:|\n{lines}"
    )
}

/// The ratio that a case of a suite should reach.
fn floor(suite: &str) -> Option<f64> {
    match suite.trim_start_matches('U') {
        "A" | "B" | "C" | "R" => Some(0.75),
        "T" => Some(0.8),
        "P" => Some(0.5),
        _ => None,
    }
}

/// What stands in the way of a row: the time of `memcpy` and that of the same work in the caches, as parts of its own.
fn stands(memcpy: f64, cached: f64) -> &'static str {
    if cached >= 0.75 {
        "work: it takes about as long in the caches"
    } else if memcpy + cached >= 0.9 {
        "work and memory, one after the other"
    } else {
        "memory: it is read or written in an order that is slower than memcpy's"
    }
}

/// What stands in the way of rows that are slower than they should be.
fn roofs(rows: &[&Row]) -> String {
    let mut lines = String::new();
    for row in rows {
        let (Some(floor), Some(found)) = (floor(&row.suite), row.ratio(false)) else {
            continue;
        };
        let times = [MEMCPY, CACHED, KEPT].map(|name| Some(row.entry(name, false)?.median_s));
        let [Some(memcpy), Some(cached), Some(kept)] = times else {
            continue;
        };
        if found < floor {
            let _ = writeln!(
                lines,
                "| {} | {} | {found:.2} | {floor:.2} | {:.3} | {:.3} | {:.3} | {} |",
                row.case,
                row.threads,
                1e3 * kept,
                1e3 * memcpy,
                1e3 * cached,
                stands(memcpy / kept, cached / kept)
            );
        }
    }
    if lines.is_empty() {
        return lines;
    }
    format!(
        "\n## What stands in the way\n\n\
         Rows below 0.75 (A, B and C), 0.80 (T) and 0.50 (P). Beside their time stand those of two roofs, measured in the same \
         rounds: `memcpy`, which is memory without work, and the same two layouts of an array that a core's caches hold, scaled \
         to as many bytes, which is work without memory. A row that takes as long as both together does nothing of the one \
         while it waits for the other.\n\n\
         | case | threads | ratio | wanted | ms | `memcpy`, ms | in the caches, ms | what it waits for |\n\
         |---|--:|--:|--:|--:|--:|--:|---|\n{lines}"
    )
}

/// Where another library is faster.
fn behind(rows: &[&Row]) -> String {
    if rows.iter().all(|row| row.best_peer().is_none()) {
        return String::new();
    }
    let mut worst: Vec<_> = rows
        .iter()
        .filter_map(|row| Some((row, row.behind()?)))
        .filter(|(_, (_, behind))| *behind > EVEN)
        .collect();
    worst.sort_by(|a, b| b.1.1.total_cmp(&a.1.1));
    let mut text = format!(
        "\n## Behind another library\n\nBy more than {:.0} %: ",
        100.0 * EVEN
    );
    if worst.is_empty() {
        text.push_str("none.\n");
        return text;
    }
    let _ = write!(
        text,
        "{} of {} rows.\n\n| case | threads | library | faster by |\n|---|--:|---|--:|\n",
        worst.len(),
        rows.len()
    );
    for (row, (peer, behind)) in worst {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {:.0} % |",
            row.case,
            row.threads,
            peer.name,
            100.0 * behind
        );
    }
    text
}

/// The names of all peers, in the order in which they appear.
fn peer_names<'a>(rows: &[&'a Row]) -> Vec<&'a str> {
    let mut names = Vec::new();
    for entry in rows.iter().flat_map(|row| row.peers()) {
        if !names.contains(&entry.name.as_str()) {
            names.push(entry.name.as_str());
        }
    }
    names
}

/// Each peer's geometric mean, and minormajor's on the same cases.
fn peer_means(rows: &[&Row]) -> String {
    let names = peer_names(rows);
    if names.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "\n## Other libraries\n\nThe geometric mean of a library's ratios, and behind it, minormajor's on the same cases; \
         then how many they are.\n\n| suite | threads |",
    );
    for name in &names {
        let _ = write!(text, " {name} |");
    }
    text.push_str(&format!("\n|---|--:|{}\n", "--:|".repeat(names.len())));
    for (suite, ..) in SUITES {
        for threads in summary::threads(rows) {
            let rows: Vec<&&Row> = rows
                .iter()
                .filter(|row| row.suite == suite && row.threads == threads)
                .collect();
            if rows.iter().all(|row| row.best_peer().is_none()) {
                continue;
            }
            let _ = write!(text, "| {suite} | {threads} |");
            for name in &names {
                let pairs: Vec<(f64, f64)> = rows
                    .iter()
                    .filter_map(|row| {
                        Some((row.ratio_of(row.entry(name, false)?)?, row.ratio(false)?))
                    })
                    .collect();
                let (theirs, ours): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
                match (geometric_mean(&theirs), geometric_mean(&ours)) {
                    (Some(theirs), Some(ours)) => {
                        let _ = write!(text, " {theirs:.2}, {ours:.2}; {} |", pairs.len());
                    }
                    _ => text.push_str(" – |"),
                }
            }
            text.push('\n');
        }
    }
    text
}

/// A line a case: ratios, and every library's.
fn cases(rows: &[&Row]) -> String {
    let threads = summary::threads(rows);
    let names = peer_names(rows);
    let has_known = rows.iter().any(|row| row.known.is_some());
    let mut text = String::from("| case | from | to | MB | kernel |");
    for &threads in &threads {
        let _ = write!(text, " {}, ms | ratio | 4 KiB |", column(threads));
        for name in &names {
            let _ = write!(text, " {name} |");
        }
        if has_known {
            text.push_str(" elsewhere |");
        }
    }
    let columns = 3 + names.len() + usize::from(has_known);
    text.push_str(&format!(
        "\n|---|---|---|--:|---|{}\n",
        "--:|".repeat(columns * threads.len())
    ));
    each_case(rows, |case| {
        let row = case[0];
        let _ = write!(
            text,
            "| {} | `{}` | `{}` | {:.1} | {} |",
            row.case,
            row.source,
            row.destination,
            row.bytes as f64 / 1e6,
            row.kernel
        );
        for &threads in &threads {
            let row = case.iter().find(|row| row.threads == threads);
            let kept = row.and_then(|row| row.entry(KEPT, false));
            let time = kept.map_or("–".to_owned(), |kept| {
                format!("{:.3}", 1e3 * kept.median_s)
            });
            let spread = row.and_then(|row| row.spread());
            let spread = spread.map_or(String::new(), |[low, high]| {
                format!(" [{low:.2}, {high:.2}]")
            });
            let huge = ratio(row.and_then(|row| row.ratio(false)));
            let small = ratio(row.and_then(|row| row.ratio(true)));
            let _ = write!(text, " {time} | {huge}{spread} | {small} |");
            for name in &names {
                let theirs = row.and_then(|row| row.ratio_of(row.entry(name, false)?));
                let _ = write!(text, " {} |", ratio(theirs));
            }
            if has_known {
                let known = row.and_then(|row| row.known.as_ref());
                let known = known.map_or("–".to_owned(), |(name, ratio)| {
                    format!("{name} {ratio:.2}")
                });
                let _ = write!(text, " {known} |");
            }
        }
        text.push('\n');
    });
    if has_known {
        text.push_str("\n*Elsewhere* is the best library, and its ratio, that was measured for these cases before, on another machine.\n");
    }
    text
}

/// A line a case: nanoseconds.
fn small_cases(rows: &[&Row]) -> String {
    let names = peer_names(rows);
    let all: Vec<&str> = [MEMCPY, KEPT, PLANNED].into_iter().chain(names).collect();
    let mut text = String::from(
        "Nanoseconds, everything in the first cache.\n\n| case | from | to | threads |",
    );
    for name in &all {
        let _ = write!(text, " {name} |");
    }
    text.push_str(&format!(
        "\n|---|---|---|--:|{}\n",
        "--:|".repeat(all.len())
    ));
    for row in rows {
        let _ = write!(
            text,
            "| {} | `{}` | `{}` | {} |",
            row.case, row.source, row.destination, row.threads
        );
        for name in &all {
            let time = row.entry(name, false).map(|entry| entry.median_s);
            let _ = write!(text, " {} |", nanoseconds(time));
        }
        text.push('\n');
    }
    text
}

/// Calls `each` with the rows of every case.
fn each_case(rows: &[&Row], mut each: impl FnMut(&[&Row])) {
    rows.chunk_by(|a, b| a.case == b.case).for_each(&mut each);
}

fn notes(rows: &[&Row]) -> String {
    let mut text = String::new();
    for row in rows {
        for note in &row.notes {
            let _ = write!(text, "\n{}, {}: {note}.\n", row.case, column(row.threads));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{sorted, tests::results};

    #[test]
    fn the_page_has_all_that_was_measured() {
        let results = results();
        let text = page(&results, &sorted(&results.rows).unwrap());
        for line in [
            "Measured on 2 threads of A CPU (L1 32K, L2 1M; 16 GiB; Linux 6, glibc 2.36; rustc 1.95). Commit abcdef0. Rounds: 7 or more.",
            "Of every large destination, at least 100 % was on huge pages.",
            "Missing: JAX: not there.",
            "| A | 1 | 1 | 38 % |",
            "By more than 5 %: 1 of 3 rows.",
            "| A_8192x8192_f32 | 2 | NumPy | faster by |",
            "| A | 1 | 0.20, 1.25; 1 | 0.25, 1.25; 1 |",
            "- B_x: the 60 seconds were over",
        ] {
            let line = line.replace("| faster by |", "| 25 % |");
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert!(
            text.contains("| 1.25 [1.14, 1.39] | – | 0.20 | 0.25 | hptt 0.72 |"),
            "{text}"
        );
        // Every table's lines have as many columns as its head.
        let mut bars = 0;
        for line in text.lines() {
            let found = line.matches('|').count();
            assert!(bars == 0 || found == 0 || found == bars, "{line}");
            bars = found;
        }
    }
}
