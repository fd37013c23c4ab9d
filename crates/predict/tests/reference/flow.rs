//! The loops of code, from the ways between instructions that were taken so far: natural loops, by
//! dominators.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// An instruction and the ways to and from it, by numbers.
#[derive(Clone, Debug, Default)]
struct Node {
    to: BTreeSet<usize>,
    from: BTreeSet<usize>,
}

/// The instructions that ran and the ways between them within calls. Node 0 leads to each
/// instruction that calls enter.
#[derive(Clone, Debug)]
pub struct Flow {
    numbers: HashMap<u64, usize>,
    addresses: Vec<u64>,
    nodes: Vec<Node>,
    /// By node, the headers of the loops that it is in, outermost first. Empty if a way is new.
    loops: Vec<Vec<usize>>,
}

impl Default for Flow {
    fn default() -> Self {
        Flow {
            numbers: HashMap::new(),
            addresses: vec![0],
            nodes: vec![Node::default()],
            loops: Vec::new(),
        }
    }
}

impl Flow {
    fn number(&mut self, address: u64) -> usize {
        *self.numbers.entry(address).or_insert_with(|| {
            self.addresses.push(address);
            self.nodes.push(Node::default());
            self.nodes.len() - 1
        })
    }

    fn add(&mut self, from: usize, to: usize) {
        if self.nodes[from].to.insert(to) {
            self.nodes[to].from.insert(from);
            // A way to an instruction that leads nowhere yet closes no loop.
            let is_end = self.nodes[to].to.is_empty() && self.nodes[to].from.len() == 1;
            if is_end && !self.loops.is_empty() {
                self.loops.resize(self.nodes.len(), Vec::new());
            } else {
                self.loops.clear();
            }
        }
    }

    /// A call enters an instruction, or the thread comes from where is unknown.
    pub fn enter(&mut self, address: u64) {
        let to = self.number(address);
        self.add(0, to);
    }

    /// The thread goes on from one instruction to another in the same call.
    pub fn lead(&mut self, from: u64, to: u64) {
        let (from, to) = (self.number(from), self.number(to));
        self.add(from, to);
    }

    /// The first instructions of the loops that an instruction is in, outermost first.
    pub fn loops_of(&mut self, address: u64) -> Vec<u64> {
        if self.loops.is_empty() {
            self.loops = self.find_loops();
        }
        let loops = &self.loops[self.numbers[&address]];
        loops.iter().map(|header| self.addresses[*header]).collect()
    }

    /// The nodes in an order in which each, but for ways back, comes after those that lead to it.
    fn order(&self) -> Vec<usize> {
        let (mut order, mut seen) = (Vec::new(), vec![false; self.nodes.len()]);
        seen[0] = true;
        let mut stack = vec![(0, self.nodes[0].to.iter())];
        while let Some((at, to)) = stack.last_mut() {
            match to.next() {
                Some(&next) if !seen[next] => {
                    seen[next] = true;
                    stack.push((next, self.nodes[next].to.iter()));
                }
                Some(_) => {}
                None => {
                    order.push(*at);
                    stack.pop();
                }
            }
        }
        order.reverse();
        order
    }

    /// By node, the last one that all ways to it lead through (Cooper, Harvey and Kennedy 2001).
    fn dominators(&self, order: &[usize]) -> Vec<usize> {
        let mut place = vec![usize::MAX; self.nodes.len()];
        for (at, node) in order.iter().enumerate() {
            place[*node] = at;
        }
        let mut dominators = vec![usize::MAX; self.nodes.len()];
        dominators[0] = 0;
        let mut changed = true;
        while changed {
            changed = false;
            for &node in &order[1..] {
                let from = self.nodes[node].from.iter().copied();
                let known = from.filter(|from| dominators[*from] != usize::MAX);
                let common = known.reduce(|mut a, mut b| {
                    while a != b {
                        if place[a] > place[b] {
                            a = dominators[a];
                        } else {
                            b = dominators[b];
                        }
                    }
                    a
                });
                let common = common.expect("something leads to it");
                changed |= std::mem::replace(&mut dominators[node], common) != common;
            }
        }
        dominators
    }

    /// The ways back to a node that all ways to their begins lead through, by that node.
    fn ways_back(&self) -> BTreeMap<usize, Vec<usize>> {
        let order = self.order();
        let dominators = self.dominators(&order);
        let dominates = |one: usize, mut node: usize| {
            while node != one && node != 0 {
                node = dominators[node];
            }
            node == one
        };
        let mut back: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for &from in &order[1..] {
            for &to in &self.nodes[from].to {
                if dominates(to, from) {
                    back.entry(to).or_default().push(from);
                }
            }
        }
        back
    }

    fn find_loops(&self) -> Vec<Vec<usize>> {
        let mut bodies = Vec::new();
        for (header, back) in self.ways_back() {
            let mut body = BTreeSet::from([header]);
            let mut pending = back;
            while let Some(node) = pending.pop() {
                if body.insert(node) {
                    pending.extend(&self.nodes[node].from);
                }
            }
            bodies.push((header, body));
        }
        // One that holds another is larger.
        bodies.sort_by_key(|(_, body)| usize::MAX - body.len());
        let mut loops = vec![Vec::new(); self.nodes.len()];
        for (header, body) in bodies {
            body.iter().for_each(|node| loops[*node].push(header));
        }
        loops
    }

    /// Whether no cycle is left without the ways back of loops.
    pub fn is_reducible(&self) -> bool {
        let back = self.ways_back();
        let is_back = |from: &usize, to: usize| back.get(&to).is_some_and(|of| of.contains(from));
        let forward = |node: usize| {
            let from = self.nodes[node].from.iter();
            from.filter(move |from| !is_back(from, node)).count()
        };
        let mut left: Vec<usize> = (0..self.nodes.len()).map(forward).collect();
        let (mut pending, mut done) = (vec![0], 0);
        while let Some(node) = pending.pop() {
            done += 1;
            for &to in &self.nodes[node].to {
                if !is_back(&node, to) {
                    left[to] -= 1;
                    if left[to] == 0 {
                        pending.push(to);
                    }
                }
            }
        }
        done == self.nodes.len()
    }
}
