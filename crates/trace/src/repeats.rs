//! Compressed rows: a row that repeats an earlier one is stored as a reference and its address.
//!
//! Loops do the same accesses in each iteration, and straight code does the same accesses each time
//! that it runs. A consumer that takes such rows one by one finds the same instructions every time.
//! A source that knows the repeats can deliver them as such on request
//! ([`Projection::Repeats`](crate::Projection::Repeats)): `rltrace::Reader` does, and the pass of
//! crate `attribute` takes them. [`RepeatExpander`] is for consumers that need rows.

use crate::{Block, Row};

/// Rows of a block that later repeats refer to. The block has these rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepeatTemplate {
    /// The first of them, among the rows of the block.
    pub first: u32,
    /// The number of rows.
    pub rows: u32,
}

/// Rows that repeat others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// The number of the block's rows that come before them.
    pub before: u32,
    /// The number of rows: those of the template, or of one iteration.
    pub rows: u32,
    /// What they repeat.
    pub what: RepeatOf,
}

/// What is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepeatOf {
    /// The template of this number, once, at the addresses in [`Repeats::numbers`].
    Template(u32),
    /// The rows of this block from `first` on, `times` times: in each iteration, every address is
    /// that of the iteration before plus the step in [`Repeats::numbers`]. The first iteration is
    /// relative to the rows themselves.
    Loop {
        /// The first of the rows, among the rows of the block. All come before the repeat.
        first: u32,
        /// The number of iterations.
        times: u32,
    },
}

/// The rows of a block that are compressed.
///
/// An operand is never separated from its row: both are rows of the block, or both are compressed.
/// A repeat begins with no operand, has all operands of its rows, and names no structure
/// ([`crate::Kind::Data`]). Blocks refer to blocks before them, so a consumer must see all blocks
/// of a source in order.
///
/// A consumer skips a repeat that refers to a missing template or has another number of rows than
/// its template, and reports a warning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repeats {
    /// The number of templates of earlier blocks that are still valid; 0 forgets all of them. The
    /// templates of this block are numbered after those. A block that [has neither templates nor
    /// repeats](Self::is_empty) leaves the earlier templates as they are.
    pub known: u32,
    /// The templates that this block has. It may refer to them, and so may later blocks.
    pub templates: Vec<RepeatTemplate>,
    /// The repeats, in order.
    pub entries: Vec<Repeat>,
    /// For each repeat as many numbers as it has rows: addresses and operands, or steps between
    /// them.
    pub numbers: Vec<u64>,
    /// The number of compressed rows.
    pub rows: u64,
}

impl Repeats {
    /// Forgets them and keeps the memory.
    pub fn clear(&mut self) {
        self.known = 0;
        self.templates.clear();
        self.entries.clear();
        self.numbers.clear();
        self.rows = 0;
    }

    /// Bytes held, used or not.
    pub(crate) fn memory(&self) -> usize {
        self.templates.capacity() * size_of::<RepeatTemplate>()
            + self.entries.capacity() * size_of::<Repeat>()
            + self.numbers.capacity() * size_of::<u64>()
    }

    /// Whether the block has all its rows.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.templates.is_empty()
    }

    /// The repeats, each with its numbers.
    pub fn iter(&self) -> impl Iterator<Item = (Repeat, &[u64])> {
        let mut numbers = &self.numbers[..];
        self.entries.iter().map_while(move |repeat| {
            let own;
            (own, numbers) = numbers.split_at_checked(repeat.rows as usize)?;
            Some((*repeat, own))
        })
    }
}

/// Decompresses blocks, for consumers that need rows. It must see all blocks of a source, in order.
#[derive(Clone, Debug, Default)]
pub struct RepeatExpander {
    /// The rows of all templates.
    templates: Vec<Vec<Row>>,
}

impl RepeatExpander {
    /// One that has seen no block.
    pub fn new() -> Self {
        Self::default()
    }

    /// The block with all its rows.
    pub fn expand(&mut self, block: &Block) -> Block {
        if block.repeats.is_empty() {
            let mut whole = block.clone();
            whole.repeats.clear();
            return whole;
        }
        let rows = |first: u32, count: u32| -> Vec<Row> {
            let range = first as usize..(first as usize).saturating_add(count as usize);
            range.map_while(|row| block.row(row)).collect()
        };
        self.templates.truncate(block.repeats.known as usize);
        let own = block.repeats.templates.iter();
        self.templates
            .extend(own.map(|template| rows(template.first, template.rows)));
        let mut whole = Block::new();
        (whole.process, whole.thread) = (block.process, block.thread);
        (whole.first_stamp, whole.last_stamp) = (block.first_stamp, block.last_stamp);
        let mut row = 0;
        for (repeat, numbers) in block.repeats.iter() {
            let before = repeat.before as usize;
            whole.extend((row..before).filter_map(|row| block.row(row)));
            row = before;
            match repeat.what {
                RepeatOf::Template(number) => {
                    let rows = self.templates.get(number as usize);
                    let rows = rows.into_iter().flatten().zip(numbers);
                    whole.extend(rows.map(|(row, addr)| Row {
                        addr: *addr,
                        ..*row
                    }));
                }
                RepeatOf::Loop { first, times } => {
                    let mut iteration = rows(first, repeat.rows);
                    for _ in 0..times {
                        for (row, step) in iteration.iter_mut().zip(numbers) {
                            row.addr = row.addr.wrapping_add(*step);
                        }
                        whole.extend(iteration.iter().copied());
                    }
                }
            }
        }
        whole.extend((row..block.len()).filter_map(|row| block.row(row)));
        whole
    }
}
