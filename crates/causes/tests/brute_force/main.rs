//! All counts equal those that follow from their definitions, on random traces that are cut into
//! pieces anywhere. The definitions share no code with the crate.

mod conflicts;
mod line_use;
mod phases;
mod random_trace;
mod sample;
mod sharing;

use random_trace::{Random, RandomTrace};
use reuselens_causes::{CauseCounts, CauseOptions};
use reuselens_profile::{Causes, CellCauses, SetCache};
use reuselens_units::{Bytes, Granularity};

/// Traces that are tried.
const TRACES: u64 = 1500;

/// Random traces, and the options that all analyses run with.
fn cases() -> impl Iterator<Item = (RandomTrace, CauseOptions)> {
    (0..TRACES).map(|seed| {
        let mut random = Random::new(seed);
        let granularity = Granularity::new([16, 64, 64, 64, 256][random.below(5)]).unwrap();
        let trace = RandomTrace::new(&mut random, granularity);
        let sizes = [(4, 1), (1, 3), (3, 2), (8, 2), (6, 4)];
        let caches = (0..random.below(5)).map(|at| SetCache {
            name: format!("cache {at}"),
            size: Bytes(sizes[at].0 * sizes[at].1 * granularity.bytes()),
            sets: sizes[at].0,
            ways: sizes[at].1,
            ..SetCache::default()
        });
        let options = CauseOptions {
            granularity,
            cache: Bytes(granularity.bytes() * (1 + random.below(12) as u64)),
            line_use: true,
            sharing: true,
            phases: true,
            set_caches: caches.collect(),
            carried: None,
        };
        (trace, options)
    })
}

/// The counts of a trace, cut into pieces where threads change and elsewhere.
fn count(trace: &RandomTrace, options: &CauseOptions, seed: u64) -> (Vec<CellCauses>, Causes) {
    let mut random = Random::new(seed);
    let mut counts = CauseCounts::new(options.clone());
    for piece in trace.pieces(&mut random) {
        let known = counts.cells();
        let needed = trace.cells_up_to(piece.end);
        counts.add_cells(trace.cells[known..needed.max(known)].iter().copied());
        counts.process(&trace.columns(piece));
    }
    let known = counts.cells();
    counts.add_cells(trace.cells[known..].iter().copied());
    counts.finish(&trace.places)
}

#[test]
fn pieces_cut_anywhere_have_equal_counts() {
    for (trace, options) in cases().take(300) {
        let counts = count(&trace, &options, 1);
        for seed in 2..5 {
            assert!(counts == count(&trace, &options, seed), "{options:?}");
        }
    }
}

#[test]
fn each_analysis_alone_has_the_counts_that_it_has_beside_others() {
    for (trace, options) in cases().take(100) {
        let (cells, causes) = count(&trace, &options, 1);
        let alone = CauseOptions {
            granularity: options.granularity,
            cache: options.cache,
            ..CauseOptions::default()
        };
        let only = |options: CauseOptions| count(&trace, &options, 1);
        let (line_cells, lines) = only(CauseOptions {
            line_use: true,
            ..alone.clone()
        });
        assert_eq!(lines.elements, causes.elements);
        let (sharing_cells, sharing) = only(CauseOptions {
            sharing: true,
            ..alone.clone()
        });
        assert_eq!(sharing.shared, causes.shared);
        let (_, phases) = only(CauseOptions {
            phases: true,
            ..alone.clone()
        });
        assert_eq!(phases.phases, causes.phases);
        let (set_cells, sets) = only(CauseOptions {
            set_caches: options.set_caches,
            ..alone
        });
        assert_eq!(sets.set_caches, causes.set_caches);
        for (at, mut cell) in line_cells.into_iter().enumerate() {
            cell.merge(&sharing_cells[at]);
            cell.merge(&set_cells[at]);
            assert_eq!(cell, cells[at]);
        }
    }
}

#[test]
fn memory_does_not_grow_with_the_length_of_a_trace() {
    let mut random = Random::new(5);
    let trace = RandomTrace::with(&mut random, Granularity::LINE_64, 2000, 60);
    let options = CauseOptions {
        line_use: true,
        sharing: true,
        phases: true,
        set_caches: vec![SetCache {
            sets: 4,
            ways: 2,
            ..SetCache::default()
        }],
        ..CauseOptions::default()
    };
    let mut counts = CauseCounts::new(options);
    counts.add_cells(trace.cells.iter().copied());
    let mut held = Vec::new();
    for _ in 0..60 {
        for piece in trace.pieces(&mut random) {
            counts.process(&trace.columns(piece));
        }
        held.push(counts.memory().get());
    }
    // Intervals fill up, and pairs of accesses turn up, at the beginning only.
    assert!(held[59] <= held[20] + held[20] / 4, "{held:?}");
    assert!(held[59] > 60 * 40, "{held:?}");
}
