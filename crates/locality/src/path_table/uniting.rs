//! Makes one node of nodes that have become equal because their paths were shortened, and merges
//! tables.

use std::collections::HashMap;

use super::PathTable;
use super::nodes::Key;
use super::overflow_bins::OverflowBins;
use crate::path::Path;

impl PathTable {
    /// Makes nodes one that have become equal. Afterwards the slots must be indexed again.
    pub(super) fn unite(&mut self) {
        let old = std::mem::take(&mut self.nodes);
        let counts = std::mem::take(&mut self.counts);
        self.overflow_bins.flush();
        let overflow_bins = std::mem::replace(&mut self.overflow_bins, OverflowBins::new());
        let mut owners = vec![0; self.pairs];
        (self.pairs, self.behind) = (0, HashMap::new());
        let mut order: Vec<(Key, u32)> =
            (0..).zip(&old).map(|(at, node)| (node.key(), at)).collect();
        order.sort_unstable();
        let of = |at: &(Key, u32)| &old[at.1 as usize];
        for equal in order.chunk_by(|a, b| a.0 == b.0) {
            let mut node = of(&equal[0]).clone();
            let first = self.counts.len();
            (node.first, node.length, node.room) = (first as u32, 0, 0);
            self.nodes.push(node);
            let number = self.nodes.len() as u32;
            for at in equal {
                let traces = &mut self.nodes[number as usize - 1].traces;
                traces.merge(&of(at).traces);
                for count in &counts[of(at).range()] {
                    // No list follows that of this node yet, so that it stays in place.
                    let into = first + self.seek(number, count.site);
                    self.counts[into].merge(count, &mut self.overflow_bins);
                    owners[count.owner as usize] = self.counts[into].owner;
                }
            }
        }
        overflow_bins.move_to(&mut self.overflow_bins, |owner| owners[owner as usize]);
    }

    /// Adds all counts of another table, whose instructions and blocks have the same numbers.
    pub fn merge(&mut self, other: PathTable) {
        self.length = self.length.min(other.length);
        self.admission.join(&other.admission);
        let (counts, pairs) = (self.counts.len() as u32, self.pairs as u32);
        other
            .overflow_bins
            .move_to(&mut self.overflow_bins, |owner| owner + pairs);
        self.pairs += other.pairs;
        self.counts
            .extend(other.counts.into_iter().map(|mut count| {
                count.owner += pairs;
                count
            }));
        self.nodes.extend(other.nodes.into_iter().map(|mut node| {
            node.first += counts;
            node
        }));
        // One of them may have had no room for any path.
        for node in &mut self.nodes {
            node.traces.shorten(self.length);
            node.outcomes = Path::newest(node.outcomes, node.traces.length());
        }
        self.unite();
        let slots = (self.nodes.len() * 4).next_power_of_two();
        self.index(slots.max(self.slots.len()));
        if self.pairs > self.most {
            self.shorten_rare();
        }
    }
}
