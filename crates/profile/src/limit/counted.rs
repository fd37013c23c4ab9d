//! The number of a profile that a limit is about, with how far it may be off ([`Measured`]); or why
//! there is none ([`CheckError`]).

use thiserror::Error;

use super::{Metric, NamedError};
use crate::difference::unsure;
use crate::{CacheSize, CacheSizeError, DifferenceError, Group, Profile};

/// How far a number may be from the true one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Certainty {
    /// Not at all.
    Exact,
    /// By this much, at the confidence of the profile's bounds.
    Within(f64),
    /// It is not known how far; why, as a clause.
    Estimate(&'static str),
}

/// A number of a profile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The number, in the metric's own unit.
    pub value: f64,
    /// How far it may be off.
    pub certainty: Certainty,
}

/// A limit that these profiles cannot be held against.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CheckError {
    /// It compares, and there is nothing to compare with.
    #[error("a change in percent needs a profile to compare with; add --against BASE")]
    NoBase,
    /// The two count different items.
    #[error(transparent)]
    Difference(#[from] DifferenceError),
    /// The line, object or function does not exist.
    #[error(transparent)]
    GroupFinder(#[from] NamedError),
    /// The cache cannot exist.
    #[error(transparent)]
    Cache(#[from] CacheSizeError),
    /// The machine has no such cache.
    #[error(
        "the profile's machine has no cache '{name}' ({}); write a size, which does not depend on the machine, for instance 256K",
        if .known.is_empty() { "none is known".to_owned() } else { .known.join(", ") }
    )]
    NoCache {
        /// The name.
        name: String,
        /// The caches that it has.
        known: Vec<String>,
    },
    /// The items are ids, and the cache is one of a machine.
    #[error(
        "'{0}' is a cache of bytes, and the items of this profile are ids, which have no size; write a number of ids, for instance 4096"
    )]
    Ids(String),
    /// The cache holds nothing.
    #[error(
        "a cache of {bytes} bytes holds not even one item of {item} bytes, so everything would miss; write a larger one"
    )]
    TooSmall {
        /// Bytes of the cache.
        bytes: u64,
        /// Bytes of an item.
        item: u64,
    },
    /// It is about what cannot be estimated from bursts.
    #[error(
        "a quick look reports only how much of all accesses misses in caches without sets; make an exact profile"
    )]
    Bursts,
    /// It is about distances that are not known.
    #[error(
        "distances of {reach} items and more are not known (--max-distance), and {what} needs them; analyse again without --max-distance, or with a larger one"
    )]
    Reach {
        /// The smallest distance that is not known.
        reach: u64,
        /// What the limit is about.
        what: String,
    },
}

/// The accesses of a profile, or of one group.
pub(super) struct CountedAccesses<'a> {
    pub(super) profile: &'a Profile,
    pub(super) group: Option<&'a Group>,
}

impl CountedAccesses<'_> {
    fn accesses(&self) -> u64 {
        self.group
            .map_or_else(|| self.profile.histogram.accesses(), |group| group.accesses)
    }

    /// A number of a cache of this size.
    pub(super) fn in_cache(
        &self,
        metric: Metric,
        cache: CacheSize,
    ) -> Result<Measured, CheckError> {
        let profile = self.profile;
        let items = cache.items(profile.granularity);
        if items == 0 {
            return Err(CheckError::TooSmall {
                bytes: cache.bytes.get(),
                item: profile.granularity.bytes(),
            });
        }
        // The sets of a cache let longer distances hit than its size.
        let furthest = if cache.ways == 0 { items } else { u64::MAX };
        self.reaches(metric, furthest)?;
        let accesses = self.accesses();
        let model = cache.model(profile.granularity)?;
        if model.is_some() || self.group.is_some() {
            self.not_of_bursts()?;
        }
        let (misses, certainty) = match (model, self.group) {
            (Some(model), None) => (model.misses(&profile.histogram), BY_SETS),
            (Some(model), Some(group)) => (model.misses(&group.histogram), BY_SETS),
            (None, None) => (
                profile.histogram.misses(items) as f64,
                self.certainty_of_all(unsure(profile, items)),
            ),
            (None, Some(group)) => (
                group.misses(items) as f64,
                self.certainty_of_group(group.histogram.is_exact_at(items)),
            ),
        };
        Ok(match metric {
            Metric::MissRatio => Measured {
                value: share(misses, accesses),
                certainty: match certainty {
                    Certainty::Within(width) => Certainty::Within(share(width, accesses)),
                    other => other,
                },
            },
            _ => Measured {
                value: misses,
                certainty,
            },
        })
    }

    /// A number that does not depend on a cache.
    pub(super) fn without_cache(&self, metric: Metric) -> Result<Measured, CheckError> {
        let (profile, group) = (self.profile, self.group);
        self.not_of_bursts()?;
        if metric != Metric::Accesses {
            self.reaches(metric, u64::MAX)?;
        }
        let histogram = &profile.histogram;
        let cold = group.map_or_else(|| profile.first_touches(), |group| group.cold);
        let is_mean = metric == Metric::MeanDistance;
        let value = match metric {
            Metric::Accesses => self.accesses() as f64,
            Metric::MeanDistance => {
                group.map_or_else(|| histogram.mean().unwrap_or(0.0), |group| group.mean)
            }
            _ => cold as f64,
        };
        let certainty = match group {
            // Samples of the items count all accesses, and estimate their distances.
            None if metric == Metric::Accesses => Certainty::Exact,
            None if is_mean && !profile.method.exact => UNBOUNDED,
            None => self.certainty_of_all(unsure(profile, u64::MAX)),
            Some(_) => self.certainty_of_group(true),
        };
        Ok(Measured { value, certainty })
    }

    /// Refuses what cannot be estimated from bursts.
    fn not_of_bursts(&self) -> Result<(), CheckError> {
        if self.profile.method.is_from_bursts() {
            Err(CheckError::Bursts)
        } else {
            Ok(())
        }
    }

    fn reaches(&self, metric: Metric, items: u64) -> Result<(), CheckError> {
        match self.profile.method.max_distance {
            Some(reach) if items > reach => Err(CheckError::Reach {
                reach,
                what: match items {
                    u64::MAX => metric.to_string(),
                    items => format!("{metric} in a cache of {items} items"),
                },
            }),
            _ => Ok(()),
        }
    }

    /// The certainty of a count of all accesses that may be off by `width`.
    fn certainty_of_all(&self, width: f64) -> Certainty {
        let method = &self.profile.method;
        match (method.exact, method.error_bound.is_some()) {
            (true, _) => Certainty::Exact,
            (false, true) => Certainty::Within(width),
            (false, false) => UNBOUNDED,
        }
    }

    /// The certainty of a count of a group; `is_edge` if no bin of its histogram is cut.
    fn certainty_of_group(&self, is_edge: bool) -> Certainty {
        match (self.profile.method.exact, is_edge) {
            (true, true) => Certainty::Exact,
            (true, false) => Certainty::Estimate(
                "the cache's size is inside a bin of the histogram, which counts in proportion",
            ),
            (false, _) => Certainty::Estimate(
                "the profile is an estimate, whose bound on the error is of all accesses only",
            ),
        }
    }
}

pub(super) const BY_SETS: Certainty =
    Certainty::Estimate("the misses of a cache with sets are expected ones, by a model");

const UNBOUNDED: Certainty =
    Certainty::Estimate("the profile is an estimate without a bound on its error");

/// Misses per access, for misses that are no integer; 0 if there are no accesses.
fn share(misses: f64, accesses: u64) -> f64 {
    match accesses {
        0 => 0.0,
        accesses => misses / accesses as f64,
    }
}
