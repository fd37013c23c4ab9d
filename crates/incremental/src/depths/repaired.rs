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
//! **Cost model.** A vertex that loses its depth has its lists read four times: for a parent, for
//! children, for offers, and when it gets its depth; recomputing reads one list of each vertex.
//! So a repair is given up when the vertices that are predicted to lose their depth are more than
//! a quarter of all that are reached. The prediction is made anew after each level: of the
//! vertices below, the share that this level lost will be lost too, and so will as many of the
//! vertices that lost a parent directly as did so far.

use reuselens_graph::{Delta, Edge, EdgeKind, StoredGraph, VertexId};

use super::UNREACHED;
use crate::{Choice, Maintain, Policy, Work};

/// No parent.
const NONE: VertexId = VertexId::MAX;
/// How often the lists of a vertex are read that loses its depth, in reads of a recomputation.
const READS: u64 = 4;

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

    fn recompute<G: StoredGraph>(&mut self, graph: &G) -> Work {
        self.places.fill(NOWHERE);
        self.levels.clear();
        self.reached = 0;
        self.scratch.offers.clear();
        if (self.root as usize) < self.places.len() {
            self.scratch.offers.push((0, self.root, NONE));
        }
        let mut work = Work::default();
        self.take_offers(graph, &mut work);
        work.choice = Choice::Recomputed;
        work
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
        let mut outlook = Outlook::new(self.reached);
        let mut go_on = true;
        while go_on {
            if now.is_empty() {
                let Some(&(first, _)) = orphans.get(taken) else {
                    break;
                };
                depth = first;
                outlook.below = None;
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
            let lost = u64::from(level - self.levels[depth as usize]);
            if lost > 0 {
                let below = &self.levels[depth as usize + 1..];
                let pending = (orphans.len() - taken) as u64;
                let predicted = outlook.predict(now.len() as u64, lost, level, below, pending);
                work.predicted = predicted * READS * ids(graph) / outlook.reached;
                go_on = self.policy == Policy::Repair || predicted * READS <= outlook.reached;
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
        if self.scratch.orphans.is_empty() && self.scratch.offers.is_empty() {
            return Work::default();
        }
        let mut work = Work {
            choice: Choice::Repaired,
            ..Work::default()
        };
        if !self.take_losses(graph, &mut work) {
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
        self.offer_to_lost(graph, &mut work);
        self.take_offers(graph, &mut work);
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
    examined: u64,
    lost: u64,
    /// The vertices below the last level that was predicted from, if the levels follow each other.
    below: Option<u64>,
}

impl Outlook {
    fn new(reached: u32) -> Self {
        Self {
            reached: u64::from(reached).max(1),
            examined: 0,
            lost: 0,
            below: None,
        }
    }

    /// The vertices that will be lost in all, after a level of `level` vertices of which
    /// `examined` were orphans and `lost` lost their depth. `below` has the sizes of the levels
    /// below, and `pending` orphans are in them.
    fn predict(
        &mut self,
        examined: u64,
        lost: u64,
        level: u32,
        below: &[u32],
        pending: u64,
    ) -> u64 {
        self.examined += examined;
        self.lost += lost;
        let known = self.below.map(|known| known - u64::from(level));
        let count = known.unwrap_or_else(|| below.iter().map(|&size| u64::from(size)).sum());
        self.below = Some(count);
        let share = lost * count / u64::from(level.max(1));
        self.lost + share.max(pending * self.lost / self.examined.max(1))
    }
}

fn reversed(edge: Edge) -> Edge {
    Edge {
        from: edge.to,
        to: edge.from,
    }
}
