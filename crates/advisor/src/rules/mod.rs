//! The rules: why a program misses, and what to change. One file for each, with its `RULE`, its
//! thresholds and a function `find`.

mod array_of_structures;
mod blocking;
mod false_sharing;
mod fits_no_cache;
mod fusion;
mod huge_pages;
mod loop_order;
mod mixed_fields;
mod pointer_chasing;
mod route_group;
mod set_conflicts;
mod short_lived_allocations;
mod streaming;

pub(crate) use mixed_fields::most_saved;

use reuselens_advice::{Cost, Finding, FindingRule};
use reuselens_profile::Profile;

use crate::facts::{MissFacts, ReuseRoute, SinkSums, regularity};
use crate::need::Need::{
    self, Addresses, Blocks, Breakdown, CacheLines, Causes, Elements, Exact, Loops, Machine, Pages,
    Sets,
};

/// A rule with what it needs and what applies it.
pub(crate) struct MissRule {
    /// The description.
    pub rule: &'static FindingRule,
    /// What a profile must have, the most basic first.
    pub needs: &'static [Need],
    /// Where the rule applies, in a profile that has all of that.
    pub find: fn(&MissFacts<'_>) -> Vec<Finding>,
}

impl MissRule {
    /// The first of its needs that the profile does not meet; `None` if the rule can be applied.
    pub fn lacks(&self, profile: &Profile) -> Option<Need> {
        let mut needs = self.needs.iter().copied();
        needs.find(|need| !need.is_met(profile))
    }
}

/// What all rules need that ask why accesses miss.
pub(crate) const CAUSES: [Need; 5] = [Addresses, Exact, Breakdown, CacheLines, Causes];

/// [`CAUSES`] and more.
macro_rules! with_causes {
    ($($need:expr),*) => { &[Addresses, Exact, Breakdown, CacheLines, Causes, $($need),*] };
}

/// All rules, by name.
pub(crate) static ALL: [MissRule; 12] = [
    rule(
        &array_of_structures::RULE,
        with_causes![Elements],
        array_of_structures::find,
    ),
    rule(&blocking::RULE, with_causes![Loops], blocking::find),
    rule(&false_sharing::RULE, with_causes![], false_sharing::find),
    rule(
        &fits_no_cache::RULE,
        &[Addresses, Exact, Breakdown, CacheLines, Machine],
        fits_no_cache::find,
    ),
    rule(&fusion::RULE, with_causes![Loops], fusion::find),
    rule(
        &huge_pages::RULE,
        &[Addresses, Exact, Breakdown, Pages],
        huge_pages::find,
    ),
    rule(
        &loop_order::RULE,
        with_causes![Loops, Elements],
        loop_order::find,
    ),
    rule(
        &mixed_fields::RULE,
        with_causes![Elements],
        mixed_fields::find,
    ),
    rule(
        &pointer_chasing::RULE,
        with_causes![],
        pointer_chasing::find,
    ),
    rule(
        &set_conflicts::RULE,
        with_causes![Sets],
        set_conflicts::find,
    ),
    rule(
        &short_lived_allocations::RULE,
        &[Addresses, Exact, Breakdown, Machine, Blocks],
        short_lived_allocations::find,
    ),
    rule(&streaming::RULE, with_causes![], streaming::find),
];

const fn rule(
    rule: &'static FindingRule,
    needs: &'static [Need],
    find: fn(&MissFacts<'_>) -> Vec<Finding>,
) -> MissRule {
    MissRule { rule, needs, find }
}

/// The rules of this crate, by name.
pub fn rules() -> impl Iterator<Item = &'static FindingRule> {
    ALL.iter().map(|each| each.rule)
}

/// The fewest misses that a finding is about: 256 KiB of lines of 64 bytes. What every program does
/// before `main` (loading, relocating) is below that, and so is what a change would not be worth.
pub(crate) const LEAST_MISSES: u64 = 4096;
/// The least share of all misses that a finding is about. Smaller ones are lost in what a change
/// does elsewhere.
const LEAST_OF_RUN: f64 = 0.03;
/// The share of all misses that is worth a finding, also where it is a smaller part of its object's
/// misses than a rule asks for.
const WORTH_OF_RUN: f64 = 0.05;
/// The least share of the accesses of a place that miss. Loops that work in tiles stay below: a
/// tile of 32 × 32 numbers of 8 bytes is used 32 times, so 1 of 256 accesses misses.
const LEAST_MISS_RATIO: f64 = 0.02;
/// The least share of the distances that must be alike to be those of a loop over an array; see
/// [`regularity`](crate::facts::regularity). Of accesses to random elements 16 % are.
const LEAST_REGULARITY: f64 = 0.5;

/// How many times the lines of the cache the mean distance must be for another arrangement of
/// loops to be worth it. Nearer reuses are those of loops in tiles, or of data that nearly fit:
/// another size of tiles or another policy of the cache decides there.
const LEAST_BEYOND: f64 = 1.5;

/// What could be saved: `amount` misses. `None` if that is too little to be looked at.
fn cost(facts: &MissFacts<'_>, amount: u64) -> Option<Cost> {
    cost_of(amount, facts.misses, "misses")
}

/// Whether so large a part of all misses could be saved that a rule may apply where less of the
/// object's own misses is saved than it asks for.
fn is_much_of_run(facts: &MissFacts<'_>, amount: u64) -> bool {
    amount as f64 >= WORTH_OF_RUN * facts.misses as f64
}

/// What could be saved: `amount` of `all`. `None` if that is too little to be looked at.
fn cost_of(amount: u64, all: u64, unit: &'static str) -> Option<Cost> {
    let share = amount as f64 / all.max(1) as f64;
    (amount >= LEAST_MISSES && share >= LEAST_OF_RUN).then_some(Cost {
        amount,
        unit: unit.into(),
        share: share.min(1.0),
    })
}

/// A part of a count.
fn part(count: u64, share: f64) -> u64 {
    (count as f64 * share.clamp(0.0, 1.0)) as u64
}

/// Whether enough of a place's accesses miss.
fn misses_often(misses: u64, accesses: u64) -> bool {
    misses as f64 >= LEAST_MISS_RATIO * accesses as f64
}

/// Whether enough accesses of a route's sinks miss, at the distances of a loop over an array.
fn loops_often(facts: &MissFacts<'_>, route: &ReuseRoute<'_>, sums: &SinkSums) -> bool {
    misses_often(route.misses, sums.accesses)
        && regularity(&sums.histogram, facts.items) >= LEAST_REGULARITY
}

/// Whether a route's reuses are clearly beyond the cache.
fn is_far_beyond(facts: &MissFacts<'_>, route: &ReuseRoute<'_>) -> bool {
    route.mean_distance() as f64 >= LEAST_BEYOND * facts.items as f64
}

/// Names in a row, at most `most` of them: `a, b and 3 more`.
fn list(names: &[&str], most: usize) -> String {
    match names {
        [] => "none".to_owned(),
        [one] => (*one).to_owned(),
        names if names.len() <= most => {
            let (first, last) = names.split_at(names.len() - 1);
            format!("{} and {}", first.join(", "), last[0])
        }
        names => {
            let more = names.len() - most;
            format!("{} and {more} more", names[..most].join(", "))
        }
    }
}
