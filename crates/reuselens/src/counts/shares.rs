//! Which cell has which share of the accesses that samples stand for.

use reuselens_distance::{Estimate, SampleSource};
use reuselens_locality::{FineHistogram, KeyedHistograms};
use reuselens_units::{Bytes, Distance};

/// For each sample, the weights of its accesses by cell and distance; and of every cell the exact
/// number of accesses.
#[derive(Default)]
pub(super) struct Shares {
    /// The sample of the items, then the bursts, the shortest first.
    samples: Vec<KeyedHistograms>,
    /// Accesses of each cell since samples were taken.
    accesses: Vec<u64>,
}

impl Shares {
    /// Counts accesses of cells, sampled or not.
    pub(super) fn count(&mut self, cells: &[u32]) {
        let top = cells.iter().max().map_or(0, |top| *top as usize + 1);
        if top > self.accesses.len() {
            self.accesses.resize(top, 0);
        }
        for cell in cells {
            self.accesses[*cell as usize] += 1;
        }
    }

    /// Counts an access of a sample.
    pub(super) fn add(&mut self, sample: usize, cell: u32, distance: Distance, weight: u64) {
        if sample >= self.samples.len() {
            self.samples.resize_with(sample + 1, KeyedHistograms::new);
        }
        self.samples[sample].add(cell, distance, weight);
    }

    /// Makes the accesses of the first cell of each pair those of the second, in this order.
    pub(super) fn move_all(&mut self, moves: &[(u32, u32)]) {
        move_counts(&mut self.accesses, moves);
        for sample in &mut self.samples {
            sample.move_all(moves);
        }
    }

    pub(super) fn memory(&self) -> Bytes {
        let counts = Bytes(self.accesses.capacity() as u64 * 8);
        let samples = self.samples.iter().map(KeyedHistograms::memory);
        samples.fold(counts, |sum, memory| sum + memory)
    }

    /// Gives each cell its part of the estimate: of every bin, what the sample that sees it best
    /// says. The sum over a cell is its exact number of accesses. A cell of which no access was
    /// sampled gets distances like all.
    pub(super) fn give(&self, estimate: &Estimate, keyed: &mut KeyedHistograms) {
        let bins = bins(estimate);
        let mut places = vec![None; FineHistogram::BINS];
        for (place, bin) in bins.iter().enumerate() {
            if let Some(items) = bin.distance.items() {
                places[FineHistogram::bin(items)] = Some(place);
            }
        }
        let mut weights = vec![0.0; bins.len()];
        let cells = 0..self.accesses.len() as u32;
        for cell in cells.clone() {
            let cell = self.weights(cell, &bins, &places);
            weights
                .iter_mut()
                .zip(cell)
                .for_each(|(sum, one)| *sum += one);
        }
        for (cell, &accesses) in cells.zip(&self.accesses) {
            let mut parts = self.weights(cell, &bins, &places);
            for ((part, bin), weight) in parts.iter_mut().zip(&bins).zip(&weights) {
                *part *= bin.accesses / f64::max(*weight, 1.0);
            }
            if parts.iter().sum::<f64>() <= 0.0 {
                parts = bins.iter().map(|bin| bin.accesses).collect();
            }
            apportion(keyed, cell, accesses, &bins, &parts);
        }
    }

    /// What a cell weighs in each bin, in the sample that tells most of that bin.
    fn weights(&self, cell: u32, bins: &[Bin], places: &[Option<usize>]) -> Vec<f64> {
        let mut weights = vec![0.0; bins.len()];
        for (sample, keyed) in self.samples.iter().enumerate() {
            let Some((histogram, ..)) = keyed.get(cell) else {
                continue;
            };
            for (low, _, weight) in histogram.iter() {
                let place = places[FineHistogram::bin(low)];
                if let Some(place) = place.filter(|place| bins[*place].sample == sample) {
                    weights[place] += weight as f64;
                }
            }
            if let Some(cold) = weights.last_mut().filter(|_| sample == 0) {
                *cold += histogram.cold() as f64;
            }
        }
        weights
    }
}

/// Makes what was counted by cell of the first of each pair that of the second, in this order.
pub(super) fn move_counts(counts: &mut Vec<u64>, moves: &[(u32, u32)]) {
    for &(from, to) in moves {
        let moved = counts.get_mut(from as usize).map_or(0, std::mem::take);
        if moved > 0 {
            add_at(counts, to, moved);
        }
    }
}

/// Adds to the count of a cell.
pub(super) fn add_at(counts: &mut Vec<u64>, cell: u32, more: u64) {
    let cells = counts.len().max(cell as usize + 1);
    counts.resize(cells, 0);
    counts[cell as usize] += more;
}

/// A bin of distances, or the cold accesses.
struct Bin {
    /// Its middle, where an access of it is counted.
    distance: Distance,
    /// Estimated accesses of all cells.
    accesses: f64,
    /// The sample that tells most of it.
    sample: usize,
}

/// The bins of an estimate, ascending; the cold accesses last.
fn bins(estimate: &Estimate) -> Vec<Bin> {
    let finite = estimate.bins.iter().map(|&(low, high, accesses)| {
        let source = estimate.sources.iter().rev().find(|(from, _)| *from <= low);
        Bin {
            distance: Distance::new(low + (high - low) / 2),
            accesses: accesses as f64,
            sample: match source {
                Some((_, SampleSource::Bursts(level))) => level + 1,
                _ => 0,
            },
        }
    });
    let cold = Bin {
        distance: Distance::COLD,
        accesses: estimate.cold as f64,
        sample: 0,
    };
    finite.chain([cold]).collect()
}

/// Whole numbers in proportion to the parts: rounded where each begins and ends, they add up.
fn apportion(keyed: &mut KeyedHistograms, cell: u32, accesses: u64, bins: &[Bin], parts: &[f64]) {
    let all: f64 = parts.iter().sum();
    let (mut until, mut given) = (0.0, 0);
    for (bin, part) in bins.iter().zip(parts) {
        until += part;
        let next = (accesses as f64 * (until / all)).round() as u64;
        let next = next.clamp(given, accesses);
        keyed.add(cell, bin.distance, next - given);
        given = next;
    }
    keyed.add(cell, Distance::COLD, accesses - given);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate() -> Estimate {
        Estimate {
            accesses: 110,
            exact: 10,
            rate: 0.1,
            confidence: 0.95,
            points: Vec::new(),
            bins: vec![(0, 0, 50), (1024, 1087, 30)],
            cold: 20,
            sources: vec![(0, SampleSource::Bursts(0)), (1000, SampleSource::Items)],
        }
    }

    #[test]
    fn every_bin_is_shared_by_what_sees_it_best() {
        let mut shares = Shares::default();
        shares.count(&[vec![0; 60], vec![2; 40]].concat());
        // In the bursts only cell 0 reuses at once; what they say about far distances does not
        // count.
        shares.add(1, 0, Distance::ZERO, 5);
        shares.add(1, 2, Distance::new(1030), 99);
        shares.add(0, 2, Distance::ZERO, 99);
        shares.add(0, 2, Distance::new(1030), 3);
        shares.add(0, 0, Distance::COLD, 1);
        shares.add(0, 2, Distance::COLD, 1);
        let mut keyed = KeyedHistograms::new();
        shares.give(&estimate(), &mut keyed);
        let (near, ..) = keyed.get(0).unwrap();
        assert_eq!((near.accesses(), near.misses(1), near.cold()), (60, 10, 10));
        let (far, ..) = keyed.get(2).unwrap();
        assert_eq!((far.accesses(), far.misses(1), far.cold()), (40, 40, 10));
    }

    #[test]
    fn a_cell_without_samples_is_like_all() {
        let mut shares = Shares::default();
        shares.count(&[1; 100]);
        let mut keyed = KeyedHistograms::new();
        shares.give(&estimate(), &mut keyed);
        let (histogram, ..) = keyed.get(1).unwrap();
        assert_eq!((histogram.misses(1), histogram.cold()), (50, 20));
        assert!(
            keyed
                .get(0)
                .is_none_or(|(histogram, ..)| histogram.is_empty())
        );
    }
}
