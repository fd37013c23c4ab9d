//! [`Limiter`]: stops a recording at limits of accesses and of time, which only the reading side
//! can check, and makes the remarks for the report about what was recorded and left out. `running`
//! asks it for each block and each time that it waits.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use reuselens_trace::{Block, Kind, Note, Sampling};
use reuselens_units::{grouped, percent};
use reuselens_wire::{Control, Recording, Stratum};

use crate::control::{ControlOptions, Regions, Span};

/// Why recording stopped before the program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    Span(Span),
    Accesses(u64),
    Time(Duration),
    /// The caller's own, in words.
    Other(String),
}

/// The limits of a recording, and how far it has come.
pub(crate) struct Limiter {
    options: ControlOptions,
    started: Instant,
    /// When the first access was recorded, or the recording was opened by the clock.
    opened: Option<Instant>,
    /// Accesses recorded so far.
    recorded: u64,
    /// The first access of the last burst.
    burst: u64,
    /// The limit that has stopped the recording.
    reached: Option<Limit>,
}

impl Limiter {
    pub fn new(options: &ControlOptions) -> Self {
        Limiter {
            options: options.clone(),
            started: Instant::now(),
            opened: None,
            recorded: 0,
            burst: 0,
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

    /// Opens or stops the recording if it is time for that.
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

    /// Stops the recording because of `limit`, unless it has stopped before.
    pub fn stop(&mut self, limit: Limit, control: &Control) {
        if self.reached.is_none() {
            control
                .state
                .store(Recording::Stopped as u32, Ordering::SeqCst);
            self.reached = Some(limit);
        }
    }

    /// Counts the accesses of a block, and cuts it if a limit is reached in it. Returns whether
    /// anything of it is left.
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

    /// The most accesses that may be recorded, and which limit that is.
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

    /// The remarks for the report. `counts`: whether the counts that programs have made in the
    /// control can be trusted.
    pub fn remarks(&self, control: &Control, counts: bool) -> Vec<Note> {
        let left_out = control.left_out.load(Ordering::Relaxed);
        let entered = control.entered.load(Ordering::Relaxed);
        let mut remarks = Vec::new();
        if self.options.strata.is_some() {
            remarks.extend(self.between_bursts(control).filter(|_| counts));
        } else if self.options.leaves_out() && counts {
            remarks.push(self.left_out(left_out));
        }
        if let Some(limit) = &self.reached {
            remarks.push(self.stopped(limit));
        }
        let needs_entry =
            self.options.regions != Regions::Ignored || self.options.function.is_some();
        if needs_entry && entered == 0 && counts {
            remarks.push(self.never_entered());
        } else if let Some(after) = &self.options.after
            && self.recorded == 0
            && counts
        {
            remarks.push(never_began(after));
        }
        remarks
    }

    /// What part of the run was recorded, if bursts of it were.
    pub fn sampled(&self, control: &Control) -> Option<Sampling> {
        self.options.strata?;
        let (recorded, accesses) = self.lengths(control);
        Some(Sampling::Ended { recorded, accesses })
    }

    /// The accesses that were recorded in bursts, and those that were made until the run or its
    /// recording ended.
    fn lengths(&self, control: &Control) -> (u64, u64) {
        let recorded = self.recorded;
        let left_out = control.left_out.load(Ordering::Relaxed);
        let accesses = recorded.saturating_add(left_out);
        if self.reached.is_none() {
            return (recorded, accesses);
        }
        // The program goes on, and is ahead of what is read: up to the end of the last stratum.
        let position = control.position.load(Ordering::Relaxed);
        let last = Stratum::of(self.burst).map_or(recorded, |stratum| stratum.end());
        (recorded, accesses.min(position).min(last).max(recorded))
    }

    /// Takes note of a burst, before the recording has stopped.
    pub fn sampling(&mut self, sampling: Sampling) {
        if self.is_stopped() {
            return;
        }
        if let Sampling::Filling { first } | Sampling::Measured { first, .. } = sampling {
            self.burst = first;
        }
    }

    /// Nothing if all accesses were recorded.
    fn between_bursts(&self, control: &Control) -> Option<Note> {
        let (recorded, accesses) = self.lengths(control);
        let until = match self.reached {
            Some(_) => " up to the end of the recording",
            None => "",
        };
        let message = format!(
            "{} of {} accesses{until} were recorded ({}): the first {}, and then in bursts; all counts are estimates \
             for all of them",
            grouped(recorded),
            grouped(accesses),
            percent(recorded, accesses),
            grouped(Stratum::BEGINNING)
        );
        (accesses > recorded).then(|| remark("left-out", message, ""))
    }

    fn left_out(&self, left_out: u64) -> Note {
        let total = self.recorded.saturating_add(left_out);
        let share = percent(self.recorded, total);
        let mut message = format!(
            "{} of {} accesses were recorded ({share}), {} left out; what was in use before counts as a first \
             touch where it is first seen",
            grouped(self.recorded),
            grouped(total),
            grouped(left_out)
        );
        if self.reached.is_some() {
            message.push_str("; after the end of the recording nothing is counted");
        }
        let has_gaps = self.options.burst.is_some()
            || self.options.regions != Regions::Ignored
            || self.options.function.is_some();
        if has_gaps && left_out > 0 {
            message.push_str(
                ". A distance across a gap counts the items that were recorded in between: it is a lower bound",
            );
        }
        remark("left-out", message, "")
    }

    fn stopped(&self, limit: &Limit) -> Note {
        let why = match limit {
            Limit::Span(Span::Accesses(count)) | Limit::Accesses(count) => {
                format!("after {} accesses", grouped(*count))
            }
            Limit::Span(Span::Time(time)) => format!("after {time:?} of recording"),
            Limit::Time(time) => format!("after the program had run for {time:?}"),
            Limit::Other(words) => words.clone(),
        };
        let option = match limit {
            Limit::Span(_) => " (--for)",
            Limit::Accesses(_) => " (--max-accesses)",
            Limit::Time(_) => " (--max-time)",
            Limit::Other(_) => "",
        };
        let then = if self.options.then_stop {
            "the program was ended"
        } else {
            "the program went on unrecorded"
        };
        remark(
            "stopped",
            format!("recording stopped {why}{option}; {then}"),
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
        remark(
            "never-entered",
            format!("{what}: nothing was recorded"),
            &hint,
        )
    }
}

/// The program ended before the recording was to begin.
fn never_began(after: &Span) -> Note {
    let after = match after {
        Span::Accesses(count) => format!("it had made {} accesses", grouped(*count)),
        Span::Time(time) => format!("it had run for {time:?}"),
    };
    remark(
        "never-entered",
        format!("the program ended before {after}: nothing was recorded"),
        "take a smaller --after",
    )
}

fn remark(code: &str, message: String, hint: &str) -> Note {
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

/// Truncates a block after its first `most` accesses with their operands; rows before them stay.
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
    fn cut_block_keeps_operands_of_its_last_access() {
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
    fn of_a_stopped_run_what_came_before_is_told() {
        let control = Control::new();
        let options = ControlOptions {
            max_accesses: Some(2),
            strata: Some(1),
            ..ControlOptions::default()
        };
        let mut limiter = Limiter::new(&options);
        let first = 9 << 18;
        limiter.sampling(Sampling::Filling { first });
        let mut block = block(&[Kind::Load, Kind::Store, Kind::Load]);
        assert!(limiter.keep(&mut block, &control));
        // The program is ahead.
        limiter.sampling(Sampling::Filling { first: 99 << 18 });
        control.position.store(1 << 30, Ordering::Relaxed);
        control.left_out.store(1 << 30, Ordering::Relaxed);
        let (recorded, accesses) = (2, 10 << 18);
        let expected = Sampling::Ended { recorded, accesses };
        assert_eq!(limiter.sampled(&control), Some(expected));
        let remark = &limiter.remarks(&control, true)[0].message;
        assert!(remark.contains("2 of 2,621,440 accesses up to the end of the recording"));
    }

    #[test]
    fn limit_keeps_exact_number_of_accesses() {
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
        assert_eq!(limiter.remarks(&control, true)[0].code, "stopped");
    }
}
