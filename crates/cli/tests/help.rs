//! Every example in the help is what the program does.

mod common;

use std::process::Command;

use common::{COMMANDS, picture, run};

/// The commands in a help text and what they are said to print, line ends and spaces aside.
fn examples(help: &str) -> Vec<(String, String)> {
    let mut examples: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in help.lines() {
        if let Some(command) = line.strip_prefix("  $ ") {
            examples.push((command.to_owned(), String::new()));
            inside = true;
        } else if inside && (line.starts_with("  ") || line.is_empty()) {
            let (_, output) = examples.last_mut().unwrap();
            output.push_str(line);
            output.push('\n');
        } else {
            inside = false;
        }
    }
    examples
}

/// The words of a text; times and speeds, which differ from run to run, read alike.
fn words(text: &str) -> Vec<String> {
    // JSON is broken over two lines in the help, behind a space or a comma.
    let joined = text.replace(",\n  \"", ",\"");
    let same = |word: &str| match word.trim_start_matches('(').parse::<f64>() {
        Ok(_) if word.contains('.') => "N".to_owned(),
        _ if ["s", "ms", "us", "ns"].contains(&word.trim_end_matches([',', ')'])) => "s".to_owned(),
        _ => word.to_owned(),
    };
    joined.split_whitespace().map(same).collect()
}

#[test]
fn examples_are_true() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(picture(), folder.path().join("picture.npy")).unwrap();
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_minormajor"));
    let path = std::env::join_paths(
        std::iter::once(program.parent().unwrap().to_path_buf())
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    )
    .unwrap();
    let mut failures = Vec::new();
    for command in [""].into_iter().chain(COMMANDS) {
        let help = match command {
            "" => run(["--help"]),
            command => run([command, "--help"]),
        };
        help.assert_done();
        let examples = examples(&help.out);
        assert!(!examples.is_empty(), "{command}");
        for (line, said) in examples {
            let output = Command::new("sh")
                .args(["-c", &line])
                .current_dir(folder.path())
                .env("PATH", &path)
                .output()
                .unwrap();
            let found = String::from_utf8(output.stdout).unwrap();
            if words(&found) != words(&said) {
                failures.push(format!("$ {line}\n{found}is said to be\n{said}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn help_fits_a_hundred_columns() {
    for command in COMMANDS {
        let help = run([command, "--help"]).out;
        let widest = help.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= 100, "{command}: {widest}");
    }
}

#[test]
fn the_version_is_the_crates() {
    let version = format!("minormajor {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(run(["--version"]).assert_done().out, version);
}
