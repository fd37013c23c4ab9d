//! What is known of rows that come again: which accesses follow each other, and where each fell.

use std::ops::Range;

use reuselens_trace::{Block, Kind};

use super::iterations::Laps;
use crate::shadow::Versions;

/// Accesses of a pattern that follow each other, or another row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// Which rows of the pattern.
    pub from: u32,
    pub to: u32,
    pub is_accesses: bool,
    /// Where what is known of its accesses is.
    pub at: u32,
    /// When it came last.
    when: When,
    /// Whether what is known of its accesses is true then.
    pub is_known: bool,
    /// How often that was the same of late, less how often not: where it changes, knowing does not
    /// pay.
    pub score: i8,
}

/// The most that is remembered of what was the same or not.
pub(super) const SCORE: i8 = 4;

impl Part {
    /// It comes at such a time; whether it is worth to know where its accesses fell.
    #[inline(always)]
    pub fn comes(&mut self, when: &When) -> bool {
        if self.when == *when {
            self.score = (self.score + 1).min(SCORE);
        } else {
            (self.when, self.is_known) = (*when, false);
            self.score = (self.score - 2).max(-SCORE);
        }
        self.score >= 0
    }
}

/// What the cell of an access depends on besides its address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct When {
    /// How many events there were before: with a module or a thread's stack other objects are
    /// there, and when a process ends, another can get its number, with versions that begin anew.
    pub events: u64,
    pub owner: u64,
    /// The process, as it is folded into addresses.
    pub fold: u64,
    pub versions: Versions,
    /// The innermost frame.
    pub top: (u64, u64, u32),
}

/// Where an access fell: memory that belongs to one object, as far as is known, and the cell of the
/// instruction's accesses to that.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fallen {
    pub low: u64,
    pub bytes: u64,
    pub object: u32,
    pub cell: u32,
}

/// A pattern.
#[derive(Clone, Debug)]
struct Pattern {
    /// Where its rows are.
    rows: Range<usize>,
    /// Its parts; none if it did not come yet.
    parts: Range<usize>,
}

/// The patterns of blocks, and what is known of them.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    of: Vec<Pattern>,
    /// Their rows.
    pub(super) kinds: Vec<Kind>,
    pub(super) sizes: Vec<u8>,
    pub(super) pcs: Vec<u64>,
    pub(super) parts: Vec<Part>,
    pub(super) fell: Fell,
    pub(super) laps: Laps,
}

/// Where each access fell, its object, and its cell: side by side. Of no bytes if that is not to be
/// told.
#[derive(Debug, Default)]
pub(super) struct Fell {
    pub lows: Vec<u64>,
    pub bytes: Vec<u64>,
    pub objects: Vec<u32>,
    pub cells: Vec<u32>,
}

impl Fell {
    pub fn resize(&mut self, accesses: usize) {
        self.lows.resize(accesses, 0);
        self.bytes.resize(accesses, 0);
        self.objects.resize(accesses, 0);
        self.cells.resize(accesses, 0);
    }

    pub fn put(&mut self, at: usize, fallen: Fallen) {
        (self.lows[at], self.bytes[at]) = (fallen.low, fallen.bytes);
        (self.objects[at], self.cells[at]) = (fallen.object, fallen.cell);
    }
}

impl Patterns {
    /// Forgets the last parts: of rows that no pattern has.
    pub fn forget(&mut self, parts: Range<usize>, accesses: usize) {
        self.parts.truncate(parts.start);
        self.fell.resize(accesses);
    }

    /// Memory held, but for laps, which is in proportion to the rows of one.
    pub fn memory(&self) -> u64 {
        let rows = size_of::<Kind>() + size_of::<u8>() + size_of::<u64>();
        let accesses = 2 * size_of::<u64>() + 2 * size_of::<u32>();
        let bytes = self.of.capacity() * size_of::<Pattern>()
            + self.kinds.capacity() * rows
            + self.parts.capacity() * size_of::<Part>()
            + self.fell.cells.capacity() * accesses;
        bytes as u64
    }

    /// Takes in the patterns that a block has; whether it has the rows of all.
    pub fn begin(&mut self, block: &Block) -> bool {
        let known = block.folds.known as usize;
        if known == 0 {
            self.of.clear();
            self.kinds.clear();
            self.sizes.clear();
            self.pcs.clear();
            self.parts.clear();
            self.fell.resize(0);
        }
        self.of.truncate(known);
        let mut all_fit = true;
        for pattern in &block.folds.patterns {
            let first = pattern.first as usize;
            let (from, mut range) = (self.kinds.len(), first..first + pattern.rows as usize);
            if range.end > block.len() {
                (all_fit, range) = (false, 0..0);
            }
            self.kinds.extend_from_slice(&block.kinds()[range.clone()]);
            self.sizes.extend_from_slice(&block.sizes()[range.clone()]);
            self.pcs.extend_from_slice(&block.pcs()[range]);
            self.of.push(Pattern {
                rows: from..self.kinds.len(),
                parts: 0..0,
            });
        }
        all_fit
    }

    /// The parts of a pattern, and its rows. Parts are found when it comes for the first time.
    #[inline(always)]
    pub fn pattern(&mut self, number: u32) -> Option<(Range<usize>, Range<usize>)> {
        let of = self.of.get(number as usize)?;
        let rows = of.rows.clone();
        if of.parts.start < of.parts.end {
            return Some((of.parts.clone(), rows));
        }
        let kinds = std::mem::take(&mut self.kinds);
        let parts = self.parts(&kinds[rows.clone()]);
        self.kinds = kinds;
        self.of[number as usize].parts = parts.clone();
        Some((parts, rows))
    }

    /// New parts, of rows of these kinds.
    #[inline(never)]
    pub fn parts(&mut self, kinds: &[Kind]) -> Range<usize> {
        let (first, mut from) = (self.parts.len(), 0);
        for same in kinds.chunk_by(|one, next| is_plain(*one) && is_plain(*next)) {
            let to = from + same.len();
            let is_accesses = is_plain(same[0]);
            if is_accesses || same[0] != Kind::Operand {
                self.parts.push(Part {
                    from: from as u32,
                    to: to as u32,
                    is_accesses,
                    at: self.fell.cells.len() as u32,
                    when: When::default(),
                    is_known: false,
                    score: 0,
                });
            }
            if is_accesses {
                self.fell.resize(self.fell.cells.len() + same.len());
            }
            from = to;
        }
        first..self.parts.len()
    }
}

/// Whether a row is an access to what its columns say, and no more.
#[inline(always)]
pub(super) fn is_plain(kind: Kind) -> bool {
    matches!(kind, Kind::Load | Kind::Store | Kind::Atomic)
}
