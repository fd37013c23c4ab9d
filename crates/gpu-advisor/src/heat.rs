//! [`HeatMap`]: how often the parts of a data object are accessed.

use crate::ObjectRange;
use crate::request::{LINE_SHIFT, LinePart, count_sectors, sector_mask};
use crate::tally::{ByObject, OfObject};

/// Parts of an object at most.
pub const HEAT_PARTS: usize = 64;

/// Sectors that requests access in equal parts of an object: loads, stores and atomic operations.
///
/// Parts are whole lines of 128 bytes, counted from the line in which the object begins. They are a
/// power of two long: the shortest of which [`HEAT_PARTS`] hold what is accessed. Of an object that
/// is several allocations, part *n* is that of all allocations together.
///
/// Sums are exact, and do not depend on the order in which maps are merged. Memory: 0.5 KB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeatMap {
    /// log2 of the bytes of a part.
    shift: u32,
    /// Bytes of the longest allocation that is accessed, from the beginning of its first line on.
    bytes: u64,
    sectors: [u64; HEAT_PARTS],
}

impl Default for HeatMap {
    fn default() -> HeatMap {
        HeatMap {
            shift: LINE_SHIFT,
            bytes: 0,
            sectors: [0; HEAT_PARTS],
        }
    }
}

impl HeatMap {
    /// Bytes of a part.
    pub fn part_bytes(&self) -> u64 {
        1 << self.shift
    }

    /// Bytes of the object's longest allocation that is accessed, from the beginning of its first
    /// line of 128 bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// By part, in the order of addresses: distinct sectors of each request, summed over requests.
    pub fn sectors(&self) -> &[u64] {
        let parts = self.bytes.div_ceil(self.part_bytes()) as usize;
        // An access may go beyond the object that its line belongs to.
        let last = self.sectors.iter().rposition(|&sectors| sectors > 0);
        let parts = parts.max(last.map_or(0, |last| last + 1));
        &self.sectors[..parts.min(HEAT_PARTS)]
    }

    /// Adds the requests of another.
    pub fn merge(&mut self, other: &HeatMap) {
        self.bytes = self.bytes.max(other.bytes);
        self.widen(other.shift);
        let shift = self.shift - other.shift;
        for (part, sectors) in other.sectors.iter().enumerate() {
            self.sectors[part >> shift] += sectors;
        }
    }

    /// Makes room for an allocation.
    fn fit(&mut self, range: &ObjectRange) {
        let first = range.start >> LINE_SHIFT;
        let last = (range.end.saturating_sub(1) >> LINE_SHIFT).saturating_sub(first);
        let bits = u64::BITS - last.leading_zeros();
        self.widen(LINE_SHIFT + bits.saturating_sub(HEAT_PARTS.trailing_zeros()));
        let bytes = range.end.saturating_sub(first << LINE_SHIFT);
        self.bytes = self.bytes.max(bytes);
    }

    /// Makes parts at least this long, by putting neighbours together.
    fn widen(&mut self, shift: u32) {
        let Some(more) = shift.checked_sub(self.shift).filter(|more| *more > 0) else {
            return;
        };
        self.shift = shift;
        let finer = std::mem::replace(&mut self.sectors, [0; HEAT_PARTS]);
        for (part, sectors) in finer.iter().enumerate() {
            self.sectors[part >> more] += sectors;
        }
    }

    /// Counts sectors of a line; `line` is its number in the object.
    #[inline(always)]
    fn add(&mut self, line: u64, sectors: u64) {
        let part = (line >> (self.shift - LINE_SHIFT)) as usize % HEAT_PARTS;
        self.sectors[part] += sectors;
    }
}

/// The heat map of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObjectHeat {
    pub object: u32,
    pub map: HeatMap,
}

impl OfObject for ObjectHeat {
    fn new(object: u32) -> ObjectHeat {
        ObjectHeat {
            object,
            map: HeatMap::default(),
        }
    }

    fn object(&self) -> u32 {
        self.object
    }

    fn merge(&mut self, other: &ObjectHeat) {
        self.map.merge(&other.map);
    }
}

/// Heat maps by object.
pub(crate) type HeatMaps = ByObject<ObjectHeat>;

impl HeatMaps {
    /// The place of the map of an object, with room for one of its allocations.
    pub fn open(&mut self, range: &ObjectRange) -> usize {
        let at = self.place(range.object);
        self.entries[at].map.fit(range);
        at
    }

    /// Counts a line of a request in an allocation, at the place that [`open`](Self::open) gave.
    #[inline(always)]
    pub fn add(&mut self, at: usize, range: &ObjectRange, part: &LinePart) {
        let sectors = count_sectors(sector_mask(part.units));
        let line = part.line - (range.start >> LINE_SHIFT);
        self.entries[at].map.add(line, sectors.into());
    }

    /// The part of an allocation in which a line is.
    #[inline]
    fn window(&self, at: usize, range: &ObjectRange, line: u64) -> PartWindow {
        let shift = self.entries[at].map.shift - LINE_SHIFT;
        let first = range.start >> LINE_SHIFT;
        let begin = (line - first) >> shift << shift;
        let address = |line: u64| u128::from(first + line) << LINE_SHIFT;
        let end = address(begin + (1 << shift)).min(range.end.into());
        PartWindow {
            start: range.start.max(address(begin) as u64),
            end: end as u64,
            line: begin,
        }
    }
}

/// The addresses of one part of an allocation.
#[derive(Clone, Copy, Debug)]
struct PartWindow {
    start: u64,
    end: u64,
    /// Number of its first line in the object.
    line: u64,
}

/// Counts the sectors of requests of one site in one allocation. As long as requests stay in one
/// part, which is most often the case for hundreds of them, their sectors are counted by the site
/// alone, and reach the map when a request leaves the part. So a request costs one comparison, that
/// of its address with the part's, and none of the map.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SiteHeat {
    /// The place of the object's map.
    at: usize,
    window: PartWindow,
    /// Of the site's sectors, those that are in the map.
    counted: u64,
}

impl SiteHeat {
    /// No part yet.
    pub const NOWHERE: SiteHeat = SiteHeat {
        at: 0,
        window: PartWindow {
            start: 0,
            end: 0,
            line: 0,
        },
        counted: 0,
    };

    /// For a site that has counted nothing in this allocation.
    pub fn open(range: &ObjectRange, maps: &mut HeatMaps) -> SiteHeat {
        SiteHeat {
            at: maps.open(range),
            ..SiteHeat::NOWHERE
        }
    }

    /// Whether an address is in the part that the site is in.
    #[inline(always)]
    pub fn holds(&self, address: u64) -> bool {
        self.window.start <= address && address < self.window.end
    }

    /// Counts a request that leaves the part. `sectors` are those of the site, without this
    /// request's; the last line of the request is in the next part.
    #[inline(never)]
    pub fn leave(
        &mut self,
        range: &ObjectRange,
        parts: &[LinePart],
        sectors: u64,
        maps: &mut HeatMaps,
    ) {
        self.flush_into(sectors, maps);
        for part in parts {
            maps.add(self.at, range, part);
            self.counted += u64::from(count_sectors(sector_mask(part.units)));
        }
        if let Some(last) = parts.last() {
            self.window = maps.window(self.at, range, last.line);
        }
    }

    /// Adds those of the site's sectors to the map that it does not have yet; `sectors` are all.
    #[inline]
    pub fn flush_into(&mut self, sectors: u64, maps: &mut HeatMaps) {
        let more = sectors - std::mem::replace(&mut self.counted, sectors);
        if more > 0 {
            // The map may have longer parts by now: the first line is in one of them all the same.
            maps.entries[self.at].map.add(self.window.line, more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(address: u64, units: u32) -> LinePart {
        LinePart {
            line: address >> LINE_SHIFT,
            units,
            ..LinePart::default()
        }
    }

    fn heat(start: u64, end: u64, parts: &[LinePart]) -> HeatMap {
        let range = ObjectRange {
            start,
            end,
            object: 1,
        };
        let mut maps = HeatMaps::default();
        let at = maps.open(&range);
        parts.iter().for_each(|part| maps.add(at, &range, part));
        maps.entries[at].map
    }

    #[test]
    fn small_objects_have_parts_of_a_line() {
        let map = heat(0x1010, 0x1190, &[part(0x1010, 0xff01), part(0x1180, 1)]);
        assert_eq!((map.part_bytes(), map.bytes()), (128, 0x190));
        assert_eq!(map.sectors(), [2, 0, 0, 1]);
    }

    #[test]
    fn large_objects_have_64_parts_at_most() {
        for (bytes, parts, part_bytes) in [
            (1, 1, 128),
            (8192, 64, 128),
            (8193, 33, 256),
            (1 << 20, 64, 1 << 14),
            ((1 << 20) + 1, 33, 1 << 15),
        ] {
            let map = heat(0x1000, 0x1000 + bytes, &[]);
            let found = (map.sectors().len(), map.part_bytes());
            assert_eq!(found, (parts, part_bytes), "{bytes}");
        }
    }

    #[test]
    fn merging_maps_of_short_and_long_allocations_keeps_offsets() {
        let short = heat(0x1000, 0x1800, &[part(0x1780, u32::MAX)]);
        let long = heat(0x8000, 0xc000, &[part(0x9000, 1)]);
        let mut sum = short;
        sum.merge(&long);
        let mut other = long;
        other.merge(&short);
        assert_eq!(sum, other);
        assert_eq!(sum.part_bytes(), 256);
        let hot: Vec<_> = sum
            .sectors()
            .iter()
            .enumerate()
            .filter(|it| *it.1 > 0)
            .collect();
        assert_eq!(hot, [(7, &4), (16, &1)]);
    }

    #[test]
    fn addresses_of_all_memory_have_a_part() {
        let map = heat(0, u64::MAX, &[part(u64::MAX, 1)]);
        assert_eq!(map.sectors().iter().sum::<u64>(), 1);
        assert_eq!(map.sectors().len(), HEAT_PARTS);
        let range = ObjectRange {
            start: 128,
            end: u64::MAX,
            object: 1,
        };
        let mut maps = HeatMaps::default();
        let at = maps.open(&range);
        let window = maps.window(at, &range, u64::MAX >> LINE_SHIFT);
        assert_eq!(window.end, u64::MAX);
    }
}
