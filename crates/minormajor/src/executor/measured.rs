//! Choosing by trying.

use std::time::{Duration, Instant};

use minormajor_core::Plan;
use minormajor_kernels::{Isa, Stores, Tuning};

use super::{Relayout, RunError};

/// Timed runs of every candidate, after one that is not.
const RUNS: usize = 3;

impl Relayout {
    /// Prepares a plan in each of the few ways that may be the fastest, runs them all on the
    /// caller's buffers, and returns the one that was.
    ///
    /// The candidates differ in the instruction set, in whether whole lines are streamed past the
    /// caches, and in the threads, of which none takes more than `threads` (0 for as many as the
    /// machine runs at once). Worth it where a plan is kept and run often: it takes some twenty
    /// runs. The destination holds the array afterwards.
    ///
    /// ```
    /// use minormajor::{Plan, Relayout, Shape};
    ///
    /// let rows: Shape = "u8[2,3]{1,0}".parse()?;
    /// let columns: Shape = "u8[2,3]{0,1}".parse()?;
    /// let plan = Plan::new(rows.as_array()?, columns.as_array()?)?;
    /// let mut destination = [0; 6];
    /// let transpose = Relayout::measured(&plan, 0, b"abcdef", &mut destination)?;
    /// assert_eq!(&destination, b"adbecf");
    /// transpose.run(b"ABCDEF", &mut destination)?;
    /// assert_eq!(&destination, b"ADBECF");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`new`](Relayout::new) and [`run`](Relayout::run).
    pub fn measured(
        plan: &Plan,
        threads: usize,
        source: &[u8],
        destination: &mut [u8],
    ) -> Result<Relayout, RunError> {
        let mut best = Relayout::new(plan)?.threads(threads);
        let mut least = best.time(source, destination)?;
        let mut counts = vec![threads];
        if best.threads_of_a_run() > 1 {
            counts.push(1);
        }
        for tuning in tunings() {
            for &count in &counts {
                let candidate = Relayout::tuned(plan, &tuning)?.threads(count);
                let time = candidate.time(source, destination)?;
                if time < least {
                    (best, least) = (candidate, time);
                }
            }
        }
        Ok(best)
    }

    /// The shortest of a few runs.
    fn time(&self, source: &[u8], destination: &mut [u8]) -> Result<Duration, RunError> {
        self.run(source, destination)?;
        let mut least = Duration::MAX;
        for _ in 0..RUNS {
            let start = Instant::now();
            self.run(source, destination)?;
            least = least.min(start.elapsed());
        }
        Ok(least)
    }
}

/// The two widest instruction sets, with both kinds of stores.
fn tunings() -> impl Iterator<Item = Tuning> {
    let isas = Isa::available().iter().rev().take(2);
    isas.flat_map(|&isa| [Stores::Plain, Stores::Streaming].map(|stores| Tuning { isa, stores }))
}
