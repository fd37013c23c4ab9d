//! [`groups_csv`] and [`histogram_csv`]: groups and histograms as comma-separated values (RFC
//! 4180).

use reuselens_document::csv::push;
use reuselens_locality::Histogram;
use reuselens_profile::{Dimension, Profile};

use crate::caches::{self, Level};
use crate::json::Bins;

/// The groups of several dimensions, a row for each: `by, name, accesses, cold, mean, max`, and the
/// misses of each cache of the machine as `misses_L1d` and so on. The first row names the columns.
///
/// With coherent caches the last column is `invalidated`, which `cold` does not contain. Misses are
/// those of fully associative LRU caches. Rows are ordered as the dimensions are given, and by
/// accesses within one.
pub fn groups_csv(profile: &Profile, by: &[Dimension]) -> String {
    let levels = caches::levels(profile);
    let coherent = profile.invalidations().is_some();
    let mut out = head(&levels, coherent);
    for group in by.iter().flat_map(|by| profile.groups(*by)) {
        let mut row = vec![
            group.by.to_string(),
            group.name.clone(),
            group.accesses.to_string(),
            group.cold.to_string(),
            group.mean.to_string(),
            group.max.to_string(),
        ];
        row.extend(
            levels
                .iter()
                .map(|level| group.misses(level.items).to_string()),
        );
        row.extend(coherent.then(|| group.invalidated.to_string()));
        push(&mut out, &row);
    }
    out
}

/// The histogram of all accesses, a row for each bin: `low, high, low_bytes, high_bytes,
/// accesses`, ascending; last the cold accesses, whose distances are empty (with coherent caches
/// two rows: first touches, then invalidated accesses). The first row names the columns.
pub fn histogram_csv(profile: &Profile, bins: Bins) -> String {
    let histogram = &profile.histogram;
    let rows: Vec<(u64, u64, u64)> = match bins {
        Bins::Log2 => histogram.log2().iter().collect(),
        Bins::Exact => Histogram::bins(histogram).collect(),
    };
    let bytes = |items: u64| items.saturating_mul(profile.granularity.bytes());
    let mut out = "low,high,low_bytes,high_bytes,accesses\r\n".to_owned();
    for (low, high, count) in rows {
        out.push_str(&format!(
            "{low},{high},{},{},{count}\r\n",
            bytes(low),
            bytes(high)
        ));
    }
    let without = [Some(profile.first_touches()), profile.invalidations()];
    for count in without.into_iter().flatten() {
        out.push_str(&format!(",,,,{count}\r\n"));
    }
    out
}

/// The names of the columns: those of the caches come after those of all profiles, and last that of
/// coherent caches.
pub(crate) fn columns(levels: &[Level], coherent: bool) -> Vec<String> {
    let fixed = ["by", "name", "accesses", "cold", "mean", "max"].map(str::to_owned);
    let misses = levels
        .iter()
        .map(|level| format!("misses_{}", level.short()));
    let last = coherent.then(|| "invalidated".to_owned());
    fixed.into_iter().chain(misses).chain(last).collect()
}

fn head(levels: &[Level], coherent: bool) -> String {
    let mut out = String::new();
    push(&mut out, &columns(levels, coherent));
    out
}
