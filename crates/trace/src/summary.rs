//! Sums over a trace: blocks, rows, threads, kinds, events.
//!
//! [`Summary::of`] reads a whole source; the index of a native file (crate `rltrace`) keeps the
//! same sums for each file while it is written, block by block.

use std::collections::BTreeMap;

use crate::{Block, Event, Extent, Kind, Source, Step, ThreadId, TraceError};

/// Numbers of kinds that there is room for.
pub const KINDS: usize = 32;

/// What the blocks and events of a trace add up to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Blocks.
    pub blocks: u64,
    /// Rows in them.
    pub rows: u64,
    /// The smallest and the largest stamp of blocks that have one.
    pub stamps: Option<(u64, u64)>,
    /// Rows of each thread that made any.
    pub threads: BTreeMap<ThreadId, u64>,
    /// All events, in order.
    pub events: Vec<Event>,
    /// Rows of each kind, by its number.
    pub kinds: [u64; KINDS],
}

impl Summary {
    /// Reads `source` to its end, and why it ended early if it did.
    ///
    /// # Errors
    /// [`TraceError`] if it cannot be read at all.
    pub fn of(source: &mut dyn Source) -> Result<(Summary, Option<TraceError>), TraceError> {
        let (mut summary, mut block) = (Summary::default(), Block::new());
        loop {
            match source.next(&mut block) {
                Ok(Step::Block) => summary.block(&block),
                Ok(Step::Event(event)) => summary.events.push(event),
                Ok(Step::End) => return Ok((summary, None)),
                Err(error) if error.is_partial() => return Ok((summary, Some(error))),
                Err(error) => return Err(error),
            }
        }
    }

    /// Adds a block.
    pub fn block(&mut self, block: &Block) {
        add_kinds(&mut self.kinds, block.kinds());
        self.add(BlockTotals::of(block));
    }

    /// Adds a block, but not the kinds of its rows.
    pub fn add(&mut self, block: BlockTotals) {
        let (blocks, rows) = (&mut self.blocks, &mut self.rows);
        block.add_to(blocks, rows, &mut self.stamps, &mut self.threads);
    }

    /// Rows of this kind.
    pub fn rows_of(&self, kind: Kind) -> u64 {
        self.kinds[kind as usize % KINDS]
    }

    /// The kinds that there are rows of, by number.
    pub fn kinds(&self) -> impl Iterator<Item = (Kind, u64)> + '_ {
        let kinds = (0..).zip(&self.kinds);
        kinds
            .filter_map(|(number, &rows)| Some((Kind::from_u8(number)?, rows)).filter(|_| rows > 0))
    }

    /// Rows that are accesses.
    pub fn accesses(&self) -> u64 {
        let kinds = self.kinds().filter(|(kind, _)| kind.is_access());
        kinds.fold(0, |sum, (_, rows)| sum.saturating_add(rows))
    }

    /// How much there is of it.
    pub fn extent(&self) -> Extent {
        Extent {
            rows: self.rows,
            stamps: self.stamps.unwrap_or_default(),
        }
    }
}

/// All that the sums need of a block, apart from the kinds of its rows.
#[derive(Clone, Copy, Debug)]
pub struct BlockTotals {
    /// The thread that made it.
    pub thread: ThreadId,
    /// How many rows it has.
    pub rows: u64,
    /// When it was made, if that is known.
    pub stamps: Option<(u64, u64)>,
}

impl BlockTotals {
    /// The totals of `block`.
    pub fn of(block: &Block) -> BlockTotals {
        BlockTotals {
            thread: block.thread,
            rows: block.len() as u64,
            stamps: stamps(block.first_stamp, block.last_stamp),
        }
    }

    /// Adds the block to sums over blocks.
    pub fn add_to(
        self,
        blocks: &mut u64,
        rows: &mut u64,
        stamps: &mut Option<(u64, u64)>,
        threads: &mut BTreeMap<ThreadId, u64>,
    ) {
        *blocks += 1;
        *rows += self.rows;
        if self.rows > 0 {
            *stamps = joined(*stamps, self.stamps);
            *threads.entry(self.thread).or_default() += self.rows;
        }
    }
}

/// The stamps of a block, if it has any.
pub fn stamps(first: u64, last: u64) -> Option<(u64, u64)> {
    (first != 0 || last != 0).then_some((first, last))
}

/// The smallest range that has both.
pub fn joined(one: Option<(u64, u64)>, other: Option<(u64, u64)>) -> Option<(u64, u64)> {
    match (one, other) {
        (Some(one), Some(other)) => Some((one.0.min(other.0), one.1.max(other.1))),
        (one, other) => one.or(other),
    }
}

/// Counts a column of kinds.
pub fn add_kinds(counts: &mut [u64; KINDS], kinds: &[Kind]) {
    /// Most rows are of these kinds. Counting them by comparisons, which become vectors, is many
    /// times as fast as counting row by row.
    const OFTEN: [Kind; 5] = [
        Kind::Load,
        Kind::Store,
        Kind::Operand,
        Kind::Enter,
        Kind::Exit,
    ];
    for kinds in kinds.chunks(255) {
        let mut counted = 0;
        for often in OFTEN {
            let rows: u8 = kinds.iter().map(|&kind| u8::from(kind == often)).sum();
            counts[often as usize] += u64::from(rows);
            counted += usize::from(rows);
        }
        if counted < kinds.len() {
            for kind in kinds.iter().filter(|kind| !OFTEN.contains(kind)) {
                counts[*kind as usize % KINDS] += 1;
            }
        }
    }
}
