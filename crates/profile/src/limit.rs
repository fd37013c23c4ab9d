//! [`Limit`]: a rule about a number of a profile, which the command `check` holds against profiles.
//!
//! A rule is written `METRIC[@SIZE] [of line|object|function NAME] >|< BOUND` and is *broken* where
//! that is true: `misses@L1d > +5 %`, `misses@64 > 10`, `miss-ratio@256K of object grid > 2 %`. The
//! bound is a number, or a change in percent against another profile.

mod counted;
mod named;
mod parse;
mod verdict;

use std::fmt;

use crate::{CacheSpec, Dimension};

pub use counted::{Certainty, CheckError, Measured};
pub(crate) use named::GroupFinder;
pub use named::NamedError;
pub use parse::LimitError;
pub use verdict::{Judgement, Verdict};

/// What a limit is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Misses in a cache.
    Misses,
    /// Misses per access in a cache.
    MissRatio,
    /// Accesses.
    Accesses,
    /// First accesses to an item.
    Cold,
    /// Distinct items.
    Distinct,
    /// The mean of the finite distances, in items.
    MeanDistance,
}

impl Metric {
    /// All of them.
    pub const ALL: [Metric; 6] = [
        Metric::Misses,
        Metric::MissRatio,
        Metric::Accesses,
        Metric::Cold,
        Metric::Distinct,
        Metric::MeanDistance,
    ];

    /// Its name in a rule.
    pub const fn name(self) -> &'static str {
        match self {
            Metric::Misses => "misses",
            Metric::MissRatio => "miss-ratio",
            Metric::Accesses => "accesses",
            Metric::Cold => "cold",
            Metric::Distinct => "distinct",
            Metric::MeanDistance => "mean-distance",
        }
    }

    /// Whether it is one of a cache.
    pub const fn is_of_cache(self) -> bool {
        matches!(self, Metric::Misses | Metric::MissRatio)
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// On which side of its bound a number breaks a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// More than the bound breaks it.
    Above,
    /// Less than the bound breaks it.
    Below,
}

/// What a number is held against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// A number in the metric's own unit; a miss ratio is between 0 and 1.
    Value(f64),
    /// A change in percent against the base: 5 is the base and 5 % of it.
    Change(f64),
}

/// A rule about one number of a profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// The rule as it was written.
    pub text: String,
    /// What it is about.
    pub metric: Metric,
    /// The cache, where the metric is one of a cache.
    pub cache: Option<CacheSpec>,
    /// The line, object or function whose accesses count; `None` = all accesses.
    pub of: Option<(Dimension, String)>,
    /// The side that breaks it.
    pub side: Side,
    /// What the number is held against.
    pub bound: Bound,
}

impl Limit {
    /// Whether it compares with another profile.
    pub fn needs_base(&self) -> bool {
        matches!(self.bound, Bound::Change(_))
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}
