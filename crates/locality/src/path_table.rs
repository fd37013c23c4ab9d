//! Distances for each path to each instruction, in one pass for all lengths of paths.

use reuselens_units::{Bytes, Distance};

use crate::path::{LONGEST, Path, PathShares, Traces};
use crate::{Pattern, PatternBin, PatternBins, PatternRule, patterns};

/// Lengths of paths that are kept when those of longer ones become too many.
const LENGTHS: [u32; 7] = [0, 1, 2, 4, 8, 16, LONGEST];

/// The distances of one path to one instruction.
#[derive(Clone, Debug)]
pub struct PathCell {
    /// The instruction, as the caller numbers them.
    pub site: u32,
    /// The outcomes, newest in the lowest bit.
    pub outcomes: u32,
    /// The distances.
    pub bins: PatternBins,
    traces: Traces,
    /// The cell of the same instruction that came after this one last, and one; or 0.
    next: u32,
}

impl PathCell {
    fn key(&self) -> (u32, u32) {
        (self.site, self.outcomes)
    }

    fn shortened(mut self, length: u32) -> PathCell {
        self.outcomes = Path::newest(self.outcomes, length);
        self.next = 0;
        self
    }
}

/// Distances by instruction and path. A shorter path is the end of a longer one, so one look-up per access is
/// enough for all lengths: the longest is counted, the others are sums.
///
/// Memory is bounded by the number of cells: when there would be more, the length that is kept goes down (32, 16,
/// 8, 4, 2, 1, 0), by which cells fall together; [`length`](Self::length) says where it is. All that is kept is
/// exact. At length 0 there is one cell per instruction, bound or not.
///
/// Source: Fang et al. 2006, section 3.2; the bound and the one pass are ours.
#[derive(Clone, Debug)]
pub struct PathTable {
    most: usize,
    length: u32,
    cells: Vec<PathCell>,
    /// Open addressing: index of a cell and one, or 0. At most half full.
    slots: Vec<u32>,
    /// By instruction: the cell of its last access, and one.
    recent: Vec<u32>,
    bins: usize,
}

impl PathTable {
    /// An empty table of at most `most` cells.
    pub fn new(most: usize) -> Self {
        PathTable {
            most: most.clamp(1, 1 << 30),
            length: LONGEST,
            cells: Vec::new(),
            slots: vec![0; 1024],
            recent: Vec::new(),
            bins: 0,
        }
    }

    /// The longest paths that are told apart.
    pub fn length(&self) -> u32 {
        self.length
    }

    /// The cells of the longest paths, in the order in which they were first seen.
    pub fn cells(&self) -> &[PathCell] {
        &self.cells
    }

    /// Bytes held.
    pub fn memory(&self) -> Bytes {
        // A list has room for twice what it holds, or for four.
        let bins = (self.bins * 2).max(self.cells.len() * 4) * PatternBins::BYTES;
        let cells = self.cells.capacity() * size_of::<PathCell>();
        Bytes((bins + cells + 4 * (self.slots.len() + self.recent.len())) as u64)
    }

    /// Counts an access of an instruction on a path. Cost: a look at the path that the instruction was last
    /// reached by, else a hashed look-up; nothing is allocated but for a path or a bin that was never seen.
    #[inline]
    pub fn add(&mut self, site: u32, path: &Path, distance: Distance) {
        let outcomes = Path::newest(path.outcomes, self.length);
        let recent = self.recent.get(site as usize).copied().unwrap_or(0);
        let at = match self.guess(recent, outcomes) {
            Some(at) => at,
            None => self.find(site, path, recent),
        };
        let cell = &mut self.cells[at];
        cell.traces.add(&path.trace);
        let bins = cell.bins.len();
        cell.bins.add(distance, 1);
        self.bins += cell.bins.len() - bins;
    }

    /// The cell if it is that of the instruction's last access, or the one that came after it the time before.
    #[inline]
    fn guess(&mut self, recent: u32, outcomes: u32) -> Option<usize> {
        let last = (recent as usize).wrapping_sub(1);
        let cell = self.cells.get(last)?;
        if cell.outcomes == outcomes {
            return Some(last);
        }
        let next = (cell.next as usize).wrapping_sub(1);
        let site = cell.site;
        let same = self.cells.get(next)?.outcomes == outcomes;
        same.then(|| {
            self.recent[site as usize] = next as u32 + 1;
            next
        })
    }

    fn find(&mut self, site: u32, path: &Path, recent: u32) -> usize {
        let length = self.length;
        let at = loop {
            let key = (site, Path::newest(path.outcomes, self.length));
            let slot = self.slot(key);
            match self.slots[slot].checked_sub(1) {
                Some(at) => break at as usize,
                None if self.cells.len() >= self.most && self.length > 0 => self.shorten(),
                None => break self.insert(slot, key, path),
            }
        };
        if self.recent.len() <= site as usize {
            self.recent.resize(site as usize + 1, 0);
        }
        self.recent[site as usize] = at as u32 + 1;
        // Where cells were joined, the last one is no more.
        if let Some(last) = recent.checked_sub(1).filter(|_| self.length == length) {
            self.cells[last as usize].next = at as u32 + 1;
        }
        at
    }

    /// The slot of a key, or the free one where it belongs.
    fn slot(&self, key: (u32, u32)) -> usize {
        let mixed = (u64::from(key.0) << 32 | u64::from(key.1)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mask = self.slots.len() - 1;
        let mut slot = (mixed >> 32) as usize & mask;
        loop {
            match self.slots[slot].checked_sub(1) {
                Some(at) if self.cells[at as usize].key() != key => slot = (slot + 1) & mask,
                _ => return slot,
            }
        }
    }

    fn insert(&mut self, slot: usize, key: (u32, u32), path: &Path) -> usize {
        self.cells.push(PathCell {
            site: key.0,
            outcomes: key.1,
            bins: PatternBins::new(),
            traces: Traces::new(path.trace),
            next: 0,
        });
        self.slots[slot] = self.cells.len() as u32;
        if self.cells.len() * 2 > self.slots.len() {
            self.index(self.slots.len() * 2);
        }
        self.cells.len() - 1
    }

    /// Keeps shorter paths, so that at least a quarter of the cells is free again.
    fn shorten(&mut self) {
        while self.length > 0 && self.cells.len() > self.most / 4 * 3 {
            let shorter = LENGTHS
                .into_iter()
                .rev()
                .find(|length| *length < self.length);
            self.length = shorter.unwrap_or(0);
            let length = self.length;
            let cells = std::mem::take(&mut self.cells);
            self.cells = join(
                cells
                    .into_iter()
                    .map(|cell| cell.shortened(length))
                    .collect(),
            );
        }
        self.recent.fill(0);
        self.index(self.slots.len());
    }

    fn index(&mut self, slots: usize) {
        self.slots.clear();
        self.slots.resize(slots, 0);
        self.bins = self.cells.iter().map(|cell| cell.bins.len()).sum();
        for at in 0..self.cells.len() {
            let slot = self.slot(self.cells[at].key());
            self.slots[slot] = at as u32 + 1;
        }
    }

    /// Gives the instructions other numbers; those that get the same become one.
    pub fn renumber(&mut self, number: impl Fn(u32) -> u32) {
        let cells = std::mem::take(&mut self.cells).into_iter().map(|mut cell| {
            cell.site = number(cell.site);
            cell.next = 0;
            cell
        });
        self.cells = join(cells.collect());
        self.recent.clear();
        self.index(self.slots.len());
    }

    /// Adds all counts of another table, whose instructions have the same numbers. The shorter length is kept.
    pub fn merge(&mut self, other: PathTable) {
        self.length = self.length.min(other.length);
        let length = self.length;
        let cells = std::mem::take(&mut self.cells)
            .into_iter()
            .chain(other.cells);
        self.cells = join(cells.map(|cell| cell.shortened(length)).collect());
        self.shorten();
        let slots = (self.cells.len() * 4).next_power_of_two();
        self.index(slots.max(self.slots.len()));
    }

    /// The distances by instruction and path of `length` outcomes, ascending by both; none if paths that long
    /// were not kept.
    pub fn at(&self, length: u32) -> Option<Vec<PathCell>> {
        let shortened = |cell: &PathCell| cell.clone().shortened(length);
        (length <= self.length).then(|| join(self.cells.iter().map(shortened).collect()))
    }

    /// What paths of a length say about the program; none if that was not kept. From a mean of `long` items on, a
    /// pattern is long. Source: Fang et al. 2006, section 4.2; aliasing is looked at for every length here.
    pub fn shares(&self, length: u32, rule: PatternRule, long: u64) -> Option<PathShares> {
        (length <= self.length).then(|| self.all_shares(&[length], rule, long).remove(0))
    }

    /// That of several lengths, ascending, without those that were not kept. Cost: a sort of the cells for each.
    pub fn all_shares(&self, lengths: &[u32], rule: PatternRule, long: u64) -> Vec<PathShares> {
        let mut cells = join(self.cells.clone());
        let shorter = |cells: &[PathCell], length| {
            join(
                cells
                    .iter()
                    .map(|cell| cell.clone().shortened(length))
                    .collect(),
            )
        };
        let wholes = shorter(&cells, 0);
        let kept = lengths
            .iter()
            .rev()
            .filter(|length| **length <= self.length);
        let mut all: Vec<PathShares> = kept
            .map(|length| {
                // A path that is cut twice is cut to the shorter length.
                cells = shorter(&cells, *length);
                shares(&wholes, &cells, *length, rule, long)
            })
            .collect();
        all.reverse();
        all
    }
}

/// What paths say about instructions, whose distances without paths are `wholes`. Both ascend.
fn shares(
    wholes: &[PathCell],
    cells: &[PathCell],
    length: u32,
    rule: PatternRule,
    long: u64,
) -> PathShares {
    let mut shares = PathShares {
        length,
        paths: cells.len() as u64,
        instructions: wholes.len() as u64,
        ..PathShares::default()
    };
    for whole in wholes {
        let found = cell_patterns(whole, rule);
        if found.len() < 2 {
            continue;
        }
        shares.multiple += 1;
        let first = cells.partition_point(|cell| cell.site < whole.site);
        let mine = cells[first..]
            .iter()
            .take_while(|cell| cell.site == whole.site);
        let confused: Vec<&PathCell> = mine
            .filter(|cell| cell_patterns(cell, rule).len() > 1)
            .collect();
        if confused.is_empty() {
            shares.differentiable += 1;
            continue;
        }
        let aliased = confused.iter().any(|cell| cell.traces.are_several(length));
        shares.aliased += u64::from(aliased);
        let is_long = |pattern: &Pattern| pattern.mean >= long as f64;
        let both = found.iter().any(is_long) && !found.iter().all(is_long);
        shares.short_and_long += u64::from(both);
    }
    shares
}

/// The patterns of a cell.
fn cell_patterns(cell: &PathCell, rule: PatternRule) -> Vec<Pattern> {
    patterns(&cell.bins.iter().collect::<Vec<PatternBin>>(), rule)
}

/// Sorts cells and adds up those of one key.
fn join(mut cells: Vec<PathCell>) -> Vec<PathCell> {
    cells.sort_by_key(PathCell::key);
    let mut joined: Vec<PathCell> = Vec::new();
    for cell in cells {
        match joined.last_mut().filter(|last| last.key() == cell.key()) {
            Some(last) => {
                last.bins.merge(&cell.bins);
                last.traces.merge(&cell.traces);
            }
            None => joined.push(cell),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    type Access = (u32, u32, u64);

    fn by_definition(accesses: &[Access], length: u32) -> BTreeMap<(u32, u32), PatternBins> {
        let mut cells: BTreeMap<(u32, u32), PatternBins> = BTreeMap::new();
        for (site, outcomes, items) in accesses {
            let key = (*site, Path::newest(*outcomes, length));
            cells.entry(key).or_default().add(Distance::new(*items), 1);
        }
        cells
    }

    fn table(accesses: &[Access], most: usize) -> PathTable {
        let mut table = PathTable::new(most);
        for (site, outcomes, items) in accesses {
            let path = Path {
                outcomes: *outcomes,
                ..Path::default()
            };
            table.add(*site, &path, Distance::new(*items));
        }
        table
    }

    fn check(table: &PathTable, accesses: &[Access]) {
        for length in LENGTHS {
            let Some(cells) = table.at(length) else {
                assert!(length > table.length());
                continue;
            };
            let found: BTreeMap<_, _> = cells.into_iter().map(|c| (c.key(), c.bins)).collect();
            assert_eq!(found, by_definition(accesses, length), "{length}");
        }
    }

    proptest! {
        #[test]
        fn every_length_is_what_it_is_by_definition(
            accesses in prop::collection::vec((0..4_u32, prop_oneof![0..8_u32, any::<u32>()], 0..5000_u64), 0..300),
            most in 1..200_usize,
            split in 0..300_usize,
        ) {
            let whole = table(&accesses, most);
            check(&whole, &accesses);
            prop_assert!(whole.cells().len() <= most.max(4));
            let (left, right) = accesses.split_at(split.min(accesses.len()));
            let mut merged = table(left, most);
            merged.merge(table(right, most));
            check(&merged, &accesses);
            let path = Path { outcomes: 5, ..Path::default() };
            merged.add(1, &path, Distance::new(7));
            check(&merged, &[&accesses[..], &[(1, 5, 7)]].concat());
        }
    }

    #[test]
    fn many_paths_stay_within_bounds() {
        let accesses: Vec<Access> = (0..100_000)
            .map(|i| (i % 3, i, u64::from(i % 50)))
            .collect();
        let table = table(&accesses, 1100);
        assert_eq!(table.length(), 8);
        assert!(table.memory() < Bytes(1 << 21), "{}", table.memory());
        check(&table, &accesses);
    }
}
