//! What is too rare to tell patterns by, on another input.
//!
//! The misses of a line are often its rarest reuses: of those of `a[i][k]` in a matrix multiplication, one in n is far.
//! They are in no pattern that is compared, since chance reuses are as rare; but they grow, so they are fitted here.

use reuselens_locality::{Pattern, PatternBin, PatternRule, patterns};

use super::{PatternPrediction, Seen, predict_pattern};
use crate::merging::rare_bins;
use crate::shape::Shape;

/// The rare reuses of a group with so many accesses at a size, from near to far, and whether less than 0 was predicted.
///
/// Those before the first common pattern, between two, and behind the last are taken by themselves. If they make equally
/// many patterns in all runs, each of those is fitted as common ones are; else all of them are, as one. What is in the
/// last run alone stays where it was. None becomes a larger share of the accesses than it was in a run: from counts
/// this small, a power of the size can be anything.
pub(super) fn predict_rare(
    found: &[Seen],
    rule: PatternRule,
    shapes: &[Shape],
    (size, accesses): (f64, f64),
) -> (Vec<PatternPrediction>, Vec<bool>) {
    let places = found.first().map_or(0, |seen| seen.patterns.len() + 1);
    let parts = (0..places).flat_map(|place| parts(found, rule, place));
    parts
        .map(|part| {
            let points: Vec<(f64, Pattern)> =
                part.seen.iter().map(|seen| (seen.0, seen.2)).collect();
            let shapes = if points.len() > 1 {
                shapes
            } else {
                &[Shape::Constant]
            };
            let (mut found, below) = predict_pattern(&points, part.within, shapes, size);
            let shares = part
                .seen
                .iter()
                .map(|(_, all, pattern)| pattern.accesses as f64 / *all as f64 * accesses);
            let most = shares.fold(0.0, f64::max);
            let count = &mut found.accesses;
            if points.len() == 1 {
                (count.value, count.low, count.high) = (most, most, most);
            }
            count.value = count.value.min(most);
            count.low = count.low.min(most);
            count.high = count.high.max(most);
            (found, below)
        })
        .unzip()
}

/// Rare reuses that are fitted together.
struct Part {
    /// By run that has any: its size, its accesses, and these.
    seen: Vec<(f64, u64, Pattern)>,
    /// How they lie in the last run.
    within: Vec<PatternBin>,
}

/// The rare reuses before the pattern of a number, or behind all; none if the last run has none there.
fn parts(found: &[Seen], rule: PatternRule, place: usize) -> Vec<Part> {
    let rare: Vec<Vec<PatternBin>> = found
        .iter()
        .map(|seen| rare_bins(&seen.run.bins, &seen.patterns, place))
        .collect();
    let Some(last) = rare.last().filter(|bins| !bins.is_empty()) else {
        return Vec::new();
    };
    let each: Vec<Vec<Pattern>> = rare.iter().map(|bins| patterns(bins, rule)).collect();
    let point = |run: usize, pattern: Pattern| {
        let seen = &found[run];
        (seen.size, seen.run.accesses.max(1), pattern)
    };
    let count = each[0].len();
    if each.iter().any(|patterns| patterns.len() != count) {
        let runs = rare.iter().enumerate();
        let seen = runs.filter_map(|(run, bins)| Some(point(run, whole(bins)?)));
        return vec![Part {
            seen: seen.collect(),
            within: last.clone(),
        }];
    }
    let part = |index: usize| {
        let here = each[each.len() - 1][index];
        let within = last.iter();
        let within = within.filter(|bin| bin.min >= here.min && bin.max <= here.max);
        Part {
            seen: (0..each.len())
                .map(|run| point(run, each[run][index]))
                .collect(),
            within: within.copied().collect(),
        }
    };
    (0..count).map(part).collect()
}

/// All of some bins as one pattern.
fn whole(bins: &[PatternBin]) -> Option<Pattern> {
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
