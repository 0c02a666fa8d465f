//! `cargo xtask instructions`: what small relayouts cost in instructions, beside a checked-in table.
//!
//! Time differs from machine to machine and from minute to minute, instructions don't. valgrind's
//! callgrind counts them on a CPU of its own, which is the same everywhere, its caches included.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::thread;

use crate::bench;
use crate::failure::Failure;
use crate::inlined;
use crate::process;
use crate::valgrind;
use crate::workspace::Workspace;

/// Where the expected counts are, from the workspace's root.
const TABLE: &str = "bench/instructions.tsv";

/// What may be counted beyond what is expected, in percent: for another compiler or C library.
const TOLERANCE: u64 = 10;
/// Or so many instructions, where that is more.
const SLACK: u64 = 16;

/// How often the job runs in one process and in another. What the second counts beyond the first is
/// jobs alone: starting a process, and what only a first run does, is in both.
const TIMES: [u64; 2] = [10, 110];

/// It prints the total; the file with more is not needed.
const CALLGRIND: [&str; 2] = ["--tool=callgrind", "--callgrind-out-file=/dev/null"];

/// What is counted of a pair of shapes, in the order of the table's columns.
const JOBS: [&str; 2] = ["run", "plan"];

/// Counts every row of the table, and fails where one is above what the table says; with `update`
/// writes the table anew instead. First looks whether the kernels are compiled as they should be.
///
/// # Errors
///
/// Where a count is too high, and where something can't be built or run.
pub fn run(workspace: &Workspace, update: bool) -> Result<(), Failure> {
    if let Some(reason) = valgrind::missing()? {
        println!("The counts of instructions are skipped: {reason}.");
        return Ok(());
    }
    let path = workspace.root().join(TABLE);
    let text = fs::read_to_string(&path).map_err(|error| Failure::io("read", &path, &error))?;
    let rows = parse(&text).map_err(|cause| Failure::new(format!("{TABLE}: {cause}")))?;
    let program = bench::build(workspace, "instructions", &[])?;
    inlined::check(&program)?;
    let counted = count_all(&program, &rows)?;
    if update {
        let text = printed(&text, &rows, &counted);
        fs::write(&path, text).map_err(|error| Failure::io("write", &path, &error))?;
        println!("{TABLE}: {} rows written", rows.len());
        return Ok(());
    }
    judge(&rows, &counted)
}

/// A row of the table: two shapes, and the instructions expected of each job.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    shapes: [String; 2],
    expected: [u64; JOBS.len()],
}

/// The rows of the table; its first lines begin with `#` and are for people.
fn parse(text: &str) -> Result<Vec<Row>, String> {
    let lines = text.lines().enumerate();
    let rows: Result<Vec<Row>, String> = lines
        .filter(|(_, line)| !line.starts_with('#') && !line.is_empty())
        .map(|(number, line)| {
            let fields: Vec<&str> = line.split('\t').collect();
            let wrong = || {
                format!(
                    "line {}: expected two shapes and {} counts, with tabs between, got `{line}`",
                    number + 1,
                    JOBS.len()
                )
            };
            let [source, destination, run, plan] = fields[..] else {
                return Err(wrong());
            };
            let count = |field: &str| field.parse::<u64>().map_err(|_| wrong());
            Ok(Row {
                shapes: [source.to_owned(), destination.to_owned()],
                expected: [count(run)?, count(plan)?],
            })
        })
        .collect();
    let rows = rows?;
    match rows.is_empty() {
        true => Err("expected rows, got none".to_owned()),
        false => Ok(rows),
    }
}

/// The table with other counts, its comments kept.
fn printed(text: &str, rows: &[Row], counted: &[[u64; JOBS.len()]]) -> String {
    let comments = text.lines().take_while(|line| line.starts_with('#'));
    let mut table: String = comments.flat_map(|line| [line, "\n"]).collect();
    for (row, [run, plan]) in rows.iter().zip(counted) {
        let [source, destination] = &row.shapes;
        // Writing to a string can't fail.
        let _ = writeln!(table, "{source}\t{destination}\t{run}\t{plan}");
    }
    table
}

/// The counts of all rows. Processes run side by side: that changes no count.
fn count_all(program: &Path, rows: &[Row]) -> Result<Vec<[u64; JOBS.len()]>, Failure> {
    let jobs = rows
        .iter()
        .flat_map(|row| JOBS.into_iter().map(move |job| (job, row)));
    let queue = Mutex::new(jobs.enumerate());
    let work = || -> Result<Vec<(usize, u64)>, Failure> {
        let mut counts = Vec::new();
        loop {
            // Nothing panics while the lock is held.
            let next = queue.lock().ok().and_then(|mut queue| queue.next());
            let Some((number, (job, row))) = next else {
                return Ok(counts);
            };
            counts.push((number, count(program, job, row)?));
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut all = vec![[0; JOBS.len()]; rows.len()];
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            let counts = worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            for (number, count) in counts {
                all[number / JOBS.len()][number % JOBS.len()] = count;
            }
        }
        Ok(all)
    })
}

/// Instructions of one run of a job.
fn count(program: &Path, job: &str, row: &Row) -> Result<u64, Failure> {
    let total = |times: u64| -> Result<u64, Failure> {
        let mut command = valgrind::command(&CALLGRIND, "avx2", program);
        command
            .args([job, &row.shapes[0], &row.shapes[1]])
            .arg(times.to_string());
        collected(&process::errors_of(&mut command)?)
    };
    let [few, many] = TIMES;
    let beyond = total(many)?.saturating_sub(total(few)?);
    Ok(beyond / (many - few))
}

/// The count in callgrind's closing lines.
fn collected(output: &str) -> Result<u64, Failure> {
    output
        .lines()
        .find_map(|line| line.split_once("Collected : "))
        .and_then(|(_, number)| number.trim().parse().ok())
        .ok_or_else(|| Failure::new("callgrind printed no `Collected : N`"))
}

/// Prints every count beside what was expected, and fails where one is too high.
fn judge(rows: &[Row], counted: &[[u64; JOBS.len()]]) -> Result<(), Failure> {
    println!(
        "{:>9} {:>9}  instructions of a run, of a plan",
        "run", "plan"
    );
    let (mut worse, mut better) = (Vec::new(), 0);
    for (row, counts) in rows.iter().zip(counted) {
        let [source, destination] = &row.shapes;
        println!(
            "{:>9} {:>9}  {source} to {destination}",
            counts[0], counts[1]
        );
        for ((job, &count), &expected) in JOBS.iter().zip(counts).zip(&row.expected) {
            let margin = (expected * TOLERANCE / 100).max(SLACK);
            if count > expected + margin {
                worse.push(format!(
                    "  {job} of {source} to {destination}: {count}, expected {expected}"
                ));
            }
            better += usize::from(count + margin < expected);
        }
    }
    if better > 0 {
        println!(
            "{better} counts are lower by more than {TOLERANCE} %: `cargo xtask instructions --update` keeps that"
        );
    }
    if worse.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "more instructions than {TABLE} says, by more than {TOLERANCE} %:\n{}\n\
         make them fewer, or say in the commit why not and write the table anew with \
         `cargo xtask instructions --update`",
        worse.join("\n")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# For people.\n# More.\nf32[4]\tf32[4]\t100\t2000\n";

    #[test]
    fn the_table_is_read_and_written() {
        let rows = parse(TEXT).unwrap();
        assert_eq!(
            rows,
            [Row {
                shapes: ["f32[4]".to_owned(), "f32[4]".to_owned()],
                expected: [100, 2000]
            }]
        );
        let other = printed(TEXT, &rows, &[[90, 2100]]);
        assert_eq!(other, TEXT.replace("100\t2000", "90\t2100"));
        for (text, said) in [
            ("# Nothing.\n", "expected rows, got none"),
            ("a\tb\t1\n", "line 1: expected two shapes and 2 counts"),
            ("#\na\tb\t1\t-2\n", "line 2: expected two shapes"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(said), "{error}");
        }
    }

    #[test]
    fn the_count_is_read() {
        let output = "==7== Events    : Ir\n==7== Collected : 442584\n==7== \n";
        assert_eq!(collected(output).unwrap(), 442_584);
        assert!(collected("==7== nothing").is_err());
    }

    #[test]
    fn too_many_instructions_fail() {
        let rows = parse(TEXT).unwrap();
        for (counts, is_right) in [
            ([100, 2000], true),
            ([116, 2200], true),
            ([117, 2000], false),
            ([100, 2201], false),
            ([10, 100], true),
        ] {
            assert_eq!(judge(&rows, &[counts]).is_ok(), is_right, "{counts:?}");
        }
        let failure = judge(&rows, &[[500, 2000]]).unwrap_err().to_string();
        assert!(
            failure.contains("run of f32[4] to f32[4]: 500, expected 100"),
            "{failure}"
        );
    }
}
