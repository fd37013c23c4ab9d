//! [`Profile::context_tree`]: accesses and misses along the calling context tree. Pages
//! draw their picture of calling contexts from it.

use crate::Profile;

/// What a node of the calling context tree costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContextCost {
    /// Accesses.
    pub accesses: u64,
    /// Those that miss in the cache that was asked about.
    pub misses: u64,
}

impl ContextCost {
    fn add(&mut self, other: ContextCost) {
        self.accesses = self.accesses.saturating_add(other.accesses);
        self.misses = self.misses.saturating_add(other.misses);
    }
}

/// A node of the calling context tree with its costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextNode {
    /// Index of the caller; the root is its own.
    pub parent: usize,
    /// Calls above it: 0 for the root.
    pub depth: usize,
    /// Its function.
    pub function: String,
    /// What the function itself costs.
    pub exclusive: ContextCost,
    /// That, and what the functions cost that it calls.
    pub inclusive: ContextCost,
    /// Indices of the nodes that it calls, ascending.
    pub children: Vec<usize>,
}

impl Profile {
    /// The calling context tree with the misses of a fully associative LRU cache of `items` items.
    /// Node i is `contexts[i]`. Cost: linear in the cells and the nodes.
    pub fn context_tree(&self, items: u64) -> Vec<ContextNode> {
        let mut nodes: Vec<ContextNode> = Vec::with_capacity(self.contexts.len());
        for (index, context) in self.contexts.iter().enumerate() {
            // Parents come before children; whatever claims otherwise hangs from the root.
            let parent = if (context.parent as usize) < index {
                context.parent as usize
            } else {
                0
            };
            let depth = if index == 0 {
                0
            } else {
                nodes[parent].depth + 1
            };
            nodes.push(ContextNode {
                parent,
                depth,
                function: context.function.clone(),
                exclusive: ContextCost::default(),
                inclusive: ContextCost::default(),
                children: Vec::new(),
            });
            if index > 0 {
                nodes[parent].children.push(index);
            }
        }
        self.charge(&mut nodes, items);
        nodes
    }

    /// Adds the cells to their nodes, then each node to its caller, the last first.
    fn charge(&self, nodes: &mut [ContextNode], items: u64) {
        for cell in &self.cells {
            let cost = ContextCost {
                accesses: cell.histogram.accesses(),
                misses: cell.histogram.misses(items),
            };
            if let Some(node) = nodes.get_mut(cell.context as usize) {
                node.exclusive.add(cost);
                node.inclusive.add(cost);
            }
        }
        for index in (1..nodes.len()).rev() {
            let (parent, cost) = (nodes[index].parent, nodes[index].inclusive);
            nodes[parent].inclusive.add(cost);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing;

    #[test]
    fn inclusive_costs_sum_callees() {
        let profile = testing::profile();
        let tree = profile.context_tree(64);
        assert_eq!(tree[0].inclusive.accesses, profile.histogram.accesses());
        assert_eq!(tree[0].inclusive.misses, profile.histogram.misses(64));
        for node in &tree {
            let below: u64 = node
                .children
                .iter()
                .map(|child| tree[*child].inclusive.misses)
                .sum();
            assert_eq!(
                node.inclusive.misses,
                node.exclusive.misses + below,
                "{}",
                node.function
            );
        }
        let depths: Vec<_> = tree.iter().map(|node| node.depth).collect();
        assert_eq!(depths, [0, 1, 2, 2]);
    }

    #[test]
    fn damaged_context_trees_do_not_panic() {
        let mut profile = testing::profile();
        profile.contexts[1].parent = 3;
        profile.cells[0].context = 99;
        assert_eq!(profile.context_tree(64).len(), 4);
        profile.contexts.clear();
        assert!(profile.context_tree(64).is_empty());
    }
}
