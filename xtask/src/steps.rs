//! The run as a person sees it: a heading for each step, its time, a summary.

use std::time::{Duration, Instant};

use crate::failure::Failure;

/// The steps of one run, in order.
pub struct Steps {
    start: Instant,
    done: Vec<(&'static str, Duration)>,
}

impl Steps {
    /// No step yet; the clock starts.
    pub fn new() -> Steps {
        Steps {
            start: Instant::now(),
            done: Vec::new(),
        }
    }

    /// Does one step under its heading.
    ///
    /// # Errors
    ///
    /// What `step` returns, with `name` added.
    pub fn run<T>(
        &mut self,
        name: &'static str,
        step: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        println!("\n=== {name} ===");
        let start = Instant::now();
        let value = step().map_err(|failure| failure.in_step(name))?;
        let time = start.elapsed();
        println!("--- {name}: {}", shown(time));
        self.done.push((name, time));
        Ok(value)
    }

    /// Prints how long each step took.
    pub fn summarise(&self) {
        println!("\n=== all steps passed ===");
        for (name, time) in &self.done {
            println!("{:>8}  {name}", shown(*time));
        }
        println!("{:>8}  in all", shown(self.start.elapsed()));
    }
}

/// Seconds with one decimal; minutes where that is easier to read.
fn shown(time: Duration) -> String {
    let tenths = time.as_millis() / 100;
    if tenths < 1000 {
        format!("{}.{} s", tenths / 10, tenths % 10)
    } else {
        format!("{}m{:02} s", tenths / 600, tenths % 600 / 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (millis, text) in [
            (0, "0.0 s"),
            (1_949, "1.9 s"),
            (99_999, "99.9 s"),
            (100_000, "1m40 s"),
            (754_321, "12m34 s"),
        ] {
            assert_eq!(shown(Duration::from_millis(millis)), text);
        }
    }
}
