//! A spanning forest, and who is in which of its trees.

use reuselens_graph::{StoredGraph, VertexId};

use crate::weak;

/// No vertex, and no part.
pub(super) const NONE: VertexId = VertexId::MAX;

/// One tree for each component: each vertex but the root has a parent, one of its neighbours.
#[derive(Clone, Debug, Default)]
pub(super) struct Forest {
    parents: Vec<VertexId>,
    /// The part of each vertex.
    part_of: Vec<u32>,
    parts: Vec<Component>,
    /// Parts without vertices.
    unused: Vec<u32>,
}

/// A component.
#[derive(Clone, Copy, Debug)]
pub(super) struct Component {
    pub root: VertexId,
    pub size: u32,
    pub smallest: VertexId,
}

impl Forest {
    /// The number of vertices.
    pub fn len(&self) -> usize {
        self.parents.len()
    }

    /// Adds vertices until there are `vertices`, each a part of its own.
    pub fn grow(&mut self, vertices: VertexId) {
        for vertex in self.parents.len() as VertexId..vertices {
            self.parents.push(NONE);
            let part = self.new_part(Component {
                root: vertex,
                size: 1,
                smallest: vertex,
            });
            self.part_of.push(part);
        }
    }

    fn new_part(&mut self, part: Component) -> u32 {
        match self.unused.pop() {
            Some(unused) => {
                self.parts[unused as usize] = part;
                unused
            }
            None => {
                self.parts.push(part);
                (self.parts.len() - 1) as u32
            }
        }
    }

    #[inline]
    pub fn parent(&self, vertex: VertexId) -> VertexId {
        self.parents[vertex as usize]
    }

    /// The number of the part that a vertex is in.
    #[inline]
    pub fn part_of(&self, vertex: VertexId) -> u32 {
        self.part_of[vertex as usize]
    }

    /// The smallest vertex of the part that a vertex is in.
    #[inline]
    pub fn label(&self, vertex: VertexId) -> VertexId {
        self.parts[self.part_of(vertex) as usize].smallest
    }

    #[inline]
    pub fn part(&self, part: u32) -> Component {
        self.parts[part as usize]
    }

    /// Whether one of two neighbours is the parent of the other.
    #[inline]
    pub fn is_tree_edge(&self, u: VertexId, v: VertexId) -> bool {
        self.parent(u) == v || self.parent(v) == u
    }

    /// Takes a vertex its parent: it and what hangs on it are a tree of their own, in the same
    /// part.
    pub fn cut(&mut self, vertex: VertexId) {
        self.parents[vertex as usize] = NONE;
    }

    /// The root of the tree that a vertex is in.
    pub fn root(&self, mut vertex: VertexId) -> VertexId {
        while self.parent(vertex) != NONE {
            vertex = self.parent(vertex);
        }
        vertex
    }

    /// Hangs the tree that `vertex` is in on `parent`, by `vertex`. Costs its depth.
    pub fn hang(&mut self, vertex: VertexId, parent: VertexId) {
        let (mut at, mut above) = (vertex, parent);
        while at != NONE {
            let old = std::mem::replace(&mut self.parents[at as usize], above);
            (above, at) = (at, old);
        }
    }

    /// Makes a part of vertices, all those of a tree with this root.
    pub fn split_off(&mut self, vertices: &[VertexId], root: VertexId) {
        let old = self.part_of(root);
        let size = vertices.len() as u32;
        self.parts[old as usize].size -= size;
        let part = self.new_part(Component {
            root,
            size,
            smallest: vertices.iter().copied().min().unwrap_or(root),
        });
        for &vertex in vertices {
            self.part_of[vertex as usize] = part;
        }
    }

    /// Makes what is left of a part, one tree with this root, complete after others split off.
    /// Returns the ids read.
    pub fn settle<G: StoredGraph>(
        &mut self,
        graph: &G,
        part: u32,
        root: VertexId,
        queue: &mut Vec<VertexId>,
    ) -> u64 {
        self.parts[part as usize].root = root;
        let Component { size, smallest, .. } = self.part(part);
        if self.part_of(smallest) == part {
            return 0;
        }
        // The next vertex of a large part is near; of a small part all vertices are read.
        if u64::from(size) * u64::from(size) > self.len() as u64 {
            let mut vertex = smallest + 1;
            while self.part_of(vertex) != part {
                vertex += 1;
            }
            self.parts[part as usize].smallest = vertex;
            return 0;
        }
        let new = self.new_part(Component {
            root,
            size,
            smallest: root,
        });
        let scanned = self.move_tree(graph, root, new, queue);
        self.parts[new as usize].smallest = queue.iter().copied().min().unwrap_or(root);
        self.unused.push(part);
        scanned
    }

    /// Joins the parts of two neighbours: the smaller one is hung on the other. Returns the ids
    /// read.
    pub fn join<G: StoredGraph>(
        &mut self,
        graph: &G,
        u: VertexId,
        v: VertexId,
        queue: &mut Vec<VertexId>,
    ) -> u64 {
        let size = |vertex| self.part(self.part_of(vertex)).size;
        let (child, parent) = if size(u) < size(v) { (u, v) } else { (v, u) };
        let (old, part) = (self.part_of(child), self.part_of(parent));
        let scanned = self.move_tree(graph, child, part, queue);
        self.hang(child, parent);
        let Component { size, smallest, .. } = self.part(old);
        let joined = &mut self.parts[part as usize];
        joined.size += size;
        joined.smallest = joined.smallest.min(smallest);
        self.unused.push(old);
        scanned
    }

    /// Moves the tree that `vertex` is in to another part, and replaces `moved` by its vertices.
    /// Returns the ids read.
    fn move_tree<G: StoredGraph>(
        &mut self,
        graph: &G,
        vertex: VertexId,
        part: u32,
        moved: &mut Vec<VertexId>,
    ) -> u64 {
        let (mut scanned, mut read) = (0, 0);
        moved.clear();
        moved.push(vertex);
        self.part_of[vertex as usize] = part;
        while let Some(&at) = moved.get(read) {
            read += 1;
            for block in weak::neighbors(graph, at) {
                scanned += block.len() as u64;
                for &neighbor in block {
                    if self.is_tree_edge(at, neighbor) && self.part_of(neighbor) != part {
                        self.part_of[neighbor as usize] = part;
                        moved.push(neighbor);
                    }
                }
            }
        }
        scanned
    }

    /// Finds all parts anew, by a search from each vertex that no earlier search reached. Returns
    /// the ids read.
    pub fn rebuild<G: StoredGraph>(&mut self, graph: &G, queue: &mut Vec<VertexId>) -> u64 {
        let vertices = graph.vertices();
        self.parents.clear();
        self.parents.resize(vertices as usize, NONE);
        self.part_of.clear();
        self.part_of.resize(vertices as usize, NONE);
        self.parts.clear();
        self.unused.clear();
        let mut scanned = 0;
        for root in 0..vertices {
            if self.part_of(root) != NONE {
                continue;
            }
            let part = self.parts.len() as u32;
            self.part_of[root as usize] = part;
            queue.clear();
            queue.push(root);
            let mut read = 0;
            while let Some(&at) = queue.get(read) {
                read += 1;
                for block in weak::neighbors(graph, at) {
                    scanned += block.len() as u64;
                    for &neighbor in block {
                        if self.part_of(neighbor) == NONE {
                            self.part_of[neighbor as usize] = part;
                            self.parents[neighbor as usize] = at;
                            queue.push(neighbor);
                        }
                    }
                }
            }
            self.parts.push(Component {
                root,
                size: queue.len() as u32,
                smallest: root,
            });
        }
        scanned
    }
}
