//! [`BurstSampler`]: the miss-ratio curve of a run of which only bursts were recorded, with a bound
//! on its error.
//!
//! # What it is
//! A run is cut into strata, and of each a burst of consecutive accesses is recorded, at a place
//! chosen by chance (stratified sampling of time; Wunderlich, Wenisch, Falsafi & Hoe, *SMARTS*,
//! ISCA 2003, for simulated processors). Of what is between bursts nothing is known: no sample of
//! the items can be taken there. Every burst goes through an exact engine that begins empty. Its
//! first accesses fill the cache; the others are measured.
//!
//! An access whose item was not accessed in the burst before is at *at least* the distance of all
//! distinct items of the burst so far: it misses in caches up to that size. If its item was seen
//! before the burst, it is at most at the distance of all distinct items of the run so far, and
//! hits in larger caches. Of caches in between nothing is known, so half of such accesses are taken
//! to miss in them, and the other half is the error. Of items that were not seen before, as many
//! accesses are taken to be the first as there are items, and the others as just said.
//!
//! How many distinct items there were that no burst has seen is estimated from how many were seen
//! in one and in two of them (Chao, *Estimating the population size for capture-recapture data with
//! unequal catchability*, Biometrics 43, 1987). That is too small where items have their times; so
//! up to the sum of all accesses that bursts say there were to new items, accesses may miss all the
//! same, as far as the error goes.
//!
//! The beginning of a run, before the first burst, is measured completely.
//!
//! # The bound
//! For each cache size a half-width that holds the exact miss ratio with 95 % confidence: Student's
//! t times the standard deviation between bursts, and a tenth more; where one burst is farther from
//! the others than chance makes it, a few like it may be missing, and count too; the half of what
//! is unknown; and one stratum, in which something may have happened that no burst has met. What
//! lasts longer than two strata is always met.
//!
//! # Cost
//! The exact engine for the recorded accesses, and its memory for the items of one burst. Some 10
//! to 20 bytes for each item that was seen.

use reuselens_units::{Bytes, Distance};

use super::bins::{BINS, bin, sum_from_above};
use super::bursts::{BurstCounts, Certainty, Unsure};
use super::estimate::{BoundedPoint, CurveWithBound, exact_top, flat_from, points};
use super::moments::Moments;
use super::seen_items::SeenItems;
use crate::{CountingTree, Engine};

/// How a burst of a recording is to be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedBurst {
    /// Its first accesses, which fill the cache and are not measured.
    pub filling: u64,
    /// The accesses of the run for which each of the others stands.
    pub share: u64,
}

/// A measured access of a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredAccess {
    /// Its place in the column.
    pub place: u32,
    /// Its distance, or the least that it can be.
    pub distance: Distance,
    /// Which of them.
    pub certainty: Certainty,
}

/// The accesses of a run for which a measured one stands: half of those of which only the least
/// distance is known have that, and half the largest that is likely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StandsFor {
    /// Those at its distance, or its least one.
    pub nearest: u64,
    /// Those at the distance that [`BurstSampler::end_burst`] will return.
    pub farthest: u64,
    /// First accesses to their items.
    pub cold: u64,
}

/// The accesses of bursts in, an estimate of the run's miss-ratio curve out.
///
/// ```
/// use reuselens_distance::{BurstSampler, Certainty, RecordedBurst};
///
/// let mut sampler = BurstSampler::new();
/// sampler.process(&[10, 20, 20, 10]);
/// sampler.begin_burst(RecordedBurst { filling: 1, share: 32 });
/// sampler.process(&[20, 30, 20]);
/// // The first of the burst is not measured; of the second it is known that it is not nearer than
/// // the one item before it.
/// let certainty: Vec<_> = sampler.measured().iter().map(|access| access.certainty).collect();
/// assert_eq!(certainty, [Certainty::AtLeast, Certainty::Exact]);
/// ```
pub struct BurstSampler {
    tree: CountingTree,
    /// The burst that is being measured; `None` in the beginning.
    burst: Option<OpenBurst>,
    /// Accesses of the beginning, by bin of their distance, then the cold ones.
    exact: Vec<f64>,
    counts: BurstCounts,
    moments: Moments,
    /// Sum over the bursts of the share of accesses of which nothing is known, weighed.
    unknown: Vec<f64>,
    /// The accesses that the heaviest burst stands for.
    heaviest: f64,
    recorded: u64,
    measured_accesses: u64,
    seen: SeenItems,
    /// Whether there was a burst.
    has_bursts: bool,
    distances: Vec<Distance>,
    measured: Vec<MeasuredAccess>,
}

/// A burst, and how far it has come.
struct OpenBurst {
    burst: RecordedBurst,
    passed: u64,
    /// Distinct items so far.
    seen: u64,
    /// Those of them that had not been seen before, among the measured accesses.
    new: u64,
    /// [`SeenItems::first`] when it began.
    first: f64,
}

/// What bursts say of a run.
#[derive(Clone, Debug)]
pub struct BurstEstimate {
    /// All accesses, as far as that is known: those of the beginning, and those for which the
    /// measured ones stand.
    pub accesses: u64,
    /// The accesses that were seen, measured or not.
    pub recorded: u64,
    /// Whether all were seen.
    pub exact: bool,
    /// The confidence of each point's bound.
    pub confidence: f64,
    /// As in [`Estimate::points`](crate::Estimate::points).
    pub points: Vec<BoundedPoint>,
}

impl BurstEstimate {
    /// The share of the accesses that were seen.
    pub fn rate(&self) -> f64 {
        (self.recorded as f64 / self.accesses.max(1) as f64).min(1.0)
    }
}

impl Default for BurstSampler {
    fn default() -> Self {
        Self::new()
    }
}

impl BurstSampler {
    /// A sampler at the beginning of a run.
    pub fn new() -> Self {
        BurstSampler {
            tree: CountingTree::new(),
            burst: None,
            exact: vec![0.0; BINS + 1],
            counts: BurstCounts::new(),
            moments: Moments::new(0),
            unknown: vec![0.0; BINS + 1],
            heaviest: 0.0,
            recorded: 0,
            measured_accesses: 0,
            seen: SeenItems::default(),
            has_bursts: false,
            distances: Vec::new(),
            measured: Vec::new(),
        }
    }

    /// What is processed next is the begin of a burst: accesses were left out before it.
    pub fn begin_burst(&mut self, burst: RecordedBurst) {
        self.end_burst();
        self.tree = CountingTree::new();
        if !std::mem::replace(&mut self.has_bursts, true) {
            self.seen.end_beginning();
        }
        self.burst = Some(OpenBurst {
            burst,
            passed: 0,
            seen: 0,
            new: 0,
            first: self.seen.first(),
        });
    }

    /// Processes the next items. [`beginning`](Self::beginning) and [`measured`](Self::measured)
    /// say what was found.
    ///
    /// # Panics
    /// With more than 2³² items at once, as places in a column are 32 bits.
    pub fn process(&mut self, items: &[u64]) {
        self.distances.resize(items.len(), Distance::COLD);
        self.measured.clear();
        self.tree.process(items, &mut self.distances);
        self.recorded += items.len() as u64;
        let Some(open) = &mut self.burst else {
            for (item, distance) in items.iter().zip(&self.distances) {
                self.exact[distance.items().map_or(BINS, bin)] += 1.0;
                if distance.is_cold() {
                    self.seen.meet(*item);
                }
            }
            return;
        };
        let places = 0..u32::try_from(items.len()).expect("a column has fewer than 2^32 items");
        for ((place, item), &distance) in places.zip(items).zip(&self.distances) {
            let is_measured = open.passed >= open.burst.filling;
            open.passed += 1;
            let (distance, certainty) = if !distance.is_cold() {
                (distance, Certainty::Exact)
            } else {
                open.seen += 1;
                let is_new = self.seen.meet(*item);
                open.new += u64::from(is_new && is_measured);
                let certainty = match is_new {
                    true => Certainty::AtLeast,
                    false => Certainty::Between,
                };
                (Distance::new(open.seen - 1), certainty)
            };
            if is_measured {
                self.counts.add(distance, certainty);
                self.measured.push(MeasuredAccess {
                    place,
                    distance,
                    certainty,
                });
            }
        }
    }

    /// The distances of the items of the last call, in the beginning of a run; empty in bursts.
    pub fn beginning(&self) -> &[Distance] {
        match self.burst {
            None => &self.distances,
            Some(_) => &[],
        }
    }

    /// Those of the last call that were measured in a burst; empty in the beginning.
    pub fn measured(&self) -> &[MeasuredAccess] {
        &self.measured
    }

    /// The accesses for which a measured one of this certainty stands now.
    pub fn stands_for(&self, certainty: Certainty) -> StandsFor {
        let (share, first) = match &self.burst {
            Some(open) => (open.burst.share, open.first),
            None => (1, 0.0),
        };
        let cold = match certainty {
            Certainty::AtLeast => (share as f64 * first).round() as u64,
            Certainty::Exact | Certainty::Between => 0,
        };
        let farthest = match certainty {
            Certainty::Exact => 0,
            Certainty::Between | Certainty::AtLeast => (share - cold) / 2,
        };
        StandsFor {
            nearest: share - cold - farthest,
            farthest,
            cold,
        }
    }

    /// The accesses that were processed.
    pub fn recorded(&self) -> u64 {
        self.recorded
    }

    /// The most memory held until `accesses` more are processed: see [`Engine::memory_ahead`].
    pub fn memory_ahead(&self, accesses: u64) -> Bytes {
        let curves = (BINS + 1) * size_of::<f64>() * 10;
        let columns = self.distances.capacity() * size_of::<Distance>()
            + self.measured.capacity() * size_of::<MeasuredAccess>();
        self.tree.memory_ahead(accesses)
            + self.seen.memory_ahead(accesses)
            + Bytes((curves + columns) as u64)
    }

    /// The burst is over. The largest distance that was likely in it: that of all items so far.
    pub fn end_burst(&mut self) -> Distance {
        let Some(open) = self.burst.take() else {
            return Distance::new(self.seen.likely());
        };
        let measured = open.passed.saturating_sub(open.burst.filling);
        self.seen.end_burst(open.new, open.burst.share);
        let [likely, most] = [self.seen.likely(), self.seen.most()].map(Distance::new);
        if measured == 0 {
            return likely;
        }
        let weight = (measured * open.burst.share) as f64;
        let unsure = Unsure {
            likely,
            most,
            first: open.first,
        };
        let ratios = self.counts.ratios(measured as f64, unsure);
        self.counts.clear();
        self.moments.add(&ratios.misses, weight);
        for (sum, share) in self.unknown.iter_mut().zip(&ratios.unknown) {
            *sum += weight * share;
        }
        self.heaviest = self.heaviest.max(weight);
        self.measured_accesses += measured;
        likely
    }

    /// The estimate.
    pub fn finish(mut self) -> BurstEstimate {
        self.end_burst();
        let beginning = self.exact.iter().sum::<f64>() as u64;
        sum_from_above(&mut self.exact);
        let rest = self.moments.weight();
        let mut top = exact_top(&self.exact);
        // Where there were too few bursts to know how much they vary, nothing is known.
        let (mut mean, mut half) = (vec![0.5; BINS + 1], vec![0.5; BINS + 1]);
        if let Some(curve) = self.moments.curve(None) {
            self.unknown.iter_mut().for_each(|share| *share /= rest);
            let measured = self.measured_accesses as f64;
            let mut curve = CurveWithBound::of_bursts(0, curve, &self.unknown, measured, 1.0);
            curve.widen(|_| self.heaviest / rest);
            top = top.max(flat_from(&curve.mean));
            (mean, half) = (curve.mean, curve.half);
        }
        let rest = rest as u64;
        BurstEstimate {
            accesses: beginning + rest,
            recorded: self.recorded,
            exact: !self.has_bursts,
            confidence: 0.95,
            points: points((&self.exact, beginning), (&mean, &half), rest, top),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_bursts_is_exact() {
        let mut sampler = BurstSampler::new();
        sampler.process(&[1, 2, 1]);
        assert_eq!(sampler.beginning().len(), 3);
        let estimate = sampler.finish();
        assert!(estimate.exact);
        let points: Vec<_> = estimate
            .points
            .iter()
            .map(|point| point.half_width)
            .collect();
        assert_eq!(points, [0.0, 0.0]);
        assert!((estimate.points[1].miss_ratio - 2.0 / 3.0).abs() < 1e-12);
    }
}
