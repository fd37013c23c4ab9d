//! Reads the table: the paths of each instruction, with their distances
//! ([`PathTable::for_each_site`]).

use super::PathTable;
use super::overflow_bins::ByOwner;
use crate::PatternBins;
use crate::path::Path;
use crate::path_cells::PathCell;

/// An instruction of a block on a path.
#[derive(Clone, Copy, Default)]
struct PathInstruction {
    site: u32,
    outcomes: u32,
    length: u32,
    node: u32,
    count: u32,
}

/// Bits of an instruction that it is sorted by at a time.
const DIGIT: u32 = 11;

impl PathTable {
    /// Calls `each` with the paths to each instruction, cut to a length, ascending by outcomes and
    /// their number; shortened paths have fewer outcomes. Instructions ascend. `each` may take the
    /// cells out of the list.
    ///
    /// Cost: linear in pairs and bins, and a sort of the nodes. Memory: 40 bytes a pair, 4 a bin.
    pub fn for_each_site(&self, length: u32, mut each: impl FnMut(&mut Vec<PathCell>)) {
        let overflow_bins = self.overflow_bins.by_owner(self.pairs);
        let entries = sorted_by_site(self.entries(length));
        let mut cells = Vec::new();
        for of_site in entries.chunk_by(|a, b| a.site == b.site) {
            cells.clear();
            let path = |entry: &PathInstruction| (entry.outcomes, entry.length);
            let paths = of_site.chunk_by(|a, b| path(a) == path(b));
            cells.extend(paths.map(|equal| self.cell(equal, &overflow_bins)));
            each(&mut cells);
        }
    }

    /// All instructions of all nodes, ascending by outcomes.
    fn entries(&self, length: u32) -> Vec<PathInstruction> {
        // Nodes are sorted, of which there are far fewer than instructions.
        let mut order: Vec<(u32, u32, u32)> = (0..)
            .zip(&self.nodes)
            .map(|(number, node)| {
                let length = length.min(node.traces.length());
                (Path::newest(node.outcomes, length), length, number)
            })
            .collect();
        order.sort_unstable();
        let mut entries = Vec::with_capacity(self.pairs);
        for (outcomes, length, number) in order {
            let range = self.nodes[number as usize].range();
            let first = range.start as u32;
            entries.extend(
                (first..)
                    .zip(&self.counts[range])
                    .map(|(at, count)| PathInstruction {
                        site: count.site,
                        outcomes,
                        length,
                        node: number,
                        count: at,
                    }),
            );
        }
        entries
    }

    /// The sum of the entries of the same instruction and outcomes.
    fn cell(&self, equal: &[PathInstruction], overflow_bins: &ByOwner) -> PathCell {
        let mut bins = PatternBins::new();
        for entry in equal {
            let count = &self.counts[entry.count as usize];
            overflow_bins.add_to(count.owner, &mut bins);
            count.add_to(&mut bins);
        }
        let traces = |entry: &PathInstruction| self.nodes[entry.node as usize].traces;
        let mut all = traces(&equal[0]);
        for entry in &equal[1..] {
            all.merge(&traces(entry));
        }
        PathCell {
            site: equal[0].site,
            outcomes: equal[0].outcomes,
            length: equal[0].length,
            bins,
            traces: all,
        }
    }
}

/// Sorts by instruction; those of one stay as they are. Cost: linear, once for each digit that is
/// not the same in all.
fn sorted_by_site(mut entries: Vec<PathInstruction>) -> Vec<PathInstruction> {
    let mut sorted = Vec::new();
    for shift in (0..u32::BITS).step_by(DIGIT as usize) {
        let digit = |entry: &PathInstruction| (entry.site >> shift) as usize & ((1 << DIGIT) - 1);
        let mut ends = [0_usize; 1 << DIGIT];
        for entry in &entries {
            ends[digit(entry)] += 1;
        }
        if ends.contains(&entries.len()) {
            continue;
        }
        let mut before = 0;
        for end in &mut ends {
            (*end, before) = (before, before + *end);
        }
        sorted.resize(entries.len(), PathInstruction::default());
        for entry in &entries {
            let place = &mut ends[digit(entry)];
            sorted[*place] = *entry;
            *place += 1;
        }
        std::mem::swap(&mut entries, &mut sorted);
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn radix_sort_by_site_is_stable(
            sites in prop::collection::vec(prop_oneof![0..5_u32, 2040..2060_u32, any::<u32>()], 0..300),
        ) {
            let entry = |(count, site): (u32, &u32)| PathInstruction { site: *site, count, ..PathInstruction::default() };
            let entries: Vec<PathInstruction> = (0..).zip(&sites).map(entry).collect();
            let keys = |entries: &[PathInstruction]| entries.iter().map(|e| (e.site, e.count)).collect::<Vec<_>>();
            let mut expected = keys(&entries);
            expected.sort_unstable();
            prop_assert_eq!(keys(&sorted_by_site(entries)), expected);
        }
    }
}
