//! Reuse times and footprints against counting them window by window.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use reuselens_locality::{FineHistogram, ReuseTimeCounts, ReuseTimes};
use reuselens_units::Distance;

/// By the definition: when was each item accessed before, and when last?
fn times(items: &[u8]) -> ReuseTimes {
    let mut last = HashMap::new();
    let between = items.iter().enumerate().map(|(now, item)| {
        let before: Option<usize> = last.insert(item, now);
        before.map(|before| (now - before - 1) as u64)
    });
    let mut counts = ReuseTimeCounts::new();
    let between: Vec<Option<u64>> = between.collect();
    let (head, tail) = between.split_at(between.len() / 3);
    counts.add_column(head.iter().copied());
    counts.add_column(tail.iter().copied());
    counts.finish(last.values().map(|at| (items.len() - 1 - at) as u64))
}

/// Distinct items of every window, summed, and the number of windows.
fn windows(items: &[u8], window: usize) -> (usize, usize) {
    let distinct = |window: &[u8]| window.iter().collect::<HashSet<_>>().len();
    let sizes = items.windows(window).map(distinct);
    sizes.fold((0, 0), |(sum, number), size| (sum + size, number + 1))
}

proptest! {
    #[test]
    fn footprints_are_means_over_all_windows(
        runs in prop::collection::vec(prop::collection::vec(0..12_u8, 0..120), 1..4),
    ) {
        let mut all = ReuseTimes::default();
        for run in &runs {
            all.merge(&times(run));
        }
        let curve = all.footprint_curve();
        let longest = runs.iter().map(Vec::len).max().unwrap_or(0);
        let expected = (1..FineHistogram::BINS).map(|bin| FineHistogram::range(bin).0);
        let expected: Vec<u64> = expected.take_while(|window| *window <= longest as u64).collect();
        prop_assert_eq!(curve.iter().map(|point| point.0).collect::<Vec<_>>(), expected);
        for &(window, items) in &curve {
            let (sum, number) = runs
                .iter()
                .map(|run| windows(run, window as usize))
                .fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
            prop_assert!((items - sum as f64 / number as f64).abs() < 1e-9, "{window}: {items}");
            prop_assert_eq!(all.footprint(window), Some(items));
        }
    }

    #[test]
    fn reuse_times_add_up_and_are_stored(items in prop::collection::vec(0..9_u8, 0..300)) {
        let times = times(&items);
        let histogram = times.histogram();
        let mut expected = FineHistogram::new();
        let mut last = HashMap::new();
        for (now, item) in items.iter().enumerate() {
            let before = last.insert(item, now);
            let between = before.map_or(Distance::COLD, |before| Distance::new((now - before - 1) as u64));
            expected.add(between, 1);
        }
        prop_assert_eq!(&histogram, &expected);
        prop_assert_eq!(histogram.accesses(), items.len() as u64);
        let text = serde_json::to_string(&times).unwrap();
        prop_assert_eq!(&serde_json::from_str::<ReuseTimes>(&text).unwrap(), &times);
    }
}

#[test]
fn longest_window_has_all_items() {
    let items: Vec<u8> = (0..=255).cycle().take(1 << 10).collect();
    let times = times(&items);
    assert_eq!(times.footprint(1), Some(1.0));
    assert_eq!(times.footprint(100), Some(100.0));
    assert_eq!(times.footprint(1 << 10), Some(256.0));
    assert_eq!(times.footprint(u64::MAX), Some(256.0));
    assert_eq!(times.mean(), Some(255.0));
}
