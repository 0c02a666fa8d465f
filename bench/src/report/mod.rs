//! The report: a page of tables, a plot beside it, and the same in short in the README.

mod page;
mod plot;
mod summary;

use std::fs;
use std::path::Path;

use crate::case::{self, SUITES};
use crate::machine::ROOT;
use crate::results::{Results, Row};

/// The page's file name.
pub const TABLE: &str = "performance.md";
/// The plot's.
pub const PLOT: &str = "performance.svg";

/// Between these lines the README's section is written.
const README_MARKS: [&str; 2] = [
    "<!-- written by `cargo xtask bench` -->",
    "<!-- end of what `cargo xtask bench` writes -->",
];

/// Writes the page and the plot into a folder; into the project's docs, the README's section too.
///
/// # Errors
///
/// Where a file can't be written.
pub fn write(results: &Results, folder: &Path) -> Result<(), String> {
    let rows = sorted(&results.rows)?;
    let put = |path: &Path, text: &str| {
        fs::write(path, text).map_err(|error| format!("can't write {}: {error}", path.display()))
    };
    fs::create_dir_all(folder)
        .map_err(|error| format!("can't make {}: {error}", folder.display()))?;
    put(&folder.join(PLOT), &plot::plot(&rows))?;
    put(&folder.join(TABLE), &page::page(results, &rows))?;
    let docs = Path::new(ROOT).join("docs");
    let is_docs = match (folder.canonicalize(), docs.canonicalize()) {
        (Ok(folder), Ok(docs)) => folder == docs,
        _ => false,
    };
    if is_docs {
        let path = Path::new(ROOT).join("README.md");
        let text = fs::read_to_string(&path)
            .map_err(|error| format!("can't read {}: {error}", path.display()))?;
        if let Some(text) = between_marks(&text, &summary::section(results, &rows)) {
            put(&path, &text)?;
        }
    }
    Ok(())
}

/// The text with a section in place of what is between the marks; none without them.
fn between_marks(text: &str, section: &str) -> Option<String> {
    let [begin, end] = README_MARKS;
    let (before, rest) = text.split_once(begin)?;
    let (_, after) = rest.split_once(end)?;
    Some(format!("{before}{begin}\n{section}{end}{after}"))
}

/// Rows by suite, then in the order of the list.
fn sorted(rows: &[Row]) -> Result<Vec<&Row>, String> {
    let listed = case::listed()?;
    let place = |row: &Row| {
        let suite = SUITES.iter().position(|(suite, ..)| *suite == row.suite);
        let case = listed.iter().position(|case| case.name == row.case);
        let case = case.unwrap_or(usize::MAX);
        (suite, case, row.case.clone(), row.threads)
    };
    let mut sorted: Vec<&Row> = rows.iter().collect();
    sorted.sort_by_cached_key(|row| place(row));
    Ok(sorted)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::contest::{KEPT, MEMCPY, PLANNED};
    use crate::machine::Machine;
    use crate::results::{Entry, Setting};

    /// A row in which memcpy takes a millisecond, or 20 ns.
    pub fn row(case: &str, threads: usize, times: &[(&str, bool, f64)]) -> Row {
        let suite: String = case.chars().take_while(char::is_ascii_uppercase).collect();
        let small = suite.ends_with('S');
        let entry = |&(name, small_pages, median_s): &(&str, bool, f64)| Entry {
            name: name.to_owned(),
            small_pages,
            rounds: 7,
            median_s,
            low_s: median_s * 0.9,
            high_s: median_s * 1.1,
        };
        let memcpy = if small { 20e-9 } else { 1e-3 };
        let mut entries = vec![entry(&(MEMCPY, false, memcpy))];
        if !small {
            entries.push(entry(&(MEMCPY, true, memcpy * 2.0)));
        }
        entries.extend(times.iter().map(entry));
        Row {
            case: case.to_owned(),
            suite,
            source: "f32[2,3]{1,0}".to_owned(),
            destination: "f32[2,3]{0,1}".to_owned(),
            threads,
            bytes: 64_000_000,
            kernel: "transpose 4-byte avx2".to_owned(),
            huge_share: Some(1.0),
            predicted_s: 1.1e-3,
            entries,
            known: (case == "A_4096x4096_f32").then(|| ("hptt".to_owned(), 0.72)),
            notes: Vec::new(),
        }
    }

    /// Two suites, one of small arrays, with and without peers.
    pub fn results() -> Results {
        let machine = Machine {
            cpu: "A CPU".to_owned(),
            threads: 2,
            caches: "L1 32K, L2 1M".to_owned(),
            memory_gib: 16,
            system: "Linux 6, glibc 2.36".to_owned(),
            rustc: "rustc 1.95".to_owned(),
        };
        let mut results = Results::new(Setting {
            machine,
            commit: "abcdef0".to_owned(),
            peers: vec!["NumPy 2.0".to_owned(), "ndarray 0.17".to_owned()],
            missing: vec!["JAX: not there".to_owned()],
        });
        results.add(vec![
            row(
                "S_4x4",
                1,
                &[(KEPT, false, 30e-9), (PLANNED, false, 300e-9)],
            ),
            row(
                "A_8192x8192_f32",
                2,
                &[
                    (KEPT, false, 2e-3),
                    (KEPT, true, 2e-3),
                    ("NumPy", false, 1.6e-3),
                ],
            ),
            row(
                "A_4096x4096_f32",
                1,
                &[
                    (KEPT, false, 0.8e-3),
                    ("NumPy", false, 5e-3),
                    ("ndarray", false, 4e-3),
                ],
            ),
        ]);
        results.leave_out("B_x", "the 60 seconds were over");
        results
    }

    #[test]
    fn rows_are_in_the_order_of_the_list() {
        let results = results();
        let cases: Vec<&str> = sorted(&results.rows)
            .unwrap()
            .iter()
            .map(|row| row.case.as_str())
            .collect();
        assert_eq!(cases, ["A_4096x4096_f32", "A_8192x8192_f32", "S_4x4"]);
    }

    #[test]
    fn only_what_is_between_the_marks_is_replaced() {
        let [begin, end] = README_MARKS;
        let text = format!("a\n{begin}\nold\n{end}\nb\n");
        assert_eq!(
            between_marks(&text, "new\n").unwrap(),
            format!("a\n{begin}\nnew\n{end}\nb\n")
        );
        assert_eq!(between_marks("a\n", "new\n"), None);
    }

    #[test]
    fn files_are_written_where_asked() {
        let folder = std::env::temp_dir().join(format!("minormajor-bench-{}", std::process::id()));
        write(&results(), &folder).unwrap();
        let [page, plot] = [TABLE, PLOT].map(|name| fs::read_to_string(folder.join(name)).unwrap());
        fs::remove_dir_all(&folder).unwrap();
        assert!(page.starts_with("# ") && plot.starts_with("<svg"));
    }
}
