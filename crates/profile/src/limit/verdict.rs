//! [`Limit::check`]: holds a limit against a profile, and gives a [`Verdict`].

use super::counted::{Certainty, CheckError, CountedAccesses, Measured};
use super::{Bound, GroupFinder, Limit, Side};
use crate::{CacheSize, LocalityChange, Profile};

/// What a check finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// The limit holds.
    Holds,
    /// The estimate is on one side of the bound, but by no more than it may be off.
    Unsure,
    /// The limit is broken.
    Broken,
}

/// A limit and the numbers that it was held against.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The number in the profile.
    pub now: Measured,
    /// The number in the base, where the limit compares with one.
    pub base: Option<Measured>,
    /// The bound in the metric's own unit: the largest number that holds, or the smallest.
    pub bound: f64,
    /// The cache, where the metric is one of a cache.
    pub cache: Option<CacheSize>,
    /// How many items that cache holds.
    pub items: Option<u64>,
    /// The complete name of the line, object or function in the profile.
    pub name: Option<String>,
    /// What follows.
    pub judgement: Judgement,
}

impl Limit {
    /// Holds the limit against a profile, and against the base that it is compared with. `base` is
    /// not looked at where the bound is a number. A cache's name is one of the profile's machine,
    /// and its size is taken for both.
    ///
    /// Estimates with a bound on their error hold or break a limit only if they do so by more than
    /// they may be off. Those without one are taken as they are. Cost: linear in the profiles'
    /// cells where the limit is of a line, an object or a function.
    ///
    /// # Errors
    /// If it cannot be known from the profiles whether the limit holds: see [`CheckError`].
    pub fn check(&self, profile: &Profile, base: Option<&Profile>) -> Result<Verdict, CheckError> {
        let cache = self.cache_of(profile)?;
        let (now, name) = self.measure(profile, cache, "the profile")?;
        let base = match self.bound {
            Bound::Value(_) => None,
            Bound::Change(_) => {
                let base = base.ok_or(CheckError::NoBase)?;
                LocalityChange::comparable(base, profile)?;
                Some(self.measure(base, cache, "the base")?.0)
            }
        };
        Ok(Verdict {
            now,
            base,
            bound: self.bound_value(base),
            cache,
            items: cache.map(|cache| cache.items(profile.granularity)),
            name,
            judgement: self.judge(now, base),
        })
    }

    fn cache_of(&self, profile: &Profile) -> Result<Option<CacheSize>, CheckError> {
        let Some(spec) = &self.cache else {
            return Ok(None);
        };
        if let (true, crate::CacheSpec::Named(name)) = (profile.method.ids, spec) {
            return Err(CheckError::Ids(name.clone()));
        }
        if let Some(cache) = spec.on(&profile.machine) {
            return Ok(Some(cache));
        }
        let known = profile.machine.data_caches();
        Err(CheckError::NoCache {
            name: match spec {
                crate::CacheSpec::Named(name) => name.clone(),
                crate::CacheSpec::Sized(size) => size.to_string(),
            },
            known: known.iter().map(|cache| cache.name()).collect(),
        })
    }

    /// The number in one profile, and the complete name of its line, object or function.
    fn measure(
        &self,
        profile: &Profile,
        cache: Option<CacheSize>,
        called: &'static str,
    ) -> Result<(Measured, Option<String>), CheckError> {
        let group = self
            .of
            .as_ref()
            .map(|(by, name)| GroupFinder(profile).find(*by, name, called));
        let group = group.transpose()?;
        let counted = CountedAccesses {
            profile,
            group: group.as_ref(),
        };
        let measured = match cache {
            Some(cache) => counted.in_cache(self.metric, cache)?,
            None => counted.without_cache(self.metric)?,
        };
        Ok((measured, group.map(|group| group.name)))
    }

    fn bound_value(&self, base: Option<Measured>) -> f64 {
        match self.bound {
            Bound::Value(value) => value,
            Bound::Change(percent) => {
                base.map_or(0.0, |base| base.value * (100.0 + percent) / 100.0)
            }
        }
    }

    fn judge(&self, now: Measured, base: Option<Measured>) -> Judgement {
        // The worst that the two may be off together.
        let off = |measured: Measured| match measured.certainty {
            Certainty::Within(half_width) => half_width,
            _ => 0.0,
        };
        let breaks = |slack: f64| {
            let toward = match self.side {
                Side::Above => -slack,
                Side::Below => slack,
            };
            let value = now.value + toward * off(now);
            // In hundredths, so that integer percentages of integers are compared exactly.
            let (value, bound) = match (self.bound, base) {
                (Bound::Change(percent), Some(base)) => (
                    value * 100.0,
                    (base.value - toward * off(base)) * (100.0 + percent),
                ),
                _ => (value, self.bound_value(base)),
            };
            match self.side {
                Side::Above => value > bound,
                Side::Below => value < bound,
            }
        };
        // At the best that the numbers may be, and at the worst.
        match (breaks(1.0), breaks(-1.0)) {
            (false, false) => Judgement::Holds,
            (false, true) => Judgement::Unsure,
            (true, _) => Judgement::Broken,
        }
    }
}

#[cfg(test)]
mod tests;
