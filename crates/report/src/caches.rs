//! [`Level`]: the cache sizes that a report shows. [`chosen`] chooses the one that its tables rank
//! by, and [`levels`] has those of the machine.

use reuselens_document::numbers;
use reuselens_locality::{Histogram, SetAssociative};
use reuselens_profile::{Cache, CacheSize, Causes, LocalityChange, Profile, Sharing};
use reuselens_units::{Bytes, Granularity, Items, percent, ratio_percent};

use crate::causes::complete;

/// A cache size that a report shows, and what it is called.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Level {
    /// `L1d`, `L2`, …; `None` for a size that is no cache of the machine.
    pub(crate) name: Option<String>,
    /// Its size in words: `32 KiB`.
    pub(crate) size: String,
    /// Its size.
    pub(crate) bytes: Bytes,
    /// The number of complete items that fit.
    pub(crate) items: u64,
    /// Its sets and ways, if they are known and an item is one of its lines.
    model: Option<SetAssociative>,
    /// About how many cycles longer an access waits that misses in it; 0 for a size that is no
    /// cache of the machine.
    penalty: u64,
}

/// About what it takes longer from the second cache than from the first, from a farther one, and
/// from memory, in cycles. Only their ratios matter: they weigh misses in different caches against
/// each other.
const PENALTIES: (u64, u64, u64) = (10, 35, 200);

/// How many times the misses of a fully associative cache those with sets are, where conflict
/// misses dominate.
const CONFLICT_FACTOR: u64 = 2;

impl Level {
    /// The cache that was asked for, which has no name. Its ways are left out where they do not
    /// divide its lines.
    fn asked(cache: CacheSize, granularity: Granularity) -> Self {
        let mut level = Level::custom(cache.bytes, granularity);
        level.model = cache.model(granularity).ok().flatten();
        if let Some(ways) = level.ways() {
            level.size = format!("{} {ways}", level.size);
        }
        level
    }

    /// A fully associative cache of this size that has no name.
    pub(crate) fn custom(bytes: Bytes, granularity: Granularity) -> Self {
        let items = bytes.items(granularity).get().max(1);
        Level {
            name: None,
            size: size(items, granularity),
            bytes,
            items,
            model: None,
            penalty: 0,
        }
    }

    /// The cache of a profile's machine that has this size, or one without a name.
    pub(crate) fn named(bytes: Bytes, profile: &Profile) -> Self {
        let known = levels(profile)
            .into_iter()
            .find(|level| level.bytes == bytes);
        known.unwrap_or_else(|| Level::custom(bytes, profile.granularity))
    }

    fn of(cache: &Cache, penalty: u64, granularity: Granularity) -> Self {
        let is_line = cache.line.get() == granularity.bytes();
        Level {
            name: Some(cache.name()),
            size: cache.size.to_string(),
            bytes: cache.size,
            items: cache.items(granularity),
            model: cache.model().filter(|_| is_line),
            penalty,
        }
    }

    /// `L1d (32 KiB)`, or the size alone.
    pub(crate) fn label(&self) -> String {
        match &self.name {
            Some(name) => format!("{name} ({})", self.size),
            None => self.size.clone(),
        }
    }

    /// The name, or the size of a cache without one.
    pub(crate) fn short(&self) -> &str {
        self.name.as_ref().unwrap_or(&self.size)
    }

    /// The misses to expect with its sets, if it has some: rounded, but not below the cold ones.
    pub(crate) fn set_associative(&self, histogram: &impl Histogram) -> Option<u64> {
        let misses = self.model.as_ref()?.misses(histogram);
        Some((misses.round() as u64).clamp(histogram.cold(), histogram.accesses()))
    }

    /// Its miss ratio as fully associative, with the bound on its error if it is an estimate; where
    /// that is wider than the ratio, the most that it may be.
    pub(crate) fn miss_ratio(&self, profile: &Profile) -> String {
        let histogram = &profile.histogram;
        let misses = histogram.misses(self.items);
        let ratio = percent(misses, histogram.accesses());
        let Some(curve) = &profile.method.error_bounds else {
            return ratio;
        };
        let half = curve.half_width(self.items);
        if self.is_known(profile) {
            return format!("{ratio} ±{}", ratio_percent(half));
        }
        let most = misses as f64 / histogram.accesses().max(1) as f64 + half;
        format!("at most {}", ratio_percent(most.min(1.0)))
    }

    /// Whether its miss ratio is exact, or its error is at most half of itself. Who misses in a
    /// cache of which that is not so is not known.
    pub(crate) fn is_known(&self, profile: &Profile) -> bool {
        let Some(curve) = &profile.method.error_bounds else {
            return true;
        };
        let histogram = &profile.histogram;
        let half = curve.half_width(self.items) * histogram.accesses() as f64;
        2.0 * half <= histogram.misses(self.items) as f64
    }

    /// Whether a comparison shows the misses of a profile with its sets: not those of bursts, which
    /// have no bound of their own.
    pub(crate) fn compares_with_sets(&self, profile: &Profile) -> bool {
        self.is_known(profile) && !profile.method.is_from_bursts()
    }

    /// The misses of all accesses with its sets, if it has some: those that were counted, otherwise
    /// those to expect.
    pub(crate) fn with_sets(&self, profile: &Profile) -> Option<SetMisses> {
        let counted = counted_in_sets(&[profile], self).map(|all| all[0]);
        let misses = counted.or_else(|| self.set_associative(&profile.histogram))?;
        Some(SetMisses {
            misses,
            is_counted: counted.is_some(),
        })
    }

    /// The misses with its sets, where conflict misses dominate: at least [`CONFLICT_FACTOR`] times
    /// the misses of a fully associative cache, and more than a hundredth of the accesses.
    pub(crate) fn conflicted(&self, profile: &Profile) -> Option<SetMisses> {
        let histogram = &profile.histogram;
        let found = self.with_sets(profile)?;
        let misses = found.misses;
        let dominate = misses / CONFLICT_FACTOR >= histogram.misses(self.items)
            && misses > histogram.accesses() / 100;
        dominate.then_some(found)
    }

    /// The ways of a cache that was asked for with them.
    pub(crate) fn asked_ways(&self) -> Option<u64> {
        let model = self.model.as_ref().filter(|_| self.name.is_none());
        model.map(SetAssociative::ways)
    }

    /// `8-way`, if it is known.
    pub(crate) fn ways(&self) -> Option<String> {
        Some(format!("{}-way", self.model.as_ref()?.ways()))
    }
}

/// Misses of a cache with its sets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SetMisses {
    pub misses: u64,
    /// Whether they were counted, rather than expected of a model.
    pub is_counted: bool,
}

/// The head of a column with misses of these caches with their sets.
pub(crate) fn with_sets_head(levels: &[Level], profile: &Profile) -> &'static str {
    let mut known = levels.iter().filter_map(|level| level.with_sets(profile));
    if known.all(|sets| sets.is_counted) {
        "with its sets"
    } else {
        "with its sets, about"
    }
}

/// The misses in a cache with its sets that were counted for each profile; `None` unless all have
/// them of this cache.
pub(crate) fn counted_in_sets(profiles: &[&Profile], level: &Level) -> Option<Vec<u64>> {
    let name = level.name.as_deref()?;
    let of = |causes: &&'_ Causes| {
        let mut caches = causes.set_caches.iter();
        let found = caches.find(|cache| cache.name == name && cache.size == level.bytes);
        found.map(|cache| (cache.sets, cache.ways, cache.misses))
    };
    let all: Vec<_> = complete(profiles)?.iter().map(of).collect::<Option<_>>()?;
    let is_same = all.iter().all(|it| (it.0, it.1) == (all[0].0, all[0].1));
    is_same.then(|| all.iter().map(|it| it.2).collect())
}

/// A number of items as a size: in bytes, or as a count where an item is one byte and so only an
/// id.
pub(crate) fn size(items: u64, granularity: Granularity) -> String {
    if granularity == Granularity::BYTE {
        numbers::noun(items, "item", "items")
    } else {
        Items(items).bytes(granularity).to_string()
    }
}

/// The machine's caches for data, one per level, the nearest to the processor first; without those
/// for which the distances do not reach. None for ids, which have no size.
pub(crate) fn levels(profile: &Profile) -> Vec<Level> {
    if profile.method.ids {
        return Vec::new();
    }
    let mut caches = profile.machine.data_caches();
    caches.dedup_by_key(|cache| cache.level);
    let last = caches.len().saturating_sub(1);
    let levels = caches.into_iter().enumerate().map(|(index, cache)| {
        let penalty = match index {
            _ if index == last => PENALTIES.2,
            0 => PENALTIES.0,
            _ => PENALTIES.1,
        };
        Level::of(cache, penalty, profile.granularity)
    });
    let reach = profile.method.max_distance.unwrap_or(u64::MAX);
    let within = |level: &Level| level.items > 0 && level.items <= reach;
    levels.filter(within).collect()
}

/// The cache that a report looks at: the one asked for; else, of those in which the misses of
/// reuses are half a percent of the accesses, that in which they cost the most time; else the
/// smallest.
pub(crate) fn chosen(profile: &Profile, asked: Option<CacheSize>) -> Level {
    chosen_within(profile, None, asked)
}

/// The cache that a report looks at if nobody asks for another, where the misses of its reuses
/// matter.
pub(crate) fn noticeable(profile: &Profile) -> Option<Level> {
    let level = chosen(profile, None);
    (noticed(profile, &level) > 0).then_some(level)
}

/// [`chosen`] among caches of at most `reach` items.
pub(crate) fn chosen_within(
    profile: &Profile,
    reach: Option<u64>,
    asked: Option<CacheSize>,
) -> Level {
    choose(profile, reach, asked, |level| noticed(profile, level))
}

/// The misses of reuses, where they matter.
fn noticed(profile: &Profile, level: &Level) -> u64 {
    let reuses = reuses_missed(profile, level);
    if is_noticeable(profile, reuses) && level.is_known(profile) {
        reuses
    } else {
        0
    }
}

/// The cache that a comparison looks at: the one asked for; else that in which what changed costs
/// or saves the most time; else the one for the first.
pub(crate) fn chosen_between(before: &Profile, after: &Profile, asked: Option<CacheSize>) -> Level {
    let changed = |level: &Level| change_between(level, before, after);
    let reach = reach([before, after]);
    let levels = levels_within(before, reach);
    if levels.iter().all(|level| changed(level) == 0) {
        return chosen_within(before, reach, asked);
    }
    choose(before, reach, asked, changed)
}

/// Whether a comparison counts the misses of a cache with its sets: conflict misses dominate in one
/// of the two profiles.
pub(crate) fn counts_sets(level: &Level, before: &Profile, after: &Profile) -> bool {
    let mut both = [before, after].into_iter();
    both.any(|profile| level.conflicted(profile).is_some())
}

/// The misses before and after that a comparison counts in a cache.
fn compared(level: &Level, before: &Profile, after: &Profile) -> [u64; 2] {
    let with_sets = counts_sets(level, before, after);
    [before, after].map(|profile| {
        let sets = with_sets.then(|| level.set_associative(&profile.histogram));
        let full = || profile.histogram.misses(level.items);
        sets.flatten().unwrap_or_else(full)
    })
}

/// Those of [`levels`] that hold at most `reach` items.
pub(crate) fn levels_within(profile: &Profile, reach: Option<u64>) -> Vec<Level> {
    let mut levels = levels(profile);
    levels.retain(|level| reach.is_none_or(|reach| level.items <= reach));
    levels
}

/// The largest distance that all of these profiles measured, if one has a bound.
pub(crate) fn reach<'a>(profiles: impl IntoIterator<Item = &'a Profile>) -> Option<u64> {
    let reaches = profiles
        .into_iter()
        .map(|profile| profile.method.max_distance);
    reaches.flatten().min()
}

/// The cache asked for; else that whose misses, weighed by what one costs, are the most; the
/// smallest of equal ones.
fn choose(
    profile: &Profile,
    reach: Option<u64>,
    asked: Option<CacheSize>,
    misses: impl Fn(&Level) -> u64,
) -> Level {
    let mut levels = levels_within(profile, reach);
    if let Some(cache) = asked {
        let ways = u64::from(cache.ways);
        let known = |level: &Level| {
            let same = |model: &SetAssociative| model.ways() == ways;
            level.bytes == cache.bytes && (ways == 0 || level.model.as_ref().is_some_and(same))
        };
        let known = levels.into_iter().find(known);
        return known.unwrap_or_else(|| Level::asked(cache, profile.granularity));
    }
    let cost = |level: &Level| u128::from(misses(level)) * u128::from(level.penalty);
    // Threads share the last cache, for which distances within each thread mean little.
    if profile.method.sharing != Sharing::Shared && levels.len() > 1 {
        levels.pop();
    }
    // Of equal ones the last is taken: the smallest comes last.
    let most = levels.into_iter().rev().max_by_key(cost);
    most.unwrap_or_else(|| {
        if let Some(bytes) = &profile.requested_bytes {
            return Level::custom(tenth(bytes.cold()), profile.granularity);
        }
        let own = profile.method.max_distance;
        assumed(profile.granularity, reach.or(own))
    })
}

/// About a tenth of that many bytes: what caches of objects often have.
fn tenth(bytes: u64) -> Bytes {
    Bytes(1 << (bytes / 10).max(1).ilog2())
}

/// The size that is looked at if no cache is known: 32 KiB, or as many ids; less if distances were
/// not measured that far.
fn assumed(granularity: Granularity, reach: Option<u64>) -> Level {
    let reach = reach.map_or(u64::MAX, |items| Items(items).bytes(granularity).get());
    Level::custom(Bytes(reach.min(32 << 10)), granularity)
}

/// The accesses that miss in a cache, except the cold ones; with its sets if conflict misses
/// dominate.
fn reuses_missed(profile: &Profile, level: &Level) -> u64 {
    let histogram = &profile.histogram;
    let misses = level.conflicted(profile).map(|found| found.misses);
    misses
        .unwrap_or_else(|| histogram.misses(level.items))
        .saturating_sub(histogram.cold())
}

/// Whether this number of misses of reuses matters: half a percent of the accesses.
fn is_noticeable(profile: &Profile, reuses: u64) -> bool {
    reuses > 0 && reuses >= profile.histogram.accesses() / 200
}

/// Why [`chosen`] chose this cache, as half a sentence.
pub(crate) fn reason(profile: &Profile, asked: Option<CacheSize>, level: &Level) -> &'static str {
    if asked.is_some() {
        "the size asked for"
    } else if profile.histogram.accesses() == 0 {
        "there are no accesses to choose by"
    } else if level.name.is_none() && profile.requested_bytes.is_some() {
        "assumed: about a tenth of the bytes of all objects"
    } else if level.name.is_none() && profile.method.ids {
        "assumed: ids have no size, so no cache of the machine is theirs"
    } else if level.name.is_none() && !profile.machine.data_caches().is_empty() {
        "assumed: distances are not told as far as the machine's caches"
    } else if level.name.is_none() {
        "assumed: the machine's caches are not known"
    } else if !level.is_known(profile) {
        "the smallest cache here; how much misses is not known of any"
    } else if is_noticeable(profile, reuses_missed(profile, level)) {
        "the cache where noticeable misses cost the most time"
    } else {
        "the smallest cache here; hardly a reuse misses in it"
    }
}

/// How the misses of two profiles in a cache differ, in words: a percentage only where the miss
/// ratios of both are known, and nothing where one may be off by as much as they differ.
pub(crate) fn change(level: &Level, before: &Profile, after: &Profile) -> String {
    let both = [before, after];
    let [then, now] = both.map(|profile| profile.histogram.misses(level.items));
    let unsure = LocalityChange::unsure_misses(both, level.items);
    if may_be_equal([then, now], unsure) {
        "not known".to_owned()
    } else if both.iter().all(|profile| level.is_known(profile)) {
        numbers::change(then, now)
    // A bound above half of the number it is of leaves the direction, and no ratio.
    } else if then < now {
        "more".to_owned()
    } else {
        "fewer".to_owned()
    }
}

/// Whether two numbers that may be off by `unsure` together may be equal. Numbers without a bound
/// (`unsure` is 0) are compared as they are.
pub(crate) fn may_be_equal([before, after]: [u64; 2], unsure: f64) -> bool {
    unsure > 0.0 && before.abs_diff(after) as f64 <= unsure
}

/// By how many misses two profiles differ in a cache, as far as that is known.
fn change_between(level: &Level, before: &Profile, after: &Profile) -> u64 {
    let are_known = level.is_known(before) && level.is_known(after);
    let [before, after] = compared(level, before, after);
    if are_known { before.abs_diff(after) } else { 0 }
}

/// Why [`chosen_between`] chose this cache, as half a sentence.
pub(crate) fn reason_between(
    before: &Profile,
    after: &Profile,
    asked: Option<CacheSize>,
    level: &Level,
) -> &'static str {
    let changed = |level: &Level| change_between(level, before, after) > 0;
    let levels = levels_within(before, reach([before, after]));
    if asked.is_some() || level.name.is_none() || !levels.iter().any(changed) {
        return reason(before, asked, level);
    }
    if changed(level) {
        "the cache where what changed costs the most time"
    } else {
        "the smallest cache here; what changed is in one that threads share"
    }
}
