//! Exact as long as memory lasts, or as long as was asked for; then samples.

use std::ops::Range;

use reuselens_attribute::Columns;
use reuselens_distance::{Estimate, SampleOptions, SampleSource, Sampler};
use reuselens_locality::{
    BoundedCurve, BoundedPoint, ElementHistograms, ExactHistogram, KeyedHistograms,
};
use reuselens_profile::Warning;
use reuselens_units::{Bytes, Distance, grouped};

use super::exact::{add_near, add_told_apart};
use super::shares::Shares;
use super::{CountMethod, Counted, RunEvent};
use crate::budget::LOOK_AT_MEMORY_EVERY;
use crate::{AnalysisOptions, TalliedHistogram};

/// Item accesses whose distances are found before they are counted: few enough that the distances
/// stay in a near cache until then.
const TOGETHER: usize = 1 << 14;

/// What sampling takes beside the sampled items: with less, it cannot begin.
const OVERHEAD: Bytes = Bytes(4 << 20);

/// A sampler, and what its samples say about cells.
pub(super) struct Sampled {
    sampler: Sampler,
    /// Whether sampling was asked for; otherwise it is better than to stop.
    asked_for: bool,
    /// All accesses while everything was exact.
    histogram: TalliedHistogram,
    /// Nothing is attributed: totals only.
    totals_only: bool,
    /// Memory for the distances that are not near.
    far: Vec<Distance>,
    keyed: KeyedHistograms,
    elements: ElementHistograms,
    shares: Shares,
    /// The memory limit that was reached, if one was.
    limit: Option<Bytes>,
}

impl Sampled {
    /// Samples at this rate (after a beginning that is exact).
    pub(super) fn at(rate: f64, options: &AnalysisOptions) -> Self {
        let sample = SampleOptions {
            rate,
            seed: options.seed,
            ..SampleOptions::default()
        };
        Self::new(sample, true, options.is_totals_only())
    }

    /// Exact, until [`shrink`](CountMethod::shrink) is called.
    pub(super) fn when_memory_is_short(options: &AnalysisOptions) -> Self {
        let sample = SampleOptions {
            seed: options.seed,
            exact: u64::MAX,
            ..SampleOptions::default()
        };
        Self::new(sample, false, options.is_totals_only())
    }

    fn new(sample: SampleOptions, asked_for: bool, totals_only: bool) -> Self {
        Sampled {
            sampler: Sampler::new(SampleOptions {
                count_exact: false,
                ..sample
            }),
            asked_for,
            histogram: TalliedHistogram::new(),
            totals_only,
            far: Vec::new(),
            keyed: KeyedHistograms::new(),
            elements: ElementHistograms::new(),
            shares: Shares::default(),
            limit: None,
        }
    }

    /// Whether all distances so far are exact.
    pub(super) fn is_exact(&self) -> bool {
        self.sampler.accesses() == self.sampler.exact_accesses()
    }

    fn add_piece(&mut self, columns: &Columns, piece: Range<usize>) {
        let (items, cells) = (&columns.items[piece.clone()], &columns.cells[piece.clone()]);
        let sampler = &mut self.sampler;
        let count = if self.totals_only && columns.elements.is_empty() {
            self.histogram.add(|tally| sampler.tally(items, tally))
        } else {
            sampler.process(items);
            sampler.samples().exact().len()
        };
        let samples = self.sampler.samples();
        let exact = samples.exact();
        if count == 0 {
            // From now on there are samples only.
            self.histogram.deferred().shrink();
        } else if !self.totals_only {
            add_told_apart(
                self.histogram.deferred(),
                &mut self.keyed,
                (&cells[..count], exact),
                &mut self.far,
            );
        } else {
            self.histogram.deferred().add_column(exact);
        }
        if let Some(elements) = columns.elements.get(piece) {
            self.elements.add_column(&elements[..count], exact);
        }
        self.shares.count(&cells[count..]);
        for part in samples.parts() {
            let level = match part.source {
                SampleSource::Items => 0,
                SampleSource::Bursts(level) => level + 1,
            };
            let places = &samples.places()[part.range.clone()];
            let distances = &samples.distances()[part.range.clone()];
            for (place, distance) in places.iter().zip(distances) {
                let cell = cells[*place as usize];
                self.shares.add(level, cell, *distance, part.weight);
            }
        }
    }

    fn warnings(&self, estimate: &Estimate, curve: &BoundedCurve) -> Vec<Warning> {
        let Some(limit) = self.limit else {
            return Vec::new();
        };
        let since = if self.asked_for {
            "the sampled items took more memory than"
        } else {
            "the exact engine would have taken more memory than"
        };
        let message = format!(
            "{since} the {limit} that the analysis may have: of the {} accesses the first {} are exact, \
             of the others a sample was taken, at the end 1 of {:.0} items; miss ratios are within \
             ±{} on average over the cache sizes, ±{} at the worst (95 % confidence)",
            grouped(estimate.accesses),
            grouped(estimate.exact),
            1.0 / estimate.rate,
            percent(curve.mean()),
            percent(curve.largest()),
        );
        vec![Warning {
            code: "sampled".to_owned(),
            message,
            hint: "raise --memory-limit, or take a larger --granularity; with --engine counting the analysis \
                   stops at the limit instead"
                .to_owned(),
        }]
    }
}

impl CountMethod for Sampled {
    fn event(&mut self, _event: RunEvent) {}

    fn by_thread(&self) -> bool {
        false
    }

    fn add(&mut self, columns: &Columns) {
        self.keyed.move_all(&columns.merged);
        self.shares.move_all(&columns.merged);
        for from in (0..columns.len()).step_by(TOGETHER) {
            self.add_piece(columns, from..columns.len().min(from + TOGETHER));
        }
    }

    fn distances(&self) -> Option<&[Distance]> {
        None
    }

    fn accesses(&self) -> u64 {
        self.sampler.accesses()
    }

    fn steps(&self) -> u64 {
        self.accesses()
    }

    fn memory(&self) -> Bytes {
        self.sampler.memory_ahead(LOOK_AT_MEMORY_EVERY) + self.counted_memory()
    }

    fn shrink(&mut self, limit: Bytes, whole: Bytes) -> bool {
        self.histogram.deferred().shrink();
        let others = self.counted_memory() + OVERHEAD;
        let left = limit.get().checked_sub(others.get());
        // The half, since a table doubles when it grows.
        let Some(left) = left.map(|left| Bytes(left / 2)) else {
            return false;
        };
        self.limit = Some(whole);
        self.sampler.shrink(left) && self.memory() <= limit
    }

    fn finish(self: Box<Self>) -> Counted {
        let mut this = *self;
        let mut histogram = std::mem::take(&mut this.histogram).finish();
        add_near(&mut histogram, &this.keyed);
        if this.is_exact() {
            let engine = if this.asked_for {
                "sampled"
            } else {
                "counting"
            };
            return Counted {
                keyed: this.keyed,
                elements: this.elements,
                ..Counted::exactly(engine, histogram)
            };
        }
        this.finish_sampled(histogram)
    }
}

impl Sampled {
    /// The memory of what was counted.
    fn counted_memory(&self) -> Bytes {
        let exact = self.histogram.memory() + self.keyed.memory() + self.elements.memory();
        exact + self.shares.memory()
    }

    fn finish_sampled(mut self, mut histogram: ExactHistogram) -> Counted {
        let sampler = std::mem::replace(&mut self.sampler, Sampler::new(SampleOptions::default()));
        let cold = (Distance::COLD, histogram.cold());
        let known = histogram
            .iter()
            .map(|(items, accesses)| (Distance::new(items), accesses));
        let estimate = sampler.finish_with(known.chain([cold]));
        let curve = bounded_curve(&estimate.points, estimate.confidence, estimate.rate);
        let warnings = self.warnings(&estimate, &curve);
        self.shares.give(&estimate, &mut self.keyed);
        for &(low, high, accesses) in &estimate.bins {
            let middle = Distance::new(low + (high - low) / 2);
            histogram.add_far(middle, accesses);
        }
        histogram.add(Distance::COLD, estimate.cold);
        // Elements have too few accesses each: their number is exact, their distances are not
        // known.
        Counted {
            error_bound: Some(curve.largest()),
            error_bounds: Some(curve),
            keyed: self.keyed,
            warnings,
            ..Counted::of("sampled", false, histogram)
        }
    }
}

/// A share in percent, with two digits that say something.
pub(super) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    let zeros = if percent > 0.0 {
        -percent.log10().floor()
    } else {
        0.0
    };
    format!("{percent:.*} %", (zeros + 1.0).clamp(0.0, 8.0) as usize)
}

/// An estimated curve as profiles have it; `rate` as in [`BoundedCurve`].
pub(super) fn bounded_curve(
    points: &[reuselens_distance::BoundedPoint],
    confidence: f64,
    rate: f64,
) -> BoundedCurve {
    let point = |point: &reuselens_distance::BoundedPoint| BoundedPoint {
        items: point.items,
        miss_ratio: point.miss_ratio.clamp(0.0, 1.0),
        half_width: point.half_width.clamp(0.0, 1.0),
    };
    BoundedCurve {
        confidence,
        rate,
        points: points.iter().map(point).collect(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_small_bound_is_not_called_none() {
        let shares = [0.0, 0.000_016_7, 0.0004, 0.012, 0.25, 1.0];
        let words = ["0.0 %", "0.0017 %", "0.040 %", "1.2 %", "25 %", "100 %"];
        assert_eq!(shares.map(super::percent), words);
    }
}
