//! NumPy and PyTorch in a process of their own, which is asked for one reading at a time.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Reads a line for each request: `prepare m k n left right`, or the number of a library to time.
const PROGRAM: &str = r#"
import os, sys, time
threads = int(sys.argv[1])
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
import numpy as np
libraries = ["NumPy"]
try:
    import torch
    torch.set_num_threads(threads)
    libraries.append("PyTorch")
except ImportError:
    pass
print(" ".join(libraries), flush=True)
def reading(call, least=4e-3):
    calls, start = 0, time.perf_counter()
    while calls == 0 or time.perf_counter() - start < least:
        call(); calls += 1
    return (time.perf_counter() - start) / calls
for line in sys.stdin:
    words = line.split()
    if words[0] == "prepare":
        m, k, n, left, right = map(int, words[1:])
        random = np.random.default_rng(0)
        side = lambda r, c, turned: (random.standard_normal((c, r), np.float32).T if turned
                                     else random.standard_normal((r, c), np.float32))
        a, b = side(m, k, left), side(k, n, right)
        calls = [lambda: a @ b]
        if len(libraries) > 1:
            x, y = torch.from_numpy(a), torch.from_numpy(b)
            calls.append(lambda: x @ y)
        for call in calls: call()
        print("ready", flush=True)
    else:
        print(reading(calls[int(words[0])]), flush=True)
"#;

/// The other process.
pub struct Peers {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    names: Vec<String>,
}

impl Peers {
    /// Starts it on so many processors.
    pub fn start(python: &Path, threads: usize) -> Result<Peers, String> {
        let mut command = Command::new(python);
        for variable in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"] {
            command.env(variable, threads.to_string());
        }
        // Threads that wait for the next call by turning around would take a core from whoever is next.
        command.env("OMP_WAIT_POLICY", "PASSIVE");
        command.env("KMP_BLOCKTIME", "0");
        let child = command
            .args(["-c", PROGRAM, &threads.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.map_err(|error| format!("{}: {error}", python.display()))?;
        let (Some(requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("no pipes to Python".to_owned());
        };
        let mut peers = Peers {
            child,
            requests,
            answers: BufReader::new(answers),
            names: Vec::new(),
        };
        peers.names = peers
            .answer()?
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        Ok(peers)
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Makes operands of these sizes, the turned ones in columns.
    pub fn prepare(
        &mut self,
        m: i64,
        k: i64,
        n: i64,
        left: bool,
        right: bool,
    ) -> Result<(), String> {
        let (left, right) = (u8::from(left), u8::from(right));
        self.ask(&format!("prepare {m} {k} {n} {left} {right}"))?;
        self.answer().map(drop)
    }

    /// Seconds of one product of this library.
    pub fn time(&mut self, library: usize) -> Result<f64, String> {
        self.ask(&library.to_string())?;
        let answer = self.answer()?;
        answer
            .trim()
            .parse()
            .map_err(|error| format!("Python said {answer:?}: {error}"))
    }

    fn ask(&mut self, request: &str) -> Result<(), String> {
        let written = writeln!(self.requests, "{request}").and_then(|()| self.requests.flush());
        written.map_err(|error| format!("to Python: {error}"))
    }

    fn answer(&mut self) -> Result<String, String> {
        let mut line = String::new();
        match self.answers.read_line(&mut line) {
            Ok(0) => Err("Python ended; its message is above".to_owned()),
            Ok(_) => Ok(line),
            Err(error) => Err(format!("from Python: {error}")),
        }
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
