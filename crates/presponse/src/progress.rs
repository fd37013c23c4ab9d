//! [`BatchMeter`]: a line on standard error that shows how far the work is.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use reuselens_units::grouped;

const FIRST: Duration = Duration::from_secs(1);
const EVERY: Duration = Duration::from_millis(200);

/// A line that shows the rate.
pub struct BatchMeter {
    bar: Option<ProgressBar>,
    start: Instant,
    next: Instant,
    quiet: bool,
    verb: &'static str,
}

impl BatchMeter {
    /// A meter that shows nothing yet. `verb` is what is being done: `reading`.
    pub fn new(verb: &'static str, quiet: bool) -> Self {
        let now = Instant::now();
        Self {
            bar: None,
            start: now,
            next: now + FIRST,
            quiet: quiet || !std::io::stderr().is_terminal(),
            verb,
        }
    }

    /// A line at once, with the time so far: for work whose progress is not known.
    pub fn busy(verb: &'static str, quiet: bool) -> Self {
        let mut meter = Self::new(verb, quiet);
        if !meter.quiet {
            let bar = spinner("{spinner} {msg}, {elapsed} so far");
            bar.set_message(verb);
            meter.bar = Some(bar);
        }
        meter
    }

    /// Called often; shows now and then how many of these there were.
    pub fn tick(&mut self, done: u64, what: &str) {
        if self.quiet {
            return;
        }
        let now = Instant::now();
        if now < self.next {
            return;
        }
        self.next = now + EVERY;
        let rate = done as f64 / (now - self.start).as_secs_f64();
        let text = format!("{}: {} {what}, {rate:.0}/s", self.verb, grouped(done));
        let bar = self.bar.get_or_insert_with(|| spinner("{spinner} {msg}"));
        bar.set_message(text);
    }
}

fn spinner(template: &str) -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(EVERY);
    bar
}

impl Drop for BatchMeter {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
