//! [`KernelRun::read`]: reads one launch of a stream of warp instructions into a [`KernelRun`], as
//! [`Loading`] selects.

use std::sync::Arc;

use reuselens_warp::{LANES, Launch, Space, WarpBatch, WarpRow, WarpSource, WarpStep};

use crate::SimtError;
use crate::run::KernelRun;
use crate::run::align::Alignment;
use crate::run::items::{Grain, ItemClass, Numbering, OUTSIDE};
use crate::run::part::put_part;
use crate::run::raw::RawRecords;
use crate::run::stream::StreamStore;
use crate::transactions::{SECTOR, Transactions};

/// What of a stream is looked at, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loading {
    /// Which launch, from 1.
    pub launch: usize,
    /// Which memories.
    pub spaces: Spaces,
    /// What counts as the same data.
    pub grain: Grain,
    /// How warps of a block are put in lockstep.
    pub alignment: Alignment,
    /// Only this block, by its number in the grid.
    pub block: Option<u32>,
    /// Which items.
    pub class: ItemClass,
    /// Bytes that the analysis may take. Streams that do not fit in a quarter of it are kept in a
    /// temporary file.
    pub memory: u64,
}

impl Default for Loading {
    /// Elements of global memory in the first launch, warps aligned by sites, all in memory.
    fn default() -> Loading {
        Loading {
            launch: 1,
            spaces: Spaces::of(&[Space::Global]),
            grain: Grain::Element,
            alignment: Alignment::Sites,
            block: None,
            class: ItemClass::ALL,
            memory: u64::MAX,
        }
    }
}

/// A set of memory spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spaces(u8);

impl Spaces {
    /// All spaces; equal addresses of different ones are different data.
    pub const ALL: Spaces = Spaces(u8::MAX);

    /// Those.
    pub fn of(spaces: &[Space]) -> Spaces {
        Spaces(spaces.iter().fold(0, |set, space| set | 1 << *space as u8))
    }

    /// Whether it is one of them.
    pub fn has(self, space: Space) -> bool {
        self.0 >> space as u8 & 1 != 0
    }
}

/// Threads of a block are numbered in 16 bits, and items in 32.
const MAX_THREADS: u64 = 1 << 16;
const MAX_ITEMS: u64 = 1 << 31;
/// Bytes that are read at once from each stream in the file, at most and at least.
const WINDOWS: std::ops::RangeInclusive<u64> = 1 << 8..=1 << 16;

impl KernelRun {
    /// Reads one launch of a stream. Memory: as [`Loading::memory`] says; while it is read, 6 to 12
    /// bytes for each item beside what the run holds in the end.
    ///
    /// # Errors
    /// [`SimtError::Trace`] if the stream cannot be read, or a temporary file not be written;
    /// [`SimtError::Unfit`] if it has no such launch; [`SimtError::TooLarge`] for blocks over 65536
    /// threads, and over 2³¹ items; [`SimtError::TooManyItems`] if those of the class take more
    /// than half of the memory.
    pub fn read(source: &mut dyn WarpSource, loading: Loading) -> Result<KernelRun, SimtError> {
        let mut batch = WarpBatch::new();
        let mut seen = Vec::new();
        loop {
            match source.next(&mut batch)? {
                WarpStep::Launch(launch) if seen.len() + 1 == loading.launch => {
                    return read(source, launch, loading);
                }
                WarpStep::Launch(launch) => seen.push(launch.kernel),
                WarpStep::Batch => {}
                WarpStep::End => return Err(absent(loading.launch, &seen)),
            }
        }
    }
}

fn absent(wanted: usize, seen: &[String]) -> SimtError {
    let names: Vec<String> = seen
        .iter()
        .enumerate()
        .take(20)
        .map(|(at, name)| format!("{} {name}", at + 1))
        .collect();
    SimtError::Unfit(if names.is_empty() {
        "the stream has no launch of a kernel: there is nothing to analyse".to_owned()
    } else {
        format!(
            "the stream has no launch {wanted}; it has {}",
            names.join(", ")
        )
    })
}

fn read(
    source: &mut dyn WarpSource,
    launch: Launch,
    loading: Loading,
) -> Result<KernelRun, SimtError> {
    let threads = launch.block.count();
    check("threads of a block", threads, MAX_THREADS)?;
    let mut reading = Reading {
        loading,
        numbering: Numbering::new(loading.grain, loading.class),
        loaded: Transactions::default(),
        sectors: Vec::new(),
        // Buffers grow by doubling.
        records: RawRecords::new(quarter(loading.memory) / 2),
        part: Vec::new(),
        lanes: Vec::new(),
        items: Vec::new(),
        uses_shared: false,
    };
    let mut batch = WarpBatch::new();
    let is_last = loop {
        match source.next(&mut batch)? {
            WarpStep::Batch => reading.add(&batch)?,
            WarpStep::Launch(_) => break false,
            WarpStep::End => break true,
        }
    };
    let Reading {
        numbering,
        records,
        loaded,
        uses_shared,
        ..
    } = reading;
    let items = numbering.finish();
    // Windows of all blocks, on each thread of an analysis.
    let windows = (records.blocks() * reuselens_workers::processors().get()).max(1) as u64;
    let window = (loading.memory / 16 / windows).clamp(*WINDOWS.start(), *WINDOWS.end());
    let mut store = StreamStore::new(quarter(loading.memory), window as usize);
    store.is_partial = loading.class.is_partial();
    let blocks = records.finish(loading.alignment == Alignment::Positions, &mut store)?;
    Ok(KernelRun {
        launch,
        blocks,
        items: Arc::new(items),
        grain: loading.grain,
        is_last,
        uses_shared,
        class: loading.class,
        loaded: (loading.grain == Grain::Element).then_some(loaded),
        file: store.file,
    })
}

fn quarter(memory: u64) -> usize {
    usize::try_from(memory / 4).unwrap_or(usize::MAX)
}

/// What was read of a launch so far.
struct Reading {
    loading: Loading,
    numbering: Numbering,
    records: RawRecords,
    loaded: Transactions,
    sectors: Vec<u64>,
    /// Of the record that is read.
    part: Vec<u8>,
    lanes: Vec<u8>,
    items: Vec<u32>,
    uses_shared: bool,
}

impl Reading {
    fn add(&mut self, batch: &WarpBatch) -> Result<(), SimtError> {
        let has_shared = || batch.rows().any(|row| row.space == Space::Shared);
        self.uses_shared = self.uses_shared || has_shared();
        let Loading { spaces, block, .. } = self.loading;
        let is_wanted = |row: &WarpRow<'_>| {
            spaces.has(row.space) && block.is_none_or(|block| block == row.block)
        };
        for row in batch.rows().filter(is_wanted) {
            self.part(&row);
            let place = (row.phase, row.site);
            let of = (row.block, row.warp);
            self.records.add(of, place, row.position, &self.part)?;
        }
        let limit = self.loading.memory;
        if self.numbering.bytes() > limit / 2 {
            return Err(SimtError::TooManyItems { limit });
        }
        check("distinct items", self.numbering.len() as u64, MAX_ITEMS)
    }

    /// Makes what a record touches.
    fn part(&mut self, row: &WarpRow<'_>) {
        self.lanes.clear();
        self.items.clear();
        self.sectors.clear();
        for (lane, &address) in row.lanes().zip(row.addresses) {
            let thread = row.warp * LANES as u32 + lane;
            let (first, last) = self.loading.grain.cover(address, row.bytes);
            for item in first..=last {
                let number = &mut self.numbering;
                let number = number.number(row.space, row.block, thread, item, row.bytes);
                self.lanes.push(lane as u8);
                self.items.push(number);
                let sector = address / SECTOR;
                if number != OUTSIDE && self.sectors.last() != Some(&sector) {
                    self.sectors.push(sector);
                }
            }
        }
        if !self.sectors.is_sorted() {
            self.sectors.sort_unstable();
            self.sectors.dedup();
        }
        self.loaded.requests += 1;
        self.loaded.sectors += self.sectors.len() as u64;
        self.part.clear();
        put_part(&mut self.part, row.warp, &self.lanes, &self.items);
    }
}

fn check(what: &'static str, found: u64, limit: u64) -> Result<(), SimtError> {
    if found <= limit {
        return Ok(());
    }
    Err(SimtError::TooLarge {
        what,
        found,
        limit,
        hint: "run the kernel on smaller data",
    })
}
