//! Work on all lists of a batch, shared among threads by ranges of vertices.

use std::sync::Mutex;

use reuselens_workers::{lock, together};

use super::list::NeighborList;
use crate::requests::{EdgeRequest, ListChange};

/// Below this number of changes a second thread saves nothing. To look a change up takes 10 to 100
/// ns and to apply it 40 to 190, but that is half of the work for a batch, as sorting is not
/// shared. A start takes 30 to 45 µs, and lists that grow on another thread take memory of its own:
/// in batches of 10,000 to 30,000 changes, two threads took 1.1 to 1.3 times the processor time of
/// one, and were slower in each of five graphs (`--example threads` of `reuselens-incremental`).
const SHARED_FROM: usize = 1 << 16;

/// Removes the requests that ask for what is so already.
pub(super) fn keep_effective(
    lists: &[NeighborList],
    requests: &mut Vec<EdgeRequest>,
    threads: usize,
) {
    let effective = |request: &EdgeRequest| {
        let edge = request.edge();
        let list = lists.get(edge.from as usize);
        list.is_some_and(|list| list.contains(edge.to)) != request.insert
    };
    if threads <= 1 || requests.len() < SHARED_FROM {
        requests.retain(effective);
        return;
    }
    let size = requests.len().div_ceil(threads * 4);
    let parts = Mutex::new(requests.chunks(size).enumerate());
    let work = || {
        let mut kept = Vec::new();
        loop {
            let Some((part, chunk)) = lock(&parts).next() else {
                return kept;
            };
            let chunk: Vec<_> = chunk.iter().copied().filter(&effective).collect();
            kept.push((part, chunk));
        }
    };
    let mut kept: Vec<_> = together("graph", threads, work, work)
        .into_iter()
        .flatten()
        .collect();
    kept.sort_unstable_by_key(|&(part, _)| part);
    requests.clear();
    kept.iter()
        .for_each(|(_, chunk)| requests.extend_from_slice(chunk));
}

/// Changes the lists. The changes are sorted, and each of them changes something.
pub(super) fn apply(lists: &mut [NeighborList], changes: &[ListChange], threads: usize) {
    if threads <= 1 || changes.len() < SHARED_FROM {
        return apply_range(lists, 0, changes);
    }
    let ranges = Mutex::new(split(lists, changes, threads * 4));
    let work = || {
        while let Some(range) = { lock(&ranges).pop() } {
            apply_range(range.lists, range.first, range.changes);
        }
    };
    together("graph", threads, work, work);
}

/// Changes the lists of the vertices from `first` on.
fn apply_range(lists: &mut [NeighborList], first: usize, changes: &[ListChange]) {
    for group in changes.chunk_by(|a, b| a.vertex() == b.vertex()) {
        lists[group[0].vertex() as usize - first].apply(group);
    }
}

/// Neighbouring vertices with their changes.
struct VertexRange<'a> {
    first: usize,
    lists: &'a mut [NeighborList],
    changes: &'a [ListChange],
}

/// Cuts the vertices into up to `count` ranges in which the lists that change, and the changes,
/// have about the same sum of lengths.
fn split<'a>(
    mut lists: &'a mut [NeighborList],
    mut changes: &'a [ListChange],
    count: usize,
) -> Vec<VertexRange<'a>> {
    let groups = || changes.chunk_by(|a, b| a.vertex() == b.vertex());
    let weights: Vec<_> = groups()
        .map(|group| {
            (
                group.len(),
                group.len() + lists[group[0].vertex() as usize].len(),
            )
        })
        .collect();
    let total: usize = weights.iter().map(|&(_, weight)| weight).sum();
    let target = total.div_ceil(count);

    let (mut ranges, mut first) = (Vec::with_capacity(count + 1), 0);
    let (mut sum, mut taken) = (0, 0);
    for (index, &(length, weight)) in weights.iter().enumerate() {
        sum += weight;
        taken += length;
        if sum < target && index + 1 < weights.len() {
            continue;
        }
        let (own, rest) = changes.split_at(taken);
        let end = own[own.len() - 1].vertex() as usize + 1;
        let (range, others) = std::mem::take(&mut lists).split_at_mut(end - first);
        ranges.push(VertexRange {
            first,
            lists: range,
            changes: own,
        });
        (lists, changes, first) = (others, rest, end);
        (sum, taken) = (0, 0);
    }
    ranges
}
