//! The data and the accesses of a program that do not grow with its input ([`fixed_data`],
//! [`fixed_work`]): its start, its tables, its libraries.

use std::collections::BTreeMap;

use reuselens_locality::{FineHistogram, Profile};

use crate::program::{By, name};

/// Data that do not grow, in items: the sum of the cold accesses of all lines that have equally
/// many in every run, to within a twentieth or one. That is the start of a program, its tables and
/// its libraries.
///
/// Published predictions take the size of all data; with inputs not much larger than the start of
/// the program, no way of growing fits then.
pub fn fixed_data(profiles: &[&Profile]) -> f64 {
    fixed(profiles, FineHistogram::cold).0
}

/// Accesses that do not grow: the sum of the accesses of all lines that have equally many in every
/// run, to within a twentieth or one. That is the start of a program; what it does with its input
/// grows faster than all of it together.
///
/// It is 0 if its possible error is more than a tenth of the other accesses of the smallest run.
pub fn fixed_work(profiles: &[&Profile]) -> f64 {
    let (fixed, off) = fixed(profiles, FineHistogram::accesses);
    let accesses = profiles.iter().map(|profile| profile.histogram.accesses());
    let left = accesses.min().unwrap_or(0) as f64 - fixed;
    if off <= left / 10.0 { fixed } else { 0.0 }
}

/// The sum over the lines that have equally much in every run, and the sum of their differences.
fn fixed(profiles: &[&Profile], count: fn(&FineHistogram) -> u64) -> (f64, f64) {
    let mut runs = profiles.iter().map(|profile| by_line(profile, count));
    let mut spans: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for (line, count) in runs.next().unwrap_or_default() {
        spans.insert(line, (count, count));
    }
    for run in runs {
        for (line, (low, high)) in &mut spans {
            let count = run.get(line).copied().unwrap_or(0);
            (*low, *high) = ((*low).min(count), (*high).max(count));
        }
    }
    let stays = |(low, high): &&(u64, u64)| high - low <= (low / 20).max(1);
    let fixed = spans.values().filter(stays);
    fixed.fold((0.0, 0.0), |(sum, off), (low, high)| {
        (sum + *low as f64, off + (high - low) as f64)
    })
}

/// A count of each line.
fn by_line(profile: &Profile, count: fn(&FineHistogram) -> u64) -> BTreeMap<String, u64> {
    let names = profile.sites.iter();
    let names: Vec<String> = names
        .map(|site| name(By::Line, &site.module, site.offset, site.frames.first()))
        .collect();
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for cell in &profile.cells {
        if let Some(name) = names.get(cell.site as usize) {
            *sums.entry(name.clone()).or_default() += count(&cell.histogram);
        }
    }
    sums
}
