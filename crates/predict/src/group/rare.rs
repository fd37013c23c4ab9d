//! [`rare_parts`]: the reuses of a group that are too rare to make patterns, fitted by themselves.
//!
//! The misses of a line are often its rarest reuses: of those of `a[i][k]` in a matrix
//! multiplication, one in n is far. They are in no pattern that is compared, since chance reuses
//! are as rare; but they grow, so they are fitted here.

use reuselens_locality::{Pattern, PatternBin, PatternRule, patterns};

use super::{PatternPrediction, SeenGroup, predict_pattern};
use crate::estimate::Estimate;
use crate::merging::rare_bins;
use crate::shape::Shape;

/// The rare reuses of a group, from near to far.
///
/// Rare reuses before the first common pattern, between two, and after the last are treated
/// separately. If they make equally many patterns in all runs, each of those is fitted as common
/// ones are; else all are fitted as one. Reuses of the last run alone stay at their distance.
pub(super) fn rare_parts(found: &[SeenGroup], rule: PatternRule) -> Vec<RarePart> {
    let places = found.first().map_or(0, |seen| seen.patterns.len() + 1);
    (0..places)
        .flat_map(|place| parts(found, rule, place))
        .collect()
}

/// Rare reuses that are fitted together.
pub(super) struct RarePart {
    /// The pattern and the size, for each run that has such reuses; the last run does.
    seen: Vec<Option<(f64, Pattern)>>,
    /// Their bins in the last run.
    within: Vec<PatternBin>,
}

impl RarePart {
    /// How many there are, by run.
    pub(super) fn counts(&self) -> Vec<u64> {
        let counts = self.seen.iter();
        let counts = counts.map(|seen| seen.map_or(0, |(_, pattern)| pattern.accesses));
        counts.collect()
    }

    /// `accesses` of them at a size, and whether less than 0 was predicted.
    pub(super) fn predict(
        self,
        accesses: Estimate,
        shapes: &[Shape],
        size: f64,
    ) -> (PatternPrediction, bool) {
        let points: Vec<(f64, Pattern)> = self.seen.into_iter().flatten().collect();
        let shapes = if points.len() > 1 {
            shapes
        } else {
            &[Shape::Constant]
        };
        predict_pattern(&points, self.within, accesses, shapes, size)
    }
}

/// The rare reuses before the pattern of this number, or after all; none if the last run has none
/// there.
fn parts(found: &[SeenGroup], rule: PatternRule, place: usize) -> Vec<RarePart> {
    let rare: Vec<Vec<PatternBin>> = found
        .iter()
        .map(|seen| rare_bins(&seen.run.bins, &seen.patterns, place))
        .collect();
    let Some(last) = rare.last().filter(|bins| !bins.is_empty()) else {
        return Vec::new();
    };
    let each: Vec<Vec<Pattern>> = rare.iter().map(|bins| patterns(bins, rule)).collect();
    let count = each[0].len();
    if each.iter().any(|patterns| patterns.len() != count) {
        let runs = rare.iter().zip(found);
        let seen = runs.map(|(bins, seen)| Some((seen.size, as_one(bins)?)));
        return vec![RarePart {
            seen: seen.collect(),
            within: last.clone(),
        }];
    }
    let part = |index: usize| {
        let here = each[each.len() - 1][index];
        let within = last.iter();
        let within = within.filter(|bin| bin.min >= here.min && bin.max <= here.max);
        let seen = each.iter().zip(found);
        RarePart {
            seen: seen
                .map(|(patterns, seen)| Some((seen.size, patterns[index])))
                .collect(),
            within: within.copied().collect(),
        }
    };
    (0..count).map(part).collect()
}

/// Some bins as one pattern.
fn as_one(bins: &[PatternBin]) -> Option<Pattern> {
    let (first, last) = (bins.first()?, bins.last()?);
    let accesses = bins
        .iter()
        .fold(0_u64, |sum, bin| sum.saturating_add(bin.accesses));
    let sum: f64 = bins.iter().map(|bin| bin.mean * bin.accesses as f64).sum();
    Some(Pattern {
        min: first.min,
        max: last.max,
        mean: sum / accesses.max(1) as f64,
        accesses,
    })
}
