//! The calling context tree.
//!
//! Source: Ammons, Ball & Larus 1997, "Exploiting hardware performance counters with flow and context
//! sensitive profiling", section 4.

use crate::hash::FastMap;
use crate::places::Place;

/// A call: who was called, from where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Call {
    /// Process, and how often its code was replaced: addresses mean something only within both.
    pub code: u64,
    /// A program counter in the function called.
    pub pc: u64,
    /// The call's return address.
    pub return_address: u64,
}

/// A node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub parent: u32,
    pub depth: u32,
    /// In the function; unknown for the root and for the node of the other contexts.
    pub function: Place,
    /// The call in its caller.
    pub call: Place,
    /// The object that the function's frames are.
    pub frames: u32,
    key: Call,
    /// The child entered last.
    recent: u32,
}

/// Deeper calls count for the node at this depth.
pub(crate) const MAX_DEPTH: u32 = 512;
/// Nodes beyond which new ones fold into the other contexts.
const MAX_NODES: usize = 1 << 20;
const NO_CALL: Call = Call {
    code: u64::MAX,
    pc: 0,
    return_address: 0,
};

/// The tree. Node 0 is the root.
#[derive(Debug)]
pub(crate) struct Contexts {
    nodes: Vec<Node>,
    children: FastMap<(u32, Call), u32>,
    /// The node for contexts that are not told apart, once there is one.
    other: Option<u32>,
}

impl Contexts {
    pub fn new() -> Self {
        let root = Node {
            parent: 0,
            depth: 0,
            function: Place::UNKNOWN,
            call: Place::UNKNOWN,
            frames: 0,
            key: NO_CALL,
            recent: 0,
        };
        Contexts {
            nodes: vec![root],
            children: FastMap::default(),
            other: None,
        }
    }

    pub fn node(&self, node: u32) -> &Node {
        &self.nodes[node as usize]
    }

    /// The child of a node for this call, if it exists.
    #[inline]
    pub fn child(&mut self, parent: u32, call: &Call) -> Option<u32> {
        let recent = self.nodes[parent as usize].recent;
        if self.nodes[recent as usize].key == *call {
            return Some(recent);
        }
        let child = *self.children.get(&(parent, *call))?;
        self.nodes[parent as usize].recent = child;
        Some(child)
    }

    /// Whether calls from this node count for the node itself.
    #[inline]
    pub fn is_deepest(&self, node: u32) -> bool {
        self.nodes[node as usize].depth >= MAX_DEPTH || self.other == Some(node)
    }

    /// Whether there is no room for new nodes.
    pub fn is_full(&self) -> bool {
        self.nodes.len() >= MAX_NODES
    }

    /// Adds a child, where there is room.
    pub fn add(
        &mut self,
        parent: u32,
        key: Call,
        function: Place,
        call: Place,
        frames: u32,
    ) -> u32 {
        let depth = self.nodes[parent as usize].depth + 1;
        let node = self.nodes.len() as u32;
        self.nodes.push(Node {
            parent,
            depth,
            function,
            call,
            frames,
            key,
            recent: 0,
        });
        self.children.insert((parent, key), node);
        self.nodes[parent as usize].recent = node;
        node
    }

    /// The node for contexts that are not told apart.
    pub fn other(&mut self) -> u32 {
        *self.other.get_or_insert_with(|| {
            self.nodes.push(Node {
                depth: 1,
                ..self.nodes[0]
            });
            self.nodes.len() as u32 - 1
        })
    }

    /// Whether this is the node for contexts that are not told apart.
    pub fn is_other(&self, node: u32) -> bool {
        self.other == Some(node)
    }

    /// Calls `change` on the places of each node.
    pub fn for_each_place(&mut self, mut change: impl FnMut(u64, u64, &mut Place)) {
        for node in &mut self.nodes[1..] {
            change(node.key.code, node.key.pc, &mut node.function);
            change(node.key.code, node.key.return_address, &mut node.call);
        }
    }

    /// Memory held.
    pub fn memory(&self) -> u64 {
        (self.nodes.capacity() * size_of::<Node>() + self.children.capacity() * 48) as u64
    }
}
