//! Short reuses, found without a table: how many accesses back the same item was, if not far.
//!
//! Everything here compares an access with each of the [`WINDOW`] before it, a whole block at a time, and
//! nothing waits for the result of the access before: a few instructions per access. What is compared are
//! keys of sixteen bits, so that 64 accesses fit into a vector; the items themselves are looked at once, to
//! see that equal keys are equal items.

use super::compare::Compare;

/// Accesses that are looked back over.
pub(crate) const WINDOW: usize = 32;
/// The lag of an access whose item is not among the last [`WINDOW`] accesses.
pub(crate) const FAR: u8 = WINDOW as u8 + 1;
/// Accesses treated together.
pub(crate) const BLOCK: usize = 64;

/// Accesses that go through one step together, and then through the next: what a step has written is read
/// by the next one from elsewhere, in pieces that lie across those written, and a processor waits for that
/// if it comes too soon.
pub(crate) const CHUNK: usize = 8 * BLOCK;

/// Accesses before a block of which the lags are kept.
pub(crate) const BACK: usize = WINDOW + 1;

/// Lags of a block, from [`BACK`] on, with those of the accesses before; 0 where there is no access.
pub(crate) type Lags = [u8; BACK + BLOCK];

/// For each of the same accesses the index of the one that its lag leads to; 0 if that is further back.
pub(crate) type Reach = [u8; BACK + BLOCK];

/// Keys of some accesses, in two halves: equal items have equal keys, others hardly ever. In a block, those
/// of its accesses begin at [`WINDOW`], after those of the accesses before.
#[derive(Clone, Copy)]
pub(crate) struct Keys<T> {
    pub low: T,
    pub high: T,
}

/// The key of an item.
#[inline(always)]
fn key(item: u64) -> (u8, u8) {
    let folded = (item >> 32) as u32 ^ item as u32;
    let mixed = folded.wrapping_mul(0x9e37_79b1);
    ((mixed >> 16) as u8, (mixed >> 24) as u8)
}

/// The last accesses of a stream, chunk by chunk.
pub(crate) struct Recent {
    /// Those of the chunk from [`WINDOW`] on.
    keys: Keys<[u8; WINDOW + CHUNK]>,
    /// Those of the chunk from [`BACK`] on.
    lags: [u8; BACK + CHUNK],
    /// Block by block.
    reach: [Reach; CHUNK / BLOCK],
}

impl Recent {
    /// Before the access `at`.
    #[inline(always)]
    pub(crate) fn before(items: &[u64], at: usize) -> Self {
        let none = [0; WINDOW + CHUNK];
        let mut recent = Recent {
            keys: Keys {
                low: none,
                high: none,
            },
            lags: [0; BACK + CHUNK],
            reach: [[0; BACK + BLOCK]; CHUNK / BLOCK],
        };
        let known = WINDOW.min(at);
        recent.set_keys(WINDOW - known, &items[at - known..at]);
        recent
    }

    #[inline(always)]
    fn set_keys(&mut self, at: usize, items: &[u64]) {
        let (low, high) = (&mut self.keys.low[at..], &mut self.keys.high[at..]);
        let (blocks, rest) = items.as_chunks::<BLOCK>();
        let halves = low.as_chunks_mut().0.iter_mut().zip(high.as_chunks_mut().0);
        for ((low, high), items) in halves.zip(blocks) {
            (*low, *high) = (items.map(|item| key(item).0), items.map(|item| key(item).1));
        }
        let done = items.len() - rest.len();
        let halves = low[done..].iter_mut().zip(&mut high[done..]);
        for ((low, high), item) in halves.zip(rest) {
            (*low, *high) = key(*item);
        }
    }

    /// The lags of the accesses of a block and of the [`BACK`] before, and what they reach.
    #[inline(always)]
    pub(crate) fn block(&self, number: usize) -> (&Lags, &Reach) {
        let lags = &self.lags[number * BLOCK..][..BACK + BLOCK];
        match lags.try_into() {
            Ok(lags) => (lags, &self.reach[number]),
            Err(_) => unreachable!("the slice has that length"),
        }
    }

    /// Finds the lags of the accesses `at..at + len`, a chunk at most, which come next: how many accesses back
    /// the same item was accessed last, [`FAR`] if that is more than [`WINDOW`] or never.
    #[inline(always)]
    pub(crate) fn find(&mut self, compare: impl Compare, items: &[u64], at: usize, len: usize) {
        self.set_keys(WINDOW, &items[at..at + len]);
        // Nothing lies before the first access of a call.
        let first = if at < WINDOW { BLOCK.min(len) } else { 0 };
        let whole = first.max(len / BLOCK * BLOCK);
        for start in (first..whole).step_by(BLOCK) {
            let lags = &mut self.lags[BACK + start..][..BLOCK];
            lags.copy_from_slice(&compare.nearest(Keys {
                low: &self.keys.low[start..][..WINDOW + BLOCK],
                high: &self.keys.high[start..][..WINDOW + BLOCK],
            }));
        }
        for start in (first..whole).step_by(BLOCK) {
            let lags = &mut self.lags[BACK + start..][..BLOCK];
            let recent = items[at + start - WINDOW..].first_chunk();
            let known = recent.zip(lags.first_chunk());
            if !known.is_some_and(|(recent, lags)| compare.lead_to_same(recent, lags)) {
                mend(items, at + start, lags);
            }
        }
        for (start, end) in [(0, first), (whole, len)] {
            if start < end {
                find_slowly(items, at + start, &mut self.lags[BACK + start..BACK + end]);
            }
        }
        self.set_reach();
    }

    #[inline(always)]
    fn set_reach(&mut self) {
        for (reach, start) in self.reach.iter_mut().zip((0..).step_by(BLOCK)) {
            let lags = &self.lags[start..][..BACK + BLOCK];
            for (index, (reach, lag)) in (0_u8..).zip(reach.iter_mut().zip(lags)) {
                *reach = index.saturating_sub(*lag);
            }
        }
    }

    /// The chunk, of so many accesses, is past.
    #[inline(always)]
    pub(crate) fn pass(&mut self, len: usize) {
        self.lags.copy_within(len..len + BACK, 0);
        self.keys.low.copy_within(len..len + WINDOW, 0);
        self.keys.high.copy_within(len..len + WINDOW, 0);
    }

    /// For the end: bit i is set if the access i of the last [`BACK`] was renewed by none of those after it.
    pub(crate) fn staying(&self) -> u64 {
        let renewed = |index: usize| {
            let mut after = index + 1..BACK;
            after.any(|after| usize::from(self.lags[after]) == after - index)
        };
        (0..BACK)
            .filter(|&index| self.lags[index] != 0 && !renewed(index))
            .fold(0, |mask, index| mask | 1 << index)
    }
}

/// Finds those lags anew that lead to another item.
#[cold]
#[inline(never)]
fn mend(items: &[u64], at: usize, lags: &mut [u8]) {
    for (index, lag) in (at..).zip(lags) {
        if *lag != FAR && items[index - usize::from(*lag)] != items[index] {
            find_slowly(items, index, std::slice::from_mut(lag));
        }
    }
}

/// The lags of the accesses from `at` on, one by one.
#[cold]
fn find_slowly(items: &[u64], at: usize, lags: &mut [u8]) {
    for (index, lag) in (at..).zip(lags) {
        let back = (1..=WINDOW.min(index)).find(|lag| items[index - lag] == items[index]);
        *lag = back.map_or(FAR, |lag| lag as u8);
    }
}

/// Whether most of the last accesses have their item in the window.
#[inline(always)]
pub(crate) fn mostly_near(compare: impl Compare, items: &[u64]) -> bool {
    const SAMPLE: usize = 256;
    let sample = SAMPLE.min(items.len());
    let at = items.len() - sample;
    let mut recent = Recent::before(items, at);
    recent.find(compare, items, at, sample);
    let lags = &recent.lags[BACK..BACK + sample];
    lags.iter().filter(|lag| **lag != FAR).count() * 2 > sample
}

#[cfg(test)]
mod tests {
    use super::super::compare::Portable;
    use super::*;

    #[test]
    fn items_with_equal_keys_are_told_apart() {
        let other = |item: u64| item ^ (0x5555_5555 << 32 | 0x5555_5555);
        assert_eq!(key(3), key(other(3)));
        let twin = |i: u64| {
            if i.is_multiple_of(3) {
                other(i % 11)
            } else {
                i % 11
            }
        };
        let items: Vec<u64> = (0..CHUNK as u64 + 300).map(twin).collect();
        let mut recent = Recent::before(&items, 0);
        let mut expected = [0];
        for (at, len) in [(0, CHUNK), (CHUNK, 300)] {
            recent.find(Portable, &items, at, len);
            for (index, lag) in (at..at + len).zip(&recent.lags[BACK..]) {
                find_slowly(&items, index, &mut expected);
                assert_eq!(*lag, expected[0], "{index}");
            }
            recent.pass(len);
        }
    }
}
