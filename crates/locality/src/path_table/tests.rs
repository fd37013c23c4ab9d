//! Every length against its definition.

use super::*;
use crate::PatternBins;
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::BTreeMap;

thread_local! {
    /// Steps along the lists of tables of this thread.
    static STEPS: Cell<u64> = const { Cell::new(0) };
}

/// Counts a step along a list.
pub(super) fn step() {
    STEPS.set(STEPS.get() + 1);
}

type Access = (u32, u32, u64);

fn by_definition(accesses: &[Access], length: u32) -> BTreeMap<(u32, u32), PatternBins> {
    let mut cells: BTreeMap<(u32, u32), PatternBins> = BTreeMap::new();
    for (site, outcomes, items) in accesses {
        let key = (*site, Path::newest(*outcomes, length));
        cells.entry(key).or_default().add(Distance::new(*items), 1);
    }
    cells
}

fn table(accesses: &[Access], most: usize) -> PathTable {
    let mut table = PathTable::new(most);
    for (site, outcomes, items) in accesses {
        let path = Path {
            outcomes: *outcomes,
            ..Path::default()
        };
        table.add(*site, &path, Distance::new(*items));
    }
    table
}

fn check(table: &PathTable, accesses: &[Access]) {
    for length in LENGTHS {
        let Some(cells) = table.at(length) else {
            assert!(length > table.length());
            continue;
        };
        let found: BTreeMap<_, _> = cells.into_iter().map(|c| (c.key(), c.bins)).collect();
        assert_eq!(found, by_definition(accesses, length), "{length}");
    }
}

proptest! {
    #[test]
    fn every_length_is_what_it_is_by_definition(
        accesses in prop::collection::vec((0..4_u32, prop_oneof![0..8_u32, any::<u32>()], 0..5000_u64), 0..300),
        most in 1..200_usize,
        split in 0..300_usize,
    ) {
        let whole = table(&accesses, most);
        check(&whole, &accesses);
        prop_assert!(whole.len() <= most.max(4));
        let (left, right) = accesses.split_at(split.min(accesses.len()));
        let mut merged = table(left, most);
        merged.merge(table(right, most));
        check(&merged, &accesses);
        let path = Path { outcomes: 5, ..Path::default() };
        merged.add(1, &path, Distance::new(7));
        check(&merged, &[&accesses[..], &[(1, 5, 7)]].concat());
    }
}

#[test]
fn a_node_is_a_cache_line() {
    assert_eq!(size_of::<Node>(), 64);
}

#[test]
fn many_paths_stay_within_bounds() {
    let accesses: Vec<Access> = (0..100_000)
        .map(|i| (i % 3, i, u64::from(i % 50)))
        .collect();
    let table = table(&accesses, 1100);
    assert_eq!(table.length(), 8);
    assert!(table.memory() < Bytes(1 << 21), "{}", table.memory());
    check(&table, &accesses);
}

#[test]
fn less_memory_keeps_shorter_paths_and_all_accesses() {
    let accesses: Vec<Access> = (0..40_000_u32)
        .map(|at| (at % 3, at.wrapping_mul(2_654_435_761), u64::from(at % 700)))
        .collect();
    let mut table = table(&accesses, 1 << 20);
    let (before, length) = (table.memory(), table.length());
    assert!(table.shrink(before) && table.length() == length);
    let half = Bytes(before.get() / 2);
    assert!(table.shrink(half));
    assert!(table.memory() <= half && (1..length).contains(&table.length()));
    check(&table, &accesses);
    assert!(!table.shrink(Bytes(1)) && table.length() == 0);
    check(&table, &accesses);
}

#[test]
fn a_block_of_all_instructions_is_quick() {
    // No two rounds have the same order: what came next the last time says nothing.
    const SITES: u32 = 10_000;
    let orders = [1, 7, 3, 9, 7919];
    let rounds = orders.map(|step| (0..SITES).map(move |at| at * step % SITES));
    let accesses: Vec<Access> = rounds
        .into_iter()
        .flatten()
        .enumerate()
        .map(|(at, site)| (site, 0, at as u64 % 3000))
        .collect();
    let sites: Vec<u32> = (0..SITES).collect();
    let cells: Vec<u32> = accesses.iter().map(|access| access.0).collect();
    let distances: Vec<Distance> = accesses
        .iter()
        .map(|access| Distance::new(access.2))
        .collect();
    let mut table = PathTable::new(1 << 20);
    let path = Path::default();
    let until = cells.len() as u32;
    STEPS.set(0);
    let block = 0;
    table.add_steps(
        &[PathStep { block, path, until }],
        &cells,
        &sites,
        &distances,
    );
    // Twice for what was never seen: is there room, and then where.
    let most = u64::from(until) * u64::from(LISTED) * 2;
    assert!((1..=most).contains(&STEPS.get()), "{}", STEPS.get());
    check(&table, &accesses);
    assert_eq!(table.len(), SITES as usize);
    // Found again after uniting, and with other numbers.
    let mut twice = table.clone();
    twice.merge(table.clone());
    assert_eq!(twice.len(), SITES as usize);
    twice.renumber(|site| SITES - 1 - site);
    twice.add_steps(
        &[PathStep { block, path, until }],
        &cells,
        &sites,
        &distances,
    );
    assert_eq!(twice.len(), SITES as usize);
    let mirrored = accesses
        .iter()
        .map(|(site, o, d)| (SITES - 1 - site, *o, *d));
    let mirrored: Vec<Access> = mirrored.collect();
    check(
        &twice,
        &[&mirrored[..], &mirrored[..], &accesses[..]].concat(),
    );
}
