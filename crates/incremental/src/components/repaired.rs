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
//! order. The constants of `components/costs.rs` weigh these (measured on meshes and social
//! graphs). A repair is not begun, or given up, when the cuts that remain are predicted to cost
//! more than recomputing, each as much as the mean of those before.

use reuselens_graph::{Delta, StoredGraph, VertexId};

use super::costs::{CutCosts, MARKED_STEP};
use super::forest::{FOUND, Forest, NONE};
use crate::{Choice, Maintain, Policy, Work, weak};

/// A tree is small if its vertices have this many neighbours in all. In meshes and social graphs
/// most cuts leave one.
const SMALL: u64 = 64;

/// Components that are repaired, or recomputed where that is predicted to be less work.
#[derive(Clone, Debug)]
pub struct Components {
    policy: Policy,
    forest: Forest,
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

/// An edge that joins two trees: that of `hung` is to hang on the other one.
struct Link {
    hung: VertexId,
    on: VertexId,
}

impl Components {
    /// The components of a graph.
    pub fn new<G: StoredGraph>(graph: &G, policy: Policy) -> Self {
        let mut new = Self {
            policy,
            forest: Forest::default(),
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
    /// known.
    fn is_hopeless<G: StoredGraph>(&self, graph: &G, delta: &Delta) -> bool {
        let deletions = delta.deleted.len();
        let cuts = self.costs.predict(deletions, graph);
        self.policy == Policy::Predict && self.costs.exceed(deletions, cuts, graph)
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
        // Both directions of an edge may be gone.
        self.cuts.dedup_by_key(|cut| cut.child);
    }

    /// Treats all cuts. Returns whether to go on with the repair.
    fn replace<G: StoredGraph>(&mut self, graph: &G, work: &mut Work) -> bool {
        let cuts = std::mem::take(&mut self.cuts);
        let mut treated = 0;
        // Those of the insertions of the batch before are no costs of cuts.
        self.forest.take_steps();
        let go_on = 'all: {
            for cuts_of_part in cuts.chunk_by(|a, b| a.part == b.part) {
                let part = cuts_of_part[0].part;
                let mut anchor = self.forest.part(part).root;
                for &cut in cuts_of_part {
                    let before = work.scanned;
                    anchor = self.treat(graph, cut, anchor, work);
                    treated += 1;
                    let steps = self.forest.take_steps();
                    self.costs.add(work.scanned - before, steps);
                    let remaining = cuts.len() - treated;
                    work.predicted = work.scanned + remaining as u64 * self.costs.mean();
                    if self.policy == Policy::Predict && self.costs.exceed(0, remaining, graph) {
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
    /// anchor: any vertex of the tree that the next cuts of the component are to join. Nothing is
    /// left to do where the child's tree was the other side of an earlier cut, and is a component
    /// already.
    fn treat<G: StoredGraph>(
        &mut self,
        graph: &G,
        cut: Cut,
        anchor: VertexId,
        work: &mut Work,
    ) -> VertexId {
        if self.forest.part_of(cut.child) != cut.part {
            return anchor;
        }
        loop {
            let outcome = match self.search_small(graph, cut, anchor, work) {
                Some(outcome) => outcome,
                None if self.start(cut, anchor) => self.search(graph, work),
                None => return anchor,
            };
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

    /// Searches the tree of a cut's child alone, if that tree is small: then all of its vertices
    /// are known first, and no path to a root is needed to see that a neighbour is in another
    /// tree.
    fn search_small<G: StoredGraph>(
        &mut self,
        graph: &G,
        cut: Cut,
        anchor: VertexId,
        work: &mut Work,
    ) -> Option<CutSearch> {
        if self.forest.parent(cut.child) != NONE || self.forest.root(anchor) == cut.child {
            return None;
        }
        let (forest, side) = (&mut self.forest, &mut self.sides[0]);
        forest.start_search();
        side.root = cut.child;
        side.found.clear();
        side.found.push(cut.child);
        forest.set_mark(cut.child, FOUND);
        (side.read, side.scanned) = (0, 0);
        while let Some(&vertex) = side.found.get(side.read) {
            side.read += 1;
            let degree = weak::degree(graph, vertex) as u64;
            if side.scanned + degree > SMALL {
                work.scanned += side.scanned;
                return None;
            }
            side.scanned += degree;
            for &neighbor in weak::neighbors(graph, vertex).flatten() {
                if forest.parent(neighbor) == vertex && forest.mark(neighbor).is_none() {
                    forest.set_mark(neighbor, FOUND);
                    side.found.push(neighbor);
                }
            }
        }
        work.scanned += side.scanned;
        for &vertex in &side.found {
            let is_other = |neighbor: &&VertexId| {
                forest.mark(**neighbor).is_none() && forest.part_of(**neighbor) == cut.part
            };
            if let Some(&on) = weak::neighbors(graph, vertex).flatten().find(is_other) {
                return Some(CutSearch::Replaced(Link { hung: vertex, on }));
            }
        }
        work.scanned += side.scanned;
        Some(CutSearch::Exhausted(0))
    }

    /// Prepares the search from both ends of a cut. Returns whether the child is in another tree
    /// than the anchor.
    fn start(&mut self, cut: Cut, anchor: VertexId) -> bool {
        let forest = &mut self.forest;
        forest.start_search();
        let Some(root) = forest.mark_path(cut.child, 0) else {
            unreachable!("nothing is marked yet")
        };
        if forest.root(anchor) == root {
            return false;
        }
        // The other end of the deleted edge is near, if it is still in another tree.
        let near =
            (forest.part_of(cut.parent) == cut.part).then(|| forest.mark_path(cut.parent, 1));
        let (other, other_root) = match near.flatten() {
            Some(other_root) => (cut.parent, other_root),
            None => {
                // What was marked on the way is in the first tree.
                forest.start_search();
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
            forest.set_mark(start, FOUND + index as u32);
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
        let forest = &mut self.forest;
        let side = &mut self.sides[index];
        let vertex = side.found[side.read];
        let part = forest.part_of(vertex);
        side.read += 1;
        for block in weak::neighbors(graph, vertex) {
            side.scanned += block.len() as u64;
            for (at, &neighbor) in block.iter().enumerate() {
                if forest.mark(neighbor) == Some(FOUND + index as u32) {
                    continue;
                }
                if forest.is_tree_edge(vertex, neighbor) {
                    forest.set_mark(neighbor, FOUND + index as u32);
                    side.found.push(neighbor);
                } else if forest.part_of(neighbor) == part {
                    let (tree, steps) = forest.tree(neighbor, roots);
                    side.scanned += MARKED_STEP * steps as u64;
                    if tree != index as u32 {
                        // The rest of the list is not read.
                        side.scanned -= (block.len() - at - 1) as u64;
                        // The child's tree is hung on another one, rather than the other way
                        // round.
                        let child_hangs = (index, tree) != (1, 0);
                        let (hung, on) = if child_hangs {
                            (vertex, neighbor)
                        } else {
                            (neighbor, vertex)
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
        if self.policy == Policy::Recompute {
            return self.recompute(graph);
        }
        if self.is_hopeless(graph, delta) {
            self.costs.forget();
            return self.recompute(graph);
        }
        self.forest.grow(graph.vertices());
        self.cut(graph, delta);
        let mut work = Work::default();
        self.costs.begin(delta.deleted.len(), self.cuts.len());
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
