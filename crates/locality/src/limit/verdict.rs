//! A limit held against profiles.

use thiserror::Error;

use super::{Bound, Limit, Metric, Named, NamedError, Side};
use crate::difference::unsure;
use crate::histogram::{Histogram, ratio};
use crate::{CacheSize, CacheSizeError, DifferenceError, Group, LocalityChange, Profile};

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
    /// What it is worth.
    pub certainty: Certainty,
}

/// What a check finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// The limit holds.
    Holds,
    /// The estimate is beyond the bound, but by no more than it may be off.
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
    /// The whole name of the line, object or function in the profile.
    pub name: Option<String>,
    /// What follows.
    pub judgement: Judgement,
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
    /// The line, object or function is not there.
    #[error(transparent)]
    Named(#[from] NamedError),
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

impl Limit {
    /// Holds the limit against a profile, and against the base that it is compared with. `base` is not looked at where the bound
    /// is a number. A cache's name is one of the profile's machine, and its size is taken for both.
    ///
    /// Estimates with a bound on their error break a limit only if they do so by more than they may be off. Those without one
    /// are taken as they are. Cost: linear in the profiles' cells where the limit is of a line, an object or a function.
    ///
    /// # Errors
    /// If the profiles do not tell whether the limit holds: see [`CheckError`].
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

    /// The number in one profile, and the whole name of what it is of.
    fn measure(
        &self,
        profile: &Profile,
        cache: Option<CacheSize>,
        called: &'static str,
    ) -> Result<(Measured, Option<String>), CheckError> {
        let group = self
            .of
            .as_ref()
            .map(|(by, name)| Named(profile).find(*by, name, called));
        let group = group.transpose()?;
        let counted = Counted {
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
            // In hundredths, so that whole percentages of whole numbers are compared exactly.
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
        match (breaks(0.0), breaks(1.0)) {
            (false, _) => Judgement::Holds,
            (true, false) => Judgement::Unsure,
            (true, true) => Judgement::Broken,
        }
    }
}

/// The accesses of a profile, or of one group.
struct Counted<'a> {
    profile: &'a Profile,
    group: Option<&'a Group>,
}

impl Counted<'_> {
    fn accesses(&self) -> u64 {
        self.group
            .map_or_else(|| self.profile.histogram.accesses(), |group| group.accesses)
    }

    fn in_cache(&self, metric: Metric, cache: CacheSize) -> Result<Measured, CheckError> {
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
        let (misses, certainty) = match (model, self.group) {
            (Some(model), None) => (model.misses(&profile.histogram), BY_SETS),
            (Some(model), Some(group)) => (model.misses(&group.histogram), BY_SETS),
            (None, None) => (
                profile.histogram.misses(items) as f64,
                self.whole(unsure(profile, items)),
            ),
            (None, Some(group)) => (
                group.misses(items) as f64,
                self.part(group.histogram.is_exact_at(items)),
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

    fn without_cache(&self, metric: Metric) -> Result<Measured, CheckError> {
        let (profile, group) = (self.profile, self.group);
        if metric != Metric::Accesses {
            self.reaches(metric, u64::MAX)?;
        }
        let histogram = &profile.histogram;
        let cold = group.map_or_else(|| Histogram::cold(histogram), |group| group.cold);
        let is_mean = metric == Metric::MeanDistance;
        let value = match metric {
            Metric::Accesses => self.accesses() as f64,
            Metric::MeanDistance => {
                group.map_or_else(|| histogram.mean().unwrap_or(0.0), |group| group.mean)
            }
            _ => cold as f64,
        };
        let certainty = match group {
            // Samples count all accesses, and estimate their distances.
            None if metric == Metric::Accesses => Certainty::Exact,
            None if is_mean && !profile.method.exact => UNBOUNDED,
            None => self.whole(unsure(profile, u64::MAX)),
            Some(_) => self.part(true),
        };
        Ok(Measured { value, certainty })
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

    /// What a count of all accesses is worth, if it may be off by `width`.
    fn whole(&self, width: f64) -> Certainty {
        let method = &self.profile.method;
        match (method.exact, method.error_bound.is_some()) {
            (true, _) => Certainty::Exact,
            (false, true) => Certainty::Within(width),
            (false, false) => UNBOUNDED,
        }
    }

    /// What a count of a group is worth; `is_edge` if no bin of its histogram is cut.
    fn part(&self, is_edge: bool) -> Certainty {
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

const BY_SETS: Certainty =
    Certainty::Estimate("the misses of a cache with sets are expected ones, by a model");

const UNBOUNDED: Certainty =
    Certainty::Estimate("the profile is an estimate without a bound on its error");

/// As [`ratio`], for misses that are no whole number.
fn share(misses: f64, accesses: u64) -> f64 {
    match accesses {
        0 => ratio(0, 0),
        accesses => misses / accesses as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cache, CacheKind, Machine, testing};
    use reuselens_units::{Bytes, Distance, Granularity};

    /// A profile of 100 accesses: so many at distance 10, the others at 0.
    fn profile(far: u64) -> Profile {
        let mut profile = testing::profile();
        (profile.cells, profile.histogram) = (Vec::new(), Default::default());
        profile.histogram.add(Distance::new(10), far);
        profile.histogram.add(Distance::ZERO, 100 - far);
        profile.machine = Machine {
            processor: "test".into(),
            caches: vec![Cache {
                kind: CacheKind::Data,
                size: Bytes(512),
                line: Bytes(64),
                ..Cache::default()
            }],
        };
        profile
    }

    fn judge(rule: &str, now: &Profile, base: Option<&Profile>) -> Judgement {
        check(rule, now, base).unwrap().judgement
    }

    fn check(rule: &str, now: &Profile, base: Option<&Profile>) -> Result<Verdict, CheckError> {
        rule.parse::<Limit>().unwrap().check(now, base)
    }

    #[test]
    fn a_limit_is_broken_beyond_its_bound_and_not_at_it() {
        let (base, now) = (profile(20), profile(21));
        let cases = [
            ("misses@640 > 20", Judgement::Broken),
            ("misses@640 > 21", Judgement::Holds),
            ("misses@704 > 0", Judgement::Holds),
            ("miss-ratio@640 > 20 %", Judgement::Broken),
            ("miss-ratio@L1 > 21 %", Judgement::Holds),
            ("miss-ratio@l1d < 22 %", Judgement::Broken),
            ("misses@640 > +5 %", Judgement::Holds),
            ("misses@640 > +4.9 %", Judgement::Broken),
            ("misses@640 < +5 %", Judgement::Holds),
            ("misses@640 < +6 %", Judgement::Broken),
            ("accesses > +0 %", Judgement::Holds),
            ("accesses < 101", Judgement::Broken),
            ("cold > 0", Judgement::Holds),
            ("mean-distance > 2", Judgement::Broken),
        ];
        for (rule, judgement) in cases {
            assert_eq!(judge(rule, &now, Some(&base)), judgement, "{rule}");
        }
    }

    #[test]
    fn a_change_from_nothing_is_more_than_any_percentage() {
        let (none, some) = (profile(0), profile(1));
        let rule = "misses@640 > +1000 %";
        assert_eq!(judge(rule, &some, Some(&none)), Judgement::Broken);
        assert_eq!(judge(rule, &none, Some(&none)), Judgement::Holds);
        assert_eq!(
            judge("misses@640 < -99 %", &none, Some(&some)),
            Judgement::Broken
        );
        let error = check(rule, &some, None).unwrap_err();
        assert_eq!(error, CheckError::NoBase);
    }

    #[test]
    fn samples_break_limits_by_more_than_they_may_be_off() {
        let mut now = profile(30);
        (now.method.exact, now.method.error_bound) = (false, Some(0.05));
        let verdict = check("misses@640 > 26", &now, None).unwrap();
        assert_eq!(verdict.judgement, Judgement::Unsure);
        assert_eq!(verdict.now.certainty, Certainty::Within(5.0));
        let verdict = check("miss-ratio@640 > 24 %", &now, None).unwrap();
        assert_eq!(verdict.judgement, Judgement::Broken);
        assert_eq!(verdict.now.certainty, Certainty::Within(0.05));
        assert_eq!(judge("misses@640 < 34", &now, None), Judgement::Unsure);
        assert_eq!(judge("misses@640 < 36", &now, None), Judgement::Broken);
        let mut base = profile(25);
        assert_eq!(
            judge("misses@640 > +0 %", &now, Some(&base)),
            Judgement::Unsure
        );
        base.method = now.method.clone();
        assert_eq!(
            judge("misses@640 > +0 %", &profile(31), Some(&base)),
            Judgement::Broken
        );
        assert_eq!(
            judge("misses@640 > +0 %", &profile(29), Some(&base)),
            Judgement::Unsure
        );
        now.method.error_bound = None;
        let verdict = check("misses@640 > 26", &now, None).unwrap();
        assert_eq!(verdict.judgement, Judgement::Broken);
        assert!(matches!(verdict.now.certainty, Certainty::Estimate(_)));
    }

    #[test]
    fn groups_have_limits_of_their_own() {
        let profile = testing::profile();
        let group = profile.groups(crate::Dimension::Function);
        let sweep = group.iter().find(|group| group.name == "sweep").unwrap();
        let verdict = check("misses@4K of function sweep > 1", &profile, None).unwrap();
        assert_eq!(verdict.now.value, sweep.misses(64) as f64);
        assert_eq!(verdict.name.as_deref(), Some("sweep"));
        assert_eq!(
            (verdict.items, verdict.judgement),
            (Some(64), Judgement::Broken)
        );
        let ratio = check("miss-ratio@4K of function sweep > 1", &profile, None).unwrap();
        assert_eq!(
            ratio.now.value,
            sweep.misses(64) as f64 / sweep.accesses as f64
        );
        let accesses = check("accesses of object table > 1", &profile, None).unwrap();
        assert_eq!(accesses.name.as_deref(), Some("table (a.c)"));
        let error = check("misses@4K of function swep > 1", &profile, None).unwrap_err();
        assert!(
            error.to_string().contains("names like it: sweep"),
            "{error}"
        );
        let mut base = testing::profile();
        base.sites[1].frames[0].function = "other".into();
        let error = check("misses@4K of function sweep > +1 %", &profile, Some(&base)).unwrap_err();
        assert!(error.to_string().contains("in the base"), "{error}");
    }

    #[test]
    fn caches_with_sets_are_those_of_the_model() {
        let profile = profile(30);
        let model = crate::SetAssociative::new(4, 4);
        let verdict = check("misses@1K:4 > 0", &profile, None).unwrap();
        assert_eq!(verdict.now.value, model.misses(&profile.histogram));
        assert!(
            verdict.now.value > 0.0 && verdict.now.value < 30.0,
            "{verdict:?}"
        );
        assert_eq!(verdict.now.certainty, BY_SETS);
        assert!(matches!(
            check("misses@1K:3 > 0", &profile, None),
            Err(CheckError::Cache(CacheSizeError::Sets {
                lines: 16,
                ways: 3
            }))
        ));
    }

    #[test]
    fn what_a_profile_does_not_tell_is_no_pass() {
        let mut profile = profile(30);
        let fails =
            |rule: &str, profile: &Profile| check(rule, profile, None).unwrap_err().to_string();
        assert!(fails("misses@L2 > 1", &profile).contains("L1d"));
        assert!(fails("misses@63 > 1", &profile).contains("one item of 64 bytes"));
        profile.method.max_distance = Some(10);
        assert_eq!(judge("misses@640 > 30", &profile, None), Judgement::Holds);
        assert!(fails("misses@704 > 1", &profile).contains("--max-distance"));
        for rule in [
            "cold > 1",
            "distinct > 1",
            "mean-distance > 1",
            "misses@640:2 > 1",
        ] {
            assert!(fails(rule, &profile).contains("--max-distance"), "{rule}");
        }
        assert_eq!(judge("accesses > 1", &profile, None), Judgement::Broken);
        profile.method.ids = true;
        assert!(fails("misses@L1 > 1", &profile).contains("ids"));
        let mut other = super::tests::profile(30);
        other.granularity = Granularity::BYTE;
        let error = check("accesses > +1 %", &profile, Some(&other)).unwrap_err();
        assert!(matches!(error, CheckError::Difference(_)), "{error}");
    }
}
