//! [`BlockStream`]: the memory instructions of one block, as bytes ([`WarpPart`]) in memory or in a
//! file. [`BlockWriter`] makes it.
//!
//! ```text
//! stream      = instruction…
//! instruction = length  site  step of the phase  part…       one part for each warp
//! ```

use std::ops::Range;
use std::sync::Arc;

use reuselens_io::varint::{Cursor, put};
use reuselens_trace::TraceError;
use reuselens_warp::LANES;

use crate::run::part::{WarpPart, put_part};
use crate::run::spill::{SpillFile, Window};
use crate::run::{OUTSIDE, PhaseSite};

/// The stream of memory instructions of one block: all its threads in lockstep.
///
/// Memory: about 10 bytes for each memory instruction of a warp whose touches have numbers evenly
/// apart, and up to 4 for each touch of others.
#[derive(Clone, Debug)]
pub struct BlockStream {
    /// Its index in the grid.
    pub number: u32,
    instructions: usize,
    touches: usize,
    /// Whether it touches items outside the class.
    is_partial: bool,
    stored: StoredStream,
}

#[derive(Clone, Debug)]
enum StoredStream {
    Memory(Box<[u8]>),
    File {
        file: Arc<SpillFile>,
        place: Range<u64>,
        /// Bytes that are read at once.
        window: usize,
    },
}

/// A memory instruction of a block, with all that its threads access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockInstruction<'a> {
    /// Its phase: see [`WarpAccess::phase`](reuselens_warp::WarpAccess::phase).
    pub phase: u32,
    /// Which instruction of the kernel it is.
    pub site: u32,
    /// The items that it touches, in order of threads; one for each touch.
    pub items: &'a [u32],
    /// The threads of the touches, rising. A thread that touches several items at once is there
    /// several times.
    pub threads: &'a [u16],
}

impl BlockStream {
    /// Number of memory instructions.
    pub fn len(&self) -> usize {
        self.instructions
    }

    /// Whether it accesses nothing.
    pub fn is_empty(&self) -> bool {
        self.instructions == 0
    }

    /// Touches of all instructions, of items of all classes.
    pub fn touches(&self) -> usize {
        self.touches
    }

    /// Calls `each` with the instructions, in order, and what they touch of the items' class.
    pub fn visit(&self, mut each: impl FnMut(BlockInstruction<'_>)) {
        let (mut items, mut threads) = (Vec::new(), Vec::new());
        let mut cursor = self.cursor();
        while let Some(found) = cursor.next() {
            items.clear();
            threads.clear();
            for part in found.parts() {
                part.items_into(&mut items);
                part.threads_into(&mut threads);
            }
            if self.is_partial {
                let mut inside = items.iter().map(|&item| item != OUTSIDE);
                threads.retain(|_| inside.next() == Some(true));
                items.retain(|&item| item != OUTSIDE);
            }
            each(BlockInstruction {
                phase: found.phase,
                site: found.site,
                items: &items,
                threads: &threads,
            });
        }
    }

    /// The distinct items that it touches, rising.
    pub fn footprint(&self) -> Vec<u32> {
        let mut items = DistinctItems::default();
        self.visit(|found| items.extend(found.items));
        items.finish()
    }

    /// Reads its instructions, one after the other.
    pub(crate) fn cursor(&self) -> BlockCursor<'_> {
        let window = match &self.stored {
            StoredStream::Memory(bytes) => Window::Memory { bytes, at: 0 },
            StoredStream::File {
                file,
                place,
                window,
            } => Window::of_file(file, place.clone(), *window),
        };
        BlockCursor { window, phase: 0 }
    }

    /// Bytes that it holds in memory.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<BlockStream>()
            + match &self.stored {
                StoredStream::Memory(bytes) => bytes.len(),
                StoredStream::File { .. } => 0,
            }
    }
}

/// Distinct items. Memory: about 8 bytes for each.
#[derive(Debug, Default)]
pub(crate) struct DistinctItems {
    /// The first ones are distinct and rise.
    items: Vec<u32>,
    sorted: usize,
}

impl DistinctItems {
    pub(crate) fn extend(&mut self, items: &[u32]) {
        self.items.extend_from_slice(items);
        if self.items.len() > 2 * self.sorted + (1 << 12) {
            self.sort();
        }
    }

    fn sort(&mut self) {
        self.items.sort_unstable();
        self.items.dedup();
        self.sorted = self.items.len();
    }

    /// The items, rising.
    pub(crate) fn finish(mut self) -> Vec<u32> {
        self.sort();
        self.items
    }
}

/// Streams are equal if their instructions are, wherever they are stored.
impl PartialEq for BlockStream {
    fn eq(&self, other: &BlockStream) -> bool {
        let head = |stream: &BlockStream| (stream.number, stream.instructions, stream.touches);
        if head(self) != head(other) {
            return false;
        }
        let (mut own, mut others) = (self.cursor(), other.cursor());
        while let (Some(own), Some(other)) = (own.next(), others.next()) {
            if own != other {
                return false;
            }
        }
        true
    }
}

impl Eq for BlockStream {}

/// Reads the instructions of a block.
pub(crate) struct BlockCursor<'a> {
    window: Window<'a>,
    phase: u32,
}

/// An instruction whose touches were not looked at yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PackedInstruction<'a> {
    phase: u32,
    site: u32,
    parts: &'a [u8],
}

impl BlockCursor<'_> {
    /// The next instruction.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<PackedInstruction<'_>> {
        let place = self.window.next()?;
        let bytes = &self.window.bytes()[place];
        let mut cursor = Cursor::new(bytes, 0);
        let site = cursor.small().ok()?;
        self.phase += cursor.small::<u32>().ok()?;
        Some(PackedInstruction {
            phase: self.phase,
            site,
            parts: &bytes[cursor.at()..],
        })
    }
}

impl<'a> PackedInstruction<'a> {
    /// What its warps touch, in order of warps.
    #[inline]
    pub(crate) fn parts(self) -> impl Iterator<Item = WarpPart<'a>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let has_more = at < self.parts.len();
            has_more.then(|| WarpPart::read(self.parts, &mut at).ok())?
        })
    }
}

/// Where streams go: memory while they fit, then a file.
#[derive(Debug)]
pub(crate) struct StreamStore {
    /// Bytes that streams may still take in memory.
    room: usize,
    /// Bytes to read at once from each stream in the file.
    window: usize,
    pub(crate) file: Option<Arc<SpillFile>>,
    /// Whether streams touch items outside the class.
    pub(crate) is_partial: bool,
}

/// Bytes that are written at once.
const WRITTEN: usize = 1 << 18;

impl StreamStore {
    /// For streams that may take `room` bytes together.
    pub(crate) fn new(room: usize, window: usize) -> StreamStore {
        StreamStore {
            room,
            window,
            file: None,
            is_partial: false,
        }
    }

    /// In memory, whatever it takes.
    pub(crate) fn unlimited() -> StreamStore {
        StreamStore::new(usize::MAX, 0)
    }
}

/// Makes a block's stream. Phases do not fall from one instruction to the next.
pub(crate) struct BlockWriter<'s> {
    store: &'s mut StreamStore,
    stream: BlockStream,
    phase: u32,
    /// Parts of the instruction that is being made.
    parts: Vec<u8>,
    head: Vec<u8>,
    out: Vec<u8>,
    /// What was written to the file.
    written: Option<Range<u64>>,
    /// The warp whose touches come one by one, and these.
    warp: u32,
    lanes: Vec<u8>,
    items: Vec<u32>,
}

impl<'s> BlockWriter<'s> {
    pub(crate) fn new(number: u32, store: &'s mut StreamStore) -> BlockWriter<'s> {
        let is_partial = store.is_partial;
        BlockWriter {
            store,
            stream: BlockStream {
                number,
                instructions: 0,
                touches: 0,
                is_partial,
                stored: StoredStream::Memory(Box::default()),
            },
            phase: 0,
            parts: Vec::new(),
            head: Vec::new(),
            out: Vec::new(),
            written: None,
            warp: 0,
            lanes: Vec::new(),
            items: Vec::new(),
        }
    }

    /// Adds what a warp touches to the instruction that is being made, as [`put_part`] put it.
    pub(crate) fn part(&mut self, bytes: &[u8], touches: usize) {
        self.parts.extend_from_slice(bytes);
        self.stream.touches += touches;
    }

    /// Adds a touch to the instruction that is being made. Threads do not fall.
    #[inline]
    pub(crate) fn touch(&mut self, thread: u16, item: u32) {
        let (warp, lane) = (u32::from(thread) / LANES as u32, thread % LANES as u16);
        if warp != self.warp {
            self.end_warp();
            self.warp = warp;
        }
        self.lanes.push(lane as u8);
        self.items.push(item);
    }

    fn end_warp(&mut self) {
        if !self.items.is_empty() {
            put_part(&mut self.parts, self.warp, &self.lanes, &self.items);
            self.stream.touches += self.items.len();
            self.lanes.clear();
            self.items.clear();
        }
    }

    /// Ends the instruction that is being made.
    pub(crate) fn end(&mut self, (phase, site): PhaseSite) -> Result<(), TraceError> {
        self.end_warp();
        self.head.clear();
        put(&mut self.head, site.into());
        put(&mut self.head, phase.saturating_sub(self.phase).into());
        self.phase = phase;
        put(&mut self.out, (self.head.len() + self.parts.len()) as u64);
        self.out.extend_from_slice(&self.head);
        self.out.extend_from_slice(&self.parts);
        self.parts.clear();
        self.stream.instructions += 1;
        if self.out.len() > self.store.room.max(WRITTEN)
            || self.written.is_some() && self.out.len() > WRITTEN
        {
            self.write()?;
        }
        Ok(())
    }

    /// Moves what there is to the file. The streams of blocks are made one after the other, so that
    /// a stream is in one place.
    fn write(&mut self) -> Result<(), TraceError> {
        let file = match &self.store.file {
            Some(file) => Arc::clone(file),
            None => Arc::clone(self.store.file.insert(Arc::new(SpillFile::new()?))),
        };
        let start = file.append(&self.out)?;
        let end = start + self.out.len() as u64;
        let begin = self.written.take().map_or(start, |written| written.start);
        self.written = Some(begin..end);
        self.out.clear();
        Ok(())
    }

    /// The stream.
    pub(crate) fn finish(mut self) -> Result<BlockStream, TraceError> {
        if self.written.is_some() || self.out.len() > self.store.room {
            self.write()?;
        }
        self.stream.stored = match (self.written.take(), &self.store.file) {
            (Some(place), Some(file)) => StoredStream::File {
                file: Arc::clone(file),
                place,
                window: self.store.window,
            },
            _ => {
                self.store.room -= self.out.len();
                StoredStream::Memory(std::mem::take(&mut self.out).into_boxed_slice())
            }
        };
        Ok(self.stream)
    }
}
