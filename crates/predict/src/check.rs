//! Whether predicted patterns are right ([`is_right`]), and how many accesses of a run have right
//! predictions ([`GroupCheck`]).

use std::collections::BTreeMap;

use reuselens_locality::Pattern;
use serde::{Deserialize, Serialize};

use crate::group::{GroupForecast, Groups, PatternPrediction};
use crate::merging::Merging;

/// The part that two patterns must share.
const ENOUGH: f64 = 0.9;

/// Whether a predicted pattern is right: it reaches over the same bins as the observed one, or the
/// two overlap by nine tenths of the wider one. Two patterns of no width are right if they are
/// equal.
///
/// Source: Fang et al. 2006, section 3.3.
pub fn is_right(predicted: &Pattern, observed: &Pattern) -> bool {
    predicted.bins() == observed.bins() || overlap(predicted, observed) >= ENOUGH
}

/// The part of the wider of two patterns that both have: 1 if they are equal, 0 if they do not
/// overlap.
pub fn overlap(a: &Pattern, b: &Pattern) -> f64 {
    let (a, b) = if a.max <= b.max { (a, b) } else { (b, a) };
    let wider = (b.max - b.min).max(a.max - a.min);
    if wider == 0 {
        return f64::from(u8::from(a.min == b.min));
    }
    if b.min >= a.max {
        return 0.0;
    }
    (a.max - a.min.max(b.min)) as f64 / wider as f64
}

/// Whether a prediction of all patterns is right: there are as many as observed, and each is right.
pub fn are_right(predicted: &[Pattern], observed: &[Pattern]) -> bool {
    let mut pairs = predicted.iter().zip(observed);
    predicted.len() == observed.len()
        && pairs.all(|(predicted, observed)| is_right(predicted, observed))
}

/// Whether there are as many patterns as observed, each with a mean distance within a tenth of the
/// observed one; half an item is rounding.
pub fn are_near(predicted: &[Pattern], observed: &[Pattern]) -> bool {
    let mut pairs = predicted.iter().zip(observed);
    let near = |(a, b): (&Pattern, &Pattern)| (a.mean - b.mean).abs() <= (b.mean / 10.0).max(0.5);
    predicted.len() == observed.len() && pairs.all(near)
}

/// A group whose patterns were predicted, and not rightly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WrongGroup {
    /// Its name.
    pub name: String,
    /// Its accesses in the observed run.
    pub accesses: u64,
    /// What was predicted.
    pub predicted: Vec<Pattern>,
    /// What was observed.
    pub observed: Vec<Pattern>,
}

impl WrongGroup {
    /// The first pattern that is wrong, counted from 0; none if there are more or fewer than
    /// predicted.
    pub fn first(&self) -> Option<usize> {
        let mut pairs = self.predicted.iter().zip(&self.observed);
        (self.predicted.len() == self.observed.len())
            .then(|| pairs.position(|(predicted, observed)| !is_right(predicted, observed)))?
    }
}

/// The groups that were predicted wrongly, those with most accesses first.
pub fn wrong<'a>(
    forecasts: impl IntoIterator<Item = &'a GroupForecast>,
    observed: &Groups,
    merging: Merging,
) -> Vec<WrongGroup> {
    let of = |forecast: &GroupForecast| {
        let run = observed.get(&forecast.name)?;
        let expected = forecast.patterns.as_ref().ok()?;
        let predicted: Vec<Pattern> = expected.iter().map(PatternPrediction::pattern).collect();
        let observed = merging.patterns(&run.bins);
        let wrong = !observed.is_empty() && !are_right(&predicted, &observed);
        wrong.then(|| WrongGroup {
            name: forecast.name.clone(),
            accesses: run.accesses,
            predicted,
            observed,
        })
    };
    let mut all: Vec<WrongGroup> = forecasts.into_iter().filter_map(of).collect();
    all.sort_by(|a, b| {
        b.accesses
            .cmp(&a.accesses)
            .then_with(|| a.name.cmp(&b.name))
    });
    all
}

/// What was observed of a group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupSeen {
    /// Its accesses.
    pub accesses: u64,
    /// Its misses in each of the caches of the prediction, fully associative.
    pub misses: Vec<f64>,
}

impl GroupSeen {
    /// Adds another group.
    pub fn add(&mut self, other: &GroupSeen) {
        self.accesses = self.accesses.saturating_add(other.accesses);
        self.misses
            .resize(self.misses.len().max(other.misses.len()), 0.0);
        for (sum, misses) in self.misses.iter_mut().zip(&other.misses) {
            *sum += misses;
        }
    }

    /// Whether this is at most `share` of the accesses of all, and of the misses in each cache.
    pub fn is_below(&self, share: f64, all: &GroupSeen) -> bool {
        let mut misses = self.misses.iter().zip(&all.misses);
        self.accesses as f64 <= share * all.accesses as f64
            && misses.all(|(part, all)| *part <= share * all)
    }
}

/// How good a prediction of groups was. Counts are of accesses of the observed run.
///
/// Source: Fang et al. 2006, section 3.3 (there of dynamic paths).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupCheck {
    /// Accesses of groups with reuses.
    pub accesses: u64,
    /// Of those that could be predicted.
    pub covered: u64,
    /// Of those whose patterns were all right.
    pub correct: u64,
    /// Of the covered ones, those with as many patterns as predicted, all of whose mean distances
    /// are within a tenth of the predicted ones. This measure is ours: whether a pattern is right
    /// depends on its ends, but its misses depend on where most of it is.
    pub near: u64,
    /// Of the covered ones, those that were predicted from the larger ones of the training runs.
    pub fewer: u64,
    /// Means of observed patterns, and those of them that are in their interval; of groups that
    /// were predicted from all training runs.
    pub intervals: (u64, u64),
}

impl GroupCheck {
    /// Covered accesses of all.
    pub fn coverage(&self) -> f64 {
        ratio(self.covered, self.accesses)
    }

    /// Correct accesses of the covered ones.
    pub fn accuracy(&self) -> f64 {
        ratio(self.correct, self.covered)
    }

    /// Accesses whose mean distances are near, of the covered ones.
    pub fn nearness(&self) -> f64 {
        ratio(self.near, self.covered)
    }

    /// Compares forecasts, which were made from `runs` training runs, with what was observed.
    pub fn of<'a>(
        forecasts: impl IntoIterator<Item = &'a GroupForecast>,
        observed: &Groups,
        merging: Merging,
        training: usize,
    ) -> Self {
        let by_name: BTreeMap<&str, &GroupForecast> = forecasts
            .into_iter()
            .map(|forecast| (forecast.name.as_str(), forecast))
            .collect();
        let mut check = GroupCheck::default();
        for (name, run) in observed {
            let seen = merging.patterns(&run.bins);
            if seen.is_empty() {
                continue; // Nothing was used twice.
            }
            check.accesses = check.accesses.saturating_add(run.accesses);
            let known = by_name.get(name.as_str());
            let Some((runs, forecast)) =
                known.and_then(|known| Some((known.runs, known.patterns.as_ref().ok()?)))
            else {
                continue;
            };
            let fewer = runs < training;
            if fewer {
                check.fewer = check.fewer.saturating_add(run.accesses);
            }
            check.covered = check.covered.saturating_add(run.accesses);
            let expected: Vec<Pattern> = forecast.iter().map(PatternPrediction::pattern).collect();
            if are_right(&expected, &seen) {
                check.correct = check.correct.saturating_add(run.accesses);
            }
            if are_near(&expected, &seen) {
                check.near = check.near.saturating_add(run.accesses);
            }
            if !fewer && forecast.len() == seen.len() {
                for (forecast, seen) in forecast.iter().zip(&seen) {
                    check.intervals.0 += 1;
                    // Half an item is rounding.
                    let held = seen.mean >= forecast.mean.low - 0.5
                        && seen.mean <= forecast.mean.high + 0.5;
                    check.intervals.1 += u64::from(held);
                }
            }
        }
        check
    }
}

fn ratio(part: u64, all: u64) -> f64 {
    if all == 0 {
        0.0
    } else {
        part as f64 / all as f64
    }
}
