//! [`MissAdvice`]: what the rules found, and what they could not look at.

use reuselens_advice::{Finding, ranked};
use reuselens_locality::Profile;
use reuselens_units::Bytes;

use crate::facts::MissFacts;
use crate::need::{Need, Unknown};
use crate::rules::{ALL, MissRule};

/// What the rules found in a profile.
#[derive(Clone, Debug, PartialEq)]
pub struct MissAdvice {
    /// The cache whose misses the costs count: that of
    /// [`Causes::cache`](reuselens_locality::Causes::cache), or the machine's last one where the
    /// profile has no causes. Fully associative.
    pub cache: Bytes,
    /// Its name on the machine of the profile: `L1d`. `None` if no cache has this size.
    pub cache_name: Option<String>,
    /// All misses in that cache, first touches included.
    pub misses: u64,
    /// The findings, the highest share of the misses first.
    pub findings: Vec<Finding>,
    /// What the profile lacks, and how to record it. Each keeps some rules from being applied.
    pub unknown: Vec<Unknown>,
}

impl MissAdvice {
    /// Whether any rule was applied: without one, no finding means nothing.
    pub fn is_applied(&self) -> bool {
        let left_out = self.unknown.iter().map(|unknown| unknown.rules.len());
        left_out.sum::<usize>() < ALL.len()
    }

    /// What the profile lacks without which most rules have nothing to look at.
    pub fn lacks(&self) -> Option<&Unknown> {
        self.unknown.iter().find(|unknown| unknown.is_essential)
    }
}

/// Applies all rules that the profile has the data for. Cost: linear in the cells and their bins.
pub fn advise(profile: &Profile) -> MissAdvice {
    let facts = MissFacts::new(profile);
    let mut findings = Vec::new();
    let mut lacks: Vec<(Need, Vec<&'static str>)> = Vec::new();
    for rule in &ALL {
        match rule.needs.iter().find(|need| !need.is_met(profile)) {
            None => findings.extend((rule.find)(&facts)),
            Some(need) => match lacks.iter_mut().find(|(known, _)| known == need) {
                Some((_, names)) => names.push(rule.rule.name),
                None => lacks.push((*need, vec![rule.rule.name])),
            },
        }
    }
    if !facts.knows_elements() {
        let is_partly_applied = |rule: &&MissRule| {
            let mut needs = rule.needs.iter();
            rule.needs.contains(&Need::Elements) && needs.all(|need| need.is_met(profile))
        };
        let rules = ALL.iter().filter(is_partly_applied);
        let names: Vec<&str> = rules.map(|it| it.rule.name).collect();
        if !names.is_empty() {
            lacks.push((Need::Elements, names));
        }
    }
    if !Need::Lines.is_met(profile) {
        lacks.push((Need::Lines, Vec::new()));
    }
    lacks.sort_by_key(|(need, _)| *need);
    let unknown = lacks.into_iter();
    MissAdvice {
        cache: facts.cache,
        cache_name: facts.cache_name(),
        misses: facts.misses,
        findings: ranked(findings),
        unknown: unknown
            .map(|(need, rules)| need.unknown(profile, rules))
            .collect(),
    }
}
