//! Sampling: nearly all of a miss-ratio curve for a hundredth of the work, with a bound on its
//! error.
//!
//! # What it is
//! - *A sample of the items* (SHARDS: Waldspurger, Park, Garthwaite & Ahmad, FAST 2015): all
//!   accesses to those items whose hash is below a threshold, through the exact engine; a distance
//!   among them, divided by the rate, estimates the distance among all. At a fixed rate, or with a
//!   fixed memory: then the threshold is halved whenever the items would take more.
//! - *Bursts of time*, because a sample of the items at rate R cannot see distances below about
//!   1/R: at places chosen by chance, a short piece of the trace goes through an exact engine
//!   that begins empty, and a longer one with a 64th of its items. What a burst cannot know
//!   (whether the item was accessed before it began) is counted, and is part of the error.
//! - *Each corrects the next.* Where one sample sees what another sees better, the error of the one
//!   is known, and what goes along with it at other sizes is taken away (a control variate, with
//!   the coefficient of the least variance). At the smallest sizes that is SHARDS's own correction:
//!   what hot items, sampled or not, do to the number of sampled accesses does not reach the curve.
//! - *The beginning is exact*, so that short traces are.
//!
//! # The bound
//! For each cache size a half-width that holds the exact miss ratio with 95 % confidence. It is the
//! sum of
//! - chance: Student's t times the standard deviation and a tenth more, from the differences
//!   between bursts, or between 64 groups of the sampled items. Where one of them is farther from
//!   the others than chance makes it, a few others like it may be missing, and count too;
//! - what bursts do not see because it is between them ([`slices`]). The sample of the items has
//!   all times, in slices. How many more or fewer misses it has in all slices than in those with
//!   bursts, and the error of that by groups of items, is what the bursts may be off. Hot items are
//!   in all slices, so whether the sample has them does not count. The share of accesses that is
//!   missing from slices without bursts, because none of their items is sampled, is added; or, if
//!   that is more, the share of the time in long gaps between sampled accesses that no burst met
//!   ([`gaps`]): of all that happens there, nothing is known. None of this is more than chance and
//!   3 / n, the share of the time that n bursts may all have missed (the rule of three);
//! - what the sample of the items cannot know of items that it does not hold: no more misses than
//!   the share of accesses that is missing from the sample, and no more than 3 / R items can have:
//!   with 95 % confidence, a sample at rate R holds some of any larger group (the rule of three);
//! - what bursts cannot know: half of its share, as the estimate takes the middle;
//! - the scale: a distance d among all is d·R ± √(d·R·(1 − R)) among the sampled. What the curve
//!   falls within two such deviations, where that is the same error for all accesses (one sample of
//!   the items); how much steeper it is within three than beside them, where it is another in each
//!   burst.
//!
//! A curve that corrects another passes all of its half-width on, so that what bursts did not see
//! is not in the sample of the items either.
//!
//! `tests/sampled.rs` holds it to that: 200 seeds, at every size, on seven kinds of streams;
//! `tests/bound.rs` on 30 kinds. What no sample can measure is not in it: what fewer than 3/R items
//! do between the bursts, for less than 16/R accesses at a time, as far as it is no more than
//! chance makes the number of sampled accesses; and differences between distances below 1/R.
//!
//! # Cost
//! A hash per access, vectorised; the exact engine for 3 of 100 accesses at a rate of 1 %. Memory:
//! that of the exact engine for the sampled items, and about 3 MiB.

mod bins;
mod burst_sampler;
mod bursts;
mod estimate;
mod filter;
mod gaps;
mod item_sample;
mod moments;
mod regression;
mod samples;
mod scale;
mod seen_items;
mod slices;
mod spatial;
mod unseen;

pub use burst_sampler::{AccessesFor, BurstEstimate, BurstSampler, MeasuredAccess};
pub use bursts::Precision;
pub use estimate::{BoundedPoint, Estimate};
pub use item_sample::ItemSample;
pub use samples::{SamplePart, SampleSource, Samples};

use reuselens_units::{Bytes, Distance, Items};

use crate::{CountingTree, Engine, Tally};
use bins::{BINS, bin, sum_from_above};
use bursts::{Bursts, SHORTEST, STEP};
use spatial::Spatial;

/// How to sample. There is nothing that has to be tuned: the default is good for any stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleOptions {
    /// The share of the items to look at, and of all accesses to look at in the bursts of each
    /// length: above 0, up to 1. With 1, everything is exact.
    pub rate: f64,
    /// The number that chance comes from: equal seeds, equal results.
    pub seed: u64,
    /// So many accesses at the beginning are measured exactly, so that short streams are exact.
    pub exact: u64,
    /// Whether those are counted by their distances here. A caller that counts them anyway passes
    /// its counts to [`finish_with`](Sampler::finish_with).
    pub count_exact: bool,
    /// The most memory for the sampled items; the rate is halved whenever they would take more.
    pub memory: Option<Bytes>,
}

impl Default for SampleOptions {
    fn default() -> Self {
        SampleOptions {
            rate: 0.01,
            seed: 1,
            exact: 1 << 18,
            count_exact: true,
            memory: None,
        }
    }
}

/// Accesses in bursts of one length are at most this share of all: with more, the sample of the
/// items is as good.
const MOST_IN_BURSTS: f64 = 0.01;

/// A stream of items in, an estimate of its miss-ratio curve out: exact first, then sampled.
///
/// ```
/// use reuselens_distance::{SampleOptions, Sampler};
///
/// let mut sampler = Sampler::new(SampleOptions::default());
/// sampler.process(&[10, 20, 20, 10]);
/// let estimate = sampler.finish();
/// assert_eq!((estimate.points[1].items, estimate.points[1].miss_ratio), (2, 0.5));
/// assert_eq!(estimate.largest_half_width(), 0.0); // short streams are measured completely
/// ```
pub struct Sampler {
    options: SampleOptions,
    accesses: u64,
    exact_accesses: u64,
    stage: SamplerStage,
    /// Accesses by bin of their exact distance, then the cold ones.
    exact: Vec<u64>,
    samples: Samples,
}

enum SamplerStage {
    Exact(CountingTree),
    Sampling {
        items: Box<Spatial>,
        bursts: Vec<Bursts>,
    },
}

impl Sampler {
    /// A sampler that has seen nothing. Rates outside of (0, 1] are taken for the nearest that is
    /// possible.
    pub fn new(options: SampleOptions) -> Self {
        let rate = if options.rate > 0.0 {
            options.rate.min(1.0)
        } else {
            f64::EPSILON
        };
        Sampler {
            options: SampleOptions { rate, ..options },
            accesses: 0,
            exact_accesses: 0,
            stage: SamplerStage::Exact(CountingTree::new()),
            exact: vec![0; BINS + 1],
            samples: Samples::default(),
        }
    }

    /// Processes the next items of the stream; [`samples`](Self::samples) has what was measured
    /// of them.
    ///
    /// # Panics
    /// With more than 2³¹ items at once, as places in a column are 32 bits.
    pub fn process(&mut self, items: &[u64]) {
        assert!(items.len() <= 1 << 31, "more than 2^31 items in one column");
        self.go_on(items, None);
    }

    /// The same for callers that count the exact distances without their accesses: they are added
    /// to `tally`, and [`samples`](Self::samples) has none of them. Returns how many of the first
    /// accesses they are.
    ///
    /// # Panics
    /// As [`process`](Self::process).
    pub fn tally(&mut self, items: &[u64], tally: &mut Tally) -> usize {
        assert!(items.len() <= 1 << 31, "more than 2^31 items in one column");
        self.go_on(items, Some(tally))
    }

    fn go_on(&mut self, items: &[u64], tally: Option<&mut Tally>) -> usize {
        self.samples.clear();
        let exact = self.process_exact(items, tally);
        self.process_sampled(&items[exact..], exact);
        self.give_up_memory();
        exact
    }

    /// Processes what is to be exact; gives its number.
    fn process_exact(&mut self, items: &[u64], tally: Option<&mut Tally>) -> usize {
        let SamplerStage::Exact(tree) = &mut self.stage else {
            return 0;
        };
        let left = self.options.exact.saturating_sub(self.accesses);
        let whole = self.options.rate >= 1.0 || left >= items.len() as u64;
        let number = if whole { items.len() } else { left as usize };
        let items = &items[..number];
        match tally {
            Some(tally) if !self.options.count_exact => tree.tally(items, tally),
            Some(tally) => {
                let distances = tally.column(number);
                tree.process(items, distances);
                count(&mut self.exact, distances);
            }
            None => {
                let distances = &mut self.samples.exact;
                distances.resize(number, Distance::COLD);
                tree.process(items, distances);
                if self.options.count_exact {
                    count(&mut self.exact, distances);
                }
            }
        }
        self.accesses += number as u64;
        self.exact_accesses = self.accesses;
        if !whole {
            self.begin_sampling(self.options.rate);
        }
        number
    }

    fn process_sampled(&mut self, column: &[u64], place: usize) {
        let SamplerStage::Sampling { items, bursts } = &mut self.stage else {
            return;
        };
        items.process(column, place, &mut self.samples);
        for bursts in bursts {
            bursts.process(column, self.accesses, place, &mut self.samples);
        }
        self.accesses += column.len() as u64;
    }

    /// From now on, only samples.
    fn begin_sampling(&mut self, rate: f64) {
        let SamplerStage::Exact(tree) = &mut self.stage else {
            return;
        };
        let tree = std::mem::take(tree);
        let seed = self.options.seed;
        let threshold = item_sample::threshold(rate);
        // Levels of bursts that see more of the items than the sample of items does.
        let share = self.options.rate.min(MOST_IN_BURSTS);
        let levels = (1..5)
            .take_while(|level| 0.5_f64.powi(STEP as i32 * level) > 1.5 * share)
            .count()
            + 1;
        let period = (SHORTEST as f64 / share) as u64;
        let level = |level| Bursts::new(level, period, seed, self.accesses);
        self.stage = SamplerStage::Sampling {
            bursts: (0..levels).map(level).collect(),
            items: Box::new(Spatial::new(tree, seed, threshold)),
        };
    }

    fn give_up_memory(&mut self) {
        let Some(limit) = self.options.memory else {
            return;
        };
        let held = match &self.stage {
            SamplerStage::Exact(tree) => tree.memory(),
            SamplerStage::Sampling { items, .. } => items.tree_memory(),
        };
        if held > limit {
            self.shrink(limit);
        }
    }

    /// Samples fewer items, at the half of the rate or less, until those that are kept take no more
    /// than `memory`. False if that is impossible: nothing is left to give up.
    pub fn shrink(&mut self, memory: Bytes) -> bool {
        if matches!(self.stage, SamplerStage::Exact(_)) {
            self.begin_sampling(self.options.rate.min(0.5));
        }
        match &mut self.stage {
            SamplerStage::Sampling { items, .. } => items.shrink(memory),
            SamplerStage::Exact(_) => false,
        }
    }

    /// What was seen of the items of the last call.
    pub fn samples(&self) -> &Samples {
        &self.samples
    }

    /// Accesses so far.
    pub fn accesses(&self) -> u64 {
        self.accesses
    }

    /// Accesses at the beginning that were measured exactly.
    pub fn exact_accesses(&self) -> u64 {
        self.exact_accesses
    }

    /// The share of the items that is looked at now; 1 while everything is exact.
    pub fn rate(&self) -> f64 {
        match &self.stage {
            SamplerStage::Exact(_) => 1.0,
            SamplerStage::Sampling { items, .. } => items.rate(),
        }
    }

    /// The items that are kept: while everything is exact, all distinct ones.
    pub fn kept(&self) -> Items {
        match &self.stage {
            SamplerStage::Exact(tree) => tree.distinct(),
            SamplerStage::Sampling { items, .. } => items.kept(),
        }
    }

    /// The memory held.
    pub fn memory(&self) -> Bytes {
        self.with_exact(CountingTree::memory)
    }

    /// The most memory held until `accesses` more are processed, as far as they are exact:
    /// see [`Engine::memory_ahead`].
    pub fn memory_ahead(&self, accesses: u64) -> Bytes {
        self.with_exact(|tree| tree.memory_ahead(accesses))
    }

    /// The memory held, where `exact` says what the exact engine holds.
    fn with_exact(&self, exact: impl Fn(&CountingTree) -> Bytes) -> Bytes {
        let stage = match &self.stage {
            SamplerStage::Exact(tree) => exact(tree),
            SamplerStage::Sampling { items, bursts } => bursts
                .iter()
                .fold(items.memory(), |sum, bursts| sum + bursts.memory()),
        };
        stage + Bytes((self.samples.places.capacity() * 12 + self.exact.len() * 8) as u64)
    }

    /// As [`finish`](Self::finish), if the caller has counted the accesses of the exact beginning:
    /// `exact` is how many have each distance.
    pub fn finish_with(mut self, exact: impl IntoIterator<Item = (Distance, u64)>) -> Estimate {
        for (distance, accesses) in exact {
            self.exact[distance.items().map_or(BINS, bin)] += accesses;
        }
        self.finish()
    }

    /// The estimate.
    pub fn finish(self) -> Estimate {
        let mut misses: Vec<f64> = self.exact.iter().map(|count| *count as f64).collect();
        sum_from_above(&mut misses);
        let exact = (&misses[..], self.exact_accesses);
        match self.stage {
            SamplerStage::Exact(_) => Estimate::join(exact, None, self.accesses),
            SamplerStage::Sampling { items, bursts } => {
                Estimate::join(exact, Some((&items, bursts)), self.accesses)
            }
        }
    }
}

/// Counts distances by their bins.
fn count(bins: &mut [u64], distances: &[Distance]) {
    for distance in distances {
        bins[distance.items().map_or(BINS, bin)] += 1;
    }
}
