//! Relayouts of files in a process that the system gives little: address space, and lengths of
//! files.
#![cfg(target_os = "linux")]

mod common;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Output};

use common::matrix;

const MIB: u64 = 1 << 20;

/// The command under a limit of the shell's.
fn limited(limit: &str, input: &Path, output: &Path, more: &[&str]) -> Output {
    Command::new("sh")
        .args(["-c", &format!("{limit}; exec \"$@\""), "sh"])
        .arg(env!("CARGO_BIN_EXE_minormajor"))
        .args(["relayout".as_ref(), input.as_os_str(), output.as_os_str()])
        .args(["--to", "{0,1}", "--threads", "2"])
        .args(more)
        .output()
        .unwrap()
}

/// An array larger than all memory that the process may have streams through a small part of it:
/// no large mapping stands in for that.
#[test]
fn an_array_larger_than_the_address_space() {
    let bound = 16 * MIB;
    let memory = ["--memory", "16MiB"];
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let limit = |bytes: u64| format!("ulimit -v {}", bytes >> 10);

    // What the program itself takes: the least with which it moves a few bytes.
    matrix(&at("small.npy"), 3, 5);
    let own = (1..200).map(|n| 4 * n * MIB).find(|&bytes| {
        let ran = limited(&limit(bytes), &at("small.npy"), &at("out.npy"), &memory);
        ran.status.success()
    });
    let own = own.expect("a relayout of a few bytes in less than 800 MiB");

    // A build without optimisation, with the kernels of AVX-512, takes 170 MiB by itself.
    let all = own + bound + 64 * MIB;
    let columns = 8009;
    let rows = (all / (columns * 4) * 5 / 4) | 1;
    let bytes = rows * columns * 4;
    println!("own {own}, bound {bound}, limit {all}, array {bytes}");
    matrix(&at("in.npy"), rows, columns);
    let ran = limited(&limit(all), &at("in.npy"), &at("out.npy"), &memory);
    let error = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{error}");

    let (from, to) = (
        File::open(at("in.npy")).unwrap(),
        File::open(at("out.npy")).unwrap(),
    );
    let header = |file: &File| file.metadata().unwrap().len() - bytes;
    let element = |file: &File, position: u64| {
        let mut element = [0; 4];
        file.read_exact_at(&mut element, header(file) + position * 4)
            .unwrap();
        element
    };
    for n in 0..5000u64 {
        let (row, column) = (n * 7907 % rows, n * 6421 % columns);
        assert_eq!(
            element(&to, column * rows + row),
            element(&from, row * columns + column),
            "{row},{column}"
        );
    }
}

/// Where the system lets no file be so long, as on a full disk.
#[test]
fn a_limit_on_files_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    matrix(&at("in.npy"), 701, 503);
    // 512 or 1024 bytes each, by the shell; without the signal, which would end the process.
    let ran = limited(
        "trap '' XFSZ; ulimit -f 64",
        &at("in.npy"),
        &at("out.npy"),
        &[],
    );
    let error = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(3), "{error}");
    assert!(
        error.contains("out.npy: no room for its ") && error.lines().count() == 1,
        "{error}"
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}
