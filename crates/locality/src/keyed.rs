//! A fine histogram for each of many groups, filled in one pass.

use reuselens_units::{Bytes, Distance};

use crate::FineHistogram;

/// The distances of one cell. One cache line, so that an access costs two: this and its count.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
struct Tally {
    /// Accesses by fine bin; grows by whole octaves.
    counts: Vec<u64>,
    /// Sum of the finite distances.
    sum: u128,
    /// Largest finite distance.
    max: u64,
    /// Cold accesses.
    cold: u64,
}

impl Tally {
    #[inline(always)]
    fn add(&mut self, distance: Distance, accesses: u64) {
        let Some(items) = distance.items() else {
            self.cold = self.cold.saturating_add(accesses);
            return;
        };
        let sum = u128::from(items) * u128::from(accesses);
        self.sum = self.sum.saturating_add(sum);
        self.max = self.max.max(items);
        let bin = FineHistogram::bin(items);
        match self.counts.get_mut(bin) {
            Some(count) => *count = count.saturating_add(accesses),
            None => self.add_beyond(bin, accesses),
        }
    }

    /// Counts in a bin that is not there yet.
    #[cold]
    fn add_beyond(&mut self, bin: usize, accesses: u64) {
        self.counts.resize((bin + 1).next_multiple_of(16), 0);
        self.counts[bin] = accesses;
    }

    /// Counts what is counted as near.
    fn add_near(&mut self, near: &Near) {
        for (items, count) in (0..FAR).zip(near) {
            if *count > 0 {
                self.add(Distance::new(items), u64::from(*count));
            }
        }
    }

    fn merge(&mut self, other: &Tally) {
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count = count.saturating_add(*more);
        }
        self.sum = self.sum.saturating_add(other.sum);
        self.max = self.max.max(other.max);
        self.cold = self.cold.saturating_add(other.cold);
    }
}

/// Distances from here on are not near. Most accesses of a program are, and of those there is nothing to know
/// but how many: sum and largest follow.
const FAR: u64 = 31;
/// Accesses of a cell at each near distance; the last number is of no meaning.
type Near = [u32; FAR as usize + 1];
/// Accesses that are counted together.
const PIECE: usize = 4096;

/// Histograms of many cells: small consecutive numbers, each the distances of one group of accesses.
///
/// Memory: 192 bytes per cell, and 8 bytes per fine bin up to the largest that the cell used beyond the near
/// ones, in whole octaves: a cell that reaches 2ⁿ items has 16 · (n − 2) counts.
#[derive(Clone, Debug, Default)]
pub struct KeyedHistograms {
    tallies: Vec<Tally>,
    /// For the cells of columns; not in `tallies` yet.
    near: Vec<Near>,
    /// No number in `near` can be larger.
    near_at_most: u32,
}

impl KeyedHistograms {
    /// No cells.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a column: `distances[i]` for the cell `cells[i]`. Cells come to be as they are named,
    /// with all smaller ones. Cost per access: an addition in a cache line of the cell, and for far ones two
    /// lines more; nothing is allocated except when a cell reaches further than ever before.
    ///
    /// # Panics
    /// If the two slices differ in length (a fault of the caller).
    pub fn add_column(&mut self, cells: &[u32], distances: &[Distance]) {
        assert_eq!(cells.len(), distances.len(), "one cell for each distance");
        let Some(&top) = cells.iter().max() else {
            return;
        };
        self.reserve(top);
        if self.near.len() < self.tallies.len() {
            self.near.resize(self.tallies.len(), [0; FAR as usize + 1]);
        }
        for (cells, distances) in cells.chunks(PIECE).zip(distances.chunks(PIECE)) {
            self.add_piece(cells, distances);
        }
    }

    /// Counts a piece of a column, whose cells there are. First all as if they were near, without a branch
    /// that nobody could guess; then those that are not.
    fn add_piece(&mut self, cells: &[u32], distances: &[Distance]) {
        if self.near_at_most > u32::MAX - PIECE as u32 {
            self.settle();
        }
        self.near_at_most += PIECE as u32;
        let (mut far, mut far_len) = ([0_u16; PIECE], 0);
        for (index, (cell, distance)) in (0_u16..).zip(cells.iter().zip(distances)) {
            let items = distance.raw().min(FAR);
            self.near[*cell as usize][items as usize] += 1;
            far[far_len % PIECE] = index;
            far_len += usize::from(items == FAR);
        }
        for index in &far[..far_len] {
            let (cell, distance) = (cells[usize::from(*index)], distances[usize::from(*index)]);
            self.tallies[cell as usize].add(distance, 1);
        }
    }

    /// Moves what is counted as near to where there are 64 bits.
    #[cold]
    fn settle(&mut self) {
        for (tally, near) in self.tallies.iter_mut().zip(&mut self.near) {
            tally.add_near(near);
            near.fill(0);
        }
        self.near_at_most = 0;
    }

    /// All of a cell.
    fn tally(&self, cell: usize) -> Option<Tally> {
        let mut tally = self.tallies.get(cell)?.clone();
        if let Some(near) = self.near.get(cell) {
            tally.add_near(near);
        }
        Some(tally)
    }

    /// Counts `accesses` accesses of a cell at one distance: estimates, of which a few stand for many.
    pub fn add(&mut self, cell: u32, distance: Distance, accesses: u64) {
        if accesses > 0 {
            self.reserve(cell);
            self.tallies[cell as usize].add(distance, accesses);
        }
    }

    /// Adds all counts of other histograms, cell by cell.
    pub fn merge(&mut self, other: &KeyedHistograms) {
        self.merge_mapped(other, |cell| cell);
    }

    /// Adds all counts of other histograms, whose cell `c` is the cell `map(c)` here.
    pub fn merge_mapped(&mut self, other: &KeyedHistograms, map: impl Fn(u32) -> u32) {
        let near = other.near.iter().map(Some).chain(std::iter::repeat(None));
        for ((cell, tally), near) in (0_u32..).zip(&other.tallies).zip(near) {
            let cell = map(cell);
            self.reserve(cell);
            let into = &mut self.tallies[cell as usize];
            into.merge(tally);
            if let Some(near) = near {
                into.add_near(near);
            }
        }
    }

    /// Replaces the distances of every cell (histogram, sum of the finite ones, largest of them) by what
    /// `change` makes of them.
    pub fn map(
        &mut self,
        mut change: impl FnMut((FineHistogram, u128, u64)) -> (FineHistogram, u128, u64),
    ) {
        self.settle();
        for tally in &mut self.tallies {
            let histogram = FineHistogram::from_counts(&tally.counts, tally.cold);
            let (histogram, sum, max) = change((histogram, tally.sum, tally.max));
            *tally = Tally {
                counts: Vec::new(),
                cold: histogram.cold(),
                sum,
                max,
            };
            for (low, _, count) in histogram.iter() {
                let bin = FineHistogram::bin(low);
                tally.counts.resize((bin + 1).next_multiple_of(16), 0);
                tally.counts[bin] = count;
            }
        }
    }

    /// The histogram of a cell, the sum of its finite distances and the largest of them; `None` for a
    /// cell that never came to be.
    pub fn get(&self, cell: u32) -> Option<(FineHistogram, u128, u64)> {
        let tally = self.tally(cell as usize)?;
        Some((
            FineHistogram::from_counts(&tally.counts, tally.cold),
            tally.sum,
            tally.max,
        ))
    }

    /// The number of cells.
    pub fn len(&self) -> usize {
        self.tallies.len()
    }

    /// Whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.tallies.is_empty()
    }

    /// The memory held.
    pub fn memory(&self) -> Bytes {
        let counts: usize = self
            .tallies
            .iter()
            .map(|tally| tally.counts.capacity() * 8)
            .sum();
        let near = self.near.capacity() * size_of::<Near>();
        Bytes((counts + near + self.tallies.capacity() * size_of::<Tally>()) as u64)
    }

    /// Makes sure that a cell exists.
    fn reserve(&mut self, cell: u32) {
        if cell as usize >= self.tallies.len() {
            self.tallies.resize(cell as usize + 1, Tally::default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_fills_one_cache_line() {
        assert_eq!(size_of::<Tally>(), 64);
    }

    /// Four billion accesses take too long to count one by one.
    #[test]
    fn near_counts_go_on_where_32_bits_end() {
        let mut keyed = KeyedHistograms::new();
        let distances = vec![Distance::new(2); PIECE + 5];
        keyed.add_column(&vec![1; PIECE + 5], &distances);
        keyed.near[1][2] = u32::MAX;
        keyed.near_at_most = u32::MAX;
        keyed.add_column(&vec![1; PIECE + 5], &distances);
        let accesses = u64::from(u32::MAX) + PIECE as u64 + 5;
        let (histogram, sum, max) = keyed.get(1).unwrap();
        assert_eq!(histogram.accesses(), accesses);
        assert_eq!((sum, max), (2 * u128::from(accesses), 2));
    }

    #[test]
    fn cells_become_what_is_made_of_them() {
        let mut keyed = KeyedHistograms::new();
        let raw = [5, u64::MAX, 7, 1 << 60, 40, 0];
        let distances: Vec<_> = raw.iter().map(|raw| Distance::new(*raw)).collect();
        keyed.add_column(&[0, 0, 2, 2, 2, 0], &distances);
        let before = [0, 1, 2].map(|cell| keyed.get(cell));
        keyed.map(|group| group);
        assert_eq!([0, 1, 2].map(|cell| keyed.get(cell)), before);
        let mut other = FineHistogram::new();
        other.add(Distance::new(300), 4);
        other.add(Distance::COLD, 2);
        keyed.map(|(histogram, sum, max)| match histogram.cold() {
            1 => (other.clone(), 1200, 300),
            _ => (histogram, sum, max),
        });
        assert_eq!(keyed.get(0), Some((other, 1200, 300)));
        assert_eq!([1, 2].map(|cell| keyed.get(cell)), before[1..]);
    }

    #[test]
    fn each_cell_has_its_own_distances() {
        let mut keyed = KeyedHistograms::new();
        let raw = [5, u64::MAX, 7, 1 << 60, 40, 0, u64::MAX];
        let distances: Vec<_> = raw.iter().map(|raw| Distance::new(*raw)).collect();
        keyed.add_column(&[0, 0, 3, 3, 3, 0, 3], &distances);
        keyed.add_column(&[], &[]);
        assert_eq!(keyed.len(), 4);
        let (histogram, sum, max) = keyed.get(3).unwrap();
        let mut expected = FineHistogram::new();
        for index in [2, 3, 4, 6] {
            expected.add(distances[index], 1);
        }
        assert_eq!((histogram, sum, max), (expected, (1 << 60) + 47, 1 << 60));
        assert_eq!(keyed.get(1), Some((FineHistogram::new(), 0, 0)));
        assert_eq!(keyed.get(4), None);

        let mut many = KeyedHistograms::new();
        for (cell, distance) in [0, 0, 3, 3, 3, 0, 3].into_iter().zip(distances) {
            many.add(cell, distance, 1);
            many.add(cell, distance, 0);
            many.add(cell, distance, 2);
        }
        let (histogram, sum, max) = many.get(3).unwrap();
        assert_eq!((histogram.accesses(), histogram.cold()), (12, 3));
        assert_eq!((sum, max), (3 * ((1 << 60) + 47), 1 << 60));

        let mut twice = keyed.clone();
        twice.merge_mapped(&keyed, |cell| 3 - cell);
        let (histogram, sum, max) = twice.get(0).unwrap();
        assert_eq!(
            (histogram.accesses(), histogram.cold(), sum, max),
            (7, 2, (1 << 60) + 52, 1 << 60)
        );
    }
}
