//! Beside sampled distances: the bytes of lines that are used, of a sample of the items.
//!
//! Items are sampled at one rate from the beginning to the end, by themselves: the sample of the
//! distances begins later, and may become smaller. A trace that ends while the distances are exact
//! has all causes, exactly: for so long all accesses are counted beside the sample.

use reuselens_attribute::Columns;
use reuselens_causes::{CarriedCounts, CauseCounts, CauseOptions, MissColumns};
use reuselens_distance::ItemSample;
use reuselens_profile::{Causes as ProfileCauses, Warning};
use reuselens_units::{Bytes, Distance};

use super::causes::{CountedCauses, add_cells};
use super::sampled::{Sampled, percent};
use super::{CountMethod, Counted, RunEvent};
use crate::AnalysisOptions;
use crate::budget::LOOK_AT_MEMORY_EVERY;

/// Sampled distances, and the causes of misses of a sample of the items.
pub(super) struct SampledCauses {
    distances: Sampled,
    /// All accesses, as long as their distances are exact.
    beginning: Option<Box<dyn CountMethod>>,
    sample: ItemSample,
    counts: CauseCounts,
    sampled: SampledColumns,
}

/// The columns of the sampled accesses of a piece.
#[derive(Default)]
struct SampledColumns {
    cells: Vec<u32>,
    bytes: Vec<u64>,
    stores: Vec<bool>,
    offsets: Vec<u32>,
}

impl SampledColumns {
    fn choose(&mut self, columns: &Columns, places: &[u32]) {
        fn choose<T: Copy>(into: &mut Vec<T>, from: &[T], places: &[u32]) {
            into.clear();
            into.extend(places.iter().map(|at| from[*at as usize]));
        }
        choose(&mut self.cells, &columns.cells, places);
        choose(&mut self.bytes, &columns.bytes, places);
        choose(&mut self.stores, &columns.stores, places);
        choose(&mut self.offsets, &columns.offsets, places);
    }

    fn memory(&self) -> Bytes {
        // The other columns grow as this one does.
        Bytes(self.cells.capacity() as u64 * (4 + 8 + 1 + 4))
    }
}

impl SampledCauses {
    /// Counts the causes that `options` has, with items sampled at this rate. `beginning` counts
    /// all accesses.
    pub(super) fn new(
        beginning: Box<dyn CountMethod>,
        rate: f64,
        causes: CauseOptions,
        options: &AnalysisOptions,
    ) -> Self {
        SampledCauses {
            distances: Sampled::at(rate, options),
            beginning: Some(beginning),
            sample: ItemSample::new(rate, options.seed),
            counts: CauseCounts::of_sample(causes, rate),
            sampled: SampledColumns::default(),
        }
    }
}

impl CountMethod for SampledCauses {
    fn event(&mut self, event: RunEvent) {
        if let Some(beginning) = &mut self.beginning {
            beginning.event(event);
        }
    }

    fn by_thread(&self) -> bool {
        true
    }

    fn add(&mut self, columns: &Columns) {
        if let Some(beginning) = &mut self.beginning {
            beginning.add(columns);
        }
        self.distances.add(columns);
        if !self.distances.is_exact() {
            self.beginning = None;
        }
        add_cells(&mut self.counts, columns);
        self.sample.process(&columns.items);
        self.sampled.choose(columns, self.sample.places());
        self.counts.process(&MissColumns {
            // What is counted of a sample does not depend on threads.
            thread: 0,
            items: self.sample.items(),
            distances: self.sample.distances(),
            cells: &self.sampled.cells,
            bytes: &self.sampled.bytes,
            stores: &self.sampled.stores,
            offsets: &self.sampled.offsets,
        });
    }

    fn distances(&self) -> Option<&[Distance]> {
        None
    }

    fn accesses(&self) -> u64 {
        self.distances.accesses()
    }

    fn steps(&self) -> u64 {
        self.accesses()
    }

    fn memory(&self) -> Bytes {
        let beginning = self.beginning.as_ref().map(|it| it.memory());
        let sample = self.sample.memory_ahead(LOOK_AT_MEMORY_EVERY) + self.sampled.memory();
        let counted = self.distances.memory() + self.counts.memory_ahead(LOOK_AT_MEMORY_EVERY);
        beginning.unwrap_or_default() + sample + counted
    }

    /// Nothing can be given up: a bound is of one rate.
    fn shrink(&mut self, _limit: Bytes, _whole: Bytes) -> bool {
        false
    }

    fn finish(self: Box<Self>) -> Counted {
        match self.beginning {
            Some(beginning) => Counted {
                engine: "sampled".to_owned(),
                ..beginning.finish()
            },
            None => {
                let mut counted = Box::new(self.distances).finish();
                counted.add(CountedCauses {
                    counts: self.counts,
                    carried: CarriedCounts::default(),
                    is_sampled: true,
                });
                counted
            }
        }
    }
}

/// What is not known because a sample was asked for.
pub(crate) fn warning(causes: &ProfileCauses) -> Warning {
    let loops = "which loop or function carries a reuse";
    let message = match causes.sample_rate {
        Some(rate) => format!(
            "why accesses miss was counted for a sample of {} of the lines: known are the bytes used \
             of each line, with a bound, and of each field; not known are {loops}, sharing between \
             threads, conflicts, and phases",
            percent(rate)
        ),
        None => format!("{loops} is not known: --sample leaves basic blocks out"),
    };
    Warning {
        code: "sampled-causes".to_owned(),
        message,
        hint: "leave out --sample to know all of it".to_owned(),
    }
}
