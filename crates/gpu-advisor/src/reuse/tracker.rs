//! [`Tracker`]: the reuse distances of one stream of requests, by element and by line.

use reuselens_warp::WarpKind;

use super::recency::Recency;
use super::table::LineTable;
use super::{ReuseCounts, ReuseSums};
use crate::count_bits;
use crate::request::{LINE_SHIFT, UNIT_SHIFT, count_sectors, group_bits, sector_mask};

/// What a request accesses in one line of 128 bytes, as it is kept until its turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeptPart {
    /// Number of the line: address / 128.
    pub line: u64,
    /// A bit for each unit of 4 bytes.
    pub units: u32,
    /// A bit for each element that several lanes access.
    pub repeated: u32,
    /// Elements accessed, summed over lanes.
    pub accesses: u32,
    /// Number of the data object.
    pub object: u32,
}

/// Reuse distances of one stream of requests: a warp's or a block's.
#[derive(Clone, Debug)]
pub(crate) struct Tracker {
    lines: LineTable,
    by_element: Grain,
    by_line: Grain,
    /// By the line's number: sectors that were loaded and not written since.
    loaded: Vec<u8>,
    /// Of each part of the last request.
    reuses: Vec<ReuseSums>,
}

impl Tracker {
    /// For elements and lines of these sizes, as log2 of their bytes.
    pub fn new(element_shift: u32, line_shift: u32) -> Tracker {
        Tracker {
            lines: LineTable::new(),
            by_element: Grain::new(element_shift - UNIT_SHIFT),
            by_line: Grain::new(line_shift - UNIT_SHIFT),
            loaded: Vec::new(),
            reuses: Vec::new(),
        }
    }

    /// Counts the accesses of a request. Returns, for each part, what it reuses.
    #[inline]
    pub fn request(
        &mut self,
        kind: WarpKind,
        parts: &[KeptPart],
        elements: &mut ReuseCounts,
        lines: &mut ReuseCounts,
    ) -> &[ReuseSums] {
        self.reuses.clear();
        self.by_element.begin();
        self.by_line.begin();
        for part in parts {
            let (line, is_new) = self.lines.number(part.line);
            if is_new {
                self.by_element.entries.push(LineItems::default());
                self.by_line.entries.push(LineItems::default());
                self.loaded.push(0);
            }
            let sectors = sector_mask(part.units) as u8;
            let loaded = &mut self.loaded[line as usize];
            let reused_sectors = *loaded & sectors;
            match kind {
                WarpKind::Load => *loaded |= sectors,
                WarpKind::Store | WarpKind::Atomic => *loaded &= !sectors,
            }
            let (accesses, reuses, _) = self.by_element.access(line, part, kind, elements);
            let repeats = u64::from(part.accesses) - accesses;
            if repeats > 0 {
                elements.add(kind, Some(0), repeats);
            }
            let (loads, line_reuses, distance_sum) = self.by_line.access(
                line,
                &KeptPart {
                    repeated: 0,
                    ..*part
                },
                kind,
                lines,
            );
            self.reuses.push(ReuseSums {
                loads,
                reuses: line_reuses,
                distance_sum,
                element_loads: part.accesses.into(),
                element_reuses: reuses + repeats,
                sectors: count_sectors(sectors.into()).into(),
                reused_sectors: count_sectors(reused_sectors.into()).into(),
            });
        }
        self.by_element.end();
        self.by_line.end();
        &self.reuses
    }

    /// Ends the stream: counts its items, and forgets them.
    pub fn finish(&mut self, elements: &mut ReuseCounts, lines: &mut ReuseCounts) {
        self.lines.clear();
        self.loaded.clear();
        self.by_element.finish(elements);
        self.by_line.finish(lines);
    }
}

/// The items of one line of 128 bytes. A bit is an item.
#[derive(Clone, Copy, Debug, Default)]
struct LineItems {
    /// Items that were accessed.
    known: u32,
    /// The time of the last access to all of them, if that is the same one.
    time: u32,
    /// Whether they have times of their own.
    is_split: bool,
    /// Where the times of the single items are, if they differ or once did: index in
    /// [`Grain::times`], plus 1.
    own_times: u32,
    /// Items whose last access was a store: the next one is cold.
    ended: u32,
    /// Items that were accessed once.
    once: u32,
}

/// The items of one size.
#[derive(Clone, Debug)]
struct Grain {
    /// log2 of the units of an item.
    shift: u32,
    recency: Recency,
    /// By the line's number.
    entries: Vec<LineItems>,
    /// Times of the items of lines whose items differ in that.
    times: Vec<[u32; 32]>,
    /// Items that the present request takes away from times.
    moved: Vec<(u32, u32)>,
    /// Distinct items of the present request.
    items: u32,
    /// The last time that was asked for, and the items since.
    asked: (u32, u64),
}

/// The shift of items that are lines of 128 bytes.
const WHOLE_LINE: u32 = LINE_SHIFT - UNIT_SHIFT;

/// A time that no request has.
const NO_TIME: u32 = u32::MAX;

impl Grain {
    fn new(shift: u32) -> Grain {
        Grain {
            shift,
            recency: Recency::new(),
            entries: Vec::new(),
            times: Vec::new(),
            moved: Vec::new(),
            items: 0,
            asked: (NO_TIME, 0),
        }
    }

    #[inline]
    fn begin(&mut self) {
        self.moved.clear();
        self.items = 0;
        self.asked = (NO_TIME, 0);
    }

    /// Counts the distinct items that a request accesses in a line: how many, how many of them are
    /// reused, and the sum of their distances.
    ///
    /// Inlined where elements and lines are counted: as a function of its own it makes the analysis
    /// of contiguous loads 10 % slower.
    #[inline(always)]
    fn access(
        &mut self,
        line: u32,
        part: &KeptPart,
        kind: WarpKind,
        counts: &mut ReuseCounts,
    ) -> (u64, u64, u64) {
        if self.shift >= WHOLE_LINE {
            return self.access_whole(line, kind, counts);
        }
        let items = group_bits(part.units, self.shift);
        let entry = self.entries[line as usize];
        let known = items & entry.known;
        let (mut reuses, mut sum) = (0, 0);
        let mut rest = known;
        while rest != 0 {
            let (time, taken) = self.same_time(&entry, rest);
            rest &= !taken;
            self.move_items(time, count_bits(taken));
            let live = u64::from(count_bits(taken & !entry.ended));
            if live > 0 {
                let distance = self.since(time) - 1;
                counts.add(kind, Some(distance), live);
                reuses += live;
                sum += distance * live;
            }
        }
        let all = u64::from(count_bits(items));
        if all > reuses {
            counts.add(kind, None, all - reuses);
        }
        self.set_time(line, items);
        let entry = &mut self.entries[line as usize];
        entry.known |= items;
        entry.once = (entry.once & !items) | (items & !known & !part.repeated);
        match kind {
            WarpKind::Load => entry.ended &= !items,
            WarpKind::Store | WarpKind::Atomic => entry.ended |= items,
        }
        self.items += count_bits(items);
        (all, reuses, sum)
    }

    /// As `access`, of items that are lines of 128 bytes.
    #[inline]
    fn access_whole(
        &mut self,
        line: u32,
        kind: WarpKind,
        counts: &mut ReuseCounts,
    ) -> (u64, u64, u64) {
        let now = self.recency.now();
        let entry = &mut self.entries[line as usize];
        let before = std::mem::replace(
            entry,
            LineItems {
                known: 1,
                time: now,
                ended: u32::from(kind != WarpKind::Load),
                once: u32::from(entry.known == 0),
                ..LineItems::default()
            },
        );
        self.items += 1;
        if before.known != 0 {
            self.move_items(before.time, 1);
            if before.ended == 0 {
                let distance = self.since(before.time) - 1;
                counts.add(kind, Some(distance), 1);
                return (1, 1, distance);
            }
        }
        counts.add(kind, None, 1);
        (1, 0, 0)
    }

    /// The time of the lowest of some items, and neighbours of it with the same time.
    #[inline]
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
    #[inline]
    fn set_time(&mut self, line: u32, items: u32) {
        let now = self.recency.now();
        let entry = &mut self.entries[line as usize];
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

    /// Items accessed at `time` or later.
    #[inline]
    fn since(&mut self, time: u32) -> u64 {
        if self.asked.0 != time {
            self.asked = (time, self.recency.since(time).into());
        }
        self.asked.1
    }

    #[inline]
    fn move_items(&mut self, time: u32, items: u32) {
        match self.moved.last_mut() {
            Some(last) if last.0 == time => last.1 += items,
            _ => self.moved.push((time, items)),
        }
    }

    /// Ends a request: its items have the present time.
    #[inline]
    fn end(&mut self) {
        for &(time, items) in &self.moved {
            self.recency.remove(time, items);
        }
        if self.recency.advance(self.items) {
            self.renumber();
        }
    }

    #[cold]
    fn renumber(&mut self) {
        let numbers = self.recency.renumber();
        let lines = self.entries.iter_mut().map(|entry| &mut entry.time);
        let items = self.times.iter_mut().flatten();
        for time in lines.chain(items) {
            // Times without items are old ones, which may be beyond the numbers.
            if let Some(&number) = numbers.get(*time as usize) {
                *time = number;
            }
        }
    }

    fn finish(&mut self, counts: &mut ReuseCounts) {
        let once = self.entries.iter().map(|entry| entry.once.count_ones());
        counts.streaming += once.map(u64::from).sum::<u64>();
        counts.items += u64::from(self.recency.total());
        self.recency.clear();
        self.entries.clear();
        self.times.clear();
    }
}
