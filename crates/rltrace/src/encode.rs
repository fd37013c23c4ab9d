//! Rows and events to streams.

use std::ops::Range;

use crate::compress::Output;
use crate::encode_templates::{ShapeEncoder, Whose};
use crate::events;
use crate::sites::{Index, NEW, START, Site, Trail};
use crate::superblocks::Fuser;
use reuselens_io::varint::{LONGEST, put, put_at, put_signed, zigzag};
use reuselens_trace::summary::KINDS;
use reuselens_trace::{Block, Event, ProcessId, Row, ShapedBlock, Shapes, ThreadId};

/// A chunk is written when it has this many rows.
pub(super) const ENOUGH_ROWS: u64 = 1 << 20;

/// Rows that are encoded together.
const TOGETHER: usize = 64;

/// Head of a block; every other head is an event's.
pub(super) const BLOCK: u8 = 0;
/// Head of a block of shapes.
pub(super) const SHAPED: u8 = 18;

/// The streams of a chunk in the making.
pub(super) struct Encoder {
    sites: Vec<Site>,
    trails: Vec<Trail>,
    /// For each site the one that followed it last time; 0 = none yet.
    nexts: Vec<u32>,
    index: Index,
    shapes: ShapeEncoder,
    fuser: Fuser,
    /// The program counter of the site last described: others lie near it.
    pc: u64,
    /// The last stamp written.
    stamp: u64,
    heads: Vec<u8>,
    described: Vec<u8>,
    tokens: Output,
    addrs: Output,
}

impl Encoder {
    pub(super) fn new() -> Encoder {
        Encoder {
            sites: vec![Site::start()],
            trails: vec![Trail::default()],
            nexts: vec![START as u32],
            index: Index::new(),
            shapes: ShapeEncoder::new(),
            fuser: Fuser::new(),
            pc: 0,
            stamp: 0,
            heads: Vec::new(),
            described: Vec::new(),
            tokens: Output::default(),
            addrs: Output::default(),
        }
    }

    /// Bytes encoded so far.
    pub(super) fn len(&self) -> usize {
        self.heads.len() + self.described.len() + self.tokens.len() + self.addrs.len()
    }

    /// Whether what is to be known of its shapes takes so much that the chunk is to be written.
    pub(super) fn is_full(&self) -> bool {
        self.shapes.is_full()
    }

    pub(super) fn event(&mut self, event: &Event) {
        events::put(&mut self.heads, event);
    }

    pub(super) fn block(&mut self, block: &Block) {
        let stamps = (block.first_stamp, block.last_stamp);
        self.head(BLOCK, block.process, block.thread, stamps);
        put(&mut self.heads, block.len() as u64);
        self.rows(block);
    }

    /// Adds a block of shapes; how many rows it has. `None`, and the chunk is of no use any more,
    /// if it does not fit `shapes`.
    pub(super) fn shaped(
        &mut self,
        block: &ShapedBlock,
        shapes: &Shapes,
        whose: Whose,
    ) -> Option<usize> {
        let stamps = (block.first_stamp, block.last_stamp);
        self.head(SHAPED, block.process, block.thread, stamps);
        let streams = (&mut self.described, &mut self.tokens, &mut self.addrs);
        let (notes, shapes) = match whose {
            Whose::Source => {
                self.fuser.fuse(block.shapes(), shapes)?;
                self.fuser.made()
            }
            Whose::Shaper => (block.shapes(), shapes),
        };
        let rows = self
            .shapes
            .block((notes, block.words()), (shapes, whose), streams)?;
        put(&mut self.heads, notes.len() as u64);
        put(&mut self.heads, rows as u64);
        Some(rows)
    }

    fn head(&mut self, tag: u8, process: ProcessId, thread: ThreadId, (first, last): (u64, u64)) {
        self.heads.push(tag);
        put(&mut self.heads, process.0.into());
        put(&mut self.heads, thread.0.into());
        put_signed(&mut self.heads, first.wrapping_sub(self.stamp));
        put_signed(&mut self.heads, last.wrapping_sub(first));
        self.stamp = last;
    }

    /// Puts the streams into `plain` and forgets everything, so that the next chunk stands alone.
    /// Adds the rows of shapes to `kinds`.
    pub(super) fn finish(&mut self, plain: &mut Vec<u8>, kinds: &mut [u64; KINDS]) {
        plain.clear();
        plain.reserve(self.len() + 40);
        let streams = [
            &self.heads[..],
            &self.described,
            self.tokens.bytes(),
            self.addrs.bytes(),
        ];
        for stream in streams {
            put(plain, stream.len() as u64);
        }
        for stream in streams {
            plain.extend_from_slice(stream);
        }
        self.heads.clear();
        self.described.clear();
        self.tokens.clear();
        self.addrs.clear();
        self.sites.truncate(1);
        self.trails.truncate(1);
        self.trails[START] = Trail::default();
        self.nexts.clear();
        self.nexts.push(START as u32);
        self.index.clear();
        self.shapes.finish(kinds);
        self.fuser.chunk_ended();
        self.pc = 0;
        self.stamp = 0;
    }

    fn rows(&mut self, block: &Block) {
        let mut before = (START, 0);
        let mut tokens = std::mem::take(&mut self.tokens);
        let mut addrs = std::mem::take(&mut self.addrs);
        for from in (0..block.len()).step_by(TOGETHER) {
            let rows = from..block.len().min(from + TOGETHER);
            before = self.some_rows(block, rows, before, (&mut tokens, &mut addrs));
        }
        (self.tokens, self.addrs) = (tokens, addrs);
    }

    /// Writes some rows into room that is made for all of them: the zeros, which most numbers are,
    /// are there already. The site and the step of the last of them.
    #[inline(always)]
    fn some_rows(
        &mut self,
        block: &Block,
        rows: Range<usize>,
        (mut before, mut step): (usize, u64),
        (tokens, differences): (&mut Output, &mut Output),
    ) -> (usize, u64) {
        let (mut token_at, mut addr_at) = (0, 0);
        let (into_tokens, into_differences) = (
            tokens.room(TOGETHER * LONGEST),
            differences.room(TOGETHER * LONGEST),
        );
        into_tokens.fill(0);
        into_differences.fill(0);
        let (kinds, sizes) = (&block.kinds()[rows.clone()], &block.sizes()[rows.clone()]);
        let (pcs, addrs) = (&block.pcs()[rows.clone()], &block.addrs()[rows]);
        for (((&kind, &size), &pc), &addr) in kinds.iter().zip(sizes).zip(pcs).zip(addrs) {
            let row = Row {
                kind,
                size,
                pc,
                addr,
            };
            let guess = self.nexts[before] as usize;
            let number = if guess != START && self.sites[guess].makes(&row, before) {
                token_at += 1;
                guess
            } else {
                let (token, number) = self.other(&row, before);
                put_at(into_tokens, &mut token_at, token);
                number
            };
            let (difference, made) = self.trails[number].learn(addr, step);
            put_at(into_differences, &mut addr_at, zigzag(difference));
            step = made;
            before = number;
        }
        tokens.advance(token_at);
        differences.advance(addr_at);
        (before, step)
    }

    /// The token of a row that was not expected, and its site.
    #[cold]
    #[inline(never)]
    fn other(&mut self, row: &Row, before: usize) -> (u64, usize) {
        let (token, number) = match self.index.find(&self.sites, row, before) {
            Some(number) => (number as u64 + NEW, number),
            None => (NEW, self.describe(row, before)),
        };
        self.nexts[before] = number as u32;
        (token, number)
    }

    fn describe(&mut self, row: &Row, before: usize) -> usize {
        self.described.push(row.kind as u8);
        self.described.push(row.size);
        put_signed(&mut self.described, row.pc.wrapping_sub(self.pc));
        self.pc = row.pc;
        self.sites
            .push(Site::new(row.kind, row.size, row.pc, before));
        self.trails.push(Trail::default());
        self.nexts.push(START as u32);
        self.index.enter_last(&self.sites);
        self.sites.len() - 1
    }
}

/// The totals of a file, in its ending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) chunks: u64,
    pub(super) blocks: u64,
    pub(super) rows: u64,
    pub(super) events: u64,
}

impl Totals {
    pub(super) fn put(&self, plain: &mut Vec<u8>) {
        plain.clear();
        for number in [self.chunks, self.blocks, self.rows, self.events] {
            put(plain, number);
        }
    }
}

/// About how many bytes an event takes.
pub(super) fn event_len(event: &Event) -> usize {
    const NUMBERS: usize = 64;
    let texts = match event {
        Event::Process(process) => process.executable.len(),
        Event::Module(module) => module.path.len() + module.build_id.len(),
        Event::Thread(thread) => thread.name.len(),
        Event::Note(note) => note.code.len() + note.message.len() + note.hint.len(),
        Event::ProcessEnded(..) | Event::ThreadEnded(_) => 0,
    };
    texts + NUMBERS
}
