//! Touches whose cells are looked up a little later, many at a time: the look-ups wait for memory
//! together, and what follows need not wait for them at all.

use super::Pass;
use crate::cells::Packed;
use crate::folding::CellChoice;

/// Touches that wait at most, but for those of one run of rows more.
const FULL: usize = 64;

/// A touch without its cell.
#[derive(Clone, Copy, Debug)]
struct Wait {
    key: Packed,
    hash: u64,
    /// Its place in the columns.
    at: usize,
    slot: u32,
}

/// Those that wait, in their order: cells are made in the order of the accesses.
#[derive(Debug, Default)]
pub(super) struct Waiting(Vec<Wait>);

impl Waiting {
    #[inline(always)]
    pub fn add(&mut self, at: usize, slot: usize, (key, hash): (Packed, u64)) {
        let slot = slot as u32;
        self.0.push(Wait {
            key,
            hash,
            at,
            slot,
        });
    }

    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.0.len() >= FULL
    }
}

impl Pass<'_> {
    /// Counts a touch of one item of a site's access to an object.
    #[inline(always)]
    pub(super) fn count(&mut self, slot: usize, object: u32, item: u64) {
        let remembered = self.process.sites.slot(slot);
        if remembered.object == object && remembered.owner == self.owner {
            return self.columns.push(item, remembered.cell);
        }
        let key = Packed::new(remembered.site, object, self.owner);
        let hash = key.hash();
        self.shared.prefetch(hash);
        self.waiting.add(self.columns.len(), slot, (key, hash));
        self.columns.push(item, 0);
        if self.waiting.is_full() {
            self.resolve();
        }
    }

    /// Looks up the cells of the touches that wait; their sites remember them from now on.
    #[inline(never)]
    pub(super) fn resolve(&mut self) {
        let Pass {
            waiting,
            shared,
            columns,
            process,
            ..
        } = self;
        for wait in waiting.0.drain(..) {
            let found = match shared.cells.look(wait.key, wait.hash) {
                Some(cell) => CellChoice { cell, lasts: true },
                None => shared.new_cell(wait.key),
            };
            columns.cells[wait.at] = found.cell;
            if found.lasts {
                let key = wait.key;
                let slot = process.sites.slot(wait.slot as usize);
                (slot.object, slot.owner, slot.cell) = (key.key().object, key.owner(), found.cell);
            }
        }
    }

    /// The cell of a site's access to an object, now. Counts an access of those that have no cell
    /// of their own.
    pub(super) fn cell(&mut self, slot: usize, object: u32) -> u32 {
        self.resolve();
        let slot = self.process.sites.slot(slot);
        if slot.object == object && slot.owner == self.owner {
            return slot.cell;
        }
        let key = Packed::new(slot.site, object, self.owner);
        let found = self.shared.cell(key.key());
        if found.lasts {
            (slot.object, slot.owner, slot.cell) = (object, self.owner, found.cell);
        }
        found.cell
    }
}
