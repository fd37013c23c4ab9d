//! Accesses of which nothing is to be known but the items.

use std::ops::Range;

use reuselens_trace::{Block, Kind};
use reuselens_units::Granularity;

use super::{Access, Pass};
use crate::attributor::ProcessState;
use crate::cells::CellKey;
use crate::options::Kinds;
use crate::shadow::NO_STRUCTURE;

/// Rows that are judged together, by a few instructions on vectors.
const TOGETHER: usize = 64;

/// Rows that mostly count all: few enough that one that does not leaves most others to be taken at
/// once.
const FEW: usize = 8;

/// The columns of a few rows.
#[derive(Clone, Copy)]
struct Rows<'a> {
    kinds: &'a [Kind; TOGETHER],
    sizes: &'a [u8; TOGETHER],
    addrs: &'a [u64; TOGETHER],
}

/// What a few rows are.
struct Judged {
    /// 1 for an access that counts.
    counted: [u8; TOGETHER],
    /// 1 for a row that is neither an access to one item nor without meaning here.
    odd: [u8; TOGETHER],
}

impl<'a> Rows<'a> {
    /// Those from `from` on, if there are as many.
    #[inline(always)]
    fn of(block: &'a Block, from: usize) -> Option<Self> {
        Some(Rows {
            kinds: block.kinds().get(from..)?.first_chunk()?,
            sizes: block.sizes().get(from..)?.first_chunk()?,
            addrs: block.addrs().get(from..)?.first_chunk()?,
        })
    }

    #[inline(always)]
    fn judge(self, granularity: Granularity, kinds: Kinds) -> Judged {
        let rooms = self.rooms(granularity);
        let (loads, stores) = (kinds.counts(Kind::Load), kinds.counts(Kind::Store));
        let mut judged = Judged {
            counted: [0; TOGETHER],
            odd: [0; TOGETHER],
        };
        let columns = self.kinds.iter().zip(self.sizes).zip(&rooms);
        let verdicts = judged.counted.iter_mut().zip(&mut judged.odd);
        for ((counted, odd), ((&kind, size), room)) in verdicts.zip(columns) {
            let is = |other: Kind| kind as u8 == other as u8;
            let access = is(Kind::Load) | is(Kind::Store) | is(Kind::Atomic);
            let skipped = is(Kind::Operand)
                | is(Kind::Enter)
                | is(Kind::Exit)
                | is(Kind::Statement)
                | is(Kind::BasicBlock);
            let counts = (is(Kind::Load) & loads) | (is(Kind::Store) & stores) | is(Kind::Atomic);
            *counted = u8::from(counts);
            *odd = u8::from(!(skipped | (access & (size <= room))));
        }
        judged
    }

    /// The bytes from each address to the end of its item, 255 if they are more. A loop of its own,
    /// so that the one over what is left takes as many rows at once as bytes fit into a vector.
    #[inline(always)]
    fn rooms(self, granularity: Granularity) -> [u8; TOGETHER] {
        // Of larger items some accesses are taken for odd ones that are not: it costs time, nothing
        // else.
        let item = granularity.bytes().min(1 << 30) as u32;
        // By place: to map the array would copy it first.
        std::array::from_fn(|row| (item - (self.addrs[row] as u32 & (item - 1))).min(255) as u8)
    }
}

impl Judged {
    #[inline(always)]
    fn all_count(&self) -> bool {
        self.counted.iter().fold(1, |all, one| all & one) == 1
    }

    #[inline(always)]
    fn any_counts(&self) -> bool {
        self.counted.iter().fold(0, |any, one| any | one) == 1
    }

    /// Bit i is set for an odd row i.
    #[inline(always)]
    fn odd(&self) -> u64 {
        if self.odd.iter().fold(0, |any, one| any | one) == 0 {
            return 0;
        }
        let rows = (0..).zip(&self.odd);
        rows.fold(0, |mask, (row, &odd)| mask | u64::from(odd) << row)
    }
}

impl Pass<'_> {
    /// The addresses are the items.
    pub(super) fn run_ids(&mut self, block: &Block) {
        let mut key = CellKey::default();
        if !self.options.is_whole() {
            key.thread = self.thread;
        }
        let cell = self.shared.cell(key).cell;
        if block.touches.is_there() {
            self.columns
                .extend_items(block.touches.items.iter().copied());
            self.shared.references += block.touches.references;
        }
        for (&kind, &item) in block.kinds().iter().zip(block.addrs()) {
            if self.options.kinds.counts(kind) {
                self.columns.push(item, cell);
                self.mark_stores(kind);
                self.shared.references += 1;
            }
        }
    }

    /// Everything counts for one cell. Compiled for the processor at hand by [`super::dispatch`].
    #[inline(always)]
    pub(super) fn run_whole_here(&mut self, block: &Block) {
        // The first cell that there is.
        self.shared.cell(CellKey::default());
        let mut from = 0;
        while let Some(rows) = Rows::of(block, from) {
            let judged = rows.judge(self.granularity, self.options.kinds);
            // Where the program names its accesses no others count.
            let counts = judged.any_counts();
            let (mut start, mut odd) = (0, judged.odd());
            while odd != 0 {
                let row = odd.trailing_zeros() as usize;
                odd &= odd - 1;
                if counts {
                    self.push_plain(rows, &judged, start..row);
                }
                if !self.named_at_once(block, from + row) {
                    self.row_whole(block, from + row);
                }
                start = row + 1;
            }
            if counts {
                self.push_plain(rows, &judged, start..TOGETHER);
            }
            from += TOGETHER;
        }
        for row in from..block.len() {
            self.row_whole(block, row);
        }
    }

    /// Takes rows of which each is an access to one item, or nothing.
    #[inline(always)]
    fn push_plain(&mut self, rows: Rows<'_>, judged: &Judged, range: Range<usize>) {
        let (fold, shift) = (self.fold, self.granularity.shift());
        let item = |address: &u64| (address ^ fold) >> shift;
        if range.len() == TOGETHER && judged.all_count() {
            self.columns.extend_items(rows.addrs.iter().map(item));
            self.shared.references += TOGETHER as u64;
            return;
        }
        let mut items = [0; TOGETHER + FEW];
        let (mut touches, mut row) = (0, range.start);
        while row < range.end {
            let few = (
                rows.addrs[row..range.end].first_chunk::<FEW>(),
                items[touches..].first_chunk_mut(),
            );
            if let (Some(addrs), Some(into)) = few
                && judged.counted[row..row + FEW] == [1; FEW]
            {
                *into = addrs.map(|address| item(&address));
                touches += FEW;
                row += FEW;
                continue;
            }
            // Written in any case, and kept if it counts: nothing foretells which rows do.
            for row in row..range.end.min(row + FEW) {
                items[touches] = item(&rows.addrs[row]);
                touches += usize::from(judged.counted[row]);
            }
            row += FEW;
        }
        self.columns.extend_items(items[..touches].iter().copied());
        self.shared.references += touches as u64;
    }

    /// Takes an access that the program names, if its structure was entered lately: programs that
    /// name their accesses have little else. Whether it was taken; what comes out is what
    /// [`row_whole`](Self::row_whole) makes of it.
    #[inline(always)]
    fn named_at_once(&mut self, block: &Block, row: usize) -> bool {
        let kinds = block.kinds();
        if kinds[row] != Kind::Named
            || kinds.get(row + 1) != Some(&Kind::Operand)
            || self.process.instrumented
        {
            return false;
        }
        self.entered_at_once(block.addrs()[row], block.addrs()[row + 1])
    }

    /// The same for an access at an address, by a base.
    #[inline(always)]
    pub(super) fn entered_at_once(&mut self, address: u64, base: u64) -> bool {
        let ProcessState { entries, space, .. } = &*self.process;
        let structure = entries.entered_lately(base, space);
        let element = structure.and_then(|structure| structure.element(address));
        if let Some((start, size)) = element {
            self.touch(Kind::Named, 0, start, size);
        }
        element.is_some()
    }

    /// Takes any row.
    #[inline(never)]
    pub(super) fn row_whole(&mut self, block: &Block, row: usize) {
        match block.kinds()[row] {
            kind @ (Kind::Load | Kind::Store | Kind::Atomic) => {
                let (size, address) = (block.sizes()[row], block.addrs()[row]);
                self.touch(kind, block.pcs()[row], address, size.into());
            }
            Kind::Operand | Kind::Enter | Kind::Exit | Kind::Statement | Kind::BasicBlock => {}
            // Accesses that the program names need to know where the heap's blocks are; of one
            // whose accesses are seen by themselves they do not count.
            Kind::Alloc | Kind::Free | Kind::Data | Kind::PartialData
                if self.process.instrumented => {}
            _ => self.rare::<false>(super::rows::Rows::of(block), row),
        }
    }

    /// Counts an access of the one cell.
    #[inline(always)]
    pub(super) fn touch(&mut self, kind: Kind, pc: u64, address: u64, size: u64) {
        if !self.options.kinds.counts(kind) {
            return;
        }
        self.shared.references += 1;
        let (first, last) = self.granularity.cover(address ^ self.fold, size);
        self.columns.push(first, 0);
        if last != first {
            let access = Access {
                kind,
                pc,
                address,
                size,
            };
            self.push_rest(access, NO_STRUCTURE, 0);
        }
        self.mark_stores(kind);
    }
}
