//! Samples of time: short bursts of accesses, at chance places, for the distances that a sample of items
//! cannot see.

use reuselens_units::{Bytes, Distance};

use super::bins::{BINS, bin, sum_from_above};
use super::filter::{Filter, Hash};
use super::moments::Moments;
use super::samples::{SampleSource, Samples, Spread};
use crate::generate::Random;
use crate::{CountingTree, Engine};

/// Accesses of the shortest bursts, and sampled accesses of all.
pub(super) const SHORTEST: u64 = 1 << 13;
/// The part of a burst that is not measured but fills the cache: one in so many.
const FILLING: u64 = 4;
/// The bursts of the next level are so many times longer, as a power of two, and of so many times fewer items.
pub(super) const STEP: u32 = 6;

/// Sampled accesses of a burst that are measured, on average.
const MEASURED: u64 = SHORTEST - SHORTEST / FILLING;

/// All bursts of one length. Time is cut into strata, and one burst lies somewhere in each.
///
/// A burst of the level `k` is 8ᵏ times longer than the shortest, and an 8ᵏ-th of the items is looked at (other
/// items in every burst), so all cost the same. Its first half fills the cache, its second is measured.
/// For an access in the second half whose item was not accessed in the burst before, the distance is at
/// least the number of distinct items of the burst so far: for smaller caches it is a miss, for larger
/// ones nothing is known, and the share of these accesses is part of the error.
pub(super) struct Bursts {
    level: usize,
    /// log2 of the inverse rate.
    rarity: u32,
    length: u64,
    /// Accesses per stratum, once the trace is long.
    stratum: u64,
    random: Random,
    /// Where the stratum begins and ends, and where its burst begins.
    now: [u64; 3],
    burst: Burst,
    /// The last whole burst, whose weight is not known before the next stratum begins.
    pending: Option<Outcome>,
    /// Where the stratum of that burst began.
    since: u64,
    moments: Moments,
    /// Sum over the strata of the share of accesses of which nothing is known, weighed.
    unknown: Vec<f64>,
    weight: f64,
}

/// A burst that is being measured.
struct Burst {
    tree: CountingTree,
    filter: Filter,
    /// Distinct sampled items so far.
    seen: u64,
    /// Measured accesses by bin: those with a distance, and those with a least distance.
    finite: Vec<f64>,
    censored: Vec<f64>,
    items: Vec<u64>,
    distances: Vec<Distance>,
    spread: Spread,
}

/// What a burst says: misses for each cache size, and of how many accesses nothing is known.
struct Outcome {
    misses: Vec<f64>,
    unknown: Vec<f64>,
}

impl Bursts {
    /// Bursts that begin at access `at`; in the long run one in each `stratum` accesses.
    pub(super) fn new(level: usize, stratum: u64, seed: u64, at: u64) -> Self {
        let rarity = STEP * level as u32;
        let mut bursts = Bursts {
            level,
            rarity,
            length: SHORTEST << rarity,
            stratum,
            random: Random::new(seed ^ (level as u64 + 1).wrapping_mul(0xa076_1d64_78bd_642f)),
            now: [at; 3],
            burst: Burst::new(),
            pending: None,
            since: at,
            moments: Moments::new(anchor(level)),
            unknown: vec![0.0; BINS + 1],
            weight: 0.0,
        };
        bursts.begin_stratum();
        bursts
    }

    /// The next stratum: an eighth of all time so far, so that short traces have bursts too, up to the
    /// length that a rate gives.
    fn begin_stratum(&mut self) {
        let begin = self.now[1];
        let length = (begin / 8).min(self.stratum).max(self.length);
        let place = self.random.below(length - self.length + 1);
        self.now = [begin, begin + length, begin + place];
        let threshold = u64::MAX >> self.rarity;
        self.burst.restart(Hash::new(self.random.bits()), threshold);
    }

    pub(super) fn memory(&self) -> Bytes {
        let curves = size_of::<f64>() * (BINS + 1) * 10;
        self.burst.tree.memory() + Bytes(curves as u64)
    }

    /// Measures what of these items lies in bursts. The first is access number `at`, at `place` in the
    /// caller's column.
    pub(super) fn process(&mut self, items: &[u64], at: u64, place: usize, samples: &mut Samples) {
        let end = at + items.len() as u64;
        while self.now[2] < end {
            let (first, last) = (self.now[2], self.now[2] + self.length);
            let (from, to) = (first.max(at), last.min(end));
            if from < to {
                let piece = &items[(from - at) as usize..(to - at) as usize];
                let measured = (first + self.length / FILLING).saturating_sub(from);
                let place = place + (from - at) as usize;
                let begin = samples.places.len();
                self.burst
                    .process(piece, place, measured, self.rarity, samples);
                let weight = self.now[1] - self.now[0];
                samples.end_part(SampleSource::Bursts(self.level), weight, begin);
            }
            if last <= end && from < to {
                self.end_burst();
            }
            if self.now[1] > end {
                break;
            }
            self.begin_stratum();
        }
    }

    fn end_burst(&mut self) {
        let begin = self.now[0];
        self.settle(begin);
        let measured = MEASURED as f64;
        self.pending = Some(self.burst.outcome(measured));
        self.since = begin;
    }

    /// Counts the last burst for all of time from its stratum's begin to `until`.
    fn settle(&mut self, until: u64) {
        let Some(outcome) = self.pending.take() else {
            return;
        };
        let weight = (until - self.since) as f64;
        self.moments.add(&outcome.misses, weight);
        self.weight += weight;
        for (sum, share) in self.unknown.iter_mut().zip(&outcome.unknown) {
            *sum += weight * share;
        }
    }

    /// The whole: moments of the miss ratio (which takes half of what is unknown for misses), the unknown
    /// share for each size, and the number of accesses that were measured. `end` is the number of accesses
    /// of the trace.
    pub(super) fn finish(mut self, end: u64) -> (Moments, Vec<f64>, f64) {
        self.settle(end);
        for share in &mut self.unknown {
            *share /= self.weight.max(1.0);
        }
        let measured = self.moments.replicates() * MEASURED as f64;
        (self.moments, self.unknown, measured)
    }
}

/// The bin at which a level is corrected by the one before: a cache that even the bursts of that one fill.
pub(super) fn anchor(level: usize) -> usize {
    if level == 0 {
        return 0;
    }
    bin((SHORTEST << (STEP * (level as u32 - 1))) / 8 / level as u64)
}

impl Burst {
    fn new() -> Self {
        Burst {
            tree: CountingTree::new(),
            filter: Filter::new(Hash::new(0), 0),
            seen: 0,
            finite: vec![0.0; BINS + 1],
            censored: vec![0.0; BINS + 1],
            items: Vec::new(),
            distances: Vec::new(),
            spread: Spread::default(),
        }
    }

    fn restart(&mut self, hash: Hash, threshold: u64) {
        self.tree = CountingTree::new();
        self.filter = Filter::new(hash, threshold);
        self.seen = 0;
        self.finite.fill(0.0);
        self.censored.fill(0.0);
    }

    /// Takes items of the burst; the first `unmeasured` of them only fill the cache.
    fn process(
        &mut self,
        items: &[u64],
        place: usize,
        unmeasured: u64,
        rarity: u32,
        samples: &mut Samples,
    ) {
        self.filter.find(items);
        let found = self.filter.found();
        self.items.clear();
        self.items
            .extend(found.iter().map(|at| items[*at as usize]));
        self.distances.resize(found.len(), Distance::COLD);
        self.tree.process(&self.items, &mut self.distances);
        let rate = 1.0 / (1_u64 << rarity) as f64;
        for (&at, distance) in self.filter.found().iter().zip(&self.distances) {
            let measured = u64::from(at) >= unmeasured;
            match distance.items() {
                Some(sampled) if measured => {
                    let scaled = match rarity {
                        0 => Distance::new(sampled),
                        _ => self.spread.scale(sampled, rate),
                    };
                    self.finite[bin(scaled.raw())] += 1.0;
                    samples.push(place + at as usize, scaled);
                }
                Some(_) => {}
                None => {
                    if measured {
                        self.censored[bin(self.seen << rarity)] += 1.0;
                    }
                    self.seen += 1;
                }
            }
        }
    }

    fn outcome(&self, measured: f64) -> Outcome {
        let mut misses = self.finite.clone();
        let mut below = 0.0;
        let mut unknown = vec![0.0; BINS + 1];
        for (bin, censored) in self.censored.iter().enumerate() {
            misses[bin] += censored;
            unknown[bin] = below / measured;
            below += censored;
        }
        sum_from_above(&mut misses);
        for (misses, unknown) in misses.iter_mut().zip(&unknown) {
            *misses = *misses / measured + unknown / 2.0;
        }
        Outcome { misses, unknown }
    }
}
