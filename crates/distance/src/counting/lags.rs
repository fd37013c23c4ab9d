//! [`Recent`]: short reuses, found without a table. For each access it finds the *lag*: how many
//! accesses back the same item was accessed, if at most [`WINDOW`].
//!
//! All code here compares each access of a block with each of the [`WINDOW`] accesses before it,
//! and never waits for the result of the access before: a few instructions per access. Keys of 16
//! bits are compared, so that 64 accesses fit into a vector. Then each lag is checked once against
//! the items themselves, since different items may have equal keys.

use reuselens_units::Distance;

use super::compare::Compare;
use super::window_layout::{BACK, BLOCK, FAR, Kept, Keys, Reach, Todo, WINDOW};

/// Accesses that go through one step together, and then through the next. The next step reads what
/// the one before has written, at other boundaries; a processor stalls if such a read follows the
/// write too soon.
pub(crate) const CHUNK: usize = 16 * BLOCK;

/// The key of an item.
#[inline(always)]
fn key(item: u64) -> (u8, u8) {
    let folded = (item >> 32) as u32 ^ item as u32;
    let mixed = folded.wrapping_mul(0x9e37_79b1);
    ((mixed >> 16) as u8, (mixed >> 24) as u8)
}

/// The accesses of a chunk that are kept, after those before them: all but those that access the
/// same item as the access before. Of these the distance is 0, and no other distance depends on
/// them.
pub(crate) struct Recent {
    /// Those of the chunk from [`BACK`] on, and room for a block more.
    items: [u64; BACK + CHUNK + BLOCK],
    /// The number of each access of the chunk within the call; or, where accesses are not numbered,
    /// the distinct items within the window between it and the access before to its item.
    numbers: [u32; CHUNK + BLOCK],
    /// Block by block of the stream: which accesses are kept.
    kept: [u64; CHUNK / BLOCK],
    /// The number of accesses that are kept.
    len: usize,
    /// How many accesses there were before, [`BACK`] at most.
    before: usize,
    /// Those of the chunk from [`WINDOW`] on.
    keys: Keys<[u8; WINDOW + CHUNK + BLOCK]>,
    /// Those of the chunk from [`BACK`] on.
    lags: [u8; BACK + CHUNK + BLOCK],
    /// Block by block.
    reach: [Reach; CHUNK / BLOCK],
    /// Distinct items of the window between an access and the one that its lag leads to.
    between: [u8; CHUNK + BLOCK],
}

impl Recent {
    pub(super) const EMPTY: Recent = Recent {
        items: [0; BACK + CHUNK + BLOCK],
        numbers: [0; CHUNK + BLOCK],
        kept: [0; CHUNK / BLOCK],
        len: 0,
        before: 0,
        keys: Keys {
            low: [0; WINDOW + CHUNK + BLOCK],
            high: [0; WINDOW + CHUNK + BLOCK],
        },
        lags: [0; BACK + CHUNK + BLOCK],
        reach: [[0; BACK + BLOCK]; CHUNK / BLOCK],
        between: [0; CHUNK + BLOCK],
    };

    /// Forgets all accesses.
    pub(super) fn clear(&mut self) {
        (self.len, self.before) = (0, 0);
        self.lags[..BACK].fill(0);
    }

    /// Takes the next accesses of a call, from `at` on, and returns how many: a chunk, or all that
    /// are left. The number of each within the call is written only if they are numbered.
    #[inline(always)]
    pub(crate) fn take(
        &mut self,
        compare: impl Compare,
        is_numbered: bool,
        items: &[u64],
        at: usize,
    ) -> usize {
        let taken = CHUNK.min(items.len() - at);
        let mut len = 0;
        for (kept, start) in self.kept.iter_mut().zip((at..at + taken).step_by(BLOCK)) {
            let to = (
                &mut self.items[BACK + len..][..BLOCK + 8],
                &mut self.numbers[len..][..BLOCK + 16],
            );
            let whole = start
                .checked_sub(1)
                .and_then(|from| items[from..].first_chunk());
            *kept = match whole {
                Some(block) => compare.keep(block, is_numbered.then_some(start), to),
                None => keep_at_an_end(&items[..at + taken], start, to),
            };
            len += kept.count_ones() as usize;
        }
        self.len = len;
        self.pad();
        taken
    }

    /// Fills the places without an access with values that are not taken for one.
    #[inline(always)]
    fn pad(&mut self) {
        if self.before < BACK {
            // A number that is none of the items that look back beyond the first access. They are
            // at most 32, so one of 64 numbers is not among them.
            let window = &self.items[BACK..BACK + WINDOW.min(self.len)];
            let seen = |seen: u64, item: &u64| seen | u64::from(*item < 64) << (item & 63);
            let other = window.iter().fold(0, seen).trailing_ones();
            self.items[..BACK - self.before].fill(other.into());
            let end = WINDOW.saturating_sub(self.before);
            let (low, high) = key(other.into());
            self.keys.low[..end].fill(low);
            self.keys.high[..end].fill(high);
        }
        let end = BACK + self.len;
        let last = self.items[end - 1];
        self.items[end..][..BLOCK].fill(last);
    }

    /// Finds the lags of the accesses taken: how many accesses back the same item was accessed
    /// last, [`FAR`] if that is more than [`WINDOW`] or never.
    #[inline(always)]
    pub(crate) fn find(&mut self, compare: impl Compare) {
        for start in (0..self.len).step_by(BLOCK) {
            let (low, high) = (&mut self.keys.low, &mut self.keys.high);
            let items: Option<&[u64; BLOCK]> = self.items[BACK + start..].first_chunk();
            let low = low[WINDOW + start..].first_chunk_mut();
            let high = high[WINDOW + start..].first_chunk_mut();
            if let (Some(items), Some(low), Some(high)) = (items, low, high) {
                (*low, *high) = (items.map(|item| key(item).0), items.map(|item| key(item).1));
            }
        }
        for start in (0..self.len).step_by(BLOCK) {
            let lags = &mut self.lags[BACK + start..][..BLOCK];
            lags.copy_from_slice(&compare.nearest(Keys {
                low: &self.keys.low[start..][..WINDOW + BLOCK],
                high: &self.keys.high[start..][..WINDOW + BLOCK],
            }));
        }
        for start in (0..self.len).step_by(BLOCK) {
            let lags = &mut self.lags[BACK + start..][..BLOCK];
            let recent = self.items[BACK - WINDOW + start..].first_chunk();
            // No closure: it would be compiled without the vector instructions of `compare`.
            let is_right = match (recent, lags.first_chunk()) {
                (Some(recent), Some(lags)) => compare.lead_to_same(recent, lags),
                _ => false,
            };
            if !is_right {
                mend(&self.items, BACK + start, lags);
            }
        }
    }

    /// Counts the distinct items of the window between each access taken and the access before to
    /// the same item.
    #[inline(always)]
    pub(crate) fn count(&mut self, compare: impl Compare) {
        let blocks = self.reach.iter_mut().zip((0..self.len).step_by(BLOCK));
        for (reach, start) in blocks {
            let lags = &self.lags[start..][..BACK + BLOCK];
            for (index, (reach, lag)) in (0_u8..).zip(reach.iter_mut().zip(lags)) {
                *reach = index.saturating_sub(*lag);
            }
        }
        let blocks = self.reach.iter().zip((0..self.len).step_by(BLOCK));
        for (reach, start) in blocks {
            // The distinct items in between are the accesses in between that are the first to their
            // item since: that reach at least as far back. So do all those before the previous
            // access.
            let reaching = compare.reaching(reach);
            let lags = &self.lags[BACK + start..][..BLOCK];
            let between = self.between[start..][..BLOCK].iter_mut();
            for (between, (reaching, lag)) in between.zip(reaching.iter().zip(lags)) {
                *between = reaching.wrapping_add(*lag).wrapping_sub(FAR);
            }
        }
    }

    /// Writes what was counted to the distances of the accesses taken, those not kept among them.
    #[inline(always)]
    pub(crate) fn spread(&self, compare: impl Compare, distances: &mut [Distance]) {
        let mut from = 0;
        for (kept, distances) in self.kept.iter().zip(distances.chunks_mut(BLOCK)) {
            let Some(between) = self.between[from..].first_chunk() else {
                break;
            };
            let all = compare.spread(between, *kept);
            let near = |lane: usize| Distance::new(all[lane].into());
            match <&mut [Distance; BLOCK]>::try_from(&mut *distances) {
                Ok(whole) => *whole = std::array::from_fn(near),
                Err(_) => {
                    for (lane, distance) in distances.iter_mut().enumerate() {
                        *distance = near(lane);
                    }
                }
            }
            from += kept.count_ones() as usize;
        }
    }

    /// Adds the distances of the near accesses to `counts`; `accesses` is how many there are with
    /// those not kept, whose distance is 0. The number of a far access becomes the distinct items
    /// of the window between it and the access before to its item.
    #[inline(always)]
    pub(crate) fn tally(
        &mut self,
        compare: impl Compare,
        counts: &mut [u64; WINDOW],
        accesses: usize,
    ) {
        counts[0] += (accesses - self.len) as u64;
        for start in (0..self.len).step_by(BLOCK) {
            let (Some(between), Some(lags), Some(numbers)) = (
                self.between[start..].first_chunk::<BLOCK>(),
                self.lags[start..].first_chunk(),
                self.numbers[start..].first_chunk_mut::<BLOCK>(),
            ) else {
                unreachable!("there is room for whole blocks");
            };
            let all = u64::MAX >> BLOCK.saturating_sub(self.len - start);
            compare.tally(between, all & !compare.far(lags), counts);
            *numbers = between.map(u32::from);
        }
    }

    /// The blocks of the accesses taken.
    pub(crate) fn blocks(&self) -> usize {
        self.len.div_ceil(BLOCK)
    }

    /// The work that a block leaves: its far accesses, and those at which the access [`BACK`]
    /// before leaves.
    #[inline(always)]
    pub(crate) fn block(&self, compare: impl Compare, block: usize) -> Todo<'_> {
        let start = block * BLOCK;
        let all = u64::MAX >> BLOCK.saturating_sub(self.len - start);
        let (Some(items), Some(numbers), Some(lags)) = (
            self.items[start..].first_chunk(),
            self.numbers[start..].first_chunk(),
            self.lags[start..].first_chunk(),
        ) else {
            unreachable!("there is room for whole blocks");
        };
        Todo {
            items,
            numbers,
            far: compare.far(lags) & all,
            leaving: compare.leaving(lags) & all,
        }
    }

    /// The chunk is past.
    #[inline(always)]
    pub(crate) fn pass(&mut self) {
        let len = self.len;
        self.items.copy_within(len..len + BACK, 0);
        self.lags.copy_within(len..len + BACK, 0);
        self.keys.low.copy_within(len..len + WINDOW, 0);
        self.keys.high.copy_within(len..len + WINDOW, 0);
        self.before = BACK.min(self.before + len);
        self.len = 0;
    }

    /// The work at the end, after all chunks: those of the last [`BACK`] accesses leave that no
    /// later access has renewed.
    pub(crate) fn last(&self) -> Todo<'_> {
        let renewed = |index: usize| {
            let mut after = index + 1..BACK;
            after.any(|after| usize::from(self.lags[after]) == after - index)
        };
        let leaving = (0..BACK)
            .filter(|&index| self.lags[index] != 0 && !renewed(index))
            .fold(0, |mask, index| mask | 1 << index);
        let (Some(items), Some(numbers)) = (self.items.first_chunk(), self.numbers.first_chunk())
        else {
            unreachable!("there is room for whole blocks");
        };
        Todo {
            items,
            numbers,
            far: 0,
            leaving,
        }
    }
}

/// [`Compare::keep`] where there are not as many accesses, or none before.
#[cold]
fn keep_at_an_end(items: &[u64], start: usize, (to, numbers): Kept<'_>) -> u64 {
    let end = items.len().min(start + BLOCK);
    let (mut kept, mut len) = (0, 0);
    for at in start..end {
        if at == 0 || items[at] != items[at - 1] {
            (to[len], numbers[len]) = (items[at], at as u32);
            len += 1;
            kept |= 1 << (at - start);
        }
    }
    kept
}

/// Finds those lags anew that lead to another item.
#[cold]
#[inline(never)]
fn mend(items: &[u64], at: usize, lags: &mut [u8]) {
    for (index, lag) in (at..).zip(lags) {
        if *lag != FAR && items[index - usize::from(*lag)] != items[index] {
            let back = (1..=WINDOW).find(|lag| items[index - lag] == items[index]);
            *lag = back.map_or(FAR, |lag| lag as u8);
        }
    }
}

/// Whether most of the last accesses have their item in the window.
#[inline(always)]
pub(crate) fn mostly_near(compare: impl Compare, recent: &mut Recent, items: &[u64]) -> bool {
    const SAMPLE: usize = 256;
    let at = items.len().saturating_sub(SAMPLE + WINDOW);
    recent.clear();
    let taken = recent.take(compare, true, items, at);
    recent.find(compare);
    // The first accesses of the sample have no complete window before them.
    let (first, before) = match recent.numbers[..recent.len].get(WINDOW) {
        Some(number) => (WINDOW, *number as usize - at),
        None => (0, 0),
    };
    let lags = &recent.lags[BACK + first..BACK + recent.len];
    let far = lags.iter().filter(|lag| **lag == FAR).count();
    far * 2 < taken - before
}

#[cfg(test)]
mod tests;
