//! Merging the cells of few accesses, so that there is room for others.
//!
//! An interpreter reaches each of its functions on ten thousands of paths, so a program can have
//! more groups of accesses than there is room for. Where the consumer can merge what it has counted
//! for two cells ([`Options::merges`]), each group gets a cell with its first access, for as long
//! as there is room, or nearly so: see below. When the table is full, the cells of fewest accesses
//! become parts of coarser cells, finest first, until an eighth to a fourth of the table is free.
//! The first step is to the other objects in the same context, where several such cells have enough
//! accesses together. Else it is to the context at the next power of two of depths further up, and
//! at the first function to the other objects ([`Shared::coarser`]). What is still cold after a
//! step takes the next one.
//!
//! Histograms of two cells add up exactly, so each access counts once, and a cell that is never
//! merged has all its accesses. Which cells are merged depends on the accesses alone, so equal
//! traces give equal profiles. A group that is merged and repeats later gets a new cell, which
//! loses what the old one had. So a group keeps its name if it is hot compared with the others
//! between two merges, however late that is.
//!
//! Most cells that a long run merges are merged again and again: a compiler makes 17 million for
//! 246 million accesses. So a group without a cell gets one only when it was accessed as often as
//! an eighth of the accesses that the last merge asked for ([`Merging::admission`]), and until then
//! counts as it does for consumers that cannot merge (see the module `folding`). That gcc then
//! makes 5 million.
//!
//! If cells that cannot be merged any further fill the table, merging ends. From then on a new
//! group counts as it does for consumers that cannot merge (see the module `folding`).
//!
//! Accesses are counted by cell for this. Before there are [`Options::max_cells`] cells, every
//! thirteenth is, and stands for thirteen: ordinary programs go no further.
//!
//! Source: Manku & Motwani 2002, "Approximate frequency counts over data streams" (lossy counting),
//! with merges into a hierarchy as in Cormode, Korn, Muthukrishnan & Srivastava 2003, "Finding
//! hierarchical heavy hitters in data streams".
//!
//! [`Options::merges`]: crate::Options::merges
//! [`Options::max_cells`]: crate::Options::max_cells

use crate::cells::{COARSE, CellKey, CellTable};
use crate::hash::FastMap;
use crate::objects::Objects;
use crate::options::Options;
use crate::shared::Shared;

/// Cells of a full table, for each of [`Options::max_cells`].
const FULL: usize = 5;
/// The part of a full table whose cells count as cold at the first pass: one of this many.
const FREED: usize = 4;
/// Of so many accesses one is counted before the first [`Options::max_cells`] cells are made.
/// No divisor of the usual lengths of loops.
const STRIDE: usize = 13;

/// A new group gets a cell once it has a part of the accesses below which the last merge found
/// cells cold: one of so many. With a fourth or a half more accesses count in other contexts, and
/// no time is saved.
const ADMITTED: u32 = 8;

/// Passes of a merge, at most: each has twice the bound of the one before.
const PASSES: usize = 8;

/// Counts the accesses of cells, and knows when the table of cells is full.
#[derive(Debug, Default)]
pub(crate) struct Merging {
    is_on: bool,
    /// By cell, its accesses, about.
    accesses: Vec<u32>,
    /// Accesses before the next one that is counted.
    skip: usize,
    /// Cells at which the table is full.
    full: usize,
    /// The accesses below which the last merge found cells cold; 0 before it.
    cold: u32,
}

impl Merging {
    /// Nothing is counted unless the options allow merging.
    pub fn new(options: &Options) -> Self {
        Merging {
            is_on: options.merges && !options.basic_blocks && !options.is_totals_only(),
            full: FULL * options.max_cells,
            ..Merging::default()
        }
    }

    /// The accesses at which a new group gets a cell: with fewer, most would be merged soon. There
    /// will be room, as the next merge makes it; `None` if it does not.
    pub fn admission(&self, cells: &CellTable) -> Option<u32> {
        let makes_room = self.is_on && cells.len() < 2 * self.full;
        makes_room.then(|| (self.cold / ADMITTED).max(1))
    }

    /// Whether new groups of many threads must do with one cell: there is no room for groups of all
    /// threads, or most of it is used where cells are merged.
    pub fn gives_up_threads(&self, cells: &CellTable) -> bool {
        !self.is_on || cells.len() >= self.full - self.full / 8
    }

    /// Whether it is time to merge cells.
    pub fn is_due(&self, cells: &CellTable) -> bool {
        self.is_on && cells.len() >= self.full
    }

    /// Counts accesses of cells.
    pub fn count(&mut self, cells: &[u32], table: &CellTable) {
        if !self.is_on {
            return;
        }
        self.accesses.resize(table.keys().len(), 0);
        if table.has_room() {
            let mut counted = self.skip;
            while let Some(cell) = cells.get(counted) {
                let accesses = &mut self.accesses[*cell as usize];
                *accesses = accesses.saturating_add(STRIDE as u32);
                counted += STRIDE;
            }
            self.skip = counted - cells.len();
            return;
        }
        for cell in cells {
            let accesses = &mut self.accesses[*cell as usize];
            *accesses = accesses.saturating_add(1);
        }
    }

    /// The accesses below which a cell is cold: a fourth of a full table has fewer.
    fn bound(&self, cells: &CellTable) -> u32 {
        let accesses = cells.numbers().map(|cell| self.accesses[cell as usize]);
        let mut accesses: Vec<u32> = accesses.collect();
        let cold = accesses.len().saturating_sub(self.full - self.full / FREED);
        match accesses.len() {
            0 => 0,
            cells => *accesses.select_nth_unstable(cold.min(cells - 1)).1,
        }
        .max(2)
    }

    /// Memory held.
    pub fn memory(&self) -> u64 {
        (self.accesses.capacity() * size_of::<u32>()) as u64
    }
}

/// The accesses of cold cells by site, context and thread, whatever the object.
type SitesInContexts = FastMap<CellKey, u32>;

impl Shared {
    /// Merges cold cells into coarser ones. Returns pairs of a cell that is no more, and of the one
    /// that has its accesses now, in the order in which that is to be done.
    pub fn merge_cold_cells(&mut self) -> Vec<(u32, u32)> {
        self.warn_of_contexts();
        let full = FULL * self.cells.max();
        let mut bound = self.merging.bound(&self.cells);
        let mut merged = Vec::new();
        // Coarser cells take room too, so that one pass may free too little.
        for _ in 0..PASSES {
            self.merge_below(bound, &mut merged);
            if self.cells.len() <= full - full / 8 {
                break;
            }
            bound = bound.saturating_mul(2);
        }
        self.merges += 1;
        self.merging.full = full;
        self.merging.cold = bound;
        // The coarsest cells alone fill the table (many processes, say): each further merge would
        // cost as much and free as little.
        if self.cells.len() > full - full / 8 {
            self.merging.is_on = false;
        }
        merged
    }

    /// Merges cells with fewer accesses than `bound`, finest first.
    fn merge_below(&mut self, bound: u32, merged: &mut Vec<(u32, u32)>) {
        let before = merged.len();
        let cells: Vec<u32> = self.cells.numbers().collect();
        let mut levels: Vec<Vec<u32>> = Vec::new();
        let mut sums = SitesInContexts::default();
        for cell in cells {
            let key = self.cells.keys()[cell as usize];
            self.add_to_level(&mut levels, cell);
            let accesses = self.merging.accesses[cell as usize];
            if key.context & COARSE == 0 && (accesses < bound || key.object == Objects::OTHER) {
                let sum = sums.entry(key.of_other_objects()).or_default();
                *sum = sum.saturating_add(accesses);
            }
        }
        // The cells of level 0 are the coarsest.
        for level in (1..levels.len()).rev() {
            for cell in std::mem::take(&mut levels[level]) {
                let accesses = std::mem::take(&mut self.merging.accesses[cell as usize]);
                if accesses >= bound {
                    self.merging.accesses[cell as usize] = accesses;
                    continue;
                }
                let key = self.merged_key(self.cells.keys()[cell as usize], &sums, bound);
                let known = self.cells.get(key);
                let into = known.unwrap_or_else(|| self.cells.add(key));
                self.merging.accesses.resize(self.cells.keys().len(), 0);
                if known.is_none() {
                    self.add_to_level(&mut levels, into);
                }
                let sum = &mut self.merging.accesses[into as usize];
                *sum = sum.saturating_add(accesses);
                merged.push((cell, into));
            }
        }
        self.cells
            .remove(merged[before..].iter().map(|(cell, _)| *cell));
    }

    /// The key of the cell that a cold one becomes a part of: the other objects in its context, if
    /// all such cells of its site have enough accesses together; else one further up.
    fn merged_key(&mut self, key: CellKey, sums: &SitesInContexts, bound: u32) -> CellKey {
        let of_others = key.of_other_objects();
        let is_enough = sums.get(&of_others).is_some_and(|sum| *sum >= bound);
        let into = if key.context & COARSE == 0 && key.object != Objects::OTHER && is_enough {
            of_others
        } else {
            self.coarser(key)
        };
        if into.object == Objects::OTHER {
            self.warn_of_objects();
        }
        into
    }

    fn add_to_level(&self, levels: &mut Vec<Vec<u32>>, cell: u32) {
        let level = self.level(self.cells.keys()[cell as usize]);
        if levels.len() <= level {
            levels.resize(level + 1, Vec::new());
        }
        levels[level].push(cell);
    }

    /// A number that is lower for a coarser key; 0 for the coarsest.
    fn level(&self, key: CellKey) -> usize {
        let context = key.context & !COARSE;
        let depth = self.contexts.depth(context) as usize;
        match (key.context & COARSE != 0, key.object == Objects::OTHER) {
            (true, true) if self.contexts.coarser(context) == 0 => 0,
            (true, true) => 3 * depth,
            (true, false) => 3 * depth + 1,
            (false, true) => 3 * depth + 2,
            (false, false) => 3 * depth + 3,
        }
    }
}
