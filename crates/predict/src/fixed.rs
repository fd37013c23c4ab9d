//! Data that do not grow with the input.

use std::collections::BTreeMap;

use reuselens_locality::Profile;

use crate::program::{By, name};

/// Data that do not grow, in items: the sum over all lines of the items that each was the first to touch, where those
/// are as many in every run, but for a twentieth or one. That is the start of a program, its tables and its libraries.
///
/// Published predictions take the size of all data; with inputs not much larger than the start of the program, no way
/// of growing fits then.
pub fn fixed_data(profiles: &[&Profile]) -> f64 {
    let mut runs = profiles.iter().map(|profile| cold_by_line(profile));
    let mut spans: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for (line, cold) in runs.next().unwrap_or_default() {
        spans.insert(line, (cold, cold));
    }
    for run in runs {
        for (line, (low, high)) in &mut spans {
            let cold = run.get(line).copied().unwrap_or(0);
            (*low, *high) = ((*low).min(cold), (*high).max(cold));
        }
    }
    let stays = |(low, high): &&(u64, u64)| high - low <= (low / 20).max(1);
    let fixed: u64 = spans.values().filter(stays).map(|(low, _)| low).sum();
    fixed as f64
}

/// The items that each line was the first to touch.
fn cold_by_line(profile: &Profile) -> BTreeMap<String, u64> {
    let names = profile.sites.iter();
    let names: Vec<String> = names
        .map(|site| name(By::Line, &site.module, site.offset, site.frames.first()))
        .collect();
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for cell in &profile.cells {
        if let Some(name) = names.get(cell.site as usize) {
            *sums.entry(name.clone()).or_default() += cell.histogram.cold();
        }
    }
    sums
}
