//! A sample of the items, against all of them.

use reuselens_causes::{CauseCounts, CauseOptions};
use reuselens_locality::{Causes, CellCauses};
use reuselens_units::{Bytes, Granularity};

use crate::random_trace::{Random, RandomTrace};

/// The counts of the accesses to some items, with the distances that they have among all.
fn count(
    trace: &RandomTrace,
    sample: Option<f64>,
    is_sampled: impl Fn(u64) -> bool,
) -> (Vec<CellCauses>, Causes) {
    let options = CauseOptions {
        line_use: true,
        sharing: true,
        phases: true,
        cache: Bytes(64 * 40),
        ..CauseOptions::default()
    };
    let mut counts = match sample {
        Some(rate) => CauseCounts::of_sample(options, rate),
        None => CauseCounts::new(options),
    };
    counts.add_cells(trace.cells.iter().copied());
    for at in (0..trace.len()).filter(|at| is_sampled(trace.items[*at])) {
        counts.process(&trace.columns(at..at + 1));
    }
    counts.finish(&trace.places)
}

/// Fills and utilisation of all cells together.
fn all(cells: &[CellCauses]) -> (u64, f64) {
    let mut sum = CellCauses::default();
    cells.iter().for_each(|cell| sum.merge(cell));
    (sum.fills, sum.utilisation(64).unwrap_or(0.0))
}

#[test]
fn the_bound_of_a_sample_holds_as_often_as_it_promises() {
    let (mut held, mut tried, mut widest) = (0, 0, 0.0_f64);
    for seed in 0..1000 {
        let mut random = Random::new(seed);
        let mut trace = RandomTrace::with(&mut random, Granularity::LINE_64, 2500, 300);
        // Items are used differently.
        for (bytes, item) in trace.bytes.iter_mut().zip(&trace.items) {
            *bytes &= u64::MAX >> (item % 40);
            *bytes |= 1;
        }
        let rate = [0.25, 0.5][random.below(2)];
        let limit = (rate * 1000.0) as usize;
        let (_, truth) = all(&count(&trace, None, |_| true).0);
        let is_sampled = |item: u64| Random::new(item * 1009 + seed).below(1000) < limit;
        let (cells, causes) = count(&trace, Some(rate), is_sampled);
        let sampled = causes.sampled_use[0];
        assert_eq!(sampled.object, None);
        assert!((all(&cells).1 - sampled.utilisation).abs() < 0.02);
        tried += 1;
        held += u32::from((sampled.utilisation - truth).abs() <= sampled.half_width);
        widest = widest.max(sampled.half_width);
    }
    assert!(
        f64::from(held) >= 0.92 * f64::from(tried),
        "{held} of {tried}"
    );
    assert!(widest < 0.2, "{widest}");
}

#[test]
fn a_sample_of_all_items_has_their_counts_and_no_error() {
    let mut random = Random::new(3);
    let trace = RandomTrace::with(&mut random, Granularity::LINE_64, 2000, 100);
    let (cells, causes) = count(&trace, None, |_| true);
    let (sampled_cells, sampled) = count(&trace, Some(1.0), |_| true);
    let lines = |cell: &CellCauses| (cell.fills, cell.used_bytes, cell.single_use_fills);
    let of_cells = |cells: &[CellCauses]| cells.iter().map(lines).collect::<Vec<_>>();
    assert_eq!(of_cells(&sampled_cells), of_cells(&cells));
    assert_eq!(sampled.elements, causes.elements);
    assert!(sampled.shared.is_empty() && sampled.phases.intervals.is_empty());
    assert!(causes.sampled_use.is_empty());
    assert!(sampled.sampled_use.iter().all(|it| it.half_width == 0.0));
}

#[test]
fn counts_of_a_sample_are_scaled_and_few_items_have_no_bound() {
    let mut random = Random::new(4);
    let trace = RandomTrace::with(&mut random, Granularity::LINE_64, 2000, 10);
    let only = |item: u64| item == trace.items[0];
    let (alone, _) = count(&trace, None, only);
    let (scaled, causes) = count(&trace, Some(0.125), only);
    assert_eq!(all(&scaled), (all(&alone).0 * 8, all(&alone).1));
    assert!(
        causes
            .sampled_use
            .iter()
            .all(|it| (it.items, it.half_width) == (1, 1.0))
    );
}
