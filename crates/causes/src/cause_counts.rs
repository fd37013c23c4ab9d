//! [`CauseCounts`]: all analyses together.

use reuselens_control_flow::BasicBlock;
use reuselens_profile::{Causes, CellCauses, SetCache};
use reuselens_units::{Bytes, Granularity};

use crate::carried::{Carried, CarriedCounts};
use crate::chunk::{CHUNK, ChunkMaker};
use crate::conflicts::Conflicts;
use crate::item_numbers::ItemNumbers;
use crate::line_use::LineUse;
use crate::phases::Phases;
use crate::sharing::LineSharing;
use crate::{CauseCell, CellPlace, MissColumns};

/// Which analyses run, and of which cache. By default none does.
#[derive(Clone, Debug, PartialEq)]
pub struct CauseOptions {
    /// Bytes per item.
    pub granularity: Granularity,
    /// The cache of all threads together, fully associative: an access to an item misses if its
    /// distance is at least the number of items that the cache holds. At least one item.
    pub cache: Bytes,
    /// Whether the bytes that are used of each line are counted, and those of elements.
    pub line_use: bool,
    /// Whether invalidations by true and false sharing are counted.
    pub sharing: bool,
    /// Whether intervals of the run are counted.
    pub phases: bool,
    /// The caches of which misses with their sets are counted: see
    /// [`set_caches`](crate::set_caches). At most eight.
    pub set_caches: Vec<SetCache>,
    /// The most pairs of cells and a carrier that are counted by themselves, if what carries reuses
    /// is counted. The rarest of more count for the cell that misses alone.
    /// [`Self::MOST_CARRIED`] is a choice.
    pub carried: Option<usize>,
}

impl CauseOptions {
    /// Pairs of cells and a carrier: more than programs of a thousand loops have, in 1 MB.
    pub const MOST_CARRIED: usize = 1 << 14;
}

impl Default for CauseOptions {
    fn default() -> Self {
        CauseOptions {
            granularity: Granularity::LINE_64,
            cache: Bytes(64),
            line_use: false,
            sharing: false,
            phases: false,
            set_caches: Vec::new(),
            carried: None,
        }
    }
}

/// Counts why accesses miss, from pieces of a trace in their order. However the accesses of a
/// thread are cut into pieces, the counts are the same.
///
/// All analyses are exact. They share one look-up of each item in a hash table.
///
/// Memory: 24 to 48 bytes per distinct item, and what each analysis adds (24 for the use of lines,
/// 16 for what carries reuses where there are basic blocks, 1 for phases, 4 for sharing where there
/// are several threads, and up to twice that where a table has just grown); it does not grow with
/// the length of the trace.
///
/// ```
/// use reuselens_causes::{CauseCell, CauseCounts, CauseOptions, CellPlace, MissColumns, NO_OFFSET};
/// use reuselens_units::{Bytes, Distance};
///
/// let cache = Bytes(32 << 10);
/// let options = CauseOptions { line_use: true, cache, ..CauseOptions::default() };
/// let mut counts = CauseCounts::new(options);
/// // Cells are made known before their first accesses.
/// let cell = CauseCell { site: 1, object: 1, element_bytes: 16, ..CauseCell::default() };
/// counts.add_cells([cell]);
/// counts.process(&MissColumns {
///     thread: 0,
///     items: &[7, 7],
///     distances: &[Distance::COLD, Distance::ZERO],
///     cells: &[0, 0],
///     bytes: &[0xff, 0xff << 16],
///     stores: &[false, true],
///     offsets: &[0, NO_OFFSET],
/// });
/// // At the end the caller knows where each cell is in the tables of the profile.
/// let (cells, causes) = counts.finish(&[CellPlace { site: 1, object: 1 }]);
/// assert_eq!(cells[0].used_bytes, 16);
/// assert_eq!(causes.elements[0].used[0], 2);
/// ```
pub struct CauseCounts {
    cache: Bytes,
    /// The share of the items whose accesses are passed, if not all are.
    rate: Option<f64>,
    /// The distance from which on an access misses.
    items: u64,
    cells: usize,
    numbers: ItemNumbers,
    chunks: Box<ChunkMaker>,
    line_use: Option<LineUse>,
    sharing: Option<LineSharing>,
    phases: Option<Phases>,
    conflicts: Option<Conflicts>,
    carried: Option<Carried>,
}

impl CauseCounts {
    /// Of no accesses.
    ///
    /// # Panics
    /// If there are more than eight caches with sets, or one of them has no sets, no ways, or more
    /// than 2²⁴ lines (a fault of the caller).
    pub fn new(options: CauseOptions) -> Self {
        Self::with(options, None)
    }

    /// Of no accesses, for callers that pass only the accesses to a random sample of the items,
    /// with distances as an [`ItemSample`](reuselens_distance::ItemSample) estimates them. `rate`:
    /// the probability of an item to be in it, above 0 and up to 1.
    ///
    /// Counts of the use of lines are scaled to all items, and [`Causes::sampled_use`] bounds the
    /// utilisation. The other analyses do not run. Those of sets and phases need all accesses;
    /// sharing is often that of a few lines, which a sample misses.
    ///
    /// # Panics
    /// If the rate is another one (a fault of the caller).
    pub fn of_sample(options: CauseOptions, rate: f64) -> Self {
        assert!(rate > 0.0 && rate <= 1.0, "a probability");
        let options = CauseOptions {
            sharing: false,
            phases: false,
            set_caches: Vec::new(),
            carried: None,
            ..options
        };
        Self::with(options, Some(rate))
    }

    fn with(options: CauseOptions, rate: Option<f64>) -> Self {
        let granularity = options.granularity;
        let items = options.cache.items(granularity).get().max(1);
        let has_sets = !options.set_caches.is_empty();
        CauseCounts {
            cache: options.cache,
            rate,
            items,
            cells: 0,
            numbers: ItemNumbers::new(),
            chunks: Box::new(ChunkMaker::new()),
            line_use: options.line_use.then(|| match rate {
                Some(rate) => LineUse::of_sample(items, granularity, rate),
                None => LineUse::new(items, granularity),
            }),
            sharing: options.sharing.then(LineSharing::new),
            phases: options.phases.then(Phases::new),
            conflicts: has_sets.then(|| Conflicts::new(options.set_caches, granularity)),
            carried: options.carried.map(|most| Carried::new(items, most)),
        }
    }

    /// The number of cells that are known.
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// Makes the next cells known, in the order of their numbers.
    pub fn add_cells(&mut self, cells: impl IntoIterator<Item = CauseCell>) {
        for cell in cells {
            self.cells += 1;
            self.line_use.iter_mut().for_each(|it| it.add_cell(cell));
            self.sharing.iter_mut().for_each(|it| it.add_cell(cell));
            self.phases.iter_mut().for_each(|it| it.add_cell(cell));
            self.conflicts.iter_mut().for_each(Conflicts::add_cell);
        }
    }

    /// Counts the next accesses, all of one thread, of which no basic blocks are known. The
    /// distances of threads are in the order in which their pieces are counted.
    ///
    /// # Panics
    /// If the columns differ in length, or a cell is not known (faults of the caller). At more than
    /// 2³² − 2 distinct items.
    pub fn process(&mut self, columns: &MissColumns) {
        self.process_blocks(0, columns, &[]);
    }

    /// Counts the next accesses of a thread of `process`, and the basic blocks that began in them,
    /// each with the number of these accesses before it, ascending. What carries reuses asks for
    /// the blocks.
    ///
    /// # Panics
    /// As [`Self::process`].
    pub fn process_blocks(
        &mut self,
        process: u16,
        columns: &MissColumns,
        blocks: &[(u32, BasicBlock)],
    ) {
        let (mut from, mut blocks) = (0, blocks);
        while from < columns.len() {
            let room = self.phases.as_mut().map_or(u64::MAX, Phases::room);
            let most = CHUNK.min(columns.len() - from) as u64;
            let to = from + most.min(room) as usize;
            let chunk = columns.slice(from..to);
            let chunk = self.chunks.make(chunk, self.items, &mut self.numbers);
            self.line_use.iter_mut().for_each(|it| it.process(&chunk));
            self.sharing.iter_mut().for_each(|it| it.process(&chunk));
            self.phases.iter_mut().for_each(|it| it.process(&chunk));
            self.conflicts.iter_mut().for_each(|it| it.process(&chunk));
            if let Some(carried) = &mut self.carried {
                let here = blocks.partition_point(|(before, _)| (*before as usize) < to);
                let (here, later) = blocks.split_at(here);
                carried.process(process, &chunk, (from as u32, here));
                blocks = later;
            }
            from = to;
        }
        if let Some(carried) = &mut self.carried {
            carried.enter(process, columns.thread, blocks);
        }
    }

    /// What carries the reuses so far, if that is counted. It is not counted from then on.
    pub fn take_carried(&mut self) -> Option<CarriedCounts> {
        self.carried.take().map(Carried::finish)
    }

    /// Cells of objects whose bytes of elements are not counted for lack of room: beyond 2²⁰ bytes
    /// of elements of all objects together.
    pub fn cells_without_elements(&self) -> u64 {
        self.line_use.as_ref().map_or(0, LineUse::cells_left_out)
    }

    /// A thread has ended. Accesses of its number are those of another thread from now on.
    pub fn thread_ended(&mut self, thread: u32) {
        if let Some(sharing) = &mut self.sharing {
            sharing.thread_ended(thread);
        }
        if let Some(carried) = &mut self.carried {
            carried.thread_ended(thread);
        }
    }

    /// Frees what only counting needs, before names and the profile are made beside the counts: no
    /// access may be added after that.
    pub fn end(&mut self) {
        self.conflicts
            .iter_mut()
            .for_each(Conflicts::forget_contents);
    }

    /// The memory held.
    pub fn memory(&self) -> Bytes {
        let chunks = size_of::<ChunkMaker>() as u64;
        let parts = [
            self.line_use.as_ref().map_or(0, LineUse::memory),
            self.sharing.as_ref().map_or(0, LineSharing::memory),
            self.phases.as_ref().map_or(0, Phases::memory),
            self.conflicts.as_ref().map_or(0, Conflicts::memory),
            self.carried.as_ref().map_or(0, Carried::memory),
        ];
        Bytes(self.numbers.memory() + chunks + parts.iter().sum::<u64>())
    }

    /// The most memory held until `accesses` more accesses are counted, of which at most as many
    /// are to new items as there are items.
    pub fn memory_ahead(&self, accesses: u64) -> Bytes {
        let known = self.numbers.count();
        let more = usize::try_from(accesses).map_or(known, |accesses| accesses.min(known));
        let growth = [
            self.numbers.growth(more),
            self.line_use.as_ref().map_or(0, |it| it.growth(more)),
            self.sharing.as_ref().map_or(0, |it| it.growth(more)),
            self.phases.as_ref().map_or(0, |it| it.growth(more)),
            self.carried.as_ref().map_or(0, |it| it.growth(more)),
        ];
        self.memory() + Bytes(growth.iter().sum())
    }

    /// The counts of each cell, and what belongs to no single cell, but for
    /// [what carries reuses](Self::take_carried). `places` has an entry for each
    /// cell; the indices are those of the profile.
    ///
    /// # Panics
    /// If `places` is shorter than the cells are many (a fault of the caller).
    pub fn finish(self, places: &[CellPlace]) -> (Vec<CellCauses>, Causes) {
        assert!(self.cells <= places.len(), "a place for each cell");
        let mut cells = vec![CellCauses::default(); self.cells];
        let lines = self.line_use.map(|it| it.finish(&mut cells, places));
        let (elements, sampled_use) = lines.unwrap_or_default();
        let shared = self.sharing.map(|it| it.finish(&mut cells, places));
        let (shared, unlisted_pairs) = shared.unwrap_or_default();
        let phases = self.phases.map(|it| it.finish(places));
        let set_caches = self.conflicts.map(|it| it.finish(&mut cells));
        let causes = Causes {
            cache: self.cache,
            sample_rate: self.rate,
            elements,
            sampled_use,
            shared,
            unlisted_pairs,
            set_caches: set_caches.unwrap_or_default(),
            phases: phases.unwrap_or_default(),
            ..Causes::default()
        };
        (cells, causes)
    }
}
