//! [`ContextUnion`]: the calling context trees of several profiles as one tree. Part of merging
//! profiles.

use std::collections::BTreeMap;

use crate::tables::either;
use crate::{Context, ContextFootprint, Frame};

/// What distinguishes a node from its siblings.
type Call<'a> = (&'a str, &'a Frame);

#[derive(Default)]
struct UnionNode<'a> {
    children: BTreeMap<Call<'a>, usize>,
    entries: Option<u64>,
    footprint: Option<ContextFootprint>,
}

impl UnionNode<'_> {
    /// Takes in what was counted for a context of another run: entries add up, and the largest
    /// footprint stays.
    fn add(&mut self, context: &Context) {
        self.entries = either(self.entries, context.entries, u64::saturating_add);
        self.footprint = either(self.footprint, context.footprint, |one, other| {
            ContextFootprint {
                exclusive: one.exclusive.max(other.exclusive),
                inclusive: one.inclusive.max(other.inclusive),
            }
        });
    }
}

/// A tree with the used nodes of several trees. Its table is in preorder, children sorted by
/// function and call.
pub(crate) struct ContextUnion<'a> {
    root: Context,
    nodes: Vec<UnionNode<'a>>,
    /// For each tree, the node of each of its contexts; 0 for those that are not used.
    places: Vec<Vec<usize>>,
    /// The number in the table of each node.
    numbers: Vec<u32>,
}

impl<'a> ContextUnion<'a> {
    /// Unites trees, each with the contexts in it that have accesses.
    pub(crate) fn new(trees: impl Iterator<Item = (&'a [Context], Vec<u32>)>) -> Self {
        let mut union = ContextUnion {
            root: Context::default(),
            nodes: vec![UnionNode::default()],
            places: Vec::new(),
            numbers: Vec::new(),
        };
        for (contexts, named) in trees {
            if let Some(root) = contexts.first() {
                union.nodes[0].add(root);
                union.root = std::mem::take(&mut union.root).max(Context {
                    parent: 0,
                    entries: None,
                    footprint: None,
                    ..root.clone()
                });
            }
            let places = union.insert(contexts, &used(contexts, &named));
            union.places.push(places);
        }
        union.numbers = vec![0; union.nodes.len()];
        for (number, (node, _)) in (0_u32..).zip(union.preorder()) {
            union.numbers[node] = number;
        }
        union
    }

    /// The table of the united tree.
    pub(crate) fn table(&self) -> Vec<Context> {
        let context = |(node, from): (usize, Option<(usize, Call)>)| Context {
            entries: self.nodes[node].entries,
            footprint: self.nodes[node].footprint,
            ..match from {
                None => self.root.clone(),
                Some((parent, (function, call))) => Context {
                    parent: self.numbers[parent],
                    function: function.to_owned(),
                    call: call.clone(),
                    ..Context::default()
                },
            }
        };
        self.preorder().into_iter().map(context).collect()
    }

    /// For each tree, the number in the united table of each of its contexts.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = Vec<u32>> + '_ {
        self.places
            .iter()
            .map(|places| places.iter().map(|node| self.numbers[*node]).collect())
    }

    /// Finds or makes the node of each used context.
    fn insert(&mut self, contexts: &'a [Context], used: &[bool]) -> Vec<usize> {
        let mut places = vec![0; contexts.len()];
        for (index, context) in contexts
            .iter()
            .enumerate()
            .skip(1)
            .filter(|(index, _)| used[*index])
        {
            let parent = places[caller(context, index)];
            let new = self.nodes.len();
            let call = (context.function.as_str(), &context.call);
            let node = *self.nodes[parent].children.entry(call).or_insert(new);
            if node == new {
                self.nodes.push(UnionNode::default());
            }
            self.nodes[node].add(context);
            places[index] = node;
        }
        places
    }

    /// All nodes, callers first, each with its caller and its call.
    fn preorder(&self) -> Vec<(usize, Option<(usize, Call<'a>)>)> {
        let mut order = Vec::with_capacity(self.nodes.len());
        let mut stack = vec![(0, None)];
        while let Some((node, from)) = stack.pop() {
            order.push((node, from));
            let children = self.nodes[node].children.iter().rev();
            stack.extend(children.map(|(call, child)| (*child, Some((node, *call)))));
        }
        order
    }
}

/// The caller of a context; the root, if it names none that comes before it.
fn caller(context: &Context, index: usize) -> usize {
    Some(context.parent as usize)
        .filter(|parent| *parent < index)
        .unwrap_or(0)
}

/// Which contexts have accesses, or call one that has.
fn used(contexts: &[Context], named: &[u32]) -> Vec<bool> {
    let mut used = vec![false; contexts.len()];
    for &index in named {
        if let Some(used) = used.get_mut(index as usize) {
            *used = true;
        }
    }
    for index in (1..contexts.len()).rev() {
        if used[index] {
            used[caller(&contexts[index], index)] = true;
        }
    }
    used
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::context;

    #[test]
    fn context_union_joins_equal_paths_and_drops_unused() {
        let a = [
            context(0, "(root)"),
            context(0, "main"),
            context(1, "solve"),
            context(1, "idle"),
        ];
        let b = [
            context(0, "(root)"),
            context(0, "init"),
            context(0, "main"),
            context(2, "print"),
            context(2, "solve"),
        ];
        let trees = [(&a[..], vec![2]), (&b[..], vec![1, 3, 4])];
        let union = ContextUnion::new(trees.into_iter());
        let table = union.table();
        let rows: Vec<_> = table
            .iter()
            .map(|node| (node.parent, node.function.as_str()))
            .collect();
        assert_eq!(
            rows,
            [
                (0, "(root)"),
                (0, "init"),
                (0, "main"),
                (2, "print"),
                (2, "solve")
            ]
        );
        let numbers: Vec<_> = union.numbers().collect();
        assert_eq!(numbers, [vec![0, 2, 4, 0], vec![0, 1, 2, 3, 4]]);
    }

    #[test]
    fn context_union_of_no_trees_is_a_root() {
        let union = ContextUnion::new([(&[][..], vec![7])].into_iter());
        assert_eq!(union.table(), [Context::default()]);
    }
}
