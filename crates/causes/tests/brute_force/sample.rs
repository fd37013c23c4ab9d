//! A sample of the items, against all of them.

use reuselens_causes::{CauseCell, CauseCounts, CauseOptions, CellPlace, MissColumns, NO_OFFSET};
use reuselens_distance::{CountingTree, Engine, ItemSample};
use reuselens_profile::{Causes, CellCauses};
use reuselens_units::{Bytes, Distance};

use crate::random_trace::Random;

/// Items of the cache of a trace of scale 1.
const CACHE: u64 = 400;
/// Objects, each with a cell of its own.
const OBJECTS: u32 = 3;

/// Accesses to lines, and the bytes of each.
struct Trace {
    items: Vec<u64>,
    bytes: Vec<u64>,
    /// Items of the cache.
    cache: u64,
}

/// How the passes of a trace go over its items.
#[derive(Clone, Copy, Debug)]
enum Order {
    /// One after another: all distances are equal.
    Loop,
    /// Anywhere.
    Random,
    /// Anywhere, the first ones far more often.
    Skewed,
}

impl Trace {
    /// Passes over more or fewer items than the cache holds; items are used differently, and
    /// differently in each pass. `scale`: of the cache and the items.
    fn new(random: &mut Random, order: Order, scale: usize) -> Self {
        let mut trace = Trace {
            items: Vec::new(),
            bytes: Vec::new(),
            cache: CACHE * scale as u64,
        };
        for part in 0..2 {
            let items = scale * (300 + random.below(1500));
            let field = 1 + random.below(8);
            for pass in 0..2 + random.below(4) {
                for at in 0..items {
                    let item = match order {
                        Order::Loop => at,
                        Order::Random => random.below(items),
                        Order::Skewed => {
                            let limit = 1 + random.below(items);
                            random.below(limit)
                        }
                    };
                    let width = 1 + (item * 7 + pass * field) % 16;
                    let first = (pass * field + item % 5) % (64 - width);
                    trace.items.push((part << 20 | item) as u64);
                    trace.bytes.push((u64::MAX >> (64 - width)) << first);
                }
            }
        }
        trace
    }

    /// The counts of some accesses with these distances.
    fn count(
        &self,
        rate: Option<f64>,
        places: &[u32],
        distances: &[Distance],
    ) -> (Vec<CellCauses>, Causes) {
        let options = CauseOptions {
            line_use: true,
            sharing: true,
            phases: true,
            cache: Bytes(64 * self.cache),
            ..CauseOptions::default()
        };
        let mut counts = match rate {
            Some(rate) => CauseCounts::of_sample(options, rate),
            None => CauseCounts::new(options),
        };
        let objects = 0..OBJECTS;
        counts.add_cells(objects.clone().map(|object| CauseCell {
            site: 1,
            object,
            element_bytes: 8,
            ..CauseCell::default()
        }));
        let columns = |of: &[u64]| places.iter().map(|at| of[*at as usize]).collect::<Vec<_>>();
        let items = columns(&self.items);
        let cells: Vec<u32> = items.iter().map(|it| *it as u32 % OBJECTS).collect();
        counts.process(&MissColumns {
            thread: 0,
            items: &items,
            distances,
            cells: &cells,
            bytes: &columns(&self.bytes),
            stores: &vec![false; items.len()],
            offsets: &vec![NO_OFFSET; items.len()],
        });
        let places: Vec<CellPlace> = objects
            .map(|object| CellPlace { site: 1, object })
            .collect();
        counts.finish(&places)
    }

    fn count_all(&self) -> (Vec<CellCauses>, Causes) {
        let mut distances = vec![Distance::COLD; self.items.len()];
        CountingTree::new().process(&self.items, &mut distances);
        let places: Vec<u32> = (0..self.items.len() as u32).collect();
        self.count(None, &places, &distances)
    }

    fn count_sample(&self, rate: f64, seed: u64) -> (Vec<CellCauses>, Causes) {
        let mut sample = ItemSample::new(rate, seed);
        sample.process(&self.items);
        self.count(Some(rate), sample.places(), sample.distances())
    }
}

/// The utilisation of all cells together, then of each.
fn utilisations(cells: &[CellCauses]) -> Vec<f64> {
    let mut sum = CellCauses::default();
    cells.iter().for_each(|cell| sum.merge(cell));
    let all = [&sum].into_iter().chain(cells);
    all.map(|cell| cell.utilisation(64).unwrap()).collect()
}

/// How bounds of samples compare with the analyses of all items.
#[derive(Default)]
struct Coverage {
    known: u32,
    held: u32,
    unknown: u32,
    widths: f64,
}

impl Coverage {
    /// Of random traces of an order and a scale, each sampled at one of the rates.
    fn of(order: Order, scale: usize, rates: &[f64], traces: u64) -> Self {
        let mut coverage = Coverage::default();
        for seed in 0..traces {
            let mut random = Random::new(seed);
            let trace = Trace::new(&mut random, order, scale);
            coverage.add(&trace, rates[random.below(rates.len())], seed);
        }
        coverage
    }

    fn add(&mut self, trace: &Trace, rate: f64, seed: u64) {
        let truth = utilisations(&trace.count_all().0);
        let (cells, causes) = trace.count_sample(rate, seed);
        assert_eq!(causes.sample_rate, Some(rate));
        assert_eq!(causes.sampled_use.len(), truth.len());
        for (at, sampled) in causes.sampled_use.iter().enumerate() {
            assert_eq!(sampled.object, at.checked_sub(1).map(|at| at as u32));
            let counted = utilisations(&cells)[at];
            assert!((counted - sampled.utilisation).abs() < 0.02);
            if sampled.half_width >= 1.0 {
                self.unknown += 1;
                continue;
            }
            self.known += 1;
            self.widths += sampled.half_width;
            self.held += u32::from((sampled.utilisation - truth[at]).abs() <= sampled.half_width);
        }
    }

    /// The share of the bounds that hold, and how wide they are in the mean.
    fn print(&self, name: &str) -> (f64, f64) {
        let known = f64::from(self.known);
        let (held, width) = (f64::from(self.held) / known, self.widths / known);
        let (known, unknown) = (self.known, self.unknown);
        println!("{name}: {held:.3} of {known}, mean width {width:.4}; {unknown} without a bound");
        (held, width)
    }
}

/// Of 100 bounds, about 95 hold the utilisation that an analysis of all items has, for all lines
/// and for each object, whatever the order of the accesses and however near their distances are to
/// the size of the cache. The four bounds of a trace are alike, so the margin is that of a few
/// hundred independent ones.
#[test]
fn the_bound_of_a_sample_holds_as_often_as_it_promises() {
    for order in [Order::Loop, Order::Random, Order::Skewed] {
        let coverage = Coverage::of(order, 1, &[0.1, 0.25, 0.5], 200);
        let (held, width) = coverage.print(&format!("{order:?}"));
        assert!(held >= 0.93, "{order:?}: {held} of {}", coverage.known);
        assert!(width < 0.2, "{order:?}: {width}");
    }
}

/// As above, at the rates that long runs are sampled at: of 8,000 items of the cache, 80 or 160.
#[test]
fn the_bound_holds_at_small_rates_too() {
    for order in [Order::Loop, Order::Random, Order::Skewed] {
        let coverage = Coverage::of(order, 20, &[0.01, 0.02], 60);
        let (held, width) = coverage.print(&format!("{order:?}, 1 to 2 %"));
        assert!(coverage.known > 150, "{order:?}: {}", coverage.known);
        assert!(held >= 0.9, "{order:?}: {held} of {}", coverage.known);
        assert!(width < 0.3, "{order:?}: {width}");
    }
}

#[test]
fn a_sample_of_all_items_has_their_counts_and_no_error() {
    let trace = Trace::new(&mut Random::new(3), Order::Random, 1);
    let (cells, causes) = trace.count_all();
    let (sampled_cells, sampled) = trace.count_sample(1.0, 1);
    assert_eq!(sampled_cells, cells);
    assert_eq!(sampled.elements, causes.elements);
    assert!(sampled.shared.is_empty() && sampled.phases.intervals.is_empty());
    assert!(causes.sampled_use.is_empty() && causes.sample_rate.is_none());
    assert!(sampled.sampled_use.iter().all(|it| it.half_width == 0.0));
}

#[test]
fn counts_of_a_sample_are_scaled_and_few_items_have_no_bound() {
    let trace = Trace::new(&mut Random::new(4), Order::Random, 1);
    // Three accesses to one item, of which the first and the last miss.
    let (places, far) = ([5; 3], Distance::new(CACHE));
    let distances = [Distance::COLD, Distance::ZERO, far];
    let (alone, _) = trace.count(None, &places, &distances);
    let (scaled, causes) = trace.count(Some(0.125), &places, &distances);
    let sum = |cells: &[CellCauses]| cells.iter().map(|it| (it.fills, it.used_bytes)).max();
    let (fills, used) = sum(&alone).unwrap();
    assert_eq!((fills, sum(&scaled)), (2, Some((16, 8 * used))));
    let sampled = &causes.sampled_use;
    assert_eq!(sampled.len(), 2);
    assert!(
        sampled
            .iter()
            .all(|it| (it.items, it.half_width) == (1, 1.0))
    );
}

/// One item with nearly all fills says nothing of the others, however many these are.
#[test]
fn one_item_with_most_fills_leaves_no_bound() {
    let mut trace = Trace {
        items: (0..300).collect(),
        bytes: vec![1; 300],
        cache: CACHE,
    };
    trace.items.resize(3000, 7);
    trace.bytes.resize(3000, u64::MAX);
    let places: Vec<u32> = (0..3000).collect();
    let (_, causes) = trace.count(Some(0.5), &places, &[Distance::COLD; 3000]);
    assert_eq!(causes.sampled_use[0].items, 300);
    assert_eq!(causes.sampled_use[0].half_width, 1.0);
}
