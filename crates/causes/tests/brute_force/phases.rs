//! Intervals, and sums of phases. Which intervals are alike is a matter of cases.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use reuselens_causes::{CauseCell, CauseCounts, CauseOptions, CellPlace, MissColumns, NO_OFFSET};
use reuselens_profile::{ObjectMisses, RunPhases};
use reuselens_units::{Bytes, Distance};

use crate::random_trace::RandomTrace;
use crate::{cases, count};

/// Intervals of the smallest power of two of which there are at most 256.
fn intervals(length: usize) -> Vec<Range<usize>> {
    let mut size = 1;
    while length.div_ceil(size) > 256 {
        size *= 2;
    }
    let begins = (0..length).step_by(size);
    begins
        .map(|begin| begin..length.min(begin + size))
        .collect()
}

fn misses(trace: &RandomTrace, options: &CauseOptions, range: Range<usize>) -> Vec<usize> {
    let cache = options.cache.get() / options.granularity.bytes();
    let missed = |at: &usize| {
        trace.distances[*at]
            .items()
            .is_none_or(|items| items >= cache)
    };
    range.filter(missed).collect()
}

#[test]
fn intervals_count_accesses_misses_first_touches_and_distinct_items() {
    let mut merged = 0;
    for (trace, options) in cases() {
        let (_, causes) = count(&trace, &options, 1);
        let ranges = intervals(trace.len());
        merged += u64::from(ranges[0].len() > 4);
        assert_eq!(causes.phases.intervals.len(), ranges.len());
        for (interval, range) in causes.phases.intervals.iter().zip(ranges) {
            let items: BTreeSet<u64> = trace.items[range.clone()].iter().copied().collect();
            let firsts = trace.distances[range.clone()].iter();
            let firsts = firsts.filter(|distance| distance.is_cold()).count();
            let missed = misses(&trace, &options, range.clone()).len();
            assert_eq!(interval.accesses, range.len() as u64);
            assert_eq!(interval.misses, missed as u64);
            assert_eq!(interval.first_touches, firsts as u64);
            assert_eq!(interval.footprint, items.len() as u64);
        }
    }
    assert!(merged > 20, "{merged}");
}

#[test]
fn phases_are_sums_of_their_intervals() {
    for (trace, options) in cases() {
        let RunPhases {
            intervals: got,
            phases,
        } = count(&trace, &options, 1).1.phases;
        let mut firsts: Vec<u32> = Vec::new();
        let mut sums = vec![(0, 0, BTreeMap::<u32, u64>::new()); phases.len()];
        for (interval, range) in got.iter().zip(intervals(trace.len())) {
            if !firsts.contains(&interval.phase) {
                firsts.push(interval.phase);
            }
            let sum = &mut sums[interval.phase as usize];
            sum.0 += interval.accesses;
            sum.1 += interval.misses;
            for at in misses(&trace, &options, range) {
                let object = trace.places[trace.in_cells[at] as usize].object;
                *sum.2.entry(object).or_default() += 1;
            }
        }
        // Numbered by their first interval, and none without one.
        assert_eq!(firsts, (0..phases.len() as u32).collect::<Vec<_>>());
        assert!(phases.len() <= 16);
        for (phase, sum) in phases.iter().zip(sums) {
            let objects = sum.2.into_iter();
            let mut objects: Vec<ObjectMisses> = objects
                .map(|(object, misses)| ObjectMisses { object, misses })
                .collect();
            objects.sort_by_key(|it| u64::MAX - it.misses);
            assert_eq!((phase.accesses, phase.misses), (sum.0, sum.1));
            assert_eq!(phase.objects, objects);
        }
    }
}

/// The phases of accesses of which `cell` gives the cell, or `None` for a hit.
fn phases_of(length: usize, cell: impl Fn(usize) -> Option<u32>) -> RunPhases {
    let mut counts = CauseCounts::new(CauseOptions {
        phases: true,
        cache: Bytes(1 << 10),
        ..CauseOptions::default()
    });
    let object = |object| CauseCell {
        object,
        ..CauseCell::default()
    };
    counts.add_cells((0..40).map(object));
    for at in 0..length {
        let distance = match cell(at) {
            Some(_) => Distance::new(1000),
            None => Distance::ZERO,
        };
        counts.process(&MissColumns {
            thread: 0,
            items: &[7],
            distances: &[distance],
            cells: &[cell(at).unwrap_or(0)],
            bytes: &[1],
            stores: &[false],
            offsets: &[NO_OFFSET],
        });
    }
    let place = |object| CellPlace { site: 0, object };
    counts
        .finish(&(0..40).map(place).collect::<Vec<_>>())
        .1
        .phases
}

fn numbers(phases: &RunPhases) -> Vec<u32> {
    phases
        .intervals
        .iter()
        .map(|interval| interval.phase)
        .collect()
}

#[test]
fn loops_over_other_objects_are_other_phases_and_return() {
    // Each stretch is 64 intervals of 4 accesses, of which one misses.
    let phases = phases_of(1024, |at| (at % 4 == 0).then_some((at / 256 % 2) as u32));
    assert_eq!(phases.phases.len(), 2);
    let right = [[0; 64], [1; 64], [0; 64], [1; 64]].concat();
    assert_eq!(numbers(&phases), right);
    let of_second = ObjectMisses {
        object: 1,
        misses: 128,
    };
    assert_eq!(phases.phases[1].objects, [of_second]);
}

#[test]
fn other_miss_ratios_of_one_object_are_other_phases() {
    // All of 8 accesses miss in the first half, one of 8 in the second.
    let phases = phases_of(2048, |at| (at < 1024 || at % 8 == 0).then_some(3));
    assert_eq!(numbers(&phases), [[0; 128], [1; 128]].concat());
    // A third more or less is the same phase.
    let phases = phases_of(2048, |at| (at % 8 < 4 + 2 * (at / 1024)).then_some(3));
    assert_eq!(numbers(&phases), [0; 256]);
}

#[test]
fn an_interval_between_two_phases_is_no_phase() {
    // Interval 100 is half of each.
    let phases = phases_of(1024, |at| Some(u32::from(at >= 402)));
    let first = 100 + usize::from(numbers(&phases)[100] == 0);
    assert_eq!(
        numbers(&phases),
        [vec![0; first], vec![1; 256 - first]].concat()
    );
}

#[test]
fn there_are_at_most_sixteen_phases() {
    let phases = phases_of(1024, |at| Some((at / 26) as u32));
    assert_eq!(phases.phases.len(), 16);
    assert_eq!(
        phases
            .phases
            .iter()
            .map(|phase| phase.accesses)
            .sum::<u64>(),
        1024
    );
}
