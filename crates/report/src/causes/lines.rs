//! How many of the bytes that misses bring in are used, of all data and by object, in whatever
//! format it is shown.

use std::collections::BTreeMap;

use reuselens_locality::{CellCauses, Profile, SampledUse};

use crate::numbers::{count, ratio_percent};
use crate::words;

/// The fills of an object.
pub(super) struct ObjectLines<'a> {
    /// Its name; that of all data together is `None`.
    pub object: Option<&'a str>,
    /// Misses, each of which brings a line in. About as many, if a sample was counted.
    pub fills: u64,
    /// Bytes that they brought in.
    pub brought: u64,
    /// Of these, bytes that were used before the line's next miss.
    pub used: u64,
    /// How well a sample knows the share of used bytes; `None` if all lines were counted.
    pub sampled: Option<SampledUse>,
}

impl ObjectLines<'_> {
    /// The share of the bytes that was used.
    pub fn utilisation(&self) -> f64 {
        let counted = self.used as f64 / self.brought.max(1) as f64;
        self.sampled.map_or(counted, |sampled| sampled.utilisation)
    }

    /// How far the share of all lines may be from that of the sample; `None` where too few were
    /// sampled to say so.
    pub fn bound(&self) -> Option<f64> {
        let bound = self.sampled.map_or(0.0, |sampled| sampled.half_width);
        (bound < 1.0).then_some(bound)
    }

    /// The numbers of a row, as [`HEADS`] has them.
    pub fn numbers(&self) -> [String; 3] {
        let share = ratio_percent(self.utilisation());
        let used = match (self.sampled, self.bound()) {
            (None, _) => share,
            (Some(_), Some(bound)) => format!("{share} ± {}", ratio_percent(bound)),
            (Some(_), None) => "not known".to_owned(),
        };
        [count(self.fills), count(self.brought), used]
    }

    /// The name of a row.
    pub fn name(&self) -> &str {
        match self.object {
            Some(name) => words::or(name, "(unknown object)"),
            None => "all data",
        }
    }
}

/// The columns of numbers of an object.
pub(super) const HEADS: [&str; 3] = ["misses", "bytes brought", "used"];

/// What the table is about, as a heading.
pub(super) const TITLE: &str = "Bytes used of the lines that misses bring in";

/// One in so many of all misses are an object's at least, or it is not shown.
const LEAST_SHARE: u64 = 100;

/// All data together, and then the objects, the most misses first. Empty if nothing missed, or the
/// profile has no causes.
pub(super) fn of(profile: &Profile) -> Vec<ObjectLines<'_>> {
    let Some(causes) = &profile.causes else {
        return Vec::new();
    };
    let mut sums: BTreeMap<Option<u32>, CellCauses> = BTreeMap::new();
    for cell in profile.cells.iter().filter(|cell| cell.causes.fills > 0) {
        for object in [None, Some(cell.object)] {
            sums.entry(object).or_default().merge(&cell.causes);
        }
    }
    let all = sums.get(&None).map_or(0, |sum| sum.fills);
    sums.retain(|_, sum| sum.fills.saturating_mul(LEAST_SHARE) >= all);
    let line = profile.granularity.bytes();
    let lines = sums.into_iter().map(|(object, sum)| {
        let known = causes.sampled_use.iter().find(|it| it.object == object);
        // A sample without a bound of an object knows nothing of it.
        let unknown = SampledUse {
            half_width: 1.0,
            ..SampledUse::default()
        };
        let is_sampled = causes.sample_rate.is_some();
        ObjectLines {
            object: object.map(|object| {
                let object = profile.objects.get(object as usize);
                object.map_or("", |object| object.name.as_str())
            }),
            fills: sum.fills,
            brought: sum.fills.saturating_mul(line),
            used: sum.used_bytes,
            sampled: is_sampled.then(|| known.copied().unwrap_or(unknown)),
        }
    });
    let mut lines: Vec<ObjectLines<'_>> = lines.collect();
    lines.sort_by_key(|it| (it.object.is_some(), std::cmp::Reverse(it.fills)));
    lines
}

/// Of which cache the misses are, and of which sample: `of L2 (512 KiB); a sample of 1 % of the
/// lines, bounds with 95 % confidence`.
pub(super) fn of_what(profile: &Profile) -> String {
    let Some(causes) = &profile.causes else {
        return String::new();
    };
    let caches = profile.machine.data_caches();
    let cache = match caches.iter().find(|cache| cache.size == causes.cache) {
        Some(cache) => format!("{} {}", cache.name(), cache.size),
        None => format!("a cache of {}", causes.cache),
    };
    match causes.sample_rate {
        None => format!("of {cache}"),
        Some(rate) => format!(
            "of {cache}; estimates from a sample of {} of the lines, bounds with 95 % confidence",
            ratio_percent(rate)
        ),
    }
}
