//! [`Meter`]: a line on standard error that shows how far the work is, once it takes more than a
//! second.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use reuselens::Progress;
use reuselens::units::{counted, grouped, shown_lines};

/// A line that shows the rate and, if the end is known, the time left.
pub struct Meter {
    bar: Option<ProgressBar>,
    start: Instant,
    next: Instant,
    quiet: bool,
    verb: String,
}

const FIRST: Duration = Duration::from_secs(1);
const EVERY: Duration = Duration::from_millis(200);

impl Meter {
    /// A meter that shows nothing yet. `verb` is what is being done: `analysing`.
    pub fn new(verb: impl Into<String>, quiet: bool) -> Self {
        let now = Instant::now();
        let quiet = quiet || !std::io::stderr().is_terminal();
        Meter {
            bar: None,
            start: now,
            next: now + FIRST,
            quiet,
            verb: shown_lines(&verb.into()).into_owned(),
        }
    }

    /// A line at once, with the time so far: for work without progress reports.
    pub fn busy(verb: impl Into<String>, quiet: bool) -> Self {
        let mut meter = Meter::new(verb, quiet);
        if !meter.quiet {
            let bar = spinner("{spinner} {msg}, {elapsed} so far");
            bar.set_message(meter.verb.clone());
            meter.bar = Some(bar);
        }
        meter
    }

    /// Called often; shows something now and then.
    pub fn tick(&mut self, progress: Progress) {
        let accesses = progress.accesses.get();
        let rate = |seconds: f64| accesses as f64 / seconds / 1e6;
        self.say(|verb, seconds| {
            let left = progress
                .source_bytes
                .map_or_else(String::new, |(done, all)| left(seconds, done, all));
            let (millions, rate) = (accesses as f64 / 1e6, rate(seconds));
            format!("{verb} {millions:.1} M accesses, {rate:.1} M/s{left}")
        });
    }

    /// The same for blocks of threads: how many have been done, of how many if that is known.
    pub fn blocks(&mut self, done: u64, all: Option<u64>) {
        self.say(|verb, seconds| {
            let rate = done as f64 / seconds;
            match all {
                None => format!("{verb}: {}, {rate:.0}/s", counted(done, "block", "blocks")),
                Some(all) => {
                    let (of, left) = (counted(all, "block", "blocks"), left(seconds, done, all));
                    format!("{verb}: {} of {of}, {rate:.0}/s{left}", grouped(done))
                }
            }
        });
    }

    /// Shows the text that `text` makes of the verb and the seconds since the beginning, if it is
    /// time for an update.
    fn say(&mut self, text: impl FnOnce(&str, f64) -> String) {
        if self.quiet {
            return;
        }
        let now = Instant::now();
        if now < self.next {
            return;
        }
        self.next = now + EVERY;
        let seconds = (now - self.start).as_secs_f64();
        let text = text(&self.verb, seconds);
        let bar = self.bar.get_or_insert_with(|| spinner("{spinner} {msg}"));
        bar.set_message(text);
    }

    /// Removes the line.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// The time that is left at the same rate; nothing while nothing is done.
fn left(seconds: f64, done: u64, all: u64) -> String {
    match done {
        0 => String::new(),
        _ => format!(
            ", {:.0} s left",
            seconds * all.saturating_sub(done) as f64 / done as f64
        ),
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
