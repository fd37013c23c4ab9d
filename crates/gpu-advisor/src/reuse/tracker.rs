//! [`Tracker`]: the reuse distances of one stream of requests, by element and by line.

use reuselens_warp::WarpKind;

use super::recency::Recency;
use super::table::LineTable;
use super::{ReuseCounts, ReuseSums};
use crate::request::{UNIT_SHIFT, fold};

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
            });
        }
        self.by_element.end();
        self.by_line.end();
        &self.reuses
    }

    /// Ends the stream: counts its items, and forgets them.
    pub fn finish(&mut self, elements: &mut ReuseCounts, lines: &mut ReuseCounts) {
        self.lines.clear();
        self.by_element.finish(elements);
        self.by_line.finish(lines);
    }
}

/// The items of one line of 128 bytes. A bit is an item.
#[derive(Clone, Copy, Debug, Default)]
struct LineItems {
    /// Items that were accessed last at the same time; most often all of the line's.
    group: Group,
    /// Items whose last access was a store: the next one is cold.
    ended: u32,
    /// Items that were accessed once.
    once: u32,
}

/// Items of a line that were accessed last at the same time.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    items: u32,
    time: u32,
    /// Index of the line's next group in [`Grain::more`], plus 1.
    next: u32,
}

/// The items of one size.
#[derive(Clone, Debug)]
struct Grain {
    /// log2 of the units of an item.
    shift: u32,
    recency: Recency,
    /// By the line's number.
    entries: Vec<LineItems>,
    /// Groups after the first of their lines.
    more: Vec<Group>,
    /// Unused ones of these: index plus 1, linked by `next`.
    unused: u32,
    /// Items that the present request takes away from times.
    moved: Vec<(u32, u32)>,
    /// Distinct items of the present request.
    items: u32,
    /// The last time that was asked for, and the items since.
    asked: (u32, u64),
}

/// A time that no request has.
const NO_TIME: u32 = u32::MAX;

impl Grain {
    fn new(shift: u32) -> Grain {
        Grain {
            shift,
            recency: Recency::new(),
            entries: Vec::new(),
            more: Vec::new(),
            unused: 0,
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
    #[inline]
    fn access(
        &mut self,
        line: u32,
        part: &KeptPart,
        kind: WarpKind,
        counts: &mut ReuseCounts,
    ) -> (u64, u64, u64) {
        let items = fold(part.units, self.shift);
        let line = line as usize;
        let entry = self.entries[line];
        let (mut known, mut reuses, mut sum) = (0, 0, 0);
        let mut take = |grain: &mut Grain, group: Group| {
            let taken = group.items & items;
            if taken == 0 {
                return;
            }
            known |= taken;
            grain.move_items(group.time, taken.count_ones());
            let live = u64::from((taken & !entry.ended).count_ones());
            if live > 0 {
                let distance = grain.since(group.time) - 1;
                counts.add(kind, Some(distance), live);
                reuses += live;
                sum += distance * live;
            }
        };
        take(self, entry.group);
        let mut next = entry.group.next;
        while next != 0 {
            let group = self.more[next as usize - 1];
            take(self, group);
            next = group.next;
        }
        let all = u64::from(items.count_ones());
        if all > reuses {
            counts.add(kind, None, all - reuses);
        }
        self.regroup(line, items);
        let entry = &mut self.entries[line];
        entry.once = (entry.once & !items) | (items & !known & !part.repeated);
        match kind {
            WarpKind::Load => entry.ended &= !items,
            WarpKind::Store | WarpKind::Atomic => entry.ended |= items,
        }
        self.items += items.count_ones();
        (all, reuses, sum)
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

    /// Puts items of a line into a group of the present time.
    #[inline]
    fn regroup(&mut self, line: usize, items: u32) {
        let now = self.recency.now();
        let first = &mut self.entries[line].group;
        let rest = first.items & !items;
        if rest == 0 && first.next == 0 {
            (first.items, first.time) = (items, now);
        } else {
            self.split(line, items, now);
        }
    }

    /// As `regroup`, of a line with several groups: the new one becomes the first.
    #[inline(never)]
    fn split(&mut self, line: usize, items: u32, now: u32) {
        let mut group = self.entries[line].group;
        let mut kept = 0;
        loop {
            let after = group.next;
            group.items &= !items;
            if group.items != 0 {
                group.next = kept;
                kept = self.keep(group);
            }
            if after == 0 {
                break;
            }
            group = self.more[after as usize - 1];
            self.more[after as usize - 1].next = self.unused;
            self.unused = after;
        }
        self.entries[line].group = Group {
            items,
            time: now,
            next: kept,
        };
    }

    fn keep(&mut self, group: Group) -> u32 {
        if self.unused == 0 {
            self.more.push(group);
            return self.more.len() as u32;
        }
        let at = self.unused;
        let place = &mut self.more[at as usize - 1];
        self.unused = place.next;
        *place = group;
        at
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
        let groups = self.entries.iter_mut().map(|entry| &mut entry.group);
        for group in groups.chain(&mut self.more) {
            // Unused groups have old times.
            if let Some(&number) = numbers.get(group.time as usize) {
                group.time = number;
            }
        }
    }

    fn finish(&mut self, counts: &mut ReuseCounts) {
        let once = self.entries.iter().map(|entry| entry.once.count_ones());
        counts.streaming += once.map(u64::from).sum::<u64>();
        counts.items += u64::from(self.recency.total());
        self.recency.clear();
        self.entries.clear();
        self.more.clear();
        self.unused = 0;
    }
}
