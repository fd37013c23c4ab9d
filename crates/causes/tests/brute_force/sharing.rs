//! Invalidations, by their definition.

use std::collections::{BTreeMap, BTreeSet};

use reuselens_causes::NO_OFFSET;
use reuselens_profile::{SharedData, SharedEnd};

use crate::random_trace::RandomTrace;
use crate::{cases, count};

/// An invalidation.
struct Invalidation {
    writer: usize,
    victim: usize,
    is_true: bool,
}

/// The invalidations that the accesses to one item find.
fn invalidations(trace: &RandomTrace, accesses: &[usize]) -> Vec<Invalidation> {
    let mut found = Vec::new();
    for (index, &victim) in accesses.iter().enumerate() {
        let is_own = |at: &&usize| trace.threads[**at] == trace.threads[victim];
        let Some(before) = accesses[..index].iter().rposition(|at| is_own(&at)) else {
            continue;
        };
        // All accesses in between are other threads'.
        let between = accesses[before + 1..index].iter();
        let stores: Vec<usize> = between.copied().filter(|at| trace.stores[*at]).collect();
        let Some(&writer) = stores.last() else {
            continue;
        };
        let written = stores.iter().fold(0, |bytes, at| bytes | trace.bytes[*at]);
        let has_it = |at: &&usize| is_own(at) || !trace.stores[**at];
        let until_lost = accesses[index..].iter().take_while(has_it).filter(is_own);
        let used = until_lost.fold(0, |bytes, at| bytes | trace.bytes[*at]);
        found.push(Invalidation {
            writer,
            victim,
            is_true: used & written != 0,
        });
    }
    found
}

#[test]
fn invalidations_follow_from_stores_of_other_threads_in_between() {
    for (trace, options) in cases() {
        let (cells, causes) = count(&trace, &options, 1);
        let mut by_item: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (at, item) in trace.items.iter().enumerate() {
            by_item.entry(*item).or_default().push(at);
        }
        let end = |at: usize| {
            let place = trace.places[trace.in_cells[at] as usize];
            SharedEnd {
                site: place.site,
                object: place.object,
                offset: Some(trace.offsets[at]).filter(|offset| *offset != NO_OFFSET),
            }
        };
        let mut by_cell = vec![(0, 0); cells.len()];
        let mut pairs: BTreeMap<_, (u64, u64, BTreeSet<u64>)> = BTreeMap::new();
        for (item, accesses) in &by_item {
            for it in invalidations(&trace, accesses) {
                let cell = &mut by_cell[trace.in_cells[it.victim] as usize];
                let pair = pairs.entry((end(it.writer), end(it.victim))).or_default();
                if it.is_true {
                    (cell.0, pair.0) = (cell.0 + 1, pair.0 + 1);
                } else {
                    (cell.1, pair.1) = (cell.1 + 1, pair.1 + 1);
                }
                pair.2.insert(*item);
            }
        }
        let counted = cells.iter().map(|it| (it.true_sharing, it.false_sharing));
        assert_eq!(counted.collect::<Vec<_>>(), by_cell);
        let mut right: Vec<SharedData> = pairs
            .into_iter()
            .map(
                |((writer, victim), (true_sharing, false_sharing, lines))| SharedData {
                    writer,
                    victim,
                    true_sharing,
                    false_sharing,
                    lines: lines.len() as u64,
                },
            )
            .collect();
        right.sort_by_key(|it| u64::MAX - it.true_sharing - it.false_sharing);
        assert_eq!(causes.shared, right);
    }
}
