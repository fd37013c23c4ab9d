//! [`OlkenTree`]: an exact engine with a balanced tree of last accesses ordered by time, in which
//! each node has the size of its subtree. A baseline.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use reuselens_distance::{Engine, growth};
use reuselens_units::{Bytes, Distance, Items};

/// The link to no node; node 0, of size 0, is never in the tree.
const NONE: u32 = 0;

/// One item, keyed by the time of its last access. Priorities fall from the root down.
#[derive(Clone, Copy)]
struct TreeNode {
    left: u32,
    right: u32,
    size: u32,
    priority: u32,
    time: u64,
}

/// Olken's tree: a node per item, ordered by time of last access, with subtree sizes; the distance
/// of an access is the number of nodes later than the previous access to its item. Here a treap in
/// an arena with 32-bit links, and a hash map from item to node.
///
/// This is the sequential tree of the literature: the baseline that parallel engines are compared
/// with, and an exact engine of a different kind to check the others by.
///
/// Cost: O(log M) dependent memory accesses, for M distinct items. Memory: 24 to 48 bytes per
/// distinct item for the node, 19 to 39 for the map. At most 2³² − 2 distinct items.
///
/// Source: Olken, *Efficient methods for calculating the success function of fixed space
/// replacement policies*, 1981; treaps: Seidel & Aragon 1996.
///
/// ```
/// use reuselens_baselines::OlkenTree;
/// use reuselens_distance::Engine;
/// use reuselens_units::Distance;
///
/// let mut distances = [Distance::COLD; 4];
/// OlkenTree::new().process(&[7, 8, 9, 7], &mut distances);
/// assert_eq!(distances[3], Distance::new(2));
/// ```
pub struct OlkenTree {
    nodes: Vec<TreeNode>,
    index: HashMap<u64, u32>,
    root: u32,
    time: u64,
    random: u64,
}

impl OlkenTree {
    /// An engine that has seen nothing.
    pub fn new() -> Self {
        OlkenTree {
            nodes: vec![TreeNode {
                left: NONE,
                right: NONE,
                size: 0,
                priority: 0,
                time: 0,
            }],
            index: HashMap::new(),
            root: NONE,
            time: 0,
            random: 0x9E37_79B9_7F4A_7C15,
        }
    }

    #[inline]
    fn access(&mut self, item: u64) -> Distance {
        self.time += 1;
        let new = self.nodes.len();
        let (node, distance) = match self.index.entry(item) {
            Entry::Occupied(entry) => {
                let node = *entry.get();
                (node, Distance::new(self.remove(node)))
            }
            Entry::Vacant(entry) => {
                // A table of 2^32 items fills 150 GB before it gets here.
                assert!(
                    new < u32::MAX as usize,
                    "more than 2^32 - 2 distinct items: use `counting`"
                );
                let priority = xorshift(&mut self.random);
                self.nodes.push(TreeNode {
                    left: NONE,
                    right: NONE,
                    size: 0,
                    priority,
                    time: 0,
                });
                (*entry.insert(new as u32), Distance::COLD)
            }
        };
        self.append(node);
        distance
    }

    /// Takes a node out and returns how many nodes are later.
    fn remove(&mut self, node: u32) -> u64 {
        let time = self.nodes[node as usize].time;
        let (mut later, mut parent, mut at) = (0, NONE, self.root);
        while at != node {
            let TreeNode { left, right, .. } = self.nodes[at as usize];
            self.nodes[at as usize].size -= 1;
            parent = at;
            if time < self.nodes[at as usize].time {
                later += u64::from(self.nodes[right as usize].size) + 1;
                at = left;
            } else {
                at = right;
            }
        }
        let TreeNode { left, right, .. } = self.nodes[node as usize];
        later += u64::from(self.nodes[right as usize].size);
        let joined = self.join(left, right);
        self.replace_child(parent, node, joined);
        later
    }

    /// Joins two trees, all nodes of `left` being earlier than those of `right`.
    fn join(&mut self, mut left: u32, mut right: u32) -> u32 {
        // The place to hang what follows: node 0 holds the root while we descend.
        let (mut hook, mut to_right) = (NONE, true);
        loop {
            let (above, below) = (self.nodes[left as usize], self.nodes[right as usize]);
            let next = if left == NONE {
                right
            } else if right == NONE || above.priority > below.priority {
                left
            } else {
                right
            };
            let hung = &mut self.nodes[hook as usize];
            *(if to_right {
                &mut hung.right
            } else {
                &mut hung.left
            }) = next;
            if left == NONE || right == NONE {
                return std::mem::replace(&mut self.nodes[NONE as usize].right, NONE);
            }
            self.nodes[next as usize].size = above.size + below.size;
            (hook, to_right) = (next, next == left);
            if to_right {
                left = above.right;
            } else {
                right = below.left;
            }
        }
    }

    fn replace_child(&mut self, parent: u32, old: u32, new: u32) {
        let hung = &mut self.nodes[parent as usize];
        if parent == NONE {
            self.root = new;
        } else if hung.left == old {
            hung.left = new;
        } else {
            hung.right = new;
        }
    }

    /// Puts a node in as the latest.
    fn append(&mut self, node: u32) {
        let priority = self.nodes[node as usize].priority;
        let (mut parent, mut at) = (NONE, self.root);
        while at != NONE && self.nodes[at as usize].priority >= priority {
            self.nodes[at as usize].size += 1;
            (parent, at) = (at, self.nodes[at as usize].right);
        }
        let size = self.nodes[at as usize].size + 1;
        self.nodes[node as usize] = TreeNode {
            left: at,
            right: NONE,
            size,
            priority,
            time: self.time,
        };
        if parent == NONE {
            self.root = node;
        } else {
            self.nodes[parent as usize].right = node;
        }
    }
}

/// Marsaglia's xorshift: the shape of the tree is random, but the same in every run.
fn xorshift(state: &mut u64) -> u32 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 32) as u32
}

impl Default for OlkenTree {
    fn default() -> Self {
        Self::new()
    }
}

impl Engine for OlkenTree {
    fn name(&self) -> &'static str {
        "olken"
    }

    fn process(&mut self, items: &[u64], distances: &mut [Distance]) {
        assert_eq!(items.len(), distances.len(), "one distance per item");
        for (&item, distance) in items.iter().zip(distances) {
            *distance = self.access(item);
        }
    }

    fn distinct(&self) -> Items {
        Items(self.index.len() as u64)
    }

    fn memory(&self) -> Bytes {
        let nodes = self.nodes.capacity() * size_of::<TreeNode>();
        Bytes((size_of::<Self>() + nodes + self.index.allocation_size()) as u64)
    }

    /// At most as many of the accesses are to new items as there are items.
    fn memory_ahead(&self, accesses: u64) -> Bytes {
        let more = usize::try_from(accesses).unwrap_or(usize::MAX);
        let more = more.min(self.index.len());
        let tables = growth::vec_ahead(&self.nodes, more) + growth::map_ahead(&self.index, more);
        Bytes((size_of::<Self>() + tables) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes, order of time and order of priorities of a subtree; returns its size.
    fn check(tree: &OlkenTree, at: u32, low: u64, high: u64) -> u32 {
        if at == NONE {
            return 0;
        }
        let node = tree.nodes[at as usize];
        assert!(low < node.time && node.time <= high);
        for child in [node.left, node.right] {
            assert!(child == NONE || tree.nodes[child as usize].priority <= node.priority);
        }
        let size = 1
            + check(tree, node.left, low, node.time - 1)
            + check(tree, node.right, node.time, high);
        assert_eq!(size, node.size);
        size
    }

    #[test]
    fn the_tree_stays_a_treap() {
        let mut tree = OlkenTree::new();
        for step in 0..3_000_u64 {
            tree.access(step * step % 211);
            if step % 50 == 0 {
                assert_eq!(
                    u64::from(check(&tree, tree.root, 0, tree.time)),
                    tree.distinct().get()
                );
            }
        }
    }
}
