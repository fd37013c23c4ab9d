//! [`Footprint`]: the lines, sectors and elements that one request of global memory accesses.

use reuselens_simd::Level;

use crate::address_run::AddressRun;
use crate::count_bits;
use crate::counts::{LINE_BYTES, SECTOR_BYTES};

/// log2 of [`LINE_BYTES`].
pub(crate) const LINE_SHIFT: u32 = LINE_BYTES.trailing_zeros();
/// log2 of the bytes of a unit: a line has 32 of them.
pub(crate) const UNIT_SHIFT: u32 = 2;
/// Bytes of a unit.
const UNIT: u32 = 1 << UNIT_SHIFT;

/// What a request accesses of one line of 128 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LinePart {
    /// Number of the line: address / 128.
    pub line: u64,
    /// A bit for each unit of 4 bytes.
    pub units: u32,
    /// A bit for each element that several lanes access.
    pub repeated: u32,
    /// Elements accessed, summed over lanes.
    pub accesses: u32,
    /// Lanes whose first byte is in the line.
    pub lanes: u32,
    /// Distinct bytes.
    pub bytes: u32,
    /// Offset of the lowest byte in the line.
    pub low: u32,
    /// The data object of the lowest address; for the caller to set.
    pub object: u32,
}

impl LinePart {
    /// The lowest address.
    #[inline]
    pub fn address(&self) -> u64 {
        self.line << LINE_SHIFT | u64::from(self.low)
    }
}

/// A bit for each sector that has a unit.
#[inline(always)]
pub(crate) fn sector_mask(units: u32) -> u32 {
    u32::from(units & 0xff != 0)
        | u32::from(units & 0xff00 != 0) << 1
        | u32::from(units & 0xff_0000 != 0) << 2
        | u32::from(units & 0xff00_0000 != 0) << 3
}

/// The number of bits in a mask of four.
#[inline(always)]
pub(crate) fn count_sectors(mask: u32) -> u32 {
    (0x4332_3221_3221_2110u64 >> (4 * (mask & 15))) as u32 & 7
}

/// A bit for each group of 2^`shift` bits that has one.
#[inline(always)]
pub(crate) fn group_bits(bits: u32, shift: u32) -> u32 {
    match shift {
        0 => bits,
        5.. => u32::from(bits != 0),
        3 => sector_mask(bits),
        _ => {
            let group = (1u32 << (1 << shift)) - 1;
            let has = |at: u32| u32::from(bits >> (at << shift) & group != 0) << at;
            (0..32 >> shift).map(has).sum()
        }
    }
}

/// Bits `from` to `to`, both included; below 32.
#[inline]
fn span(from: u32, to: u32) -> u32 {
    (u32::MAX >> (31 - (to - from))) << from
}

/// Tells for most lines that they are new, without a search.
#[derive(Clone, Copy, Debug, Default)]
struct LineFilter([u64; 4]);

impl LineFilter {
    /// Adds a line. Returns whether it may have been there before.
    #[inline(always)]
    fn insert(&mut self, line: u64) -> bool {
        let hash = line.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let (word, bit) = (hash >> 62, 1 << (hash >> 56 & 63));
        let word = &mut self.0[word as usize];
        let before = *word;
        *word |= bit;
        before & bit != 0
    }
}

/// What one request accesses.
#[derive(Clone, Debug)]
pub(crate) struct Footprint {
    /// By line, in the order in which lanes access them first.
    pub parts: Vec<LinePart>,
    /// Distinct sectors.
    pub sectors: u32,
    /// Distinct bytes.
    pub bytes: u32,
    /// log2 of the bytes of an element; 2 to 7.
    element_shift: u32,
    /// Of each part, where accesses are not of whole units.
    byte_masks: Vec<u128>,
    lines: LineFilter,
    level: Level,
}

impl Footprint {
    pub fn new(element_shift: u32) -> Footprint {
        Footprint {
            parts: Vec::with_capacity(32),
            sectors: 0,
            bytes: 0,
            element_shift,
            byte_masks: Vec::new(),
            lines: LineFilter::default(),
            level: Level::best(),
        }
    }

    /// Distinct lines.
    #[inline]
    pub fn lines(&self) -> u32 {
        self.parts.len() as u32
    }

    /// The fewest sectors that hold as many bytes.
    #[inline]
    pub fn ideal_sectors(&self) -> u32 {
        self.bytes.div_ceil(SECTOR_BYTES as u32)
    }

    /// Looks at a request with one address for each active lane.
    #[inline(always)]
    pub fn set(&mut self, bytes: u8, addresses: &[u64]) {
        self.parts.clear();
        let size = u32::from(bytes.max(1));
        let Some(&first) = addresses.first() else {
            (self.sectors, self.bytes) = (0, 0);
            return;
        };
        let lanes = addresses.len() as u32;
        let run = AddressRun::of(self.level, addresses);
        let element = (1u32 << self.element_shift) - 1;
        // Of a run, all addresses are multiples of what the first one and the stride are.
        let fits = |mask: u32| (first as u32 | run.stride as u32 | size) & mask == 0;
        let length = run.stride.checked_mul(u64::from(lanes) - 1);
        let last = length.and_then(|length| first.checked_add(length));
        let ascends = last.is_some_and(|last| last.checked_add(u64::from(size)).is_some());
        let in_line = first as u32 % LINE_BYTES as u32 + size <= LINE_BYTES as u32;
        if !(run.is_affine && ascends) {
            self.any(size, addresses);
        } else if (run.stride == u64::from(size) || lanes == 1) && fits(element) {
            self.contiguous(first, size, lanes);
        } else if run.stride == 0 && fits(element) && in_line {
            self.broadcast(first, size, lanes);
        } else if run.stride >= LINE_BYTES
            && size.is_power_of_two()
            && fits((size - 1) | (UNIT - 1))
        {
            self.columns(first, run.stride, size, lanes);
        } else {
            self.any(size, addresses);
        }
        self.sum();
    }

    #[inline]
    fn sum(&mut self) {
        (self.sectors, self.bytes) = (0, 0);
        for part in &self.parts {
            self.sectors += count_sectors(sector_mask(part.units));
            self.bytes += part.bytes;
        }
    }

    /// Each lane goes on where the one before it ended, in whole elements.
    #[inline]
    fn contiguous(&mut self, first: u64, size: u32, lanes: u32) {
        let line_bytes = LINE_BYTES as u32;
        let (mut line, mut from) = (first >> LINE_SHIFT, first as u32 % line_bytes);
        let end = from + size * lanes;
        let begin = from;
        let mut before = 0;
        let mut base = 0;
        while base + from < end {
            let to = (end - base).min(line_bytes);
            // Lanes that begin before this line's end.
            let started = if base + to == end {
                lanes
            } else {
                (base + to - begin).div_ceil(size)
            };
            let bytes = to - from;
            self.parts.push(LinePart {
                line,
                units: span(from >> UNIT_SHIFT, (to - 1) >> UNIT_SHIFT),
                repeated: 0,
                accesses: bytes >> self.element_shift,
                lanes: started - before,
                bytes,
                low: from,
                object: 0,
            });
            (line, from, before, base) = (line + 1, 0, started, base + line_bytes);
        }
    }

    /// All lanes access the same whole elements of one line.
    #[inline]
    fn broadcast(&mut self, first: u64, size: u32, lanes: u32) {
        let low = first as u32 % LINE_BYTES as u32;
        let units = span(low >> UNIT_SHIFT, (low + size - 1) >> UNIT_SHIFT);
        let elements = group_bits(units, self.element_shift - UNIT_SHIFT);
        self.parts.push(LinePart {
            line: first >> LINE_SHIFT,
            units,
            repeated: if lanes > 1 { elements } else { 0 },
            accesses: count_bits(elements) * lanes,
            lanes,
            bytes: size,
            low,
            object: 0,
        });
    }

    /// Each lane accesses whole units in a line of its own.
    fn columns(&mut self, first: u64, stride: u64, size: u32, lanes: u32) {
        for lane in 0..u64::from(lanes) {
            let address = first + lane * stride;
            let low = address as u32 % LINE_BYTES as u32;
            let units = span(low >> UNIT_SHIFT, (low + size - 1) >> UNIT_SHIFT);
            let shift = self.element_shift;
            let elements = ((low + size - 1) >> shift) - (low >> shift) + 1;
            self.parts.push(LinePart {
                line: address >> LINE_SHIFT,
                units,
                repeated: 0,
                accesses: elements,
                lanes: 1,
                bytes: size,
                low,
                object: 0,
            });
        }
    }

    #[inline(never)]
    fn any(&mut self, size: u32, addresses: &[u64]) {
        let bits = addresses.iter().fold(0, |bits, address| bits | address);
        self.lines = LineFilter::default();
        if (bits as u32 | size) & (UNIT - 1) == 0 {
            self.scattered::<true>(size, addresses);
        } else {
            self.scattered::<false>(size, addresses);
            self.bytes_to_units();
        }
    }

    /// Any request. `UNITS`: all accesses are of whole units.
    fn scattered<const UNITS: bool>(&mut self, size: u32, addresses: &[u64]) {
        self.byte_masks.clear();
        for &address in addresses {
            let last = address.saturating_add(u64::from(size) - 1);
            for line in address >> LINE_SHIFT..=last >> LINE_SHIFT {
                let start = line << LINE_SHIFT;
                let from = address.max(start) - start;
                let to = last.min(start | (LINE_BYTES - 1)) - start;
                let at = self.part::<UNITS>(line);
                self.extend::<UNITS>(at, from as u32, to as u32);
                self.parts[at].lanes += u32::from(address >= start);
            }
        }
    }

    #[inline]
    fn extend<const UNITS: bool>(&mut self, at: usize, from: u32, to: u32) {
        let shift = self.element_shift;
        let group_shift = shift - UNIT_SHIFT;
        let now = span(from >> shift, to >> shift);
        let units = span(from >> UNIT_SHIFT, to >> UNIT_SHIFT);
        let part = &mut self.parts[at];
        part.repeated |= group_bits(part.units, group_shift) & now;
        part.accesses += count_bits(now);
        part.low = part.low.min(from);
        if UNITS {
            part.bytes += count_bits(units & !part.units) << UNIT_SHIFT;
        } else {
            self.byte_masks[at] |= (u128::MAX >> (127 - (to - from))) << from;
        }
        part.units |= units;
    }

    /// Index of the part of a line. Parts are searched only where the line may be among them.
    #[inline]
    fn part<const UNITS: bool>(&mut self, line: u64) -> usize {
        if self.lines.insert(line)
            && let Some(at) = self.parts.iter().rposition(|part| part.line == line)
        {
            return at;
        }
        self.parts.push(LinePart {
            line,
            low: u32::MAX,
            ..LinePart::default()
        });
        if !UNITS {
            self.byte_masks.push(0);
        }
        self.parts.len() - 1
    }

    fn bytes_to_units(&mut self) {
        for (part, mask) in self.parts.iter_mut().zip(&self.byte_masks) {
            part.bytes = mask.count_ones();
        }
    }
}
