//! Runs the program as a user would.

#![allow(dead_code)] // Each test file uses a part.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use minormajor::ElementType;
use minormajor::files::npy;
use minormajor::plan::ByteOrder;
use serde_json::Value;

/// All commands.
pub const COMMANDS: [&str; 12] = [
    "describe",
    "index",
    "draw",
    "plan",
    "bitcast",
    "bench",
    "relayout",
    "inspect",
    "hlo",
    "sharding",
    "completions",
    "man",
];

/// What a run said.
pub struct Ran {
    pub out: String,
    pub err: String,
    pub code: i32,
}

impl Ran {
    /// Standard output's lines as JSON values.
    pub fn json(&self) -> Vec<Value> {
        self.out
            .lines()
            .map(|line| serde_json::from_str(line).expect(line))
            .collect()
    }

    /// Exit code 1, and one line on standard error, which begins with the program's name.
    pub fn assert_failed(&self) -> &str {
        assert_eq!(self.code, 1, "{}", self.err);
        assert!(self.err.starts_with("minormajor: "), "{:?}", self.err);
        assert_eq!(self.err.lines().count(), 1, "{:?}", self.err);
        self.err.trim_end()
    }

    pub fn assert_done(&self) -> &Self {
        assert_eq!((self.code, self.err.as_str()), (0, ""));
        self
    }
}

/// The program, without what the environment says of colours and widths.
pub fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_minormajor"));
    command.env_remove("NO_COLOR").env_remove("COLUMNS");
    command
}

pub fn run<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Ran {
    run_with(arguments, b"")
}

pub fn run_with<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>, input: &[u8]) -> Ran {
    finish(command().args(arguments), input)
}

pub fn finish(command: &mut Command, input: &[u8]) -> Ran {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // Written beside the reading, so that neither waits for the other.
    let writer = std::thread::spawn(move || {
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Ran {
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
        code: output
            .status
            .code()
            .expect("the program must not die of a signal"),
    }
}

/// The picture that ships with the project: `u8[512,512,3]` in C order.
pub fn picture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/astronaut.npy")
}

/// A `.npy` file of a matrix of numbers that don't compress, the same for every run.
pub fn matrix(path: &Path, rows: u64, columns: u64) {
    let header = npy::header(
        ElementType::F32,
        ByteOrder::Little,
        &[rows as i64, columns as i64],
        false,
    );
    let mut file = std::fs::File::create(path).unwrap();
    file.write_all(&header.unwrap()).unwrap();
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut row = vec![0; columns as usize * 4];
    for _ in 0..rows {
        for bytes in row.chunks_mut(8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            bytes.copy_from_slice(&state.to_le_bytes()[..bytes.len()]);
        }
        file.write_all(&row).unwrap();
    }
}
