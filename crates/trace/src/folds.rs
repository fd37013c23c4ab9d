//! Rows that are not there because other rows say what they are, but for their addresses.
//!
//! Loops do the same accesses lap after lap, and straight code does the same accesses each time
//! that it runs. Whoever takes such rows one by one finds the same instructions again and again. A
//! source that knows better can leave them out if it is asked to ([`crate::Source::fold`]).

use crate::{Block, Row};

/// Rows of a block that may come again: these are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The first of them, among those that are there.
    pub first: u32,
    /// How many they are.
    pub rows: u32,
}

/// Rows that come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Again {
    /// How many of the block's rows come before them.
    pub before: u32,
    /// How many they are: as many as the pattern has, or a lap.
    pub rows: u32,
    /// What they are.
    pub what: Repeated,
}

/// What comes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeated {
    /// The pattern of this number, once, at the addresses in [`Folds::numbers`].
    Pattern(u32),
    /// The rows of this block from `first` on, so many times, each time further by the steps in
    /// [`Folds::numbers`]: the first time, than these are.
    Laps {
        /// The first of them, among those that are there; the last comes before these too.
        first: u32,
        /// How many times.
        times: u32,
    },
}

/// The rows of a block that are not there.
///
/// No row that is there has an operand among them, and none of them one that is there. What comes
/// again is whole: it begins with no operand, and has all operands of its rows, none of which names
/// a structure ([`crate::Kind::Data`]). Blocks refer to those before them: whoever takes them must
/// be shown all of a source, in order.
///
/// What refers to what is not there, or has other rows than it, is left out by those who take it,
/// who warn of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folds {
    /// How many patterns there are that blocks before this one have. They are numbered, and those
    /// of this block come behind them; with 0 all before are forgotten. A block that [has neither
    /// patterns nor what comes again](Self::is_empty) says nothing of those before.
    pub known: u32,
    /// The patterns that this block has. It may refer to them, and blocks after it.
    pub patterns: Vec<Pattern>,
    /// What comes again, in order.
    pub agains: Vec<Again>,
    /// For each of these as many numbers as it has rows: addresses and operands, or steps between
    /// them.
    pub numbers: Vec<u64>,
    /// How many rows are not there.
    pub rows: u64,
}

impl Folds {
    /// Forgets them and keeps the memory.
    pub fn clear(&mut self) {
        self.known = 0;
        self.patterns.clear();
        self.agains.clear();
        self.numbers.clear();
        self.rows = 0;
    }

    /// Whether the block is as it would be if nobody had asked.
    pub fn is_empty(&self) -> bool {
        self.agains.is_empty() && self.patterns.is_empty()
    }

    /// What comes again, with its numbers.
    pub fn iter(&self) -> impl Iterator<Item = (Again, &[u64])> {
        let mut numbers = &self.numbers[..];
        self.agains.iter().map_while(move |again| {
            let own;
            (own, numbers) = numbers.split_at_checked(again.rows as usize)?;
            Some((*again, own))
        })
    }
}

/// Puts the rows of blocks back that are not there: for who needs them after all. It is to be shown
/// all blocks of a source, in order.
#[derive(Clone, Debug, Default)]
pub struct Unfolder {
    /// The rows of all patterns.
    patterns: Vec<Vec<Row>>,
}

impl Unfolder {
    /// One that has seen no block.
    pub fn new() -> Self {
        Self::default()
    }

    /// The block with all its rows.
    pub fn unfold(&mut self, block: &Block) -> Block {
        if block.folds.is_empty() {
            let mut whole = block.clone();
            whole.folds.clear();
            return whole;
        }
        let rows = |first: u32, count: u32| -> Vec<Row> {
            let range = first as usize..(first as usize).saturating_add(count as usize);
            range.map_while(|row| block.row(row)).collect()
        };
        self.patterns.truncate(block.folds.known as usize);
        let own = block.folds.patterns.iter();
        self.patterns
            .extend(own.map(|pattern| rows(pattern.first, pattern.rows)));
        let mut whole = Block::new();
        (whole.process, whole.thread) = (block.process, block.thread);
        (whole.first_stamp, whole.last_stamp) = (block.first_stamp, block.last_stamp);
        let mut row = 0;
        for (again, numbers) in block.folds.iter() {
            let before = again.before as usize;
            whole.extend((row..before).filter_map(|row| block.row(row)));
            row = before;
            match again.what {
                Repeated::Pattern(number) => {
                    let rows = self.patterns.get(number as usize);
                    let rows = rows.into_iter().flatten().zip(numbers);
                    whole.extend(rows.map(|(row, addr)| Row {
                        addr: *addr,
                        ..*row
                    }));
                }
                Repeated::Laps { first, times } => {
                    let mut lap = rows(first, again.rows);
                    for _ in 0..times {
                        for (row, step) in lap.iter_mut().zip(numbers) {
                            row.addr = row.addr.wrapping_add(*step);
                        }
                        whole.extend(lap.iter().copied());
                    }
                }
            }
        }
        whole.extend((row..block.len()).filter_map(|row| block.row(row)));
        whole
    }
}
