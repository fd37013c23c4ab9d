//! Where the lanes that part at a branch run together again: [`reconverge`] writes the immediate
//! post-dominator of each branch into the decoded kernel.
//!
//! Post-dominators by the algorithm of Cooper, Harvey and Kennedy (*A Simple, Fast Dominance
//! Algorithm*, 2001) on the reversed graph of basic blocks. That lanes wait at the immediate
//! post-dominator is Fung et al., *Dynamic Warp Formation*, MICRO 2007, section 2.
//!
//! # Calls
//! A call of a routine ends no block: its lanes go on together after it (`machine::call`). Routines
//! are parts of the graph of their own, with an end of their own.
//!
//! # Early returns
//! A return within a nested `if` leaves no block that all paths go through, so that lanes would
//! part until the kernel's end. So ways out of the kernel are ignored where others go on: each
//! block belongs to one block that ends the kernel, of those that it leads to the one that most
//! blocks lead to, and only paths to that one count. Where all but one path leave, lanes meet at
//! the last return, so that a barrier that these lanes miss is found; unless they meet others
//! before it (`Warp::part`).

use super::kernel::{Code, Kernel, NONE, Op};

/// Writes into each branch where its lanes meet; `NONE` where they do not. Gives the kernel's basic
/// blocks.
pub fn reconverge(kernel: &mut Kernel) -> Graph {
    let graph = Graph::new(kernel);
    let inner = graph.without_early_returns(kernel);
    let (all_meet, rest_meets) = (graph.post_dominators(), inner.post_dominators());
    for block in 0..graph.starts.len() {
        let last = graph.last(block);
        let meet = match inner.successors[block].len() {
            0 | 1 => all_meet[block],
            _ => rest_meets[block],
        };
        let meet = match meet {
            Some(meet) if meet < graph.starts.len() => graph.starts[meet] as u32,
            _ => NONE,
        };
        match &mut kernel.ops[last].code {
            Code::Branch { meet: place, .. } => *place = meet,
            Code::Table(index) => kernel.tables[*index as usize].meet = meet,
            _ => {}
        }
    }
    graph
}

/// Kernels of more blocks times returns keep all ways out: no compiler makes them.
const MOST_STEPS: usize = 1 << 26;

/// Basic blocks; the one after the last is the end of the kernel.
pub struct Graph {
    /// First operation of each block.
    pub starts: Vec<usize>,
    ops: usize,
    successors: Vec<Vec<usize>>,
}

impl Graph {
    fn new(kernel: &Kernel) -> Graph {
        let ops = &kernel.ops;
        let mut leads = vec![false; ops.len() + 1];
        leads[0] = true;
        for routine in &kernel.routines {
            leads[routine.entry as usize] = true;
        }
        for (index, op) in ops.iter().enumerate() {
            let ends = ends(kernel, op);
            for &target in ends.as_deref().unwrap_or_default() {
                leads[target as usize] = true;
            }
            leads[index + 1] |= ends.is_some();
        }
        let starts: Vec<usize> = (0..ops.len()).filter(|&index| leads[index]).collect();
        let mut graph = Graph {
            starts,
            ops: ops.len(),
            successors: Vec::new(),
        };
        graph.successors = (0..graph.starts.len())
            .map(|block| graph.next(kernel, block))
            .collect();
        graph.let_all_end();
        graph
    }

    fn last(&self, block: usize) -> usize {
        self.starts.get(block + 1).copied().unwrap_or(self.ops) - 1
    }

    fn block_of(&self, op: usize) -> usize {
        self.starts.partition_point(|&start| start <= op) - 1
    }

    /// The blocks that may follow.
    fn next(&self, kernel: &Kernel, block: usize) -> Vec<usize> {
        let op = &kernel.ops[self.last(block)];
        let end = self.starts.len();
        let mut found: Vec<usize> = match ends(kernel, op) {
            // A trap, an exit and a return have no targets.
            Some(targets) if targets.is_empty() => vec![end],
            Some(targets) => targets
                .iter()
                .map(|&target| self.block_of(target as usize))
                .collect(),
            None => Vec::new(),
        };
        let falls = ends(kernel, op).is_none() || op.guard != NONE;
        if falls {
            found.push((block + 1).min(end));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Loops without an end get one, or else nothing would post-dominate what is in them.
    fn let_all_end(&mut self) {
        let order = self.backwards();
        let mut ends = vec![false; self.starts.len() + 1];
        for block in order {
            ends[block] = true;
        }
        let end = self.starts.len();
        for (block, successors) in self.successors.iter_mut().enumerate() {
            if !ends[block] {
                successors.push(end);
            }
        }
    }

    /// The graph with only the ways out of the kernel that count: see [`self`].
    fn without_early_returns(&self, kernel: &Kernel) -> Graph {
        let end = self.starts.len();
        // Compilers make one block of a kernel's returns: to go there is to return.
        let mut is_out: Vec<bool> = (0..end)
            .map(|block| self.is_return(kernel, block))
            .collect();
        is_out.push(true);
        let returns: Vec<usize> = (0..end)
            .filter(|&block| !is_out[block])
            .filter(|&block| self.successors[block].iter().any(|&next| is_out[next]))
            .collect();
        let belongs = if returns.len().saturating_mul(end) > MOST_STEPS {
            vec![end; end + 1]
        } else {
            self.ends_of(&returns)
        };
        let counts = |block: usize, next: usize| {
            if is_out[next] {
                is_out[block] || belongs[block] == block || belongs[block] == end
            } else {
                belongs[block] == belongs[next]
            }
        };
        let kept = |block: usize| {
            let next = self.successors[block].iter().copied();
            next.filter(|&next| counts(block, next)).collect()
        };
        Graph {
            starts: self.starts.clone(),
            ops: self.ops,
            successors: (0..end).map(kept).collect(),
        }
    }

    /// Whether a block returns and does nothing else.
    fn is_return(&self, kernel: &Kernel, block: usize) -> bool {
        let first = self.starts[block];
        let op = &kernel.ops[first];
        first == self.last(block) && matches!(op.code, Code::Exit) && op.guard == NONE
    }

    /// For each block, the one of `returns` that it belongs to: of those that it leads to, the one
    /// that most blocks lead to, and of equals the last one.
    fn ends_of(&self, returns: &[usize]) -> Vec<usize> {
        let end = self.starts.len();
        let predecessors = self.predecessors();
        let mut order: Vec<(usize, usize)> = returns
            .iter()
            .map(|&last| {
                (
                    lead_to(&predecessors, last, &vec![false; end + 1]).len(),
                    last,
                )
            })
            .collect();
        order.sort_unstable();
        let mut belongs = vec![end; end + 1];
        let mut is_taken = vec![false; end + 1];
        for &(_, last) in order.iter().rev() {
            for block in lead_to(&predecessors, last, &is_taken) {
                (belongs[block], is_taken[block]) = (last, true);
            }
        }
        belongs
    }

    /// Whether a block may be executed, as far as branches say. Any routine may be called.
    pub fn is_reached(&self, kernel: &Kernel) -> Vec<bool> {
        let mut reached = vec![false; self.starts.len() + 1];
        let entries = kernel.routines.iter().map(|routine| routine.entry as usize);
        let mut next: Vec<usize> = entries.map(|entry| self.block_of(entry)).collect();
        next.push(0);
        while let Some(block) = next.pop() {
            if !std::mem::replace(&mut reached[block], true) {
                next.extend(self.successors.get(block).into_iter().flatten());
            }
        }
        reached.truncate(self.starts.len());
        reached
    }

    fn predecessors(&self) -> Vec<Vec<usize>> {
        let mut found = vec![Vec::new(); self.starts.len() + 1];
        for (block, successors) in self.successors.iter().enumerate() {
            for &successor in successors {
                found[successor].push(block);
            }
        }
        found
    }

    /// Blocks from which the end is reached, in postorder of a walk backwards from it.
    fn backwards(&self) -> Vec<usize> {
        let predecessors = self.predecessors();
        let end = self.starts.len();
        let mut seen = vec![false; end + 1];
        let mut order = Vec::with_capacity(end + 1);
        let mut path = vec![(end, 0)];
        seen[end] = true;
        while let Some((block, next)) = path.last_mut() {
            let Some(&before) = predecessors[*block].get(*next) else {
                order.push(*block);
                path.pop();
                continue;
            };
            *next += 1;
            if !seen[before] {
                seen[before] = true;
                path.push((before, 0));
            }
        }
        order
    }

    /// The immediate post-dominator of each block.
    fn post_dominators(&self) -> Vec<Option<usize>> {
        let end = self.starts.len();
        let order = self.backwards();
        let mut rank = vec![0; end + 1];
        for (place, &block) in order.iter().enumerate() {
            rank[block] = place;
        }
        let mut found = vec![None; end + 1];
        found[end] = Some(end);
        let mut changed = true;
        while changed {
            changed = false;
            for &block in order.iter().rev().filter(|&&block| block != end) {
                let mut meet = None;
                for &successor in &self.successors[block] {
                    if found[successor].is_some() {
                        meet =
                            Some(meet.map_or(successor, |meet| {
                                intersect(&found, &rank, meet, successor)
                            }));
                    }
                }
                if found[block] != meet {
                    found[block] = meet;
                    changed = true;
                }
            }
        }
        found
    }
}

/// The blocks that lead to one, itself included, by blocks that are not taken.
fn lead_to(predecessors: &[Vec<usize>], last: usize, is_taken: &[bool]) -> Vec<usize> {
    let mut seen = is_taken.to_vec();
    let mut found = Vec::new();
    let mut next = vec![last];
    while let Some(block) = next.pop() {
        if !std::mem::replace(&mut seen[block], true) {
            found.push(block);
            next.extend(&predecessors[block]);
        }
    }
    found
}

fn intersect(found: &[Option<usize>], rank: &[usize], a: usize, b: usize) -> usize {
    let (mut a, mut b) = (a, b);
    while a != b {
        while rank[a] < rank[b] {
            a = found[a].unwrap_or(a);
        }
        while rank[b] < rank[a] {
            b = found[b].unwrap_or(b);
        }
    }
    a
}

/// Where an operation that ends a block goes; none if it ends none.
pub fn ends(kernel: &Kernel, op: &Op) -> Option<Vec<u32>> {
    match op.code {
        Code::Branch { target, .. } => Some(vec![target]),
        Code::Table(index) => Some(kernel.tables[index as usize].targets.clone()),
        Code::Exit | Code::Return | Code::Trap(_) | Code::Assert(_) => Some(Vec::new()),
        _ => None,
    }
}
