//! Relayouts of files that are killed, gone on with, verified, and run twice at once.
#![cfg(unix)]

mod common;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::matrix;

/// The command with its files, and memory for blocks of a few hundred KiB.
fn relayout(input: &Path, output: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_minormajor"));
    command
        .args(["relayout".as_ref(), input.as_os_str(), output.as_os_str()])
        .args(["--to", "{0,1}", "--threads", "2"])
        .args(more);
    command
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn out(command: &mut Command) -> (bool, String, String) {
    let ran = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (ran.status.success(), text(ran.stdout), text(ran.stderr))
}

struct Setting {
    folder: tempfile::TempDir,
    input: PathBuf,
    output: PathBuf,
    expected: Vec<u8>,
}

impl Setting {
    fn new(rows: u64, columns: u64) -> Setting {
        let folder = tempfile::tempdir().unwrap();
        let (input, output) = (folder.path().join("in.npy"), folder.path().join("out.npy"));
        matrix(&input, rows, columns);
        let (done, _, error) = out(&mut relayout(&input, &output, &[]));
        assert!(done, "{error}");
        let expected = fs::read(&output).unwrap();
        fs::remove_file(&output).unwrap();
        Setting {
            folder,
            input,
            output,
            expected,
        }
    }

    fn assert_done(&self) {
        // Not `assert_eq`, which would print both.
        assert!(
            fs::read(&self.output).unwrap() == self.expected,
            "another result"
        );
        assert_eq!(names(self.folder.path()), ["in.npy", "out.npy"]);
    }

    /// Starts a run, and kills it when something is done or after a while.
    fn kill(&self, more: &[&str], after: impl Fn(&mut Child) -> bool) {
        let mut child = relayout(&self.input, &self.output, more)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        while !after(&mut child) && child.try_wait().unwrap().is_none() {}
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// Each block is put on the disk: 1.4 MiB take long enough to be killed in their midst. So little
/// memory is for two passes.
const EVERY_BLOCK: [&str; 4] = ["--memory", "400KiB", "--sync", "1"];

#[test]
fn killed_at_random_moments_and_resumed() {
    let setting = Setting::new(709, 521);
    let seed = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
    println!("seed {seed}");
    let mut state = seed | 1;
    let mut resumed = 0;
    for round in 0..10 {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        let microseconds = (state >> 33) % 40_000;
        let mut resume = EVERY_BLOCK.to_vec();
        resume.push("--resume");
        let started = std::time::Instant::now();
        // Whatever moment it is, the result is right, and it is killed again on half of the way.
        for _ in 0..1 + round % 2 {
            setting.kill(&resume, |_| {
                started.elapsed() > Duration::from_micros(microseconds)
            });
            assert!(
                !setting.output.exists() || fs::read(&setting.output).unwrap() == setting.expected,
                "an output that is not whole has the output's name"
            );
        }
        let (done, text, error) = out(&mut relayout(&setting.input, &setting.output, &resume));
        assert!(done, "{error}");
        resumed += usize::from(text.contains("went on where"));
        setting.assert_done();
        fs::remove_file(&setting.output).unwrap();
    }
    println!("{resumed} runs went on with what was there");
}

#[test]
fn sets_of_files_are_resumed_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let set = folder.path().join("set");
    fs::create_dir(&set).unwrap();
    let index = "model.safetensors.index.json";
    let shards = ["a", "b", "c"].map(|name| {
        let header = format!(
            r#"{{"{name}.weight":{{"dtype":"F32","shape":[301,499],"data_offsets":[0,600796]}}}}"#
        );
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.bytes());
        bytes.extend((0..301 * 499u32).flat_map(|n| (n ^ header.len() as u32).to_le_bytes()));
        fs::write(set.join(format!("{name}.safetensors")), bytes).unwrap();
        format!(r#""{name}.weight":"{name}.safetensors""#)
    });
    let text = format!(r#"{{"weight_map":{{{}}}}}"#, shards.join(","));
    fs::write(set.join(index), text).unwrap();
    let to = |name: &str, more: &[&str]| {
        let out = folder.path().join(name);
        fs::create_dir_all(&out).unwrap();
        let mut command = common::command();
        command
            .arg("relayout")
            .arg(set.join(index))
            .arg(out.join(index));
        command
            .args(["--type", "bf16", "--memory", "300KiB", "--sync", "1"])
            .args(more);
        command
    };
    let (done, _, error) = out(&mut to("whole", &["--verify"]));
    assert!(done, "{error}");
    let whole = folder.path().join("whole");
    for milliseconds in [5, 9, 14, 20] {
        let mut child = to("killed", &[]).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        child.kill().unwrap();
        child.wait().unwrap();
        let (done, _, error) = out(&mut to("killed", &["--resume"]));
        assert!(done, "{error}");
        let killed = folder.path().join("killed");
        assert_eq!(names(&killed), names(&whole));
        for name in names(&whole) {
            assert!(fs::read(killed.join(&name)).unwrap() == fs::read(whole.join(&name)).unwrap());
        }
        fs::remove_dir_all(killed).unwrap();
    }
}

/// Whether the journal says that the first block is on the disk.
fn done_first(part: &[u8]) -> bool {
    let Some(end) = part.strip_suffix(b"minormajor part\n") else {
        return false;
    };
    let number = |at: usize| u64::from_le_bytes(end[at..at + 8].try_into().unwrap());
    let text = number(end.len() - 8) as usize;
    number(end.len() - 8 - text - 8) > 0
}

#[test]
fn what_is_done_is_not_done_again() {
    let setting = Setting::new(1531, 1367);
    let part = setting.folder.path().join(".out.npy.minormajor-part");
    let every_block = ["--memory", "4MiB", "--sync", "1"];
    setting.kill(&every_block, |_| {
        fs::read(&part).is_ok_and(|bytes| done_first(&bytes))
    });
    if setting.output.exists() {
        println!("nothing to see: the run was done before it could be killed");
        return;
    }
    // Another run is refused, and leaves what is there alone.
    for (more, cause) in [
        (&["--memory", "8MiB"][..], "had `blocks: "),
        (&["--type", "bf16"], "had `output: "),
        (&["--dst-endian", "big"], "had `output: "),
    ] {
        let mut resume = more.to_vec();
        resume.extend(["--resume"]);
        if more[0] != "--memory" {
            resume.extend(every_block);
        }
        let (done, _, error) = out(&mut relayout(&setting.input, &setting.output, &resume));
        assert!(!done && error.contains(cause), "{error}");
        assert!(error.contains("out.npy: the run to go on with "), "{error}");
        assert_eq!(
            names(setting.folder.path()),
            [".out.npy.minormajor-part", "in.npy"]
        );
    }
    // The blocks that are done are not written again: a mark in the first one stays.
    let mut file = File::options().write(true).open(&part).unwrap();
    std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(128)).unwrap();
    file.write_all(&[0xee; 4]).unwrap();
    drop(file);
    let mut resume = every_block.to_vec();
    resume.push("--resume");
    // Verified, it is found, with its place, and there is no output.
    let kept = fs::read(&part).unwrap();
    let mut verify = resume.clone();
    verify.push("--verify");
    let (done, _, error) = out(&mut relayout(&setting.input, &setting.output, &verify));
    assert!(
        !done
            && error
                .contains("out.npy: array \"in\": the element at [0, 0] is the bytes ee ee ee ee"),
        "{error}"
    );
    assert_eq!(names(setting.folder.path()), ["in.npy"]);
    fs::write(&part, kept).unwrap();
    let (done, text, error) = out(&mut relayout(&setting.input, &setting.output, &resume));
    assert!(
        done && text.contains("went on where an earlier run stopped"),
        "{text}{error}"
    );
    let mut bytes = fs::read(&setting.output).unwrap();
    assert_eq!(bytes[128..132], [0xee; 4]);
    bytes[128..132].copy_from_slice(&setting.expected[128..132]);
    assert!(bytes == setting.expected);
}

#[test]
fn an_unfinished_output_is_replaced_where_nobody_resumes() {
    let setting = Setting::new(211, 307);
    let part = setting.folder.path().join(".out.npy.minormajor-part");
    fs::write(&part, "half of something").unwrap();
    for (more, said) in [
        (
            &[][..],
            "an unfinished output of an earlier run is replaced",
        ),
        (
            &["--resume"],
            "an unfinished output of an earlier run is replaced",
        ),
        (
            &["--resume", "--verify"],
            "verified: every element is the input's",
        ),
    ] {
        let (done, text, error) = out(&mut relayout(&setting.input, &setting.output, more));
        assert!(done && text.contains(said), "{text}{error}");
        setting.assert_done();
        fs::remove_file(&setting.output).unwrap();
        if !more.contains(&"--verify") {
            fs::write(&part, "half of something").unwrap();
        }
    }
    let _ = fs::remove_file(&part);
    // An input that changed is another one.
    let (done, _, error) = out(&mut relayout(
        &setting.input,
        &setting.output,
        &["--resume"],
    ));
    assert!(done, "{error}");
    setting.assert_done();
}

#[test]
fn two_processes_never_mix() {
    let setting = Setting::new(211, 307);
    let part = setting.folder.path().join(".out.npy.minormajor-part");
    // Another process is this one.
    let held = File::create(&part).unwrap();
    held.lock().unwrap();
    for more in [&[][..], &["--resume"]] {
        let (done, _, error) = out(&mut relayout(&setting.input, &setting.output, more));
        assert!(
            !done && error.contains("out.npy: another process is writing it"),
            "{error}"
        );
        assert_eq!(
            names(setting.folder.path()),
            [".out.npy.minormajor-part", "in.npy"]
        );
    }
    drop(held);
    // And many at once: each is done or refused, and the output is whole.
    let run = || {
        relayout(&setting.input, &setting.output, &[])
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    let runs: Vec<Child> = (0..4).map(|_| run()).collect();
    let mut done = 0;
    for run in runs {
        let ran = run.wait_with_output().unwrap();
        let error = String::from_utf8(ran.stderr).unwrap();
        assert!(
            ran.status.success() || error.contains("another process is writing it"),
            "{error}"
        );
        done += usize::from(ran.status.success());
    }
    assert!(done > 0);
    setting.assert_done();
}

#[test]
fn verified_outputs_of_all_kinds() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.npy");
    matrix(&input, 101, 203);
    for (name, more) in [
        ("c.npy", &["--to", "{1,0}"][..]),
        ("tiles.bin", &["--to", "{1,0:T(8,128)}"]),
        ("half.npz", &["--to", "{0,1}", "--type", "bf16"]),
        ("big.npy", &["--to", "{1,0}", "--dst-endian", "big"]),
        ("strided.bin", &["--dst-strides", "1200,5"]),
        ("aligned.bin", &["--to", "{0,1:L(100)}"]),
        ("small.npy", &["--to", "{0,1}", "--memory", "300KiB"]),
    ] {
        let mut arguments = vec!["relayout".as_ref(), input.as_os_str()];
        let output = folder.path().join(name);
        arguments.push(output.as_os_str());
        arguments.push("--verify".as_ref());
        arguments.extend(
            more.iter()
                .map(|text| -> &std::ffi::OsStr { text.as_ref() }),
        );
        let ran = common::run(arguments);
        assert!(ran.assert_done().out.contains("verified"), "{}", ran.out);
        assert_eq!(
            names(folder.path())
                .iter()
                .filter(|name| name.starts_with('.'))
                .count(),
            0
        );
    }
}

#[test]
fn killed_while_it_packs_a_folder() {
    let setting = Setting::new(1031, 1021);
    let (folder, output) = (
        setting.folder.path(),
        setting.folder.path().join("out.zarr"),
    );
    // Many chunks that take a while to compress.
    let options = [
        "--chunks",
        "16,16",
        "--compressor",
        "zstd:19",
        "--sync",
        "1MiB",
    ];
    let run = |more: &[&str]| {
        let mut command = relayout(&setting.input, &output, &options);
        command.args(more);
        command
    };
    let packing = folder.join(".out.zarr.minormajor-folder");
    for _ in 0..2 {
        let mut child = run(&["--resume"]).stdout(Stdio::null()).spawn().unwrap();
        while !packing.join("c").exists() && child.try_wait().unwrap().is_none() {}
        child.kill().unwrap();
        child.wait().unwrap();
        if output.exists() {
            println!("nothing to see: the run was done before it could be killed");
        }
    }
    let (done, _, error) = out(&mut run(&["--resume", "--verify"]));
    assert!(done, "{error}");
    assert_eq!(names(folder), ["in.npy", "out.zarr"]);
    let back = folder.join("out.npy");
    let (done, _, error) = out(&mut relayout(&output, &back, &[]));
    assert!(done, "{error}");
    assert!(fs::read(back).unwrap() == setting.expected);
}
