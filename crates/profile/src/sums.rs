//! [`HistogramSum`]: the sum of many fine histograms; and sums of a profile's cells by a key.

use reuselens_locality::FineHistogram;

use crate::group::CellSum;
use crate::{Cell, CellCauses, Profile};

/// A sum of fine histograms in the making: a counter for each bin, so that adding costs no more
/// than looking at what is added.
#[derive(Clone, Debug)]
pub struct HistogramSum {
    counts: Box<[u64; FineHistogram::BINS]>,
    /// A bit for each octave (sixteen bins) that holds anything.
    octaves: u64,
    cold: u64,
}

const OCTAVE: usize = 16;
const _: () =
    assert!(FineHistogram::BINS.is_multiple_of(OCTAVE) && FineHistogram::BINS / OCTAVE <= 64);

impl Default for HistogramSum {
    fn default() -> Self {
        HistogramSum {
            counts: Box::new([0; FineHistogram::BINS]),
            octaves: 0,
            cold: 0,
        }
    }
}

impl HistogramSum {
    /// A sum of nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds all counts of a histogram.
    pub fn add(&mut self, histogram: &FineHistogram) {
        self.cold = self.cold.saturating_add(histogram.cold());
        for &(bin, more) in histogram.as_bins() {
            let bin = usize::from(bin);
            self.octaves |= 1 << (bin / OCTAVE);
            self.counts[bin] = self.counts[bin].saturating_add(more);
        }
    }

    /// Returns the sum, and begins a new one.
    pub fn take(&mut self) -> FineHistogram {
        let mut bins = Vec::new();
        let mut octaves = std::mem::take(&mut self.octaves);
        while octaves != 0 {
            let first = octaves.trailing_zeros() as usize * OCTAVE;
            octaves &= octaves - 1;
            for (bin, count) in (first..).zip(&mut self.counts[first..first + OCTAVE]) {
                if *count > 0 {
                    bins.push((bin as u16, std::mem::take(count)));
                }
            }
        }
        bins.shrink_to_fit();
        FineHistogram::from_bins(bins, std::mem::take(&mut self.cold))
    }
}

/// Groups of at most this many cells are added without a [`HistogramSum`].
const FEW: usize = 3;

/// The sums of the cells with each key below `keys`, where there are any. Cost: linear in the cells
/// and their bins.
pub(crate) fn tallies(
    cells: &[Cell],
    keys: usize,
    key: impl Fn(&Cell) -> usize,
) -> Vec<Option<CellSum>> {
    let of_cells: Vec<usize> = cells.iter().map(key).collect();
    let (starts, order) = sorted(&of_cells, keys);
    let mut sum = HistogramSum::new();
    let groups = starts.windows(2).map(|range| &order[range[0]..range[1]]);
    groups
        .map(|members| (!members.is_empty()).then(|| tally(cells, members, &mut sum)))
        .collect()
}

fn tally(cells: &[Cell], members: &[u32], sum: &mut HistogramSum) -> CellSum {
    let mut tally = CellSum::default();
    let members = || members.iter().map(|cell| &cells[*cell as usize]);
    if members().len() <= FEW {
        members().for_each(|cell| tally.add(cell));
        return tally;
    }
    for cell in members() {
        sum.add(&cell.histogram);
        tally.add_rest(cell);
    }
    tally.histogram = sum.take();
    tally
}

/// The indices of equal keys together, in their order, by key: where each key's begin (and the
/// last's end), and the indices. Keys from `keys` on are left out.
fn sorted(of: &[usize], keys: usize) -> (Vec<usize>, Vec<u32>) {
    let mut starts = vec![0; keys + 1];
    for key in of.iter().filter(|key| **key < keys) {
        starts[key + 1] += 1;
    }
    for key in 0..keys {
        starts[key + 1] += starts[key];
    }
    let mut next = starts.clone();
    let mut order = vec![0; starts[keys]];
    for (index, key) in (0..).zip(of).filter(|(_, key)| **key < keys) {
        order[next[*key]] = index;
        next[*key] += 1;
    }
    (starts, order)
}

impl Profile {
    /// The distances of the cells with each key below `keys`; cells with others are left out. Cost:
    /// linear in the cells and their bins.
    pub fn sums(&self, keys: usize, key: impl Fn(&Cell) -> usize) -> Vec<FineHistogram> {
        let of_cells: Vec<usize> = self.cells.iter().map(key).collect();
        let (starts, order) = sorted(&of_cells, keys);
        let mut sum = HistogramSum::new();
        let groups = starts.windows(2).map(|range| &order[range[0]..range[1]]);
        let of = |members: &[u32]| {
            members
                .iter()
                .for_each(|cell| sum.add(&self.cells[*cell as usize].histogram));
            sum.take()
        };
        groups.map(of).collect()
    }

    /// The cells, with those summed that differ only in calling context. They are fewer, and groups
    /// by any dimension except contexts can be made of them. Cost: linear in the cells and their
    /// bins.
    pub(crate) fn cells_of_all_contexts(&self) -> Vec<Cell> {
        let mut cells: Vec<Cell> = Vec::new();
        let same =
            |a: &Cell, b: &Cell| (a.site, a.object, a.thread) == (b.site, b.object, b.thread);
        let mut sum = HistogramSum::new();
        let mut rest = self.cells.as_slice();
        while let Some(first) = rest.first() {
            let others = rest[1..].iter().position(|cell| !same(first, cell));
            let run;
            (run, rest) = rest.split_at(others.map_or(rest.len(), |others| others + 1));
            let members: Vec<u32> = (0..run.len() as u32).collect();
            let tally = tally(run, &members, &mut sum);
            let mut causes = CellCauses::default();
            run.iter().for_each(|cell| causes.merge(&cell.causes));
            cells.push(Cell {
                site: first.site,
                object: first.object,
                context: 0,
                thread: first.thread,
                histogram: tally.histogram,
                distance_sum: tally.sum,
                distance_max: tally.max,
                forward: tally.forward,
                invalidated: run.iter().map(|cell| cell.invalidated).sum(),
                causes,
            });
        }
        cells
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use reuselens_units::Distance;

    #[test]
    fn histogram_sum_equals_merged_histograms() {
        let mut sum = HistogramSum::new();
        assert_eq!(sum.take(), FineHistogram::new());
        for round in 1..4 {
            let mut merged = FineHistogram::new();
            for seed in 0..50_u64 {
                let mut one = FineHistogram::new();
                one.add(Distance::new(seed * seed * round), seed + 1);
                one.add(Distance::new(u64::MAX >> seed), u64::MAX / 3);
                one.add(Distance::COLD, seed);
                merged.merge(&one);
                sum.add(&one);
            }
            assert_eq!(sum.take(), merged);
        }
    }

    #[test]
    fn cells_of_all_contexts_are_all_accesses() {
        let mut profile = testing::profile();
        for context in 0..9 {
            testing::add_cell(
                &mut profile,
                [1, 1, context % 4, 0],
                [3, 500 + u64::from(context)].into_iter(),
            );
        }
        profile.canonicalise();
        profile
            .cells
            .iter_mut()
            .for_each(|cell| cell.invalidated = 2);
        let cells = profile.cells_of_all_contexts();
        let invalidated = |cells: &[Cell]| cells.iter().map(|cell| cell.invalidated).sum::<u64>();
        assert_eq!(invalidated(&cells), invalidated(&profile.cells));
        assert!(cells.len() < profile.cells.len());
        for site in 0..profile.sites.len() as u32 {
            let of = |cells: &[Cell]| {
                let mut all = FineHistogram::new();
                let (mut sum, mut max) = (0, 0);
                for cell in cells.iter().filter(|cell| cell.site == site) {
                    all.merge(&cell.histogram);
                    (sum, max) = (sum + cell.distance_sum, cell.distance_max.max(max));
                }
                (all, sum, max)
            };
            assert_eq!(of(&cells), of(&profile.cells), "{site}");
        }
        let sums = profile.sums(2, |cell| cell.site as usize);
        assert_eq!(sums.len(), 2);
    }
}
