//! Overflow bins against a map, and keys that are chosen to collide.

use super::*;
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::BTreeMap;

thread_local! {
    /// Slots that this thread looked at.
    pub(super) static PROBES: Cell<u64> = const { Cell::new(0) };
}

/// The lowest distance in the bin whose number is that of cold accesses.
const FIRST_FAR: u64 = (COLD as u64 - 10) * 1024;

/// Distances in few and in many bins, around where they become far, far ones, and none.
fn distances() -> impl Strategy<Value = u64> {
    let edge = FIRST_FAR - 3000..FIRST_FAR + 3000;
    prop_oneof![0..2_u64, 0..9000_u64, edge, any::<u64>(), Just(u64::MAX)]
}

/// Counts all of it; bins of owners from 0 to 9.
fn counted(more: &[(u32, u64)]) -> OverflowBins {
    let mut overflow_bins = OverflowBins::new();
    for (owner, items) in more {
        overflow_bins.add(*owner, Distance::new(*items));
    }
    overflow_bins.flush();
    overflow_bins
}

fn by_map(all: &[(u32, u64)]) -> BTreeMap<u32, PatternBins> {
    let mut map: BTreeMap<u32, PatternBins> = BTreeMap::new();
    for (owner, items) in all {
        map.entry(*owner).or_default().add(Distance::new(*items), 1);
    }
    map
}

fn check(overflow_bins: &OverflowBins, all: &[(u32, u64)]) {
    let (by_owner, map) = (overflow_bins.by_owner(10), by_map(all));
    for owner in 0..10 {
        let mut bins = PatternBins::new();
        by_owner.add_to(owner, &mut bins);
        assert_eq!(
            bins,
            map.get(&owner).cloned().unwrap_or_default(),
            "{owner}"
        );
    }
}

#[test]
fn far_bins_begin_at_the_number_of_cold_accesses() {
    assert_eq!(PatternBin::number(FIRST_FAR), u64::from(COLD));
    let near = counted(&[(1, FIRST_FAR - 1), (1, u64::MAX)]);
    assert_eq!((near.filled, near.far.len()), (2, 0));
    let far = counted(&[(1, FIRST_FAR), (1, u64::MAX - 1), (2, FIRST_FAR)]);
    assert_eq!((far.filled, far.far.len()), (0, 2));
    assert!(far.memory() > OverflowBins::new().memory());
}

proptest! {
    #[test]
    fn bins_are_those_of_a_map(
        all in prop::collection::vec((0..10_u32, distances()), 0..400),
        split in 0..400_usize,
    ) {
        check(&counted(&all), &all);
        // Moved into one that has bins already, with two owners that become one.
        let (left, right) = all.split_at(split.min(all.len()));
        let mut into = counted(left);
        counted(right).move_to(&mut into, |owner| owner / 2);
        let right = right.iter().map(|(owner, items)| (owner / 2, *items));
        check(&into, &[left, &right.collect::<Vec<_>>()].concat());
    }
}

/// Looks at slots per addition, when each of many owners has some bins.
fn probes(owners: impl Iterator<Item = u32>, numbers: &[u64]) -> f64 {
    let mut overflow_bins = OverflowBins::new();
    let all: Vec<(u32, u64)> = owners
        .flat_map(|owner| numbers.iter().map(move |items| (owner, *items)))
        .collect();
    for _ in 0..4 {
        PROBES.set(0);
        for (owner, items) in &all {
            overflow_bins.add(*owner, Distance::new(*items));
        }
        overflow_bins.flush();
    }
    assert_eq!(overflow_bins.filled, all.len());
    // All bins exist: none of these additions makes the table grow.
    PROBES.get() as f64 / all.len() as f64
}

#[test]
fn overflow_bins_are_found_in_few_probes() {
    let far_apart: Vec<u64> = (0..50).map(|at| at << 20).collect();
    let neighbours: Vec<u64> = (0..50).map(|at| at << 10).collect();
    let looks = [
        probes(0..20_000, &[5]),
        probes(0..20_000, &[u64::MAX, 0, 1, 2000]),
        probes((0..20_000).map(|owner| owner << 12), &[3, 9000]),
        probes(0..400, &neighbours),
        probes(0..400, &far_apart),
    ];
    // With random places it would be 1.8 where five eighths are full.
    let soon = looks.iter().all(|looks| (1.0..3.0).contains(looks));
    assert!(soon, "{looks:?}");
}

/// The numbers that with these owners begin at one place of a table whose key is 0.
fn chosen() -> Vec<(u32, u32)> {
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    let spread = |number: u32| (u64::from(number).wrapping_mul(GOLDEN) >> 32) as u32;
    // All have owners below a million.
    let near = (0..u32::MAX).filter(|number| spread(*number) >> 20 == 77);
    near.map(|number| (spread(number) ^ 77 << 20, number))
        .take(2000)
        .collect()
}

#[test]
fn colliding_bins_are_spread() {
    let chosen = chosen();
    let probes = |key: Option<u64>| {
        let mut overflow_bins = OverflowBins::new();
        overflow_bins.key = key.unwrap_or(overflow_bins.key);
        PROBES.set(0);
        for (owner, number) in &chosen {
            overflow_bins.put(
                *owner,
                &BinCount {
                    number: (*number).into(),
                    count: 1,
                    sum: 0,
                    min: 0,
                    max: 0,
                },
            );
        }
        overflow_bins.flush();
        assert_eq!(overflow_bins.filled, chosen.len());
        PROBES.get()
    };
    assert!(probes(Some(0)) > 2_000_000, "all begin at one place");
    let probes = probes(None);
    assert!(probes < 40_000, "{probes}");
}
