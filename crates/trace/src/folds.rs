//! Rows that are not there because rows of the same block say what they are, but for their addresses.
//!
//! Loops do the same accesses lap after lap, and straight code does the same accesses each time that it runs. Whoever takes such rows one by
//! one finds the same instructions again and again. A source that knows better can leave them out if it is asked to
//! ([`crate::Source::fold`]).

use crate::{Block, Row};

/// Rows of a block that come again: these are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The first of them.
    pub first: u32,
    /// How many they are.
    pub rows: u32,
}

/// A pattern comes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Again {
    /// How many of the block's rows come before it.
    pub before: u32,
    /// Which pattern, by its place in [`Folds::patterns`].
    pub pattern: u32,
    /// 0: it comes once, at the addresses that follow in [`Folds::numbers`]. Else it comes so many times, each time at addresses that are further by
    /// the steps that follow there: the first time, than those of the pattern's own rows.
    pub laps: u32,
}

/// The rows of a block that are not there.
///
/// No row that is there has an operand among them, and none of them one that is there. Each pattern is whole: it begins with no operand, and
/// has all operands of its rows, none of which names a structure ([`crate::Kind::Data`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folds {
    /// What comes again. Patterns can have rows in common.
    pub patterns: Vec<Pattern>,
    /// Where it does, in order.
    pub agains: Vec<Again>,
    /// For each of these as many numbers as its pattern has rows: addresses and operands, or steps between them.
    pub numbers: Vec<u64>,
    /// How many rows are not there.
    pub rows: u64,
}

impl Folds {
    /// Forgets them and keeps the memory.
    pub fn clear(&mut self) {
        self.patterns.clear();
        self.agains.clear();
        self.numbers.clear();
        self.rows = 0;
    }

    /// What comes again, each with its pattern and its numbers.
    pub fn iter(&self) -> impl Iterator<Item = (Again, Pattern, &[u64])> {
        let mut numbers = &self.numbers[..];
        self.agains.iter().map_while(move |again| {
            let pattern = *self.patterns.get(again.pattern as usize)?;
            let own;
            (own, numbers) = numbers.split_at_checked(pattern.rows as usize)?;
            Some((*again, pattern, own))
        })
    }
}

impl Block {
    /// The block with all its rows.
    pub fn unfolded(&self) -> Block {
        let mut whole = Block::new();
        (whole.process, whole.thread) = (self.process, self.thread);
        (whole.first_stamp, whole.last_stamp) = (self.first_stamp, self.last_stamp);
        let mut row = 0;
        for (again, pattern, numbers) in self.folds.iter() {
            whole.extend((row..again.before as usize).filter_map(|row| self.row(row)));
            row = again.before as usize;
            let first = pattern.first as usize;
            let rows: Vec<Row> = (first..first + numbers.len())
                .filter_map(|row| self.row(row))
                .collect();
            let mut addrs: Vec<u64> = match again.laps {
                0 => numbers.to_vec(),
                _ => rows.iter().map(|row| row.addr).collect(),
            };
            for _ in 0..again.laps.max(1) {
                if again.laps > 0 {
                    let further = addrs.iter_mut().zip(numbers);
                    further.for_each(|(addr, step)| *addr = addr.wrapping_add(*step));
                }
                whole.extend(rows.iter().zip(&addrs).map(|(row, addr)| Row {
                    addr: *addr,
                    ..*row
                }));
            }
        }
        whole.extend((row..self.len()).filter_map(|row| self.row(row)));
        whole
    }
}
