//! Pieces of code as rows, by what their rows are without addresses.
//!
//! A piece ends in front of a row that lies further up in the program than the row before, as
//! loops and calls do, and in front of calls and returns, if it has [`LEAST`] rows by then; and
//! before and behind what is more than an access (blocks of memory that begin and end, for one), as
//! a reader takes the rows of a shape that has such one by one. A row and its operands stay
//! together. So the same code is cut in the same way. One that was seen twice is known from then
//! on, until there is no more room.

use std::ops::Range;

use super::{MOST, MOST_PATH_ROWS, Site};
use crate::templates::is_plain;
use reuselens_trace::{Block, Kind};

/// No piece.
pub(super) const START: u32 = 0;
/// Shorter ones go on behind a jump.
const LEAST: usize = 12;
/// The most rows of a piece that goes on with anything but an operand.
const ENOUGH: usize = MOST - 4;
/// Places of the table of pieces.
const SLOTS: usize = 1 << 16;
/// The most pieces that are known.
pub(super) const MOST_PATHS: usize = SLOTS / 2;
/// Places that are looked at for a piece.
const PROBES: usize = 16;
/// Places of the table of what was seen.
const MARKS: usize = 1 << 15;

/// Whether a reader that wants accesses only takes the rows of a shape that has one of this kind
/// one by one.
fn is_alone(kind: Kind) -> bool {
    !is_plain(kind) && !matches!(kind, Kind::RangeLoad | Kind::RangeStore | Kind::Named)
}

/// A piece of rows: how many, whether it ends with its block, and what to find it by.
pub(super) struct Cut {
    pub(super) rows: usize,
    is_last: bool,
    hash: u64,
}

#[derive(Clone, Copy, Default)]
struct Path {
    hash: u64,
    first: u32,
    rows: u32,
    is_last: bool,
    /// Which came after it last, and the last that was another.
    nexts: [u32; 2],
}

/// The pieces that are known.
pub(super) struct Paths {
    /// The rows of all, in columns and together.
    kinds: Vec<Kind>,
    sizes: Vec<u8>,
    pcs: Vec<u64>,
    sites: Vec<Site>,
    paths: Vec<Path>,
    slots: Box<[u32]>,
    /// Of pieces that were seen once.
    marks: Box<[u32]>,
}

impl Paths {
    pub(super) fn new() -> Paths {
        Paths {
            kinds: Vec::new(),
            sizes: Vec::new(),
            pcs: Vec::new(),
            sites: Vec::new(),
            paths: vec![Path::default()],
            slots: vec![START; SLOTS].into(),
            marks: vec![0; MARKS].into(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.kinds.clear();
        self.sizes.clear();
        self.pcs.clear();
        self.sites.clear();
        self.paths.truncate(1);
        self.paths[START as usize] = Path::default();
        self.slots.fill(START);
        self.marks.fill(0);
    }

    pub(super) fn is_full(&self) -> bool {
        self.sites.len() + MOST > MOST_PATH_ROWS || self.paths.len() > MOST_PATHS
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.paths.len() - 1
    }

    /// Where the rows of a piece are.
    #[inline(always)]
    pub(super) fn rows(&self, path: u32) -> Range<usize> {
        let path = &self.paths[path as usize];
        path.first as usize..(path.first + path.rows) as usize
    }

    /// All rows.
    pub(super) fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// Which piece comes next, if it is one that came after `before` lately; whether it is the
    /// one that came last.
    #[inline(always)]
    pub(super) fn expected(&self, before: u32, block: &Block, at: usize) -> Option<(u32, bool)> {
        let [last, other] = self.paths[before as usize].nexts;
        if self.is_at(last, block, at) {
            return Some((last, true));
        }
        self.is_at(other, block, at).then_some((other, false))
    }

    /// Enters which came next.
    #[inline(always)]
    pub(super) fn follow(&mut self, before: u32, path: u32) {
        let nexts = &mut self.paths[before as usize].nexts;
        if nexts[0] != path {
            *nexts = [path, nexts[0]];
        }
    }

    /// Whether the rows from `at` on are those of a piece.
    #[inline(always)]
    fn is_at(&self, number: u32, block: &Block, at: usize) -> bool {
        let path = &self.paths[number as usize];
        let end = at + path.rows as usize;
        if number == START || end > block.len() || (path.is_last && end != block.len()) {
            return false;
        }
        let own = self.rows(number);
        self.pcs[own.clone()] == block.pcs()[at..end]
            && self.kinds[own.clone()] == block.kinds()[at..end]
            && self.sizes[own] == block.sizes()[at..end]
            && block.kinds().get(end) != Some(&Kind::Operand)
    }

    /// The piece of rows from `at` on.
    pub(super) fn cut(&self, block: &Block, at: usize) -> Cut {
        let kinds = &block.kinds()[at..block.len().min(at + MOST)];
        let pcs = &block.pcs()[at..];
        let (mut hash, mut rows) = (0, 0);
        let mut owner = kinds[0];
        for (row, &kind) in kinds.iter().enumerate() {
            if kind != Kind::Operand {
                let back = row >= LEAST
                    && (matches!(kind, Kind::Enter | Kind::Exit)
                        || (pcs[row] <= pcs[row - 1] && kinds[row - 1] != Kind::Operand));
                let odd = row > 0 && (is_alone(kind) || is_alone(owner));
                if back || odd || row >= ENOUGH {
                    break;
                }
                owner = kind;
            }
            hash = Site::of(block, at + row).mix(hash);
            rows = row + 1;
        }
        let is_last = at + rows == block.len();
        Cut {
            rows,
            is_last,
            hash: hash ^ u64::from(is_last),
        }
    }

    /// The piece that was cut, if it is known.
    pub(super) fn find(&self, block: &Block, at: usize, cut: &Cut) -> Option<u32> {
        for probe in 0..PROBES {
            let number = self.slots[(cut.hash as usize).wrapping_add(probe) % SLOTS];
            if number == START {
                return None;
            }
            let path = &self.paths[number as usize];
            let same = path.hash == cut.hash
                && path.rows as usize == cut.rows
                && path.is_last == cut.is_last;
            if same && self.is_at(number, block, at) {
                return Some(number);
            }
        }
        None
    }

    /// What was cut is not known. If it was seen before it is from now on; whether it is.
    pub(super) fn learn(&mut self, block: &Block, at: usize, cut: &Cut) -> bool {
        let mark = &mut self.marks[cut.hash as usize % MARKS];
        let seen = (cut.hash >> 32) as u32 | 1;
        if *mark != seen {
            *mark = seen;
            return false;
        }
        // One that goes on with an operand never comes again, see `is_at`.
        if self.is_full() || block.kinds().get(at + cut.rows) == Some(&Kind::Operand) {
            return false;
        }
        let mut places = (0..PROBES).map(|probe| (cut.hash as usize).wrapping_add(probe) % SLOTS);
        let Some(place) = places.find(|&place| self.slots[place] == START) else {
            return false;
        };
        self.slots[place] = self.paths.len() as u32;
        self.paths.push(Path {
            hash: cut.hash,
            first: self.sites.len() as u32,
            rows: cut.rows as u32,
            is_last: cut.is_last,
            nexts: [START; 2],
        });
        let rows = at..at + cut.rows;
        self.kinds.extend_from_slice(&block.kinds()[rows.clone()]);
        self.sizes.extend_from_slice(&block.sizes()[rows.clone()]);
        self.pcs.extend_from_slice(&block.pcs()[rows.clone()]);
        self.sites.extend(rows.map(|at| Site::of(block, at)));
        true
    }
}
