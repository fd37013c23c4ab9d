//! The distances of paths to instructions, and what they say of the instructions.

use crate::path::{Path, PathShares, Traces};
use crate::{Pattern, PatternBin, PatternBins, PatternRule, patterns};

/// The distances of one path to one instruction.
#[derive(Clone, Debug)]
pub struct PathCell {
    /// The instruction, as the caller numbers them.
    pub site: u32,
    /// The outcomes, newest in the lowest bit.
    pub outcomes: u32,
    /// The distances.
    pub bins: PatternBins,
    pub(crate) traces: Traces,
}

impl PathCell {
    pub(crate) fn key(&self) -> (u32, u32) {
        (self.site, self.outcomes)
    }
}

/// What paths of several lengths, ascending, say, from cells of at least the longest, which ascend.
pub(crate) fn all_shares(
    mut cells: Vec<PathCell>,
    lengths: &[u32],
    rule: PatternRule,
    long: u64,
) -> Vec<PathShares> {
    // These are in order already.
    let mut wholes = cells.clone();
    for whole in &mut wholes {
        whole.outcomes = 0;
    }
    let wholes = join(wholes);
    let of = |length: &u32| {
        // A path that is cut twice is cut to the shorter length.
        for cell in &mut cells {
            cell.outcomes = Path::newest(cell.outcomes, *length);
        }
        cells = join(std::mem::take(&mut cells));
        shares(&wholes, &cells, *length, rule, long)
    };
    let mut all: Vec<PathShares> = lengths.iter().rev().map(of).collect();
    all.reverse();
    all
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
pub(crate) fn join(cells: Vec<PathCell>) -> Vec<PathCell> {
    let mut joined: Vec<PathCell> = Vec::with_capacity(cells.len());
    let mut add = |cell: PathCell| match joined.last_mut().filter(|last| last.key() == cell.key()) {
        Some(last) => {
            last.bins.merge(&cell.bins);
            last.traces.merge(&cell.traces);
        }
        None => joined.push(cell),
    };
    if cells.is_sorted_by_key(PathCell::key) {
        cells.into_iter().for_each(add);
        return joined;
    }
    // Numbers are sorted, not cells, which are large.
    let mut order: Vec<(u32, u32, u32)> = (0..)
        .zip(&cells)
        .map(|(at, cell)| (cell.site, cell.outcomes, at))
        .collect();
    order.sort_unstable();
    let mut cells: Vec<Option<PathCell>> = cells.into_iter().map(Some).collect();
    let sorted = order
        .iter()
        .filter_map(|(_, _, at)| cells[*at as usize].take());
    sorted.for_each(&mut add);
    joined
}
