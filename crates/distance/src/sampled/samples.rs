//! [`Samples`]: the accesses of the last column that a sampler measured, for callers that count
//! them by something else than their distance.

use std::ops::Range;

use reuselens_units::Distance;

/// Which sample a measured access belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleSource {
    /// The accesses to sampled items.
    Items,
    /// The bursts of this level, 0 for the shortest.
    Bursts(usize),
}

/// Accesses of one sample, each of which represents `weight` accesses.
#[derive(Clone, Debug, PartialEq)]
pub struct SamplePart {
    /// The sample.
    pub source: SampleSource,
    /// How many accesses each represents, up to a factor that is the same in all of one source.
    pub weight: u64,
    /// Which of [`Samples::places`] and [`Samples::distances`] they are.
    pub range: Range<usize>,
}

/// The measured accesses of the column that was processed last: first a number of accesses without
/// gaps and exact, then samples. To count them by something else than their distance (by who made
/// them, say).
#[derive(Clone, Debug, Default)]
pub struct Samples {
    pub(super) exact: Vec<Distance>,
    pub(super) places: Vec<u32>,
    pub(super) distances: Vec<Distance>,
    pub(super) parts: Vec<SamplePart>,
}

impl Samples {
    /// The exact distances of the first accesses of the column.
    pub fn exact(&self) -> &[Distance] {
        &self.exact
    }

    /// The index in the column of each sampled access.
    pub fn places(&self) -> &[u32] {
        &self.places
    }

    /// The estimated distance of each sampled access. In bursts, accesses whose distance is beyond
    /// what the burst has seen are left out.
    pub fn distances(&self) -> &[Distance] {
        &self.distances
    }

    /// The samples one by one.
    pub fn parts(&self) -> &[SamplePart] {
        &self.parts
    }

    pub(super) fn clear(&mut self) {
        self.exact.clear();
        self.places.clear();
        self.distances.clear();
        self.parts.clear();
    }

    #[inline]
    pub(super) fn push(&mut self, place: usize, distance: Distance) {
        self.places.push(place as u32);
        self.distances.push(distance);
    }

    /// Ends a part that began when there were `begin` sampled accesses.
    pub(super) fn end_part(&mut self, source: SampleSource, weight: u64, begin: usize) {
        let range = begin..self.places.len();
        if !range.is_empty() {
            self.parts.push(SamplePart {
                source,
                weight,
                range,
            });
        }
    }
}

/// Spreads what a distance among sampled items can mean evenly over the distances among all items:
/// a distance of `s` sampled items can be one from `s / rate` to `(s + 1) / rate`, on average.
#[derive(Clone, Debug, Default)]
pub(super) struct Spread(u64);

impl Spread {
    #[inline]
    pub(super) fn scale(&mut self, sampled: u64, rate: f64) -> Distance {
        // Multiples of the golden ratio: as even as can be, without any choice.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let part = (self.0 >> 11) as f64 / (1_u64 << 53) as f64;
        Distance::new(((sampled as f64 + part) / rate) as u64)
    }
}
