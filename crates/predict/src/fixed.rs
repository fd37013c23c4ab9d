//! The data and the accesses of a program that do not grow with its input ([`fixed_data`],
//! [`fixed_accesses`]): its start, its tables, its libraries.

use std::collections::BTreeMap;

use reuselens_locality::{ExactHistogram, FineHistogram, Histogram};
use reuselens_profile::{Profile, Site};
use reuselens_units::Distance;

use crate::program::{By, name};

/// Data that do not grow, in items: the sum of the cold accesses of all lines that have equally
/// many in every run, to within a twentieth or one. That is the start of a program, its tables and
/// its libraries.
///
/// Published predictions take the size of all data; with inputs not much larger than the start of
/// the program, no way of growing fits then.
pub fn fixed_data(profiles: &[&Profile]) -> f64 {
    let lines = staying(profiles, FineHistogram::cold);
    lines.values().map(|line| line.0 as f64).sum()
}

/// Accesses of each run that do not grow: those of all lines that have equally many in every run,
/// to within a twentieth or one. That is the start of a program; what it does with its input grows
/// faster than all of it together.
///
/// There are none if their possible error is more than a tenth of the other accesses of the
/// smallest run.
pub fn fixed_accesses(profiles: &[&Profile]) -> Vec<ExactHistogram> {
    let lines = staying(profiles, FineHistogram::accesses);
    let sum = |of: fn(&(u64, u64)) -> u64| lines.values().map(of).sum::<u64>() as f64;
    let (fixed, most) = (sum(|line| line.0), sum(|line| line.1));
    let accesses = profiles.iter().map(|profile| profile.histogram.accesses());
    let left = accesses.min().unwrap_or(0) as f64 - fixed;
    let is_known = most - fixed <= left / 10.0;
    let start = |profile: &&Profile| {
        if is_known {
            exact(&profile.histogram, &histogram_of(profile, &lines))
        } else {
            ExactHistogram::new()
        }
    };
    profiles.iter().map(start).collect()
}

/// The distances of some lines.
fn histogram_of(profile: &Profile, lines: &BTreeMap<String, (u64, u64)>) -> FineHistogram {
    let names = names(profile);
    let mut sum = FineHistogram::new();
    for cell in &profile.cells {
        let name = names.get(cell.site as usize);
        if name.is_some_and(|name| lines.contains_key(name)) {
            sum.merge(&cell.histogram);
        }
    }
    sum
}

/// Distances that are known in bins, of which all are in `all`: a bin has its part of each distance
/// there.
fn exact(all: &ExactHistogram, some: &FineHistogram) -> ExactHistogram {
    let mut found = ExactHistogram::new();
    found.add(Distance::COLD, some.cold().min(all.cold()));
    let mut distances = all.iter().peekable();
    for (low, high, count) in some.bins() {
        while distances.peek().is_some_and(|(at, _)| *at < low) {
            distances.next();
        }
        let mut here = Vec::new();
        while let Some(next) = distances.next_if(|(at, _)| *at <= high) {
            here.push(next);
        }
        let sum: u64 = here.iter().map(|(_, count)| count).sum();
        let share = count.min(sum) as f64 / sum.max(1) as f64;
        // Rounded as a running sum, so that none is lost.
        let (mut passed, mut given) = (0, 0);
        for (distance, count) in here {
            passed += count;
            let until = (passed as f64 * share).round() as u64;
            found.add(Distance::new(distance), (until - given).min(count));
            given = until;
        }
    }
    found
}

/// The lines of which a count is equal in every run: the least and the most of each.
fn staying(
    profiles: &[&Profile],
    count: fn(&FineHistogram) -> u64,
) -> BTreeMap<String, (u64, u64)> {
    let mut runs = profiles.iter().map(|profile| by_line(profile, count));
    let Some(first) = runs.next() else {
        return BTreeMap::new();
    };
    let others: Vec<_> = runs.collect();
    let spans = first.iter().map(|(line, count)| {
        let counts = others.iter().map(|run| run.get(line).copied().unwrap_or(0));
        let span = |(low, high): (u64, u64), count: u64| (low.min(count), high.max(count));
        (line.clone(), counts.fold((*count, *count), span))
    });
    let stays = |(_, (low, high)): &(String, (u64, u64))| high - low <= (low / 20).max(1);
    spans.filter(stays).collect()
}

/// A count of each line.
fn by_line(profile: &Profile, count: fn(&FineHistogram) -> u64) -> BTreeMap<String, u64> {
    let names = names(profile);
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for cell in &profile.cells {
        if let Some(name) = names.get(cell.site as usize) {
            *sums.entry(name.clone()).or_default() += count(&cell.histogram);
        }
    }
    sums
}

/// The names of the lines of all sites.
fn names(profile: &Profile) -> Vec<String> {
    let name = |site: &Site| name(By::Line, &site.module, site.offset, site.frames.first());
    profile.sites.iter().map(name).collect()
}
