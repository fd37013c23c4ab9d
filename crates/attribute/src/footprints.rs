//! [`Footprints`]: which items were accessed in which calling context, exactly.
//!
//! What is kept is a set of pairs of an item and a *leaf*: a node of the tree of contexts and an
//! instruction. Leaves become contexts with names at the end, where functions that the compiler
//! inlined are contexts of their own, and contexts of equal names become one. Only then are the
//! items of a leaf spread to the contexts above it, so during the run an item costs no more in a
//! deep context than in a shallow one.
//!
//! Items are kept in groups of 64 neighbours, with a bit for each. Each cell remembers the group of
//! its last access and its bits, so that most accesses are a comparison and a bit; the bits go to
//! the set when the cell turns to another group. The set depends on the accesses alone, not on
//! their order.
//!
//! Memory: in proportion to the distinct pairs of a group and a leaf, not to the length of the
//! trace, and at most for as many as the options say. Beyond, all is given up.

use crate::cells::CellKey;
use crate::hash::FastMap;

/// log2 of the items of a group.
const GROUP_SHIFT: u32 = 6;

/// Where accesses were made, as finely as it is kept: a node of the tree of contexts, and a site.
pub(crate) type Leaf = (u32, u32);

/// The last group of items of a cell.
#[derive(Clone, Copy, Debug)]
struct LastGroup {
    group: u64,
    /// The items of the group that were accessed, and are not in the set yet; 0 if there is none.
    bits: u64,
    node: u32,
    leaf: u32,
}

const NO_GROUP: LastGroup = LastGroup {
    group: 0,
    bits: 0,
    node: u32::MAX,
    leaf: 0,
};

/// Some of the items of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GroupItems {
    /// The number of the group.
    pub group: u64,
    /// Number of the leaf that accessed them.
    pub leaf: u32,
    /// A bit for each item.
    pub bits: u64,
}

/// The items of each leaf so far.
#[derive(Debug)]
pub(crate) struct Footprints {
    /// By cell.
    last: Vec<LastGroup>,
    leaves: Vec<Leaf>,
    numbers: FastMap<Leaf, u32>,
    /// Bits by group and leaf.
    items: FastMap<(u64, u32), u64>,
    max: usize,
    /// Whether there were more pairs than `max`.
    pub is_given_up: bool,
}

impl Footprints {
    /// At most `max` pairs of a group and a leaf.
    pub fn new(max: usize) -> Self {
        Footprints {
            last: Vec::new(),
            leaves: Vec::new(),
            numbers: FastMap::default(),
            items: FastMap::default(),
            max,
            is_given_up: false,
        }
    }

    /// Counts accesses that were made at a node, each with its item and its cell.
    pub fn count(&mut self, node: u32, items: &[u64], cells: &[u32], keys: &[CellKey]) {
        if self.is_given_up {
            return;
        }
        self.last.resize(keys.len(), NO_GROUP);
        for (item, &cell) in items.iter().zip(cells) {
            let (group, bit) = (item >> GROUP_SHIFT, 1 << (item % (1 << GROUP_SHIFT)));
            let last = &mut self.last[cell as usize];
            if last.group == group && last.node == node {
                last.bits |= bit;
            } else {
                self.turn(cell, (node, keys[cell as usize].site), group, bit);
            }
        }
        if self.items.len() > self.max {
            *self = Footprints {
                is_given_up: true,
                ..Footprints::new(0)
            };
        }
    }

    /// A cell turns to another group, or to another leaf.
    #[inline(never)]
    fn turn(&mut self, cell: u32, leaf: Leaf, group: u64, bits: u64) {
        self.keep(cell);
        let last = &mut self.last[cell as usize];
        if last.node != leaf.0 {
            let next = self.leaves.len() as u32;
            last.leaf = *self.numbers.entry(leaf).or_insert(next);
            if last.leaf == next {
                self.leaves.push(leaf);
            }
        }
        (last.node, last.group, last.bits) = (leaf.0, group, bits);
    }

    /// Moves what a cell remembers to the set.
    fn keep(&mut self, cell: u32) {
        let last = &mut self.last[cell as usize];
        if last.bits != 0 {
            let bits = std::mem::take(&mut last.bits);
            *self.items.entry((last.group, last.leaf)).or_default() |= bits;
        }
    }

    /// The number of a cell may become that of another one.
    pub fn forget_cell(&mut self, cell: u32) {
        if (cell as usize) < self.last.len() {
            self.keep(cell);
            self.last[cell as usize] = NO_GROUP;
        }
    }

    /// The leaves by number, and the items of each, by group. `None` if there were too many.
    pub fn finish(mut self) -> Option<(Vec<Leaf>, Vec<GroupItems>)> {
        for cell in 0..self.last.len() as u32 {
            self.keep(cell);
        }
        if self.is_given_up || self.items.len() > self.max {
            return None;
        }
        let items = self.items.into_iter();
        let mut items: Vec<GroupItems> = items
            .map(|((group, leaf), bits)| GroupItems { group, leaf, bits })
            .collect();
        items.sort_unstable();
        Some((self.leaves, items))
    }

    /// Memory held, and what the end will take beside it.
    pub fn memory(&self) -> u64 {
        let sorted = self.items.len() * size_of::<GroupItems>();
        let last = self.last.capacity() * size_of::<LastGroup>();
        let leaves = self.leaves.capacity() * size_of::<Leaf>();
        let tables = self.items.allocation_size() + self.numbers.allocation_size();
        (sorted + last + leaves + tables) as u64
    }
}

/// Counts the distinct items of contexts: exclusive and inclusive. `parents` is the tree, parents
/// before children; `contexts` are those of the leaves. `items` are sorted by group. Cost: linear
/// in the items and the depth of their contexts.
pub(crate) fn count_items(
    parents: &[u32],
    contexts: &[u32],
    items: &[GroupItems],
) -> Vec<(u64, u64)> {
    let mut counts = vec![(0, 0); parents.len()];
    // The items of the present group by context: of itself, and of all below too.
    let mut seen = vec![(0_u64, 0_u64); parents.len()];
    let mut touched = Vec::new();
    for group in items.chunk_by(|one, next| one.group == next.group) {
        for &GroupItems { leaf, bits, .. } in group {
            let mut context = contexts[leaf as usize] as usize;
            let new = bits & !seen[context].0;
            counts[context].0 += u64::from(new.count_ones());
            seen[context].0 |= new;
            loop {
                let new = bits & !seen[context].1;
                // All contexts above have what this one has.
                if new == 0 {
                    break;
                }
                counts[context].1 += u64::from(new.count_ones());
                seen[context].1 |= new;
                touched.push(context);
                if context == 0 {
                    break;
                }
                context = parents[context] as usize;
            }
        }
        for context in touched.drain(..) {
            seen[context] = (0, 0);
        }
    }
    counts
}
