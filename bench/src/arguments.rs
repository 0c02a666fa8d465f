//! The command line, parsed by hand: options with at most one value each.

use std::path::PathBuf;

use crate::case::SUITES;
use crate::machine::ROOT;

/// What `--help` prints.
pub const HELP: &str = "\
Times relayouts beside memcpy, and writes docs/performance.md and its plot.

usage: cargo xtask bench [OPTION...]
       cargo xtask bench --indices [--help]     index conversion in batches instead
       cargo xtask bench --tensors [--help]     matrix products and compact shapes instead

  --suites A,B       only these: A matrices, B image batches, C permutations, T tiled,
                     padded and blocked, R short runs, V strided views, P packed elements
                     and conversions, S small arrays, U (or UA, UB, UC, UT, UR, UV, US) the
                     same kinds, in no list
  --cases A_40,C1    only cases whose names begin so
  --threads 1,2      a row for each of these numbers of threads (1,2)
  --rounds N         interleaved rounds at least (7); short cases get more
  --budget SECONDS   stop taking up cases after so long; suites take turns
  --quick            a look: one thread, huge pages only, a minute, written to
                     target/bench instead of docs
  --huge-pages       on huge pages only, not on 4 KiB pages too
  --unlisted N       so many cases of every unlisted kind (6)
  --seed N           other unlisted cases
  --peers            other libraries too, in the same rounds: NumPy, PyTorch, JAX, oneDNN
                     and MKL in an environment of their own, ndarray, candle,
                     strided-perm and transpose in this program
  --add              go on where an earlier run stopped: measure what has no row yet
  --report           write the report of earlier runs again, measure nothing
  --output FOLDER    write performance.md and performance.svg there (docs)
  --list             print the cases with their shapes, measure nothing";

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments {
    /// Print [`HELP`].
    pub help: bool,
    /// Print the cases.
    pub list: bool,
    /// Suites; none means all.
    pub suites: Vec<String>,
    /// Beginnings of names; none means all.
    pub cases: Vec<String>,
    /// Numbers of threads.
    pub threads: Vec<usize>,
    /// Rounds at least.
    pub rounds: usize,
    /// Seconds after which no case is taken up.
    pub budget: Option<u64>,
    /// Whether to measure on 4 KiB pages too.
    pub small_pages: bool,
    /// Unlisted cases of each kind.
    pub unlisted: usize,
    /// What they are made from.
    pub seed: u64,
    /// Whether other libraries take part.
    pub peers: bool,
    /// The Python of the environment that has them.
    pub python: Option<PathBuf>,
    /// Whether to go on where an earlier run stopped.
    pub add: bool,
    /// Whether to measure nothing.
    pub report: bool,
    /// Where the report goes.
    pub output: PathBuf,
    /// Where rows are kept between runs.
    pub results: PathBuf,
}

impl Arguments {
    fn new() -> Arguments {
        let root = PathBuf::from(ROOT);
        Arguments {
            help: false,
            list: false,
            suites: Vec::new(),
            cases: Vec::new(),
            threads: vec![1, 2],
            rounds: 7,
            budget: None,
            small_pages: true,
            unlisted: 6,
            seed: 1,
            peers: false,
            python: None,
            add: false,
            report: false,
            output: root.join("docs"),
            results: root.join("target/bench/results.json"),
        }
    }

    /// Reads what follows the program's name.
    ///
    /// # Errors
    ///
    /// A message that names the argument which doesn't fit.
    pub fn parse(mut given: impl Iterator<Item = String>) -> Result<Arguments, String> {
        let mut arguments = Arguments::new();
        while let Some(option) = given.next() {
            let mut value = || given.next().ok_or(format!("`{option}` needs a value"));
            match option.as_str() {
                "--help" | "-h" => arguments.help = true,
                "--list" => arguments.list = true,
                "--suites" => arguments.suites = suites(&value()?)?,
                "--cases" => arguments.cases = value()?.split(',').map(str::to_owned).collect(),
                "--threads" => {
                    let value = value()?;
                    let threads = value.split(',').map(|text| positive(&option, text));
                    arguments.threads = threads.collect::<Result<_, _>>()?;
                }
                "--rounds" => arguments.rounds = positive(&option, &value()?)?,
                "--budget" => arguments.budget = Some(number(&option, &value()?)?),
                "--quick" => {
                    arguments.threads = vec![1];
                    arguments.budget = Some(60);
                    arguments.small_pages = false;
                    arguments.output = PathBuf::from(ROOT).join("target/bench");
                }
                "--huge-pages" => arguments.small_pages = false,
                "--unlisted" => arguments.unlisted = number(&option, &value()?)? as usize,
                "--seed" => arguments.seed = number(&option, &value()?)?,
                "--peers" => arguments.peers = true,
                "--python" => arguments.python = Some(value()?.into()),
                "--add" => arguments.add = true,
                "--report" => arguments.report = true,
                "--output" => arguments.output = value()?.into(),
                "--results" => arguments.results = value()?.into(),
                _ => return Err(format!("`bench` takes no `{option}`")),
            }
        }
        Ok(arguments)
    }

    /// Whether a case of this name and suite is to be measured.
    pub fn want(&self, name: &str, suite: &str) -> bool {
        let suite = self.suites.is_empty() || self.suites.iter().any(|wanted| wanted == suite);
        let begins = |beginning: &String| name.starts_with(beginning.as_str());
        suite && (self.cases.is_empty() || self.cases.iter().any(begins))
    }
}

fn suites(text: &str) -> Result<Vec<String>, String> {
    let all = || SUITES.iter().map(|(suite, ..)| *suite);
    let mut suites = Vec::new();
    for name in text.split(',') {
        let found: Vec<&str> = all()
            .filter(|suite| *suite == name || (name == "U" && suite.starts_with('U')))
            .collect();
        if found.is_empty() {
            let known: Vec<&str> = all().collect();
            return Err(format!(
                "there is no suite `{name}`: they are {}",
                known.join(", ")
            ));
        }
        suites.extend(found.into_iter().map(str::to_owned));
    }
    Ok(suites)
}

fn number(option: &str, text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("`{option}` needs a whole number, not `{text}`"))
}

fn positive(option: &str, text: &str) -> Result<usize, String> {
    match number(option, text)? {
        0 => Err(format!("`{option}` needs a number of 1 or more")),
        number => Ok(number as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Arguments, String> {
        Arguments::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options() {
        assert_eq!(parsed("").unwrap(), Arguments::new());
        let found = parsed("--suites A,U --threads 1,2,4 --rounds 9 --budget 5 --add").unwrap();
        assert_eq!(
            found.suites,
            ["A", "UA", "UB", "UC", "UT", "UR", "UV", "US"]
        );
        assert_eq!((found.threads, found.rounds), (vec![1, 2, 4], 9));
        assert_eq!((found.budget, found.add), (Some(5), true));
        // What follows a preset changes it.
        let quick = parsed("--quick --threads 2").unwrap();
        assert_eq!((quick.threads, quick.budget), (vec![2], Some(60)));
        assert!(!quick.small_pages && quick.output.ends_with("target/bench"));
    }

    #[test]
    fn names_and_suites_are_wanted() {
        let some = parsed("--suites A,C --cases A_4,C1").unwrap();
        assert!(some.want("A_4096", "A") && some.want("C12", "C"));
        assert!(!some.want("A_1", "A") && !some.want("T_4", "T"));
        assert!(parsed("").unwrap().want("US01", "US"));
    }

    #[test]
    fn errors_name_the_argument() {
        for (line, said) in [
            ("--fast", "`bench` takes no `--fast`"),
            ("--rounds", "`--rounds` needs a value"),
            ("--rounds 0", "`--rounds` needs a number of 1 or more"),
            ("--threads 1,x", "`--threads` needs a whole number, not `x`"),
            (
                "--suites A,X",
                "there is no suite `X`: they are A, B, C, T, R, V, P, UA, UB, UC, UT, UR, UV, S, US",
            ),
        ] {
            assert_eq!(parsed(line).unwrap_err(), said);
        }
    }
}
