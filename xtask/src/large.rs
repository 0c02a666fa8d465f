//! `cargo xtask large`: an array larger than memory, transposed from file to file beside `cp`.
//!
//! The array's numbers don't compress. `cp` copies it, to a file system that may neither share
//! blocks nor leave holes; then `minormajor` transposes it in a process whose address space is
//! limited to what the program itself takes, the bound on memory, and 64 MiB: a large mapping
//! can't stand in for streaming. Both are timed until the copy is on the disk. Each file is
//! removed as soon as nobody needs it.

use std::fs::{self, File};
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::arguments::Large;
use crate::failure::Failure;
use crate::process;
use crate::test;
use crate::workspace::Workspace;

const MIB: u64 = 1 << 20;

/// Beside the bound, in the address space.
const MORE: u64 = 64 * MIB;

/// Runs both on an array of so many bytes.
///
/// # Errors
///
/// Where a command fails, or an element is in the wrong place.
pub fn run(workspace: &Workspace, wish: &Large) -> Result<(), Failure> {
    test::build_release(workspace)?;
    let folder = Folder::new(workspace, wish.folder.as_deref())?;
    let at = |name: &str| folder.0.join(name);
    // Columns in a ratio that no power of two is near.
    let columns = ((wish.mib * MIB / 4) as f64 / 1.3).sqrt() as u64;
    let rows = wish.mib * MIB / 4 / columns;
    let bytes = rows * columns * 4;
    let (input, copy, output) = (at("in.npy"), at("copy.npy"), at("out.npy"));
    let written = timed(|| write_array(&input, rows, columns))?;
    report("written", bytes, written);

    let bound = wish.memory * MIB;
    let own = own_bytes(workspace, &folder.0, wish)?;
    let limit = own + bound + MORE;
    println!(
        "f32[{rows},{columns}], {bytes} bytes; the program takes {} MiB itself, may take {} MiB for \
         the array, and has {} MiB of address space",
        own / MIB,
        wish.memory,
        limit / MIB
    );

    let mut cp = Command::new("cp");
    cp.args(["--reflink=never", "--sparse=never"])
        .args([&input, &copy]);
    let copying = timed(|| process::run(&mut cp))?;
    let copied = copying + timed(|| synced(&copy))?;
    report("cp", bytes, copying);
    report("cp, on the disk", bytes, copied);
    remove(&copy)?;

    let moved = timed(|| relayout(workspace, &input, &output, wish, limit))?;
    report("relayout, on the disk", bytes, moved);
    println!(
        "{:.2} of cp's speed, {:.2} of cp's until it is on the disk",
        copying.as_secs_f64() / moved.as_secs_f64(),
        copied.as_secs_f64() / moved.as_secs_f64()
    );
    check(&input, &output, rows, columns)
}

/// Where the files are, for a while.
pub struct Folder(PathBuf);

impl Folder {
    /// A new one in `parent`, or in the build folder; it goes with what is in it.
    pub fn new(workspace: &Workspace, parent: Option<&str>) -> Result<Folder, Failure> {
        let parent = parent.map_or_else(|| workspace.target().to_owned(), PathBuf::from);
        let folder = parent.join(format!("large-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|error| Failure::io("make", &folder, &error))?;
        Ok(Folder(folder))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn remove(path: &Path) -> Result<(), Failure> {
    fs::remove_file(path).map_err(|error| Failure::io("remove", path, &error))
}

fn timed(work: impl FnOnce() -> Result<(), Failure>) -> Result<Duration, Failure> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

fn report(what: &str, bytes: u64, time: Duration) {
    let seconds = time.as_secs_f64();
    println!(
        "{what}: {seconds:.1} s, {:.2} GB/s",
        bytes as f64 / seconds / 1e9
    );
}

fn synced(path: &Path) -> Result<(), Failure> {
    let sync = File::open(path).and_then(|file| file.sync_data());
    sync.map_err(|error| Failure::io("put on the disk", path, &error))
}

/// A `.npy` file of numbers that don't compress, on the disk.
pub fn write_array(path: &Path, rows: u64, columns: u64) -> Result<(), Failure> {
    let text =
        format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    let mut header = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    header.extend(format!("{text:<117}\n").bytes());
    let write = || {
        let mut file = BufWriter::with_capacity(8 << 20, File::create(path)?);
        file.write_all(&header)?;
        let mut left = rows * columns * 4;
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut buffer = vec![0; MIB as usize];
        while left > 0 {
            for bytes in buffer.chunks_exact_mut(8) {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                bytes.copy_from_slice(&state.to_le_bytes());
            }
            let part = left.min(MIB);
            file.write_all(&buffer[..part as usize])?;
            left -= part;
        }
        file.into_inner()?.sync_data()
    };
    write().map_err(|error| Failure::io("write", path, &error))
}

/// The least address space in which the program moves a few bytes.
fn own_bytes(workspace: &Workspace, folder: &Path, wish: &Large) -> Result<u64, Failure> {
    let (input, output) = (folder.join("small.npy"), folder.join("turned.npy"));
    write_array(&input, 3, 5)?;
    let own = (1..500).map(|n| 4 * n * MIB).find(|&bytes| {
        limited(workspace, &input, &output, wish, bytes)
            .output()
            .is_ok_and(|ran| ran.status.success())
    });
    own.ok_or_else(|| Failure::new("a few bytes don't move in 2 GB of address space"))
}

fn relayout(
    workspace: &Workspace,
    input: &Path,
    output: &Path,
    wish: &Large,
    limit: u64,
) -> Result<(), Failure> {
    process::run(&mut limited(workspace, input, output, wish, limit))
}

/// The transpose, in so much address space.
fn limited(
    workspace: &Workspace,
    input: &Path,
    output: &Path,
    wish: &Large,
    limit: u64,
) -> Command {
    let mut command = Command::new("sh");
    command
        .args([
            "-c",
            &format!("ulimit -v {}; exec \"$@\"", limit >> 10),
            "sh",
        ])
        .arg(workspace.release_binary())
        .arg("relayout")
        .args([input, output])
        .args(["--to", "{0,1}", "--memory", &format!("{}MiB", wish.memory)]);
    command
}

/// Looks at elements all over the array.
fn check(input: &Path, output: &Path, rows: u64, columns: u64) -> Result<(), Failure> {
    let open = |path: &Path| File::open(path).map_err(|error| Failure::io("open", path, &error));
    let (mut from, mut to) = (open(input)?, open(output)?);
    let read = |file: &mut File, path: &Path, position: u64| {
        let mut element = [0; 4];
        file.seek(SeekFrom::End(
            4 * position as i64 - 4 * (rows * columns) as i64,
        ))
        .and_then(|_| file.read_exact(&mut element))
        .map_err(|error| Failure::io("read", path, &error))?;
        Ok(element)
    };
    for n in 0..10_000u64 {
        let (row, column) = (n * 7_919 * 104_729 % rows, n * 6_421 * 1_299_709 % columns);
        let expected = read(&mut from, input, row * columns + column)?;
        if read(&mut to, output, column * rows + row)? != expected {
            return Err(Failure::new(format!(
                "the element {row},{column} is another one"
            )));
        }
    }
    Ok(())
}
