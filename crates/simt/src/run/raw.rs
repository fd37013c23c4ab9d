//! [`RawRecords`]: the records of a launch as they came, by block, until all are there and can be
//! put in order. What does not fit in memory waits in a file, by block and warp.
//!
//! ```text
//! record = length  phase  site  position  part
//! ```

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use reuselens_io::varint::{Cursor, Damage, put};
use reuselens_trace::TraceError;

use crate::run::PhaseSite;
use crate::run::align::{InstructionHead, in_lockstep};
use crate::run::part::WarpPart;
use crate::run::spill::{SpillFile, Window};
use crate::run::stream::{BlockStream, BlockWriter, StreamStore};

/// Records of all blocks, up to a number of bytes in memory.
pub(super) struct RawRecords {
    blocks: BTreeMap<u32, RawBlock>,
    /// Bytes of records in memory, and how many there may be.
    held: usize,
    room: usize,
    file: Option<Arc<SpillFile>>,
    scratch: Vec<u8>,
}

/// Records of one block.
#[derive(Default)]
struct RawBlock {
    /// Those in the file, which came before the others.
    stored: Vec<StoredRecords>,
    records: Vec<u8>,
    /// Consecutive ones of one warp, and how many bytes they have.
    runs: Vec<(u32, usize)>,
}

/// Records of one warp in the file.
struct StoredRecords {
    warp: u32,
    place: Range<u64>,
}

/// Bytes of the records that are read at once, of each warp of a block.
const WINDOW: usize = 1 << 14;
/// Bytes that are written at once.
const WRITTEN: usize = 1 << 20;

impl RawRecords {
    /// For records that may take `room` bytes in memory.
    pub(super) fn new(room: usize) -> RawRecords {
        RawRecords {
            blocks: BTreeMap::new(),
            held: 0,
            room,
            file: None,
            scratch: Vec::new(),
        }
    }

    /// Adds a record with its part of an instruction.
    pub(super) fn add(
        &mut self,
        (block, warp): (u32, u32),
        (phase, site): PhaseSite,
        position: u64,
        part: &[u8],
    ) -> Result<(), TraceError> {
        let scratch = &mut self.scratch;
        scratch.clear();
        put(scratch, phase.into());
        put(scratch, site.into());
        put(scratch, position);
        let block = self.blocks.entry(block).or_default();
        let before = block.records.len();
        put(&mut block.records, (scratch.len() + part.len()) as u64);
        block.records.extend_from_slice(scratch);
        block.records.extend_from_slice(part);
        let length = block.records.len() - before;
        match block.runs.last_mut() {
            Some((last, bytes)) if *last == warp => *bytes += length,
            _ => {
                block.runs.push((warp, length));
                self.held += size_of::<(u32, usize)>();
            }
        }
        self.held += length;
        if self.held > self.room {
            self.spill()?;
        }
        Ok(())
    }

    /// Moves all records to the file.
    #[cold]
    fn spill(&mut self) -> Result<(), TraceError> {
        let file = match &self.file {
            Some(file) => Arc::clone(file),
            None => Arc::clone(self.file.insert(Arc::new(SpillFile::new()?))),
        };
        let mut out = Vec::with_capacity(WRITTEN.min(self.held));
        // Where `out` will be.
        let mut start = file.append(&[])?;
        for block in self.blocks.values_mut() {
            let (records, runs) = (
                std::mem::take(&mut block.records),
                std::mem::take(&mut block.runs),
            );
            for (warp, places) in by_warp(&runs) {
                let begin = start + out.len() as u64;
                for place in places {
                    out.extend_from_slice(&records[place]);
                }
                let place = begin..start + out.len() as u64;
                block.stored.push(StoredRecords { warp, place });
                if out.len() >= WRITTEN {
                    file.append(&out)?;
                    start += out.len() as u64;
                    out.clear();
                }
            }
        }
        file.append(&out)?;
        self.held = 0;
        Ok(())
    }

    /// Blocks that have records.
    pub(super) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Puts the records of each block in order: by phases, and within a phase by positions, if
    /// asked to, and sites.
    pub(super) fn finish(
        mut self,
        has_positions: bool,
        store: &mut StreamStore,
    ) -> Result<Vec<BlockStream>, TraceError> {
        let mut streams = Vec::with_capacity(self.blocks.len());
        while let Some((number, block)) = self.blocks.pop_first() {
            let file = self.file.as_deref();
            streams.push(block.stream(number, has_positions, file, store)?);
        }
        match &self.file {
            Some(file) => file.check().map(|()| streams),
            None => Ok(streams),
        }
    }
}

/// Where the records of each warp are.
fn by_warp(runs: &[(u32, usize)]) -> BTreeMap<u32, Vec<Range<usize>>> {
    let mut warps: BTreeMap<u32, Vec<Range<usize>>> = BTreeMap::new();
    let mut start = 0;
    for &(warp, length) in runs {
        warps.entry(warp).or_default().push(start..start + length);
        start += length;
    }
    warps
}

impl RawBlock {
    fn stream(
        self,
        number: u32,
        has_positions: bool,
        file: Option<&SpillFile>,
        store: &mut StreamStore,
    ) -> Result<BlockStream, TraceError> {
        let mut windows: BTreeMap<u32, Vec<Window<'_>>> = BTreeMap::new();
        for stored in &self.stored {
            let place = || stored.place.clone();
            let window = file.map(|file| Window::of_file(file, place(), WINDOW));
            windows.entry(stored.warp).or_default().extend(window);
        }
        for (warp, places) in by_warp(&self.runs) {
            let of_place = |place| Window::Memory {
                bytes: &self.records[place],
                at: 0,
            };
            let own = windows.entry(warp).or_default();
            own.extend(places.into_iter().map(of_place));
        }
        let of_warp = |windows| WarpRecords::new(windows, has_positions);
        let mut heads: Vec<WarpRecords<'_>> = windows.into_values().map(of_warp).collect();
        let mut block = BlockWriter::new(number, store);
        in_lockstep(&mut heads, |(phase, _, site), heads, issued| {
            for &warp in issued {
                let part = heads[warp].part();
                let touches = WarpPart::read(part, &mut 0).map_or(0, |part| part.touches());
                block.part(part, touches);
            }
            block.end((phase, site))
        })?;
        block.finish()
    }
}

/// The records of a warp, one after the other.
struct WarpRecords<'a> {
    /// The last one is read now.
    windows: Vec<Window<'a>>,
    has_positions: bool,
    head: Option<RecordHead>,
}

/// A record, and where its part is in the window.
struct RecordHead {
    phase: u32,
    site: u32,
    position: u64,
    part: Range<usize>,
}

impl<'a> WarpRecords<'a> {
    fn new(mut windows: Vec<Window<'a>>, has_positions: bool) -> WarpRecords<'a> {
        windows.reverse();
        let mut records = WarpRecords {
            windows,
            has_positions,
            head: None,
        };
        records.advance();
        records
    }

    /// What the record's threads touch.
    fn part(&self) -> &[u8] {
        match (&self.head, self.windows.last()) {
            (Some(head), Some(window)) => &window.bytes()[head.part.clone()],
            _ => &[],
        }
    }

    fn read(&mut self) -> Option<RecordHead> {
        loop {
            let window = self.windows.last_mut()?;
            let Some(place) = window.next() else {
                self.windows.pop();
                continue;
            };
            let mut cursor = Cursor::new(&window.bytes()[..place.end], place.start);
            let mut head = || -> Result<RecordHead, Damage> {
                Ok(RecordHead {
                    phase: cursor.small()?,
                    site: cursor.small()?,
                    position: cursor.number()?,
                    part: cursor.at()..place.end,
                })
            };
            return head().ok();
        }
    }
}

impl InstructionHead for WarpRecords<'_> {
    type Key = (u32, u64, u32);

    #[inline]
    fn key(&self) -> Option<(u32, u64, u32)> {
        let head = self.head.as_ref()?;
        let position = if self.has_positions { head.position } else { 0 };
        Some((head.phase, position, head.site))
    }

    fn advance(&mut self) {
        self.head = self.read();
    }
}
