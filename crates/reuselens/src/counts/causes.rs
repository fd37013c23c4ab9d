//! Beside the distances: why accesses miss.
//!
//! The distances are over all threads together. Misses are those in the one cache that the options
//! name, as large as [`AnalysisOptions::causes`]; caches with sets are those of this machine.

use reuselens_attribute::{Columns, Kinds, NamesMode};
use reuselens_causes::{CauseCell, CauseCounts, CauseOptions, MissColumns, set_caches};
use reuselens_control_flow::BasicBlock;
use reuselens_profile::Sharing;
use reuselens_trace::{self as trace, ProcessId, ThreadId};
use reuselens_units::Bytes;

use super::lanes::Lanes;
use super::paths::block;
use super::sampled_causes::SampledCauses;
use super::{
    CountMethod, Counted, DeviceFault, DistanceMethod, ThreadMethod, Together, sample_rate,
};
use crate::attribution::line_granularity;
use crate::budget::LOOK_AT_MEMORY_EVERY;
use crate::{AnalysisOptions, Error, this_machine};

/// A way of counting, and the causes of misses beside it. It is called with blocks of one thread at
/// a time.
pub(super) struct Causes {
    inner: Box<dyn DistanceMethod>,
    counts: CauseCounts,
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
) -> Result<Box<dyn ThreadMethod>, Error> {
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
    let Some(rate) = sample_rate(options) else {
        return Ok(Box::new(Causes::new(options, causes)?));
    };
    let all = AnalysisOptions {
        engine: "counting".to_owned(),
        sample: None,
        ..options.clone()
    };
    let all = Causes::new(&all, causes.clone())?;
    Ok(match rate < 1.0 {
        true => Box::new(SampledCauses::new(all, rate, causes, options)),
        false => Box::new(all),
    })
}

impl Causes {
    /// Counts these causes with the engine of `options`, which is no sampled one.
    fn new(options: &AnalysisOptions, causes: CauseOptions) -> Result<Self, Error> {
        let Together::WithDistances(inner) = super::counts(options, &DeviceFault::default())?
        else {
            return Err(refused(
                "this --engine",
                "it does not tell the distance of every access in order; counting does",
            ));
        };
        Ok(Causes {
            inner,
            process: 0,
            blocks: Vec::new(),
            counts: CauseCounts::new(causes),
            lanes: Lanes::default(),
            lane: 0,
        })
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

impl CountMethod for Causes {
    fn add(&mut self, columns: &Columns) {
        self.inner.add(columns);
        add_cells(&mut self.counts, columns);
        let misses = MissColumns {
            thread: self.lane,
            items: &columns.items,
            distances: self.inner.distances(),
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

    fn accesses(&self) -> u64 {
        self.inner.accesses()
    }

    fn memory(&self) -> Bytes {
        self.inner.memory() + self.counts.memory_ahead(LOOK_AT_MEMORY_EVERY)
    }

    /// Nothing can be given up.
    fn shrink(&mut self, _limit: Bytes, _whole: Bytes) -> bool {
        false
    }

    fn finish(mut self: Box<Self>) -> Counted {
        let mut counted = self.inner.finish();
        counted.more.carried = self.counts.take_carried();
        self.counts.end();
        counted.more.causes = Some(self.counts);
        counted
    }
}

impl ThreadMethod for Causes {
    fn thread(&mut self, process: ProcessId, thread: ThreadId) {
        while let Some(lane) = self.lanes.over() {
            self.counts.thread_ended(lane);
        }
        self.process = process.0;
        (self.lane, _) = self.lanes.number(process, thread);
    }

    fn thread_ended(&mut self, thread: ThreadId) {
        self.lanes.end(thread);
    }

    /// Threads have no engines of their own.
    fn steps(&self) -> u64 {
        self.inner.accesses()
    }
}
