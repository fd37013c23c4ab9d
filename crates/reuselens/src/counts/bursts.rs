//! Runs of which bursts were recorded ([`Sampling`]): what is measured in them, for all.

use reuselens_attribute::{Columns, DataFilter, Kinds, NamesMode};
use reuselens_distance::BurstSampler;
use reuselens_locality::{BoundedCurve, DeferredHistogram, ExactHistogram, KeyedHistograms};
use reuselens_profile::{Method, Sharing};
use reuselens_trace::Sampling;
use reuselens_units::{Bytes, Distance};

use super::exact::{add_near, add_told_apart};
use super::sampled::bounded_curve;
use super::shares::{add_at, move_counts};
use super::{Addition, CountMethod, Counted, RunEvent, chunks};
use crate::attribution::Uncounted;
use crate::budget::LOOK_AT_MEMORY_EVERY;
use crate::{AnalysisOptions, Error};

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
    /// The burst that is on, by its first access.
    burst: Option<u64>,
    /// The accesses of the program that were recorded, and all, once it is over.
    length: Option<(u64, u64)>,
    /// Nothing is attributed: totals only.
    totals_only: bool,
    /// Whether all accesses of the program count.
    counts_all: bool,
    /// Memory for the distances that are not near.
    far: Vec<Distance>,
}

impl Bursts {
    /// # Errors
    /// If something else is asked for that needs every access.
    pub(super) fn begin(options: &AnalysisOptions) -> Result<Self, Error> {
        refuse_contradictions(options)?;
        chunks::check(options)?;
        Ok(Bursts {
            sampler: BurstSampler::new(),
            beginning: Some(DeferredHistogram::new()),
            histogram: ExactHistogram::new(),
            keyed: KeyedHistograms::new(),
            farthest: Vec::new(),
            burst: None,
            length: None,
            totals_only: options.is_totals_only(),
            counts_all: options.kinds == Kinds::All && options.data == DataFilter::All,
            far: Vec::new(),
        })
    }

    /// What comes next is of the burst that begins with this access.
    fn be_in(&mut self, first: u64) {
        if self.burst != Some(first) {
            self.burst = Some(first);
            self.end_burst();
            self.sampler.fill();
        }
    }

    /// A burst is over, or the beginning.
    fn end_burst(&mut self) {
        let likely = self.sampler.end_burst();
        for cell in 0..self.farthest.len() {
            let accesses = std::mem::take(&mut self.farthest[cell]);
            self.count(cell as u32, likely, accesses);
        }
        // What is near was counted by cell alone, and so far only for the beginning: bursts add to
        // the same cells from here on, and to the histogram themselves.
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
            let accesses = self.sampler.accesses_for(access.precision);
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
    fn event(&mut self, event: RunEvent) {
        let RunEvent::Sampling(sampling) = event else {
            return;
        };
        match sampling {
            Sampling::Filling { first } => {
                self.be_in(first);
                self.sampler.pause();
            }
            Sampling::Measured { first, stands_for } => {
                self.be_in(first);
                self.sampler.measure(stands_for);
            }
            Sampling::Ended { recorded, accesses } => self.length = Some((recorded, accesses)),
        }
    }

    fn by_thread(&self) -> bool {
        false
    }

    fn add(&mut self, columns: &Columns) {
        // First: the cells of these columns have the numbers that are theirs after the merges.
        self.keyed.move_all(&columns.merged);
        move_counts(&mut self.farthest, &columns.merged);
        self.sampler.process(&columns.items);
        self.add_beginning(columns);
        self.add_measured(columns);
    }

    fn distances(&self) -> Option<&[Distance]> {
        None
    }

    fn accesses(&self) -> u64 {
        self.sampler.recorded()
    }

    fn steps(&self) -> u64 {
        self.accesses()
    }

    fn memory(&self) -> Bytes {
        let beginning = self.beginning.as_ref().map(DeferredHistogram::memory);
        self.sampler.memory_ahead(LOOK_AT_MEMORY_EVERY)
            + beginning.unwrap_or_default()
            + self.histogram.memory()
            + self.keyed.memory()
            + Bytes(self.farthest.capacity() as u64 * 8)
            + Bytes((self.far.capacity() * size_of::<Distance>()) as u64)
    }

    /// Nothing can be given up.
    fn shrink(&mut self, _limit: Bytes, _whole: Bytes) -> bool {
        false
    }

    fn finish(mut self: Box<Self>) -> Counted {
        self.end_burst();
        let items = self.sampler.recorded();
        // A run that did not say how long it is was not cut.
        let (recorded, accesses) = self.length.unwrap_or_default();
        let estimate = self.sampler.finish(accesses.saturating_sub(recorded));
        let exact = estimate.exact;
        let share = recorded as f64 / accesses.max(1) as f64;
        let curve = bounded_curve(&estimate.points, estimate.confidence, share);
        let curve = (!exact).then_some(curve);
        let mut counted = Counted {
            error_bound: curve.as_ref().map(BoundedCurve::largest),
            error_bounds: curve,
            keyed: self.keyed,
            ..Counted::of(Method::BURSTS, exact, self.histogram)
        };
        if !exact {
            counted.add(SampledRun {
                accesses,
                items,
                counts_all: self.counts_all,
            });
        }
        counted
    }
}

/// What was seen of a run of which bursts were recorded.
struct SampledRun {
    /// Its accesses, recorded or not.
    accesses: u64,
    /// The item accesses that were seen.
    items: u64,
    /// Whether all accesses of the program count.
    counts_all: bool,
}

impl Addition for SampledRun {
    /// The accesses that count: counted, or in proportion to those that were seen, where not all
    /// count.
    fn write(self: Box<Self>, into: &mut Uncounted) {
        let profile = &mut into.profile;
        if self.counts_all {
            profile.references = self.accesses;
            return;
        }
        let scaled = u128::from(profile.references) * u128::from(profile.histogram.accesses());
        let references = u64::try_from(scaled / u128::from(self.items.max(1)));
        profile.references = references.unwrap_or(u64::MAX);
    }
}

/// Refuses what needs every access.
fn refuse_contradictions(options: &AnalysisOptions) -> Result<(), Error> {
    let gaps = "nothing is known of what is between bursts";
    let asked_for = [
        (
            options.engine != "auto",
            "--engine",
            "bursts are counted in a way of their own",
        ),
        (
            options.sample.is_some(),
            "--sample",
            "bursts are a sample already, of the time",
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
            "all distances within bursts are measured",
        ),
        (
            options.sharing != Sharing::Shared,
            "--sharing private or coherent",
            "bursts are of all threads together",
        ),
        (
            options.names != NamesMode::Instruction,
            "--names statement",
            "bursts begin and end within statements",
        ),
    ];
    let found = asked_for
        .into_iter()
        .find(|(is_asked_for, ..)| *is_asked_for);
    match found {
        Some((_, other, why)) => Err(Error::Together {
            one: "--quick",
            other,
            why,
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(items: &[u64], cell: u32) -> Columns {
        Columns {
            items: items.to_vec(),
            cells: vec![cell; items.len()],
            ..Columns::default()
        }
    }

    fn begun() -> Bursts {
        Bursts::begin(&AnalysisOptions::default()).unwrap()
    }

    fn measured(stands_for: u64) -> Sampling {
        Sampling::Measured {
            first: 200,
            stands_for,
        }
    }

    fn ended(recorded: u64, accesses: u64) -> RunEvent {
        RunEvent::Sampling(Sampling::Ended { recorded, accesses })
    }

    #[test]
    fn measured_accesses_count_for_as_many_as_they_stand_for() {
        let mut bursts = begun();
        bursts.add(&columns(&[1, 2, 1], 0));
        bursts.event(RunEvent::Sampling(Sampling::Filling { first: 200 }));
        bursts.add(&columns(&[1, 2], 1));
        bursts.event(RunEvent::Sampling(measured(10)));
        bursts.add(&columns(&[2], 1));
        // Another thread is not there yet.
        bursts.event(RunEvent::Sampling(Sampling::Filling { first: 200 }));
        bursts.add(&columns(&[9], 1));
        bursts.event(RunEvent::Sampling(measured(10)));
        bursts.add(&columns(&[1], 1));
        // What was counted for cell 1 is that of cell 3 from here on.
        bursts.add(&Columns {
            merged: vec![(1, 3)],
            ..columns(&[7], 3)
        });
        bursts.event(ended(9, 50));
        let counted = Box::new(bursts).finish();
        assert_eq!((counted.exact, counted.histogram.accesses()), (false, 33));
        let of = |cell| counted.keyed.get(cell).unwrap_or_default().0.accesses();
        assert_eq!((of(0), of(1), of(3)), (3, 0, 30));
        assert!(counted.error_bound.is_some_and(|bound| bound > 0.0));
        assert_eq!(counted.additions.len(), 1);
    }

    #[test]
    fn what_may_be_farther_counts_when_the_burst_ends_wherever_its_cell_is() {
        let mut bursts = begun();
        bursts.add(&columns(&[1, 2, 3], 0));
        bursts.event(RunEvent::Sampling(measured(8)));
        bursts.add(&columns(&[3, 2], 5));
        bursts.add(&Columns {
            merged: vec![(5, 6)],
            ..columns(&[], 6)
        });
        bursts.event(RunEvent::Sampling(Sampling::Filling { first: 300 }));
        let (of_cell, ..) = bursts.keyed.get(6).unwrap();
        assert_eq!((of_cell.accesses(), of_cell.cold()), (16, 0));
        // Half of both may be as far as all three items are apart.
        assert_eq!(of_cell.misses(3), 8);
    }

    #[test]
    fn a_run_that_ends_before_its_first_burst_is_exact_only_if_nothing_was_left_out() {
        for (accesses, exact) in [(3, true), (4, false)] {
            let mut bursts = begun();
            bursts.add(&columns(&[1, 2, 1], 0));
            bursts.event(ended(3, accesses));
            assert_eq!(Box::new(bursts).finish().exact, exact);
        }
    }
}
