//! What is said of lines whose data crowd into few sets of a cache.

use std::collections::BTreeMap;

use reuselens_locality::{Crowding, Profile, Warning};
use reuselens_units::Bytes;

use crate::caches::Level;
use crate::numbers::{count, grouped, noun};

/// Lines that have a warning of their own.
const MOST: usize = 3;

/// The warnings of a profile, and one for each of the lines that crowd most.
pub(crate) fn all_warnings(profile: &Profile, crowding: &[Crowding]) -> Vec<Warning> {
    let mut warnings = profile.warnings.clone();
    warnings.extend(crowded_warnings(profile, crowding));
    warnings
}

/// Misses of the whole in a cache with its sets: by the model of random sets, and more where lines are known to crowd.
pub(crate) fn with_sets(profile: &Profile, level: &Level, crowding: &[Crowding]) -> Option<u64> {
    let histogram = &profile.histogram;
    let misses = level.set_associative(histogram)?;
    let excess = crowding
        .iter()
        .filter(|one| one.is_crowded && one.cache == level.short());
    let excess = excess.fold(0, |sum: u64, one| sum.saturating_add(one.excess()));
    Some(misses.saturating_add(excess).min(histogram.accesses()))
}

/// That number where it says something else than the fully associative one: it differs by more than a tenth.
pub(crate) fn differing(profile: &Profile, level: &Level, crowding: &[Crowding]) -> Option<u64> {
    let full = profile.histogram.misses(level.items);
    with_sets(profile, level, crowding).filter(|sets| sets.abs_diff(full) > full / 10)
}

fn crowded_warnings(profile: &Profile, crowding: &[Crowding]) -> Vec<Warning> {
    // In the order of what they cost.
    let mut by_line: Vec<Vec<&Crowding>> = Vec::new();
    for one in crowding.iter().filter(|one| one.is_crowded) {
        let same = |levels: &&mut Vec<&Crowding>| {
            (&levels[0].line, &levels[0].object) == (&one.line, &one.object)
        };
        match by_line.iter_mut().find(same) {
            Some(levels) => levels.push(one),
            None => by_line.push(vec![one]),
        }
    }
    let more = by_line.len().saturating_sub(MOST);
    by_line.truncate(MOST);
    let line = profile.granularity.bytes();
    let warning = |(index, mut levels): (usize, Vec<&Crowding>)| {
        // The first cache first: what it says is sure.
        levels.sort_by_key(|one| !one.sure);
        let others = match more {
            more if more == 0 || index + 1 < MOST => String::new(),
            1 => "; so does another line, less".to_owned(),
            more => format!("; so do {more} others, less"),
        };
        Warning {
            code: "crowded-sets".to_owned(),
            message: message(&levels) + &others,
            hint: hint(levels.iter().find_map(|one| one.stride), line),
        }
    };
    by_line.into_iter().enumerate().map(warning).collect()
}

fn message(levels: &[&Crowding]) -> String {
    let Some(first) = levels.first() else {
        return String::new();
    };
    let parts: Vec<String> = levels.iter().map(|one| cache(one)).collect();
    format!(
        "{} crowds {} into few sets: it comes back to a line after about {} others, in {}",
        first.line,
        first.object,
        grouped(first.between),
        parts.join("; in ")
    )
}

fn cache(one: &Crowding) -> String {
    let unsure = match one.sure {
        true => "",
        false => ", by virtual addresses (physical pages decide)",
    };
    format!(
        "{} of the {} sets of {}, which {} room for {}{unsure}: about {} misses, where lines spread over all sets would have {}",
        grouped(one.used),
        grouped(one.sets),
        one.cache,
        if one.used == 1 { "has" } else { "have" },
        noun(one.room(), "line", "lines"),
        count(one.misses),
        count(one.at_random)
    )
}

/// What to do, with the distance that its data have and could have.
fn hint(stride: Option<u64>, line: u64) -> String {
    let Some(stride) = stride.filter(|bytes| *bytes > 0) else {
        return format!(
            "let rows not begin a large power of two apart: lengthen each by a line ({line} bytes), or work on a copy of the block"
        );
    };
    format!(
        "its data lie {} apart: if that is a row, pad it to {} bytes (one line of {line} more); if it is several rows, pad each by \
         a line; or work on a copy of the block",
        bytes(stride),
        grouped(stride + line)
    )
}

/// Few bytes as they are, many also in KiB.
fn bytes(bytes: u64) -> String {
    match bytes {
        10_000.. => format!("{} ({} bytes)", Bytes(bytes), grouped(bytes)),
        few => format!("{} bytes", grouped(few)),
    }
}

/// A line and an object in one cache, before and after; one that is not known in one of them is missing there.
pub(crate) struct Change<'a> {
    /// The line, the object and the cache.
    pub(crate) of: &'a Crowding,
    pub(crate) before: Option<&'a Crowding>,
    pub(crate) after: Option<&'a Crowding>,
}

impl Change<'_> {
    /// `1 of 64`, or what is known without that: `spread` where it is not crowded, `—` where it is not there.
    pub(crate) fn sets(one: Option<&Crowding>) -> String {
        match one {
            Some(one) => format!("{} of {}", grouped(one.used), grouped(one.sets)),
            None => "—".to_owned(),
        }
    }

    /// The misses with the real sets.
    pub(crate) fn misses(one: Option<&Crowding>) -> String {
        one.map_or("—".to_owned(), |one| count(one.misses))
    }
}

/// The lines that are crowded in one of two profiles, those that cost or gain the most first.
pub(crate) fn changes<'a>(before: &'a [Crowding], after: &'a [Crowding]) -> Vec<Change<'a>> {
    type Key<'a> = (&'a str, &'a str, &'a str);
    let key = |one: &'a Crowding| -> Key<'a> { (&one.line, &one.object, &one.cache) };
    let index = |all: &'a [Crowding]| -> BTreeMap<Key<'a>, &'a Crowding> {
        all.iter().map(|one| (key(one), one)).collect()
    };
    let (old, new) = (index(before), index(after));
    let mut crowded: BTreeMap<Key<'a>, &'a Crowding> = BTreeMap::new();
    for one in before.iter().chain(after).filter(|one| one.is_crowded) {
        crowded.entry(key(one)).or_insert(one);
    }
    let change = |(key, of): (&Key<'a>, &&'a Crowding)| Change {
        of,
        before: old.get(key).copied(),
        after: new.get(key).copied(),
    };
    let mut changes: Vec<Change<'a>> = crowded.iter().map(change).collect();
    let excess = |one: Option<&Crowding>| one.map_or(0, Crowding::excess);
    changes.sort_by_key(|one| std::cmp::Reverse(excess(one.before).max(excess(one.after))));
    changes
}

/// What such a table is.
pub(crate) const TITLE: &str = "Lines that crowd their data into few sets of a cache";
