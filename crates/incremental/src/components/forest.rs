//! A spanning forest, and who is in which of its trees.

use reuselens_graph::{StoredGraph, VertexId};

use crate::weak;

/// No vertex, and no part.
pub(super) const NONE: VertexId = VertexId::MAX;

/// One tree for each component: each vertex but the root has a parent, one of its neighbours.
#[derive(Clone, Debug, Default)]
pub(super) struct Forest {
    nodes: Vec<ForestNode>,
    parts: Vec<Component>,
    /// Parts without vertices.
    unused: Vec<u32>,
    /// The number of the present search, times 8: it is added to its marks, so that those of
    /// earlier searches are smaller.
    search: u32,
    path: Vec<VertexId>,
    /// Steps from a vertex to its parent, but for those that [`Self::tree`] returns.
    steps: u64,
}

/// What is known of a vertex, in one place: a search needs all of it.
#[derive(Clone, Copy, Debug)]
struct ForestNode {
    parent: VertexId,
    part: u32,
    mark: u32,
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
        self.nodes.len()
    }

    /// Adds vertices until there are `vertices`, each a part of its own.
    pub fn grow(&mut self, vertices: VertexId) {
        for vertex in self.nodes.len() as VertexId..vertices {
            let part = self.new_part(Component {
                root: vertex,
                size: 1,
                smallest: vertex,
            });
            self.nodes.push(ForestNode {
                parent: NONE,
                part,
                mark: 0,
            });
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
        self.nodes[vertex as usize].parent
    }

    /// The number of the part that a vertex is in.
    #[inline]
    pub fn part_of(&self, vertex: VertexId) -> u32 {
        self.nodes[vertex as usize].part
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
        self.nodes[vertex as usize].parent = NONE;
    }

    /// The root of the tree that a vertex is in.
    pub fn root(&mut self, mut vertex: VertexId) -> VertexId {
        while self.parent(vertex) != NONE {
            vertex = self.parent(vertex);
            self.steps += 1;
        }
        vertex
    }

    /// The number of steps from a vertex to its parent since the last call, but for those that
    /// [`Self::tree`] returned.
    pub fn take_steps(&mut self) -> u64 {
        std::mem::take(&mut self.steps)
    }

    /// Hangs the tree that `vertex` is in on `parent`, by `vertex`. Costs its depth.
    pub fn hang(&mut self, vertex: VertexId, parent: VertexId) {
        let (mut at, mut above) = (vertex, parent);
        while at != NONE {
            let old = std::mem::replace(&mut self.nodes[at as usize].parent, above);
            (above, at) = (at, old);
            self.steps += 1;
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
            self.nodes[vertex as usize].part = part;
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
        self.nodes[vertex as usize].part = part;
        while let Some(&at) = moved.get(read) {
            read += 1;
            for block in weak::neighbors(graph, at) {
                scanned += block.len() as u64;
                for &neighbor in block {
                    if self.is_tree_edge(at, neighbor) && self.part_of(neighbor) != part {
                        self.nodes[neighbor as usize].part = part;
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
        self.nodes.clear();
        let node = ForestNode {
            parent: NONE,
            part: NONE,
            mark: 0,
        };
        self.nodes.resize(vertices as usize, node);
        self.search = 0;
        self.parts.clear();
        self.unused.clear();
        let mut scanned = 0;
        for root in 0..vertices {
            if self.part_of(root) != NONE {
                continue;
            }
            let part = self.parts.len() as u32;
            self.nodes[root as usize].part = part;
            queue.clear();
            queue.push(root);
            let mut read = 0;
            while let Some(&at) = queue.get(read) {
                read += 1;
                for block in weak::neighbors(graph, at) {
                    scanned += block.len() as u64;
                    for &neighbor in block {
                        let node = &mut self.nodes[neighbor as usize];
                        if node.part == NONE {
                            node.part = part;
                            node.parent = at;
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

/// A mark: the tree of the first side, of the second one (1), or another one.
pub(super) const OTHER: u32 = 2;
/// Added to the mark of a vertex that its side has found.
pub(super) const FOUND: u32 = 4;

/// Marks of the present search: in which tree a vertex is, as far as the search knows.
impl Forest {
    /// Begins a search without marks.
    pub fn start_search(&mut self) {
        self.search += 8;
        if self.search > u32::MAX - 16 {
            self.nodes.iter_mut().for_each(|node| node.mark = 0);
            self.search = 8;
        }
    }

    #[inline]
    pub fn mark(&self, vertex: VertexId) -> Option<u32> {
        self.nodes[vertex as usize].mark.checked_sub(self.search)
    }

    #[inline]
    pub fn set_mark(&mut self, vertex: VertexId, mark: u32) {
        self.nodes[vertex as usize].mark = self.search + mark;
    }

    /// Marks the path from a vertex to the root of its tree, which it returns; nothing if it meets
    /// a mark of this search, whose tree the vertex is in.
    pub fn mark_path(&mut self, vertex: VertexId, tree: u32) -> Option<VertexId> {
        let mut at = vertex;
        loop {
            if self.mark(at).is_some_and(|mark| mark != tree) {
                return None;
            }
            self.set_mark(at, tree);
            self.steps += 1;
            match self.parent(at) {
                NONE => return Some(at),
                parent => at = parent,
            }
        }
    }

    /// The tree that a vertex is in, and the number of steps to where that is known. Marks the
    /// path. `roots` are those of both sides.
    pub fn tree(&mut self, vertex: VertexId, roots: [VertexId; 2]) -> (u32, usize) {
        let mut path = std::mem::take(&mut self.path);
        path.clear();
        let mut at = vertex;
        let tree = loop {
            if let Some(mark) = self.mark(at) {
                break mark & !FOUND;
            }
            path.push(at);
            match self.parent(at) {
                NONE => {
                    let side = roots.iter().position(|&root| root == at);
                    break side.map_or(OTHER, |side| side as u32);
                }
                parent => at = parent,
            }
        };
        path.iter().for_each(|&vertex| self.set_mark(vertex, tree));
        self.path = path;
        (tree, self.path.len())
    }
}
