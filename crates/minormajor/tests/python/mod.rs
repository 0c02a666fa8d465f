//! Asks Python.
//!
//! It is the one that MINORMAJOR_PYTHON names, or else python3. Without the modules the tests
//! say so and pass, except where the variable CI is `true`.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// The Python to ask, if it has these modules.
pub fn python(modules: &str) -> Option<String> {
    let named = std::env::var("MINORMAJOR_PYTHON").ok();
    let python = named.clone().unwrap_or_else(|| "python3".to_owned());
    let tried = Command::new(&python)
        .args(["-c", &format!("import {modules}")])
        .output();
    let reason = match tried {
        Ok(output) if output.status.success() => return Some(python),
        Ok(output) => String::from_utf8_lossy(&output.stderr)
            .lines()
            .last()
            .unwrap_or("")
            .to_owned(),
        Err(error) => error.to_string(),
    };
    let ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
    assert!(
        !ci && named.is_none(),
        "{python} can't import {modules}: {reason}"
    );
    eprintln!("skipped: {python} can't import {modules}: {reason}");
    None
}

/// Runs a script; it must succeed.
pub fn ask(python: &str, directory: &Path, script: &str) {
    let mut child = Command::new(python)
        .arg("-")
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(script.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
