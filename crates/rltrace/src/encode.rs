//! Encodes a chunk: blocks and events to its four streams.
//!
//! The `Writer` adds blocks and events to a [`ChunkEncoder`], and takes the bytes of the chunk by
//! [`ChunkEncoder::finish`]. Blocks of rows are encoded here, as `sites` describes; blocks of
//! templates by `encode_templates`, after `superblocks` joined the templates that often follow each
//! other.
//!
//! *Invariant:* a chunk is encoded without any other: after `finish` all predictors begin anew.

use std::ops::Range;

use crate::compress::Output;
use crate::encode_templates::{TemplateEncoder, TemplateOwner};
use crate::events;
use crate::sites::{AddressPredictor, NEW_SITE, RowSite, START_SITE, SiteTable};
use crate::superblocks::SuperblockBuilder;
use reuselens_io::varint::{LONGEST, put, put_at, put_signed, zigzag};
use reuselens_trace::summary::KINDS;
use reuselens_trace::{Block, Event, ProcessId, Row, TemplateBlock, Templates, ThreadId};

/// A chunk is written when it has this many rows.
pub(super) const FULL_ROWS: u64 = 1 << 20;

/// Rows that are encoded together.
const BATCH_ROWS: usize = 64;

/// Head of a block of rows; every other head is that of a block of templates or of an event.
pub(super) const BLOCK: u8 = 0;
/// Head of a block of templates.
pub(super) const TEMPLATE_BLOCK: u8 = 18;

/// The streams of a chunk in the making.
pub(super) struct ChunkEncoder {
    /// The sites of the chunk by number, their predictors, and for each the site that followed it
    /// the last time; 0 for none yet.
    sites: Vec<RowSite>,
    predictors: Vec<AddressPredictor>,
    successors: Vec<u32>,
    table: SiteTable,
    templates: TemplateEncoder,
    superblocks: SuperblockBuilder,
    /// The program counter of the site last described: others are near it.
    pc: u64,
    /// The last stamp written.
    stamp: u64,
    heads: Vec<u8>,
    descriptions: Vec<u8>,
    tokens: Output,
    addrs: Output,
}

impl ChunkEncoder {
    pub(super) fn new() -> ChunkEncoder {
        ChunkEncoder {
            sites: vec![RowSite::start()],
            predictors: vec![AddressPredictor::default()],
            successors: vec![START_SITE as u32],
            table: SiteTable::new(),
            templates: TemplateEncoder::new(),
            superblocks: SuperblockBuilder::new(),
            pc: 0,
            stamp: 0,
            heads: Vec::new(),
            descriptions: Vec::new(),
            tokens: Output::default(),
            addrs: Output::default(),
        }
    }

    /// Bytes encoded so far.
    pub(super) fn len(&self) -> usize {
        self.heads.len() + self.descriptions.len() + self.tokens.len() + self.addrs.len()
    }

    /// Whether the chunk has so many templates that it should be written.
    pub(super) fn is_full(&self) -> bool {
        self.templates.is_full()
    }

    /// Adds an event.
    pub(super) fn event(&mut self, event: &Event) {
        events::put(&mut self.heads, event);
    }

    /// Adds a block of rows.
    pub(super) fn block(&mut self, block: &Block) {
        let stamps = (block.first_stamp, block.last_stamp);
        self.head(BLOCK, block.process, block.thread, stamps);
        put(&mut self.heads, block.len() as u64);
        self.rows(block);
    }

    /// Adds a block of templates. Returns how many rows it stands for. `None` if it does not fit
    /// `templates`; the chunk is of no use any more then.
    pub(super) fn template_block(
        &mut self,
        block: &TemplateBlock,
        templates: &Templates,
        owner: TemplateOwner,
    ) -> Option<usize> {
        let stamps = (block.first_stamp, block.last_stamp);
        self.head(TEMPLATE_BLOCK, block.process, block.thread, stamps);
        let streams = (&mut self.descriptions, &mut self.tokens, &mut self.addrs);
        // Joining leaves operands as they are: those of a superblock are those of its parts.
        let (executions, templates) = match owner {
            TemplateOwner::Source => {
                self.superblocks.join(block.templates(), templates)?;
                self.superblocks.joined()
            }
            TemplateOwner::Inference => (block.templates(), templates),
        };
        let rows =
            self.templates
                .block((executions, block.operands()), (templates, owner), streams)?;
        put(&mut self.heads, executions.len() as u64);
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

    /// Puts the chunk into `plain` and begins the next. Adds to `kinds` the rows of each kind that
    /// template blocks stand for.
    pub(super) fn finish(&mut self, plain: &mut Vec<u8>, kinds: &mut [u64; KINDS]) {
        plain.clear();
        plain.reserve(self.len() + 40);
        let streams = [
            &self.heads[..],
            &self.descriptions,
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
        self.descriptions.clear();
        self.tokens.clear();
        self.addrs.clear();
        self.sites.truncate(1);
        self.predictors.truncate(1);
        self.predictors[START_SITE] = AddressPredictor::default();
        self.successors.clear();
        self.successors.push(START_SITE as u32);
        self.table.clear();
        self.templates.finish(kinds);
        self.superblocks.chunk_ended();
        self.pc = 0;
        self.stamp = 0;
    }

    fn rows(&mut self, block: &Block) {
        let mut previous = (START_SITE, 0);
        let mut tokens = std::mem::take(&mut self.tokens);
        let mut addrs = std::mem::take(&mut self.addrs);
        for from in (0..block.len()).step_by(BATCH_ROWS) {
            let rows = from..block.len().min(from + BATCH_ROWS);
            previous = self.row_batch(block, rows, previous, (&mut tokens, &mut addrs));
        }
        (self.tokens, self.addrs) = (tokens, addrs);
    }

    /// Encodes up to [`BATCH_ROWS`] rows. Takes the site and the step of the row before, and
    /// returns those of the last row.
    #[inline(always)]
    fn row_batch(
        &mut self,
        block: &Block,
        rows: Range<usize>,
        (mut previous, mut step): (usize, u64),
        (tokens, differences): (&mut Output, &mut Output),
    ) -> (usize, u64) {
        let (mut token_at, mut addr_at) = (0, 0);
        // Room for the longest numbers of all rows, filled with zeros at once: most numbers are 0,
        // and then nothing is left to write.
        let (into_tokens, into_differences) = (
            tokens.room(BATCH_ROWS * LONGEST),
            differences.room(BATCH_ROWS * LONGEST),
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
            let guess = self.successors[previous] as usize;
            let number = if guess != START_SITE && self.sites[guess].makes(&row, previous) {
                token_at += 1;
                guess
            } else {
                let (token, number) = self.other_site(&row, previous);
                put_at(into_tokens, &mut token_at, token);
                number
            };
            let (difference, made) = self.predictors[number].learn(addr, step);
            put_at(into_differences, &mut addr_at, zigzag(difference));
            step = made;
            previous = number;
        }
        tokens.advance(token_at);
        differences.advance(addr_at);
        (previous, step)
    }

    /// The token and the site of a row that is not of the last successor.
    #[cold]
    #[inline(never)]
    fn other_site(&mut self, row: &Row, previous: usize) -> (u64, usize) {
        let (token, number) = match self.table.find(&self.sites, row, previous) {
            Some(number) => (number as u64 + NEW_SITE, number),
            None => (NEW_SITE, self.describe(row, previous)),
        };
        self.successors[previous] = number as u32;
        (token, number)
    }

    /// Adds the site of a row to the chunk. Returns its number.
    fn describe(&mut self, row: &Row, previous: usize) -> usize {
        self.descriptions.push(row.kind as u8);
        self.descriptions.push(row.size);
        put_signed(&mut self.descriptions, row.pc.wrapping_sub(self.pc));
        self.pc = row.pc;
        self.sites
            .push(RowSite::new(row.kind, row.size, row.pc, previous));
        self.predictors.push(AddressPredictor::default());
        self.successors.push(START_SITE as u32);
        self.table.enter_last(&self.sites);
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
        Event::ProcessEnded(..) | Event::ThreadEnded(_) | Event::Sampling(_) => 0,
    };
    texts + NUMBERS
}
