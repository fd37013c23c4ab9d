//! Rare paths are counted with others that end like them.

use std::collections::HashMap;

use super::admission::enough;
use super::nodes::Key;
use super::{Count, LENGTHS, PathNode, PathTable};
use crate::path::Path;

/// Paths that come this often are never rare.
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
    /// Whether it is not looked at, as its block has few. If there is no room for any path, no
    /// block has.
    fn is_left(&self, rare: u64) -> bool {
        self.few && rare < OFTEN
    }
}

impl PathTable {
    /// Folds the rarest paths, so that at least a quarter of the pairs is free again; if even the
    /// most frequent ones were not enough, there are no paths from then on.
    ///
    /// Cost: linear in pairs and bins, and a sort of the nodes.
    pub(super) fn fold(&mut self) {
        let mut rare = 1;
        while self.length > 0 && self.pairs > self.most / 4 * 3 {
            self.elsewhere.flush();
            let weighed = self.weighed();
            // Half of the room, or, where all instructions alone need that, three quarters.
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

    /// All nodes, with the accesses of the instruction in them that has most.
    fn weighed(&self) -> Vec<Weighed> {
        let mut times = self.elsewhere.accesses(self.pairs);
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

    /// Pairs of nodes that are not folded if less than `rare` is rare.
    fn staying(&self, weighed: &[Weighed], rare: u64) -> usize {
        let stays = |one: &&Weighed| {
            one.is_left(rare) || one.key.2 == 0 || one.times >= enough(rare, u32::from(one.key.2))
        };
        let pairs = |one: &Weighed| self.nodes[one.node as usize].length as usize;
        weighed.iter().filter(stays).map(pairs).sum()
    }

    /// Cuts the paths of nodes until those that are equal then come often enough together, the
    /// longest first.
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
