//! `cargo xtask bench --files`: whole files beside `cp`, and with `--peers` beside Python's libraries.
//!
//! A checkpoint with all its matrices transposed (any `.safetensors` file that is named), an array of
//! 1 GiB to Fortran order in 64 MiB, and ten thousand small matrices. Each round runs every program
//! once, whole processes from beginning to end, and removes what it wrote; all files fit the system's
//! cache. The median of the rounds counts.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::large::{Folder, write_array};
use crate::process;
use crate::python;
use crate::test;
use crate::workspace::Workspace;

const ROUNDS: usize = 9;

/// Matrices of the file of small ones, and elements of each along both dimensions.
const SMALL: (u64, u64, u64) = (10_000, 8, 12);

/// Times the files; of `options`, those that are no option name checkpoints.
///
/// # Errors
///
/// Where a program fails, or can't be built.
pub fn run(workspace: &Workspace, options: &[String]) -> Result<(), Failure> {
    test::build_release(workspace)?;
    let (peers, checkpoints): (Vec<_>, Vec<_>) = options.iter().partition(|o| *o == "--peers");
    let python = match peers.is_empty() {
        true => None,
        false => Some(python::peers(workspace)?),
    };
    let bench = Bench {
        workspace,
        python,
        folder: Folder::new(workspace, None)?,
    };
    for checkpoint in &checkpoints {
        bench.time(Path::new(checkpoint), &["--rule", "*: OI -> IO"])?;
    }
    if checkpoints.is_empty() {
        println!("no checkpoint: name a .safetensors file behind --files to time one");
    }
    let small = bench.folder.path().join("small.safetensors");
    write_small(&small).map_err(|error| Failure::io("write", &small, &error))?;
    bench.time(&small, &["--rule", "*: OI -> IO"])?;
    let array = bench.folder.path().join("array.npy");
    write_array(&array, 16_384, 16_384)?;
    bench.time(&array, &["--to", "{0,1}", "--memory", "64MiB"])
}

struct Bench<'a> {
    workspace: &'a Workspace,
    /// The interpreter of the peers.
    python: Option<PathBuf>,
    folder: Folder,
}

impl Bench<'_> {
    /// Times all programs on one file.
    fn time(&self, input: &Path, options: &[&str]) -> Result<(), Failure> {
        let ending = input.extension().unwrap_or_default();
        let output = self.folder.path().join("out").with_extension(ending);
        let ours = |more: &[&str]| {
            let mut command = Command::new(self.workspace.release_binary());
            command.arg("relayout").arg(input).arg(&output);
            command.args(options).arg("--quiet").args(more);
            command
        };
        let mut cp = Command::new("cp");
        cp.args(["--reflink=never", "--sparse=never"]);
        cp.arg(input).arg(&output);
        let mut programs = vec![
            ("cp", cp),
            ("minormajor", ours(&[])),
            ("minormajor --threads 1", ours(&["--threads", "1"])),
        ];
        for library in ["numpy", "torch"] {
            if let Some(python) = &self.python {
                let mut command = Command::new(python);
                command.arg(self.workspace.root().join("bench/files.py"));
                command.arg(library).arg(input).arg(&output);
                programs.push((library, command));
            }
        }
        let mut times = vec![Vec::new(); programs.len()];
        // The first round brings the file into the cache.
        for round in 0..=ROUNDS {
            for ((_, program), times) in programs.iter_mut().zip(&mut times) {
                let start = Instant::now();
                process::run(program)?;
                if round > 0 {
                    times.push(start.elapsed());
                }
                fs::remove_file(&output).map_err(|error| Failure::io("remove", &output, &error))?;
            }
        }
        let bytes = fs::metadata(input).map_or(0, |meta| meta.len());
        println!("{}, {bytes} bytes, {}", input.display(), options.join(" "));
        let medians: Vec<Duration> = times.iter_mut().map(|times| median(times)).collect();
        for ((name, _), median) in programs.iter().zip(&medians) {
            let ratio = median.as_secs_f64() / medians[0].as_secs_f64();
            let milliseconds = median.as_secs_f64() * 1e3;
            println!("  {name:24} {milliseconds:9.1} ms {ratio:7.2} x cp");
        }
        Ok(())
    }
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// A checkpoint of very many small matrices.
fn write_small(path: &Path) -> std::io::Result<()> {
    let (count, rows, columns) = SMALL;
    let bytes = 4 * rows * columns;
    let entries = (0..count).map(|n| {
        format!(
            r#""layers.{n}.weight":{{"dtype":"F32","shape":[{rows},{columns}],"data_offsets":[{},{}]}}"#,
            n * bytes,
            (n + 1) * bytes
        )
    });
    let mut header = format!("{{{}}}", entries.collect::<Vec<_>>().join(","));
    let padding = header.len().next_multiple_of(8) - header.len();
    header.push_str(&" ".repeat(padding));
    let mut file = BufWriter::new(File::create(path)?);
    file.write_all(&(header.len() as u64).to_le_bytes())?;
    file.write_all(header.as_bytes())?;
    for number in 0..count * rows * columns {
        file.write_all(&(number as u32).to_le_bytes())?;
    }
    file.flush()
}
