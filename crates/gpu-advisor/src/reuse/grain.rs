//! [`Grain`]: the items of one size in a line of 128 bytes; [`Clock`]: when items of both sizes
//! were accessed last.

use reuselens_warp::WarpKind;

use super::ReuseCounts;
use super::recency::{ItemCounts, ItemSize, Recency};
use crate::count_bits;
use crate::request::{LINE_SHIFT, UNIT_SHIFT, group_bits};

/// The items of one line of 128 bytes. A bit is an item.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LineItems {
    /// Items that were accessed.
    known: u32,
    /// The time of the last access to all of them, if that is the same one.
    pub time: u32,
    /// Whether they have times of their own.
    is_split: bool,
    /// Where the times of the single items are, if they differ or once did: index in
    /// [`Grain::times`], plus 1.
    own_times: u32,
    /// Items whose last access was a store: the next one is cold.
    ended: u32,
    /// Items that were accessed once.
    pub once: u32,
}

/// What a request reuses of a line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reused {
    /// Distinct items that it accesses.
    pub items: u64,
    /// Of those, the ones with a finite distance.
    pub reuses: u64,
    /// Their distances, summed.
    pub distance_sum: u64,
}

/// When items were accessed last, those of both sizes on one axis of time: each request has a time.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    recency: Recency,
    /// Items that the present request takes away from times.
    moved: Vec<(u32, ItemCounts)>,
    /// Distinct items of the present request.
    items: ItemCounts,
    /// The last time that was asked for, and the items since.
    asked: (u32, ItemCounts),
}

/// A time that no request has.
const NO_TIME: u32 = u32::MAX;

impl Clock {
    pub fn new() -> Clock {
        Clock {
            recency: Recency::new(),
            moved: Vec::new(),
            items: ItemCounts::default(),
            asked: (NO_TIME, ItemCounts::default()),
        }
    }

    /// Begins a request.
    #[inline(always)]
    pub fn begin(&mut self) {
        self.moved.clear();
        self.items = ItemCounts::default();
        self.asked.0 = NO_TIME;
    }

    /// Distinct items of the present request.
    #[inline(always)]
    pub fn items(&self) -> ItemCounts {
        self.items
    }

    /// Distinct items of all requests.
    pub fn total(&self) -> ItemCounts {
        self.recency.total()
    }

    /// Items accessed at `time` or later.
    #[inline(always)]
    fn since(&mut self, time: u32, size: ItemSize) -> u64 {
        if self.asked.0 != time {
            self.asked = (time, self.recency.since(time));
        }
        self.asked.1.of(size).into()
    }

    #[inline(always)]
    fn move_items(&mut self, time: u32, items: ItemCounts) {
        match self.moved.last_mut() {
            Some(last) if last.0 == time => last.1 += items,
            _ => self.moved.push((time, items)),
        }
    }

    /// Ends a request: its items have the present time. Returns whether times have run out.
    #[inline(always)]
    pub fn end(&mut self) -> bool {
        for &(time, items) in &self.moved {
            self.recency.remove(time, items);
        }
        self.recency.advance(self.items)
    }

    /// Gives up times without items. Returns the new time of each old one.
    pub fn renumber(&mut self) -> Vec<u32> {
        self.recency.renumber()
    }

    pub fn clear(&mut self) {
        self.recency.clear();
    }
}

/// The items of one size.
#[derive(Clone, Debug)]
pub(super) struct Grain {
    size: ItemSize,
    /// log2 of the units of an item.
    shift: u32,
    /// Times of the items of lines whose items differ in that.
    times: Vec<[u32; 32]>,
}

/// The shift of items that are lines of 128 bytes.
const WHOLE_LINE: u32 = LINE_SHIFT - UNIT_SHIFT;

impl Grain {
    pub fn new(size: ItemSize, shift: u32) -> Grain {
        Grain {
            size,
            shift,
            times: Vec::new(),
        }
    }

    /// The items that have some of these units.
    #[inline(always)]
    pub fn items(&self, units: u32) -> u32 {
        group_bits(units, self.shift)
    }

    /// Times of items of their own.
    pub fn times(&mut self) -> impl Iterator<Item = &mut u32> {
        self.times.iter_mut().flatten()
    }

    pub fn clear(&mut self) {
        self.times.clear();
    }

    /// Counts the distinct items that a request accesses in a line.
    #[inline(always)]
    pub fn access(
        &mut self,
        clock: &mut Clock,
        entry: &mut LineItems,
        units: u32,
        repeated: u32,
        kind: WarpKind,
        counts: &mut ReuseCounts,
    ) -> Reused {
        if self.shift >= WHOLE_LINE {
            return entry.access_whole(clock, self.size, kind, counts);
        }
        let items = group_bits(units, self.shift);
        let known = items & entry.known;
        let mut reused = Reused {
            items: count_bits(items).into(),
            ..Reused::default()
        };
        let mut rest = known;
        while rest != 0 {
            let (time, taken) = self.same_time(entry, rest);
            rest &= !taken;
            clock.move_items(time, ItemCounts::new(self.size, count_bits(taken)));
            let live = u64::from(count_bits(taken & !entry.ended));
            if live > 0 {
                let distance = clock.since(time, self.size) - 1;
                counts.add(kind, Some(distance), live);
                reused.reuses += live;
                reused.distance_sum += distance * live;
            }
        }
        if reused.items > reused.reuses {
            counts.add(kind, None, reused.items - reused.reuses);
        }
        self.set_time(entry, items, clock.recency.now());
        entry.known |= items;
        entry.once = (entry.once & !items) | (items & !known & !repeated);
        entry.set_ended(items, kind);
        clock.items += ItemCounts::new(self.size, reused.items as u32);
        reused
    }

    /// The time of the lowest of some items, and neighbours of it with the same time.
    #[inline(always)]
    fn same_time(&self, entry: &LineItems, items: u32) -> (u32, u32) {
        if !entry.is_split {
            return (entry.time, items);
        }
        let times = &self.times[entry.own_times as usize - 1];
        let time = times[items.trailing_zeros() as usize & 31];
        let (mut rest, mut same) = (items, 0);
        while rest != 0 && times[rest.trailing_zeros() as usize & 31] == time {
            same |= rest & rest.wrapping_neg();
            rest &= rest - 1;
        }
        (time, same)
    }

    /// Gives items of a line the present time.
    #[inline(always)]
    fn set_time(&mut self, entry: &mut LineItems, items: u32, now: u32) {
        if entry.known & !items == 0 {
            (entry.time, entry.is_split) = (now, false);
            return;
        }
        if entry.own_times == 0 {
            self.times.push([0; 32]);
            entry.own_times = self.times.len() as u32;
        }
        let times = &mut self.times[entry.own_times as usize - 1];
        if !std::mem::replace(&mut entry.is_split, true) {
            times.fill(entry.time);
        }
        let mut rest = items;
        while rest != 0 {
            times[rest.trailing_zeros() as usize & 31] = now;
            rest &= rest - 1;
        }
    }
}

impl LineItems {
    /// As [`Grain::access`], of items that are lines of 128 bytes.
    #[inline(always)]
    fn access_whole(
        &mut self,
        clock: &mut Clock,
        size: ItemSize,
        kind: WarpKind,
        counts: &mut ReuseCounts,
    ) -> Reused {
        let before = std::mem::replace(
            self,
            LineItems {
                known: 1,
                time: clock.recency.now(),
                ended: u32::from(kind != WarpKind::Load),
                once: u32::from(self.known == 0),
                ..LineItems::default()
            },
        );
        clock.items += ItemCounts::new(size, 1);
        let mut reused = Reused {
            items: 1,
            ..Reused::default()
        };
        if before.known != 0 {
            clock.move_items(before.time, ItemCounts::new(size, 1));
            if before.ended == 0 {
                reused.reuses = 1;
                reused.distance_sum = clock.since(before.time, size) - 1;
            }
        }
        let distance = (reused.reuses > 0).then_some(reused.distance_sum);
        counts.add(kind, distance, 1);
        reused
    }

    /// As [`Grain::access`], right after a request that accessed the same `items` and no others,
    /// `all` in number.
    #[inline(always)]
    pub fn repeat(
        &mut self,
        items: u32,
        all: u32,
        kind: WarpKind,
        counts: &mut ReuseCounts,
    ) -> Reused {
        let reuses = u64::from(count_bits(items & !self.ended));
        let (all, distance) = (u64::from(all), u64::from(all) - 1);
        if reuses > 0 {
            counts.add(kind, Some(distance), reuses);
        }
        if all > reuses {
            counts.add(kind, None, all - reuses);
        }
        self.once &= !items;
        self.set_ended(items, kind);
        Reused {
            items: all,
            reuses,
            distance_sum: distance * reuses,
        }
    }

    #[inline(always)]
    fn set_ended(&mut self, items: u32, kind: WarpKind) {
        match kind {
            WarpKind::Load => self.ended &= !items,
            WarpKind::Store | WarpKind::Atomic => self.ended |= items,
        }
    }
}
