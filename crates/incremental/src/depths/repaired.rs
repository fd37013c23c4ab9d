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
//! **Cost model.** A repair reads the lists of each vertex that loses its depth three times, in
//! no order; recomputing reads one list of each vertex in the order of the search. The constants
//! below weigh these (measured on meshes and social graphs). While vertices are lost, the number
//! that will be lost in all is predicted: each level leaves orphans to the next one, of which as
//! large a share is lost as so far, up to the size of each level. An inserted edge lowers one of
//! its ends by some levels, and its neighbourhood with it. For each of these levels as large a
//! share of the vertices is predicted to gain as in the last repairs (before the first one: one
//! vertex), independently for each edge: many edges reach the same vertices. If lost and gained
//! vertices cost more than recomputing, the repair is given up, or not begun.

use reuselens_graph::{Delta, Edge, EdgeKind, StoredGraph, VertexId};

use super::UNREACHED;
use crate::{Choice, Maintain, Policy, Work};

/// No parent.
const NONE: VertexId = VertexId::MAX;
/// How often a repair reads the lists of a vertex that loses its depth: for a parent, for
/// children, for offers and to offer on; the first is often cut short.
const READS: u64 = 3;
/// An id that a repair reads costs as much as this many that a search reads in order.
const REPAIR_ID: u64 = 3;
/// A vertex that a repair loses or gives a depth costs as much as this many of these.
const REPAIR_VERTEX: u64 = 12;
/// What is left of the predicted gains after a batch that was recomputed, of which nothing is
/// learned. Without that, one bad batch would rule out repairs for ever.
const FORGOTTEN: f64 = 0.75;
/// A vertex that a search reaches costs as much as reading this many ids.
const RECOMPUTED_VERTEX: u64 = 16;

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
    /// The share of the vertices that get a lower depth for each level by which an inserted edge
    /// lowers one of its ends, a mean of the last repairs; nothing before the first one.
    gain: Option<f64>,
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
            gain: None,
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

    /// Collects the vertices that lose their parent, and what inserted edges offer.
    fn classify(&mut self, kind: EdgeKind, delta: &Delta) {
        self.scratch.orphans.clear();
        self.scratch.offers.clear();
        for &edge in &delta.deleted {
            self.orphan(edge);
            if kind == EdgeKind::Undirected {
                self.orphan(reversed(edge));
            }
        }
        for &edge in &delta.inserted {
            self.offer(edge.from, edge.to);
            if kind == EdgeKind::Undirected {
                self.offer(edge.to, edge.from);
            }
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

    /// The first step: finds new parents, and collects the vertices that lose their depth. Returns
    /// whether to go on with the repair.
    fn take_losses<G: StoredGraph>(&mut self, graph: &G, work: &mut Work) -> bool {
        let mut orphans = std::mem::take(&mut self.scratch.orphans);
        let mut now = std::mem::take(&mut self.scratch.now);
        let mut next = std::mem::take(&mut self.scratch.next);
        orphans.sort_unstable();
        self.scratch.lost.clear();
        now.clear();
        let (mut taken, mut depth) = (0, 0);
        // Before anything is known: a vertex for each level.
        let each = self.gain.unwrap_or(1.0 / f64::from(self.reached.max(1)));
        let reach = each * self.offered();
        let gained = (1.0 - (-reach).exp()) * f64::from(self.reached);
        let mut outlook = Outlook::new(self.reached, gained as u64);
        let mut go_on = self.policy == Policy::Repair;
        if !go_on {
            (work.predicted, go_on) = outlook.weigh(0, ids(graph));
        }
        while go_on {
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
            if outlook.is_due(depth, now.len(), lost) {
                let below = &self.levels[depth as usize + 1..];
                let all = outlook.predict(lost, next.len(), orphans.len() - taken, below);
                let (predicted, less) = outlook.weigh(all, ids(graph));
                work.predicted = predicted;
                go_on = less || self.policy == Policy::Repair;
            }
            std::mem::swap(&mut now, &mut next);
            depth += 1;
        }
        work.affected = self.scratch.lost.len() as u64;
        (self.scratch.orphans, self.scratch.now, self.scratch.next) = (orphans, now, next);
        go_on
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
        self.classify(graph.kind(), delta);
        let offered = self.offered();
        if self.scratch.orphans.is_empty() && self.scratch.offers.is_empty() {
            return Work::default();
        }
        let mut work = Work {
            choice: Choice::Repaired,
            ..Work::default()
        };
        if !self.take_losses(graph, &mut work) {
            self.gain = self.gain.map(|gain| gain * FORGOTTEN);
            let predicted = work.predicted;
            let mut again = self.recompute(graph);
            again.scanned += work.scanned;
            again.predicted = predicted;
            return again;
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
        if offered > 0.0 {
            // Vertices that lost their depth get one by offers of neighbours.
            let gained = (work.affected - before).saturating_sub(lost) as f64;
            let share = (gained / f64::from(self.reached.max(1))).min(0.999);
            let each = -(1.0 - share).ln() / offered;
            self.gain = Some(self.gain.map_or(each, |gain| (gain + each) / 2.0));
        }
        work
    }

    fn value(&self, vertex: VertexId) -> u32 {
        self.depth(vertex)
    }

    fn answer(&self) -> Vec<u32> {
        self.places.iter().map(|place| place.depth).collect()
    }
}

/// The ids that a search reads in which all vertices are reached.
fn ids<G: StoredGraph>(graph: &G) -> u64 {
    match graph.kind() {
        EdgeKind::Undirected => 2 * graph.edges(),
        EdgeKind::Directed => graph.edges(),
    }
}

/// How many vertices a repair will lose, from what it lost so far.
struct Outlook {
    /// The vertices that had a depth before the batch.
    reached: u64,
    /// The vertices that are predicted to get a lower depth.
    gained: u64,
    /// The vertices that lost their depth so far.
    lost: u64,
    /// The orphans below the first level, and those of them that were lost. (The first level has
    /// no other parents than the root.) At the beginning it is assumed that a quarter is lost.
    orphans: u64,
    lost_orphans: u64,
    /// The number of lost vertices from which on a prediction is made anew.
    due: u64,
}

impl Outlook {
    fn new(reached: u32, gained: u64) -> Self {
        let reached = u64::from(reached).max(1);
        Self {
            reached,
            gained,
            lost: 0,
            orphans: 16,
            lost_orphans: 4,
            due: 1 + reached / 64,
        }
    }

    /// Takes the orphans of a level and those that it lost into account. Returns whether a
    /// prediction is due: when a 64th of the vertices is lost, and an eighth more each time.
    fn is_due(&mut self, depth: u32, orphans: usize, lost: u32) -> bool {
        self.lost += u64::from(lost);
        if depth > 1 {
            self.orphans += orphans as u64;
            self.lost_orphans += u64::from(lost);
        }
        let due = self.lost >= self.due;
        if due {
            self.due = self.lost + self.lost / 8;
        }
        due
    }

    /// The vertices that will be lost in all. The last level lost `lost` and left `orphans` to the
    /// levels below, whose sizes are `below`; there are `pending` more orphans there.
    fn predict(&self, lost: u32, orphans: usize, pending: usize, below: &[u32]) -> u64 {
        let share = self.lost_orphans as f64 / self.orphans as f64;
        let growth = share * orphans as f64 / f64::from(lost.max(1));
        let mut all = self.lost as f64 + share * pending as f64;
        let mut expected = share * orphans as f64;
        for &size in below {
            expected = expected.min(f64::from(size));
            if expected < 1.0 {
                break;
            }
            all += expected;
            expected *= growth;
        }
        all as u64
    }

    /// The ids that a repair reads if `lost` vertices are lost, and whether the repair is less work
    /// than recomputing from `ids` ids.
    fn weigh(&self, lost: u64, ids: u64) -> (u64, bool) {
        // A vertex that is lost is given a depth again; one that gains reads its list once.
        let vertices = 2 * lost + self.gained;
        let read = (READS * lost + self.gained) * ids / self.reached;
        let repair = read * REPAIR_ID + vertices * REPAIR_VERTEX;
        (read, repair <= ids + RECOMPUTED_VERTEX * self.reached)
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

    /// The choice for the first batch of a mesh, which inserts so many pairs from all over it.
    fn choice(pairs: u32) -> Choice {
        let (kind, vertices) = (EdgeKind::Undirected, 1 << 12);
        let mut graph = SortedGraph::new(kind, vertices);
        let mesh = delaunay(vertices, 1).unwrap();
        graph.apply(&mesh.into_iter().map(EdgeChange::Insert).collect::<Vec<_>>());
        let mut depths = Depths::new(&graph, 0, Policy::Predict);
        let pair = |at: u32| Edge::new(kind, at * 4, (at * 7919 + 1234) % vertices);
        let batch: Vec<_> = (0..pairs).map(|at| EdgeChange::Insert(pair(at))).collect();
        let delta = graph.apply(&batch);
        let work = depths.apply(&graph, &delta);
        let wanted = Depths::new(&graph, 0, Policy::Recompute);
        let [found, wanted] = [depths, wanted].map(|it| Maintain::<SortedGraph>::answer(&it));
        assert_eq!(found, wanted);
        work.choice
    }

    /// They make nearly all vertices less deep, which no repair does faster than a search.
    #[test]
    fn first_batch_of_many_short_cuts_is_recomputed_and_of_few_repaired() {
        assert_eq!(choice(1000), Choice::Recomputed);
        assert_eq!(choice(1), Choice::Repaired);
    }
}
