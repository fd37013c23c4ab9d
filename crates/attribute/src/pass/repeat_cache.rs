//! What is remembered of templates: straight-line pieces of code whose rows repeat.
//!
//! A cache entry holds, for each access of a template, the region of memory that the access was in
//! last and its cell there, valid for one [`Generation`]. Entries are columns, so that `repeats.rs`
//! compares several addresses at a time with their regions.

use std::ops::Range;

use reuselens_trace::{Block, Kind};

use super::rows::is_plain_access;
use crate::shadow::Versions;
use crate::stack::TopFrame;

/// Accesses of a template that follow each other, or one other row of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct TemplatePart {
    /// The first of its rows in the template, and the first after.
    pub from: u32,
    pub to: u32,
    pub is_accesses: bool,
    /// Index of its first access in [`CachedRegions`].
    pub at: u32,
    /// When it ran last.
    generation: Generation,
    /// Whether its regions are filled, for that generation.
    pub is_filled: bool,
    /// Recent hits less recent misses. Below 0 filling does not pay.
    pub score: i8,
}

/// Bound of [`TemplatePart::score`], in both directions.
const MAX_SCORE: i8 = 4;

impl TemplatePart {
    /// Records that the part runs in this generation. Returns whether using the cache pays.
    #[inline(always)]
    pub fn begin(&mut self, generation: &Generation) -> bool {
        if self.generation == *generation {
            self.score = (self.score + 1).min(MAX_SCORE);
        } else {
            (self.generation, self.is_filled) = (*generation, false);
            self.count_miss();
        }
        self.score >= 0
    }

    /// Lowers the score: the cache did not serve.
    #[inline(always)]
    pub fn count_miss(&mut self) {
        self.score = (self.score - 2).max(-MAX_SCORE);
    }
}

/// All that the cell of an instruction's access depends on besides its address. Equal generations
/// have equal cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Generation {
    /// Events so far. A module or a thread's stack brings other objects, and after the end of a
    /// process another one can get its number, with versions that begin anew.
    pub events: u64,
    /// How often cells were merged: other cells have their numbers after that.
    pub merges: u64,
    /// Context and thread.
    pub owner: u64,
    /// The process.
    pub process_bits: u64,
    /// The memory map.
    pub versions: Versions,
    pub top: TopFrame,
}

/// The region that an access was in: memory of one object, as far as known, and the cell of the
/// instruction's accesses to it. Without bytes only object and cell are known, or nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CachedRegion {
    pub low: u64,
    pub bytes: u64,
    pub object: u32,
    pub cell: u32,
}

/// A [`CachedRegion`] for each access of each template, as columns.
#[derive(Debug, Default)]
pub(super) struct CachedRegions {
    pub lows: Vec<u64>,
    pub bytes: Vec<u64>,
    pub objects: Vec<u32>,
    pub cells: Vec<u32>,
}

impl CachedRegions {
    pub fn resize(&mut self, accesses: usize) {
        self.lows.resize(accesses, 0);
        self.bytes.resize(accesses, 0);
        self.objects.resize(accesses, 0);
        self.cells.resize(accesses, 0);
    }

    pub fn set(&mut self, at: usize, region: CachedRegion) {
        (self.lows[at], self.bytes[at]) = (region.low, region.bytes);
        (self.objects[at], self.cells[at]) = (region.object, region.cell);
    }
}

/// A template.
#[derive(Clone, Debug)]
struct Template {
    /// Indices of its rows.
    rows: Range<usize>,
    /// Indices of its parts; empty until it runs for the first time.
    parts: Range<usize>,
}

/// The templates of the blocks so far, and their cached regions.
#[derive(Debug, Default)]
pub(super) struct RepeatCache {
    templates: Vec<Template>,
    /// The rows of templates.
    pub kinds: Vec<Kind>,
    pub sizes: Vec<u8>,
    pub pcs: Vec<u64>,
    pub parts: Vec<TemplatePart>,
    pub regions: CachedRegions,
}

impl RepeatCache {
    /// Takes in the templates of a block. Returns whether the block has the rows of all of them.
    pub fn add_templates(&mut self, block: &Block) -> bool {
        let known = block.repeats.known as usize;
        if known == 0 {
            self.templates.clear();
            self.kinds.clear();
            self.sizes.clear();
            self.pcs.clear();
            self.parts.clear();
            self.regions.resize(0);
        }
        self.templates.truncate(known);
        let mut all_fit = true;
        for template in &block.repeats.templates {
            let first = template.first as usize;
            let (from, mut range) = (self.kinds.len(), first..first + template.rows as usize);
            if range.end > block.len() {
                (all_fit, range) = (false, 0..0);
            }
            self.kinds.extend_from_slice(&block.kinds()[range.clone()]);
            self.sizes.extend_from_slice(&block.sizes()[range.clone()]);
            self.pcs.extend_from_slice(&block.pcs()[range]);
            self.templates.push(Template {
                rows: from..self.kinds.len(),
                parts: 0..0,
            });
        }
        all_fit
    }

    /// The parts of a template, and its rows. Parts are made when it runs for the first time.
    #[inline(always)]
    pub fn template(&mut self, number: u32) -> Option<(Range<usize>, Range<usize>)> {
        let template = self.templates.get(number as usize)?;
        let rows = template.rows.clone();
        if template.parts.start < template.parts.end {
            return Some((template.parts.clone(), rows));
        }
        let kinds = std::mem::take(&mut self.kinds);
        let parts = self.add_parts(&kinds[rows.clone()]);
        self.kinds = kinds;
        self.templates[number as usize].parts = parts.clone();
        Some((parts, rows))
    }

    /// Adds the parts of rows of these kinds, with empty regions.
    #[inline(never)]
    pub fn add_parts(&mut self, kinds: &[Kind]) -> Range<usize> {
        let (first, mut from) = (self.parts.len(), 0);
        let both_plain = |one: &Kind, next: &Kind| is_plain_access(*one) && is_plain_access(*next);
        for same in kinds.chunk_by(both_plain) {
            let to = from + same.len();
            let is_accesses = is_plain_access(same[0]);
            // Operands are taken with the rows that they belong to.
            if is_accesses || same[0] != Kind::Operand {
                self.parts.push(TemplatePart {
                    from: from as u32,
                    to: to as u32,
                    is_accesses,
                    at: self.regions.cells.len() as u32,
                    generation: Generation::default(),
                    is_filled: false,
                    score: 0,
                });
            }
            if is_accesses {
                self.regions.resize(self.regions.cells.len() + same.len());
            }
            from = to;
        }
        first..self.parts.len()
    }

    /// Removes the parts added last, which belong to no template; `accesses` are the cached regions
    /// before them.
    pub fn remove_parts(&mut self, parts: Range<usize>, accesses: usize) {
        self.parts.truncate(parts.start);
        self.regions.resize(accesses);
    }

    /// Memory held.
    pub fn memory(&self) -> u64 {
        let rows = size_of::<Kind>() + size_of::<u8>() + size_of::<u64>();
        let accesses = 2 * size_of::<u64>() + 2 * size_of::<u32>();
        let bytes = self.templates.capacity() * size_of::<Template>()
            + self.kinds.capacity() * rows
            + self.parts.capacity() * size_of::<TemplatePart>()
            + self.regions.cells.capacity() * accesses;
        bytes as u64
    }
}
