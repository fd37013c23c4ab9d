//! Common neighbours of two sorted lists.

use super::list::NeighborList;
use crate::VertexId;

/// From this ratio of lengths on, the ids of the shorter list are searched in the longer one.
/// Below it both are merged: a step of a merge costs about an eighth of a search.
const GALLOP_FROM: usize = 16;

/// Calls `each` with the ids in both lists, in ascending order. Returns the ids read or compared.
pub(super) fn intersect(a: &NeighborList, b: &NeighborList, mut each: impl FnMut(VertexId)) -> u64 {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if short.len() == 0 {
        return 0;
    }
    if short.as_hub().is_none() {
        let ids = short.blocks().next().unwrap_or(&[]);
        return intersect_with(long, ids, &mut each);
    }
    let (mut left_blocks, mut right_blocks) = (short.blocks(), long.blocks());
    let (mut left, mut right) = (left_blocks.next(), right_blocks.next());
    let mut read = 0;
    while let (Some(one), Some(other)) = (left, right) {
        read += intersect_slices(one, other, &mut each);
        // Blocks are not empty. The one that ends later can meet further blocks of the other list.
        if one[one.len() - 1] < other[other.len() - 1] {
            left = left_blocks.next()
        } else {
            right = right_blocks.next()
        }
    }
    read
}

/// Calls `each` with the ids of a list that are among sorted `ids`, in ascending order. Returns the
/// ids read or compared.
pub(super) fn intersect_with(
    list: &NeighborList,
    mut ids: &[VertexId],
    each: &mut impl FnMut(VertexId),
) -> u64 {
    if let Some(hub) = list.as_hub()
        && ids.len() * GALLOP_FROM < list.len()
    {
        let present = ids.iter().copied().filter(|&id| hub.contains(id));
        present.for_each(each);
        return ids.len() as u64 * u64::from(list.len().ilog2() + 2);
    }
    let mut read = 0;
    for block in list.blocks() {
        read += intersect_slices(ids, block, each);
        let last = block[block.len() - 1];
        ids = &ids[ids.partition_point(|&id| id <= last)..];
    }
    read
}

/// Calls `each` with the ids in both slices, in ascending order. Returns the ids read or compared.
fn intersect_slices(a: &[VertexId], b: &[VertexId], each: &mut impl FnMut(VertexId)) -> u64 {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if short.len() * GALLOP_FROM < long.len() {
        gallop(short, long, each)
    } else {
        merge(short, long, each)
    }
}

/// One step forward in the slice with the smaller id, in both if the ids are equal. Steps are
/// computed, not chosen by a branch: which list is ahead cannot be predicted. Returns the ids read.
fn merge(a: &[VertexId], b: &[VertexId], each: &mut impl FnMut(VertexId)) -> u64 {
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let (x, y) = (a[i], b[j]);
        if x == y {
            each(x);
        }
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    (i + j) as u64
}

/// Searches each id of `short` in what is left of `long`: in steps that double, then by halves.
/// Returns the ids read or compared.
fn gallop(short: &[VertexId], mut long: &[VertexId], each: &mut impl FnMut(VertexId)) -> u64 {
    let mut read = 0;
    for &id in short {
        let mut step = 1;
        while step < long.len() && long[step] < id {
            step *= 2;
        }
        let end = long.len().min(step + 1);
        let start = step / 2;
        let place = start + long[start..end].partition_point(|&other| other < id);
        long = &long[place..];
        // The id itself, as many ids of `long` as the step was doubled, and as many by halves.
        read += u64::from(2 * step.ilog2() + 2);
        match long.first() {
            Some(&found) if found == id => each(id),
            Some(_) => {}
            None => return read,
        }
    }
    read
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gallop_and_merge_find_the_same_ids() {
        let long: Vec<u32> = (0..500).map(|id| id * 3 + id % 2).collect();
        for start in 0..40 {
            let short: Vec<u32> = (0..60).map(|id| start + id * 31).collect();
            let expected: Vec<_> = short
                .iter()
                .copied()
                .filter(|id| long.contains(id))
                .collect();
            let (mut merged, mut galloped) = (Vec::new(), Vec::new());
            merge(&short, &long, &mut |id| merged.push(id));
            gallop(&short, &long, &mut |id| galloped.push(id));
            assert_eq!(merged, expected);
            assert_eq!(galloped, expected);
        }
    }

    #[test]
    fn ids_that_are_read_are_counted_until_a_list_ends() {
        assert_eq!(merge(&[1, 2], &[0, 1], &mut |_| {}), 3);
        let long: Vec<u32> = (0..100).collect();
        // The id, and of `long`: 1, 2, 4 and 8 until the step is large enough, and 3 by halves.
        assert_eq!(gallop(&[5], &long, &mut |_| {}), 8);
    }
}
