//! [`Visits`]: what happens in calling contexts beyond single accesses: which items they access,
//! and how often they are entered.

use crate::cells::CellKey;
use crate::contexts::Contexts;
use crate::footprints::Footprints;

/// A thread that was in no context yet.
const NOWHERE: u32 = u32::MAX;

/// The visits of threads to the nodes of the tree of contexts.
#[derive(Debug)]
pub(crate) struct Visits {
    pub footprints: Footprints,
    /// By node, how often a thread came from outside it and all below it.
    entries: Vec<u64>,
    /// By thread, the node where it is.
    at: Vec<u32>,
    /// The nodes at which the item accesses of the columns were made that are not counted yet, each
    /// with the number of item accesses before it.
    spans: Vec<(usize, u32)>,
}

impl Visits {
    /// With footprints of at most `max` pairs: see [`Footprints::new`].
    pub fn new(max: usize) -> Self {
        Visits {
            footprints: Footprints::new(max),
            entries: Vec::new(),
            at: Vec::new(),
            spans: Vec::new(),
        }
    }

    /// The item accesses that come are of another block.
    pub fn begin_block(&mut self) {
        self.spans.clear();
    }

    /// A thread is at a node, after `before` item accesses in the columns.
    #[inline]
    pub fn be_at(&mut self, thread: u32, node: u32, before: usize, contexts: &Contexts) {
        self.spans.push((before, node));
        let thread = thread as usize;
        if self.at.len() <= thread {
            self.at.resize(thread + 1, NOWHERE);
        }
        let from = std::mem::replace(&mut self.at[thread], node);
        if from != node {
            self.enter(from, node, contexts);
        }
    }

    /// Counts an entry for the node, and for those above it, up to the first that has both.
    fn enter(&mut self, from: u32, to: u32, contexts: &Contexts) {
        let entries = contexts.len().max(to as usize + 1);
        if self.entries.len() < entries {
            self.entries.resize(entries, 0);
        }
        let depth = |node: u32| contexts.depth(node);
        let parent = |node: u32| contexts.node(node).parent;
        let (mut from, mut to) = (from, to);
        if from == NOWHERE {
            // The thread begins: at the root and, if it goes on with a call, below it.
            self.entries[0] += 1;
            from = 0;
        }
        while from != to {
            if depth(from) > depth(to) {
                from = parent(from);
                continue;
            }
            self.entries[to as usize] += 1;
            if depth(from) == depth(to) {
                from = parent(from);
            }
            to = parent(to);
        }
    }

    /// Counts the item accesses of the columns from `first` on. `keys` are those of all cells.
    pub fn count(&mut self, first: usize, items: &[u64], cells: &[u32], keys: &[CellKey]) {
        let ends = self.spans.iter().skip(1).map(|(before, _)| *before);
        let ends = ends.chain([items.len()]);
        for (&(before, node), end) in self.spans.iter().zip(ends) {
            let range = before.max(first)..end;
            if !range.is_empty() {
                let (items, cells) = (&items[range.clone()], &cells[range]);
                self.footprints.count(node, items, cells, keys);
            }
        }
    }

    /// The columns have `len` item accesses now, and the thread goes on at the node where it is.
    pub fn begin_columns(&mut self, len: usize) {
        let last = self.spans.last().copied();
        self.spans.clear();
        self.spans.extend(last.map(|(_, node)| (len, node)));
    }

    /// The footprints, and how often each node was entered.
    pub fn finish(self) -> (Footprints, Vec<u64>) {
        (self.footprints, self.entries)
    }

    /// Memory held.
    pub fn memory(&self) -> u64 {
        let counts = self.entries.capacity() * 8 + self.at.capacity() * 4;
        let spans = self.spans.capacity() * size_of::<(usize, u32)>();
        self.footprints.memory() + (counts + spans) as u64
    }
}
