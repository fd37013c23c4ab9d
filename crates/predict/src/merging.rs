//! [`Merging`]: the rule by which the distances of a group become patterns, and what is too rare
//! for one.

use reuselens_locality::{Pattern, PatternBin, PatternRule, common_patterns, patterns};
use serde::{Deserialize, Serialize};

/// Reuses that are a smaller share of their group's than this are left out of patterns.
pub const RARE: f64 = 0.01;

/// How distances become patterns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Merging {
    /// Where a pattern ends.
    pub rule: PatternRule,
    /// Distances with less than this share of a group's reuses, or at the ends of a pattern of its,
    /// are left out; 0 leaves nothing out, as published.
    pub rare: f64,
}

impl Merging {
    /// The patterns of some bins.
    pub fn patterns(&self, bins: &[PatternBin]) -> Vec<Pattern> {
        if self.rare > 0.0 {
            common_patterns(bins, self.rule, self.rare)
        } else {
            patterns(bins, self.rule)
        }
    }

    /// The rare reuses that are in none of those patterns: before, between and after them, from
    /// near to far, those of each place merged by the same rule. Empty if nothing is left out.
    pub fn rare_patterns(&self, bins: &[PatternBin]) -> Vec<Pattern> {
        let common = self.patterns(bins);
        let places = 0..common.len() + 1;
        let rare = places.map(|place| rare_bins(bins, &common, place));
        rare.flat_map(|bins| patterns(&bins, self.rule)).collect()
    }
}

/// The bins that are in none of the patterns, and after `place` of them.
pub(crate) fn rare_bins(bins: &[PatternBin], common: &[Pattern], place: usize) -> Vec<PatternBin> {
    let rare = |bin: &&PatternBin| {
        let next = common.partition_point(|pattern| pattern.max < bin.min);
        let inside = common
            .get(next)
            .is_some_and(|pattern| pattern.min <= bin.min && bin.max <= pattern.max);
        next == place && !inside
    };
    bins.iter().filter(rare).copied().collect()
}

impl Default for Merging {
    /// The rule by default, and rare reuses left out.
    fn default() -> Self {
        Merging {
            rule: PatternRule::default(),
            rare: RARE,
        }
    }
}

impl From<PatternRule> for Merging {
    /// With nothing left out.
    fn from(rule: PatternRule) -> Self {
        Merging { rule, rare: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reuselens_locality::FineHistogram;
    use reuselens_units::Distance;

    #[test]
    fn rare_and_common_patterns_sum_to_all_reuses() {
        let mut fine = FineHistogram::new();
        for (distance, count) in [(0, 5), (40, 60_000), (700, 9), (3000, 40_000), (90_000, 11)] {
            fine.add(Distance::new(distance), count);
        }
        let bins = PatternBin::of_fine(&fine);
        let merging = Merging::default();
        let means = |patterns: &[Pattern]| -> Vec<u64> {
            patterns.iter().map(|pattern| pattern.mean as u64).collect()
        };
        let (common, rare) = (merging.patterns(&bins), merging.rare_patterns(&bins));
        assert_eq!((common.len(), rare.len()), (2, 3), "{common:?} {rare:?}");
        assert_eq!(means(&rare)[0], 0);
        assert!(means(&rare)[1] < means(&common)[1] && means(&rare)[2] > means(&common)[1]);
        let all = common.iter().chain(&rare).map(|pattern| pattern.accesses);
        assert_eq!(all.sum::<u64>(), fine.accesses());
        assert!(
            Merging::from(PatternRule::default())
                .rare_patterns(&bins)
                .is_empty()
        );
    }
}
