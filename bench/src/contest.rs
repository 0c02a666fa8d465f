//! One case measured: everyone who can do it, in turns, on the same buffers.

use std::hint::black_box;
use std::time::{Duration, Instant};

use minormajor::measure::{self, Buffers};
use minormajor::{Machine, Pages, Plan, Relayout};
use minormajor_testing::large;
use minormajor_testing::numbers::Conversion;

use crate::case::Case;
use crate::machine;
use crate::peers::Peers;
use crate::results::{Entry, Row};

/// How long rounds go on at least, so that short cases get more of them.
const PATIENCE: Duration = Duration::from_millis(300);

/// The names of those that are always there.
pub const MEMCPY: &str = "memcpy";
/// The plan is kept and run again.
pub const KEPT: &str = "minormajor";
/// The plan is made, and run once.
pub const PLANNED: &str = "minormajor, plan made each time";

/// The same layouts of an array that the caches hold, and its time as if it were as large: what is left where memory takes
/// no time.
pub const CACHED: &str = "minormajor, in the caches";

/// What destinations hold before a run: no result is right by what was there before.
const SENTINEL: u8 = 0xee;

/// Someone who takes turns.
pub trait Contestant {
    /// Who it is.
    fn name(&self) -> &str;

    /// Runs once, or as often as a readable time needs, and returns the seconds of one run. The
    /// destination is the one that all share; some have their own.
    fn turn(&mut self, destination: &mut [u8]) -> Result<f64, String>;

    /// Runs once and says whether the result is right.
    fn is_right(&mut self, destination: &mut [u8], expected: &Expected) -> Result<bool, String>;
}

/// The bytes of a right result.
pub struct Expected {
    bytes: Vec<u8>,
    /// A number of them that another process can compare.
    pub checksum: u64,
}

impl Expected {
    fn new(bytes: Vec<u8>) -> Expected {
        Expected {
            checksum: checksum(&bytes),
            bytes,
        }
    }

    /// Whether a result is right.
    pub fn is(&self, result: &[u8]) -> bool {
        result == self.bytes
    }
}

/// The sum over the 8-byte words of the word times its odd place, 1, 3, 5...; a short last word is
/// filled with zeros.
fn checksum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks(8).enumerate().map(|(number, chunk)| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word).wrapping_mul(2 * number as u64 + 1)
    });
    words.fold(0, u64::wrapping_add)
}

/// A contestant in this process.
pub struct Here<F> {
    name: String,
    run: F,
}

/// One that writes the shared destination by `run`.
pub fn here<'a>(name: &str, mut run: impl FnMut(&mut [u8]) + 'a) -> Box<dyn Contestant + 'a> {
    let mut timed = measure::repeated(move |destination: &mut [u8]| run(destination));
    Box::new(Here {
        name: name.to_owned(),
        run: move |destination: &mut [u8]| timed(destination),
    })
}

impl<F: FnMut(&mut [u8]) -> f64> Contestant for Here<F> {
    fn name(&self) -> &str {
        &self.name
    }

    fn turn(&mut self, destination: &mut [u8]) -> Result<f64, String> {
        Ok((self.run)(destination))
    }

    fn is_right(&mut self, destination: &mut [u8], expected: &Expected) -> Result<bool, String> {
        destination.fill(SENTINEL);
        (self.run)(destination);
        Ok(expected.is(&destination[..expected.bytes.len()]))
    }
}

/// `memcpy`: no relayout, so its result is not looked at.
struct Copy<F>(F);

impl<F: FnMut(&mut [u8]) -> f64> Contestant for Copy<F> {
    fn name(&self) -> &str {
        MEMCPY
    }

    fn turn(&mut self, destination: &mut [u8]) -> Result<f64, String> {
        Ok((self.0)(destination))
    }

    fn is_right(&mut self, _: &mut [u8], _: &Expected) -> Result<bool, String> {
        Ok(true)
    }
}

/// A relayout of the same layouts in buffers of its own, which the caches hold.
struct Cached {
    relayout: Relayout,
    buffers: Buffers,
    /// How much larger the case is, for each thread.
    larger: f64,
}

/// How long it runs in a turn, behind a run that brings its buffers to the caches.
const CACHED_TURN: Duration = Duration::from_micros(200);

impl Cached {
    /// None where the array can't be made small enough, or is small.
    fn of(case: &Case, large: &Relayout, threads: usize) -> Option<Cached> {
        if case.is_small() {
            return None;
        }
        let plan = case.in_the_caches()?.plan().ok()?;
        let relayout = Relayout::new(&plan).ok()?.threads(1);
        let [bytes, of_large] = [&relayout, large].map(|r| measure::copied_bytes(r) as f64);
        Some(Cached {
            buffers: Buffers::new(&relayout, Pages::Huge).ok()?,
            relayout,
            larger: of_large / bytes / threads as f64,
        })
    }
}

impl Contestant for Cached {
    fn name(&self) -> &str {
        CACHED
    }

    fn turn(&mut self, _: &mut [u8]) -> Result<f64, String> {
        let (source, destination) = self.buffers.parts();
        let mut run = || self.relayout.run(black_box(source), destination);
        run().map_err(|error| error.to_string())?;
        let (start, mut runs) = (Instant::now(), 0.0);
        while start.elapsed() < CACHED_TURN {
            run().map_err(|error| error.to_string())?;
            runs += 1.0;
        }
        Ok(self.larger * start.elapsed().as_secs_f64() / runs)
    }

    /// Its result is another array, which nobody looks at.
    fn is_right(&mut self, _: &mut [u8], _: &Expected) -> Result<bool, String> {
        Ok(true)
    }
}

/// How to measure.
pub struct Terms {
    /// One row for each of these numbers.
    pub threads: Vec<usize>,
    /// Rounds at least.
    pub rounds: usize,
    /// Whether to measure on 4 KiB pages too.
    pub small_pages: bool,
    /// For predictions, on huge pages.
    pub machine: Machine,
}

/// Why a case has no rows.
#[derive(Debug)]
pub enum Problem {
    /// It doesn't fit this machine.
    TooLarge(String),
    /// Something is wrong: nothing more should be measured.
    Fault(String),
}

impl From<String> for Problem {
    fn from(cause: String) -> Problem {
        Problem::Fault(cause)
    }
}

/// Measures a case: a row for each number of threads.
///
/// # Errors
///
/// [`Problem::Fault`] where minormajor's result is wrong, and where a peer's process is lost.
pub fn measure(case: &Case, terms: &Terms, peers: &mut Peers) -> Result<Vec<Row>, Problem> {
    let plan = case.plan().map_err(|error| error.to_string())?;
    let relayout = Relayout::new(&plan).map_err(|error| error.to_string())?;
    let make = |pages| {
        Buffers::new(&relayout, pages).map_err(|error| Problem::TooLarge(error.to_string()))
    };
    let mut huge = make(Pages::Huge)?;
    let small_pages = terms.small_pages && !case.is_small();
    let mut small = small_pages.then(|| make(Pages::Small)).transpose()?;

    let array = &huge.parts().0[..relayout.source_bytes()];
    // What lies between a view's elements stays.
    let mut bytes = vec![SENTINEL; relayout.destination_bytes()];
    let [from, to] = [case.source.place(), case.destination.place()];
    let conversion = Conversion {
        to: to.element_type(),
        ..Conversion::none(from.element_type())
    };
    large::converting(from, array, to, &mut bytes, &conversion);
    let expected = Expected::new(bytes);

    let mut rows = Vec::new();
    for &threads in &terms.threads {
        let relayout = relayout.clone().threads(threads);
        let mut arenas = vec![Arena::new(Pages::Huge, &mut huge)];
        arenas.extend(small.as_mut().map(|small| Arena::new(Pages::Small, small)));
        for arena in &mut arenas {
            arena.invite_always(&relayout, threads);
        }
        let first = &mut arenas[0];
        if case.is_small() {
            first.invite_planner(case, threads);
        }
        if let Some(roof) = Cached::of(case, &relayout, threads) {
            first.contestants.push(Box::new(roof));
        }
        let array = &first.source[..relayout.source_bytes()];
        let invited = peers.invite(case, &plan, array, threads)?;
        first.contestants.extend(invited);

        let mut notes = Vec::new();
        for arena in &mut arenas {
            arena.check(&expected, &mut notes)?;
        }
        let kernel = relayout.kernels().next();
        rows.push(Row {
            case: case.name.clone(),
            suite: case.suite().to_owned(),
            source: case.source.to_string(),
            destination: case.destination.to_string(),
            threads,
            bytes: measure::copied_bytes(&relayout),
            kernel: kernel.map_or("element by element".to_owned(), |kernel| kernel.to_string()),
            huge_share: machine::huge_share(arenas[0].destination),
            predicted_s: relayout.predict(&terms.machine).as_secs_f64(),
            entries: compete(&mut arenas, terms.rounds)?,
            known: case.known.get(threads - 1).cloned().flatten(),
            notes,
        });
    }
    Ok(rows)
}

/// The contestants of each arena in turns, one arena after the other: no buffers but its own are in
/// the caches meanwhile, as with `minormajor bench`.
fn compete(arenas: &mut [Arena<'_>], rounds: usize) -> Result<Vec<Entry>, String> {
    let mut entries = Vec::new();
    for arena in arenas {
        entries.extend(arena.compete(rounds)?);
    }
    Ok(entries)
}

/// A pair of buffers, and those who take turns on it.
struct Arena<'a> {
    pages: Pages,
    source: &'a [u8],
    destination: &'a mut [u8],
    contestants: Vec<Box<dyn Contestant + 'a>>,
}

impl<'a> Arena<'a> {
    fn new(pages: Pages, buffers: &'a mut Buffers) -> Arena<'a> {
        let (source, destination) = buffers.parts();
        Arena {
            pages,
            source,
            destination,
            contestants: Vec::new(),
        }
    }

    fn invite_always(&mut self, relayout: &Relayout, threads: usize) {
        let source = self.source;
        let bytes = measure::copied_bytes(relayout);
        let mut copy = measure::copies(&source[..bytes], threads);
        let copy = move |destination: &mut [u8]| copy(&mut destination[..bytes]);
        self.contestants.push(Box::new(Copy(copy)));
        let relayout = relayout.clone();
        self.contestants.push(here(KEPT, move |destination| {
            // An error leaves the destination as it was, which the check finds wrong.
            let _ = relayout.run(black_box(source), destination);
        }));
    }

    /// Plans anew in every run.
    fn invite_planner(&mut self, case: &Case, threads: usize) {
        let source = self.source;
        let (from, to) = (case.source.clone(), case.destination.clone());
        self.contestants.push(here(PLANNED, move |destination| {
            let plan = Plan::new(black_box(from.place()), black_box(to.place())).ok();
            if let Some(relayout) = plan.and_then(|plan| Relayout::new(&plan).ok()) {
                let _ = relayout
                    .threads(threads)
                    .run(black_box(source), destination);
            }
        }));
    }

    /// All contestants in turns.
    fn compete(&mut self, rounds: usize) -> Result<Vec<Entry>, String> {
        let (mut failure, who) = (None, self.contestants.len());
        let times = measure::interleave(rounds, PATIENCE, who, |turn| {
            let turn = self.contestants[turn].turn(self.destination);
            turn.unwrap_or_else(|cause| {
                failure = Some(cause);
                f64::NAN
            })
        });
        if let Some(cause) = failure {
            return Err(cause);
        }
        let times = self.contestants.iter().zip(times);
        Ok(times
            .map(|(contestant, times)| Entry::new(contestant.name(), self.pages, &times))
            .collect())
    }

    /// Looks at everyone's result; peers whose result is wrong are left out.
    fn check(&mut self, expected: &Expected, notes: &mut Vec<String>) -> Result<(), String> {
        let mut right = Vec::new();
        for mut contestant in self.contestants.drain(..) {
            let name = contestant.name().to_owned();
            if contestant.is_right(self.destination, expected)? {
                right.push(contestant);
            } else if [KEPT, PLANNED].contains(&name.as_str()) {
                return Err(format!("{name}: the result is wrong"));
            } else {
                notes.push(format!("{name} gives a wrong result"));
            }
        }
        self.contestants = right;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Case;

    #[test]
    fn checksums_tell_places_apart() {
        assert_eq!(checksum(&[]), 0);
        assert_eq!(checksum(&[1, 1]), 0x101);
        assert_eq!(checksum(&[1, 0, 0, 0, 0, 0, 0, 0, 2]), 1 + 2 * 3);
    }

    #[test]
    fn a_case_has_a_row_for_each_number_of_threads() {
        let terms = Terms {
            threads: vec![1, 2],
            rounds: 3,
            small_pages: true,
            machine: Machine::with_pages(Pages::Huge).clone(),
        };
        let measured = |name: &str, from: &str, to: &str| {
            let case = Case::new(name, from, to).unwrap();
            measure(&case, &terms, &mut Peers::default()).unwrap()
        };
        let rows = measured("T_x", "f32[300,500]", "f32[300,500]{0,1:T(8,128)}");
        assert_eq!(
            rows.iter().map(|row| row.threads).collect::<Vec<_>>(),
            [1, 2]
        );
        for row in rows {
            let who: Vec<_> = row
                .entries
                .iter()
                .map(|entry| (entry.name.as_str(), entry.small_pages))
                .collect();
            assert_eq!(
                who,
                [
                    (MEMCPY, false),
                    (KEPT, false),
                    (CACHED, false),
                    (MEMCPY, true),
                    (KEPT, true)
                ]
            );
            assert!(row.entries.iter().all(|entry| entry.low_s <= entry.median_s
                && entry.median_s <= entry.high_s
                && entry.rounds >= 3));
        }
        let rows = measured("P_x", "f32[300,500]", "bf16[300,500]{0,1}");
        assert_eq!(rows[0].bytes, 300 * 500 * 3);
        let rows = measured("S_x", "f32[3,5]", "f32[3,5]{0,1}");
        let who: Vec<_> = rows[0]
            .entries
            .iter()
            .map(|entry| entry.name.as_str())
            .collect();
        assert_eq!(who, [MEMCPY, KEPT, PLANNED]);
    }

    /// A contestant that does nothing.
    #[test]
    fn wrong_results_are_noticed() {
        let case = Case::new("A_x", "u8[20,30]", "u8[20,30]{0,1}").unwrap();
        let plan = case.plan().unwrap();
        let mut buffers = Buffers::new(&Relayout::new(&plan).unwrap(), Pages::Huge).unwrap();
        let mut arena = Arena::new(Pages::Huge, &mut buffers);
        arena.contestants.push(here("idle", |_| {}));
        let expected = Expected::new(vec![1; 600]);
        let mut notes = Vec::new();
        arena.check(&expected, &mut notes).unwrap();
        assert_eq!((arena.contestants.len(), notes.len()), (0, 1));
        arena.contestants.push(here(KEPT, |_| {}));
        assert!(arena.check(&expected, &mut notes).is_err());
    }
}
