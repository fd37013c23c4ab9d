//! Beside the distances: why accesses miss.
//!
//! The distances are over all threads together. Misses are those in the one cache that the options
//! name, as large as [`AnalysisOptions::causes`]; caches with sets are those of this machine.

use reuselens_attribute::{Columns, Kinds, NamesMode};
use reuselens_causes::{
    CarriedCounts, CauseCell, CauseCounts, CauseOptions, CellPlace, MissColumns, set_caches,
};
use reuselens_control_flow::BasicBlock;
use reuselens_profile::{Cell, Sharing};
use reuselens_trace as trace;
use reuselens_units::{Bytes, Distance};

use super::lanes::Lanes;
use super::observed::Observed;
use super::paths::block;
use super::sampled_causes::SampledCauses;
use super::{Addition, CountMethod, Counted, DeviceFault, Observer, RunEvent, choice};
use crate::attribution::{Uncounted, line_granularity};
use crate::budget::LOOK_AT_MEMORY_EVERY;
use crate::{AnalysisOptions, Error, carried_reuses, cause_warnings, this_machine};

/// The causes of misses. It is called with blocks of one thread at a time.
pub(super) struct Causes {
    counts: CauseCounts,
    /// Whether a sample was asked for, though all accesses are counted here.
    is_sampled: bool,
    lanes: Lanes,
    /// The number of the program thread that runs.
    lane: u32,
    /// Its process.
    process: u16,
    /// Memory for the basic blocks of a piece.
    blocks: Vec<(u32, BasicBlock)>,
}

/// A new way of counting, for misses in a cache of this size.
///
/// # Errors
/// If something is asked for that does not go together with causes, or the cache holds no item.
pub(super) fn begin(
    options: &AnalysisOptions,
    cache: Bytes,
) -> Result<Box<dyn CountMethod>, Error> {
    refuse_contradictions(options)?;
    let machine = this_machine();
    let granularity = line_granularity(&machine, options);
    if cache.items(granularity).get() == 0 {
        let item = Bytes(granularity.bytes());
        return Err(Error::NoCache { cache, item });
    }
    let causes = CauseOptions {
        granularity,
        cache,
        line_use: true,
        sharing: true,
        phases: true,
        set_caches: set_caches(&machine, granularity),
        carried: Some(CauseOptions::MOST_CARRIED),
    };
    let Some(rate) = choice::sample_rate(options) else {
        return counted_all(options, Causes::new(causes, false));
    };
    let all = AnalysisOptions {
        engine: "counting".to_owned(),
        sample: None,
        ..options.clone()
    };
    let all = counted_all(&all, Causes::new(causes.clone(), true))?;
    Ok(if rate < 1.0 {
        Box::new(SampledCauses::new(all, rate, causes, options))
    } else {
        all
    })
}

/// The engine of `options`, which is no sampled one, and the causes of all misses.
fn counted_all(options: &AnalysisOptions, causes: Causes) -> Result<Box<dyn CountMethod>, Error> {
    let method = choice::method(options, &DeviceFault::default())?;
    choice::need_distances(&*method, "--why")?;
    Ok(Observed::with(method, vec![Box::new(causes)]))
}

impl Causes {
    fn new(causes: CauseOptions, is_sampled: bool) -> Self {
        Causes {
            counts: CauseCounts::new(causes),
            is_sampled,
            lanes: Lanes::default(),
            lane: 0,
            process: 0,
            blocks: Vec::new(),
        }
    }
}

fn refused(other: &'static str, why: &'static str) -> Error {
    Error::Together {
        one: "--why",
        other,
        why,
    }
}

fn refuse_contradictions(options: &AnalysisOptions) -> Result<(), Error> {
    let reasons = [
        (
            options.sharing == Sharing::Private,
            "--sharing private",
            "causes are of misses in a cache of all threads",
        ),
        (
            options.sharing == Sharing::Coherent,
            "--sharing coherent",
            "causes are of misses in a cache of all threads, and count invalidations by themselves",
        ),
        (
            options.kinds != Kinds::All,
            "--kind",
            "bytes that other accesses use would seem unused",
        ),
        (
            options.names == NamesMode::Statement,
            "--names statement",
            "bytes that other accesses use would seem unused",
        ),
        (
            options.is_totals_only(),
            "--by program",
            "causes are those of instructions and objects",
        ),
        (
            options.paths,
            "--by path",
            "each takes the memory of a table of its own",
        ),
        (
            options.max_distance.is_some(),
            "--max-distance",
            "the bytes that are used are remembered for every item",
        ),
        (
            options.reuse_times || options.forward,
            "--times and --forward",
            "each takes the memory of a table of its own",
        ),
    ];
    match reasons.into_iter().find(|(asked, ..)| *asked) {
        Some((_, other, why)) => Err(refused(other, why)),
        None => Ok(()),
    }
}

/// A block by the addresses of its code. A compiler's block, whose bytes are unknown, has the
/// number after that of its place, as accesses have.
fn code_block(row: &trace::BasicBlock) -> BasicBlock {
    let block = block(row);
    match block.length {
        0 => BasicBlock {
            start: block.start.saturating_sub(1),
            taken: block.taken.saturating_sub(1),
            ..block
        },
        _ => block,
    }
}

/// Makes the cells known that are new in a piece.
pub(super) fn add_cells(counts: &mut CauseCounts, columns: &Columns) {
    let known = counts.cells();
    let cells = columns.sites.iter().zip(&columns.objects).skip(known);
    counts.add_cells(cells.map(|(site, cell)| CauseCell {
        site: *site,
        object: cell.object,
        element_bytes: cell.element_bytes,
        is_single: cell.is_single,
    }));
}

impl Observer for Causes {
    fn event(&mut self, event: RunEvent) {
        match event {
            RunEvent::Thread(process, thread) => {
                while let Some(lane) = self.lanes.over() {
                    self.counts.thread_ended(lane);
                }
                self.process = process.0;
                (self.lane, _) = self.lanes.number(process, thread);
            }
            RunEvent::ThreadEnded(thread) => self.lanes.end(thread),
            RunEvent::Sampling(_) => {}
        }
    }

    fn by_thread(&self) -> bool {
        true
    }

    fn add(&mut self, columns: &Columns, distances: &[Distance]) {
        add_cells(&mut self.counts, columns);
        let misses = MissColumns {
            thread: self.lane,
            items: &columns.items,
            distances,
            cells: &columns.cells,
            bytes: &columns.bytes,
            stores: &columns.stores,
            offsets: &columns.offsets,
        };
        let blocks = columns.basic_blocks.iter();
        self.blocks.clear();
        (self.blocks).extend(blocks.map(|(before, row)| (*before, code_block(row))));
        (self.counts).process_blocks(self.process, &misses, &self.blocks);
    }

    fn memory(&self) -> Bytes {
        self.counts.memory_ahead(LOOK_AT_MEMORY_EVERY)
    }

    /// Nothing can be given up.
    fn shrink(&mut self, _limit: Bytes) -> bool {
        false
    }

    fn finish(mut self: Box<Self>, counted: &mut Counted) {
        let mut carried = self.counts.take_carried().unwrap_or_default();
        self.counts.end();
        counted.scopes = std::mem::take(&mut carried.scopes);
        counted.add(CountedCauses {
            counts: self.counts,
            carried,
            is_sampled: self.is_sampled,
        });
    }
}

/// What was counted of causes.
pub(super) struct CountedCauses {
    pub counts: CauseCounts,
    /// What carries the reuses that miss.
    pub carried: CarriedCounts,
    /// Whether a sample was asked for.
    pub is_sampled: bool,
}

impl Addition for CountedCauses {
    fn write(self: Box<Self>, into: &mut Uncounted) {
        let profile = &mut into.profile;
        let place = |cell: &Cell| CellPlace {
            site: cell.site,
            object: cell.object,
        };
        let places: Vec<CellPlace> = profile.cells.iter().map(place).collect();
        let left_out = self.counts.cells_without_elements() > 0;
        let (cells, mut causes) = self.counts.finish(&places);
        causes.set_types(&into.element_types);
        for (cell, causes) in profile.cells.iter_mut().zip(cells) {
            cell.causes = causes;
        }
        let named = profile.causes.take().unwrap_or_default().scopes;
        carried_reuses::add(&mut causes, &self.carried, named, &places);
        let warnings = cause_warnings::all(profile, &causes, self.is_sampled, left_out);
        profile.warnings.extend(warnings);
        profile.causes = Some(causes);
    }
}
