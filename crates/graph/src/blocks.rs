//! The published storage: a vertex array, and for each vertex a linked list of blocks of edges.
//!
//! Shen, *Exploring Heterogeneous Architectures with Tools and Applications* (2021), section
//! 4.3.3, after cuSTINGER (Green and Bader, HPEC 2016): an insertion appends, a deletion puts the
//! last edge in the place of the deleted one. A search reads a list to its end, so a change costs
//! the degree. Kept as a baseline. Batches are applied by one thread.

use crate::requests::{self, EdgeRequest};
use crate::{Delta, Edge, EdgeChange, EdgeKind, StoredGraph, VERTEX_LIMIT, VertexId};

/// Ids in a block: with the link and the length a cache line.
const BLOCK: usize = 14;
/// No block.
const NONE: u32 = u32::MAX;

/// A part of a list of neighbours.
#[derive(Clone, Debug)]
struct EdgeBlock {
    ids: [VertexId; BLOCK],
    /// How many ids are used. All blocks of a list but the last are full.
    len: u32,
    next: u32,
}

/// A list of neighbours.
#[derive(Clone, Copy, Debug)]
struct ListHead {
    first: u32,
    last: u32,
    degree: u32,
}

const EMPTY: ListHead = ListHead {
    first: NONE,
    last: NONE,
    degree: 0,
};

/// A graph with linked blocks of neighbours, as published.
#[derive(Clone, Debug)]
pub struct BlockGraph {
    kind: EdgeKind,
    edges: u64,
    heads: Vec<ListHead>,
    /// Of in-neighbours; empty in an undirected graph.
    in_heads: Vec<ListHead>,
    pool: BlockList,
    requests: Vec<EdgeRequest>,
}

impl BlockGraph {
    /// A graph of `vertices` without edges.
    ///
    /// # Panics
    /// If there are more than [`VERTEX_LIMIT`] vertices.
    #[must_use]
    pub fn new(kind: EdgeKind, vertices: VertexId) -> Self {
        let mut graph = Self {
            kind,
            edges: 0,
            heads: Vec::new(),
            in_heads: Vec::new(),
            pool: BlockList {
                blocks: Vec::new(),
                free: NONE,
            },
            requests: Vec::new(),
        };
        graph.grow(vertices);
        graph
    }

    /// Makes all ids below `vertices` vertices, if they are not yet.
    ///
    /// # Panics
    /// If there are more than [`VERTEX_LIMIT`] vertices.
    pub fn grow(&mut self, vertices: VertexId) {
        assert!(
            vertices <= VERTEX_LIMIT,
            "{vertices} vertices are beyond the limit"
        );
        let count = self.heads.len().max(vertices as usize);
        self.heads.resize(count, EMPTY);
        if self.kind == EdgeKind::Directed {
            self.in_heads.resize(count, EMPTY);
        }
    }

    fn change(&mut self, edge: Edge, insert: bool) {
        let back = match self.kind {
            EdgeKind::Undirected => &mut self.heads,
            EdgeKind::Directed => &mut self.in_heads,
        };
        let back = &mut back[edge.to as usize];
        self.pool.change(back, edge.from, insert);
        let head = &mut self.heads[edge.from as usize];
        self.pool.change(head, edge.to, insert);
    }
}

impl StoredGraph for BlockGraph {
    fn kind(&self) -> EdgeKind {
        self.kind
    }

    fn vertices(&self) -> VertexId {
        self.heads.len() as VertexId
    }

    fn edges(&self) -> u64 {
        self.edges
    }

    fn degree(&self, vertex: VertexId) -> usize {
        self.heads[vertex as usize].degree as usize
    }

    fn in_degree(&self, vertex: VertexId) -> usize {
        match self.kind {
            EdgeKind::Undirected => self.degree(vertex),
            EdgeKind::Directed => self.in_heads[vertex as usize].degree as usize,
        }
    }

    fn contains(&self, edge: Edge) -> bool {
        let head = self.heads.get(edge.from as usize);
        head.is_some_and(|head| self.pool.read(*head).flatten().any(|&id| id == edge.to))
    }

    fn neighbors(&self, vertex: VertexId) -> impl Iterator<Item = &[VertexId]> {
        self.pool.read(self.heads[vertex as usize])
    }

    fn in_neighbors(&self, vertex: VertexId) -> impl Iterator<Item = &[VertexId]> {
        self.pool.read(match self.kind {
            EdgeKind::Undirected => self.heads[vertex as usize],
            EdgeKind::Directed => self.in_heads[vertex as usize],
        })
    }

    fn apply(&mut self, changes: &[EdgeChange]) -> Delta {
        let mut requests = std::mem::take(&mut self.requests);
        requests::collect(self.kind, changes, &mut requests);
        requests.retain(|request| self.contains(request.edge()) != request.insert);
        self.grow(requests::vertices_after(self.vertices(), &requests));
        for request in &requests {
            self.change(request.edge(), request.insert);
        }
        let delta = requests::delta(&requests);
        requests::empty(&mut requests);
        self.requests = requests;
        self.edges = self.edges + delta.inserted.len() as u64 - delta.deleted.len() as u64;
        delta
    }

    fn memory(&self) -> usize {
        (self.heads.capacity() + self.in_heads.capacity()) * size_of::<ListHead>()
            + self.pool.blocks.capacity() * size_of::<EdgeBlock>()
            + self.requests.capacity() * size_of::<EdgeRequest>()
    }
}

/// The blocks of all lists.
#[derive(Clone, Debug)]
struct BlockList {
    blocks: Vec<EdgeBlock>,
    /// The first unused block; the others follow by their links.
    free: u32,
}

impl BlockList {
    /// The ids of a list, block by block.
    fn read(&self, head: ListHead) -> impl Iterator<Item = &[VertexId]> {
        let mut at = head.first;
        std::iter::from_fn(move || {
            let block = self.blocks.get(at as usize)?;
            at = block.next;
            Some(&block.ids[..block.len as usize])
        })
    }

    /// Appends an id that is missing, or removes one that is present.
    fn change(&mut self, head: &mut ListHead, id: VertexId, insert: bool) {
        if insert {
            self.append(head, id)
        } else {
            self.remove(head, id)
        }
    }

    fn append(&mut self, head: &mut ListHead, id: VertexId) {
        let last = self.blocks.get(head.last as usize);
        if last.is_none_or(|last| last.len as usize == BLOCK) {
            let new = self.take();
            match head.last {
                NONE => head.first = new,
                last => self.blocks[last as usize].next = new,
            }
            head.last = new;
        }
        let last = &mut self.blocks[head.last as usize];
        last.ids[last.len as usize] = id;
        last.len += 1;
        head.degree += 1;
    }

    /// An empty block.
    fn take(&mut self) -> u32 {
        let empty = EdgeBlock {
            ids: [0; BLOCK],
            len: 0,
            next: NONE,
        };
        match self.free {
            NONE => {
                self.blocks.push(empty);
                u32::try_from(self.blocks.len() - 1).expect("less than 2^32 blocks")
            }
            free => {
                let block = &mut self.blocks[free as usize];
                self.free = block.next;
                *block = empty;
                free
            }
        }
    }

    fn remove(&mut self, head: &mut ListHead, id: VertexId) {
        let (mut at, mut before_last) = (head.first, NONE);
        let mut found = None;
        loop {
            let block = &self.blocks[at as usize];
            if found.is_none() {
                let place = block.ids[..block.len as usize]
                    .iter()
                    .position(|&other| other == id);
                found = place.map(|place| (at, place));
            }
            if block.next == NONE {
                break;
            }
            (before_last, at) = (at, block.next);
        }
        let (holder, place) = found.expect("the edge is present");
        let last = &mut self.blocks[at as usize];
        last.len -= 1;
        let moved = last.ids[last.len as usize];
        let emptied = last.len == 0;
        self.blocks[holder as usize].ids[place] = moved;
        head.degree -= 1;
        if emptied {
            self.blocks[at as usize].next = std::mem::replace(&mut self.free, at);
            head.last = before_last;
            match before_last {
                NONE => head.first = NONE,
                before => self.blocks[before as usize].next = NONE,
            }
        }
    }
}
