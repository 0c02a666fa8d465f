//! Peers in another process, one for each number of threads, that answers over pipes: so their
//! rounds take turns with those here.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;

use minormajor::Plan;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::case::{Blocked, Case, Permutation};
use crate::contest::{Contestant, Expected};

/// What the process runs.
const SCRIPT: &str = include_str!("peers.py");

/// Bytes of arrays after which a process gives way to a new one, since libraries keep something of
/// every case: one that lived on had 11 GB after 27 GB of arrays.
const ARRAYS: i64 = 4 << 30;

/// The process and its pipes.
pub struct Python {
    interpreter: PathBuf,
    threads: usize,
    /// Bytes of arrays that it was made ready for.
    arrays: i64,
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// The first answer: who is there.
#[derive(Debug, Default, Deserialize)]
pub struct Present {
    /// Names and versions.
    pub versions: BTreeMap<String, String>,
    /// Names and reasons.
    pub missing: BTreeMap<String, String>,
}

#[derive(Serialize)]
#[serde(tag = "do", rename_all = "lowercase")]
enum Request<'a> {
    Prepare(Box<Job>),
    Run { peer: &'a str },
    Check { peer: &'a str },
}

#[derive(Serialize)]
struct Job {
    width: usize,
    source_bytes: i64,
    destination_bytes: i64,
    boxes: Vec<MoveJob>,
    fills: Vec<FillJob>,
    permutation: Option<PermutationJob>,
    blocked: Option<BlockedJob>,
}

#[derive(Serialize)]
struct MoveJob {
    source: i64,
    destination: i64,
    loops: Vec<[i64; 3]>,
}

#[derive(Serialize)]
struct FillJob {
    destination: i64,
    loops: Vec<[i64; 2]>,
    pattern: Vec<u8>,
}

#[derive(Serialize)]
struct PermutationJob {
    dimensions: Vec<usize>,
    order: Vec<usize>,
}

#[derive(Serialize)]
struct BlockedJob {
    sizes: [i64; 4],
    block: i64,
    to_blocks: bool,
}

impl Job {
    /// What Python is told; `None` where elements are written anew, which no library there does.
    fn new(case: &Case, plan: &Plan) -> Option<Job> {
        let unit = plan.unit_bytes()?;
        let boxes = plan.boxes().iter().map(|part| MoveJob {
            source: part.source,
            destination: part.destination,
            loops: part
                .loops
                .iter()
                .map(|l| [l.extent, l.source, l.destination])
                .collect(),
        });
        let fills = plan.fills().iter().map(|part| FillJob {
            destination: part.destination,
            loops: part
                .loops
                .iter()
                .map(|l| [l.extent, l.destination])
                .collect(),
            pattern: part.pattern[..unit].to_vec(),
        });
        let permutation = Permutation::of(plan)
            .map(|Permutation { dimensions, order }| PermutationJob { dimensions, order });
        let blocked = Blocked::of(case).map(
            |Blocked {
                 sizes,
                 block,
                 to_blocks,
             }| BlockedJob {
                sizes,
                block,
                to_blocks,
            },
        );
        Some(Job {
            width: unit,
            source_bytes: plan.source_bytes(),
            destination_bytes: plan.destination_bytes(),
            boxes: boxes.collect(),
            fills: fills.collect(),
            permutation,
            blocked,
        })
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Answer<T> {
    Error { error: String },
    Value(T),
}

#[derive(Deserialize)]
struct Prepared {
    peers: Vec<String>,
}

#[derive(Deserialize)]
struct Ran {
    seconds: f64,
}

#[derive(Deserialize)]
struct Checked {
    checksum: u64,
}

impl Python {
    /// Starts a process that uses so many threads, and says who is there.
    ///
    /// # Errors
    ///
    /// Where it can't be started, or doesn't answer.
    pub fn start(interpreter: &Path, threads: usize) -> Result<(Python, Present), String> {
        let count = threads.to_string();
        let mut child = Command::new(interpreter)
            .args(["-c", SCRIPT, &count])
            .env("OMP_NUM_THREADS", &count)
            .env("MKL_NUM_THREADS", &count)
            // Threads that wait give the CPU away: it is another's turn.
            .env("OMP_WAIT_POLICY", "PASSIVE")
            .env("KMP_BLOCKTIME", "0")
            // What is freed is kept, on huge pages: a library that allocates its result finds
            // pages that were touched before.
            .env("MALLOC_MMAP_MAX_", "0")
            .env("MALLOC_TRIM_THRESHOLD_", "68719476736")
            .env("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("can't start {}: {error}", interpreter.display()))?;
        let (Some(requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the peers' process has no pipes".to_owned());
        };
        let mut python = Python {
            interpreter: interpreter.to_owned(),
            threads,
            arrays: 0,
            child,
            requests,
            answers: BufReader::new(answers),
        };
        let present = python.answer()?;
        Ok((python, present))
    }

    fn prepare(&mut self, job: Job) -> Result<Prepared, String> {
        let arrays = job.source_bytes + job.destination_bytes;
        if self.arrays > 0 && self.arrays + arrays > ARRAYS {
            (*self, _) = Python::start(&self.interpreter, self.threads)?;
        }
        self.arrays += arrays;
        self.ask(&Request::Prepare(Box::new(job)))
    }

    fn ask<T: DeserializeOwned>(&mut self, request: &Request<'_>) -> Result<T, String> {
        let mut line = serde_json::to_string(request).map_err(|error| error.to_string())?;
        line.push('\n');
        let lost = |error| format!("the peers' process is gone: {error}");
        self.requests.write_all(line.as_bytes()).map_err(lost)?;
        self.answer()
    }

    fn answer<T: DeserializeOwned>(&mut self) -> Result<T, String> {
        let mut line = String::new();
        let read = self.answers.read_line(&mut line);
        if read.map_err(|error| error.to_string())? == 0 {
            return Err("the peers' process ended".to_owned());
        }
        match serde_json::from_str(&line) {
            Ok(Answer::Value(value)) => Ok(value),
            Ok(Answer::Error { error }) => Err(format!("the peers' process: {error}")),
            Err(error) => Err(format!(
                "the peers' process answers `{}`: {error}",
                line.trim()
            )),
        }
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        // It waits for requests, so it is safe to end at any time.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes the process ready for a case; whoever can do it takes part.
///
/// # Errors
///
/// Where the process is lost.
pub fn invite(
    python: &Rc<RefCell<Python>>,
    case: &Case,
    plan: &Plan,
) -> Result<Vec<Box<dyn Contestant>>, String> {
    let Some(job) = Job::new(case, plan) else {
        return Ok(Vec::new());
    };
    let prepared = python.borrow_mut().prepare(job)?;
    let contestant = |name| -> Box<dyn Contestant> {
        Box::new(There {
            name,
            python: Rc::clone(python),
        })
    };
    Ok(prepared.peers.into_iter().map(contestant).collect())
}

/// A contestant in the other process.
struct There {
    name: String,
    python: Rc<RefCell<Python>>,
}

impl Contestant for There {
    fn name(&self) -> &str {
        &self.name
    }

    fn turn(&mut self, _: &mut [u8]) -> Result<f64, String> {
        let request = Request::Run { peer: &self.name };
        let ran: Ran = self.python.borrow_mut().ask(&request)?;
        Ok(ran.seconds)
    }

    fn is_right(&mut self, _: &mut [u8], expected: &Expected) -> Result<bool, String> {
        let request = Request::Check { peer: &self.name };
        let checked: Checked = self.python.borrow_mut().ask(&request)?;
        Ok(checked.checksum == expected.checksum)
    }
}
