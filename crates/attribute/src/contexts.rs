//! The calling context tree.
//!
//! A function is on a path once: a call of one that is on it already, by itself or through others,
//! leads back to its node. Else a recursion that goes two ways, as sorting does, would double the
//! contexts with each level, and contexts would differ by the depth of a recursion as well as by
//! its caller.
//!
//! Source: Ammons, Ball & Larus 1997, "Exploiting hardware performance counters with flow and
//! context sensitive profiling", section 4.

use reuselens_hugepages::random_key;

use crate::hash::{FastMap, GOLDEN};
use crate::places::CodePlace;

/// A call: who was called, from where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CallKey {
    /// Process, and how often its code was replaced: addresses mean something only within both.
    pub code: u64,
    /// A program counter in the function called.
    pub pc: u64,
    /// The call's return address.
    pub return_address: u64,
}

/// A node, as far as calls need it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContextNode {
    pub parent: u32,
    depth: u32,
    /// The nearest node further up whose depth is a power of two, or the root.
    coarser: u32,
    /// The object that the function's frames are.
    pub frames: u32,
    /// The node where accesses count: this one, or that of the function further up on the path.
    counts_for: u32,
    /// Whether calls further down count for this node: its function calls itself, by itself or
    /// through others.
    recurs: bool,
    key: CallKey,
}

/// The calls that led to an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Callers {
    /// The node of the function that called the allocator.
    pub node: u32,
    /// The first node that the same calls led to. It is the same for all nodes of these calls.
    pub first: u32,
}

/// Where a node's call is in the code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    /// In the function; unknown for the root and for the node of the other contexts.
    pub function: CodePlace,
    /// The call in its caller.
    pub call: CodePlace,
}

const NOWHERE: Places = Places {
    function: CodePlace::UNKNOWN,
    call: CodePlace::UNKNOWN,
};

/// Deeper calls count for the node at this depth.
pub(crate) const MAX_DEPTH: u32 = 512;
/// Nodes beyond which new ones fold into the other contexts.
const MAX_NODES: usize = 1 << 20;
const NO_CALL: CallKey = CallKey {
    code: u64::MAX,
    pc: 0,
    return_address: 0,
};

/// The tree. Node 0 is the root.
#[derive(Debug)]
pub(crate) struct Contexts {
    nodes: Vec<ContextNode>,
    places: Vec<Places>,
    /// By node: the first node that the same calls lead to, whichever functions they enter.
    alike: Vec<u32>,
    /// The first node that a call leads to: by the caller's in `alike`, code and return address.
    first_of_call: FastMap<(u32, u64, u64), u32>,
    /// All nodes but the root by parent and call, open addressing, at most half full: the upper
    /// half of the hash, and the number of the node, 0 where it is free.
    children: Vec<(u32, u32)>,
    /// A random key: nobody can choose calls that all begin at one place.
    key: u64,
    /// Nodes whose code had no module when they were made.
    unplaced: Vec<u32>,
    /// The node of the other contexts, once there is one.
    other: Option<u32>,
}

/// The key comes before the first product: a return address can undo whatever is known of the rest.
fn hash(key: u64, parent: u32, call: &CallKey) -> u64 {
    let pc = (call.pc ^ key ^ call.code.rotate_right(16) ^ u64::from(parent)).wrapping_mul(GOLDEN);
    let product = u128::from(pc.rotate_left(32) ^ call.return_address) * u128::from(GOLDEN);
    (product >> 64) as u64 ^ product as u64
}

impl Contexts {
    pub fn new() -> Self {
        let root = ContextNode {
            parent: 0,
            depth: 0,
            coarser: 0,
            frames: 0,
            counts_for: 0,
            recurs: false,
            key: NO_CALL,
        };
        Contexts {
            nodes: vec![root],
            places: vec![NOWHERE],
            alike: vec![0],
            first_of_call: FastMap::default(),
            children: vec![(0, 0); 64],
            key: random_key(),
            unplaced: Vec::new(),
            other: None,
        }
    }

    pub fn node(&self, node: u32) -> &ContextNode {
        &self.nodes[node as usize]
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn places(&self, node: u32) -> &Places {
        &self.places[node as usize]
    }

    /// The node that this call leads to from another, if it was made before.
    #[inline]
    pub fn child(&self, parent: u32, call: &CallKey) -> Option<u32> {
        let hash = hash(self.key, parent, call);
        let mask = self.children.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let (tag, number) = self.children[at];
            if number == 0 {
                return None;
            }
            if tag == (hash >> 32) as u32 {
                let node = self.node(number);
                if node.parent == parent && node.key == *call {
                    return Some(node.counts_for);
                }
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds a node to the table of children, in which it is missing.
    fn insert(&mut self, number: u32) {
        let node = self.node(number);
        let hash = hash(self.key, node.parent, &node.key);
        let mask = self.children.len() - 1;
        let mut at = hash as usize & mask;
        while self.children[at].1 != 0 {
            at = (at + 1) & mask;
        }
        self.children[at] = ((hash >> 32) as u32, number);
    }

    /// Whether calls from this node count for the node itself.
    #[inline]
    pub fn is_deepest(&self, node: u32) -> bool {
        self.nodes[node as usize].depth >= MAX_DEPTH || self.other == Some(node)
    }

    /// Whether calls may have been made between this node's call and those of its children, which
    /// the tree does not have: those of a recursion, and those below the depth that is followed.
    pub fn hides_calls(&self, node: u32) -> bool {
        self.nodes[node as usize].recurs || self.is_deepest(node)
    }

    /// Whether there is no room for new nodes.
    pub fn is_full(&self) -> bool {
        self.nodes.len() >= MAX_NODES
    }

    /// How many calls a node is below the root.
    pub fn depth(&self, node: u32) -> u32 {
        self.nodes[node as usize].depth
    }

    /// The nearest node further up whose depth is a power of two; the root for those of depth 1.
    pub fn coarser(&self, node: u32) -> u32 {
        self.nodes[node as usize].coarser
    }

    /// The node of a called function on the path from the root to the node `to`, `to` included.
    pub fn on_path(&self, to: u32, key: &CallKey) -> Option<u32> {
        let parent = |node: &u32| Some(self.nodes[*node as usize].parent);
        let mut path = std::iter::successors(Some(to), parent).take_while(|node| *node != 0);
        path.find(|node| {
            let of = &self.nodes[*node as usize].key;
            (of.code, of.pc) == (key.code, key.pc)
        })
    }

    /// The node that a new call leads to: a new node, or that of the same function on the path. The
    /// caller has checked that there is room. Cost: linear in the depth.
    pub fn add(&mut self, parent: u32, key: CallKey, places: Places, frames: u32) -> u32 {
        if 2 * (self.nodes.len() + 1) > self.children.len() {
            self.children = vec![(0, 0); 2 * self.children.len()];
            let other = self.other.unwrap_or(0);
            for node in (1..self.nodes.len() as u32).filter(|node| *node != other) {
                self.insert(node);
            }
        }
        let node = self.nodes.len() as u32;
        let back = self.on_path(parent, &key);
        let above = self.nodes[parent as usize];
        self.nodes.push(ContextNode {
            parent,
            depth: above.depth + 1,
            coarser: if above.depth.is_power_of_two() {
                parent
            } else {
                above.coarser
            },
            frames,
            counts_for: back.unwrap_or(node),
            recurs: false,
            key,
        });
        self.insert(node);
        let call = (self.alike[parent as usize], key.code, key.return_address);
        let first = *self.first_of_call.entry(call).or_insert(node);
        self.alike.push(first);
        if let Some(back) = back {
            self.nodes[back as usize].recurs = true;
            self.places.push(NOWHERE);
            return back;
        }
        self.places.push(places);
        let is_lost = |place: CodePlace, pc: u64| place.module == CodePlace::NO_MODULE && pc != 0;
        if is_lost(places.function, key.pc) || is_lost(places.call, key.return_address) {
            self.unplaced.push(node);
        }
        node
    }

    /// The node of the other contexts, made at the first call.
    pub fn other(&mut self) -> u32 {
        *self.other.get_or_insert_with(|| {
            self.nodes.push(ContextNode {
                depth: 1,
                counts_for: self.nodes.len() as u32,
                ..self.nodes[0]
            });
            self.places.push(NOWHERE);
            self.alike.push(self.nodes.len() as u32 - 1);
            self.nodes.len() as u32 - 1
        })
    }

    /// The node of the function that called the allocator, and the first node that the same calls
    /// led to. `node` is the innermost one when a block was reported, and `return_address` that of
    /// the allocator's call.
    ///
    /// Equal calls can have several nodes. The first call of a function of a library enters the
    /// stub that the dynamic loader binds, the next ones the function itself; and an allocator
    /// reports blocks from several of its functions.
    ///
    /// `None` if no call on the path is the allocator's: the trace then lacks the calls of some
    /// libraries. Cost: linear in the depth.
    pub fn callers_of_allocator(&self, node: u32, return_address: u64) -> Option<Callers> {
        let parent = |node: &u32| Some(self.nodes[*node as usize].parent);
        let mut path = std::iter::successors(Some(node), parent).take_while(|node| *node != 0);
        let allocator =
            path.find(|node| self.nodes[*node as usize].key.return_address == return_address)?;
        let node = self.nodes[allocator as usize].parent;
        Some(Callers {
            node,
            first: self.alike[node as usize],
        })
    }

    /// Whether this is the node of the other contexts.
    pub fn is_other(&self, node: u32) -> bool {
        self.other == Some(node)
    }

    /// Calls `change` on the places of each node that has one without a module.
    pub fn for_each_unplaced(&mut self, mut change: impl FnMut(u64, u64, &mut CodePlace)) {
        for node in &self.unplaced {
            let (key, places) = (
                &self.nodes[*node as usize].key,
                &mut self.places[*node as usize],
            );
            change(key.code, key.pc, &mut places.function);
            change(key.code, key.return_address, &mut places.call);
        }
    }

    /// Memory held.
    pub fn memory(&self) -> u64 {
        let nodes = self.nodes.capacity() * size_of::<ContextNode>();
        let places = self.places.capacity() * size_of::<Places>();
        let first = self.first_of_call.allocation_size();
        let words = self.unplaced.capacity() + self.alike.capacity();
        (nodes + places + self.children.len() * 8 + first + words * 4) as u64
    }
}
