//! Cuts rows into fragments, and finds each by its rows without addresses.
//!
//! A fragment ends before a row whose program counter is not above that of the row before, as in
//! loops and calls, and before calls and returns, if it has [`MIN_ROWS`] rows by then. Rows that
//! are more than an access ([`is_alone`]; the begin of a heap block, for one) are fragments by
//! themselves, because a reader takes all rows of a template with such a row one by one. A row and
//! its operands stay together. So the same code is cut in the same way each time.
//!
//! `template_inference` asks for the fragment at each place of a block. A fragment that was seen
//! twice is known from then on, until there is no more room.
//!
//! *Invariant:* a known fragment is found only where all its rows are (compared, not only hashed)
//! and no operand follows.

use std::ops::Range;

use super::{MAX_FRAGMENT_ROWS, MAX_KNOWN_ROWS, RowKey};
use crate::templates::is_plain;
use reuselens_trace::{Block, Kind};

/// The number of no fragment.
pub(super) const NO_FRAGMENT: u32 = 0;
/// Fragments of fewer rows go on after a jump.
const MIN_ROWS: usize = 12;
/// A fragment of this many rows goes on with operands only.
const FULL_ROWS: usize = MAX_FRAGMENT_ROWS - 4;
/// Slots of the hash table of fragments.
const SLOTS: usize = 1 << 16;
/// The most fragments that are known.
pub(super) const MAX_FRAGMENTS: usize = SLOTS / 2;
/// Slots that are looked at for a fragment.
const PROBES: usize = 16;
/// Slots of the table of fragments that were seen once.
const SEEN_SLOTS: usize = 1 << 15;

/// Whether rows of this kind are fragments by themselves.
fn is_alone(kind: Kind) -> bool {
    !is_plain(kind) && !matches!(kind, Kind::RangeLoad | Kind::RangeStore | Kind::Named)
}

/// Where a fragment ends: how many rows it has, and whether its block ends there. `hash` is that of
/// its rows.
pub(super) struct FragmentCut {
    pub(super) rows: usize,
    is_last: bool,
    hash: u64,
}

#[derive(Clone, Copy, Default)]
struct Fragment {
    hash: u64,
    first: u32,
    rows: u32,
    is_last: bool,
    /// The fragment that followed last, and the last other than that.
    successors: [u32; 2],
}

/// The fragments that are known.
pub(super) struct Fragments {
    /// The rows of all fragments, in columns, which are compared, and together.
    kinds: Vec<Kind>,
    sizes: Vec<u8>,
    pcs: Vec<u64>,
    row_keys: Vec<RowKey>,
    /// By number; the first is [`NO_FRAGMENT`].
    fragments: Vec<Fragment>,
    slots: Box<[u32]>,
    /// Parts of the hashes of fragments that were seen once.
    seen: Box<[u32]>,
}

impl Fragments {
    pub(super) fn new() -> Fragments {
        Fragments {
            kinds: Vec::new(),
            sizes: Vec::new(),
            pcs: Vec::new(),
            row_keys: Vec::new(),
            fragments: vec![Fragment::default()],
            slots: vec![NO_FRAGMENT; SLOTS].into(),
            seen: vec![0; SEEN_SLOTS].into(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.kinds.clear();
        self.sizes.clear();
        self.pcs.clear();
        self.row_keys.clear();
        self.fragments.truncate(1);
        self.fragments[NO_FRAGMENT as usize] = Fragment::default();
        self.slots.fill(NO_FRAGMENT);
        self.seen.fill(0);
    }

    pub(super) fn is_full(&self) -> bool {
        self.row_keys.len() + MAX_FRAGMENT_ROWS > MAX_KNOWN_ROWS
            || self.fragments.len() > MAX_FRAGMENTS
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.fragments.len() - 1
    }

    /// Where the rows of a fragment are among those of all.
    #[inline(always)]
    pub(super) fn rows(&self, fragment: u32) -> Range<usize> {
        let fragment = &self.fragments[fragment as usize];
        fragment.first as usize..(fragment.first + fragment.rows) as usize
    }

    /// The rows of all fragments.
    pub(super) fn row_keys(&self) -> &[RowKey] {
        &self.row_keys
    }

    /// The fragment at `at`, if it is one of the two that followed `before` lately; and whether it
    /// is the one that followed last.
    #[inline(always)]
    pub(super) fn expected(&self, before: u32, block: &Block, at: usize) -> Option<(u32, bool)> {
        let [last, older] = self.fragments[before as usize].successors;
        if self.is_at(last, block, at) {
            return Some((last, true));
        }
        self.is_at(older, block, at).then_some((older, false))
    }

    /// Enters which fragment followed.
    #[inline(always)]
    pub(super) fn set_successor(&mut self, before: u32, fragment: u32) {
        let successors = &mut self.fragments[before as usize].successors;
        if successors[0] != fragment {
            *successors = [fragment, successors[0]];
        }
    }

    /// Whether the rows from `at` on are those of a fragment.
    #[inline(always)]
    fn is_at(&self, number: u32, block: &Block, at: usize) -> bool {
        let fragment = &self.fragments[number as usize];
        let end = at + fragment.rows as usize;
        if number == NO_FRAGMENT || end > block.len() || (fragment.is_last && end != block.len()) {
            return false;
        }
        let own = self.rows(number);
        self.pcs[own.clone()] == block.pcs()[at..end]
            && self.kinds[own.clone()] == block.kinds()[at..end]
            && self.sizes[own] == block.sizes()[at..end]
            && block.kinds().get(end) != Some(&Kind::Operand)
    }

    /// Where the fragment ends that begins at `at`.
    pub(super) fn cut(&self, block: &Block, at: usize) -> FragmentCut {
        let kinds = &block.kinds()[at..block.len().min(at + MAX_FRAGMENT_ROWS)];
        let pcs = &block.pcs()[at..];
        let (mut hash, mut rows) = (0, 0);
        let mut owner = kinds[0];
        for (row, &kind) in kinds.iter().enumerate() {
            if kind != Kind::Operand {
                // The program counter of an operand is not one of the code.
                let is_jump = row >= MIN_ROWS
                    && (matches!(kind, Kind::Enter | Kind::Exit)
                        || (pcs[row] <= pcs[row - 1] && kinds[row - 1] != Kind::Operand));
                let borders_alone = row > 0 && (is_alone(kind) || is_alone(owner));
                if is_jump || borders_alone || row >= FULL_ROWS {
                    break;
                }
                owner = kind;
            }
            hash = RowKey::of(block, at + row).mix(hash);
            rows = row + 1;
        }
        let is_last = at + rows == block.len();
        FragmentCut {
            rows,
            is_last,
            hash: hash ^ u64::from(is_last),
        }
    }

    /// The fragment that was cut, if it is known.
    pub(super) fn find(&self, block: &Block, at: usize, cut: &FragmentCut) -> Option<u32> {
        for probe in 0..PROBES {
            let number = self.slots[(cut.hash as usize).wrapping_add(probe) % SLOTS];
            if number == NO_FRAGMENT {
                return None;
            }
            let fragment = &self.fragments[number as usize];
            let same = fragment.hash == cut.hash
                && fragment.rows as usize == cut.rows
                && fragment.is_last == cut.is_last;
            if same && self.is_at(number, block, at) {
                return Some(number);
            }
        }
        None
    }

    /// Learns a fragment that is not known, if it was seen before. Returns whether it is known now.
    pub(super) fn learn(&mut self, block: &Block, at: usize, cut: &FragmentCut) -> bool {
        let seen = &mut self.seen[cut.hash as usize % SEEN_SLOTS];
        let mark = (cut.hash >> 32) as u32 | 1;
        if *seen != mark {
            *seen = mark;
            return false;
        }
        // A fragment with an operand after it would never be found, see `is_at`.
        if self.is_full() || block.kinds().get(at + cut.rows) == Some(&Kind::Operand) {
            return false;
        }
        let mut places = (0..PROBES).map(|probe| (cut.hash as usize).wrapping_add(probe) % SLOTS);
        let Some(place) = places.find(|&place| self.slots[place] == NO_FRAGMENT) else {
            return false;
        };
        self.slots[place] = self.fragments.len() as u32;
        self.fragments.push(Fragment {
            hash: cut.hash,
            first: self.row_keys.len() as u32,
            rows: cut.rows as u32,
            is_last: cut.is_last,
            successors: [NO_FRAGMENT; 2],
        });
        let rows = at..at + cut.rows;
        self.kinds.extend_from_slice(&block.kinds()[rows.clone()]);
        self.sizes.extend_from_slice(&block.sizes()[rows.clone()]);
        self.pcs.extend_from_slice(&block.pcs()[rows.clone()]);
        self.row_keys.extend(rows.map(|at| RowKey::of(block, at)));
        true
    }
}
