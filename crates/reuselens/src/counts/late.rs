//! Every access through an engine whose distances come late: by the transfer with HP-RDA, which
//! adjusts them at the end, and by the chunk with those on a device.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use reuselens_attribute::Columns;
use reuselens_baselines::{Adjustment, HpRda, HpRdaSettings};
use reuselens_distance_gpu::GpuDistanceError;
use reuselens_locality::{ElementHistograms, ExactHistogram, FineHistogram, KeyedHistograms};
use reuselens_profile::{EngineStep, Warning};
use reuselens_units::{Bytes, Distance};

use super::chunks::hp_rda_settings;
use super::on_device::DeviceFault;
use super::{Addition, CountMethod, Counted, RunEvent, is_exact};
use crate::attribution::Uncounted;
use crate::{AnalysisOptions, EngineChunks};

/// The name that `--engine` takes for HP-RDA.
pub(crate) const HP_RDA: &str = "hp-rda";

/// An engine whose distances come late.
pub(crate) trait LateEngine: Send {
    /// The name that `--engine` takes.
    fn name(&self) -> &'static str;

    /// Takes in the next items. `kept` becomes the indices of those whose distance is still to
    /// come, ascending; that of the others is 0.
    fn feed(&mut self, items: &[u64], kept: &mut Vec<usize>);

    /// Whether it is time to analyse.
    fn is_full(&self) -> bool;

    /// The distances of kept items that follow those returned before.
    fn analyse(&mut self) -> Result<&[Distance], GpuDistanceError>;

    /// The distances of all that is left.
    fn finish(self: Box<Self>) -> Result<LateFinished, GpuDistanceError>;

    /// The most memory that is held until the next analysis.
    fn memory_ahead(&self) -> Bytes;
}

/// What a late engine has at the end.
pub(crate) struct LateFinished {
    pub distances: Vec<Distance>,
    /// The correction of all distances, where they are approximate.
    pub adjustment: Option<Adjustment>,
    /// How long each step took; the last is the correction, which is still to be made.
    pub steps: Vec<EngineTime>,
}

/// A step of an engine, and how long it took.
pub(crate) type EngineTime = (&'static str, Duration);

impl LateEngine for HpRda {
    fn name(&self) -> &'static str {
        HpRda::name(self)
    }

    fn feed(&mut self, items: &[u64], kept: &mut Vec<usize>) {
        HpRda::feed(self, items, kept);
    }

    fn is_full(&self) -> bool {
        HpRda::is_full(self)
    }

    fn analyse(&mut self) -> Result<&[Distance], GpuDistanceError> {
        Ok(HpRda::analyse(self))
    }

    fn finish(self: Box<Self>) -> Result<LateFinished, GpuDistanceError> {
        let finished = HpRda::finish(*self);
        Ok(LateFinished {
            distances: finished.distances,
            adjustment: Some(finished.adjustment),
            steps: finished.times.steps().to_vec(),
        })
    }

    fn memory_ahead(&self) -> Bytes {
        HpRda::memory_ahead(self)
    }
}

/// HP-RDA on the processor. Of the memory that it may have, a transfer takes a fourth.
pub(crate) fn hp_rda_on_processor(
    chunks: EngineChunks,
    threads: NonZeroUsize,
    limit: Bytes,
) -> HpRda {
    let settings = HpRdaSettings {
        threads,
        ..hp_rda_settings(chunks, HpRdaSettings::default().blocks)
    };
    HpRda::new(settings.with_transfer_of(limit.get() / 4))
}

/// A late engine over the whole trace.
pub(super) struct Late {
    /// None after a fault.
    engine: Option<Box<dyn LateEngine>>,
    name: &'static str,
    fault: DeviceFault,
    adjusting: bool,
    /// Accesses of a chunk of an approximate engine.
    chunk: usize,
    /// Whether it is said how long each step took.
    keeps_times: bool,
    /// Which items of the columns at hand have distances that are still to come.
    kept: Vec<usize>,
    /// What those count for whose distances are still to come.
    coming: Keys,
    /// What the others of the columns at hand count for.
    repeats: Keys,
    sums: LateSums,
    accesses: u64,
}

/// Cells, and elements if there are any: as in [`Columns`].
#[derive(Default)]
struct Keys {
    cells: Vec<u32>,
    elements: Vec<u32>,
}

#[derive(Default)]
struct LateSums {
    histogram: ExactHistogram,
    keyed: KeyedHistograms,
    elements: ElementHistograms,
}

impl Late {
    /// What a device refuses is kept in `fault`.
    pub(super) fn new(
        engine: Box<dyn LateEngine>,
        options: &AnalysisOptions,
        fault: DeviceFault,
    ) -> Self {
        Late {
            chunk: hp_rda_settings(options.chunks, 1).chunk,
            keeps_times: options.engine_times,
            adjusting: options.adjusting,
            name: engine.name(),
            engine: Some(engine),
            fault,
            kept: Vec::new(),
            coming: Keys::default(),
            repeats: Keys::default(),
            sums: LateSums::default(),
            accesses: 0,
        }
    }

    /// The engine has failed: it and all that waits for distances is given up.
    fn fail(&mut self, fault: GpuDistanceError) {
        self.fault.set(fault);
        self.engine = None;
        self.coming = Keys::default();
    }

    /// Deals the keys of the columns out.
    fn deal(&mut self, columns: &Columns) {
        let mut kept = self.kept.iter().peekable();
        let elements = !columns.elements.is_empty();
        if elements {
            self.coming.complete();
        }
        for (index, &cell) in columns.cells.iter().enumerate() {
            let is_kept = kept.next_if(|kept| **kept == index).is_some();
            let keys = if is_kept {
                &mut self.coming
            } else {
                &mut self.repeats
            };
            keys.cells.push(cell);
            if elements {
                keys.elements.push(columns.elements[index]);
            }
        }
    }
}

impl Keys {
    /// Gives an element, none, to those that have no entry.
    fn complete(&mut self) {
        self.elements.resize(self.cells.len(), 0);
    }

    fn bytes(&self) -> u64 {
        ((self.cells.capacity() + self.elements.capacity()) * size_of::<u32>()) as u64
    }
}

impl LateSums {
    /// Counts distances for the first keys, which are then done with.
    fn count(&mut self, keys: &mut Keys, distances: &[Distance]) {
        let number = distances.len();
        self.histogram.add_column(distances);
        self.keyed.add_column(&keys.cells[..number], distances);
        keys.cells.drain(..number);
        if !keys.elements.is_empty() {
            keys.elements.resize(number + keys.cells.len(), 0);
            self.elements
                .add_column(&keys.elements[..number], distances);
            keys.elements.drain(..number);
        }
    }

    fn adjust(&mut self, adjustment: &Adjustment) {
        self.histogram = self.histogram.map(|distance| adjustment.adjust(distance));
        self.keyed.map(|group| adjust_group(adjustment, group));
        self.elements.map(|group| adjust_group(adjustment, group));
    }
}

impl CountMethod for Late {
    fn event(&mut self, _event: RunEvent) {}

    fn by_thread(&self) -> bool {
        false
    }

    fn add(&mut self, columns: &Columns) {
        let Some(engine) = &mut self.engine else {
            return;
        };
        engine.feed(&columns.items, &mut self.kept);
        self.deal(columns);
        let zeros = vec![Distance::ZERO; self.repeats.cells.len()];
        self.sums.count(&mut self.repeats, &zeros);
        self.accesses += columns.items.len() as u64;
        let Some(engine) = self.engine.as_mut().filter(|engine| engine.is_full()) else {
            return;
        };
        match engine.analyse() {
            Ok(distances) => self.sums.count(&mut self.coming, distances),
            Err(fault) => self.fail(fault),
        }
    }

    fn distances(&self) -> Option<&[Distance]> {
        None
    }

    fn accesses(&self) -> u64 {
        self.accesses
    }

    fn steps(&self) -> u64 {
        self.accesses()
    }

    fn memory(&self) -> Bytes {
        let keys = self.coming.bytes() + self.repeats.bytes();
        let sums = &self.sums;
        let histograms = sums.histogram.memory() + sums.keyed.memory() + sums.elements.memory();
        let engine = self.engine.as_ref().map(|engine| engine.memory_ahead());
        engine.unwrap_or_default() + histograms + Bytes(keys)
    }

    /// Nothing can be given up.
    fn shrink(&mut self, _limit: Bytes, _whole: Bytes) -> bool {
        false
    }

    fn finish(mut self: Box<Self>) -> Counted {
        let (mut warnings, mut times) = (Vec::new(), None);
        match self.engine.take().map(LateEngine::finish) {
            Some(Ok(finished)) => {
                self.sums.count(&mut self.coming, &finished.distances);
                let mut steps = finished.steps;
                if let Some(adjustment) = finished.adjustment {
                    let start = Instant::now();
                    if self.adjusting {
                        self.sums.adjust(&adjustment);
                    }
                    // The engine itself adjusts nothing.
                    if let Some((_, adjust)) = steps.last_mut() {
                        *adjust = start.elapsed();
                    }
                    warnings.push(self.warning(&adjustment));
                }
                if self.keeps_times {
                    times = Some(EngineSteps(engine_steps(&steps)));
                }
            }
            Some(Err(fault)) => self.fail(fault),
            None => {}
        }
        let mut counted = Counted {
            keyed: self.sums.keyed,
            elements: self.sums.elements,
            warnings,
            ..Counted::of(self.name, is_exact(self.name), self.sums.histogram)
        };
        if let Some(times) = times {
            counted.add(times);
        }
        counted
    }
}

/// How long each step of the engine took.
pub(super) struct EngineSteps(pub Vec<EngineStep>);

impl Addition for EngineSteps {
    fn write(self: Box<Self>, into: &mut Uncounted) {
        into.profile.method.engine_steps = self.0;
    }
}

/// For a profile.
pub(crate) fn engine_steps(steps: &[EngineTime]) -> Vec<EngineStep> {
    let step = |(step, time): &EngineTime| EngineStep {
        step: (*step).to_owned(),
        seconds: time.as_secs_f64(),
    };
    steps.iter().map(step).collect()
}

impl Late {
    fn warning(&self, adjustment: &Adjustment) -> Warning {
        let (engine, chunk) = (self.name, self.chunk);
        let beyond = adjustment.distinct().get();
        let then = if self.adjusting {
            format!(
                "those beyond all {beyond} items were multiplied by {:.4}",
                adjustment.factor()
            )
        } else {
            format!("those beyond all {beyond} items were left as they are (--disable-adjusting)")
        };
        Warning {
            code: "approximate".to_owned(),
            message: format!(
                "{engine} is an approximation, whose error is not bounded: distances from one chunk of {chunk} \
             accesses to another are too large where the chunks share items; {then}"
            ),
            hint: "--engine auto is exact".to_owned(),
        }
    }
}

/// The distances of a group: its histogram, their sum, the largest.
type Group = (FineHistogram, u128, u64);

/// Adjusts a group. Only the bin of a distance is known: the middle of a bin beyond the limit
/// stands for all of it, and a bin that the limit cuts is taken apart in proportion. The sum
/// follows the middles; the largest is at most what is given.
fn adjust_group(adjustment: &Adjustment, (histogram, sum, max): Group) -> Group {
    let limit = adjustment.distinct().get();
    if max <= limit {
        return (histogram, sum, max);
    }
    let mut adjusted = FineHistogram::new();
    adjusted.add(Distance::COLD, histogram.cold());
    let (mut before, mut after) = (0.0, 0.0);
    let mut top = adjustment.adjust(Distance::new(max)).raw();
    for (low, high, count) in histogram.iter() {
        let stays = stay((low, high, count), limit);
        if stays > 0 {
            adjusted.add(Distance::new(low), stays);
            let middle = middle(low, high.min(limit));
            before += stays as f64 * middle as f64;
            after += stays as f64 * middle as f64;
            top = top.max(high.min(limit));
        }
        let moves = count - stays;
        if moves > 0 {
            let from = middle(low.max(limit + 1), high.min(max));
            let to = adjustment.adjust(Distance::new(from));
            adjusted.add(to, moves);
            before += moves as f64 * from as f64;
            after += moves as f64 * to.raw() as f64;
        }
    }
    (adjusted, (sum as f64 * (after / before)) as u128, top)
}

/// How many accesses of a bin are at most at the limit.
fn stay((low, high, count): (u64, u64, u64), limit: u64) -> u64 {
    if high <= limit {
        return count;
    }
    if low > limit {
        return 0;
    }
    let (part, width) = (limit - low + 1, high - low + 1);
    (u128::from(count) * u128::from(part) / u128::from(width)) as u64
}

fn middle(low: u64, high: u64) -> u64 {
    low + high.saturating_sub(low) / 2
}

#[cfg(test)]
mod tests {
    use reuselens_distance::generate::{Generator, Random, Uniform};

    use super::*;

    /// Some three transfers of items with immediate repeats, in columns, of which some have
    /// elements.
    fn columns() -> Vec<Columns> {
        let mut random = Random::new(5);
        let mut items = Uniform::new(50_000, 2);
        let mut item = 0;
        let mut column = |with_elements: bool| {
            let mut columns = Columns::new();
            for _ in 0..50_000 {
                if random.below(4) > 0 {
                    item = items.next_item();
                }
                columns.items.push(item);
                columns.cells.push(random.below(5) as u32);
            }
            if with_elements {
                let elements = columns.items.iter().map(|item| (item % 4) as u32);
                columns.elements = elements.collect();
            }
            columns
        };
        (0..130).map(|number| column(number % 3 == 1)).collect()
    }

    fn count(columns: &[Columns], threads: usize, adjusting: bool) -> Counted {
        let threads = NonZeroUsize::new(threads).unwrap();
        let options = AnalysisOptions {
            adjusting,
            ..AnalysisOptions::default()
        };
        let engine = hp_rda_on_processor(options.chunks, threads, Bytes(u64::MAX));
        let mut counts = Box::new(Late::new(
            Box::new(engine),
            &options,
            DeviceFault::default(),
        ));
        for columns in columns {
            counts.add(columns);
        }
        counts.finish()
    }

    /// The distances of all accesses at once, as merged.
    fn merged(columns: &[Columns]) -> (Vec<Distance>, Adjustment) {
        let items: Vec<u64> = columns.iter().flat_map(|c| c.items.clone()).collect();
        let mut rda = HpRda::new(HpRdaSettings::default());
        let mut kept = Vec::new();
        rda.feed(&items, &mut kept);
        let finished = rda.finish();
        let mut distances = vec![Distance::ZERO; items.len()];
        for (index, distance) in kept.into_iter().zip(finished.distances) {
            distances[index] = distance;
        }
        (distances, finished.adjustment)
    }

    #[test]
    fn every_access_counts_for_its_cell_and_its_element() {
        let columns = columns();
        let (distances, _) = merged(&columns);
        let mut expected = LateSums::default();
        for (columns, distances) in columns.iter().zip(distances.chunks(50_000)) {
            expected.histogram.add_column(distances);
            expected.keyed.add_column(&columns.cells, distances);
            if !columns.elements.is_empty() {
                expected.elements.add_column(&columns.elements, distances);
            }
        }
        let mut counted = count(&columns, 2, false);
        assert!(!counted.exact);
        assert_eq!(counted.histogram, expected.histogram);
        for cell in 0..6 {
            assert_eq!(counted.keyed.get(cell), expected.keyed.get(cell));
        }
        for element in 0..5 {
            let found = counted.elements.take(element);
            assert_eq!(found, expected.elements.take(element));
        }
    }

    /// Groups know bins only: they keep every access, and agree with the adjusted whole as far as
    /// bins go.
    #[test]
    fn groups_are_adjusted_with_the_whole() {
        let columns = columns();
        let (distances, adjustment) = merged(&columns);
        let counted = count(&columns, 3, true);
        let mut expected = ExactHistogram::new();
        for distance in &distances {
            expected.add(adjustment.adjust(*distance), 1);
        }
        assert_eq!(counted.histogram, expected);
        assert!(adjustment.factor() < 0.1, "{}", adjustment.factor());
        let (mut all, mut sum) = (FineHistogram::new(), 0);
        for cell in 0..5 {
            let group = counted.keyed.get(cell).unwrap();
            all.merge(&group.0);
            sum += group.1;
        }
        assert_eq!(
            (all.accesses(), all.cold()),
            (expected.accesses(), expected.cold())
        );
        let close = |a: f64, b: f64| (a - b).abs() < 0.04 * b.abs();
        let mean = |sum: u128| sum as f64 / expected.accesses() as f64;
        assert!(close(mean(sum), mean(expected.distance_sum())));
        for size in [64, 512, 4096, 32_768] {
            let misses = all.misses(size) as f64;
            assert!(close(misses, expected.misses(size) as f64), "{size}");
        }
    }

    #[test]
    fn threads_do_not_show() {
        let columns = &columns()[..60];
        let one = count(columns, 1, true);
        for threads in [2, 5] {
            let other = count(columns, threads, true);
            assert_eq!(one.histogram, other.histogram);
            for cell in 0..5 {
                assert_eq!(one.keyed.get(cell), other.keyed.get(cell));
            }
        }
    }

    #[test]
    fn groups_within_the_limit_stay_and_bins_are_cut_in_proportion() {
        // a b c d, then again in chunks of their own: 4 items, 5 chunks of 4.
        let mut rda = HpRda::new(HpRdaSettings {
            chunk: 4,
            ..HpRdaSettings::default()
        });
        let items: Vec<u64> = (0..20).map(|index| index % 4).collect();
        rda.feed(&items, &mut Vec::new());
        let adjustment = rda.finish().adjustment;
        let group = |raw: &[u64]| {
            let mut histogram = FineHistogram::new();
            for raw in raw {
                histogram.add(Distance::new(*raw), 1);
            }
            let sum = raw.iter().map(|raw| u128::from(*raw)).sum();
            (histogram, sum, *raw.iter().max().unwrap())
        };
        let near = group(&[0, 3, 4]);
        assert_eq!(adjust_group(&adjustment, near.clone()), near);
        // 10 becomes 2, 20 becomes 4.
        let found = adjust_group(&adjustment, group(&[1, 10, 20]));
        assert_eq!(found, group(&[1, 2, 4]));
        assert_eq!(stay((64, 67, 8), 63), 0);
        assert_eq!(stay((64, 67, 8), 64), 2);
        assert_eq!(stay((64, 67, 8), 67), 8);
    }
}
