//! The command line, parsed by hand: a handful of commands with few options.

/// What `cargo xtask` and `cargo xtask --help` print.
pub const HELP: &str = "\
The project's own commands.

usage: cargo xtask <COMMAND>

  test [--quick]
      All checks and tests: format, clippy, documentation, the CUDA kernels' PTX,
      the release binary, the Python environment that tests compare with, every test, the Python
      package and its tests, the counts of instructions, 20000 cases beside XLA, the commands in README.md and docs/,
      and ten seconds of each fuzz target.
      --quick leaves out what needs a release build, and fuzzing.

  docs
      Only the commands in README.md and docs/, with the release binary.

  python
      Only the Python package and its tests.

  targets
      Compiles the kernels for targets that the tests don't run on, as far as rustup has them.
  wheel
      Builds the Python package's wheel into target/wheels.

  bench [OPTION...]
      Times relayouts beside memcpy, with --peers beside other libraries too, and
      writes docs/performance.md; `cargo xtask bench --help` tells the options.
      `bench --python` times the Python package beside NumPy, and
      `bench --files [CHECKPOINT.safetensors...]` whole files beside cp.

  instructions [--update]
      Counts the instructions of small relayouts and of planning them, and fails
      where one takes more than bench/instructions.tsv says, or where an intrinsic
      was not compiled into the kernels that use it. --update writes that
      table anew.

  ptx [--check]
      Compiles the CUDA kernels to crates/cuda/kernels.ptx, with NVIDIA's compilers
      from PyPI, and to machine code for two cards; fails where one spills
      registers. --check only compares the shipped PTX with what the sources give.

  sanitize [--python]
      Runs the kernels' tests under the address sanitizer, on every instruction
      set of this CPU, and under valgrind, on the portable, SSE2 and AVX2 ones;
      --python the Python package's tests of who owns memory, under valgrind.

  conformance [--cases N] [--seed N]
      Random shapes, pairs, sizes and modules through XLA (jaxlib) and through
      this project: N cases (20000), none of which may differ outside the list
      of XLA's faults.

  conformance-table
      Writes CONFORMANCE.md: each test of XLA's suites beside the test here that
      asks the same, or the reason why there is none.

  bitcasts [--sample N] [--elements N]
      All questions about bitcasts over small arrays beside brute force: hours of
      work for all, or one pair of layouts in N, or only arrays of N elements.

  large [--mib N] [--memory N] [--folder PATH]
      Writes an array of N MiB (4096) into PATH (the build folder), copies it with
      cp, and transposes it from file to file in a process that has little more
      address space than N MiB (256): times, and what part of cp's speed that is.

  fuzz [TARGET...] [--seconds N]
      Replays the checked-in inputs of the fuzz targets (all of them, or those
      named) and then searches for N seconds each (10).
  fuzz TARGET --replay FILE
      Runs one input, such as one that a search has written, and shows all.";

/// What the person asked for.
#[derive(Debug, PartialEq, Eq)]
pub enum Request {
    /// Print [`HELP`].
    Help,
    /// All checks and tests.
    Test {
        /// Without the release binary and without fuzzing.
        quick: bool,
    },
    /// The commands in the documents.
    Documents,
    /// The benchmark.
    Bench {
        /// Its own options.
        options: Vec<String>,
    },
    /// The Python package's tests.
    Python,
    /// The kernels on other targets.
    Targets,
    /// The Python package's wheel.
    Wheel,
    /// Tests under tools that see every access to memory.
    Sanitize {
        /// The Python package's instead of the kernels'.
        python: bool,
    },
    /// The instructions of small relayouts.
    Instructions {
        /// Write the table anew.
        update: bool,
    },
    /// The CUDA kernels' PTX.
    Ptx {
        /// Compare only.
        check: bool,
    },
    /// Random cases beside XLA.
    Conformance(Cases),
    /// The table of XLA's tests.
    ConformanceTable,
    /// The questions about bitcasts beside brute force.
    Bitcasts {
        /// One pair in so many.
        sample: u64,
        /// Only arrays of so many elements.
        elements: Option<u64>,
    },
    /// An array larger than memory.
    Large(Large),
    /// Fuzzing.
    Fuzz(Wish),
}

/// An array to transpose from file to file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Large {
    /// Its size in MiB.
    pub mib: u64,
    /// The bound on memory in MiB.
    pub memory: u64,
    /// Where it is written.
    pub folder: Option<String>,
}

impl Default for Large {
    fn default() -> Large {
        Large {
            mib: 4096,
            memory: 256,
            folder: None,
        }
    }
}

/// Which random cases go through XLA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cases {
    /// How many.
    pub count: u64,
    /// The same seed makes the same cases.
    pub seed: u64,
}

impl Default for Cases {
    fn default() -> Cases {
        Cases {
            count: 20_000,
            seed: 1,
        }
    }
}

/// What to fuzz, and how.
#[derive(Debug, PartialEq, Eq)]
pub struct Wish {
    /// Names of targets; none means all.
    pub targets: Vec<String>,
    /// How to run them.
    pub mode: Mode,
}

/// How fuzz targets run.
#[derive(Debug, PartialEq, Eq)]
pub enum Mode {
    /// Replay the corpus, then search for this many seconds a target.
    Search {
        /// Seconds of search a target; 0 only replays.
        seconds: u32,
    },
    /// Run one input.
    Replay {
        /// The input's file.
        input: String,
    },
}

/// How long a target is searched when nobody says.
pub const DEFAULT_SECONDS: u32 = 10;

/// Reads the arguments that follow the program's name.
///
/// # Errors
///
/// A message that names the argument which doesn't fit.
pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Request, String> {
    let mut arguments = arguments.peekable();
    let Some(command) = arguments.next() else {
        return Ok(Request::Help);
    };
    let rest: Vec<String> = arguments.collect();
    let asks_for_help = |argument: &String| argument == "--help" || argument == "-h";
    if command == "bench" {
        // It has a help of its own.
        return Ok(Request::Bench { options: rest });
    }
    if command == "help" || asks_for_help(&command) || rest.iter().any(asks_for_help) {
        return Ok(Request::Help);
    }
    match command.as_str() {
        "test" => parse_flag(&command, &rest, "--quick").map(|quick| Request::Test { quick }),
        "docs" => parse_bare(&command, &rest, Request::Documents),
        "python" => parse_bare(&command, &rest, Request::Python),
        "targets" => parse_bare(&command, &rest, Request::Targets),
        "wheel" => parse_bare(&command, &rest, Request::Wheel),
        "sanitize" => {
            parse_flag(&command, &rest, "--python").map(|python| Request::Sanitize { python })
        }
        "instructions" => {
            parse_flag(&command, &rest, "--update").map(|update| Request::Instructions { update })
        }
        "ptx" => parse_flag(&command, &rest, "--check").map(|check| Request::Ptx { check }),
        "conformance" => parse_cases(rest.into_iter()),
        "conformance-table" => parse_bare(&command, &rest, Request::ConformanceTable),
        "bitcasts" => parse_bitcasts(&rest),
        "large" => parse_large(rest.into_iter()),
        "fuzz" => parse_fuzz(rest.into_iter()),
        _ => Err(format!("there is no command `{command}`")),
    }
}

/// A command that takes nothing.
fn parse_bare(command: &str, rest: &[String], request: Request) -> Result<Request, String> {
    match rest.first() {
        None => Ok(request),
        Some(argument) => Err(format!("`{command}` takes no `{argument}`")),
    }
}

/// Whether the one option that a command has was given.
fn parse_flag(command: &str, rest: &[String], flag: &str) -> Result<bool, String> {
    match rest.iter().find(|argument| *argument != flag) {
        Some(argument) => Err(format!("`{command}` takes no `{argument}`")),
        None => Ok(!rest.is_empty()),
    }
}

fn parse_cases(mut rest: impl Iterator<Item = String>) -> Result<Request, String> {
    let mut cases = Cases::default();
    while let Some(argument) = rest.next() {
        let number = match argument.as_str() {
            "--cases" => &mut cases.count,
            "--seed" => &mut cases.seed,
            _ => return Err(format!("`conformance` takes no `{argument}`")),
        };
        let value = rest.next().ok_or(format!("`{argument}` needs a number"))?;
        *number = value
            .parse()
            .map_err(|_| format!("`{argument}` needs a whole number, not `{value}`"))?;
    }
    Ok(Request::Conformance(cases))
}

fn parse_large(mut rest: impl Iterator<Item = String>) -> Result<Request, String> {
    let mut large = Large::default();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or(format!("`{argument}` needs a value"));
        let number = match argument.as_str() {
            "--mib" => &mut large.mib,
            "--memory" => &mut large.memory,
            "--folder" => {
                large.folder = Some(value()?);
                continue;
            }
            _ => return Err(format!("`large` takes no `{argument}`")),
        };
        let value = value()?;
        *number = value
            .parse()
            .ok()
            .filter(|number| (1..1 << 30).contains(number))
            .ok_or(format!("`{argument}` needs a number of MiB, not `{value}`"))?;
    }
    Ok(Request::Large(large))
}

fn parse_bitcasts(rest: &[String]) -> Result<Request, String> {
    let (mut sample, mut elements) = (1, None);
    let mut rest = rest.iter();
    while let Some(option) = rest.next() {
        if !["--sample", "--elements"].contains(&option.as_str()) {
            return Err(format!("`bitcasts` takes no `{option}`"));
        }
        let value = rest.next().ok_or(format!("`{option}` needs a number"))?;
        let number = value.parse().ok().filter(|&number| number > 0);
        let number = number.ok_or(format!(
            "`{option}` needs a number from 1 on, not `{value}`"
        ))?;
        match option.as_str() {
            "--sample" => sample = number,
            _ => elements = Some(number),
        }
    }
    Ok(Request::Bitcasts { sample, elements })
}

fn parse_fuzz(mut rest: impl Iterator<Item = String>) -> Result<Request, String> {
    let mut targets = Vec::new();
    let mut seconds = None;
    let mut replay = None;
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--seconds" => {
                let value = rest.next().ok_or("`--seconds` needs a number")?;
                let number: u32 = value.parse().map_err(|_| {
                    format!("`--seconds` needs a whole number of seconds, not `{value}`")
                })?;
                seconds = Some(number);
            }
            "--replay" => replay = Some(rest.next().ok_or("`--replay` needs a file")?),
            option if option.starts_with('-') => {
                return Err(format!("`fuzz` takes no `{option}`"));
            }
            _ => targets.push(argument),
        }
    }
    let mode = match (replay, seconds) {
        (Some(_), Some(_)) => return Err("`--replay` runs once: it takes no `--seconds`".into()),
        (Some(_), None) if targets.len() != 1 => {
            return Err("`--replay` needs the name of exactly one target".into());
        }
        (Some(input), None) => Mode::Replay { input },
        (None, seconds) => Mode::Search {
            seconds: seconds.unwrap_or(DEFAULT_SECONDS),
        },
    };
    Ok(Request::Fuzz(Wish { targets, mode }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Request, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn commands_and_options() {
        let search = |targets: &[&str], seconds| {
            Ok(Request::Fuzz(Wish {
                targets: targets.iter().map(|&name| name.to_owned()).collect(),
                mode: Mode::Search { seconds },
            }))
        };
        let cases = [
            ("", Ok(Request::Help)),
            ("--help", Ok(Request::Help)),
            ("fuzz -h", Ok(Request::Help)),
            ("test", Ok(Request::Test { quick: false })),
            ("test --quick", Ok(Request::Test { quick: true })),
            ("docs", Ok(Request::Documents)),
            ("sanitize", Ok(Request::Sanitize { python: false })),
            ("sanitize --python", Ok(Request::Sanitize { python: true })),
            ("python", Ok(Request::Python)),
            ("targets", Ok(Request::Targets)),
            ("wheel", Ok(Request::Wheel)),
            (
                "bench --quick --help",
                Ok(Request::Bench {
                    options: vec!["--quick".to_owned(), "--help".to_owned()],
                }),
            ),
            ("instructions", Ok(Request::Instructions { update: false })),
            (
                "instructions --update",
                Ok(Request::Instructions { update: true }),
            ),
            ("conformance", Ok(Request::Conformance(Cases::default()))),
            (
                "conformance --seed 7 --cases 50",
                Ok(Request::Conformance(Cases { count: 50, seed: 7 })),
            ),
            ("conformance-table", Ok(Request::ConformanceTable)),
            ("large", Ok(Request::Large(Large::default()))),
            (
                "large --mib 100 --folder a",
                Ok(Request::Large(Large {
                    mib: 100,
                    memory: 256,
                    folder: Some("a".to_owned()),
                })),
            ),
            (
                "bitcasts",
                Ok(Request::Bitcasts {
                    sample: 1,
                    elements: None,
                }),
            ),
            (
                "bitcasts --elements 12 --sample 400",
                Ok(Request::Bitcasts {
                    sample: 400,
                    elements: Some(12),
                }),
            ),
            ("fuzz", search(&[], 10)),
            ("fuzz plan --seconds 600", search(&["plan"], 600)),
            ("fuzz --seconds 0 plan npy", search(&["plan", "npy"], 0)),
            (
                "fuzz plan --replay a/b",
                Ok(Request::Fuzz(Wish {
                    targets: vec!["plan".to_owned()],
                    mode: Mode::Replay {
                        input: "a/b".to_owned(),
                    },
                })),
            ),
        ];
        for (line, expected) in cases {
            assert_eq!(parsed(line), expected, "{line:?}");
        }
    }

    #[test]
    fn errors_name_the_argument() {
        let cases = [
            ("tests", "there is no command `tests`"),
            ("test --fast", "`test` takes no `--fast`"),
            ("instructions -u", "`instructions` takes no `-u`"),
            ("sanitize x", "`sanitize` takes no `x`"),
            ("docs all", "`docs` takes no `all`"),
            ("conformance --cases", "`--cases` needs a number"),
            (
                "conformance --seed x",
                "`--seed` needs a whole number, not `x`",
            ),
            ("bitcasts all", "`bitcasts` takes no `all`"),
            ("bitcasts --sample", "`--sample` needs a number"),
            (
                "bitcasts --sample 0",
                "`--sample` needs a number from 1 on, not `0`",
            ),
            ("fuzz --second 3", "`fuzz` takes no `--second`"),
            ("fuzz --seconds", "`--seconds` needs a number"),
            (
                "fuzz --seconds -3",
                "`--seconds` needs a whole number of seconds, not `-3`",
            ),
            ("fuzz plan --replay", "`--replay` needs a file"),
            (
                "fuzz --replay x",
                "`--replay` needs the name of exactly one target",
            ),
            (
                "fuzz plan --replay x --seconds 3",
                "`--replay` runs once: it takes no `--seconds`",
            ),
        ];
        for (line, expected) in cases {
            assert_eq!(parsed(line), Err(expected.to_owned()), "{line:?}");
        }
    }
}
