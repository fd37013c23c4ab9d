//! Runs of which bursts were recorded ([`Columns::burst`]): what is measured in them, for all.

use reuselens_attribute::{Columns, DataFilter, Kinds, NamesMode};
use reuselens_distance::{BurstSampler, RecordedBurst};
use reuselens_locality::{DeferredHistogram, ElementHistograms, ExactHistogram, KeyedHistograms};
use reuselens_profile::{Method, Sharing};
use reuselens_trace::Burst;
use reuselens_units::{Bytes, Distance};

use super::exact::{add_near, add_told_apart};
use super::sampled::bounded_curve;
use super::shares::{add_at, move_counts};
use super::{CountMethod, Counted, More};
use crate::budget::LOOK_AT_MEMORY_EVERY;
use crate::{AnalysisOptions, Error};

/// An access never stands for more than this, whatever a trace says.
const MOST_SHARE: u64 = 1 << 16;

/// A sampler of bursts, and what its samples say about cells: each measured access counts for as
/// many as it stands for.
pub(super) struct Bursts {
    sampler: BurstSampler,
    /// The beginning, which was recorded as a whole, until it ends; without what is near, which is
    /// counted by cell alone.
    beginning: Option<DeferredHistogram>,
    /// The beginning, once it has ended, and all that bursts stand for.
    histogram: ExactHistogram,
    keyed: KeyedHistograms,
    /// By cell, the accesses that count for the largest distance of the burst, once that is known:
    /// when the burst ends.
    farthest: Vec<u64>,
    /// Nothing is told apart.
    totals_only: bool,
    /// Memory for the distances that are not near.
    far: Vec<Distance>,
}

impl Bursts {
    /// # Errors
    /// If something else is asked for that needs every access.
    pub(super) fn begin(options: &AnalysisOptions) -> Result<Self, Error> {
        refuse_contradictions(options)?;
        Ok(Bursts {
            sampler: BurstSampler::new(),
            beginning: Some(DeferredHistogram::new()),
            histogram: ExactHistogram::new(),
            keyed: KeyedHistograms::new(),
            farthest: Vec::new(),
            totals_only: options.is_totals_only(),
            far: Vec::new(),
        })
    }

    fn begin_burst(&mut self, burst: Burst) {
        self.end_burst();
        let share = burst.stratum / burst.measured.max(1);
        self.sampler.begin_burst(RecordedBurst {
            filling: burst.filling,
            share: share.clamp(1, MOST_SHARE),
        });
    }

    /// A burst is over, or the beginning.
    fn end_burst(&mut self) {
        let most = self.sampler.end_burst();
        for cell in 0..self.farthest.len() {
            let accesses = std::mem::take(&mut self.farthest[cell]);
            self.count(cell as u32, most, accesses);
        }
        if let Some(beginning) = self.beginning.take() {
            self.histogram = beginning.finish();
            add_near(&mut self.histogram, &self.keyed);
        }
    }

    fn count(&mut self, cell: u32, distance: Distance, accesses: u64) {
        if accesses > 0 {
            self.histogram.add(distance, accesses);
            if !self.totals_only {
                self.keyed.add(cell, distance, accesses);
            }
        }
    }

    fn add_beginning(&mut self, columns: &Columns) {
        let distances = self.sampler.beginning();
        match &mut self.beginning {
            None => {}
            Some(beginning) if self.totals_only => beginning.add_column(distances),
            Some(beginning) => {
                let of_cells = (&columns.cells[..], distances);
                add_told_apart(beginning, &mut self.keyed, of_cells, &mut self.far);
            }
        }
    }

    fn add_measured(&mut self, columns: &Columns) {
        for at in 0..self.sampler.measured().len() {
            let access = self.sampler.measured()[at];
            let accesses = self.sampler.stands_for(access.certainty);
            let cell = columns.cells[access.place as usize];
            self.count(cell, access.distance, accesses.nearest);
            self.count(cell, Distance::COLD, accesses.cold);
            if accesses.farthest > 0 {
                add_at(&mut self.farthest, cell, accesses.farthest);
            }
        }
    }
}

impl CountMethod for Bursts {
    fn add(&mut self, columns: &Columns) {
        self.keyed.move_all(&columns.merged);
        move_counts(&mut self.farthest, &columns.merged);
        if let Some(burst) = columns.burst {
            self.begin_burst(burst);
        }
        self.sampler.process(&columns.items);
        self.add_beginning(columns);
        self.add_measured(columns);
    }

    fn accesses(&self) -> u64 {
        self.sampler.recorded()
    }

    fn memory(&self) -> Bytes {
        let beginning = self.beginning.as_ref().map(DeferredHistogram::memory);
        self.sampler.memory_ahead(LOOK_AT_MEMORY_EVERY)
            + beginning.unwrap_or_default()
            + self.histogram.memory()
            + self.keyed.memory()
    }

    /// Nothing can be given up.
    fn shrink(&mut self, _limit: Bytes, _whole: Bytes) -> bool {
        false
    }

    fn finish(mut self: Box<Self>) -> Counted {
        self.end_burst();
        let estimate = self.sampler.finish();
        let curve = bounded_curve(&estimate.points, estimate.confidence, estimate.rate());
        let exact = estimate.exact;
        Counted {
            more: More {
                recorded: Some(estimate.recorded).filter(|_| !exact),
                ..More::default()
            },
            engine: Method::BURSTS.to_owned(),
            exact,
            error_bound: Some(curve.largest()).filter(|_| !exact),
            error_bounds: Some(curve).filter(|_| !exact),
            histogram: self.histogram,
            keyed: self.keyed,
            elements: ElementHistograms::new(),
            warnings: Vec::new(),
        }
    }
}

/// Refuses what needs every access, or every one of its kind: how long a burst fills the cache is
/// counted in all accesses.
fn refuse_contradictions(options: &AnalysisOptions) -> Result<(), Error> {
    let gaps = "nothing is known of what is between bursts";
    let all =
        "the accesses that fill the cache at the beginning of a burst are counted in all accesses";
    let asked_for = [
        (
            options.engine != "auto",
            "--engine",
            "it has a way of counting of its own",
        ),
        (
            options.sample.is_some(),
            "--sample",
            "it is a sample already, of the time",
        ),
        (options.causes.is_some(), "--why", gaps),
        (options.paths, "--by path", gaps),
        (options.elements, "--elements", gaps),
        (options.placement.is_some(), "--placement", gaps),
        (options.reuse_times, "--times", gaps),
        (options.forward, "--forward", gaps),
        (
            options.max_distance.is_some(),
            "--max-distance",
            "all distances within bursts are told",
        ),
        (
            options.sharing != Sharing::Shared,
            "--sharing",
            "bursts are of all threads together",
        ),
        (options.kinds != Kinds::All, "--kind", all),
        (options.data != DataFilter::All, "--data", all),
        (
            options.names != NamesMode::Instruction,
            "--names statement",
            all,
        ),
    ];
    match asked_for
        .into_iter()
        .find(|(is_asked_for, ..)| *is_asked_for)
    {
        Some((_, other, why)) => Err(Error::Together {
            one: "--quick",
            other,
            why,
        }),
        None => Ok(()),
    }
}
