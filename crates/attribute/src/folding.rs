//! What has no room for a cell of its own counts for a coarser one.
//!
//! A program can have more groups of accesses than there is room for: an interpreter reaches each
//! of its functions on ten thousands of paths. The first groups get a cell each,
//! [`Options::max_cells`] of them. From then on a group counts for the finest cell there is of
//! those that are coarser, or for an older, coarser one as long as the table of cells remembers
//! that one for the group (`CellTable::folded`). Neither sums nor determinism depend on that: each
//! access counts once, and what is remembered follows from the accesses alone. Coarser is, step by
//! step: the calling context further up on the path, at the next power of two of depths; at the
//! first function, the other objects. Whenever a cell has taken so many accesses of finer groups,
//! the group of the next gets a cell one step finer, and keeps it: the more accesses a group has,
//! the sooner that is its own, so what is hot is kept however late it comes. The number of accesses
//! doubles again and again as room is used up. Each access counts once, so sums stay exact; and it
//! counts below the functions that led to it.
//!
//! Source: Estan & Varghese 2002, "New directions in traffic measurement and accounting", section
//! 3.1 (sample and hold); the steps are those of Cormode, Korn, Muthukrishnan & Srivastava 2003,
//! "Finding hierarchical heavy hitters in data streams".
//!
//! [`Options::max_cells`]: crate::Options::max_cells

use crate::cells::{CellKey, Packed};
use crate::objects::Objects;
use crate::shared::Shared;

/// Where an access counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CellChoice {
    /// The number of the cell.
    pub cell: u32,
    /// Whether accesses like it count there for ever, so that the number may be remembered.
    pub lasts: bool,
}

/// How many cells refinement has made of one kind (contexts, objects), which decides when the next
/// is due.
#[derive(Debug, Default)]
struct RefinementCount {
    used: usize,
}

impl RefinementCount {
    /// The accesses of finer groups after which a cell of `room` is made: `least` at first, doubled
    /// `doublings` times until none is left; `None` then.
    fn threshold(&self, room: usize, least: u32, doublings: usize) -> Option<u32> {
        (self.used < room).then(|| least << (doublings * self.used / room))
    }
}

/// Which cells stand for finer groups, and which of those get cells of their own.
#[derive(Debug, Default)]
pub(crate) struct Refining {
    contexts: RefinementCount,
    objects: RefinementCount,
    /// By cell, how many more accesses of finer groups it takes until a group gets a cell, which is
    /// the group of the last of them; 0 before the first. Cells beyond the end have 0. The number
    /// depends on the cell's key, which need not be looked at for each access.
    left: Vec<u32>,
    /// By cell, whether it was made for finer groups.
    is_coarse: Vec<bool>,
}

impl Refining {
    /// Whether a cell was made for several groups of accesses.
    pub fn is_coarse(&self, cell: usize) -> bool {
        self.is_coarse.get(cell).is_some_and(|coarse| *coarse)
    }

    /// Memory held.
    pub fn memory(&self) -> u64 {
        (self.left.capacity() * size_of::<u32>() + self.is_coarse.capacity()) as u64
    }

    fn mark(&mut self, cell: u32) {
        let cells = cell as usize + 1;
        if self.is_coarse.len() < cells {
            self.is_coarse.resize(cells, false);
        }
        self.is_coarse[cell as usize] = true;
    }

    /// Counts an access of a finer group: the accesses left before it.
    fn take(&mut self, cell: u32) -> u32 {
        let cells = cell as usize + 1;
        if self.left.len() < cells {
            self.left.resize(cells, 0);
        }
        let left = &mut self.left[cell as usize];
        let before = *left;
        *left = before.saturating_sub(1);
        before
    }
}

impl Shared {
    /// As [`cell`](Self::cell), of a key that is known to have none, with its hash. Counts an
    /// access of the key.
    #[inline(never)]
    pub fn new_cell(&mut self, packed: Packed, hash: u64) -> CellChoice {
        if self.cells.has_room() {
            return CellChoice {
                cell: self.cells.get_or_add(packed.key()),
                lasts: true,
            };
        }
        // Many accesses of keys without a cell are of the same few.
        let key = packed.key();
        let mut cell = match self.cells.folded(packed, hash) {
            Some(cell) => cell,
            None => {
                let (cell, _) = self.coarse(key);
                self.cells.fold(packed, hash, cell);
                cell
            }
        };
        let mut lasts = false;
        let left = self.refining.take(cell);
        if left <= 1 {
            let threshold = self.threshold(cell);
            // The first access of many counts here.
            let first = u32::from(left == 0);
            self.refining.left[cell as usize] = threshold.unwrap_or(u32::MAX) - first;
            if left == 1 && threshold.is_some() {
                cell = self.refine(key);
                self.cells.fold(packed, hash, cell);
                lasts = self.cells.keys()[cell as usize] == key;
            }
        }
        CellChoice { cell, lasts }
    }

    /// After how many accesses of finer groups a group below a cell gets one of its own; `None` if
    /// none gets one.
    fn threshold(&self, cell: u32) -> Option<u32> {
        let (key, room) = (self.cells.keys()[cell as usize], 2 * self.cells.max());
        let Refining {
            contexts, objects, ..
        } = &self.refining;
        if key.object == Objects::OTHER {
            return objects.threshold(room, 2, 10);
        }
        // What is near the root says least of where it comes from.
        let sooner = match self.contexts.depth(key.context) {
            0..=1 => 3,
            2..=4 => 2,
            _ => 0,
        };
        let threshold = contexts.threshold(room, 8, 12)?;
        Some((threshold >> sooner).max(2))
    }

    /// Makes a cell one step finer than the finest there is for a key.
    #[cold]
    fn refine(&mut self, key: CellKey) -> u32 {
        let (coarse, finer) = self.coarse(key);
        match self.cells.keys()[coarse as usize].object {
            Objects::OTHER => self.refining.objects.used += 1,
            _ => self.refining.contexts.used += 1,
        }
        let cell = self.cells.get_or_add(finer);
        if finer != key {
            self.refining.mark(cell);
        }
        cell
    }

    /// The finest cell of those that are coarser than a key, and the key one step finer than that.
    fn coarse(&mut self, key: CellKey) -> (u32, CellKey) {
        if self.with_contexts {
            self.once(
                0,
                "contexts-folded",
                "there are more groups of accesses than are kept; those of few accesses count for a function further up on the \
                 path that led to them, as (other contexts)",
                "leave out contexts (--no-contexts), or measure a smaller part of the program",
            );
        }
        let mut finer = key;
        loop {
            let coarser = self.coarser(finer);
            if let Some(cell) = self.cells.get(coarser) {
                return (cell, finer);
            }
            if coarser.object == Objects::OTHER {
                return (self.coarsest(coarser), finer);
            }
            finer = coarser;
        }
    }

    /// The next coarser key: further up, and for all other objects where there is nothing further
    /// up.
    fn coarser(&self, key: CellKey) -> CellKey {
        match self.contexts.coarser(key.context) {
            0 => CellKey {
                object: Objects::OTHER,
                ..key
            },
            context => CellKey { context, ..key },
        }
    }

    /// Makes the cell for all other objects. There are at most as many lines as the program has
    /// code, so lines keep their names longer than objects.
    #[cold]
    fn coarsest(&mut self, key: CellKey) -> u32 {
        self.once(
            1,
            "groups-folded",
            "there are more groups of accesses than are kept; those of few accesses keep their lines, but count as (other \
             objects)",
            "keep some data only (--data heap), or measure a part of the run (--after, --function)",
        );
        let cell = if self.cells.has_room_for_lines() {
            self.cells.get_or_add(key)
        } else {
            self.once(
                3,
                "lines-folded",
                "there are more lines than are kept; new ones count as unknown",
                "measure a part of the run (--after, --function)",
            );
            let context = if self.with_contexts {
                self.contexts.other()
            } else {
                0
            };
            self.cells.get_or_add(CellKey {
                site: 0,
                object: Objects::OTHER,
                context,
                thread: 0,
            })
        };
        self.refining.mark(cell);
        cell
    }
}
