//! The rows of the tables about lines: how many of the bytes that misses bring in are used, of all
//! data and of each object. Text, page and JSON have them in
//! common.

use std::collections::BTreeMap;

use reuselens_document::numbers::{count, ratio_percent};
use reuselens_document::{Section, Table, TableColumn};
use reuselens_profile::{Causes, CellCauses, Profile, SampledUse};

use crate::words;

/// The fills of an object.
pub(super) struct ObjectLines<'a> {
    /// Its name; that of all data together is `None`.
    pub object: Option<&'a str>,
    /// Its counts: a fill is a miss, which brings a line in. Estimates, if a sample was counted.
    pub causes: CellCauses,
    /// Bytes that the fills brought in.
    pub brought: u64,
    /// The share of used bytes as a sample has it, and how far off that may be; `None` if all lines
    /// were counted.
    pub sampled: Option<SampledUse>,
}

impl ObjectLines<'_> {
    /// The share of the bytes that was used.
    pub fn utilisation(&self) -> f64 {
        let counted = self.causes.used_bytes as f64 / self.brought.max(1) as f64;
        self.sampled.map_or(counted, |sampled| sampled.utilisation)
    }

    /// How far the share of all lines may be from that of the sample; `None` if too few were
    /// sampled to know it.
    pub fn bound(&self) -> Option<f64> {
        let bound = self.sampled.map_or(0.0, |sampled| sampled.half_width);
        (bound < 1.0).then_some(bound)
    }

    /// The numbers of a row.
    fn numbers(&self) -> [String; 3] {
        let share = ratio_percent(self.utilisation());
        let used = match (self.sampled, self.bound()) {
            (None, _) => share,
            (Some(_), Some(bound)) => format!("{share} ± {}", ratio_percent(bound)),
            (Some(_), None) => "not known".to_owned(),
        };
        [count(self.causes.fills), count(self.brought), used]
    }

    /// The name of a row.
    pub fn name(&self) -> &str {
        match self.object {
            Some(name) => words::or(name, "(unknown object)"),
            None => "all data",
        }
    }
}

const EXPLAIN: &str = "A miss brings a line into the cache. Bytes count as used if they are read or written before \
    the line's next miss. Where few are used, most of what is fetched is fetched for nothing.";

/// An object is shown if it has at least one in this many of all misses.
const LEAST_SHARE: u64 = 100;

/// The section: a table of at most `most` rows, or of none if nothing missed.
pub(super) fn section(profile: &Profile, most: usize, left_out: fn(usize) -> String) -> Section {
    let (lines, small) = shown(profile);
    let row = |it: &ObjectLines<'_>| {
        let [misses, brought, used] = it.numbers();
        vec![misses, brought, used, it.name().to_owned()]
    };
    let columns = TableColumn::all(&["misses", "bytes brought", "used", "data"], &[3]);
    let mut table = Table::new(columns, lines.iter().map(row));
    table.hidden = small;
    let title = "Bytes used of the lines that misses bring in";
    let section = Section::new("lines", title, EXPLAIN).with_aside(of_what(profile));
    section.with_table(table).first(most, left_out)
}

/// All data together, and then the objects, the most misses first; and how many objects are too
/// small to be shown. Empty if nothing missed, or the profile has no causes.
pub(super) fn shown(profile: &Profile) -> (Vec<ObjectLines<'_>>, usize) {
    let mut lines = of(profile);
    let missing = lines.iter().take_while(|it| it.causes.fills > 0).count();
    lines.truncate(missing);
    let all = lines.first().map_or(0, |all| all.causes.fills);
    let is_shown = |it: &&ObjectLines<'_>| it.causes.fills.saturating_mul(LEAST_SHARE) >= all;
    let shown = lines.iter().take_while(is_shown).count();
    let small = lines.split_off(shown).len();
    (lines, small)
}

/// All data together, and then every object with causes, the most misses first. Empty if no access
/// has causes.
pub(super) fn of(profile: &Profile) -> Vec<ObjectLines<'_>> {
    let Some(causes) = &profile.causes else {
        return Vec::new();
    };
    let mut sums: BTreeMap<Option<u32>, CellCauses> = BTreeMap::new();
    for cell in profile.cells.iter().filter(|it| !it.causes.is_empty()) {
        for object in [None, Some(cell.object)] {
            sums.entry(object).or_default().merge(&cell.causes);
        }
    }
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
            brought: sum.fills.saturating_mul(line),
            causes: sum,
            sampled: is_sampled.then(|| known.copied().unwrap_or(unknown)),
        }
    });
    let mut lines: Vec<ObjectLines<'_>> = lines.collect();
    lines.sort_by_key(|it| (it.object.is_some(), std::cmp::Reverse(it.causes.fills)));
    lines
}

/// The cache that the misses are of, and the sample if one was counted: `of L2 512 KiB; estimates
/// from a sample of 1.00 % of the lines, bounds with 95 % confidence`.
fn of_what(profile: &Profile) -> String {
    let Some(causes) = &profile.causes else {
        return String::new();
    };
    let cache = match profile.machine.cache_of_size(causes.cache) {
        Some(cache) => format!("{} {}", cache.name(), cache.size),
        None => format!("a cache of {}", causes.cache),
    };
    match estimates(causes) {
        None => format!("of {cache}"),
        Some(estimates) => format!("of {cache}; {estimates}, bounds with 95 % confidence"),
    }
}

/// The remark that counts of lines, objects and fields are estimates, with the rate of the sample;
/// nothing if all lines were counted.
pub(super) fn estimates(causes: &Causes) -> Option<String> {
    let rate = ratio_percent(causes.sample_rate?);
    Some(format!("estimates from a sample of {rate} of the lines"))
}
