//! Shortens rare paths when the table is full: they are counted with all others that end in the
//! same outcomes.

use std::collections::HashMap;

use super::admission::enough;
use super::nodes::Key;
use super::{Count, LENGTHS, PathNode, PathTable};
use crate::path::Path;

/// Paths that occur this often are never rare.
const OFTEN: u64 = 1 << 48;

/// A node, and how often it was reached.
#[derive(Clone, Copy)]
struct Weighed {
    key: Key,
    node: u32,
    times: u64,
    /// Its block has few pairs, and keeps them.
    few: bool,
}

impl Weighed {
    /// Whether it is kept because its block has few pairs. If there is no room for any path, no
    /// block is kept.
    fn is_left(&self, rare: u64) -> bool {
        self.few && rare < OFTEN
    }
}

impl PathTable {
    /// Shortens the rarest paths, so that at least a quarter of the pairs is free again. If even
    /// the most frequent ones do not fit, the table has only paths of length 0 from then on.
    ///
    /// Cost: linear in pairs and bins, and a sort of the nodes.
    pub(super) fn shorten_rare(&mut self) {
        let mut rare = 1;
        while self.length > 0 && self.pairs > self.most / 4 * 3 {
            self.overflow_bins.flush();
            let weighed = self.weighed();
            // Half of the room, or, if the instructions alone need that much, three quarters.
            let begin = rare;
            for room in [self.most / 2, self.most / 4 * 3] {
                rare = begin;
                while rare < OFTEN && self.staying(&weighed, rare) > room {
                    rare *= 2;
                }
                if rare < OFTEN {
                    break;
                }
            }
            if rare >= OFTEN {
                (rare, self.length) = (u64::MAX, 0);
            }
            self.cut(weighed, rare);
            self.unite();
            self.admission.tighten(rare.min(OFTEN));
            rare = rare.saturating_mul(2);
        }
        self.index(self.slots.len());
    }

    /// All nodes, each with the accesses of its most frequent instruction.
    fn weighed(&self) -> Vec<Weighed> {
        let mut times = self.overflow_bins.accesses(self.pairs);
        for node in &self.nodes {
            for count in &self.counts[node.range()] {
                times[count.owner as usize] += count.accesses();
            }
        }
        let mut pairs: HashMap<u64, usize> = HashMap::new();
        for node in &self.nodes {
            *pairs.entry(node.block).or_default() += node.length as usize;
        }
        let fair = self.most / 4 / pairs.len().max(1);
        let weigh = |(number, node): (u32, &PathNode)| {
            let of = |count: &Count| times[count.owner as usize];
            Weighed {
                key: node.key(),
                node: number,
                times: self.counts[node.range()].iter().map(of).max().unwrap_or(0),
                few: pairs[&node.block] <= fair,
            }
        };
        (0..).zip(&self.nodes).map(weigh).collect()
    }

    /// The pairs that stay if paths of less than `rare` accesses are shortened.
    fn staying(&self, weighed: &[Weighed], rare: u64) -> usize {
        let stays = |one: &&Weighed| {
            one.is_left(rare) || one.key.2 == 0 || one.times >= enough(rare, u32::from(one.key.2))
        };
        let pairs = |one: &Weighed| self.nodes[one.node as usize].length as usize;
        weighed.iter().filter(stays).map(pairs).sum()
    }

    /// Cuts the paths of nodes, the longest first, until those that become equal are frequent
    /// enough together.
    fn cut(&mut self, weighed: Vec<Weighed>, rare: u64) {
        let mut by_length: [Vec<Weighed>; LENGTHS.len()] = Default::default();
        let place = |length: u8| LENGTHS.partition_point(|known| *known < u32::from(length));
        for one in weighed.into_iter().filter(|one| !one.is_left(rare)) {
            by_length[place(one.key.2)].push(one);
        }
        for at in (1..LENGTHS.len()).rev() {
            let mut here = std::mem::take(&mut by_length[at]);
            here.sort_unstable_by_key(|one| (one.key, one.node));
            let enough = enough(rare, LENGTHS[at]);
            let shorter = LENGTHS[at - 1];
            for equal in here.chunk_by(|a, b| a.key == b.key) {
                let times: u64 = equal.iter().map(|one| one.times).sum();
                if times >= enough {
                    continue;
                }
                let (block, outcomes, _) = equal[0].key;
                let key = (block, Path::newest(outcomes, shorter), shorter as u8);
                by_length[at - 1].extend(equal.iter().map(|one| Weighed { key, ..*one }));
                for one in equal {
                    let node = &mut self.nodes[one.node as usize];
                    node.outcomes = key.1;
                    node.traces.shorten(shorter);
                }
            }
        }
    }
}
