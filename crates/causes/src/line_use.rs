//! [`LineUse`]: how many bytes of a line are used while it is in the cache.
//!
//! A *fill* begins at an access that misses, and ends at the next miss of its item, or at the end.
//! Exact for the fully associative cache with least recently used replacement: there a line that
//! misses was evicted in between, so that no access of the fill is another fill's.
//!
//! Cost: 6 to 8 ns per access beside the look-up of its item; 33 ns where all accesses miss and are
//! to anywhere in memory.
//!
//! Two lines of 64 bytes in a cache of one line. The first fill of line 7 uses bytes 0 to 7, and
//! bytes 8 to 15; its second fill uses bytes 0 to 7 only:
//!
//! ```
//! use reuselens_causes::{CauseCell, CauseCounts, CauseOptions, CellPlace, MissColumns, NO_OFFSET};
//! use reuselens_units::{Bytes, Distance};
//!
//! let options = CauseOptions { line_use: true, cache: Bytes(64), ..CauseOptions::default() };
//! let mut counts = CauseCounts::new(options);
//! counts.add_cells([CauseCell::default()]);
//! counts.process(&MissColumns {
//!     thread: 1,
//!     items: &[7, 7, 8, 7],
//!     distances: &[Distance::COLD, Distance::ZERO, Distance::COLD, Distance::new(1)],
//!     cells: &[0; 4],
//!     bytes: &[0x00ff, 0xff00, u64::MAX, 0x00ff],
//!     stores: &[false; 4],
//!     offsets: &[NO_OFFSET; 4],
//! });
//! let (cells, _) = counts.finish(&[CellPlace::default()]);
//! assert_eq!((cells[0].fills, cells[0].used_bytes), (3, 16 + 64 + 8));
//! // No fill has a byte that was accessed twice.
//! assert_eq!(cells[0].single_use_fills, 3);
//! ```

use reuselens_distance::growth::vec_growth;
use reuselens_hugepages::{prefetch, reserve};
use reuselens_profile::{CellCauses, ElementUse, SampledUse};
use reuselens_units::Granularity;

use crate::chunk::PreparedChunk;
use crate::element_counts::{ElementCounts, NO_PHASE};
use crate::line_sample::{FillBytes, LineSample, ObjectSums, doubtful_caches};
use crate::{CauseCell, CellPlace, MissColumns};

/// The cell of an item that no access has brought in.
const NO_CELL: u32 = u32::MAX;

/// An item's fill that has not ended.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// The bytes that were accessed.
    bytes: u64,
    /// The bytes that were accessed during earlier fills.
    before: u64,
    /// The cell of the access that made the fill.
    cell: u32,
    /// The byte of an element that is the line's first.
    phase: u16,
    /// Whether only one instruction has accessed the line, each byte at most once.
    is_single: bool,
}

impl Line {
    const EMPTY: Line = Line {
        bytes: 0,
        before: 0,
        cell: NO_CELL,
        phase: NO_PHASE,
        is_single: true,
    };
}

/// The fills of a cell.
#[derive(Clone, Copy, Debug, Default)]
struct CellFills {
    fills: u64,
    used_bytes: u64,
    new_bytes: u64,
    single: u64,
}

/// Counts fills and the bytes that are used during them.
///
/// Memory: 24 bytes per distinct item, 40 bytes per cell, and that of the counters of elements.
pub(crate) struct LineUse {
    /// The distance from which on an access misses.
    cache: u64,
    line_bytes: u64,
    /// log2 of the bytes that a bit stands for.
    bit_shift: u32,
    lines: Vec<Line>,
    fills: Vec<CellFills>,
    /// By cell, its instruction.
    sites: Vec<u32>,
    elements: ElementCounts,
    sample: Option<Box<Sample>>,
}

/// What a sample of the items needs beside the fills.
struct Sample {
    lines: LineSample,
    /// The fills of caches that are a little smaller and larger.
    others: [LineUse; 2],
}

impl LineUse {
    /// For a cache of `cache` items, with estimated distances of a share `rate` of the items.
    pub fn of_sample(cache: u64, granularity: Granularity, rate: f64) -> Self {
        let other = |cache| LineUse::new(cache, granularity);
        LineUse {
            sample: Some(Box::new(Sample {
                lines: LineSample::new(rate),
                others: doubtful_caches(cache, rate).map(other),
            })),
            ..LineUse::new(cache, granularity)
        }
    }

    /// For a cache of `cache` items, with exact distances of all items.
    pub fn new(cache: u64, granularity: Granularity) -> Self {
        LineUse {
            cache,
            line_bytes: granularity.bytes(),
            bit_shift: granularity.shift().saturating_sub(6),
            lines: Vec::new(),
            fills: Vec::new(),
            sites: Vec::new(),
            elements: ElementCounts::new(granularity),
            sample: None,
        }
    }

    pub fn add_cell(&mut self, cell: CauseCell) {
        self.sites.push(cell.site);
        self.fills.push(CellFills::default());
        self.elements.add_cell(cell);
        if let Some(sample) = &mut self.sample {
            // Of other caches only the bytes of lines are asked for.
            let cell = CauseCell {
                element_bytes: 0,
                ..cell
            };
            sample.others.iter_mut().for_each(|it| it.add_cell(cell));
        }
    }

    pub fn process(&mut self, chunk: &PreparedChunk) {
        if let Some(sample) = &mut self.sample {
            sample.others.iter_mut().for_each(|it| it.process(chunk));
        }
        let new = chunk.known.end - self.lines.len();
        reserve(&mut self.lines, new);
        self.lines.resize(chunk.known.end, Line::EMPTY);
        for &number in chunk.numbers {
            prefetch(&self.lines, number as usize);
        }
        // Columns of one length need no checks of their bounds in the loop.
        let length = chunk.runs.len();
        let MissColumns {
            distances,
            cells,
            bytes,
            offsets,
            ..
        } = chunk.columns.slice(0..length);
        for (at, &run) in chunk.runs.iter().enumerate() {
            let number = chunk.numbers[run as usize] as usize;
            let (bytes, cell, offset) = (bytes[at], cells[at], offsets[at]);
            let misses = distances[at].raw() >= self.cache;
            self.elements.access(cell, offset, misses);
            if misses {
                let phase = self.elements.phase(cell, offset, bytes);
                let line = &mut self.lines[number];
                let fill = Line {
                    bytes,
                    before: line.before | line.bytes,
                    cell,
                    phase,
                    is_single: true,
                };
                let ended = std::mem::replace(line, fill);
                self.fills[cell as usize].fills += 1;
                self.end(number as u32, &ended);
                continue;
            }
            let line = &mut self.lines[number];
            let is_single = line.bytes & bytes == 0 && {
                let (site, other) = (self.sites.get(cell as usize), line.cell as usize);
                cell == line.cell || site == self.sites.get(other)
            };
            line.is_single &= is_single;
            line.bytes |= bytes;
        }
    }

    /// Counts a fill that has ended.
    #[inline(always)]
    fn end(&mut self, number: u32, line: &Line) {
        // An item that was not brought in, as its first access is said to hit, has no cell.
        if let Some(fills) = self.fills.get_mut(line.cell as usize) {
            let used = u64::from(line.bytes.count_ones()) << self.bit_shift;
            fills.used_bytes += used;
            let new = line.bytes & !line.before;
            fills.new_bytes += u64::from(new.count_ones()) << self.bit_shift;
            fills.single += u64::from(line.is_single);
            self.elements.end(line.cell, line.phase, line.bytes);
            if let Some(sample) = &mut self.sample {
                let bytes = FillBytes {
                    brought: self.line_bytes,
                    used,
                };
                sample.lines.end(number, line.cell, bytes);
            }
        }
    }

    /// The memory held.
    pub fn memory(&self) -> u64 {
        let lines = self.lines.capacity() * size_of::<Line>();
        let cells = self.fills.capacity() * size_of::<CellFills>() + self.sites.capacity() * 4;
        let sample = self.sample.as_ref().map_or(0, |sample| {
            let others = sample.others.iter().map(LineUse::memory);
            sample.lines.memory() + others.sum::<u64>()
        });
        (lines + cells) as u64 + self.elements.memory() + sample
    }

    /// Bytes beyond [`Self::memory`] that it takes until there are `more` more items.
    pub fn growth(&self, more: usize) -> u64 {
        let others = self.sample.iter().flat_map(|sample| &sample.others);
        let others = others.map(|it| it.growth(more));
        vec_growth(&self.lines, more) as u64 + others.sum::<u64>()
    }

    /// Cells of objects whose elements have no counters for lack of room.
    pub fn cells_left_out(&self) -> u64 {
        self.elements.cells_left_out()
    }

    /// Ends the fills that have not ended.
    fn end_all(&mut self) {
        for (number, line) in (0..).zip(std::mem::take(&mut self.lines)) {
            self.end(number, &line);
        }
    }

    /// The bytes of all fills together, and by object.
    fn sums(&mut self, places: &[CellPlace]) -> ObjectSums {
        self.end_all();
        let mut sums = ObjectSums::new();
        for (fills, place) in self.fills.iter().zip(places) {
            for object in [None, Some(place.object)] {
                sums.entry(object).or_default().add(FillBytes {
                    brought: fills.fills * self.line_bytes,
                    used: fills.used_bytes,
                });
            }
        }
        sums
    }

    /// Adds the counts to those of the cells, and returns those of elements, and how well a sample
    /// knows the utilisation.
    pub fn finish(
        mut self,
        cells: &mut [CellCauses],
        places: &[CellPlace],
    ) -> (Vec<ElementUse>, Vec<SampledUse>) {
        self.end_all();
        for (cell, counts) in cells.iter_mut().zip(&self.fills) {
            cell.fills = counts.fills;
            cell.used_bytes = counts.used_bytes;
            cell.new_bytes = counts.new_bytes;
            cell.single_use_fills = counts.single;
        }
        let mut elements = self.elements.finish(places);
        let Some(mut sample) = self.sample else {
            return (elements, Vec::new());
        };
        sample.lines.scale_cells(cells, self.line_bytes);
        (elements.iter_mut()).for_each(|element| sample.lines.scale_element(element));
        let others = sample.others.each_mut().map(|it| it.sums(places));
        (elements, sample.lines.finish(places, &others))
    }
}
