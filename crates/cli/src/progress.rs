//! Progress of long work, for people.

use std::io::{self, IsTerminal};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work that is done sooner shows no progress bar.
const PATIENCE: Duration = Duration::from_millis(500);

/// What is done, how fast, and the time that is left.
const TEMPLATE: &str = "{bar:40} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left";

/// A progress bar on standard error that appears when a person has waited for a while; without a
/// terminal there is nothing.
pub struct Watched {
    started: Instant,
    patience: Duration,
    target: fn() -> ProgressDrawTarget,
    by_a_person: bool,
    bar: OnceLock<ProgressBar>,
}

impl Watched {
    /// Of work that starts now.
    pub fn new(quiet: bool) -> Watched {
        Watched {
            started: Instant::now(),
            patience: PATIENCE,
            target: ProgressDrawTarget::stderr,
            by_a_person: !quiet && io::stderr().is_terminal(),
            bar: OnceLock::new(),
        }
    }

    /// So many bytes are done, of so many.
    pub fn report(&self, done: u64, total: u64) {
        if !self.by_a_person || self.started.elapsed() < self.patience {
            return;
        }
        let bar = self.bar.get_or_init(|| {
            let bar = ProgressBar::with_draw_target(Some(total), (self.target)());
            match ProgressStyle::with_template(TEMPLATE) {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            }
        });
        bar.set_length(total);
        bar.set_position(done);
    }

    /// The work is done: the bar goes.
    pub fn finish(&self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use indicatif::TermLike;

    use super::*;

    /// A terminal of 100 columns that keeps what it was told.
    #[derive(Debug)]
    struct Screen;

    static WRITTEN: Mutex<String> = Mutex::new(String::new());

    impl TermLike for Screen {
        fn width(&self) -> u16 {
            100
        }

        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn write_line(&self, line: &str) -> io::Result<()> {
            self.write_str(line)
        }

        fn write_str(&self, text: &str) -> io::Result<()> {
            WRITTEN.lock().unwrap().push_str(text);
            Ok(())
        }

        fn clear_line(&self) -> io::Result<()> {
            self.write_str("<cleared>")
        }

        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    fn watched(patience: Duration, by_a_person: bool) -> Watched {
        Watched {
            started: Instant::now(),
            patience,
            target: || ProgressDrawTarget::term_like(Box::new(Screen)),
            by_a_person,
            bar: OnceLock::new(),
        }
    }

    #[test]
    fn a_bar_has_the_rate_and_the_time_left_and_goes_at_the_end() {
        const SOON: Duration = Duration::from_secs(1 << 30);
        for (patience, by_a_person) in [(SOON, true), (Duration::ZERO, false)] {
            let silent = watched(patience, by_a_person);
            silent.report(1, 2);
            silent.finish();
            assert!(silent.bar.get().is_none());
        }
        assert_eq!(*WRITTEN.lock().unwrap(), "");
        let shown = watched(Duration::ZERO, true);
        shown.report(1 << 20, 4 << 20);
        let text = WRITTEN.lock().unwrap().clone();
        for part in ["1.00 MiB of 4.00 MiB, ", "/s, ", " left"] {
            assert!(text.contains(part), "{text:?}");
        }
        shown.finish();
        assert!(WRITTEN.lock().unwrap().ends_with("<cleared>"));
    }
}
