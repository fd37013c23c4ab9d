//! [`ControlOptions`]: which accesses of a program the user wants recorded, and until when. They
//! are written into the segment ([`Control`]) before the program starts; limits that only the
//! reading side can check are in `limiter`.

use std::sync::atomic::Ordering;
use std::time::Duration;

use reuselens_units::grouped;
use reuselens_wire::{Control, REGION_BYTES, Recording};

use crate::functions::FunctionPlace;

/// An amount of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// A number of accesses, over all threads.
    Accesses(u64),
    /// Wall-clock time.
    Time(Duration),
}

/// Which of the regions that a program marks are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Regions {
    /// Regions do not matter: everything is recorded.
    #[default]
    Ignored,
    /// Only what is done within a region is recorded.
    Any,
    /// Only what is done within a region of this name is recorded.
    Named(String),
}

/// Which accesses are recorded; by default, all. An access must fulfil all conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlOptions {
    /// The wanted regions.
    pub regions: Regions,
    /// Only from the entry to the return of functions of this name, on the thread that calls them.
    pub function: Option<String>,
    /// Skip this much of what would be recorded.
    pub after: Option<Span>,
    /// Stop after this much was recorded.
    pub span: Option<Span>,
    /// Stop when this many accesses were recorded.
    pub max_accesses: Option<u64>,
    /// Stop when the program has run for this time.
    pub max_time: Option<Duration>,
    /// Record this many accesses, leave that many out, and so on.
    pub burst: Option<(u64, u64)>,
    /// Record all of a run's beginning, and then a burst of each stratum, at places that come from
    /// this number; `after` and `burst` do not go with it.
    pub strata: Option<u64>,
    /// End the program when the recording stops; otherwise it goes on unrecorded.
    pub then_stop: bool,
}

impl ControlOptions {
    /// Whether threads have to check the control at all.
    fn is_active(&self) -> bool {
        self.leaves_out() || self.is_limited()
    }

    /// Whether recording stops at some point.
    fn is_limited(&self) -> bool {
        self.span.is_some() || self.max_accesses.is_some() || self.max_time.is_some()
    }

    /// Whether accesses before or between recorded ones are left out.
    pub fn leaves_out(&self) -> bool {
        self.regions != Regions::Ignored
            || self.function.is_some()
            || self.after.is_some()
            || self.burst.is_some()
            || self.strata.is_some()
    }

    /// Whether what was recorded has to be counted.
    pub(crate) fn needs_counts(&self) -> bool {
        self.is_active()
    }

    /// A text for the head of reports about what is recorded; empty if everything is. Of bursts of
    /// strata a note says how much it was: `limiter`.
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
            Some(Span::Accesses(count)) => parts.push(format!("after {} accesses", grouped(count))),
            Some(Span::Time(time)) => parts.push(format!("after {time:?}")),
            None => {}
        }
        if let Some((on, off)) = self.burst {
            let (on, off) = (grouped(on), grouped(off));
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

    /// Writes what is to be recorded into the segment, before the program starts. `functions` are
    /// the wanted functions.
    pub(crate) fn write_to(&self, control: &Control, functions: &[FunctionPlace]) {
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
        if let Some(seed) = self.strata {
            control.strata.store(1, order);
            control.seed.store(seed, order);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn description_names_what_is_recorded() {
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
