//! [`patterns`]: the locality patterns of an instruction, which are the clusters of its distances.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{FineHistogram, PatternBin};

/// Where a pattern ends although the next bin is near: at a minimum of frequency. The literature
/// leaves open at which; reports that show patterns give the rule that was used.
///
/// Frequencies are compared between ranges of distances that are equally wide in proportion:
/// octaves below 1024 items, as the bins are, and quarters of octaves above, where many bins are in
/// each. Else a cluster twice as far away would be looked at in bins half as wide, and would be cut
/// by chance where the near one is not.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PatternRule {
    /// At a valley: the lowest bin between two of more than this many times its frequency. 1 is
    /// every local minimum.
    Valley(f64),
    /// At each bin that holds less than this share of the reuses.
    Threshold(f64),
}

impl Default for PatternRule {
    /// A valley of less than half of what is on both sides.
    fn default() -> Self {
        PatternRule::Valley(2.0)
    }
}

impl fmt::Display for PatternRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PatternRule::Valley(depth) => write!(f, "valley:{depth}"),
            PatternRule::Threshold(share) => write!(f, "threshold:{share}"),
        }
    }
}

impl FromStr for PatternRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, number) = text.split_once(':').unwrap_or((text, ""));
        let number = match number {
            "" => None,
            number => Some(number.parse::<f64>().ok().filter(|n| n.is_finite())),
        };
        match (name, number) {
            ("valley", None) => Ok(PatternRule::default()),
            ("valley", Some(Some(depth))) if depth >= 1.0 => Ok(PatternRule::Valley(depth)),
            ("threshold", None) => Ok(PatternRule::Threshold(0.01)),
            ("threshold", Some(Some(share))) if (0.0..=1.0).contains(&share) => {
                Ok(PatternRule::Threshold(share))
            }
            _ => Err(format!(
                "'{text}' is no rule for the end of a pattern; use valley, valley:DEPTH (1 or more), threshold \
                 or threshold:SHARE (0 to 1), for instance valley:2"
            )),
        }
    }
}

/// A cluster of distances.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pattern {
    /// Its lowest distance, in items.
    pub min: u64,
    /// Its highest distance, in items.
    pub max: u64,
    /// The mean of its distances.
    pub mean: f64,
    /// Accesses in it.
    pub accesses: u64,
}

impl Pattern {
    /// The numbers of the first and the last bin that it reaches into.
    pub fn bins(&self) -> (u64, u64) {
        (PatternBin::number(self.min), PatternBin::number(self.max))
    }
}

/// Merges bins, which ascend, into patterns, which ascend.
///
/// From short to long, a bin joins the pattern when the gap between them is no wider than the
/// pattern: min(next) − max(pattern) ≤ max(pattern) − min(pattern). A bin in which only one
/// distance was seen has no width of its own; its nominal bounds are taken instead, on either side
/// of the comparison. A pattern also ends where `rule` says; the bin of the minimum is its last.
///
/// Distances are compared to within a bin of [`FineHistogram`], a sixteenth of an octave, which is
/// all that is known of them where they were not counted by path: the lowest and the highest of a
/// bin are taken as the edges of the fine bins that hold them, distances in one fine bin as one
/// distance, and bins that are narrower than a fine bin (from 32,768 items on) as one. So the same
/// accesses form the same patterns however they were counted. The lowest, highest and mean distance
/// of a pattern are as exact as those of its bins.
///
/// Cost: linear in the bins, if valleys are near the slopes after them.
///
/// Source: Fang et al. 2006, section 3.1.
pub fn patterns(bins: &[PatternBin], rule: PatternRule) -> Vec<Pattern> {
    clusters(&no_finer(bins), rule).map(join).collect()
}

/// The patterns of the accesses that are not rare. Bins in ranges (see [`PatternRule`]) that hold
/// less than `share` of all reuses are left out first, and then at either end of each pattern the
/// bins that together hold less than that share of it. A handful of accesses far from all others,
/// of millions, would otherwise be a pattern, or the end of one.
///
/// Not in the literature.
pub fn common_patterns(bins: &[PatternBin], rule: PatternRule, share: f64) -> Vec<Pattern> {
    let bins = no_finer(bins);
    let all = total(&bins) as f64;
    let common = bins.iter().zip(heights(&bins));
    let common = common.filter(|(_, height)| *height as f64 >= share * all);
    let common: Vec<PatternBin> = common.map(|(bin, _)| *bin).collect();
    let trimmed = clusters(&common, rule).map(|bins| join(trim(bins, share)));
    trimmed.collect()
}

/// Bins without those at either end that hold less than `share` of all.
fn trim(bins: &[PatternBin], share: f64) -> &[PatternBin] {
    let few = total(bins) as f64 * share;
    let rare = |bins: &mut dyn Iterator<Item = &PatternBin>| {
        let mut sum = 0;
        let few = |bin: &&PatternBin| {
            sum += bin.accesses;
            (sum as f64) < few
        };
        bins.take_while(few).count()
    };
    let (first, last) = (rare(&mut bins.iter()), rare(&mut bins.iter().rev()));
    let kept = bins.get(first..bins.len() - last);
    kept.filter(|bins| !bins.is_empty()).unwrap_or(bins)
}

/// The bins of each pattern.
fn clusters(bins: &[PatternBin], rule: PatternRule) -> impl Iterator<Item = &[PatternBin]> {
    let (all, heights) = (total(bins), heights(bins));
    let mut first = 0;
    std::iter::from_fn(move || {
        let from = first;
        (from < bins.len()).then(|| {
            first = end(bins, &heights, from, rule, all);
            &bins[from..first]
        })
    })
}

/// The range of distances that a bin's frequency is looked at in: an octave below 1024 items, a
/// quarter of one above.
fn range(bin: &PatternBin) -> u64 {
    let bits = u64::from(u64::BITS - bin.low.leading_zeros());
    match bits {
        0..=10 => bits << 2,
        bits => bits << 2 | bin.low >> (bits - 3) & 3,
    }
}

/// For each bin the accesses of all that share its range.
fn heights(bins: &[PatternBin]) -> Vec<u64> {
    let mut heights = Vec::with_capacity(bins.len());
    for shared in bins.chunk_by(|a, b| range(a) == range(b)) {
        heights.resize(heights.len() + shared.len(), total(shared));
    }
    heights
}

/// The accesses of some bins.
fn total(bins: &[PatternBin]) -> u64 {
    bins.iter()
        .fold(0, |sum, bin| sum.saturating_add(bin.accesses))
}

/// The bounds that a bin is merged by.
fn bounds(bin: &PatternBin) -> (u64, u64) {
    let (low, high) = (FineHistogram::bin(bin.min), FineHistogram::bin(bin.max));
    if low == high {
        (bin.low, bin.high)
    } else {
        (FineHistogram::range(low).0, FineHistogram::range(high).1)
    }
}

/// Bins of which those that are in one fine bin are one.
fn no_finer(bins: &[PatternBin]) -> Vec<PatternBin> {
    let fine = |bin: &PatternBin| FineHistogram::bin(bin.low);
    let shared = bins.chunk_by(|a, b| fine(a) == fine(b));
    let one = |shared: &[PatternBin]| {
        let mut bin = shared[0];
        let (low, high) = FineHistogram::range(fine(&bin));
        (bin.low, bin.high) = (bin.low.min(low), bin.high.max(high));
        for more in &shared[1..] {
            bin.join(more.max, more.mean, more.accesses);
        }
        bin
    };
    shared.map(one).collect()
}

/// The bin after the last one of the pattern that begins with `first`.
fn end(bins: &[PatternBin], heights: &[u64], first: usize, rule: PatternRule, all: u64) -> usize {
    let (min, mut max) = bounds(&bins[first]);
    let (mut peak, mut valley) = (heights[first], first);
    for (at, bin) in bins.iter().enumerate().skip(first + 1) {
        let (low, high) = bounds(bin);
        if low.saturating_sub(max) > max - min {
            return at;
        }
        let (height, lowest) = (heights[at], heights[valley] as f64);
        match rule {
            PatternRule::Threshold(share) => {
                if (bins[at - 1].accesses as f64) < share * all as f64 {
                    return at;
                }
            }
            PatternRule::Valley(depth) => {
                if lowest * depth < peak as f64 && lowest * depth < height as f64 {
                    return valley + 1;
                }
            }
        }
        if height > peak {
            (peak, valley) = (height, at);
        } else if height as f64 <= lowest {
            valley = at;
        }
        max = max.max(high);
    }
    bins.len()
}

/// One pattern of several bins.
fn join(bins: &[PatternBin]) -> Pattern {
    let accesses = total(bins);
    let sum: f64 = bins.iter().map(|bin| bin.mean * bin.accesses as f64).sum();
    Pattern {
        min: bins[0].min,
        max: bins[bins.len() - 1].max,
        mean: sum / accesses as f64,
        accesses,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PatternBins;
    use proptest::prelude::*;
    use reuselens_units::Distance;

    #[test]
    fn pattern_rules_round_trip() {
        for text in ["valley:2", "valley:1.5", "threshold:0.05"] {
            assert_eq!(text.parse::<PatternRule>().unwrap().to_string(), text);
        }
        assert_eq!("valley".parse(), Ok(PatternRule::default()));
        for text in ["", "valley:0", "threshold:2", "threshold:nan", "hill"] {
            let error = text.parse::<PatternRule>().unwrap_err();
            assert!(error.contains("valley:2"), "{error}");
        }
    }

    #[test]
    fn patterns_do_not_depend_on_how_distances_were_counted() {
        // One distance in each of two neighbouring bins, beyond those that fine bins keep one by
        // one.
        let pairs = [(40, 10), (100, 10)];
        let mut fine = FineHistogram::new();
        for (items, count) in pairs {
            fine.add(Distance::new(items), count);
        }
        for bins in [bins(&pairs), PatternBin::of_fine(&fine)] {
            let found = patterns(&bins, PatternRule::default());
            assert_eq!(found.len(), 1, "{found:?}");
        }
    }

    fn bins(pairs: &[(u64, u64)]) -> Vec<PatternBin> {
        let mut bins = PatternBins::new();
        for (items, count) in pairs {
            bins.add(Distance::new(*items), *count);
        }
        bins.iter().collect()
    }

    #[test]
    fn a_far_cluster_is_cut_no_more_than_a_near_one() {
        // Every third of its bins is nearly empty, as when what is in it has gaps.
        let cluster = |start: u64| {
            let bins_of = |bin: u64| (start + bin * 1024 + 500, if bin % 3 == 2 { 5 } else { 100 });
            bins(&(0..60).map(bins_of).collect::<Vec<_>>())
        };
        assert_eq!(
            patterns(&cluster(500 << 10), PatternRule::default()).len(),
            1
        );
        // A real valley, of many bins, parts it.
        let hills = |bin: u64| {
            (
                (500 + bin) << 10,
                if (80..300).contains(&bin) { 5 } else { 100 },
            )
        };
        let hills = bins(&(0..500).map(hills).collect::<Vec<_>>());
        assert_eq!(patterns(&hills, PatternRule::default()).len(), 2);
    }

    #[test]
    fn rare_bins_neither_make_nor_extend_patterns() {
        let all = bins(&[
            (2, 100_000),
            (9, 40),
            (70_000, 100_000),
            (75_000, 30),
            (900_000, 3),
        ]);
        assert_eq!(patterns(&all, PatternRule::default()).len(), 4);
        let common = common_patterns(&all, PatternRule::default(), 0.01);
        let ends: Vec<(u64, u64)> = common.iter().map(|one| (one.min, one.max)).collect();
        assert_eq!(ends, [(2, 2), (70_000, 70_000)]);
        assert_eq!(
            common_patterns(&all, PatternRule::default(), 0.0),
            patterns(&all, PatternRule::default())
        );
        // Many that are few each are not rare together, but for the nearest, which are few even so.
        let flat = bins(&(0..1000).map(|bin| (bin << 10, 1)).collect::<Vec<_>>());
        let common = common_patterns(&flat, PatternRule::default(), 0.01);
        let kept: u64 = common.iter().map(|one| one.accesses).sum();
        assert!(kept > 900, "{kept}");
    }

    proptest! {
        #[test]
        fn the_same_accesses_form_the_same_patterns(
            pairs in prop::collection::vec(
                (prop_oneof![0..200_u64, 0..3000_u64, 0..300_000_u64, Just(u64::MAX >> 3)], 1..1000_u64),
                0..60,
            ),
            depth in 1.0..4.0_f64,
            share in prop_oneof![Just(0.0), 0.0..0.1_f64],
        ) {
            let mut fine = FineHistogram::new();
            for (items, count) in &pairs {
                fine.add(Distance::new(*items), *count);
            }
            let (exact, fine) = (bins(&pairs), PatternBin::of_fine(&fine));
            let edge = |items: u64| FineHistogram::range(FineHistogram::bin(items));
            for rule in [PatternRule::Valley(depth), PatternRule::Threshold(depth / 100.0)] {
                let exact = common_patterns(&exact, rule, share);
                let fine = common_patterns(&fine, rule, share);
                let ends = |one: &Pattern| (edge(one.min).0, edge(one.max).1, one.accesses);
                prop_assert_eq!(
                    exact.iter().map(ends).collect::<Vec<_>>(),
                    fine.iter().map(|one| (one.min, one.max, one.accesses)).collect::<Vec<_>>()
                );
            }
        }

        #[test]
        fn patterns_hold_every_reuse_once_and_do_not_overlap(
            pairs in prop::collection::vec((prop_oneof![0..2000_u64, 0..200_000_u64], 1..1000_u64), 0..80),
            depth in 1.0..4.0_f64,
        ) {
            let mut bins = PatternBins::new();
            for (items, count) in &pairs {
                bins.add(Distance::new(*items), *count);
            }
            let bins: Vec<PatternBin> = bins.iter().collect();
            for rule in [PatternRule::Valley(depth), PatternRule::Threshold(depth / 100.0)] {
                let found = patterns(&bins, rule);
                let sum: u64 = found.iter().map(|pattern| pattern.accesses).sum();
                prop_assert_eq!(sum, pairs.iter().map(|(_, count)| count).sum::<u64>());
                prop_assert!(found.is_sorted_by(|a, b| a.max < b.min));
                for pattern in &found {
                    prop_assert!(pattern.min <= pattern.max);
                    let slack = pattern.mean * 1e-9;
                    prop_assert!(pattern.mean >= pattern.min as f64 - slack);
                    prop_assert!(pattern.mean <= pattern.max as f64 + slack);
                }
            }
        }
    }
}
