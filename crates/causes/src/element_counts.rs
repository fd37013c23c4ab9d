//! [`ElementCounts`]: which bytes of an object's elements are accessed, brought in and used.
//!
//! Unless blocks are single elements, a line is taken for elements of the object of the access that
//! made the fill, one after another.
//! Where these begin in the line follows from that access: from its offset in its element, and from
//! its first byte in the line. If that offset is unknown, the fill counts for no element.
//!
//! A block that is a single element has other data around it. Its elements are counted as if they
//! had a line of padding: whatever a line has before or after the element is in the padding, which
//! is left out in the end. Whether blocks are single elements is decided at a cell's first access:
//! a vector that begins with one element and grows has cells of both kinds, whose counts are added.
//!
//! Elements of 48 bytes, and a line that begins 16 bytes before the end of one. The access is to
//! the bytes 8 to 15 of the next element:
//!
//! ```
//! use reuselens_causes::{CauseCell, CauseCounts, CauseOptions, CellPlace, MissColumns};
//! use reuselens_units::Distance;
//!
//! let mut counts = CauseCounts::new(CauseOptions { line_use: true, ..CauseOptions::default() });
//! counts.add_cells([CauseCell { element_bytes: 48, ..CauseCell::default() }]);
//! counts.process(&MissColumns {
//!     thread: 1,
//!     items: &[7],
//!     distances: &[Distance::COLD],
//!     cells: &[0],
//!     bytes: &[0xff << 24],
//!     stores: &[false],
//!     offsets: &[8],
//! });
//! let (_, causes) = counts.finish(&[CellPlace::default()]);
//! let element = &causes.elements[0];
//! assert_eq!((element.accesses[8], element.accesses.iter().sum::<u64>()), (1, 1));
//! // The line has the last 16 bytes of an element, and then a complete one.
//! assert_eq!(element.brought, [[1; 32].as_slice(), [2; 16].as_slice()].concat());
//! let used = |byte| u64::from((8..16).contains(&byte));
//! assert_eq!(element.used, (0..48).map(used).collect::<Vec<_>>());
//! ```

use std::collections::HashMap;

use reuselens_profile::ElementUse;
use reuselens_units::Granularity;

use crate::table_memory::table_memory;
use crate::{CauseCell, CellPlace};

/// log2 of the patterns that are kept.
const PATTERNS: u32 = 10;

/// The phase of a fill if the offset of the access that made it is unknown, so that it counts for
/// no element.
pub(crate) const NO_PHASE: u16 = u16::MAX;

/// Bytes of elements that have counters, of all objects together: 32 MiB of counters. Programs have
/// some hundred types of some hundred bytes.
const MOST_COUNTED_BYTES: usize = 1 << 20;

/// The counters of the elements of an object.
#[derive(Clone, Copy, Debug)]
struct Counters {
    /// Its first counter.
    base: u32,
    /// Counters, of which each has a byte of an element or of the padding after it; 0 if there are
    /// none.
    bytes: u32,
    /// Bytes of the padding after an element that is a block by itself; 0 of other elements.
    padding: u32,
}

/// The counters of a byte.
#[derive(Clone, Copy, Debug, Default)]
struct ByteCounts {
    accesses: u64,
    misses: u64,
    /// Fills whose first byte this is.
    phases: u64,
    used: u64,
}

/// Fills of one object with the same phase and the same used bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Pattern {
    bytes: u64,
    base: u32,
    phase: u16,
    element_bytes: u16,
    fills: u64,
}

/// Counts accesses, fills and used bytes by byte of an element.
///
/// Few patterns of used bytes make up most fills. So a fill counts for its pattern in a small table
/// that is accessed by a hash, and only a pattern that another one replaces is counted by byte:
/// that takes up to 64 additions, which would be more than all else that a miss costs.
///
/// Memory: 32 bytes for each byte of the elements of each object, their padding included, up to 2²⁰
/// such bytes; 12 per cell, 40 KiB. Objects beyond have no counters.
pub(crate) struct ElementCounts {
    /// Bytes of a line; 0 if a bit of a line is more than a byte, so that lines have no elements.
    line_bytes: u32,
    /// By cell.
    cells: Vec<Counters>,
    counts: Vec<ByteCounts>,
    patterns: Vec<Pattern>,
    /// By object and by the bytes of its counters and of the padding in them, a cell.
    objects: HashMap<(u32, u32, u32), u32>,
    /// Cells of objects without counters for lack of room.
    cells_left_out: u64,
}

impl ElementCounts {
    pub fn new(granularity: Granularity) -> Self {
        let line_bytes = match granularity.bytes() {
            bytes @ ..=64 => bytes as u32,
            _ => 0,
        };
        ElementCounts {
            line_bytes,
            cells: Vec::new(),
            counts: Vec::new(),
            patterns: vec![Pattern::default(); 1 << PATTERNS],
            objects: HashMap::new(),
            cells_left_out: 0,
        }
    }

    /// Cells of objects that have no counters for lack of room.
    pub fn cells_left_out(&self) -> u64 {
        self.cells_left_out
    }

    pub fn add_cell(&mut self, cell: CauseCell) {
        let padding = if cell.is_single { self.line_bytes } else { 0 };
        let mut bytes = match cell.counted_bytes() {
            0 => 0,
            element => element + padding,
        };
        let key = (cell.object, bytes, padding);
        let is_known = self.objects.contains_key(&key);
        if !is_known && self.counts.len() + bytes as usize > MOST_COUNTED_BYTES {
            self.cells_left_out += 1;
            bytes = 0;
        }
        let number = self.cells.len() as u32;
        let first = match bytes {
            0 => number,
            _ => *self.objects.entry(key).or_insert(number),
        };
        let counters = self.cells.get(first as usize).copied();
        self.cells.push(counters.unwrap_or(Counters {
            base: self.counts.len() as u32,
            bytes,
            padding,
        }));
        if first == number {
            let more = self.counts.len() + bytes as usize;
            self.counts.resize(more, ByteCounts::default());
        }
    }

    /// Counts an access.
    #[inline(always)]
    pub fn access(&mut self, cell: u32, offset: u32, misses: bool) {
        let counters = self.cells[cell as usize];
        if offset < counters.bytes {
            let counts = &mut self.counts[(counters.base + offset) as usize];
            counts.accesses += 1;
            counts.misses += u64::from(misses);
        }
    }

    /// The byte of an element that is the first of a line, of which `bytes` are accessed.
    #[inline(always)]
    pub fn phase(&self, cell: u32, offset: u32, bytes: u64) -> u16 {
        let element = self.cells[cell as usize].bytes;
        if offset >= element || self.line_bytes == 0 {
            return NO_PHASE;
        }
        // Few elements are smaller than the offset of an access in its line.
        let before = match bytes.trailing_zeros() {
            before if before < element => before,
            before => before % element,
        };
        match offset.checked_sub(before) {
            Some(phase) => phase as u16,
            None => (offset + element - before) as u16,
        }
    }

    /// Counts a fill that has ended.
    #[inline(always)]
    pub fn end(&mut self, cell: u32, phase: u16, bytes: u64) {
        if phase == NO_PHASE {
            return;
        }
        let counters = self.cells[cell as usize];
        self.counts[(counters.base + u32::from(phase)) as usize].phases += 1;
        let key = bytes ^ (u64::from(counters.base) << 32 | u64::from(phase));
        let place = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - PATTERNS);
        let pattern = &mut self.patterns[place as usize];
        if (pattern.bytes, pattern.base, pattern.phase) == (bytes, counters.base, phase) {
            pattern.fills += 1;
            return;
        }
        let replaced = std::mem::replace(
            pattern,
            Pattern {
                bytes,
                base: counters.base,
                phase,
                element_bytes: counters.bytes as u16,
                fills: 1,
            },
        );
        self.count_used(replaced);
    }

    /// Counts the used bytes of a pattern.
    fn count_used(&mut self, pattern: Pattern) {
        if pattern.fills == 0 {
            return;
        }
        let mut rest = pattern.bytes;
        while rest != 0 {
            let byte = rest.trailing_zeros() + u32::from(pattern.phase);
            let at = pattern.base + byte % u32::from(pattern.element_bytes);
            self.counts[at as usize].used += pattern.fills;
            rest &= rest - 1;
        }
    }

    /// The memory held.
    pub fn memory(&self) -> u64 {
        let bytes = self.counts.capacity() * size_of::<ByteCounts>()
            + self.patterns.capacity() * size_of::<Pattern>()
            + self.cells.capacity() * size_of::<Counters>()
            + table_memory::<((u32, u32, u32), u32)>(self.objects.capacity());
        bytes as u64
    }

    /// The counts by object, in the order of the objects.
    pub fn finish(mut self, places: &[CellPlace]) -> Vec<ElementUse> {
        for pattern in std::mem::take(&mut self.patterns) {
            self.count_used(pattern);
        }
        let mut firsts: Vec<u32> = self.objects.values().copied().collect();
        firsts.sort_unstable();
        let uses = firsts.iter().map(|&cell| {
            let object = places[cell as usize].object;
            self.element_use(object, self.cells[cell as usize])
        });
        let mut uses: Vec<ElementUse> = uses.collect();
        uses.sort_by_key(|element| element.object);
        uses
    }

    fn element_use(&self, object: u32, counters: Counters) -> ElementUse {
        let range = counters.base as usize..(counters.base + counters.bytes) as usize;
        let counts = &self.counts[range];
        let element = (counters.bytes - counters.padding) as usize;
        let column = |of: fn(&ByteCounts) -> u64| counts[..element].iter().map(of).collect();
        let mut brought = vec![0; counts.len()];
        for (phase, count) in counts.iter().enumerate() {
            for byte in 0..self.line_bytes as usize {
                brought[(phase + byte) % counts.len()] += count.phases;
            }
        }
        brought.truncate(element);
        ElementUse {
            object,
            layout: None,
            origin: None,
            accesses: column(|count| count.accesses),
            misses: column(|count| count.misses),
            brought,
            used: column(|count| count.used),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_beyond_the_room_have_no_counters() {
        let mut counts = ElementCounts::new(Granularity::LINE_64);
        let cell = |object| CauseCell {
            object,
            element_bytes: 1024,
            ..CauseCell::default()
        };
        for object in 0..1100 {
            counts.add_cell(cell(object));
        }
        // An object that has counters keeps them.
        counts.add_cell(cell(3));
        assert_eq!(counts.cells_left_out(), 1100 - 1024);
        for number in [0, 1023, 1099, 1100] {
            counts.access(number, 5, false);
        }
        let places: Vec<_> = (0..1100)
            .chain([3])
            .map(|object| CellPlace { site: 0, object })
            .collect();
        let elements = counts.finish(&places);
        let counted: Vec<u32> = elements
            .iter()
            .filter(|it| it.accesses[5] > 0)
            .map(|it| it.object)
            .collect();
        assert_eq!(counted, [0, 3, 1023]);
    }
}
