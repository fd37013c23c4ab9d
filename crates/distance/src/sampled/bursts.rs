//! [`Bursts`]: samples of time, which are short bursts of accesses at random places. They measure
//! the short distances that a sample of items cannot measure.

use reuselens_units::{Bytes, Distance};

use super::bins::{BINS, bin, sum_from_above};
use super::filter::{Filter, Hash};
use super::moments::Moments;
use super::samples::{SampleSource, Samples, Spread};
use super::slices::MeasuredTime;
use crate::generate::Random;
use crate::{CountingTree, Engine};

/// Accesses of the shortest bursts, and sampled accesses of all.
pub(super) const SHORTEST: u64 = 1 << 13;
/// One in this many accesses of a burst is not measured: the first ones, which fill the cache.
const FILLING: u64 = 4;
/// log2 of how many times longer the bursts of the next level are, and how many times fewer items
/// they look at.
pub(super) const STEP: u32 = 6;

/// Sampled accesses of a burst that are measured, on average.
const MEASURED: u64 = SHORTEST - SHORTEST / FILLING;

/// All bursts of one length.
///
/// A burst of the next level is 64 times longer than one of the level before, and a 64th as many of
/// the items is looked at (other items in every burst), so all cost the same. The first quarter
/// fills the cache, the rest is measured. For an access whose item was not accessed in the burst
/// before, the distance is at least the number of distinct items of the burst so far: for smaller
/// caches it is a miss, for larger ones nothing is known, and the share of these accesses is part
/// of the error.
pub(super) struct Bursts {
    level: usize,
    /// log2 of the inverse rate.
    rarity: u32,
    length: u64,
    /// Accesses from burst to burst, once the trace is long.
    period: u64,
    random: Random,
    /// The access with which the burst begins, and how many accesses it represents.
    begin: u64,
    weight: u64,
    burst: Burst,
    moments: Moments,
    /// Sum over the bursts of [`BurstRatios::off`], weighed.
    off: Vec<f64>,
    /// When the bursts were, counted from the access with which sampling began.
    times: Vec<MeasuredTime>,
    sampling: u64,
}

/// What all bursts of one length say.
pub(super) struct BurstsResult {
    /// Of the miss ratio, which takes half of what is unknown for misses.
    pub(super) moments: Moments,
    /// How far off it may be, for each size, because of that half.
    pub(super) off: Vec<f64>,
    /// The number of accesses that were measured.
    pub(super) measured: f64,
    pub(super) times: Vec<MeasuredTime>,
}

/// A burst that is being measured.
struct Burst {
    tree: CountingTree,
    filter: Filter,
    /// Distinct sampled items so far.
    seen: u64,
    counts: BurstCounts,
    items: Vec<u64>,
    distances: Vec<Distance>,
    spread: Spread,
}

/// What is known of the distance of a measured access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// It is this.
    Exact,
    /// It is at least this, and not more than that of all items of the run so far: the item was
    /// accessed before, but not in the burst.
    Between,
    /// It is at least this: the item was not seen before.
    AtLeast,
}

/// Measured accesses of a burst, by bin of their distance or their least one, for each
/// [`Precision`].
pub(super) struct BurstCounts([Vec<f64>; 3]);

/// What is known of accesses whose distance is not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unsure {
    /// The largest distance that those of [`Precision::Between`] are likely to have.
    pub(super) likely: Distance,
    /// The largest that they can have.
    pub(super) most: Distance,
    /// The share of those of [`Precision::AtLeast`] that are likely to be the first to their items.
    pub(super) first: f64,
}

impl Unsure {
    /// Nothing.
    pub(super) const ALL: Unsure = Unsure {
        likely: Distance::COLD,
        most: Distance::COLD,
        first: 0.0,
    };
}

/// The result of a burst, for each cache size: the share of misses, and how far off that may be
/// because of accesses of which it is not known whether they miss.
pub(super) struct BurstRatios {
    pub(super) misses: Vec<f64>,
    pub(super) off: Vec<f64>,
}

impl Bursts {
    /// Bursts from access `at` on; in the long run one in each `period` accesses.
    pub(super) fn new(level: usize, period: u64, seed: u64, at: u64) -> Self {
        let rarity = STEP * level as u32;
        let mut bursts = Bursts {
            level,
            rarity,
            length: SHORTEST << rarity,
            period,
            random: Random::new(seed ^ (level as u64 + 1).wrapping_mul(0xa076_1d64_78bd_642f)),
            begin: 0,
            weight: 0,
            burst: Burst::new(),
            moments: Moments::new(anchor(level)),
            off: vec![0.0; BINS + 1],
            times: Vec::new(),
            sampling: at,
        };
        bursts.next_burst(at, 0);
        bursts
    }

    /// Chooses the next burst, after access `at`. From burst to burst it is an eighth of all time
    /// so far, so that short traces have bursts too, up to the period; the gap is anything from
    /// `least` halves of its mean to two means less that, so that no rhythm of the trace can be
    /// met.
    fn next_burst(&mut self, at: u64, least: u64) {
        let shortest = self.length + self.length / 2;
        self.weight = (at / 8).min(self.period).max(shortest);
        let gap = self.weight - self.length;
        let spread = (2 - least) * gap;
        self.begin = at + least * gap / 2 + self.random.below(spread + 1);
        let threshold = u64::MAX >> self.rarity;
        let hash = Hash::new(self.random.bits());
        self.burst.restart(hash, threshold);
    }

    pub(super) fn memory(&self) -> Bytes {
        let curves = size_of::<f64>() * (BINS + 1) * 10;
        let curves = curves + self.times.capacity() * size_of::<MeasuredTime>();
        self.burst.tree.memory() + Bytes(curves as u64)
    }

    /// Measures those of the items that are in bursts. The first is access number `at`, at `place`
    /// in the caller's column.
    pub(super) fn process(&mut self, items: &[u64], at: u64, place: usize, samples: &mut Samples) {
        let end = at + items.len() as u64;
        while self.begin < end {
            let last = self.begin + self.length;
            let (from, to) = (self.begin.max(at), last.min(end));
            let piece = &items[(from - at) as usize..(to - at) as usize];
            let unmeasured = (self.begin + self.length / FILLING).saturating_sub(from);
            let place = place + (from - at) as usize;
            let first = samples.places.len();
            self.burst
                .process(piece, place, unmeasured, self.rarity, samples);
            samples.end_part(SampleSource::Bursts(self.level), self.weight, first);
            if last > end {
                break;
            }
            self.end_burst();
            self.next_burst(last, 1);
        }
    }

    fn end_burst(&mut self) {
        let weight = self.weight as f64;
        let begin = self.begin - self.sampling;
        self.times.push(MeasuredTime {
            begin: begin + self.length / FILLING,
            end: begin + self.length,
            weight,
        });
        let ratios = self.burst.counts.ratios(MEASURED as f64, Unsure::ALL);
        self.moments.add(&ratios.misses, weight);
        for (sum, off) in self.off.iter_mut().zip(&ratios.off) {
            *sum += weight * off;
        }
    }

    pub(super) fn finish(mut self) -> BurstsResult {
        let weight = self.moments.weight().max(1.0);
        for off in &mut self.off {
            *off /= weight;
        }
        BurstsResult {
            measured: self.moments.replicates() * MEASURED as f64,
            times: self.times,
            moments: self.moments,
            off: self.off,
        }
    }
}

/// The bin at which a level is corrected by the one before: a cache that even the bursts of that
/// one fill.
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
            counts: BurstCounts::new(),
            items: Vec::new(),
            distances: Vec::new(),
            spread: Spread::default(),
        }
    }

    fn restart(&mut self, hash: Hash, threshold: u64) {
        self.tree = CountingTree::new();
        self.filter = Filter::new(hash, threshold);
        self.seen = 0;
        self.counts.clear();
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
                    self.counts.add(scaled, Precision::Exact);
                    samples.push(place + at as usize, scaled);
                }
                Some(_) => {}
                None => {
                    if measured {
                        let least = Distance::new(self.seen << rarity);
                        self.counts.add(least, Precision::AtLeast);
                    }
                    self.seen += 1;
                }
            }
        }
    }
}

impl BurstCounts {
    pub(super) fn new() -> Self {
        BurstCounts(std::array::from_fn(|_| vec![0.0; BINS + 1]))
    }

    pub(super) fn clear(&mut self) {
        self.0.iter_mut().for_each(|counts| counts.fill(0.0));
    }

    #[inline]
    pub(super) fn add(&mut self, distance: Distance, certainty: Precision) {
        self.0[certainty as usize][bin(distance.raw())] += 1.0;
    }

    /// The shares of `measured` accesses. Half of those that are not surely hits or misses are
    /// taken for misses, as far as [`Unsure`] says nothing else.
    pub(super) fn ratios(&self, measured: f64, unsure: Unsure) -> BurstRatios {
        let [exact, between, at_least] = &self.0;
        let last = |distance: Distance| distance.items().map_or(BINS, bin);
        let (likely, most) = (last(unsure.likely), last(unsure.most));
        let mut misses = exact.clone();
        let (mut off, mut unsure_misses) = (vec![0.0; BINS + 1], vec![0.0; BINS + 1]);
        // Accesses at a least distance below this bin, with a most one and without.
        let (mut limited, mut unlimited) = (0.0, 0.0);
        for bin in 0..=BINS {
            misses[bin] += between[bin] + at_least[bin];
            let half = if bin <= likely { 0.5 } else { 0.0 };
            let missing = unsure.first + (1.0 - unsure.first) * half;
            unsure_misses[bin] = half * limited + missing * unlimited;
            // How far off that may be: all of them are misses, or none.
            let limited_off = if bin <= most { 1.0 - half } else { 0.0 };
            let unlimited_off = missing.max(1.0 - missing);
            off[bin] = (limited_off * limited + unlimited_off * unlimited) / measured;
            limited += between[bin];
            unlimited += at_least[bin];
        }
        sum_from_above(&mut misses);
        for (misses, unsure) in misses.iter_mut().zip(&unsure_misses) {
            *misses = (*misses + unsure) / measured;
        }
        BurstRatios { misses, off }
    }
}
