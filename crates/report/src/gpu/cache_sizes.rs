//! The table of caches of any size: which share of a kernel's loads would hit in a cache of each
//! multiprocessor, in one of each that others' stores invalidate, and in one of all.

use reuselens_document::numbers::{DASH, count, percent};
use reuselens_locality::Log2Histogram;
use reuselens_units::Bytes;

use super::sums::KernelSum;

/// The title of the table.
pub(super) const TITLE: &str = "Caches of multiprocessors, by size";

/// Words below the table.
pub(super) const LEGEND: &str = "Share of the loads of lines of 128 bytes that hit, in caches without sets. own: one for each \
multiprocessor, empty at each launch. invalidated: so too, but a line is lost when another multiprocessor stores to it. shared: one \
for all. new: loads of lines that the cache never had; lost: of lines that a store invalidated.";

/// Bytes of a line, as the distances have them.
const LINE: u64 = 128;

/// Sizes of caches, in bytes: powers of two, at which the counts by powers of two are exact.
const SIZES: [u64; 6] = [32 << 10, 128 << 10, 256 << 10, 1 << 20, 8 << 20, 64 << 20];

/// Columns of words.
pub(super) const WORDS: [usize; 2] = [0, 1];

/// Heads of [`rows`].
pub(super) fn heads() -> Vec<String> {
    let words = ["kernel", "cache", "loads", "new", "lost"].map(str::to_owned);
    let sizes = SIZES.map(|bytes| Bytes(bytes).to_string());
    words.into_iter().chain(sizes).collect()
}

/// Three rows for each kernel whose distances were measured, and that loads.
pub(super) fn rows(kernels: &[KernelSum]) -> Vec<Vec<String>> {
    let of_kernel = |kernel: &KernelSum| {
        let distances = kernel.cache_distances.as_ref()?;
        let row = |cache, histogram, lost| row(&kernel.name, cache, histogram, lost);
        let rows = [
            row("own", &distances.private, None),
            row(
                "invalidated",
                &distances.coherent,
                Some(distances.invalidated),
            ),
            row("shared", &distances.shared, None),
        ];
        (distances.shared.accesses() > 0).then_some(rows)
    };
    kernels.iter().filter_map(of_kernel).flatten().collect()
}

fn row(kernel: &str, cache: &str, histogram: &Log2Histogram, lost: Option<u64>) -> Vec<String> {
    let loads = histogram.accesses();
    let new = histogram.cold() - lost.unwrap_or(0);
    let mut row = vec![
        kernel.to_owned(),
        cache.to_owned(),
        count(loads),
        percent(new, loads),
        lost.map_or_else(|| DASH.to_owned(), |lost| percent(lost, loads)),
    ];
    row.extend(SIZES.map(|bytes| percent(hits(histogram, bytes / LINE), loads)));
    row
}

/// Loads that hit in a cache of this many lines, a power of two.
fn hits(histogram: &Log2Histogram, lines: u64) -> u64 {
    let near = histogram.iter().filter(|&(_, high, _)| high < lines);
    near.map(|(_, _, loads)| loads).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use reuselens_units::Distance;

    #[test]
    fn a_cache_of_n_lines_hits_below_distance_n() {
        let mut histogram = Log2Histogram::new();
        histogram.add(Distance::new(0), 1);
        histogram.add(Distance::new(255), 2);
        histogram.add(Distance::new(256), 4);
        histogram.add(Distance::new(511), 8);
        histogram.add(Distance::COLD, 5);
        assert_eq!(
            [256, 512, 1024].map(|lines| hits(&histogram, lines)),
            [3, 15, 15]
        );
        let row = row("k", "invalidated", &histogram, Some(3));
        let start = [
            "k",
            "invalidated",
            "20",
            "10.0 %",
            "15.0 %",
            "15.0 %",
            "75.0 %",
        ];
        assert_eq!(row[..7], start);
        assert_eq!(row.len(), heads().len());
    }
}
