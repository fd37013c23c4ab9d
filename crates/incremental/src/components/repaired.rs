//! Components that are repaired: a spanning forest with searches for replacements.
//!
//! An insertion inside a component and a deletion of an edge outside the forest change nothing. An
//! insertion between two components hangs the smaller tree on the larger one. A deleted edge of
//! the forest cuts a tree; then both sides are searched at the same pace for an edge that replaces
//! it, until one is found or the side with fewer edges is exhausted, which is then a component of
//! its own. So a cut costs twice the edges of that side at most, and the paths to the root of what
//! the search meets; each vertex is on such a path once. The forest is that of the ID-Tree (Xu et
//! al., *Constant-time Connectivity Querying in Dynamic Graphs*, PACMMOD 2024) without its
//! balancing.
//!
//! The cuts of a batch are made first, and then treated one after the other. All trees of an old
//! component but one, the *anchor*, hang on a cut; each either joins the anchor or is exhausted.
//!
//! **Cost model.** Recomputing reads all lists in the order of a search; a cut reads some, in no
//! order. The constants below weigh these (measured on meshes and social graphs). A repair is not
//! begun, or given up, when the cuts that remain are predicted to cost more than recomputing, each
//! as much as the mean of those before.

use reuselens_graph::{Delta, StoredGraph, VertexId};

use super::forest::{Forest, NONE};
use crate::{Choice, Maintain, Policy, Work, weak};

/// A cut costs as much as reading this many ids, beside those that it reads.
const CUT: u64 = 30;
/// An id that a search for a replacement reads costs as much as this many that are read in order.
const REPAIR_ID: u64 = 4;
/// A vertex that recomputing reaches costs as much as reading this many ids.
const RECOMPUTED_VERTEX: u64 = 16;
/// A step up to a root costs as much as reading this many ids.
const CLIMB: u64 = 2;

/// Components that are repaired, or recomputed where that is predicted to be less work.
#[derive(Clone, Debug)]
pub struct Components {
    policy: Policy,
    forest: Forest,
    marks: Marks,
    /// Both sides of a cut.
    sides: [CutSide; 2],
    cuts: Vec<Cut>,
    queue: Vec<VertexId>,
    costs: CutCosts,
}

/// A vertex that lost its parent.
#[derive(Clone, Copy, Debug)]
struct Cut {
    part: u32,
    child: VertexId,
    parent: VertexId,
}

/// The search of one side.
#[derive(Clone, Debug, Default)]
struct CutSide {
    root: VertexId,
    /// The vertices found; those before `read` have been read.
    found: Vec<VertexId>,
    read: usize,
    scanned: u64,
}

/// How a search ended.
enum CutSearch {
    /// An edge to another tree was found.
    Replaced(Link),
    /// This side has no edge to another tree.
    Exhausted(usize),
}

/// What cuts cost: the mean of the batch so far, beginning with that of the batches before.
///
/// A few cuts read a thousand times as much as the others. So a cut counts up to 16 times the
/// mean: otherwise one of them among the first would condemn all others.
#[derive(Clone, Copy, Debug)]
struct CutCosts {
    /// The ids read, and the number of cuts.
    sum: u64,
    cuts: u64,
}

/// With how many cuts the batches before count.
const BEFORE: u64 = 64;

impl CutCosts {
    fn new() -> Self {
        let cuts = BEFORE;
        Self {
            sum: 8 * cuts,
            cuts,
        }
    }

    fn mean(self) -> u64 {
        self.sum / self.cuts
    }

    /// Begins a batch.
    fn begin(&mut self) {
        self.sum = self.sum * BEFORE / self.cuts;
        self.cuts = BEFORE;
    }

    /// Takes a cut into account that read this many ids.
    fn add(&mut self, ids: u64) {
        self.sum += ids.min(16 * (self.mean() + 4));
        self.cuts += 1;
    }

    /// Whether so many more cuts are predicted to be more work than recomputing.
    fn exceed<G: StoredGraph>(self, cuts: usize, graph: &G) -> bool {
        let recomputing = weak::ids(graph) + RECOMPUTED_VERTEX * u64::from(graph.vertices());
        cuts as u64 * (REPAIR_ID * self.mean() + CUT) > recomputing
    }
}

/// An edge that joins two trees: that of `hung` is to hang on the other one.
struct Link {
    hung: VertexId,
    on: VertexId,
}

/// In which tree a vertex is, as far as the present search knows.
#[derive(Clone, Debug, Default)]
struct Marks {
    /// The number of the search, times 8, and the mark.
    marks: Vec<u32>,
    search: u32,
    path: Vec<VertexId>,
}

/// A mark: the tree of the first side, of the second one, or another one.
const OTHER: u32 = 2;
/// Added to the mark of a vertex that its side has found.
const FOUND: u32 = 4;

impl Marks {
    fn start(&mut self, vertices: usize) {
        self.marks.resize(vertices, 0);
        self.search += 8;
        if self.search > u32::MAX - 16 {
            self.marks.fill(0);
            self.search = 8;
        }
    }

    /// Marks the path from a vertex to the root of its tree, which it returns; nothing if it meets
    /// a mark of this search, whose tree the vertex is in.
    fn mark_path(&mut self, forest: &Forest, vertex: VertexId, tree: u32) -> Option<VertexId> {
        let mut at = vertex;
        loop {
            if self.get(at).is_some_and(|mark| mark != tree) {
                return None;
            }
            self.set(at, tree);
            match forest.parent(at) {
                NONE => return Some(at),
                parent => at = parent,
            }
        }
    }

    #[inline]
    fn get(&self, vertex: VertexId) -> Option<u32> {
        let mark = self.marks[vertex as usize];
        (mark >= self.search).then(|| mark - self.search)
    }

    fn set(&mut self, vertex: VertexId, mark: u32) {
        self.marks[vertex as usize] = self.search + mark;
    }

    /// The tree that a vertex is in, and the number of steps to where that is known. Marks the
    /// path.
    fn tree(&mut self, forest: &Forest, vertex: VertexId, roots: [VertexId; 2]) -> (u32, usize) {
        self.path.clear();
        let mut at = vertex;
        let tree = loop {
            if let Some(mark) = self.get(at) {
                break mark & !FOUND;
            }
            self.path.push(at);
            match forest.parent(at) {
                NONE => {
                    let side = roots.iter().position(|&root| root == at);
                    break side.map_or(OTHER, |side| side as u32);
                }
                parent => at = parent,
            }
        };
        for &vertex in &self.path {
            self.marks[vertex as usize] = self.search + tree;
        }
        (tree, self.path.len())
    }
}

impl Components {
    /// The components of a graph.
    pub fn new<G: StoredGraph>(graph: &G, policy: Policy) -> Self {
        let mut new = Self {
            policy,
            forest: Forest::default(),
            marks: Marks::default(),
            sides: [CutSide::default(), CutSide::default()],
            cuts: Vec::new(),
            queue: Vec::new(),
            costs: CutCosts::new(),
        };
        new.recompute(graph);
        new
    }

    /// The number of vertices in the component of `vertex`.
    #[must_use]
    pub fn size(&self, vertex: VertexId) -> u32 {
        self.forest.part(self.forest.part_of(vertex)).size
    }

    fn recompute<G: StoredGraph>(&mut self, graph: &G) -> Work {
        Work {
            choice: Choice::Recomputed,
            scanned: self.forest.rebuild(graph, &mut self.queue),
            affected: u64::from(graph.vertices()),
            predicted: 0,
        }
    }

    /// Whether the cuts of a batch are predicted to be more work than recomputing, before they are
    /// known: as many of the deleted edges are in the forest as of all edges.
    fn is_hopeless<G: StoredGraph>(&self, graph: &G, delta: &Delta) -> bool {
        let edges = (graph.edges() + delta.deleted.len() as u64).max(1);
        let cuts = delta.deleted.len() as u64 * u64::from(graph.vertices()) / edges;
        self.policy == Policy::Predict && self.costs.exceed(cuts.min(edges) as usize, graph)
    }

    /// Cuts the deleted edges of the forest, and collects them by component.
    fn cut<G: StoredGraph>(&mut self, graph: &G, delta: &Delta) {
        self.cuts.clear();
        for edge in &delta.deleted {
            let (child, parent) = match () {
                () if self.forest.parent(edge.to) == edge.from => (edge.to, edge.from),
                () if self.forest.parent(edge.from) == edge.to => (edge.from, edge.to),
                () => continue,
            };
            // In a directed graph the opposite edge may still be there.
            if weak::adjacent(graph, child, parent) {
                continue;
            }
            let part = self.forest.part_of(child);
            self.cuts.push(Cut {
                part,
                child,
                parent,
            });
        }
        self.cuts.iter().for_each(|cut| self.forest.cut(cut.child));
        self.cuts.sort_unstable_by_key(|cut| (cut.part, cut.child));
    }

    /// Treats all cuts. Returns whether to go on with the repair.
    fn replace<G: StoredGraph>(&mut self, graph: &G, work: &mut Work) -> bool {
        let cuts = std::mem::take(&mut self.cuts);
        let mut treated = 0;
        self.costs.begin();
        let go_on = 'all: {
            for cuts_of_part in cuts.chunk_by(|a, b| a.part == b.part) {
                let part = cuts_of_part[0].part;
                let mut anchor = self.forest.part(part).root;
                for &cut in cuts_of_part {
                    let before = work.scanned;
                    anchor = self.treat(graph, cut, anchor, work);
                    treated += 1;
                    self.costs.add(work.scanned - before);
                    let remaining = cuts.len() - treated;
                    work.predicted = work.scanned + remaining as u64 * self.costs.mean();
                    if self.policy == Policy::Predict && self.costs.exceed(remaining, graph) {
                        break 'all false;
                    }
                }
                let root = self.forest.root(anchor);
                work.scanned += self.forest.settle(graph, part, root, &mut self.queue);
            }
            true
        };
        self.cuts = cuts;
        go_on
    }

    /// Searches until the tree of a cut's child is that of the anchor, or exhausted. Returns the
    /// anchor: any vertex of the tree that the next cuts of the component are to join.
    fn treat<G: StoredGraph>(
        &mut self,
        graph: &G,
        cut: Cut,
        anchor: VertexId,
        work: &mut Work,
    ) -> VertexId {
        loop {
            if !self.start(cut, anchor) {
                return anchor;
            }
            let outcome = self.search(graph, work);
            match outcome {
                CutSearch::Replaced(link) => self.forest.hang(link.hung, link.on),
                CutSearch::Exhausted(side) => {
                    let side = &self.sides[side];
                    work.affected += side.found.len() as u64;
                    self.forest.split_off(&side.found, side.root);
                    if self.forest.part_of(cut.child) != cut.part {
                        return anchor;
                    }
                    if self.forest.part_of(anchor) != cut.part {
                        return cut.child;
                    }
                }
            }
        }
    }

    /// Prepares the search from both ends of a cut. Returns whether the child is in another tree
    /// than the anchor.
    fn start(&mut self, cut: Cut, anchor: VertexId) -> bool {
        let forest = &self.forest;
        self.marks.start(forest.len());
        let Some(root) = self.marks.mark_path(forest, cut.child, 0) else {
            unreachable!("nothing is marked yet")
        };
        if forest.root(anchor) == root {
            return false;
        }
        // The other end of the deleted edge is near, if it is still in another tree.
        let near = (forest.part_of(cut.parent) == cut.part)
            .then(|| self.marks.mark_path(forest, cut.parent, 1));
        let (other, other_root) = match near.flatten() {
            Some(other_root) => (cut.parent, other_root),
            None => {
                // What was marked on the way is in the first tree.
                self.marks.start(forest.len());
                (anchor, forest.root(anchor))
            }
        };
        for (index, (start, root)) in [(cut.child, root), (other, other_root)]
            .into_iter()
            .enumerate()
        {
            let side = &mut self.sides[index];
            (side.root, side.read, side.scanned) = (root, 0, 0);
            side.found.clear();
            side.found.push(start);
            self.marks.set(start, FOUND + index as u32);
        }
        true
    }

    /// Searches two trees at the same pace for an edge that leads to another tree of the
    /// component.
    fn search<G: StoredGraph>(&mut self, graph: &G, work: &mut Work) -> CutSearch {
        let outcome = loop {
            // The side that would have read fewer ids afterwards goes on.
            let costs = self.sides.each_ref().map(|side| {
                let next = side.found.get(side.read);
                next.map(|&next| side.scanned + weak::degree(graph, next) as u64)
            });
            let side = match costs {
                [None, _] => break CutSearch::Exhausted(0),
                [_, None] => break CutSearch::Exhausted(1),
                [Some(first), Some(second)] => usize::from(second < first),
            };
            if let Some(link) = self.advance(graph, side) {
                break CutSearch::Replaced(link);
            }
        };
        work.scanned += self.sides.iter().map(|side| side.scanned).sum::<u64>();
        outcome
    }

    /// Reads the next vertex of a side. Returns an edge to another tree of the component, if it
    /// has one.
    fn advance<G: StoredGraph>(&mut self, graph: &G, index: usize) -> Option<Link> {
        let roots = [self.sides[0].root, self.sides[1].root];
        let (forest, marks) = (&self.forest, &mut self.marks);
        let side = &mut self.sides[index];
        let vertex = side.found[side.read];
        let part = forest.part_of(vertex);
        side.read += 1;
        for block in weak::neighbors(graph, vertex) {
            side.scanned += block.len() as u64;
            for &neighbor in block {
                if marks.get(neighbor) == Some(FOUND + index as u32) {
                    continue;
                }
                if forest.is_tree_edge(vertex, neighbor) {
                    marks.set(neighbor, FOUND + index as u32);
                    side.found.push(neighbor);
                } else if forest.part_of(neighbor) == part {
                    let (tree, steps) = marks.tree(forest, neighbor, roots);
                    side.scanned += CLIMB * steps as u64;
                    if tree != index as u32 {
                        // The child's tree is hung on another one, rather than the other way
                        // round.
                        let child_hangs = (index, tree) != (1, 0);
                        let (hung, on) = match child_hangs {
                            true => (vertex, neighbor),
                            false => (neighbor, vertex),
                        };
                        return Some(Link { hung, on });
                    }
                }
            }
        }
        None
    }
}

impl<G: StoredGraph> Maintain<G> for Components {
    type Value = VertexId;

    fn apply(&mut self, graph: &G, delta: &Delta) -> Work {
        if self.policy == Policy::Recompute || self.is_hopeless(graph, delta) {
            return self.recompute(graph);
        }
        self.forest.grow(graph.vertices());
        self.cut(graph, delta);
        let mut work = Work::default();
        if !self.cuts.is_empty() {
            work.choice = Choice::Repaired;
            if !self.replace(graph, &mut work) {
                let again = self.recompute(graph);
                return Work {
                    scanned: work.scanned + again.scanned,
                    predicted: work.predicted,
                    ..again
                };
            }
        }
        for edge in &delta.inserted {
            if self.forest.part_of(edge.from) != self.forest.part_of(edge.to) {
                work.choice = Choice::Repaired;
                let queue = &mut self.queue;
                work.scanned += self.forest.join(graph, edge.from, edge.to, queue);
                work.affected += queue.len() as u64;
            }
        }
        work
    }

    fn value(&self, vertex: VertexId) -> VertexId {
        self.forest.label(vertex)
    }

    fn answer(&self) -> Vec<VertexId> {
        let vertices = 0..self.forest.len() as VertexId;
        vertices.map(|vertex| self.forest.label(vertex)).collect()
    }
}
