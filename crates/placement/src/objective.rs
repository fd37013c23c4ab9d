//! What an object is worth in a tier.

use std::fmt;
use std::str::FromStr;

use crate::candidate::Candidate;
use crate::machine::{MemoryMachine, MemoryTier};

/// What a placement makes large.
///
/// All objectives have one form: an object has a weight, a tier has a gain, and the object is worth
/// their product there. That form is what makes the bound of [`optimum`](crate::optimum) tight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// Accesses, as published: a byte is worth the accesses to it, whoever serves them.
    F,
    /// Accesses that the caches in front do not serve, by reuse distance.
    Misses,
    /// The time that the program waits for memory: the accesses that the caches do not serve, each
    /// as long as its latency divided by the accesses that wait at the same time, or as long as the
    /// bandwidth needs for a cache line, whichever is longer. A miss of the TLB moves nothing. A
    /// model, not a measurement.
    Time,
}

/// All objectives, in the order of the help text.
const ALL: [Objective; 3] = [Objective::F, Objective::Misses, Objective::Time];

impl Objective {
    /// What the object counts with: accesses or misses.
    pub fn weight(self, candidate: &Candidate) -> f64 {
        match self {
            Objective::F => candidate.accesses as f64,
            Objective::Misses | Objective::Time => candidate.misses as f64,
        }
    }

    /// What one access gains in `tier` over the slowest tier: the share of the latency that it
    /// saves, or of the transfer time, whichever is more (from 0 to 1); for [`Objective::Time`] the
    /// machine's unit of latency. `line` is the bytes that a miss fetches.
    pub fn gain(self, machine: &MemoryMachine, tier: &MemoryTier, line: u64) -> f64 {
        let slowest = machine.slowest();
        match self {
            Objective::F | Objective::Misses => {
                let latency = tier.latency / slowest.latency;
                1.0 - latency.min(slowest.bandwidth / tier.bandwidth)
            }
            Objective::Time => {
                access_time(machine, slowest, line) - access_time(machine, tier, line)
            }
        }
    }

    /// The nanoseconds that a unit of this objective stands for, if the machine's latencies are in
    /// ns: one, or for accesses the latency that one saves at most.
    pub fn nanoseconds(self, machine: &MemoryMachine) -> f64 {
        match self {
            Objective::F | Objective::Misses => {
                machine.slowest().latency / machine.parallelism_of(1)
            }
            Objective::Time => 1.0,
        }
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Objective::F => "f",
            Objective::Misses => "misses",
            Objective::Time => "time",
        }
    }
}

/// How long a miss keeps the program waiting in `tier`, in the machine's unit of latency (ns where
/// bandwidths are to mean anything).
fn access_time(machine: &MemoryMachine, tier: &MemoryTier, line: u64) -> f64 {
    (tier.latency / machine.parallelism_of(1)).max(transfer_time(machine, tier, line))
}

/// How long the bandwidth of `tier` needs for what a miss moves, in ns.
fn transfer_time(machine: &MemoryMachine, tier: &MemoryTier, line: u64) -> f64 {
    match machine.granularity {
        // A miss of the TLB: the page stays where it is.
        Some(_) => 0.0,
        // MB/s are bytes per µs, so a line takes `line / bandwidth` µs.
        None => line as f64 / tier.bandwidth * 1000.0,
    }
}

/// The least number of misses that must wait at the same time so that a tier gains time over the
/// slowest, and the tier; `None` if none ever does.
pub(crate) fn least_parallelism<'a>(
    machine: &'a MemoryMachine,
    line: u64,
) -> Option<(f64, &'a MemoryTier)> {
    let slowest = machine.slowest();
    let limit = transfer_time(machine, slowest, line);
    let gains = |tier: &&MemoryTier| transfer_time(machine, tier, line) < limit;
    let least = |tier: &'a MemoryTier| ((tier.latency / limit).floor() + 1.0, tier);
    let tiers = machine.tiers.iter().filter(gains).map(least);
    tiers.min_by(|one, other| one.0.total_cmp(&other.0))
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Objective {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = ALL.into_iter().find(|objective| objective.name() == text);
        found.ok_or_else(|| format!("'{text}' is no objective; take f, misses or time"))
    }
}
