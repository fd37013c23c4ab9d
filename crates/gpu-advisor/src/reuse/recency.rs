//! [`Recency`]: how many items were accessed last at each time, and sums over the latest times.

use std::ops::{AddAssign, SubAssign};

/// The two sizes of items that are counted side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemSize {
    Element,
    Line,
}

/// A number of elements and a number of lines, as the low and the high half of one number: one
/// addition adds both. Neither exceeds 32 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ItemCounts(u64);

impl ItemCounts {
    /// Items of one size, and none of the other.
    #[inline(always)]
    pub fn new(size: ItemSize, items: u32) -> ItemCounts {
        ItemCounts(u64::from(items) << ItemCounts::shift(size))
    }

    #[inline(always)]
    pub fn of(self, size: ItemSize) -> u32 {
        (self.0 >> ItemCounts::shift(size)) as u32
    }

    #[inline(always)]
    fn shift(size: ItemSize) -> u32 {
        match size {
            ItemSize::Element => 0,
            ItemSize::Line => u32::BITS,
        }
    }
}

impl AddAssign for ItemCounts {
    #[inline(always)]
    fn add_assign(&mut self, other: ItemCounts) {
        self.0 += other.0;
    }
}

impl SubAssign for ItemCounts {
    #[inline(always)]
    fn sub_assign(&mut self, other: ItemCounts) {
        self.0 -= other.0;
    }
}

/// log2 of the times of a sum, and of the sums of a sum.
const FAN_SHIFT: u32 = 4;
const FAN: usize = 1 << FAN_SHIFT;
/// Counts of single times, and sums of 16, 256 and 4,096 times.
const LEVELS: usize = 4;
/// Times of a new one.
const FIRST: usize = FAN * FAN;

/// Row *n* keeps what is at *n* and above in a group.
static FROM: [[u64; FAN]; FAN + 1] = {
    let mut masks = [[0; FAN]; FAN + 1];
    let mut at = 0;
    while at < FAN * FAN {
        if at % FAN >= at / FAN {
            masks[at / FAN][at % FAN] = u64::MAX;
        }
        at += 1;
    }
    masks
};

/// Items by the time of their last access. Times are small numbers; when they run out, those
/// without an item are given up, and the others renumbered.
///
/// A query adds up at most 16 counts of each of three levels, and the sums of 4,096 times that
/// there are. Memory: about 9 bytes for each time, whose number is up to four times that of the
/// requests that have an item which was not accessed since.
#[derive(Clone, Debug)]
pub(super) struct Recency {
    levels: [Vec<[ItemCounts; FAN]>; LEVELS],
    /// The present time.
    now: usize,
}

impl Recency {
    pub fn new() -> Recency {
        Recency {
            levels: Recency::empty(FIRST),
            now: 0,
        }
    }

    /// Levels for so many times, a power of two.
    fn empty(times: usize) -> [Vec<[ItemCounts; FAN]>; LEVELS] {
        std::array::from_fn(|level| {
            let groups = times >> (FAN_SHIFT as usize * (level + 1));
            vec![[ItemCounts::default(); FAN]; groups.max(1)]
        })
    }

    /// Removes the items and keeps the memory.
    pub fn clear(&mut self) {
        for (level, groups) in self.levels.iter_mut().enumerate() {
            let used = (self.now >> (FAN_SHIFT as usize * (level + 1))) + 1;
            let used = used.min(groups.len());
            groups[..used].fill([ItemCounts::default(); FAN]);
        }
        self.now = 0;
    }

    /// Number of distinct items.
    pub fn total(&self) -> ItemCounts {
        let mut total = ItemCounts::default();
        for &items in self.levels[LEVELS - 1].as_flattened() {
            total += items;
        }
        total
    }

    /// The present time.
    #[inline(always)]
    pub fn now(&self) -> u32 {
        self.now as u32
    }

    /// Items whose last access was at `time` or later, and before now.
    #[inline(always)]
    pub fn since(&self, time: u32) -> ItemCounts {
        let [items, sums, more, tops] = &self.levels;
        let (at, now) = (time as usize, self.now);
        // Counts at and after the present are 0, so each group is added up to its end.
        let mut total = group_from(&items[at / FAN], at % FAN);
        let (at, now) = (at / FAN, now / FAN);
        if at == now {
            return ItemCounts(total);
        }
        total += group_from(&sums[at / FAN], at % FAN + 1);
        let (at, now) = (at / FAN, now / FAN);
        if at == now {
            return ItemCounts(total);
        }
        total += group_from(&more[at / FAN], at % FAN + 1);
        let (at, now) = (at / FAN, now / FAN);
        if at == now {
            return ItemCounts(total);
        }
        total += group_from(&tops[at / FAN], at % FAN + 1);
        for group in &tops[at / FAN + 1..(now / FAN + 1).min(tops.len())] {
            total += group_from(group, 0);
        }
        ItemCounts(total)
    }

    /// Takes items away from a time.
    #[inline(always)]
    pub fn remove(&mut self, time: u32, items: ItemCounts) {
        let mut at = time as usize;
        for level in &mut self.levels {
            level[at / FAN][at % FAN] -= items;
            at /= FAN;
        }
    }

    /// Gives items the present time, and begins the next. Returns whether times have run out:
    /// [`Recency::renumber`] must be called then.
    #[inline(always)]
    pub fn advance(&mut self, items: ItemCounts) -> bool {
        self.add(self.now, items);
        self.now += 1;
        self.now == self.levels[0].len() * FAN
    }

    #[inline(always)]
    fn add(&mut self, time: usize, items: ItemCounts) {
        let mut at = time;
        for level in &mut self.levels {
            level[at / FAN][at % FAN] += items;
            at /= FAN;
        }
    }

    /// Gives up times without items. Returns the new time of each old one.
    pub fn renumber(&mut self) -> Vec<u32> {
        let mut numbers = Vec::with_capacity(self.now);
        let mut kept = Vec::new();
        for &items in self.levels[0].as_flattened() {
            numbers.push(kept.len() as u32);
            if items != ItemCounts::default() {
                kept.push(items);
            }
        }
        let mut times = self.levels[0].len() * FAN;
        if kept.len() * 2 > times {
            times *= 4;
        }
        self.levels = Recency::empty(times);
        for (time, &items) in kept.iter().enumerate() {
            self.add(time, items);
        }
        self.now = kept.len();
        numbers
    }
}

/// The sum of the counts from one on. Of fixed length and without branches, so that it is a few
/// vector additions.
#[inline(always)]
fn group_from(group: &[ItemCounts; FAN], from: usize) -> u64 {
    let pairs = group.iter().zip(&FROM[from]);
    pairs.map(|(items, mask)| items.0 & mask).sum()
}
