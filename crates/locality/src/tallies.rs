//! [`Tallies`]: counts in fine bins for many cells at once, in little memory.
//! [`KeyedHistograms`](crate::KeyedHistograms) is made of it.

use std::collections::BTreeMap;

use reuselens_units::{Bytes, Distance};

use crate::FineHistogram;

/// Sixteen counters that follow each other, or the numbers of chunks: a cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct CounterChunk([u32; WIDTH]);

/// Counters in a chunk: the bins of an octave.
const WIDTH: usize = 16;
/// Chunks that a cell names itself.
const OWN: usize = 7;
/// Chunks of bins that a cell can have.
const CHUNKS: usize = FineHistogram::BINS / WIDTH;

/// The distances of one cell. One cache line; its counters are in chunks.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
struct CellTally {
    /// Sum of the finite distances.
    sum: u128,
    /// Largest finite distance.
    max: u64,
    /// Cold accesses.
    cold: u64,
    /// Numbers of the first chunks, 0 for none; the last is that of a chunk with the numbers of
    /// more.
    chunks: [u32; OWN + 1],
}

/// What was counted for a cell: the bins that hold accesses, ascending, with their counts; cold
/// accesses; sum and largest of the finite distances.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CellCounts {
    pub bins: Vec<(u16, u64)>,
    pub cold: u64,
    pub sum: u128,
    pub max: u64,
}

/// The distances of many cells, numbered from 0. Memory: 64 bytes per cell, and 64 for each octave
/// of distances that it has.
#[derive(Clone, Debug)]
pub(crate) struct Tallies {
    cells: Vec<CellTally>,
    /// Number 0 is none.
    chunks: Vec<CounterChunk>,
    /// Chunks, all zeros, that cells gave up: see [`Tallies::move_into`].
    free: Vec<u32>,
    /// What 32 bits do not hold, by cell and bin.
    apart: BTreeMap<(u32, u16), u64>,
}

impl Default for Tallies {
    fn default() -> Self {
        Tallies {
            cells: Vec::new(),
            chunks: vec![CounterChunk::default()],
            free: Vec::new(),
            apart: BTreeMap::new(),
        }
    }
}

/// The place of a chunk's number in its cell. Octaves come in the order in which far distances need
/// them; the shortest distances, which only estimates count here, come last.
#[inline(always)]
fn place(chunk: usize) -> usize {
    if chunk == 0 { CHUNKS - 1 } else { chunk - 1 }
}

impl Tallies {
    /// The number of cells.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Makes sure that there are at least `cells` cells.
    pub fn reserve(&mut self, cells: usize) {
        if cells > self.cells.len() {
            self.cells.resize(cells, CellTally::default());
        }
    }

    /// Prefetches a cell.
    #[inline(always)]
    pub fn prefetch(&self, cell: u32) {
        reuselens_hugepages::prefetch(&self.cells, cell as usize);
    }

    /// Counts accesses of an existing cell.
    #[inline(always)]
    pub fn add(&mut self, cell: u32, distance: Distance, accesses: u64) {
        let tally = &mut self.cells[cell as usize];
        let Some(items) = distance.items() else {
            tally.cold = tally.cold.saturating_add(accesses);
            return;
        };
        let sum = u128::from(items) * u128::from(accesses);
        tally.sum = tally.sum.saturating_add(sum);
        tally.max = tally.max.max(items);
        let bin = FineHistogram::bin(items);
        let place = place(bin / WIDTH);
        let chunk = match tally.chunks[..OWN].get(place) {
            Some(chunk) if *chunk != 0 => *chunk,
            _ => self.chunk(cell, place),
        };
        self.count(chunk, cell, bin, accesses);
    }

    #[inline(always)]
    fn count(&mut self, chunk: u32, cell: u32, bin: usize, accesses: u64) {
        let count = &mut self.chunks[chunk as usize].0[bin % WIDTH];
        let (sum, over) = u64::from(*count).overflowing_add(accesses);
        *count = sum as u32;
        if over || sum > u64::from(u32::MAX) {
            let high = sum & !u64::from(u32::MAX);
            self.carry(cell, bin, if over { u64::MAX } else { high });
        }
    }

    #[cold]
    fn carry(&mut self, cell: u32, bin: usize, accesses: u64) {
        let count = self.apart.entry((cell, bin as u16)).or_insert(0);
        *count = count.saturating_add(accesses);
    }

    /// The chunk at a place of a cell, made if it is new.
    #[inline(never)]
    fn chunk(&mut self, cell: u32, place: usize) -> u32 {
        let mut place = place;
        let mut holder = None;
        loop {
            let next = self.free.last().copied();
            let next = next.unwrap_or(self.chunks.len() as u32);
            let names: &mut [u32] = match holder {
                None => &mut self.cells[cell as usize].chunks,
                Some(chunk) => &mut self.chunks[chunk as usize].0,
            };
            let own = names.len() - 1;
            let name = &mut names[place.min(own)];
            let is_new = *name == 0;
            if is_new {
                *name = next;
            }
            let number = *name;
            if is_new && self.free.pop().is_none() {
                self.chunks.push(CounterChunk::default());
            }
            if place < own {
                return number;
            }
            place -= own;
            holder = Some(number);
        }
    }

    /// The chunk at a place of a cell, if it has that.
    fn find(&self, cell: &CellTally, place: usize) -> Option<&CounterChunk> {
        let mut place = place;
        let mut names: &[u32] = &cell.chunks;
        loop {
            let own = names.len() - 1;
            let number = names[place.min(own)];
            if number == 0 {
                return None;
            }
            let chunk = &self.chunks[number as usize];
            if place < own {
                return Some(chunk);
            }
            place -= own;
            names = &chunk.0;
        }
    }

    /// How many of a cell's chunks of bins can hold counts.
    fn chunks_of(&self, tally: &CellTally) -> usize {
        match tally.chunks[OWN] {
            // The first is named last.
            0 => OWN + 1,
            _ => CHUNKS,
        }
    }

    /// Adds to `into` what was counted for a cell. Cost: linear in its octaves.
    pub fn get(&self, cell: u32, into: &mut CellCounts) {
        let Some(tally) = self.cells.get(cell as usize) else {
            return;
        };
        into.cold = into.cold.saturating_add(tally.cold);
        into.sum = into.sum.saturating_add(tally.sum);
        into.max = into.max.max(tally.max);
        let before = into.bins.len();
        for chunk in 0..self.chunks_of(tally) {
            let Some(counts) = self.find(tally, place(chunk)) else {
                continue;
            };
            for (bin, count) in (chunk * WIDTH..).zip(counts.0) {
                if count > 0 {
                    into.bins.push((bin as u16, count.into()));
                }
            }
        }
        if before > 0 || !self.apart.is_empty() {
            let more = self.apart.range((cell, 0)..=(cell, u16::MAX));
            let more = more.map(|((_, bin), count)| (*bin, *count));
            into.bins.extend(more);
            into.unite();
        }
    }

    /// The accesses of a cell at each of the distances 0 to 31.
    pub fn shortest(&self, cell: u32) -> [u64; 2 * WIDTH] {
        let mut counts = [0; 2 * WIDTH];
        let Some(tally) = self.cells.get(cell as usize) else {
            return counts;
        };
        for chunk in 0..2 {
            if let Some(found) = self.find(tally, place(chunk)) {
                let counts = &mut counts[chunk * WIDTH..];
                for (count, more) in counts.iter_mut().zip(found.0) {
                    *count = more.into();
                }
            }
        }
        for (&(_, bin), more) in self.apart.range((cell, 0)..(cell, 2 * WIDTH as u16)) {
            let count = &mut counts[usize::from(bin)];
            *count = count.saturating_add(*more);
        }
        counts
    }

    /// Adds the counts of another table to an existing cell.
    pub fn put(&mut self, cell: u32, counted: &CellCounts) {
        for &(bin, accesses) in &counted.bins {
            let chunk = self.chunk(cell, place(usize::from(bin) / WIDTH));
            self.count(chunk, cell, bin.into(), accesses);
        }
        let tally = &mut self.cells[cell as usize];
        tally.sum = tally.sum.saturating_add(counted.sum);
        tally.max = tally.max.max(counted.max);
        tally.cold = tally.cold.saturating_add(counted.cold);
    }

    /// Adds all counts of the cell `from` to the cell `to`, and leaves `from` empty. Both exist and
    /// differ. Cost: linear in the octaves of `from`.
    pub fn move_into(&mut self, from: u32, to: u32) {
        let tally = std::mem::take(&mut self.cells[from as usize]);
        if tally.chunks != [0; OWN + 1] {
            self.move_chunks(&tally, to);
        }
        if !self.apart.is_empty() {
            self.move_apart(from, to);
        }
        let into = &mut self.cells[to as usize];
        into.sum = into.sum.saturating_add(tally.sum);
        into.max = into.max.max(tally.max);
        into.cold = into.cold.saturating_add(tally.cold);
    }

    /// Adds the counts in the chunks of a cell that is no more to the cell `to`.
    fn move_chunks(&mut self, tally: &CellTally, to: u32) {
        for chunk in 0..self.chunks_of(tally) {
            let Some(counts) = self.find(tally, place(chunk)).copied() else {
                continue;
            };
            let into = self.chunk(to, place(chunk));
            for (bin, count) in (chunk * WIDTH..).zip(counts.0) {
                if count > 0 {
                    self.count(into, to, bin, count.into());
                }
            }
        }
        self.give_up_chunks(&tally.chunks);
    }

    /// Moves what 32 bits do not hold.
    fn move_apart(&mut self, from: u32, to: u32) {
        let bins = self.apart.range((from, 0)..=(from, u16::MAX));
        let bins: Vec<u16> = bins.map(|((_, bin), _)| *bin).collect();
        for bin in bins {
            if let Some(accesses) = self.apart.remove(&(from, bin)) {
                self.carry(to, bin.into(), accesses);
            }
        }
    }

    /// Empties the chunks that are named here, and the chunks that the last of them names.
    fn give_up_chunks(&mut self, names: &[u32]) {
        let Some((&last, own)) = names.split_last() else {
            return;
        };
        for &name in own.iter().filter(|name| **name != 0) {
            self.chunks[name as usize] = CounterChunk::default();
            self.free.push(name);
        }
        if last != 0 {
            let more = std::mem::take(&mut self.chunks[last as usize]);
            self.give_up_chunks(&more.0);
            self.free.push(last);
        }
    }

    /// The memory held.
    pub fn memory(&self) -> Bytes {
        let lines = self.cells.capacity() + self.chunks.capacity();
        let free = self.free.capacity() * size_of::<u32>();
        Bytes((lines * 64 + self.apart.len() * 48 + free) as u64)
    }
}

impl CellCounts {
    /// Sorts the bins; two counts of one bin become one.
    fn unite(&mut self) {
        self.bins.sort_unstable();
        self.bins.dedup_by(|again, first| {
            let same = again.0 == first.0;
            if same {
                first.1 = first.1.saturating_add(again.1);
            }
            same
        });
    }

    /// Empty, with the memory it has.
    pub fn clear(&mut self) {
        self.bins.clear();
        (self.cold, self.sum, self.max) = (0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_and_a_chunk_fill_one_cache_line() {
        assert_eq!(
            (size_of::<CellTally>(), size_of::<CounterChunk>()),
            (64, 64)
        );
        assert_eq!(FineHistogram::BINS % WIDTH, 0);
    }

    #[test]
    fn every_distance_has_its_counter() {
        let mut tallies = Tallies::default();
        tallies.reserve(2);
        let mut expected = FineHistogram::new();
        let (mut sum, mut max) = (0, 0);
        for bin in (0..FineHistogram::BINS).rev() {
            for items in [FineHistogram::range(bin).0, FineHistogram::range(bin).1] {
                // The largest number is no distance.
                let items = items.min(u64::MAX - 1);
                let accesses = 3 + bin as u64;
                tallies.add(1, Distance::new(items), accesses);
                expected.add(Distance::new(items), accesses);
                (sum, max) = (
                    sum + u128::from(items) * u128::from(accesses),
                    items.max(max),
                );
            }
        }
        let mut counted = CellCounts::default();
        tallies.get(1, &mut counted);
        assert_eq!((counted.sum, counted.max), (sum, max));
        assert_eq!(FineHistogram::from_bins(counted.bins.clone(), 0), expected);
        tallies.put(0, &counted);
        let mut copy = CellCounts::default();
        tallies.get(0, &mut copy);
        assert_eq!(copy, counted);
        tallies.get(7, &mut copy);
        assert_eq!(copy, counted);
    }

    #[test]
    fn moved_cell_is_empty_and_its_chunks_are_reused() {
        let (mut tallies, mut all) = (Tallies::default(), Tallies::default());
        tallies.reserve(3);
        all.reserve(2);
        for (number, items) in (0..u64::BITS).map(|octave| 1 << octave).enumerate() {
            for (cell, accesses) in [(0, 3), (2, 5_u64 << 31)] {
                tallies.add(cell, Distance::new(items), accesses + number as u64);
                all.add(0, Distance::new(items), accesses + number as u64);
            }
        }
        tallies.add(2, Distance::COLD, 9);
        all.add(0, Distance::COLD, 9);
        let chunks = tallies.chunks.len();
        tallies.move_into(2, 0);
        let (mut moved, mut expected) = (CellCounts::default(), CellCounts::default());
        tallies.get(0, &mut moved);
        all.get(0, &mut expected);
        assert_eq!(moved, expected);
        for items in (0..u64::BITS).map(|octave| 1 << octave) {
            tallies.add(1, Distance::new(items), 2);
            all.add(1, Distance::new(items), 2);
        }
        moved.clear();
        tallies.get(2, &mut moved);
        assert_eq!(moved, CellCounts::default());
        expected.clear();
        tallies.get(1, &mut moved);
        all.get(1, &mut expected);
        assert_eq!(moved, expected);
        assert_eq!(tallies.chunks.len(), chunks);
    }

    #[test]
    fn counts_pass_32_bits_and_saturate_at_64() {
        let mut tallies = Tallies::default();
        tallies.reserve(1);
        for accesses in [u64::from(u32::MAX), 1, 5 << 40, 7] {
            tallies.add(0, Distance::new(100), accesses);
        }
        let mut counted = CellCounts::default();
        tallies.get(0, &mut counted);
        let bin = FineHistogram::bin(100) as u16;
        assert_eq!(counted.bins, [(bin, (5 << 40) + (1 << 32) + 7)]);
        tallies.add(0, Distance::new(100), u64::MAX);
        counted.clear();
        tallies.get(0, &mut counted);
        assert_eq!(counted.bins, [(bin, u64::MAX)]);
    }
}
