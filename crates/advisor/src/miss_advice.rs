//! [`MissAdvice`]: what the rules found, and what they could not look at.

use std::collections::BTreeMap;

use reuselens_advice::{Finding, ranked};
use reuselens_profile::Profile;
use reuselens_units::Bytes;

use crate::facts::{MissFacts, cache_words};
use crate::hottest::unexplained;
use crate::need::{Need, Unknown};
use crate::rules::{ALL, CAUSES};

/// What the rules found in a profile.
#[derive(Clone, Debug, PartialEq)]
pub struct MissAdvice {
    /// The cache whose misses the costs count: that of
    /// [`Causes::cache`](reuselens_profile::Causes::cache), or the machine's last one where the
    /// profile has no causes. Fully associative.
    pub cache: Bytes,
    /// Its name on the machine of the profile: `L1d`. `None` if no cache has this size.
    pub cache_name: Option<String>,
    /// All misses in that cache, first touches included.
    pub misses: u64,
    /// The findings, the highest share of the misses first.
    pub findings: Vec<Finding>,
    /// Why no rule applies to the data with the most misses, as a sentence, if that is so.
    pub unexplained: Option<String>,
    /// What the profile lacks, and how to record it. Some keep rules from being applied, or
    /// from being applied to all data.
    pub unknown: Vec<Unknown>,
}

impl MissAdvice {
    /// The cache as people read it: `L1d (32 KiB)`; without a name, `a cache of 48 KiB`.
    pub fn cache_words(&self) -> String {
        cache_words(self.cache_name.as_deref(), self.cache)
    }

    /// Whether any rule was applied: without one, no finding means nothing.
    pub fn is_applied(&self) -> bool {
        let left_out = self.unknown.iter().map(|unknown| unknown.rules.len());
        left_out.sum::<usize>() < ALL.len()
    }

    /// What the profile lacks to look at the most misses, and how many these are.
    pub fn unlooked(&self) -> Option<(&Unknown, u64)> {
        let unknown = self.unknown.iter();
        let counted = unknown.filter_map(|unknown| Some((unknown, unknown.misses?)));
        // Of equal ones the first.
        counted.rev().max_by_key(|(_, misses)| *misses)
    }

    /// What the profile lacks without which most rules have nothing to look at.
    pub fn lacks(&self) -> Option<&Unknown> {
        self.unknown.iter().find(|unknown| unknown.is_essential)
    }
}

/// Applies all rules that the profile has the data for. Cost: linear in the cells and their bins.
pub fn advise(profile: &Profile) -> MissAdvice {
    let facts = MissFacts::new(profile);
    let applied = ALL.iter().filter(|rule| rule.lacks(profile).is_none());
    let findings = ranked(applied.flat_map(|rule| (rule.find)(&facts)).collect());
    let has_causes = CAUSES.iter().all(|need| need.is_met(profile));
    let unexplained = has_causes.then(|| unexplained(&facts, &findings)).flatten();
    MissAdvice {
        cache: facts.cache,
        cache_name: facts.cache_name(),
        misses: facts.misses,
        findings,
        unexplained,
        unknown: unknown(profile, &facts),
    }
}

/// What the profile lacks, in the order of [`Need`].
fn unknown(profile: &Profile, facts: &MissFacts<'_>) -> Vec<Unknown> {
    let mut found: BTreeMap<Need, Unknown> = BTreeMap::new();
    for rule in &ALL {
        let wants_elements = rule.needs.contains(&Need::Elements) && !facts.knows_elements();
        let (need, is_applied) = match rule.lacks(profile) {
            Some(need) => (need, false),
            None if wants_elements => (Need::Elements, true),
            None => continue,
        };
        let entry = found.entry(need);
        let unknown = entry.or_insert_with(|| need.unknown(profile));
        unknown.misses = match need {
            Need::Elements => Some(facts.misses_without_elements().0),
            // First touches are carried by nothing.
            Need::Loops => Some(facts.misses.saturating_sub(profile.first_touches())),
            _ => None,
        }
        .filter(|misses| *misses > 0);
        if is_applied {
            unknown.partial_rules.push(rule.rule.name)
        } else {
            unknown.rules.push(rule.rule.name)
        }
    }
    if !Need::Lines.is_met(profile) {
        found.insert(Need::Lines, Need::Lines.unknown(profile));
    }
    found.into_values().collect()
}
