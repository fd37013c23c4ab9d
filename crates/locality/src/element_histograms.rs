//! [`ElementHistograms`]: a fine histogram for each of very many elements with few accesses each,
//! filled in one pass.

use reuselens_units::{Bytes, Distance};

use crate::FineHistogram;

/// The distances of one element. One cache line, and all that an access needs as long as it falls
/// into the bin of the one before.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
struct ElementTally {
    histogram: FineHistogram,
    /// Sum of the finite distances.
    sum: u128,
    /// Largest finite distance.
    max: u64,
    /// The last accesses, which the histogram does not have yet: how many, and their bin.
    run: u32,
    bin: u16,
}

impl ElementTally {
    #[inline]
    fn add(&mut self, distance: Distance) {
        let Some(items) = distance.items() else {
            return self.histogram.add(distance, 1);
        };
        self.sum = self.sum.saturating_add(u128::from(items));
        self.max = self.max.max(items);
        let bin = FineHistogram::bin(items) as u16;
        if bin != self.bin || self.run == u32::MAX {
            self.end_run();
            self.bin = bin;
        }
        self.run += 1;
    }

    fn end_run(&mut self) {
        if self.run > 0 {
            self.histogram.add_to_bin(self.bin, u64::from(self.run));
            self.run = 0;
        }
    }
}

/// Histograms of elements of data structures: numbers from 1 on; 0 is no element, and not counted.
///
/// As [`KeyedHistograms`](crate::KeyedHistograms), but for a hundred thousand groups with a few
/// accesses each. Memory: 64 bytes per element, and 16 bytes per bin in which it has accesses, at
/// most twice that while the histograms grow.
#[derive(Clone, Debug, Default)]
pub struct ElementHistograms {
    tallies: Vec<ElementTally>,
    /// Bytes of all histograms.
    heap: usize,
}

impl ElementHistograms {
    /// No elements.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a column: `distances[i]` for the element `elements[i]`. An element exists once it,
    /// or a larger one, was named. Cost per access: a search in the bins that the element
    /// uses.
    ///
    /// # Panics
    /// If the two slices differ in length (a fault of the caller).
    pub fn add_column(&mut self, elements: &[u32], distances: &[Distance]) {
        assert_eq!(elements.len(), distances.len(), "one element for each");
        let top = elements.iter().max().map_or(0, |top| *top as usize);
        if top > 0 && top >= self.tallies.len() {
            self.tallies.resize(top + 1, ElementTally::default());
        }
        for (&element, &distance) in elements.iter().zip(distances) {
            if element != 0 {
                let tally = &mut self.tallies[element as usize];
                let before = tally.histogram.heap_bytes();
                tally.add(distance);
                self.heap += tally.histogram.heap_bytes() - before;
            }
        }
    }

    /// Adds all counts of other histograms, element by element.
    pub fn merge(&mut self, mut others: ElementHistograms) {
        if self.tallies.len() < others.tallies.len() {
            std::mem::swap(self, &mut others);
        }
        for (tally, mut other) in self.tallies.iter_mut().zip(others.tallies) {
            let before = tally.histogram.heap_bytes();
            other.end_run();
            tally.histogram.merge(&other.histogram);
            tally.sum = tally.sum.saturating_add(other.sum);
            tally.max = tally.max.max(other.max);
            self.heap += tally.histogram.heap_bytes() - before;
        }
    }

    /// Takes out the histogram of an element, the sum of its finite distances and the largest of
    /// them; `None` for one that does not exist.
    pub fn take(&mut self, element: u32) -> Option<(FineHistogram, u128, u64)> {
        let mut tally = std::mem::take(self.tallies.get_mut(element as usize)?);
        self.heap -= tally.histogram.heap_bytes();
        tally.end_run();
        Some((tally.histogram, tally.sum, tally.max))
    }

    /// Replaces the distances of every element (histogram, sum of the finite ones, largest of them)
    /// by what `change` makes of them.
    pub fn map(
        &mut self,
        mut change: impl FnMut((FineHistogram, u128, u64)) -> (FineHistogram, u128, u64),
    ) {
        for tally in &mut self.tallies {
            self.heap -= tally.histogram.heap_bytes();
            tally.end_run();
            let (histogram, sum, max) =
                change((std::mem::take(&mut tally.histogram), tally.sum, tally.max));
            self.heap += histogram.heap_bytes();
            (tally.histogram, tally.sum, tally.max) = (histogram, sum, max);
        }
    }

    /// The memory held.
    pub fn memory(&self) -> Bytes {
        Bytes((self.heap + self.tallies.capacity() * size_of::<ElementTally>()) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_fills_one_cache_line() {
        assert_eq!(size_of::<ElementTally>(), 64);
    }

    #[test]
    fn runs_in_one_bin_are_counted_completely() {
        let mut elements = ElementHistograms::new();
        let raw = [0, 0, 40, 41, u64::MAX, 41, 0, 7];
        let distances: Vec<_> = raw.iter().map(|raw| Distance::new(*raw)).collect();
        let mut expected = FineHistogram::new();
        for cut in 0..raw.len() {
            elements.add_column(&vec![3; cut], &distances[..cut]);
            elements.add_column(&vec![3; raw.len() - cut], &distances[cut..]);
            expected.add_column(&distances);
        }
        assert_eq!(elements.take(3), Some((expected, 129 * 8, 41)));
    }

    #[test]
    fn each_element_has_its_own_distances() {
        let mut elements = ElementHistograms::new();
        elements.add_column(&[], &[]);
        elements.add_column(&[0, 0], &[Distance::new(3), Distance::COLD]);
        assert_eq!(elements.memory(), Bytes(0), "no element, nothing to keep");
        let raw = [5, u64::MAX, 7, 1 << 60, 40, 9];
        let distances: Vec<_> = raw.iter().map(|raw| Distance::new(*raw)).collect();
        elements.add_column(&[2, 2, 1, 2, 1, 0], &distances);
        let mut expected = FineHistogram::new();
        for index in [0, 1, 3] {
            expected.add(distances[index], 1);
        }
        assert_eq!(elements.take(2), Some((expected, (1 << 60) + 5, 1 << 60)));
        let (histogram, sum, max) = elements.take(1).unwrap();
        assert_eq!((histogram.accesses(), sum, max), (2, 47, 40));
        assert_eq!(elements.take(3), None);
        assert_eq!(elements.take(2), Some((FineHistogram::new(), 0, 0)));
    }

    #[test]
    fn map_replaces_histograms_of_elements() {
        let mut elements = ElementHistograms::new();
        let distances = [7, 7, 40].map(Distance::new);
        elements.add_column(&[1, 1, 2], &distances);
        elements.map(|(mut histogram, sum, max)| {
            histogram.add(Distance::new(100), 1);
            (histogram, sum + 100, max.max(100))
        });
        elements.add_column(&[1], &[Distance::new(7)]);
        let mut expected = FineHistogram::new();
        expected.add(Distance::new(7), 3);
        expected.add(Distance::new(100), 1);
        assert_eq!(elements.take(1), Some((expected, 121, 100)));
        assert_eq!(
            elements.take(2).map(|(_, sum, max)| (sum, max)),
            Some((140, 100))
        );
        assert!(elements.take(0).is_some());
        assert_eq!(elements.heap, 0);
    }

    #[test]
    fn merged_elements_are_those_of_one_column() {
        let raw = [5, u64::MAX, 7, 1 << 60, 40, 9];
        let distances: Vec<_> = raw.iter().map(|raw| Distance::new(*raw)).collect();
        let (mut one, mut two) = (ElementHistograms::new(), ElementHistograms::new());
        one.add_column(&[2, 1, 1], &distances[..3]);
        two.add_column(&[1, 4, 0], &distances[3..]);
        one.merge(two);
        let mut whole = ElementHistograms::new();
        whole.add_column(&[2, 1, 1, 1, 4, 0], &distances);
        for element in 0..6 {
            assert_eq!(one.take(element), whole.take(element), "{element}");
        }
    }

    #[test]
    fn many_elements_take_little_memory() {
        let mut elements = ElementHistograms::new();
        let numbers: Vec<u32> = (1..=100_000).collect();
        for raw in [u64::MAX, 1, 20_000, 1 << 30] {
            elements.add_column(&numbers, &vec![Distance::new(raw); 100_000]);
        }
        assert!(elements.memory() < Bytes(16 << 20), "{}", elements.memory());
    }
}
