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
//! For each cache size a half-width that holds the exact miss ratio with 95 % confidence. It is the
//! sum of
//! - chance: Student's t times the standard deviation of the mean over bursts, and a tenth more,
//!   and three accesses; where one burst is farther from the others than chance makes it, a few
//!   like it may be missing, and count too;
//! - what is not known of accesses, as said above;
//! - [`UNMET`] strata, in which something may have happened that no burst has met. What lasts
//!   longer than two strata is always met; of one stratum and a third, no burst meets any part in
//!   5 % of the cases: (2 − 4/3)³ / 6.
//!
//! With fewer than four bursts it is not known how much they vary: then nothing is known of the run
//! after its beginning.
//!
//! # Cost
//! The exact engine for the recorded accesses, and its memory for the items of one burst. Some 20
//! to 40 bytes for each item that was seen, three times as many while their table grows.

use reuselens_units::{Bytes, Distance};

use super::bins::{BINS, bin, sum_from_above};
use super::bursts::{BurstCounts, Precision, Unsure};
use super::estimate::{BoundedPoint, CurveWithBound, exact_top, flat_from, points};
use super::moments::Moments;
use super::seen_items::SeenItems;
use crate::{CountingTree, Engine};

/// An access never stands for more than this.
const MOST_STANDS_FOR: u64 = 1 << 16;
/// Strata in which something may have happened that no burst has met.
const UNMET: f64 = 4.0 / 3.0;

/// A measured access of a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredAccess {
    /// Its place in the column.
    pub place: u32,
    /// Its distance, or the least that it can be.
    pub distance: Distance,
    /// Which of them.
    pub precision: Precision,
}

/// The accesses of a run for which a measured one stands. Where only its least distance is known,
/// half of them have that, and half the largest that is likely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessesFor {
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
/// use reuselens_distance::{BurstSampler, Precision};
///
/// let mut sampler = BurstSampler::new();
/// sampler.process(&[10, 20, 20, 10]);
/// sampler.fill();
/// sampler.process(&[20]);
/// sampler.measure(32);
/// sampler.process(&[30, 20]);
/// // Of the first it is known that it is not nearer than the one item before it.
/// let precision: Vec<_> = sampler.measured().iter().map(|access| access.precision).collect();
/// assert_eq!(precision, [Precision::AtLeast, Precision::Exact]);
/// ```
pub struct BurstSampler {
    tree: CountingTree,
    stage: Stage,
    /// Accesses of the beginning, by bin of their distance, then the cold ones.
    exact: Vec<f64>,
    counts: BurstCounts,
    moments: Moments,
    /// Sum over the bursts of how far off each may be, weighed.
    off: Vec<f64>,
    /// The accesses that the heaviest burst stands for.
    heaviest: f64,
    recorded: u64,
    measured_accesses: u64,
    seen: SeenItems,
    /// What is missing of an access, where accesses are split.
    remainder: f64,
    distances: Vec<Distance>,
    measured: Vec<MeasuredAccess>,
}

/// What is processed now.
#[derive(Clone, Copy)]
enum Stage {
    /// The beginning of the run, of which nothing is left out.
    Beginning,
    /// A burst, measured or not yet.
    Burst(OpenBurst),
    /// Nothing: a burst is over.
    Between,
}

/// A burst, and how far it has come.
#[derive(Clone, Copy)]
struct OpenBurst {
    /// Whether accesses are measured now, and those for which each such stands.
    is_measured: bool,
    stands_for: u64,
    measured: u64,
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
    /// Accesses to items, about: those of the beginning, and those for which the measured ones
    /// stand.
    pub accesses: u64,
    /// Whether none was left out.
    pub exact: bool,
    /// The confidence of each point's bound.
    pub confidence: f64,
    /// As in [`Estimate::points`](crate::Estimate::points).
    pub points: Vec<BoundedPoint>,
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
            stage: Stage::Beginning,
            exact: vec![0.0; BINS + 1],
            counts: BurstCounts::new(),
            moments: Moments::new(0),
            off: vec![0.0; BINS + 1],
            heaviest: 0.0,
            recorded: 0,
            measured_accesses: 0,
            seen: SeenItems::default(),
            remainder: 0.0,
            distances: Vec::new(),
            measured: Vec::new(),
        }
    }

    /// A burst begins: accesses were left out before it. What is processed next fills the cache.
    pub fn fill(&mut self) {
        self.end_burst();
        self.tree = CountingTree::new();
        self.stage = Stage::Burst(OpenBurst {
            is_measured: false,
            stands_for: 0,
            measured: 0,
            seen: 0,
            new: 0,
            first: self.seen.first(),
        });
    }

    /// From now on, accesses of the burst are not measured.
    pub fn pause(&mut self) {
        if let Stage::Burst(burst) = &mut self.stage {
            burst.is_measured = false;
        }
    }

    /// From now on, accesses of the burst are measured, and each stands for so many, up to 2¹⁶.
    /// If there is none, one begins.
    pub fn measure(&mut self, stands_for: u64) {
        if !matches!(self.stage, Stage::Burst(_)) {
            self.fill();
        }
        if let Stage::Burst(burst) = &mut self.stage {
            burst.is_measured = true;
            burst.stands_for = stands_for.clamp(1, MOST_STANDS_FOR);
        }
    }

    /// Processes the next items. [`beginning`](Self::beginning) and [`measured`](Self::measured)
    /// say what was found. Between bursts, one is taken to fill the cache.
    ///
    /// # Panics
    /// With more than 2³² items at once, as places in a column are 32 bits.
    pub fn process(&mut self, items: &[u64]) {
        if matches!(self.stage, Stage::Between) && !items.is_empty() {
            self.fill();
        }
        self.distances.resize(items.len(), Distance::COLD);
        self.measured.clear();
        // Those that fill the cache go through the engine too: they are what the others reuse.
        self.tree.process(items, &mut self.distances);
        self.recorded += items.len() as u64;
        match &mut self.stage {
            Stage::Between => {}
            Stage::Beginning => {
                for (item, distance) in items.iter().zip(&self.distances) {
                    self.exact[distance.items().map_or(BINS, bin)] += 1.0;
                    if distance.is_cold() {
                        self.seen.meet(*item);
                    }
                }
            }
            Stage::Burst(burst) => {
                let places = u32::try_from(items.len()).expect("fewer than 2^32 items");
                for ((place, item), &distance) in (0..places).zip(items).zip(&self.distances) {
                    let (distance, precision) = burst.precise(distance, *item, &mut self.seen);
                    if burst.is_measured {
                        self.counts.add(distance, precision);
                        self.measured.push(MeasuredAccess {
                            place,
                            distance,
                            precision,
                        });
                    }
                }
                burst.measured += self.measured.len() as u64;
            }
        }
    }

    /// The distances of the items of the last call, in the beginning of a run; empty in bursts.
    pub fn beginning(&self) -> &[Distance] {
        match self.stage {
            Stage::Beginning => &self.distances,
            Stage::Burst(_) | Stage::Between => &[],
        }
    }

    /// Those of the last call that were measured in a burst; empty in the beginning.
    pub fn measured(&self) -> &[MeasuredAccess] {
        &self.measured
    }

    /// The accesses for which a measured one of this precision stands now. Parts of an access are
    /// kept for the next call.
    pub fn accesses_for(&mut self, precision: Precision) -> AccessesFor {
        let Stage::Burst(burst) = self.stage else {
            return AccessesFor {
                nearest: 1,
                farthest: 0,
                cold: 0,
            };
        };
        let all = burst.stands_for;
        let cold = match precision {
            // The share of first accesses is far below one in `all`, so rounding each would lose
            // them: what is left of one is added to the next.
            Precision::AtLeast => {
                let cold = all as f64 * burst.first + self.remainder;
                self.remainder = cold.fract();
                (cold as u64).min(all)
            }
            Precision::Exact | Precision::Between => 0,
        };
        let farthest = match precision {
            Precision::Exact => 0,
            Precision::Between | Precision::AtLeast => (all - cold) / 2,
        };
        AccessesFor {
            nearest: all - cold - farthest,
            farthest,
            cold,
        }
    }

    /// The items that were processed.
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

    /// The burst is over, or the beginning. The largest distance that was likely in it: that of all
    /// items so far.
    pub fn end_burst(&mut self) -> Distance {
        let stage = std::mem::replace(&mut self.stage, Stage::Between);
        if matches!(stage, Stage::Beginning) {
            self.seen.end_beginning();
        }
        if let Stage::Burst(burst) = stage
            && burst.measured > 0
        {
            self.count_burst(burst);
        }
        Distance::new(self.seen.likely())
    }

    fn count_burst(&mut self, burst: OpenBurst) {
        self.seen.end_burst(burst.new, burst.stands_for);
        let weight = burst.measured as f64 * burst.stands_for as f64;
        let unsure = Unsure {
            likely: Distance::new(self.seen.likely()),
            most: Distance::new(self.seen.most()),
            first: burst.first,
        };
        let ratios = self.counts.ratios(burst.measured as f64, unsure);
        self.counts.clear();
        self.moments.add(&ratios.misses, weight);
        for (sum, off) in self.off.iter_mut().zip(&ratios.off) {
            *sum += weight * off;
        }
        self.heaviest = self.heaviest.max(weight);
        self.measured_accesses += burst.measured;
    }

    /// The estimate, of a run of which so many accesses were left out.
    pub fn finish(mut self, left_out: u64) -> BurstEstimate {
        self.end_burst();
        let beginning = self.exact.iter().sum::<f64>() as u64;
        sum_from_above(&mut self.exact);
        let bursts = self.moments.weight();
        let mut top = exact_top(&self.exact);
        let (mean, half) = match self.moments.curve(None) {
            None => self.unknown(beginning),
            Some(curve) => {
                self.off.iter_mut().for_each(|off| *off /= bursts);
                let measured = self.measured_accesses as f64;
                let mut curve = CurveWithBound::of_bursts(0, curve, &self.off, measured, 1.0);
                curve.widen(|_| UNMET * self.heaviest / bursts);
                // Up to there accesses may miss that are taken to hit.
                let most = bin(self.seen.most()) + 1;
                top = top.max(flat_from(&curve.mean)).max(most);
                (curve.mean, curve.half)
            }
        };
        let rest = if bursts > 0.0 {
            bursts as u64
        } else {
            left_out
        };
        BurstEstimate {
            accesses: beginning + rest,
            exact: left_out == 0 && bursts == 0.0,
            confidence: 0.95,
            points: points((&self.exact, beginning), (&mean, &half), rest, top),
        }
    }

    /// What is known after the beginning where there were too few bursts to know how much they
    /// vary: nothing. The rest is taken to be like the bursts, or like the beginning.
    fn unknown(&self, beginning: u64) -> (Vec<f64>, Vec<f64>) {
        let mean = if self.moments.weight() > 0.0 {
            self.moments.means()
        } else {
            let share = |misses| misses / beginning.max(1) as f64;
            self.exact.iter().map(share).collect()
        };
        (mean, vec![1.0; BINS + 1])
    }
}

impl OpenBurst {
    /// The distance of an access to an item, or the least that it can be.
    #[inline]
    fn precise(
        &mut self,
        distance: Distance,
        item: u64,
        seen: &mut SeenItems,
    ) -> (Distance, Precision) {
        if !distance.is_cold() {
            return (distance, Precision::Exact);
        }
        let least = Distance::new(self.seen);
        self.seen += 1;
        let is_new = seen.meet(item);
        self.new += u64::from(is_new && self.is_measured);
        // In an earlier burst it had its place among all items; else it may be its first access.
        let precision = if is_new {
            Precision::AtLeast
        } else {
            Precision::Between
        };
        (least, precision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_bursts_is_exact_if_nothing_was_left_out() {
        let sampler = || {
            let mut sampler = BurstSampler::new();
            sampler.process(&[1, 2, 1]);
            sampler
        };
        assert_eq!(sampler().beginning().len(), 3);
        let estimate = sampler().finish(0);
        assert!(estimate.exact);
        let points: Vec<_> = estimate
            .points
            .iter()
            .map(|point| point.half_width)
            .collect();
        assert_eq!(points, [0.0, 0.0]);
        assert!((estimate.points[1].miss_ratio - 2.0 / 3.0).abs() < 1e-12);
        let cut = sampler().finish(1);
        assert!(!cut.exact);
        // Two of three miss, and of four two or three.
        let point = cut.points[1];
        assert!((point.miss_ratio - 2.0 / 3.0).abs() < 1e-12 && point.half_width >= 0.25);
    }

    #[test]
    fn of_few_bursts_nothing_is_known() {
        let mut sampler = BurstSampler::new();
        sampler.process(&[1, 2, 1, 2]);
        for _ in 0..3 {
            sampler.fill();
            sampler.process(&[5, 6]);
            sampler.measure(10);
            sampler.process(&[5, 6]);
        }
        let estimate = sampler.finish(90);
        assert_eq!((estimate.accesses, estimate.exact), (64, false));
        assert!(estimate.points.iter().all(|point| point.half_width > 0.9));
    }

    #[test]
    fn reuse_beyond_what_is_likely_is_within_the_bound() {
        let mut sampler = BurstSampler::new();
        // Each burst meets the same hundred items once, and one new item.
        for burst in 0..50_u64 {
            sampler.fill();
            sampler.measure(16);
            let items: Vec<u64> = (0..100).chain([1000 + burst]).collect();
            sampler.process(&items);
        }
        let estimate = sampler.finish(1 << 20);
        let far = BoundedPoint::on(&estimate.points, 600);
        // Nearly all accesses may miss there.
        assert!(far.miss_ratio + far.half_width > 0.9, "{far:?}");
    }

    #[test]
    fn parts_of_accesses_add_up() {
        let mut sampler = BurstSampler::new();
        sampler.process(&(0..100).collect::<Vec<u64>>());
        for burst in 0..40_u64 {
            sampler.fill();
            sampler.measure(64);
            // One new item, met again in the next burst.
            sampler.process(&[burst + 100, burst + 99]);
        }
        let mut cold = 0;
        for _ in 0..100 {
            let accesses = sampler.accesses_for(Precision::AtLeast);
            let all = accesses.nearest + accesses.farthest + accesses.cold;
            assert_eq!(all, 64);
            cold += accesses.cold;
        }
        let expected = 6400.0 * sampler.seen.first();
        assert!(
            (cold as f64 - expected).abs() < 0.3 * expected + 64.0,
            "{cold}, {expected}"
        );
    }
}
