//! [`Conflicts`]: the misses of caches with their sets, access by access.
//!
//! Each cache sees all accesses, as the fully associative cache that it is compared with does: an
//! outer cache is not asked only for what an inner one misses. An item picks its set by its number
//! modulo the sets, so that numbers of sets that are no power of two, as of caches in slices, are
//! handled; how a processor spreads addresses over its slices is not known. The bits of an item
//! above its address, which hold the number of its process, are a part of the number.
//!
//! Cost for three caches: 10 to 17 ns per access beside the look-up of its item, 4 ns where the
//! same item is accessed again and again, 48 ns where all accesses miss in all caches. Two other
//! ways were slower. Storing times of accesses, and searching for the oldest at a miss, took 25 to
//! 33 ns, and up to 240: it touches more of the memory of the machine that runs the analysis.
//! Dividing by sets that are no power of two was a third of the time.
//!
//! Items 0 and 4 are in the same set of a cache of four sets with a line each, so that they evict
//! each other. In a fully associative cache of four lines they do not:
//!
//! ```
//! use reuselens_causes::{CauseCell, CauseCounts, CauseOptions, CellPlace, MissColumns, NO_OFFSET};
//! use reuselens_profile::SetCache;
//! use reuselens_units::{Bytes, Distance};
//!
//! let cache = SetCache { size: Bytes(256), sets: 4, ways: 1, ..SetCache::default() };
//! let options = CauseOptions { set_caches: vec![cache], ..CauseOptions::default() };
//! let mut counts = CauseCounts::new(options);
//! counts.add_cells([CauseCell::default()]);
//! counts.process(&MissColumns {
//!     thread: 1,
//!     items: &[0, 4, 0, 4],
//!     distances: &[Distance::COLD, Distance::COLD, Distance::new(1), Distance::new(1)],
//!     cells: &[0; 4],
//!     bytes: &[1; 4],
//!     stores: &[false; 4],
//!     offsets: &[NO_OFFSET; 4],
//! });
//! let (cells, causes) = counts.finish(&[CellPlace::default()]);
//! assert_eq!(cells[0].set_misses, [4]);
//! assert_eq!((causes.set_caches[0].misses, causes.set_caches[0].associative_misses), (4, 2));
//! ```

use reuselens_hugepages::prefetch;
use reuselens_profile::{CellCauses, Machine, SetCache};
use reuselens_units::Granularity;

use crate::chunk::{CHUNK, PreparedChunk};

/// A way that holds no item.
const EMPTY: u32 = u32::MAX;
/// Most caches: a bit for each in the bytes of [`Conflicts::fronts`].
const MOST_CACHES: usize = 8;
/// Most lines of a cache that is counted: 1 GiB of lines of 64 bytes.
const MOST_LINES: u64 = 1 << 24;

/// The machine's data caches whose lines are items of this size, with their sets, from the smallest
/// number of sets on; without misses so far. Empty if items are no lines.
pub fn set_caches(machine: &Machine, granularity: Granularity) -> Vec<SetCache> {
    let caches = machine.data_caches().into_iter();
    let lines = caches.filter(|cache| cache.line.get() == granularity.bytes());
    let with_sets = lines.filter_map(|cache| {
        let model = cache.model()?;
        Some(SetCache {
            name: cache.name(),
            size: cache.size,
            sets: model.sets(),
            ways: model.ways(),
            ..SetCache::default()
        })
    });
    let known = |cache: &SetCache| cache.sets.saturating_mul(cache.ways) <= MOST_LINES;
    with_sets.filter(known).take(MOST_CACHES).collect()
}

/// A cache as it is at one point of the trace.
struct Contents {
    cache: SetCache,
    /// Lines of a fully associative cache of the same size.
    associative: u64,
    /// By set, its items from the last accessed one to the least recently used one.
    ways: Vec<u32>,
    sets: SetNumbers,
    /// The earlier caches of which each set is a union of sets of this one. An item that is the
    /// last accessed one of its set there is so here, too, and nothing changes.
    refines: u8,
    /// By cell.
    misses: Vec<u64>,
}

/// Counts the misses of caches with their sets.
///
/// Memory: 4 bytes for each line of each cache, 8 bytes for each cell and cache.
pub(crate) struct Conflicts {
    caches: Vec<Contents>,
    /// By run of the chunk, in which caches its item is the last accessed one of its set.
    fronts: [u8; CHUNK],
    /// By run of the chunk, where its set begins.
    begins: [u32; CHUNK],
}

impl Conflicts {
    /// For these caches; their misses so far are ignored.
    ///
    /// # Panics
    /// At more than eight caches, one without sets or ways, or one of more than 2²⁴ lines.
    pub fn new(caches: Vec<SetCache>, granularity: Granularity) -> Self {
        assert!(caches.len() <= MOST_CACHES, "at most eight caches");
        let sets: Vec<u64> = caches.iter().map(|cache| cache.sets).collect();
        let contents = caches.into_iter().enumerate().map(|(at, cache)| {
            let lines = cache.sets.saturating_mul(cache.ways);
            assert!((1..=MOST_LINES).contains(&lines), "1 to 2²⁴ lines");
            let refined = |other: &usize| cache.sets.is_multiple_of(sets[*other]);
            let refines = (0..at)
                .filter(refined)
                .fold(0, |bits, other| bits | 1 << other);
            Contents {
                associative: cache.size.items(granularity).get(),
                ways: vec![EMPTY; lines as usize],
                sets: SetNumbers::new(cache.sets),
                refines,
                misses: Vec::new(),
                cache: SetCache {
                    misses: 0,
                    associative_misses: 0,
                    ..cache
                },
            }
        });
        Conflicts {
            caches: contents.collect(),
            fronts: [0; CHUNK],
            begins: [0; CHUNK],
        }
    }

    pub fn add_cell(&mut self) {
        for contents in &mut self.caches {
            contents.misses.push(0);
        }
    }

    pub fn process(&mut self, chunk: &PreparedChunk) {
        let runs = chunk.numbers.len();
        let (fronts, begins) = (&mut self.fronts[..runs], &mut self.begins[..runs]);
        fronts.fill(0);
        for (at, contents) in self.caches.iter_mut().enumerate() {
            let distances = chunk.columns.distances.iter();
            let misses = distances.filter(|distance| distance.raw() >= contents.associative);
            contents.cache.associative_misses += misses.count() as u64;
            contents.request(chunk, begins);
            contents.access(chunk, begins, fronts, 1 << at);
        }
    }

    /// The memory held.
    pub fn memory(&self) -> u64 {
        let caches = self.caches.iter();
        let bytes = caches.map(|it| it.ways.capacity() * 4 + it.misses.capacity() * 8);
        bytes.sum::<usize>() as u64
    }

    /// Frees what the caches hold: nothing is processed after that.
    pub fn forget_contents(&mut self) {
        for contents in &mut self.caches {
            contents.ways = Vec::new();
        }
    }

    /// Adds the counts to those of the cells, and returns the caches.
    pub fn finish(self, cells: &mut [CellCauses]) -> Vec<SetCache> {
        for (number, cell) in cells.iter_mut().enumerate() {
            let misses = self.caches.iter().map(|contents| contents.misses[number]);
            cell.set_misses = misses.collect();
        }
        let total = |contents: Contents| SetCache {
            misses: contents.misses.iter().sum(),
            ..contents.cache
        };
        self.caches.into_iter().map(total).collect()
    }
}

impl Contents {
    /// Finds the sets of a chunk, and requests them.
    fn request(&self, chunk: &PreparedChunk, begins: &mut [u32]) {
        let ways = self.cache.ways as u32;
        for (&item, begin) in chunk.items.iter().zip(begins) {
            *begin = self.sets.of(item) * ways;
            prefetch(&self.ways, *begin as usize);
        }
    }

    /// Accesses the items of a chunk. Only the first access of a run can miss, or change anything.
    fn access(&mut self, chunk: &PreparedChunk, begins: &[u32], fronts: &mut [u8], bit: u8) {
        let ways = self.cache.ways as usize;
        let runs = chunk.numbers.iter().zip(chunk.begins);
        for ((&number, &first), (&begin, front)) in runs.zip(begins.iter().zip(fronts)) {
            if *front & self.refines != 0 {
                *front |= bit;
                continue;
            }
            let set = &mut self.ways[begin as usize..begin as usize + ways];
            if set[0] == number {
                *front |= bit;
                continue;
            }
            // Each item moves one way on, up to the one that leaves its way to the first.
            let mut moving = number;
            let mut hits = false;
            for way in set {
                moving = std::mem::replace(way, moving);
                if moving == number {
                    hits = true;
                    break;
                }
            }
            if !hits {
                self.misses[chunk.columns.cells[first as usize] as usize] += 1;
            }
        }
    }
}

/// Finds the set of an item: its number modulo the sets.
///
/// Sets are an odd number times a power of two. The remainder by the odd number takes two products,
/// for numbers of 32 bits (Lemire, Kaser and Kurz, *Faster remainder by direct computation*, 2019),
/// which the lines of addresses are after the shift; a division would take a third of all time.
struct SetNumbers {
    /// log2 of the power of two.
    shift: u32,
    odd: u32,
    /// 2⁶⁴ by the odd number, rounded up; 0 for 1.
    inverse: u64,
}

impl SetNumbers {
    fn new(sets: u64) -> Self {
        let shift = sets.trailing_zeros();
        // At most 2²⁴ lines.
        let odd = (sets >> shift) as u32;
        SetNumbers {
            shift,
            odd,
            inverse: (u64::MAX / u64::from(odd)).wrapping_add(1),
        }
    }

    #[inline(always)]
    fn of(&self, item: u64) -> u32 {
        let low = item as u32 & ((1 << self.shift) - 1);
        let high = item >> self.shift;
        let rest = match u32::try_from(high) {
            Ok(high) => {
                let fraction = self.inverse.wrapping_mul(u64::from(high));
                ((u128::from(fraction) * u128::from(self.odd)) >> 64) as u32
            }
            Err(_) => (high % u64::from(self.odd)) as u32,
        };
        rest << self.shift | low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_numbers_are_remainders() {
        let mut item = 1_u64;
        for sets in [1, 2, 3, 12, 64, 49152, 24576, 1 << 24, (1 << 24) - 1] {
            let numbers = SetNumbers::new(sets);
            for shift in 0..60 {
                item = item.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(7);
                for item in [item >> shift, u64::MAX >> shift, sets << shift, sets - 1] {
                    assert_eq!(u64::from(numbers.of(item)), item % sets, "{item} {sets}");
                }
            }
        }
    }
}
