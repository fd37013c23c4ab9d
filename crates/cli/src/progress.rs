//! Says how far the work has come, on standard error, once it takes more than a second.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use reuselens::Progress;

/// A line that shows rate and, where the end is known, the time left.
pub struct Meter {
    bar: Option<ProgressBar>,
    start: Instant,
    next: Instant,
    quiet: bool,
    verb: &'static str,
}

const FIRST: Duration = Duration::from_secs(1);
const EVERY: Duration = Duration::from_millis(200);

impl Meter {
    /// A meter that shows nothing yet. `verb` is what is being done: `analysing`.
    pub fn new(verb: &'static str, quiet: bool) -> Self {
        let now = Instant::now();
        let quiet = quiet || !std::io::stderr().is_terminal();
        Meter {
            bar: None,
            start: now,
            next: now + FIRST,
            quiet,
            verb,
        }
    }

    /// Called often; shows something now and then.
    pub fn tick(&mut self, progress: Progress) {
        if self.quiet {
            return;
        }
        let now = Instant::now();
        if now < self.next {
            return;
        }
        self.next = now + EVERY;
        let seconds = (now - self.start).as_secs_f64();
        let accesses = progress.accesses.get();
        let rate = accesses as f64 / seconds / 1e6;
        let left = progress
            .source_bytes
            .filter(|(done, _)| *done > 0)
            .map(|(done, all)| seconds * all.saturating_sub(done) as f64 / done as f64);
        let left = left.map_or_else(String::new, |left| format!(", {left:.0} s left"));
        let millions = accesses as f64 / 1e6;
        let text = format!(
            "{} {millions:.1} M accesses, {rate:.1} M/s{left}",
            self.verb
        );
        self.bar.get_or_insert_with(spinner).set_message(text);
    }

    /// Removes the line.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn spinner() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(EVERY);
    bar
}
