//! How the distances of a group become patterns.

use reuselens_locality::{Pattern, PatternBin, PatternRule, common_patterns, patterns};
use serde::{Deserialize, Serialize};

/// What is left out of patterns: reuses that are a smaller share of their group's than this.
pub const RARE: f64 = 0.01;

/// How distances become patterns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Merging {
    /// Where a pattern ends.
    pub rule: PatternRule,
    /// Distances with less than this share of a group's reuses, or at the ends of a pattern of its, are left out; 0
    /// leaves nothing out, as published.
    pub rare: f64,
}

impl Merging {
    /// The patterns of some bins.
    pub fn patterns(&self, bins: &[PatternBin]) -> Vec<Pattern> {
        match self.rare > 0.0 {
            true => common_patterns(bins, self.rule, self.rare),
            false => patterns(bins, self.rule),
        }
    }
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
