//! `cargo xtask conformance-table`: CONFORMANCE.md, XLA's tests beside the tests here.
//!
//! A test here that has the meaning of one of XLA's says so in a comment above it: a line
//! `XLA: Suite.Test`. The list of XLA's tests says why where there is none.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::workspace::Workspace;

/// The names of XLA's tests, and the reasons why some have no counterpart.
const LIST: &str = "crates/testing/conformance/tests.txt";
const TABLE: &str = "CONFORMANCE.md";
const MARK: &str = "XLA: ";

/// Writes the table.
///
/// # Errors
///
/// Where a test of the list has neither a counterpart nor a reason, where one has both, and
/// where a line names no test of the list or stands above no test.
pub fn run(workspace: &Workspace) -> Result<(), Failure> {
    let path = workspace.root().join(TABLE);
    let text = table(workspace)?;
    fs::write(&path, text).map_err(|error| Failure::io("write", &path, &error))
}

/// Whether the table is what [`run`] would write.
///
/// # Errors
///
/// As [`run`], and where it is not.
pub fn check(workspace: &Workspace) -> Result<(), Failure> {
    let path = workspace.root().join(TABLE);
    let found = fs::read_to_string(&path).map_err(|error| Failure::io("read", &path, &error))?;
    if found == table(workspace)? {
        return Ok(());
    }
    Err(Failure::new(format!(
        "{TABLE} is not of today: `cargo xtask conformance-table` writes it anew"
    )))
}

fn table(workspace: &Workspace) -> Result<String, Failure> {
    let path = workspace.root().join(LIST);
    let list = fs::read_to_string(&path).map_err(|error| Failure::io("read", &path, &error))?;
    let mut files = Vec::new();
    sources(&workspace.root().join("crates"), &mut files)?;
    let mut tests = Tests::new();
    let mut faults = Vec::new();
    for file in &files {
        let text = fs::read_to_string(file).map_err(|error| Failure::io("read", file, &error))?;
        let shown = workspace.shown(file).to_string().replace('\\', "/");
        marked(&shown, &text, &mut tests, &mut faults);
    }
    let suites = suites(&list, &mut faults);
    unmatched(&suites, &tests, &mut faults);
    if !faults.is_empty() {
        return Err(Failure::new(faults.join("\n")));
    }
    Ok(rendered(&suites, &tests))
}

/// All Rust files below a folder, in order of name.
fn sources(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let read = |error| Failure::io("read", folder, &error);
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(read)? {
        entries.push(entry.map_err(read)?.path());
    }
    entries.sort();
    for path in entries {
        if path.is_dir() {
            if !path.ends_with("target") {
                sources(&path, files)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// A test here.
#[derive(Debug, PartialEq, Eq)]
struct Test {
    file: String,
    name: String,
}

/// The tests here, by the name of XLA's that they stand for.
type Tests = BTreeMap<String, Vec<Test>>;

/// Finds the tests of a file that stand for XLA's.
fn marked(file: &str, text: &str, tests: &mut Tests, faults: &mut Vec<String>) {
    let mut marks: Vec<&str> = Vec::new();
    let mut is_test = false;
    for line in text.lines().map(str::trim) {
        if let Some(comment) = line.strip_prefix("//") {
            let said = comment.trim_start_matches(['/', ' ']).strip_prefix(MARK);
            marks.extend(said.filter(|said| is_name(said)));
            continue;
        }
        if marks.is_empty() || line.is_empty() {
            continue;
        }
        if line.starts_with("#[") {
            is_test |= line == "#[test]";
            continue;
        }
        let name = line
            .strip_prefix("fn ")
            .and_then(|rest| rest.split('(').next());
        for mark in marks.drain(..) {
            match name.filter(|_| is_test) {
                Some(name) => tests.entry(mark.to_owned()).or_default().push(Test {
                    file: file.to_owned(),
                    name: name.to_owned(),
                }),
                None => faults.push(format!("{file}: `{MARK}{mark}` stands above no test")),
            }
        }
        is_test = false;
    }
}

/// Whether a text is a suite and a test: `ShapeTest.IsStatic`.
fn is_name(text: &str) -> bool {
    let word = |word: &str| {
        word.starts_with(|first: char| first.is_ascii_uppercase())
            && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    text.split_once('.')
        .is_some_and(|(suite, test)| word(suite) && word(test))
}

/// The tests of one of XLA's files.
#[derive(Debug, PartialEq, Eq)]
struct Suite<'a> {
    file: &'a str,
    /// Names, and the reasons of those left out.
    tests: Vec<(&'a str, Option<&'a str>)>,
}

/// Reads the list: `[file]`, then a name or `name: reason` a line; `#` begins a comment.
fn suites<'a>(list: &'a str, faults: &mut Vec<String>) -> Vec<Suite<'a>> {
    let mut suites: Vec<Suite<'a>> = Vec::new();
    for (at, line) in list.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(file) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            let tests = Vec::new();
            suites.push(Suite { file, tests });
            continue;
        }
        let (name, reason) = match line.split_once(": ") {
            Some((name, reason)) => (name, Some(reason)),
            None => (line, None),
        };
        match suites.last_mut().filter(|_| is_name(name)) {
            Some(suite) => suite.tests.push((name, reason)),
            None => faults.push(format!(
                "{LIST}:{}: expected [file], then Suite.Test or Suite.Test: reason",
                at + 1
            )),
        }
    }
    suites
}

/// What is in one of list and tests only.
fn unmatched(suites: &[Suite<'_>], tests: &Tests, faults: &mut Vec<String>) {
    let mut listed = BTreeMap::new();
    for &(name, reason) in suites.iter().flat_map(|suite| &suite.tests) {
        if listed.insert(name, reason).is_some() {
            faults.push(format!("{LIST} names {name} twice"));
        }
        match (tests.get(name), reason) {
            (None, None) => faults.push(format!(
                "{name} has neither a test with the line `{MARK}{name}` nor a reason in {LIST}"
            )),
            (Some(_), Some(_)) => faults.push(format!(
                "{name} has a test, and {LIST} gives a reason why it has none"
            )),
            _ => {}
        }
    }
    for (name, tests) in tests {
        if !listed.contains_key(name.as_str()) {
            let file = &tests[0].file;
            faults.push(format!("{file}: {LIST} has no {name}"));
        }
    }
}

fn rendered(suites: &[Suite<'_>], tests: &Tests) -> String {
    let mut text = String::from(
        "# XLA's tests, and ours\n\n\
         Written by `cargo xtask conformance-table`, checked by `cargo xtask test`. Each test of XLA's \
         suites, and the\ntest here that asks the same in our own words, or the reason why there is none.\n\n\
         | XLA's file | tests | asked here | left out |\n|---|---|---|---|\n",
    );
    let mut sum = (0, 0);
    let row = |text: &mut String, file: &str, all: usize, left_out: usize| {
        // Writing to a string never fails.
        let _ = writeln!(text, "| {file} | {all} | {} | {left_out} |", all - left_out);
    };
    for suite in suites {
        let all = suite.tests.len();
        let left_out = suite.tests.iter().filter(|test| test.1.is_some()).count();
        sum = (sum.0 + all, sum.1 + left_out);
        row(&mut text, &format!("`{}`", suite.file), all, left_out);
    }
    row(&mut text, "all", sum.0, sum.1);
    for suite in suites {
        let _ = write!(text, "\n## {}\n\n| XLA | here |\n|---|---|\n", suite.file);
        for &(name, reason) in &suite.tests {
            let here = match reason {
                Some(reason) => format!("none: {reason}"),
                None => {
                    let tests = tests.get(name).into_iter().flatten();
                    let links = tests.map(|test| format!("[{}]({})", test.name, test.file));
                    links.collect::<Vec<_>>().join(", ")
                }
            };
            let _ = writeln!(text, "| {name} | {here} |");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "
        /// Says more. XLA: not this
        /// XLA: ATest.One
        // XLA: ATest.Two
        #[cfg(unix)]
        #[test]
        fn one_and_two() {}
        /// XLA: ATest.One
        #[test]
        fn one_again() {
            let x = 1; // XLA: ATest.Three
        }
        // XLA: ATest.Four
        fn no_test() {}
    ";

    fn found() -> (Tests, Vec<String>) {
        let (mut tests, mut faults) = (Tests::new(), Vec::new());
        marked("a.rs", SOURCE, &mut tests, &mut faults);
        (tests, faults)
    }

    #[test]
    fn lines_above_tests_are_found() {
        let (tests, faults) = found();
        let names = |name: &str| -> Vec<&str> {
            let tests = tests.get(name).into_iter().flatten();
            tests.map(|test| test.name.as_str()).collect()
        };
        assert_eq!(names("ATest.One"), ["one_and_two", "one_again"]);
        assert_eq!(names("ATest.Two"), ["one_and_two"]);
        assert_eq!(tests.len(), 2);
        assert_eq!(faults, ["a.rs: `XLA: ATest.Four` stands above no test"]);
    }

    #[test]
    fn every_test_has_one_of_counterpart_and_reason() {
        let (tests, _) = found();
        let faults_of = |list: &str| {
            let mut faults = Vec::new();
            let suites = suites(list, &mut faults);
            unmatched(&suites, &tests, &mut faults);
            faults
        };
        let good = "# names\n[a_test]\nATest.One\nATest.Two\nATest.Five: a benchmark\n";
        assert_eq!(faults_of(good), [""; 0]);
        for (list, faults) in [
            ("[a_test]\nATest.One\n", &["a.rs: "][..]),
            ("ATest.One\n[a_test]\nATest.Two\n", &["crates/", "a.rs: "]),
            (
                "[a_test]\nATest.One\nATest.Two: why\n",
                &["ATest.Two has a test"],
            ),
            (
                "[a_test]\nATest.One\nATest.Two\nATest.Six\n",
                &["ATest.Six has neither"],
            ),
            ("[a_test]\nATest.One\nATest.One\nATest.Two\n", &["crates/"]),
            ("[a_test]\nATest.One\nATest.Two\nwords\n", &["crates/"]),
        ] {
            let found = faults_of(list);
            assert_eq!(found.len(), faults.len(), "{list:?}: {found:?}");
            for (found, expected) in found.iter().zip(faults) {
                assert!(found.starts_with(expected), "{list:?}: {found}");
            }
        }
    }

    #[test]
    fn the_table_counts_and_links() {
        let (tests, _) = found();
        let list = "[a_test]\nATest.One\nATest.Five: a benchmark\n";
        let text = rendered(&suites(list, &mut Vec::new()), &tests);
        assert!(
            text.contains("\n| `a_test` | 2 | 1 | 1 |\n| all | 2 | 1 | 1 |\n"),
            "{text}"
        );
        let rows = "\n| ATest.One | [one_and_two](a.rs), [one_again](a.rs) |\n\
                    | ATest.Five | none: a benchmark |\n";
        assert!(text.ends_with(rows), "{text}");
    }
}
