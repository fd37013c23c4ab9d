//! Depths that are repaired level by level, only where a batch affects them.
//!
//! Each reached vertex has a parent: an in-neighbour one level above. A change is *safe* if it
//! costs no more than looking at both ends: an insertion that lowers no depth, and a deletion of
//! an edge that is no parent's (Feng et al., *RisGraph*, SIGMOD 2021, section 4). Other changes
//! are repaired as by Ramalingam and Reps (*J. Algorithms* 21, 1996):
//!
//! 1. *Losses.* Vertices that lost their parent are taken in ascending order of depth. One that
//!    has
//!    another in-neighbour one level above takes it as its parent. Any other loses its depth, and
//!    its children lose their parent.
//! 2. *Gains.* Each vertex without a depth gets one from its in-neighbours that have one, and each
//!    inserted edge offers one to its end. Offers are taken in ascending order, as in a search.
//!
//! After the first step each depth is the length of a path in the graph, so it is not too small;
//! the second step ends when no edge offers less.
//!
//! A repair is not begun, or given up, when it is predicted to be more work than recomputing: see
//! [`costs`](super::costs).

use reuselens_graph::{Delta, Edge, EdgeKind, StoredGraph, VertexId};

use super::UNREACHED;
use super::costs::{Affected, BatchCauses, Experience, Outlook, Recomputing};
use crate::{Choice, Maintain, Policy, Work};

/// No parent.
const NONE: VertexId = VertexId::MAX;
/// A large batch is judged by a sample of this many to twice as many changes.
const SAMPLE: usize = 128;

/// Depths that are repaired, or recomputed where that is predicted to be less work.
#[derive(Clone, Debug)]
pub struct Depths {
    root: VertexId,
    policy: Policy,
    places: Vec<TreePlace>,
    /// The number of vertices at each depth.
    levels: Vec<u32>,
    /// The number of vertices that have a depth.
    reached: u32,
    experience: Experience,
    scratch: Scratch,
}

/// Where a vertex is in the tree of shortest paths.
#[derive(Clone, Copy, Debug)]
struct TreePlace {
    depth: u32,
    parent: VertexId,
}

const NOWHERE: TreePlace = TreePlace {
    depth: UNREACHED,
    parent: NONE,
};

/// Lists that are kept between batches for their memory.
#[derive(Clone, Debug, Default)]
struct Scratch {
    /// Vertices that lost their parent by a deletion, with their depth.
    orphans: Vec<(u32, VertexId)>,
    /// Vertices without a depth since this batch.
    lost: Vec<VertexId>,
    /// A depth, who gets it, and from which parent.
    offers: Vec<(u32, VertexId, VertexId)>,
    now: Vec<VertexId>,
    next: Vec<VertexId>,
}

impl Depths {
    /// The depths from `root`, which may be beyond the present vertices.
    pub fn new<G: StoredGraph>(graph: &G, root: VertexId, policy: Policy) -> Self {
        let mut new = Self {
            root,
            policy,
            places: Vec::new(),
            levels: Vec::new(),
            reached: 0,
            experience: Experience::default(),
            scratch: Scratch::default(),
        };
        new.grow(graph.vertices());
        new.recompute(graph);
        new
    }

    /// The parent of a vertex in a tree of shortest paths; none for the root and for unreached
    /// ones.
    #[must_use]
    pub fn parent(&self, vertex: VertexId) -> Option<VertexId> {
        let parent = self.places[vertex as usize].parent;
        (parent != NONE).then_some(parent)
    }

    fn grow(&mut self, vertices: VertexId) {
        let known = self.places.len();
        self.places.resize(vertices as usize, NOWHERE);
        if (known..vertices as usize).contains(&(self.root as usize)) {
            self.set(self.root, 0, NONE);
        }
    }

    /// Gives a vertex a depth instead of its present one.
    #[inline]
    fn set(&mut self, vertex: VertexId, depth: u32, parent: VertexId) {
        let place = &mut self.places[vertex as usize];
        match place.depth {
            UNREACHED => self.reached += 1,
            known => self.levels[known as usize] -= 1,
        }
        *place = TreePlace { depth, parent };
        if self.levels.len() <= depth as usize {
            self.levels.resize(depth as usize + 1, 0);
        }
        self.levels[depth as usize] += 1;
    }

    /// Takes a vertex its depth.
    fn lose(&mut self, vertex: VertexId) {
        let place = &mut self.places[vertex as usize];
        self.levels[place.depth as usize] -= 1;
        self.reached -= 1;
        *place = NOWHERE;
    }

    #[inline]
    fn depth(&self, vertex: VertexId) -> u32 {
        self.places[vertex as usize].depth
    }

    /// Searches level by level from the root.
    fn recompute<G: StoredGraph>(&mut self, graph: &G) -> Work {
        let (now, next) = (&mut self.scratch.now, &mut self.scratch.next);
        self.places.fill(NOWHERE);
        self.levels.clear();
        now.clear();
        if let Some(place) = self.places.get_mut(self.root as usize) {
            place.depth = 0;
            now.push(self.root);
        }
        let (mut scanned, mut reached) = (0, 0);
        while !now.is_empty() {
            self.levels.push(now.len() as u32);
            reached += now.len();
            next.clear();
            let depth = self.levels.len() as u32;
            for &parent in now.iter() {
                for block in graph.neighbors(parent) {
                    scanned += block.len() as u64;
                    for &neighbor in block {
                        let place = &mut self.places[neighbor as usize];
                        if place.depth == UNREACHED {
                            *place = TreePlace { depth, parent };
                            next.push(neighbor);
                        }
                    }
                }
            }
            std::mem::swap(now, next);
        }
        self.reached = reached as u32;
        Work {
            choice: Choice::Recomputed,
            scanned,
            affected: reached as u64,
            predicted: 0,
        }
    }

    /// Whether a repair is predicted to be more work than recomputing, by a sample of the changes.
    fn is_hopeless<G: StoredGraph>(&mut self, graph: &G, delta: &Delta) -> bool {
        let changes = delta.deleted.len() + delta.inserted.len();
        let step = changes / SAMPLE;
        let recomputing = Recomputing::new(graph, self.reached);
        if step < 16 || !recomputing.wants_sample(changes) {
            return false;
        }
        let causes = self.classify(graph.kind(), delta, step);
        recomputing.is_less(changes, self.experience.predict(causes, self.reached))
    }

    /// Collects the vertices that lose their parent, and what inserted edges offer, of each
    /// `step`th change. Returns how much of both that is, for all changes.
    fn classify(&mut self, kind: EdgeKind, delta: &Delta, step: usize) -> BatchCauses {
        self.scratch.orphans.clear();
        self.scratch.offers.clear();
        for &edge in delta.deleted.iter().step_by(step) {
            self.orphan(edge);
            if kind == EdgeKind::Undirected {
                self.orphan(reversed(edge));
            }
        }
        for &edge in delta.inserted.iter().step_by(step) {
            self.offer(edge.from, edge.to);
            if kind == EdgeKind::Undirected {
                self.offer(edge.to, edge.from);
            }
        }
        BatchCauses {
            orphans: (step * self.scratch.orphans.len()) as f64,
            offered: step as f64 * self.offered(),
        }
    }

    #[inline]
    fn orphan(&mut self, edge: Edge) {
        let place = self.places[edge.to as usize];
        if place.parent == edge.from {
            self.scratch.orphans.push((place.depth, edge.to));
        }
    }

    /// Notes the depth that an edge offers, if it is less than the present one.
    #[inline]
    fn offer(&mut self, from: VertexId, to: VertexId) {
        let depth = self.depth(from);
        if depth != UNREACHED && depth + 1 < self.depth(to) {
            self.scratch.offers.push((depth + 1, to, from));
        }
    }

    /// By how much inserted edges lower depths at their ends, in total. An end that
    /// had no depth counts as if it had been one level below all others.
    fn offered(&self) -> f64 {
        let deepest = self.levels.len() as u32;
        let lowered = |&(depth, to, _): &(u32, VertexId, VertexId)| {
            let before = self.depth(to).min(deepest);
            f64::from(before.saturating_sub(depth))
        };
        self.scratch.offers.iter().map(lowered).sum()
    }

    /// Notes what the repair is predicted to read. Whether it is to be given up: recomputing is
    /// less work, and the policy allows it.
    fn gives_up(&self, recomputing: Recomputing, likely: Affected, work: &mut Work) -> bool {
        work.predicted = recomputing.reads(likely);
        self.policy == Policy::Predict && recomputing.is_less(0, likely)
    }

    /// The first step: finds new parents, and collects the vertices that lose their depth. `likely`
    /// is what the batch is predicted to affect. An error if it gives the repair up: what is
    /// predicted by then.
    fn take_losses<G: StoredGraph>(
        &mut self,
        graph: &G,
        recomputing: Recomputing,
        likely: Affected,
        work: &mut Work,
    ) -> Result<(), Affected> {
        self.scratch.lost.clear();
        let mut orphans = std::mem::take(&mut self.scratch.orphans);
        let mut now = std::mem::take(&mut self.scratch.now);
        let mut next = std::mem::take(&mut self.scratch.next);
        orphans.sort_unstable();
        now.clear();
        let (mut taken, mut depth) = (0, 0);
        let mut outlook = Outlook::new(self.reached);
        let mut result = Ok(());
        while result.is_ok() {
            if now.is_empty() {
                let Some(&(first, _)) = orphans.get(taken) else {
                    break;
                };
                depth = first;
            }
            while let Some(&(_, vertex)) = orphans.get(taken).filter(|orphan| orphan.0 == depth) {
                now.push(vertex);
                taken += 1;
            }
            let level = self.levels[depth as usize];
            next.clear();
            for &vertex in &now {
                self.examine(graph, vertex, &mut next, work);
            }
            let lost = level - self.levels[depth as usize];
            if outlook.is_due(depth, now.len(), lost, next.len()) {
                let below = &self.levels[depth as usize + 1..];
                let all = outlook.predict(lost, next.len(), orphans.len() - taken, below);
                let likely = Affected {
                    lost: all,
                    ..likely
                };
                if self.gives_up(recomputing, likely, work) {
                    result = Err(likely);
                }
            }
            std::mem::swap(&mut now, &mut next);
            depth += 1;
        }
        work.affected = self.scratch.lost.len() as u64;
        (self.scratch.orphans, self.scratch.now, self.scratch.next) = (orphans, now, next);
        result
    }

    /// Finds a new parent for an orphan, or takes it its depth and makes its children orphans.
    fn examine<G: StoredGraph>(
        &mut self,
        graph: &G,
        vertex: VertexId,
        next: &mut Vec<VertexId>,
        work: &mut Work,
    ) {
        let depth = self.depth(vertex);
        if depth == UNREACHED {
            return;
        }
        for block in graph.in_neighbors(vertex) {
            let parent = block
                .iter()
                .position(|&above| self.depth(above) == depth - 1);
            if let Some(at) = parent {
                work.scanned += at as u64 + 1;
                self.places[vertex as usize].parent = block[at];
                return;
            }
            work.scanned += block.len() as u64;
        }
        self.lose(vertex);
        self.scratch.lost.push(vertex);
        for block in graph.neighbors(vertex) {
            work.scanned += block.len() as u64;
            let children = block
                .iter()
                .filter(|&&below| self.places[below as usize].parent == vertex);
            next.extend(children);
        }
    }

    /// Collects for each vertex without a depth the least that its in-neighbours offer.
    fn offer_to_lost<G: StoredGraph>(&mut self, graph: &G, work: &mut Work) {
        for index in 0..self.scratch.lost.len() {
            let vertex = self.scratch.lost[index];
            let mut best = (UNREACHED, vertex, NONE);
            for block in graph.in_neighbors(vertex) {
                work.scanned += block.len() as u64;
                for &above in block {
                    let depth = self.depth(above);
                    if depth < best.0 {
                        best = (depth, vertex, above);
                    }
                }
            }
            if best.0 != UNREACHED {
                self.scratch.offers.push((best.0 + 1, vertex, best.2));
            }
        }
    }

    /// The second step: takes offers in ascending order, and offers on from each vertex that
    /// gains.
    fn take_offers<G: StoredGraph>(&mut self, graph: &G, work: &mut Work) {
        let mut offers = std::mem::take(&mut self.scratch.offers);
        let mut now = std::mem::take(&mut self.scratch.now);
        let mut next = std::mem::take(&mut self.scratch.next);
        offers.sort_unstable();
        now.clear();
        let (mut taken, mut depth) = (0, 0);
        loop {
            if now.is_empty() {
                let Some(&(first, ..)) = offers.get(taken) else {
                    break;
                };
                depth = first;
            }
            while let Some(&(_, vertex, parent)) =
                offers.get(taken).filter(|offer| offer.0 == depth)
            {
                taken += 1;
                if depth < self.depth(vertex) {
                    self.set(vertex, depth, parent);
                    now.push(vertex);
                }
            }
            work.affected += now.len() as u64;
            next.clear();
            for &vertex in &now {
                for block in graph.neighbors(vertex) {
                    work.scanned += block.len() as u64;
                    for &below in block {
                        if depth + 1 < self.depth(below) {
                            self.set(below, depth + 1, vertex);
                            next.push(below);
                        }
                    }
                }
            }
            std::mem::swap(&mut now, &mut next);
            depth += 1;
        }
        (self.scratch.offers, self.scratch.now, self.scratch.next) = (offers, now, next);
    }
}

impl<G: StoredGraph> Maintain<G> for Depths {
    type Value = u32;

    fn apply(&mut self, graph: &G, delta: &Delta) -> Work {
        self.grow(graph.vertices());
        if self.policy == Policy::Recompute {
            return self.recompute(graph);
        }
        if self.policy == Policy::Predict && self.is_hopeless(graph, delta) {
            self.experience.forget();
            return self.recompute(graph);
        }
        let causes = self.classify(graph.kind(), delta, 1);
        if self.scratch.orphans.is_empty() && self.scratch.offers.is_empty() {
            return Work::default();
        }
        let mut work = Work {
            choice: Choice::Repaired,
            ..Work::default()
        };
        let reached = self.reached;
        let likely = self.experience.predict(causes, reached);
        let recomputing = Recomputing::new(graph, reached);
        if self.gives_up(recomputing, likely, &mut work) {
            // Nothing came to light that the experience did not say.
            self.experience.forget();
            let again = self.recompute(graph);
            return Work {
                predicted: work.predicted,
                ..again
            };
        }
        if let Err(likely) = self.take_losses(graph, recomputing, likely, &mut work) {
            self.experience.learn_losses(causes, likely.lost, reached);
            let again = self.recompute(graph);
            return Work {
                scanned: again.scanned + work.scanned,
                predicted: work.predicted,
                ..again
            };
        }
        // An offer from a vertex that lost its depth since is void.
        let places = &self.places;
        let stands = |offer: &(u32, VertexId, VertexId)| {
            places[offer.2 as usize].depth.wrapping_add(1) == offer.0
        };
        self.scratch.offers.retain(stands);
        let lost = self.scratch.lost.len() as u64;
        self.offer_to_lost(graph, &mut work);
        let before = work.affected;
        self.take_offers(graph, &mut work);
        // Vertices that lost their depth get one by offers of neighbours.
        let gained = (work.affected - before).saturating_sub(lost);
        let affected = Affected { lost, gained };
        self.experience.learn(causes, affected, self.reached);
        work
    }

    fn value(&self, vertex: VertexId) -> u32 {
        self.depth(vertex)
    }

    fn answer(&self) -> Vec<u32> {
        self.places.iter().map(|place| place.depth).collect()
    }
}

fn reversed(edge: Edge) -> Edge {
    Edge {
        from: edge.to,
        to: edge.from,
    }
}

#[cfg(test)]
mod tests {
    use reuselens_graph::generate::delaunay;
    use reuselens_graph::{EdgeChange, SortedGraph};

    use super::*;

    /// The work for the first batch of a mesh, which inserts so many pairs from all over it.
    fn work(pairs: u32) -> Work {
        let (kind, vertices) = (EdgeKind::Undirected, 1 << 12);
        let mut graph = SortedGraph::new(kind, vertices);
        let mesh = delaunay(vertices, 1).unwrap();
        graph.apply(&mesh.into_iter().map(EdgeChange::Insert).collect::<Vec<_>>());
        let mut depths = Depths::new(&graph, 0, Policy::Predict);
        let pair = |at: u32| Edge::new(kind, at % vertices, (at * 7919 + 1234) % vertices);
        let batch: Vec<_> = (0..pairs).map(|at| EdgeChange::Insert(pair(at))).collect();
        let delta = graph.apply(&batch);
        let work = depths.apply(&graph, &delta);
        let wanted = Depths::new(&graph, 0, Policy::Recompute);
        let [found, wanted] = [depths, wanted].map(|it| Maintain::<SortedGraph>::answer(&it));
        assert_eq!(found, wanted);
        work
    }

    /// They make nearly all vertices less deep, which no repair does faster than a search.
    #[test]
    fn first_batch_of_many_short_cuts_is_recomputed_and_of_few_repaired() {
        assert_eq!(work(1000).choice, Choice::Recomputed);
        assert_eq!(work(1).choice, Choice::Repaired);
    }

    #[test]
    fn hopeless_batch_is_recomputed_after_a_look_at_a_sample() {
        let work = work(4000);
        // Once all changes are looked at, there is a prediction.
        assert_eq!((work.choice, work.predicted), (Choice::Recomputed, 0));
    }
}
