//! [`KeyedHistograms`]: a fine histogram for each of many cells, filled in one pass.

use std::fmt;

use reuselens_hugepages::Huge;
use reuselens_units::{Bytes, Distance};

use crate::FineHistogram;
use crate::tallies::{CellCounts, Tallies};

/// Distances from here on are far. Most accesses of a program are near, and of those only the
/// number is counted: their sum and the largest follow from it.
const FAR: u64 = 31;
/// Accesses of a cell at each near distance, a cache line; the last number has no meaning.
type Near = [u16; FAR as usize + 1];
/// Accesses that are counted together.
const PIECE: usize = 4096;
/// With more cells than this their counters are prefetched; fewer are in the caches anyhow.
const MANY: usize = 4096;
/// How many accesses ahead.
const AHEAD: usize = 12;

/// Histograms of many cells: small consecutive numbers, each the distances of one group of
/// accesses.
///
/// Memory: 128 bytes per cell, and 64 for each octave of distances beyond the near ones that it
/// has.
#[derive(Clone, Default)]
pub struct KeyedHistograms {
    /// Far distances, and what has overflowed in `near`.
    tallies: Tallies,
    /// For the cells of columns; not in `tallies` yet.
    near: Huge<Near>,
}

impl fmt::Debug for KeyedHistograms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl KeyedHistograms {
    /// No cells.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a column: `distances[i]` for the cell `cells[i]`. A cell exists once it, or a larger
    /// one, was named. Cost per access: an addition in a cache line of the cell, and for far
    /// ones two lines more; nothing is allocated except when a cell reaches an octave for the first
    /// time.
    ///
    /// # Panics
    /// If the two slices differ in length (a fault of the caller).
    pub fn add_column(&mut self, cells: &[u32], distances: &[Distance]) {
        self.add_column_with_far(cells, distances, &mut Vec::new());
    }

    /// As [`add_column`](Self::add_column), and appends the far distances to `far`. A caller that
    /// counts those, and at the end [`near`](Self::near), has counted all, and has looked at most
    /// accesses once instead of twice.
    ///
    /// # Panics
    /// If the first two slices differ in length (a fault of the caller).
    pub fn add_column_with_far(
        &mut self,
        cells: &[u32],
        distances: &[Distance],
        far: &mut Vec<Distance>,
    ) {
        assert_eq!(cells.len(), distances.len(), "one cell for each distance");
        let Some(&top) = cells.iter().max() else {
            return;
        };
        self.tallies.reserve(top as usize + 1);
        if self.near.len() < self.tallies.len() {
            self.near.lengthen(self.tallies.len().next_power_of_two());
        }
        let many = self.near.len() > MANY;
        for (cells, distances) in cells.chunks(PIECE).zip(distances.chunks(PIECE)) {
            if many {
                self.add_piece::<true>(cells, distances, far);
            } else {
                self.add_piece::<false>(cells, distances, far);
            }
        }
    }

    /// Counts a piece of a column, whose cells exist. First all as if they were near, without a
    /// branch that no processor could predict; then the far ones.
    fn add_piece<const MANY: bool>(
        &mut self,
        cells: &[u32],
        distances: &[Distance],
        told: &mut Vec<Distance>,
    ) {
        let (mut far, mut far_len) = ([0_u16; PIECE], 0);
        // As a slice: where it begins need not be found out for each access.
        let (tallies, near) = (&mut self.tallies, &mut self.near[..]);
        for (index, (cell, distance)) in (0_u16..).zip(cells.iter().zip(distances)) {
            if MANY && let Some(coming) = cells.get(usize::from(index) + AHEAD) {
                reuselens_hugepages::prefetch(near, *coming as usize);
            }
            let items = distance.raw().min(FAR);
            let count = &mut near[*cell as usize][items as usize];
            *count = count.wrapping_add(1);
            if *count == 0 {
                carry(tallies, *cell, items);
            }
            far[far_len % PIECE] = index;
            far_len += usize::from(items == FAR);
        }
        let far = &far[..far_len];
        for (place, index) in far.iter().enumerate() {
            if MANY && let Some(coming) = far.get(place + AHEAD / 2) {
                tallies.prefetch(cells[usize::from(*coming)]);
            }
            let (cell, distance) = (cells[usize::from(*index)], distances[usize::from(*index)]);
            tallies.add(cell, distance, 1);
            told.push(distance);
        }
    }

    /// The accesses of all cells at each near distance, from 0.
    pub fn near(&self) -> Vec<(Distance, u64)> {
        let mut sums = [0_u64; FAR as usize];
        for near in self.near.iter() {
            for (sum, count) in sums.iter_mut().zip(near) {
                *sum += u64::from(*count);
            }
        }
        for cell in 0..self.len() as u32 {
            for (sum, more) in sums.iter_mut().zip(self.tallies.shortest(cell)) {
                *sum = sum.saturating_add(more);
            }
        }
        let sums = (0..).zip(sums);
        sums.map(|(items, sum)| (Distance::new(items), sum))
            .collect()
    }

    /// Adds all that was counted for a cell.
    fn counted(&self, cell: u32, into: &mut CellCounts) {
        into.clear();
        if let Some(near) = self.near.get(cell as usize) {
            for (items, &count) in (0..FAR).zip(near).filter(|(_, count)| **count > 0) {
                into.bins.push((items as u16, count.into()));
                into.sum += u128::from(items) * u128::from(count);
                into.max = items;
            }
        }
        self.tallies.get(cell, into);
    }

    /// Counts `accesses` accesses of a cell at one distance: for estimates, in which a few samples
    /// represent many accesses.
    pub fn add(&mut self, cell: u32, distance: Distance, accesses: u64) {
        if accesses > 0 {
            self.tallies.reserve(cell as usize + 1);
            self.tallies.add(cell, distance, accesses);
        }
    }

    /// Adds all counts of other histograms, cell by cell.
    pub fn merge(&mut self, other: &KeyedHistograms) {
        self.merge_mapped(other, |cell| cell);
    }

    /// Adds all counts of other histograms, whose cell `c` is the cell `map(c)` here.
    pub fn merge_mapped(&mut self, other: &KeyedHistograms, map: impl Fn(u32) -> u32) {
        let mut counted = CellCounts::default();
        for cell in 0..other.len() as u32 {
            other.counted(cell, &mut counted);
            let cell = map(cell);
            self.tallies.reserve(cell as usize + 1);
            self.tallies.put(cell, &counted);
        }
    }

    /// Moves the counts of cells, in this order: each pair is [`move_into`](Self::move_into)'s.
    pub fn move_all(&mut self, moves: &[(u32, u32)]) {
        for (index, &(from, to)) in moves.iter().enumerate() {
            // Cold cells are in no cache.
            if let Some(&(from, to)) = moves.get(index + AHEAD) {
                for cell in [from, to] {
                    reuselens_hugepages::prefetch(&self.near, cell as usize);
                    self.tallies.prefetch(cell);
                }
            }
            self.move_into(from, to);
        }
    }

    /// Adds all counts of the cell `from` to the cell `to`, and leaves `from` empty, as if all its
    /// accesses had been those of `to`. Cells of equal number stay as they are.
    pub fn move_into(&mut self, from: u32, to: u32) {
        if from == to || from as usize >= self.len() {
            return;
        }
        self.tallies.reserve(to as usize + 1);
        if (from as usize) < self.near.len() {
            if self.near.len() < self.tallies.len() {
                self.near.lengthen(self.tallies.len().next_power_of_two());
            }
            let moved = std::mem::take(&mut self.near[from as usize]);
            // All counters at once: most cells that are moved have one access. The last counter has
            // no meaning.
            let near = &mut self.near[to as usize];
            let before = *near;
            for (count, more) in near.iter_mut().zip(moved) {
                *count = count.wrapping_add(more);
            }
            let after = *near;
            let came_round = |items: &u64| after[*items as usize] < before[*items as usize];
            if after
                .iter()
                .zip(before)
                .any(|(after, before)| *after < before)
            {
                let overflowed = (0..FAR).filter(came_round);
                overflowed.for_each(|items| carry(&mut self.tallies, to, items));
            }
        }
        self.tallies.move_into(from, to);
    }

    /// Replaces the distances of every cell (histogram, sum of the finite ones, largest of them) by
    /// what `change` makes of them.
    pub fn map(
        &mut self,
        mut change: impl FnMut((FineHistogram, u128, u64)) -> (FineHistogram, u128, u64),
    ) {
        let mut changed = KeyedHistograms::new();
        changed.tallies.reserve(self.len());
        for cell in 0..self.len() as u32 {
            let group = self.get(cell).unwrap_or_default();
            let (histogram, sum, max) = change(group);
            let bins = histogram.iter();
            let counted = CellCounts {
                bins: bins
                    .map(|(low, _, count)| (FineHistogram::bin(low) as u16, count))
                    .collect(),
                cold: histogram.cold(),
                sum,
                max,
            };
            changed.tallies.put(cell, &counted);
        }
        *self = changed;
    }

    /// The histogram of a cell, the sum of its finite distances and the largest of them; `None` for
    /// a cell that does not exist.
    pub fn get(&self, cell: u32) -> Option<(FineHistogram, u128, u64)> {
        let mut counted = CellCounts::default();
        ((cell as usize) < self.len()).then(|| self.get_with(cell, &mut counted))
    }

    /// All cells in order: see [`get`](Self::get).
    pub fn iter(&self) -> impl Iterator<Item = (FineHistogram, u128, u64)> + '_ {
        let mut counted = CellCounts::default();
        (0..self.len() as u32).map(move |cell| self.get_with(cell, &mut counted))
    }

    fn get_with(&self, cell: u32, counted: &mut CellCounts) -> (FineHistogram, u128, u64) {
        self.counted(cell, counted);
        let histogram = FineHistogram::from_bins(counted.bins.as_slice().into(), counted.cold);
        (histogram, counted.sum, counted.max)
    }

    /// The number of cells.
    pub fn len(&self) -> usize {
        self.tallies.len()
    }

    /// Whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory held.
    pub fn memory(&self) -> Bytes {
        self.tallies.memory() + Bytes(self.near.bytes() as u64)
    }
}

/// A near counter of a cell has overflowed to 0.
#[cold]
fn carry(tallies: &mut Tallies, cell: u32, items: u64) {
    if items < FAR {
        tallies.add(cell, Distance::new(items), 1 << 16);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A near counter has 16 bits.
    #[test]
    fn near_counts_exceed_16_bits() {
        let mut keyed = KeyedHistograms::new();
        let accesses = 70_000;
        let distances = vec![Distance::new(2); accesses];
        keyed.add_column(&vec![1; accesses], &distances);
        let mut far = Vec::new();
        let distances = vec![Distance::new(1000); accesses];
        keyed.add_column_with_far(&vec![1; accesses], &distances, &mut far);
        assert_eq!(far, distances);
        let accesses = accesses as u64;
        let (histogram, sum, max) = keyed.get(1).unwrap();
        let mut expected = FineHistogram::new();
        expected.add(Distance::new(2), accesses);
        expected.add(Distance::new(1000), accesses);
        assert_eq!(histogram, expected);
        assert_eq!((sum, max), (1002 * u128::from(accesses), 1000));
        let near: Vec<_> = keyed.near().into_iter().filter(|near| near.1 > 0).collect();
        assert_eq!(near, [(Distance::new(2), accesses)]);
    }

    #[test]
    fn near_and_recorded_distances_add_up_to_all() {
        let raw = [0, 30, 31, 32, 5, u64::MAX, 1 << 40, 30];
        let distances: Vec<_> = raw.iter().map(|raw| Distance::new(*raw)).collect();
        let mut keyed = KeyedHistograms::new();
        let mut far = Vec::new();
        keyed.add_column_with_far(&[0, 1, 2, 3, 4, 5, 6, 0], &distances, &mut far);
        let mut all = crate::ExactHistogram::new();
        all.add_column(&far);
        for (distance, accesses) in keyed.near() {
            all.add(distance, accesses);
        }
        let mut expected = crate::ExactHistogram::new();
        expected.add_column(&distances);
        assert_eq!(all, expected);
    }

    #[test]
    fn map_replaces_histograms_of_cells() {
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
    fn moved_cell_adds_its_accesses_to_the_other() {
        let raw = [2, u64::MAX, 7, 1 << 60, 40, 0, u64::MAX, 1000];
        let distances = |accesses: usize| -> Vec<_> {
            let raw = raw.iter().cycle().take(accesses);
            raw.map(|raw| Distance::new(*raw)).collect()
        };
        let (mut moved, mut all) = (KeyedHistograms::new(), KeyedHistograms::new());
        // Near counters of both cells come round when they are added.
        for (cell, accesses) in [(1, 300_000), (5, 500_000), (3, 77)] {
            moved.add_column(&vec![cell; accesses], &distances(accesses));
            all.add_column(&vec![1; accesses], &distances(accesses));
        }
        moved.move_all(&[(5, 1), (3, 1), (9, 1), (1, 1)]);
        assert_eq!(moved.get(1), all.get(1));
        for empty in [3, 5] {
            assert_eq!(moved.get(empty), Some((FineHistogram::new(), 0, 0)));
        }
        moved.move_into(1, 8);
        assert_eq!(moved.get(8), all.get(1));
        assert_eq!(moved.near(), all.near());
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
