//! Fills, used bytes, and the bytes of elements.

use std::collections::{BTreeMap, BTreeSet};

use reuselens_causes::{CauseOptions, NO_OFFSET};
use reuselens_profile::CellCauses;

use crate::random_trace::RandomTrace;
use crate::{cases, count};

/// A fill: the accesses to the item from a miss until its next one.
fn fills(trace: &RandomTrace, cache: u64) -> Vec<Vec<usize>> {
    let misses = |at: usize| {
        trace.distances[at]
            .items()
            .is_none_or(|items| items >= cache)
    };
    let fill = |begin: usize| {
        let later = (begin + 1..trace.len()).filter(|at| trace.items[*at] == trace.items[begin]);
        let hits = later.take_while(|at| !misses(*at));
        [begin].into_iter().chain(hits).collect()
    };
    (0..trace.len())
        .filter(|at| misses(*at))
        .map(fill)
        .collect()
}

fn bits(bytes: u64) -> impl Iterator<Item = u64> {
    (0..64).filter(move |bit| bytes >> bit & 1 == 1)
}

fn cache_items(options: &CauseOptions) -> u64 {
    options.cache.get() / options.granularity.bytes()
}

#[test]
fn fills_and_used_bytes_follow_from_the_accesses_of_a_fill() {
    for (trace, options) in cases() {
        let (cells, _) = count(&trace, &options, 1);
        let unit = options.granularity.bytes().div_ceil(64);
        let mut right = vec![(0, 0, 0, 0); cells.len()];
        let mut before = BTreeSet::new();
        for fill in fills(&trace, cache_items(&options)) {
            let used = fill.iter().flat_map(|at| bits(trace.bytes[*at]));
            let used: Vec<u64> = used.collect();
            let (all, distinct) = (used.len(), used.iter().collect::<BTreeSet<_>>().len());
            let site = |at: &usize| trace.cells[trace.in_cells[*at] as usize].site;
            let sites: BTreeSet<u32> = fill.iter().map(site).collect();
            let cell = &mut right[trace.in_cells[fill[0]] as usize];
            cell.0 += 1;
            cell.1 += distinct as u64 * unit;
            let item = trace.items[fill[0]];
            let new = used.iter().filter(|byte| before.insert((item, **byte)));
            cell.2 += new.count() as u64 * unit;
            cell.3 += u64::from(sites.len() == 1 && all == distinct);
        }
        let counts = |cell: &CellCauses| {
            let (used, new) = (cell.used_bytes, cell.new_bytes);
            (cell.fills, used, new, cell.single_use_fills)
        };
        assert_eq!(cells.iter().map(counts).collect::<Vec<_>>(), right);
    }
}

/// Accesses, misses, brought, used: of one byte of an element.
type ByteUse = [u64; 4];

fn element_uses(trace: &RandomTrace, options: &CauseOptions) -> BTreeMap<u32, Vec<ByteUse>> {
    let mut uses = BTreeMap::new();
    for (cell, place) in trace.cells.iter().zip(&trace.places) {
        if cell.element_bytes > 0 {
            let bytes = vec![[0; 4]; cell.element_bytes as usize];
            uses.entry(place.object).or_insert(bytes);
        }
    }
    let fills = fills(trace, cache_items(options));
    let misses: BTreeSet<usize> = fills.iter().map(|fill| fill[0]).collect();
    let place = |at: usize| trace.places[trace.in_cells[at] as usize].object;
    let is_single = |at: usize| trace.cells[trace.in_cells[at] as usize].is_single;
    for at in (0..trace.len()).filter(|at| trace.offsets[*at] != NO_OFFSET) {
        let counts = &mut uses.get_mut(&place(at)).unwrap()[trace.offsets[at] as usize];
        counts[0] += 1;
        counts[1] += u64::from(misses.contains(&at));
    }
    let line = options.granularity.bytes() as i64;
    let by_byte = fills.iter().filter(|_| line <= 64);
    for fill in by_byte.filter(|fill| trace.offsets[fill[0]] != NO_OFFSET) {
        let counts = uses.get_mut(&place(fill[0])).unwrap();
        let first = bits(trace.bytes[fill[0]]).next().unwrap() as i64;
        let used: BTreeSet<u64> = fill.iter().flat_map(|at| bits(trace.bytes[*at])).collect();
        for byte in 0..line {
            let offset = i64::from(trace.offsets[fill[0]]) + byte - first;
            if is_single(fill[0]) && !(0..counts.len() as i64).contains(&offset) {
                continue;
            }
            let at = offset.rem_euclid(counts.len() as i64) as usize;
            let counts = &mut counts[at];
            counts[2] += 1;
            counts[3] += u64::from(used.contains(&(byte as u64)));
        }
    }
    uses
}

#[test]
fn bytes_of_elements_follow_from_the_offset_of_the_access_that_made_a_fill() {
    for (trace, options) in cases() {
        let (_, causes) = count(&trace, &options, 1);
        let of_object = |element: &reuselens_profile::ElementUse| {
            let bytes = 0..element.accesses.len();
            let byte = |at: usize| {
                let columns = [
                    &element.accesses,
                    &element.misses,
                    &element.brought,
                    &element.used,
                ];
                columns.map(|column| column[at])
            };
            (element.object, bytes.map(byte).collect::<Vec<ByteUse>>())
        };
        let counted: Vec<_> = causes.elements.iter().map(of_object).collect();
        let right: Vec<_> = element_uses(&trace, &options).into_iter().collect();
        assert_eq!(counted, right);
    }
}
