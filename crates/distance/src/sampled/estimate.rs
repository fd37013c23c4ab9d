//! [`Estimate`]: joins the exact beginning, the sample of items and the bursts into one miss-ratio
//! curve, with a bound on the error of each of its points.

use super::bins::{BINS, bin, low};
use super::bursts::{Bursts, STEP, anchor};
use super::moments::{Curve, Known, student_95};
use super::samples::SampleSource;
use super::scale::{BLUR, blur, factor, shift};
use super::spatial::Spatial;
use super::unseen::{NEVER_SEEN, Unseen};

/// Widens the deviation that differences between few replicates give, which is not quite normal.
const MARGIN: f64 = 1.1;
/// The sample of the items measures the misses of a cache only if it has at least this many of the
/// items that the cache holds.
const TELLS: f64 = 4.0;

/// One point of an estimated miss-ratio curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundedPoint {
    /// Size of the cache, in items.
    pub items: u64,
    /// Estimate of its miss ratio.
    pub miss_ratio: f64,
    /// The true miss ratio differs by at most this, with the confidence of the estimate.
    pub half_width: f64,
}

impl BoundedPoint {
    /// The point of a curve for a cache of any size: between two of its points, straight over the
    /// logarithm of the size; the bound holds wherever between them the curve may fall.
    pub fn on(points: &[BoundedPoint], items: u64) -> BoundedPoint {
        let next = points.partition_point(|point| point.items < items);
        let above = points.get(next).or(points.last());
        let below = next.checked_sub(1).and_then(|at| points.get(at)).or(above);
        let (Some(below), Some(above)) = (below, above) else {
            return BoundedPoint {
                items,
                miss_ratio: 0.0,
                half_width: 0.0,
            };
        };
        let width = (above.items as f64 / below.items as f64).ln();
        let part = (items as f64 / below.items as f64).ln() / width;
        let part = if width > 0.0 { part } else { 0.0 };
        let fall = (below.miss_ratio - above.miss_ratio) * part.clamp(0.0, 1.0);
        let miss_ratio = below.miss_ratio - fall;
        let most = below.miss_ratio + below.half_width - miss_ratio;
        let least = miss_ratio - (above.miss_ratio - above.half_width);
        let half_width = if items == above.items {
            above.half_width
        } else {
            most.max(least)
        };
        BoundedPoint {
            items,
            miss_ratio,
            half_width,
        }
    }
}

/// What a [`Sampler`](super::Sampler) estimates of a stream.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// All accesses.
    pub accesses: u64,
    /// The accesses at the beginning that were measured exactly, each of them.
    pub exact: u64,
    /// The share of the items that was looked at last; 1 if nothing was left out.
    pub rate: f64,
    /// The confidence of each point's bound.
    pub confidence: f64,
    /// The miss-ratio curve over all accesses, exact part included, for ascending sizes from 1 to
    /// where it is flat: one for every size up to 32, then sixteen to an octave. Ratios never rise.
    pub points: Vec<BoundedPoint>,
    /// The accesses after the exact part, by distance: lowest, highest, estimated number.
    /// Ascending.
    pub bins: Vec<(u64, u64, u64)>,
    /// The cold ones of them. With those in `bins`, they sum to the accesses after the exact part.
    pub cold: u64,
    /// The best source for the distances from a number on: ascending, the first from 0.
    pub sources: Vec<(u64, SampleSource)>,
}

/// A curve with half-widths, and where it is from.
pub(super) struct CurveWithBound {
    source: SampleSource,
    pub(super) mean: Vec<f64>,
    pub(super) half: Vec<f64>,
    /// The part of the half-width that is chance.
    chance: Vec<f64>,
    /// The first bin at which it may be used.
    from: usize,
}

impl Estimate {
    /// Joins what was measured: exact misses by cache size and their accesses, samples of the rest.
    pub(super) fn join(
        exact: (&[f64], u64),
        sampled: Option<(&Spatial, Vec<Bursts>)>,
        accesses: u64,
    ) -> Estimate {
        let rest = accesses - exact.1;
        let mut top = exact_top(exact.0);
        let mut estimate = Estimate {
            accesses,
            exact: exact.1,
            rate: 1.0,
            confidence: 0.95,
            points: Vec::new(),
            bins: Vec::new(),
            cold: 0,
            sources: vec![(0, SampleSource::Items)],
        };
        let (mut mean, mut half) = (vec![0.0; BINS + 1], vec![0.0; BINS + 1]);
        if let Some((spatial, bursts)) = sampled.filter(|_| rest > 0) {
            estimate.rate = spatial.rate();
            (mean, half, estimate.sources) = best(&curves(spatial, bursts, rest));
            // Where few items are sampled, bursts may have seen larger distances than they did.
            let flat = flat_from(&mean).max(spatial.top() + 1);
            // Distances may be larger than they seem.
            let last = low(flat) as f64;
            let last = last * factor(last, spatial.rate(), BLUR);
            top = top.max(bin(last as u64) + 1);
            level_out(&mut mean, &half, flat);
            estimate.count(&mean, top, rest);
        }
        estimate.points = points(exact, (&mean, &half), rest, top);
        estimate
    }

    /// The miss ratio of a cache of any size: see [`BoundedPoint::on`].
    pub fn at(&self, items: u64) -> BoundedPoint {
        BoundedPoint::on(&self.points, items)
    }

    /// The largest half-width of all points.
    pub fn largest_half_width(&self) -> f64 {
        let widths = self.points.iter().map(|point| point.half_width);
        widths.fold(0.0, f64::max)
    }

    /// Rounds shares of accesses to integers that add up.
    fn count(&mut self, mean: &[f64], top: usize, rest: u64) {
        let misses = |bin: usize| (mean[bin] * rest as f64).round() as u64;
        let mut above = rest;
        for bin in 0..top {
            let next = if bin + 1 < top { bin + 1 } else { BINS };
            let below = misses(next).min(above);
            if above > below {
                self.bins.push((low(bin), low(bin + 1) - 1, above - below));
            }
            above = below;
        }
        self.cold = above;
    }
}

/// The first bin from which on all misses of the exact part are cold.
pub(super) fn exact_top(misses: &[f64]) -> usize {
    let last = (0..BINS).rev().find(|&bin| misses[bin] > misses[BINS]);
    last.map_or(0, |bin| bin + 1)
}

/// The points of a curve that is flat from bin `top` on, over an exact part (its misses by cache
/// size, and its accesses) and the `rest`, of which the ratios and their half-widths are known.
pub(super) fn points(
    exact: (&[f64], u64),
    (ratios, half): (&[f64], &[f64]),
    rest: u64,
    top: usize,
) -> Vec<BoundedPoint> {
    let all = (exact.1 + rest).max(1) as f64;
    let point = |bin: usize| {
        let at = if bin < top { bin } else { BINS };
        let misses = exact.0[at] + ratios[at] * rest as f64;
        BoundedPoint {
            items: low(bin),
            miss_ratio: misses / all,
            half_width: half[at].min(1.0) * rest as f64 / all,
        }
    };
    (1..=top.max(1)).map(point).collect()
}

/// All samples as curves, those for the smallest caches first.
fn curves(spatial: &Spatial, bursts: Vec<Bursts>, rest: u64) -> Vec<CurveWithBound> {
    let rate = spatial.rate();
    let mut curves: Vec<CurveWithBound> = Vec::new();
    for (level, bursts) in bursts.into_iter().enumerate() {
        let result = bursts.finish();
        let Some(curve) = result.moments.curve(known(&curves, level)) else {
            break;
        };
        let thinned = 0.5_f64.powi(STEP as i32 * level as i32);
        let unseen = Unseen::new(curve.mean[0], thinned * curve.replicates, rest);
        let mut curve =
            CurveWithBound::of_bursts(level, curve, &result.off, result.measured, thinned);
        if level > 0 {
            curve.widen(|bin| unseen.at(bin));
        }
        // Before it corrects others.
        let mut off = spatial.off(rest, &result.times);
        // Items that come once, between the bursts, and are not sampled.
        let once = Some(NEVER_SEEN / rate / rest as f64).filter(|once| *once < 1.0);
        off.iter_mut().for_each(|off| *off += once.unwrap_or(0.0));
        let unmet = NEVER_SEEN / result.moments.replicates();
        curve.allow_for_other_times(&off, rate, unmet);
        curves.push(curve);
    }
    let level = curves.len();
    let moments = spatial.moments(rest, anchor(level));
    if let Some(curve) = moments.curve(known(&curves, level)) {
        let unseen = Unseen::new(curve.mean[0], rate, rest);
        let mut curve = CurveWithBound::of_items(curve, rate);
        curve.widen(|bin| unseen.at(bin));
        // Smaller caches than the sample can measure are those of the bursts, if there are any.
        curve.from = if level > 0 { first_measured(rate) } else { 0 };
        curves.push(curve);
    }
    curves
}

/// The first bin that the sample of the items measures.
fn first_measured(rate: f64) -> usize {
    bin((TELLS / rate) as u64)
}

/// The value of the curve before at the anchor of a level.
fn known(curves: &[CurveWithBound], level: usize) -> Option<Known> {
    let (last, at) = (curves.last()?, anchor(level));
    Some(Known {
        mean: last.mean[at],
        variance: (last.chance[at] / 2.0).powi(2),
        bias: last.half[at] - last.chance[at],
    })
}

impl CurveWithBound {
    pub(super) fn of_bursts(
        level: usize,
        curve: Curve,
        off: &[f64],
        measured: f64,
        rate: f64,
    ) -> Self {
        let quantile = MARGIN * student_95(curve.replicates - 1.0);
        let chance = |bin: usize| quantile * curve.variance[bin].sqrt() + 3.0 / measured;
        let bias = |bin: usize| {
            let blur = if level == 0 {
                0.0
            } else {
                blur(&curve.mean, bin, rate)
            };
            off[bin] + blur + curve.bias[bin]
        };
        CurveWithBound {
            source: SampleSource::Bursts(level),
            chance: (0..=BINS).map(chance).collect(),
            half: (0..=BINS).map(|bin| chance(bin) + bias(bin)).collect(),
            from: anchor(level),
            mean: curve.mean,
        }
    }

    /// Bursts know nothing of the time between them; the sample of the items, which is one of all
    /// times, says how far they may be `off`. It does not say it of caches of fewer than about
    /// 1 / `rate` items. What hits in those hits in larger ones, so they are off as those are. By
    /// the number of bursts alone, they are off by no more than chance and `unmet`, the share of
    /// the time that none of them may have met.
    fn allow_for_other_times(&mut self, off: &[f64], rate: f64, unmet: f64) {
        let (blind, measured) = (bin((1.0 / rate) as u64), first_measured(rate));
        for at in 0..=BINS {
            let largest = off[at.clamp(blind.min(measured), measured)..=at.max(measured)]
                .iter()
                .copied()
                .fold(0.0, f64::max);
            let off = if at < measured { largest } else { off[at] };
            self.half[at] += (off - self.chance[at]).clamp(0.0, unmet);
        }
    }

    /// Adds what the sample cannot know.
    pub(super) fn widen(&mut self, by: impl Fn(usize) -> f64) {
        for (bin, half) in self.half.iter_mut().enumerate() {
            *half += by(bin);
        }
    }

    fn of_items(curve: Curve, rate: f64) -> Self {
        let quantile = MARGIN * student_95(curve.replicates - 2.0);
        let chance = |bin: usize| quantile * curve.variance[bin].sqrt();
        let scale = |bin: usize| shift(&curve.mean, bin, rate).max(blur(&curve.mean, bin, rate));
        let bias = |bin: usize| scale(bin) + curve.bias[bin];
        CurveWithBound {
            source: SampleSource::Items,
            chance: (0..=BINS).map(chance).collect(),
            half: (0..=BINS).map(|bin| chance(bin) + bias(bin)).collect(),
            from: 0,
            mean: curve.mean,
        }
    }
}

/// The curve with the smallest half-width at each size, going over from one sample to the next
/// once.
fn best(curves: &[CurveWithBound]) -> (Vec<f64>, Vec<f64>, Vec<(u64, SampleSource)>) {
    let (mut mean, mut half) = (vec![0.5; BINS + 1], vec![1.0; BINS + 1]);
    let mut sources = Vec::new();
    let mut current = 0;
    for bin in 0..=BINS {
        let better = |curve: &&CurveWithBound| {
            bin >= curve.from && curve.half[bin] < curves[current].half[bin]
        };
        let next = curves.iter().skip(current + 1);
        if let Some(ahead) = next.rev().position(|curve| better(&curve)) {
            current = curves.len() - 1 - ahead;
        }
        let Some(curve) = curves.get(current) else {
            break;
        };
        if sources
            .last()
            .is_none_or(|(_, source)| *source != curve.source)
        {
            sources.push((low(bin), curve.source));
        }
        (mean[bin], half[bin]) = (curve.mean[bin], curve.half[bin]);
    }
    (mean, half, sources)
}

/// The first bin from which on the curve does not change.
pub(super) fn flat_from(mean: &[f64]) -> usize {
    let differs = |bin: &usize| (mean[*bin] - mean[BINS]).abs() > 1e-12;
    (0..BINS).rev().find(differs).map_or(1, |bin| bin + 1)
}

/// Makes a curve what a miss-ratio curve must be: 1 at no items, never rising, and from `top` on
/// the share of cold accesses. Where it rises by chance, neighbours become their mean, in which
/// those count that are known best (isotonic regression by pooling: Barlow, Bartholomew, Bremner &
/// Brunk 1972).
fn level_out(mean: &mut [f64], half: &[f64], top: usize) {
    let cold = mean[BINS].clamp(0.0, 1.0);
    // Value, weight and length of each pool.
    let mut pools: Vec<(f64, f64, usize)> = Vec::new();
    for (ratio, half) in mean[1..top].iter().zip(&half[1..]) {
        let mut pool = (*ratio, 1.0 / (half + 1e-6).powi(2), 1);
        while let Some(last) = pools.pop_if(|last| last.0 < pool.0) {
            let weight = last.1 + pool.1;
            pool = (
                (last.0 * last.1 + pool.0 * pool.1) / weight,
                weight,
                last.2 + pool.2,
            );
        }
        pools.push(pool);
    }
    let level = pools
        .iter()
        .flat_map(|pool| std::iter::repeat_n(pool.0, pool.2));
    for (ratio, level) in mean[1..top].iter_mut().zip(level) {
        *ratio = level.clamp(cold, 1.0);
    }
    mean[0] = 1.0;
    mean[top..].fill(cold);
}
