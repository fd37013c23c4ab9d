//! What reaches the memory: the trace, run through a small cache for each thread and a large one
//! for all.
//!
//! Two simplifications: a write-back of a block that was freed since counts as other memory, and
//! lines that are still dirty at the end of the trace are never written back.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use reuselens::formats;
use reuselens::trace::{Block, Kind, Step};

use crate::Failure;
use crate::cache::Cache;

/// Bytes of a cache line.
pub const LINE: u64 = 64;
/// Accesses of an interval: within one, threads share the bandwidth.
const INTERVAL: u64 = 10_000;
/// The part of the large cache that each thread has as a small one of its own.
const SMALL_PART: u64 = 8;
const SMALL_WAYS: usize = 8;
const LARGE_WAYS: usize = 16;

/// The prefetcher follows steps of up to 8 lines: a few to a page.
const LONGEST_STEP: i64 = 8;

/// A block of the heap.
pub struct Object {
    pub bytes: u64,
    /// The number of the access that was the first to it.
    pub first_access: u64,
    pub accesses: u64,
}

/// Lines that one object moves between caches and memory in an interval.
#[derive(Clone, Copy, Default)]
pub struct Lines {
    /// Fetched because a program waits for them.
    pub demanded: u64,
    /// Fetched too, but a prefetcher would have done so before.
    pub foreseen: u64,
    /// Written back.
    pub written: u64,
}

/// An interval: its accesses, and the lines of each object. `None` is all other memory.
#[derive(Default)]
pub struct Interval {
    pub accesses: u64,
    pub lines: HashMap<Option<usize>, Lines>,
}

/// All of a trace.
#[derive(Default)]
pub struct Traffic {
    pub objects: Vec<Object>,
    pub intervals: Vec<Interval>,
}

/// The last fetch of a thread from an object, and how far it was from the one before.
#[derive(Clone, Copy, Default)]
struct Stream {
    line: u64,
    step: i64,
}

struct Reader {
    traffic: Traffic,
    /// Live blocks by address: end, and object.
    live: BTreeMap<u64, (u64, usize)>,
    small: HashMap<u32, Cache>,
    small_bytes: u64,
    large: Cache,
    streams: HashMap<(u32, Option<usize>), Stream>,
    accesses: u64,
}

/// Reads a trace through caches, the large one of `cache` bytes.
pub fn traffic(path: &Path, cache: u64) -> Result<Traffic, Failure> {
    let mut reader = Reader {
        traffic: Traffic::default(),
        live: BTreeMap::new(),
        small: HashMap::new(),
        small_bytes: cache / SMALL_PART,
        large: Cache::new(cache, LARGE_WAYS, LINE),
        streams: HashMap::new(),
        accesses: 0,
    };
    let mut source = formats::open(path, None)?;
    let mut block = Block::new();
    loop {
        match source.next(&mut block)? {
            Step::Block => reader.block(&block),
            Step::Event(_) => {}
            Step::End => return Ok(reader.traffic),
        }
    }
}

impl Reader {
    fn block(&mut self, block: &Block) {
        for (index, row) in block.rows().enumerate() {
            let operand = block.operand(index);
            match row.kind {
                Kind::Alloc => self.allocate(row.addr, operand),
                Kind::Free => drop(self.live.remove(&row.addr)),
                kind if kind.is_access() => {
                    let is_store = matches!(kind, Kind::Store | Kind::Atomic | Kind::RangeStore);
                    let bytes = block.access_bytes(index).max(1);
                    self.access(block.thread.0, row.addr, bytes, is_store);
                }
                _ => {}
            }
        }
    }

    fn allocate(&mut self, addr: u64, bytes: u64) {
        let object = self.traffic.objects.len();
        self.live.insert(addr, (addr.saturating_add(bytes), object));
        self.traffic.objects.push(Object {
            bytes,
            first_access: 0,
            accesses: 0,
        });
    }

    fn object_at(&self, addr: u64) -> Option<usize> {
        let (_, &(end, object)) = self.live.range(..=addr).next_back()?;
        (addr < end).then_some(object)
    }

    fn access(&mut self, thread: u32, addr: u64, bytes: u64, is_store: bool) {
        if self.accesses.is_multiple_of(INTERVAL) {
            self.traffic.intervals.push(Interval::default());
        }
        self.accesses += 1;
        let object = self.object_at(addr);
        if let Some(object) = object {
            let known = &mut self.traffic.objects[object];
            if known.accesses == 0 {
                known.first_access = self.accesses;
            }
            known.accesses += 1;
        }
        if let Some(interval) = self.traffic.intervals.last_mut() {
            interval.accesses += 1;
        }
        for line in addr / LINE..=addr.saturating_add(bytes - 1) / LINE {
            self.line(thread, object, line, is_store);
        }
    }

    fn line(&mut self, thread: u32, object: Option<usize>, line: u64, is_store: bool) {
        let bytes = self.small_bytes;
        let small = self.small.entry(thread);
        let small = small.or_insert_with(|| Cache::new(bytes, SMALL_WAYS, LINE));
        let first = small.access(line, is_store);
        if let Some(victim) = first.written_back {
            let second = self.large.access(victim, true);
            self.write_back(second.written_back);
        }
        if first.is_hit {
            return;
        }
        let second = self.large.access(line, false);
        self.write_back(second.written_back);
        if !second.is_hit {
            let is_foreseen = self.is_foreseen(thread, object, line);
            let lines = self.lines(object);
            if is_foreseen {
                lines.foreseen += 1;
            } else {
                lines.demanded += 1;
            }
        }
    }

    /// Whether a fetch is as far from the last as that was from the one before.
    fn is_foreseen(&mut self, thread: u32, object: Option<usize>, line: u64) -> bool {
        let stream = self.streams.entry((thread, object)).or_default();
        let step = line.wrapping_sub(stream.line).cast_signed();
        let is_foreseen = step == stream.step && step.abs() <= LONGEST_STEP;
        *stream = Stream { line, step };
        is_foreseen
    }

    fn write_back(&mut self, line: Option<u64>) {
        if let Some(line) = line {
            // A block that begins within the line counts too.
            let object = self.object_at(line * LINE + LINE - 1);
            self.lines(object).written += 1;
        }
    }

    fn lines(&mut self, object: Option<usize>) -> &mut Lines {
        let last = self.traffic.intervals.len() - 1;
        self.traffic.intervals[last]
            .lines
            .entry(object)
            .or_default()
    }
}
