//! What of a program's run is recorded, and until when: what was asked for, told to those who record, and
//! the limits that only the reading side can keep.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use reuselens_trace::{Block, Kind, Note};
use reuselens_wire::{Control, REGION_BYTES, Recording};

use crate::functions::FunctionPlace;
use crate::words;

/// An amount of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// So many accesses, over all threads.
    Accesses(u64),
    /// So much time on the clock.
    Time(Duration),
}

/// Which of the regions that a program marks count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Regions {
    /// None is looked at: everything is recorded.
    #[default]
    Ignored,
    /// Only what lies in a region is recorded.
    Any,
    /// Only what lies in a region of this name is recorded.
    Named(String),
}

/// Which accesses are recorded. By default, all. What is given must all be fulfilled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlOptions {
    /// The regions that count.
    pub regions: Regions,
    /// Only from the entry to the return of functions of this name, on the thread that calls them.
    pub function: Option<String>,
    /// Skip so much of what would be recorded.
    pub after: Option<Span>,
    /// Stop after so much was recorded.
    pub span: Option<Span>,
    /// Stop when so many accesses were recorded.
    pub max_accesses: Option<u64>,
    /// Stop when the program has run for so long.
    pub max_time: Option<Duration>,
    /// Record so many accesses, leave so many out, and so on.
    pub burst: Option<(u64, u64)>,
    /// End the program when the recording stops; otherwise it goes on unrecorded.
    pub then_stop: bool,
}

impl ControlOptions {
    /// Whether threads have to look at anything.
    pub(crate) fn is_active(&self) -> bool {
        self.leaves_out() || self.is_limited()
    }

    /// Whether recording stops at some point.
    fn is_limited(&self) -> bool {
        self.span.is_some() || self.max_accesses.is_some() || self.max_time.is_some()
    }

    /// Whether accesses between others are left out, or before them.
    fn leaves_out(&self) -> bool {
        self.regions != Regions::Ignored
            || self.function.is_some()
            || self.after.is_some()
            || self.burst.is_some()
    }

    /// Whether what was recorded has to be counted.
    pub(crate) fn needs_counts(&self) -> bool {
        self.is_active()
    }

    /// What is recorded, for the head of reports; empty if all is.
    pub(crate) fn describe(&self) -> String {
        let mut parts = Vec::new();
        match &self.regions {
            Regions::Ignored => {}
            Regions::Any => parts.push("within the program's regions".to_owned()),
            Regions::Named(name) => parts.push(format!("within regions called '{name}'")),
        }
        if let Some(name) = &self.function {
            parts.push(format!("within calls of {name} and what they call"));
        }
        match self.after {
            Some(Span::Accesses(count)) => {
                parts.push(format!("after {} accesses", words::count(count)))
            }
            Some(Span::Time(time)) => parts.push(format!("after {time:?}")),
            None => {}
        }
        if let Some((on, off)) = self.burst {
            let (on, off) = (words::count(on), words::count(off));
            parts.push(format!(
                "in bursts of {on} accesses with {off} left out between them"
            ));
        }
        if parts.is_empty() {
            String::new()
        } else {
            format!("; recorded only {}", parts.join(", "))
        }
    }

    /// Writes down what is to be recorded, before the program starts.
    pub(crate) fn tell(&self, control: &Control, functions: &[FunctionPlace]) {
        let order = Ordering::Relaxed;
        control.active.store(u32::from(self.is_active()), order);
        if self.regions != Regions::Ignored {
            control.regions.store(1, order);
        }
        if let Regions::Named(name) = &self.regions {
            let name = &name.as_bytes()[..name.len().min(REGION_BYTES)];
            control.region_bytes.store(name.len() as u32, order);
            for (to, from) in control.region.iter().zip(name) {
                to.store(*from, order);
            }
        }
        for (to, from) in control.function.iter().zip(functions) {
            to.device.store(from.device, order);
            to.inode.store(from.inode, order);
            to.low.store(from.low, order);
            to.high.store(from.high, order);
        }
        let count = functions.len().min(control.function.len());
        control.functions.store(count as u32, order);
        match self.after {
            Some(Span::Accesses(count)) => control.after.store(count, order),
            Some(Span::Time(_)) => control.state.store(Recording::Waiting as u32, order),
            None => {}
        }
        if let Some((on, off)) = self.burst {
            control.on.store(on, order);
            control.off.store(off, order);
        }
    }
}

/// Why recording stopped before the program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    Span(Span),
    Accesses(u64),
    Time(Duration),
    /// The caller's own, in words.
    Other(String),
}

/// Keeps the limits.
pub(crate) struct Limiter {
    options: ControlOptions,
    started: Instant,
    /// When the first access was recorded, or might have been.
    opened: Option<Instant>,
    recorded: u64,
    reached: Option<Limit>,
}

impl Limiter {
    pub fn new(options: &ControlOptions) -> Self {
        Limiter {
            options: options.clone(),
            started: Instant::now(),
            opened: None,
            recorded: 0,
            reached: None,
        }
    }

    /// Whether recording has stopped.
    pub fn is_stopped(&self) -> bool {
        self.reached.is_some()
    }

    /// Whether the program is to be ended with the recording.
    pub fn ends_program(&self) -> bool {
        self.options.then_stop
    }

    /// Looks at the clock: opens the recording, or stops it.
    pub fn look(&mut self, control: &Control) {
        let waiting = control.state.load(Ordering::Relaxed) == Recording::Waiting as u32;
        if let Some(Span::Time(after)) = self.options.after
            && waiting
            && self.started.elapsed() >= after
        {
            control
                .state
                .store(Recording::Open as u32, Ordering::Relaxed);
            self.opened = Some(Instant::now());
        }
        if let Some(time) = self.options.max_time
            && self.started.elapsed() >= time
        {
            self.stop(Limit::Time(time), control);
        }
        if let Some(Span::Time(span)) = self.options.span
            && self.opened.is_some_and(|at| at.elapsed() >= span)
        {
            self.stop(Limit::Span(Span::Time(span)), control);
        }
    }

    /// Stops the recording, unless that has happened.
    pub fn stop(&mut self, limit: Limit, control: &Control) {
        if self.reached.is_none() {
            control
                .state
                .store(Recording::Stopped as u32, Ordering::SeqCst);
            self.reached = Some(limit);
        }
    }

    /// Cuts a block where the recording stops; whether anything of it is left.
    pub fn keep(&mut self, block: &mut Block, control: &Control) -> bool {
        if self.is_stopped() {
            return false;
        }
        let count = block
            .kinds()
            .iter()
            .filter(|kind| is_access(**kind))
            .count() as u64;
        if count > 0 && self.opened.is_none() {
            self.opened = Some(Instant::now());
        }
        if let Some((most, limit)) = self.most()
            && self.recorded + count >= most
        {
            cut(block, most - self.recorded);
            self.recorded = most;
            self.stop(limit, control);
            return !block.is_empty();
        }
        self.recorded += count;
        true
    }

    /// The most accesses that may be recorded, and whose limit that is.
    fn most(&self) -> Option<(u64, Limit)> {
        let span = match self.options.span {
            Some(Span::Accesses(count)) => Some((count, Limit::Span(Span::Accesses(count)))),
            _ => None,
        };
        let most = self.options.max_accesses;
        let most = most.map(|count| (count, Limit::Accesses(count)));
        [span, most]
            .into_iter()
            .flatten()
            .min_by_key(|(count, _)| *count)
    }

    /// What the reader of the report must know.
    pub fn notes(&self, control: &Control) -> Vec<Note> {
        let left_out = control.left_out.load(Ordering::Relaxed);
        let entered = control.entered.load(Ordering::Relaxed);
        let mut notes = Vec::new();
        if self.options.leaves_out() {
            notes.push(self.left_out(left_out));
        }
        if let Some(limit) = &self.reached {
            notes.push(self.stopped(limit));
        }
        let needs_entry =
            self.options.regions != Regions::Ignored || self.options.function.is_some();
        if needs_entry && entered == 0 {
            notes.push(self.never_entered());
        }
        notes
    }

    fn left_out(&self, left_out: u64) -> Note {
        let whole = self.recorded + left_out;
        let share = words::share(self.recorded, whole);
        let mut message = format!(
            "{} of {} accesses were recorded ({share}), {} left out; what was in use before counts as a first \
             touch where it is first seen",
            words::count(self.recorded),
            words::count(whole),
            words::count(left_out)
        );
        if self.reached.is_some() {
            message.push_str("; after the end of the recording nothing is counted");
        }
        if self.options.burst.is_some()
            || self.options.regions != Regions::Ignored
            || self.options.function.is_some()
        {
            message.push_str(
                ". A distance across a gap counts the items that were recorded in between: it is a lower bound",
            );
        }
        note("left-out", message, "")
    }

    fn stopped(&self, limit: &Limit) -> Note {
        let why = match limit {
            Limit::Span(Span::Accesses(count)) | Limit::Accesses(count) => {
                format!("after {} accesses", words::count(*count))
            }
            Limit::Span(Span::Time(time)) => format!("after {time:?} of recording"),
            Limit::Time(time) => format!("after the program had run for {time:?}"),
            Limit::Other(words) => words.clone(),
        };
        let option = match limit {
            Limit::Span(_) => "--for",
            Limit::Accesses(_) => "--max-accesses",
            Limit::Time(_) => "--max-time",
            Limit::Other(_) => "--max-size",
        };
        let then = if self.options.then_stop {
            "the program was ended"
        } else {
            "the program went on unrecorded"
        };
        note(
            "stopped",
            format!("recording stopped {why} ({option}); {then}"),
            "",
        )
    }

    fn never_entered(&self) -> Note {
        let (what, hint) = match (&self.options.function, &self.options.regions) {
            (Some(name), _) => (
                format!("{name} was never entered"),
                "a function that the compiler has put into its callers is not entered: build with -fno-inline, or \
                 name its caller"
                    .to_owned(),
            ),
            (None, Regions::Named(name)) => (
                format!("no region called '{name}' was entered"),
                "look how reuselens_region_begin is called, or take --regions for all".to_owned(),
            ),
            (None, _) => (
                "no region was entered".to_owned(),
                "mark regions with reuselens_region_begin and reuselens_region_end (reuselens.h)".to_owned(),
            ),
        };
        note(
            "never-entered",
            format!("{what}: nothing was recorded"),
            &hint,
        )
    }
}

fn note(code: &str, message: String, hint: &str) -> Note {
    Note {
        code: code.to_owned(),
        message,
        hint: hint.to_owned(),
    }
}

/// Whether rows of this kind are accesses.
fn is_access(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Load | Kind::Store | Kind::Atomic | Kind::RangeLoad | Kind::RangeStore | Kind::Named
    )
}

/// Keeps what comes before access number `most` and that many accesses with their operands.
fn cut(block: &mut Block, most: u64) {
    let mut seen = 0;
    let end = block.kinds().iter().position(|kind| {
        let beyond = seen >= most && *kind != Kind::Operand;
        seen += u64::from(is_access(*kind));
        beyond
    });
    block.truncate(end.unwrap_or(block.len()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use reuselens_trace::Row;

    fn block(kinds: &[Kind]) -> Block {
        let mut block = Block::new();
        for kind in kinds {
            block.push(Row {
                kind: *kind,
                size: 8,
                pc: 1,
                addr: 2,
            });
        }
        block
    }

    #[test]
    fn a_block_is_cut_behind_the_operands_of_the_last_access() {
        use Kind::{Alloc, Load, Operand, RangeLoad, Store};
        let kinds = [
            Alloc, Operand, Load, RangeLoad, Operand, Store, Alloc, Operand,
        ];
        for (most, length) in [(0, 0), (1, 3), (2, 5), (3, 6), (9, 8)] {
            let mut block = block(&kinds);
            cut(&mut block, most);
            assert_eq!(block.len(), length, "{most}");
        }
    }

    #[test]
    fn exactly_as_many_accesses_as_wanted_are_kept() {
        let control = Control::new();
        let options = ControlOptions {
            max_accesses: Some(5),
            ..ControlOptions::default()
        };
        let mut limiter = Limiter::new(&options);
        let mut kept = 0;
        for _ in 0..4 {
            let mut block = block(&[Kind::Load, Kind::Store]);
            if limiter.keep(&mut block, &control) {
                kept += block.len();
            }
        }
        assert_eq!(kept, 5);
        assert!(limiter.is_stopped() && control.is_stopped());
        assert_eq!(limiter.notes(&control)[0].code, "stopped");
    }

    #[test]
    fn what_is_recorded_is_said() {
        let options = ControlOptions {
            regions: Regions::Named("solve".into()),
            after: Some(Span::Accesses(1_000_000)),
            burst: Some((1000, 9000)),
            ..ControlOptions::default()
        };
        assert_eq!(
            options.describe(),
            "; recorded only within regions called 'solve', after 1,000,000 accesses, in bursts of 1,000 accesses \
             with 9,000 left out between them"
        );
        assert_eq!(ControlOptions::default().describe(), "");
    }
}
