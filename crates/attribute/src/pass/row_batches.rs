//! The rows that most of a block are: accesses to one item each, of instructions that were seen
//! before, to objects that are found at once.

use std::ops::Range;

use reuselens_trace::Kind;

use super::Pass;
use super::repeat_cache::is_plain;
use super::rows::Rows;
use crate::attributor::ProcessState;
use crate::cells::Packed;
use crate::shadow::{NO_STRUCTURE, Versions};
use crate::sites::Slot;
use crate::space::Space;

/// Rows that are taken at a time.
const ROWS: usize = 64;
/// Rows ahead whose instructions are asked for.
const AHEAD: usize = 16;

/// Touches of some rows, before they are in the columns.
pub(super) struct Run {
    items: [u64; ROWS],
    cells: [u32; ROWS],
}

impl Default for Run {
    fn default() -> Self {
        Run {
            items: [0; ROWS],
            cells: [0; ROWS],
        }
    }
}

/// What holds for all accesses of a run.
struct Around {
    /// The innermost frame.
    top_low: u64,
    top_bytes: u64,
    top_object: u32,
    /// The thread's stack.
    stack_low: u64,
    stack_bytes: u64,
    versions: Versions,
}

impl Around {
    /// The object of an address that is told apart no further, if it is found at once.
    #[inline(always)]
    fn object(&self, slot: &Slot, space: &Space, address: u64) -> Option<u32> {
        if address.wrapping_sub(self.top_low) < self.top_bytes {
            return Some(self.top_object);
        }
        let own = address.wrapping_sub(self.stack_low) < self.stack_bytes;
        if let Some((object, structure)) = slot.recall(address, &self.versions) {
            let counts = structure == NO_STRUCTURE && (!own || slot.is_in_frame());
            return counts.then_some(object);
        }
        let object = space.quick(address);
        (object != 0 && !own).then_some(object)
    }
}

impl Pass<'_> {
    /// Takes the rows of a range, up to the first that is more than that; which one.
    #[inline(always)]
    pub(super) fn run_near(&mut self, rows: Rows<'_>, range: Range<usize>) -> usize {
        let Range {
            start: mut row,
            end,
        } = range;
        loop {
            let taken = self.take_rows(rows, row..end);
            row += taken;
            if self.waiting.is_full() {
                self.resolve();
            }
            if taken < ROWS {
                return row;
            }
        }
    }

    /// Takes up to [`ROWS`] rows; how many.
    #[inline(always)]
    fn take_rows(&mut self, all: Rows<'_>, range: Range<usize>) -> usize {
        let Range { start: from, end } = range;
        let Pass {
            process,
            shared,
            columns,
            waiting,
            run,
            ..
        } = self;
        let ProcessState { sites, space, .. } = &mut **process;
        let range = from..end.min(from + ROWS);
        let (kinds, sizes) = (&all.kinds[range.clone()], &all.sizes[range.clone()]);
        let (pcs, addrs) = (&all.pcs[range.clone()], &all.addrs[range]);
        let (granularity, fold, owner) = (self.granularity, self.fold, self.owner);
        let basic_blocks = self.options.basic_blocks;
        let (stack_low, stack_bytes) = self.stack.extent();
        let around = Around {
            top_low: self.top_low,
            top_bytes: self.top_bytes,
            top_object: self.top_object,
            stack_low,
            stack_bytes,
            versions: space.versions(),
        };
        let before = columns.len();
        let (mut taken, mut done) = (0, 0);
        // What comes, this run of rows and the next.
        let coming = all.pcs.iter().zip(all.kinds).skip(from + AHEAD);
        let mut coming = coming.take(if sites.are_many() { ROWS } else { 0 });
        let rows = kinds.iter().zip(sizes).zip(pcs.iter().zip(addrs));
        for ((&kind, &size), (&pc, &address)) in rows {
            if let Some((pc, kind)) = coming.next() {
                sites.prefetch(*pc, *kind);
            }
            if !is_plain(kind) {
                if !matches!(kind, Kind::Operand | Kind::BasicBlock) {
                    break;
                }
                if kind == Kind::BasicBlock && basic_blocks {
                    columns.begin(before + done, all.row(from + taken));
                }
                taken += 1;
                continue;
            }
            let (item, last) = granularity.cover(address ^ fold, size.into());
            let Some(place) = sites.known(pc, kind).filter(|_| item == last) else {
                break;
            };
            let slot = sites.slot(place);
            let Some(object) = around.object(slot, space, address) else {
                break;
            };
            let at = done % ROWS;
            run.items[at] = item;
            run.cells[at] = slot.cell;
            if slot.object != object || slot.owner != owner {
                let key = Packed::new(slot.site, object, owner);
                let hash = key.hash();
                shared.prefetch(hash);
                waiting.add(before + done, place, (key, hash));
            }
            done += 1;
            taken += 1;
        }
        shared.references += done as u64;
        columns.extend(&run.items[..done], &run.cells[..done]);
        taken
    }
}
