//! Paths that become equal when fewer of their outcomes are kept.

use super::{LENGTHS, PathTable};
use crate::path::Path;

impl PathTable {
    /// Keeps shorter paths, so that at least a quarter of the pairs is free again.
    pub(super) fn shorten(&mut self) {
        while self.length > 0 && self.counts.len() > self.most / 4 * 3 {
            let shorter = LENGTHS
                .into_iter()
                .rev()
                .find(|length| *length < self.length);
            self.length = shorter.unwrap_or(0);
            self.unite();
        }
        self.index(self.slots.len());
    }

    /// Makes nodes one that have become equal. The slots are wrong then.
    fn unite(&mut self) {
        let length = self.length;
        for node in &mut self.nodes {
            node.outcomes = Path::newest(node.outcomes, length);
        }
        let (old, mut counts) = (
            std::mem::take(&mut self.nodes),
            std::mem::take(&mut self.counts),
        );
        self.behind.clear();
        let mut order: Vec<usize> = (0..old.len()).collect();
        order.sort_by_key(|at| (old[*at].block, old[*at].outcomes));
        for equal in order
            .chunk_by(|a, b| (old[*a].block, old[*a].outcomes) == (old[*b].block, old[*b].outcomes))
        {
            let mut node = old[equal[0]].clone();
            (node.first, node.last, node.length) = (0, 0, 0);
            self.nodes.push(node);
            let number = self.nodes.len() as u32;
            for at in equal {
                let traces = &mut self.nodes[number as usize - 1].traces;
                traces.merge(&old[*at].traces);
                let mut next = old[*at].first;
                while let Some(count) = counts.get_mut((next as usize).wrapping_sub(1)) {
                    let bins = std::mem::take(&mut count.bins);
                    let site = count.site;
                    next = count.next;
                    let into = self.seek(number, site) as usize - 1;
                    self.counts[into].bins.merge(&bins);
                }
            }
        }
    }

    /// Adds all counts of another table, whose instructions and blocks have the same numbers. The shorter length is
    /// kept.
    pub fn merge(&mut self, other: PathTable) {
        self.length = self.length.min(other.length);
        let offset = self.counts.len() as u32;
        let moved = |number: u32| if number == 0 { 0 } else { number + offset };
        self.counts
            .extend(other.counts.into_iter().map(|mut count| {
                count.next = moved(count.next);
                count
            }));
        self.nodes.extend(other.nodes.into_iter().map(|mut node| {
            (node.first, node.last) = (moved(node.first), moved(node.last));
            node
        }));
        self.unite();
        let slots = (self.nodes.len() * 4).next_power_of_two();
        self.slots.resize(slots.max(self.slots.len()), 0);
        self.shorten();
    }
}
