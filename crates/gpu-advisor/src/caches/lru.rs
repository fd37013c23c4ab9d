//! [`SectorCache`]: a cache of lines in four sectors, with sets that replace the line used longest
//! ago.

use crate::CacheShape;
use crate::counts::LINE_BYTES;

/// A cache, empty at first. Memory: 8 bytes for each line.
#[derive(Clone, Debug)]
pub(crate) struct SectorCache {
    sets: u64,
    ways: usize,
    /// Set after set, each from the line used last: the line's number, times 16, and a bit for each
    /// sector that is there.
    lines: Vec<u64>,
}

const SECTORS: u32 = 4;
const SECTOR_MASK: u64 = (1 << SECTORS) - 1;
/// A place without a line. Lines' numbers have 57 bits, so none is this one.
const EMPTY: u64 = u64::MAX;

/// The set of a line, in a cache of `sets` sets.
#[inline(always)]
pub(crate) fn set_of(line: u64, sets: u64) -> u64 {
    let hash = line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    (hash * sets) >> 32
}

impl SectorCache {
    /// One line at least.
    pub fn new(shape: CacheShape) -> SectorCache {
        let lines = (shape.bytes / LINE_BYTES).clamp(1, u32::MAX.into());
        let ways = u64::from(shape.ways).clamp(1, lines);
        let sets = lines / ways;
        SectorCache {
            sets,
            ways: ways as usize,
            lines: vec![EMPTY; (sets * ways) as usize],
        }
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.lines.fill(EMPTY);
    }

    /// Makes sectors of a line present, and the line the one used last. Returns which were there.
    #[inline(always)]
    pub fn fetch(&mut self, line: u64, sectors: u32) -> u32 {
        let set = self.set(line);
        let first = set[0];
        if first >> SECTORS == line {
            set[0] = first | u64::from(sectors);
            return (first & SECTOR_MASK) as u32 & sectors;
        }
        let present = match set.as_chunks_mut() {
            ([set], []) => take_16(set, line),
            _ => take(set, line),
        };
        set[0] = line << SECTORS | present | u64::from(sectors);
        present as u32 & sectors
    }

    /// Which sectors of a line are there. If any are, the line becomes the one used last.
    #[inline(always)]
    pub fn update(&mut self, line: u64, sectors: u32) -> u32 {
        let set = self.set(line);
        // Stores most often follow other accesses to their line.
        let at = if set[0] >> SECTORS == line {
            0
        } else {
            match set.iter().position(|&entry| entry >> SECTORS == line) {
                Some(at) => at,
                None => return 0,
            }
        };
        let entry = set[at];
        if at > 0 {
            set.copy_within(0..at, 1);
            set[0] = entry;
        }
        entry as u32 & sectors
    }

    /// Gives up sectors of a line, and its place if none are left. Returns which were there.
    #[inline]
    pub fn evict(&mut self, line: u64, sectors: u32) -> u32 {
        let set = self.set(line);
        let Some(at) = set.iter().position(|&entry| entry >> SECTORS == line) else {
            return 0;
        };
        let present = set[at] as u32 & sectors;
        set[at] &= !u64::from(sectors);
        if set[at] & SECTOR_MASK == 0 {
            set.copy_within(at + 1.., at);
            set[set.len() - 1] = EMPTY;
        }
        present
    }

    #[inline(always)]
    fn set(&mut self, line: u64) -> &mut [u64] {
        let begin = set_of(line, self.sets) as usize * self.ways;
        &mut self.lines[begin..begin + self.ways]
    }
}

/// Takes a line out of its set, or the one used longest ago if it is missing, and leaves the first
/// place free. Returns the sectors that were there.
fn take(set: &mut [u64], line: u64) -> u64 {
    let found = set.iter().position(|&entry| entry >> SECTORS == line);
    let present = found.map_or(0, |at| set[at] & SECTOR_MASK);
    set.copy_within(0..found.unwrap_or(set.len() - 1), 1);
    present
}

/// As [`take`], of 16 lines: without branches, so that the compiler makes vector instructions of
/// it.
#[inline(always)]
fn take_16(set: &mut [u64; 16], line: u64) -> u64 {
    let before = *set;
    let (mut found, mut present) = (16, 0);
    for (way, entry) in before.into_iter().enumerate() {
        let is_it = entry >> SECTORS == line;
        found = if is_it { way as u64 } else { found };
        present |= if is_it { entry & SECTOR_MASK } else { 0 };
    }
    for way in 1..16 {
        set[way] = if way as u64 <= found {
            before[way - 1]
        } else {
            before[way]
        };
    }
    present
}
