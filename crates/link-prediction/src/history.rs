//! All that was seen so far of an evolving graph.

use std::collections::HashSet;

use crate::{Pair, SimpleGraph, TemporalEdge};

/// What is known of an edge, as one of its ends sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The other end.
    pub to: u32,
    /// How often the edge was inserted.
    pub count: u32,
    /// The position of its latest insertion among all insertions: it orders edges of equal times.
    pub latest: usize,
}

/// An edge that is older than the one before it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("edges must be sorted by time: an edge of time {time} follows one of time {after}")]
pub struct UnsortedEdge {
    /// The time of the edge.
    pub time: i64,
    /// The time of the edge before it.
    pub after: i64,
}

/// The insertions so far: a log in the order of time, and for each vertex its links.
///
/// Memory: 16 bytes an insertion, 32 bytes a distinct pair, 24 bytes a vertex. Vertices are
/// numbered densely, so a large number costs memory for all below it.
#[derive(Clone, Debug, Default)]
pub struct History {
    log: Vec<(Pair, i64)>,
    /// For each vertex its links, sorted by the other end.
    links: Vec<Vec<Link>>,
    pairs: usize,
    vertices: usize,
    now: Option<i64>,
}

impl History {
    /// Adds an edge. A self loop only moves the time on.
    ///
    /// Costs a binary search and a move of the links after it, at both ends.
    ///
    /// # Errors
    /// If the edge is older than the one before it; nothing is added then.
    pub fn insert(&mut self, edge: TemporalEdge) -> Result<(), UnsortedEdge> {
        let time = edge.time;
        if let Some(after) = self.now.filter(|after| *after > time) {
            return Err(UnsortedEdge { time, after });
        }
        self.now = Some(time);
        let Some(pair) = edge.pair() else {
            return Ok(());
        };
        let latest = self.log.len();
        self.log.push((pair, time));
        let needed = pair.high() as usize + 1;
        if self.links.len() < needed {
            self.links.resize_with(needed, Vec::new);
        }
        self.link(pair.low(), pair.high(), latest);
        if self.link(pair.high(), pair.low(), latest) {
            self.pairs += 1;
        }
        Ok(())
    }

    /// Adds edges, up to the first that is out of order.
    ///
    /// # Errors
    /// If an edge is older than the one before it.
    pub fn extend(&mut self, edges: &[TemporalEdge]) -> Result<(), UnsortedEdge> {
        edges.iter().try_for_each(|edge| self.insert(*edge))
    }

    /// Whether edges could be added in their order.
    ///
    /// # Errors
    /// If an edge is older than the one before it.
    pub fn accepts(&self, edges: &[TemporalEdge]) -> Result<(), UnsortedEdge> {
        let mut now = self.now;
        for &TemporalEdge { time, .. } in edges {
            if let Some(after) = now.filter(|after| *after > time) {
                return Err(UnsortedEdge { time, after });
            }
            now = Some(time);
        }
        Ok(())
    }

    /// Adds or renews one direction, and returns whether it is new.
    fn link(&mut self, from: u32, to: u32, latest: usize) -> bool {
        let links = &mut self.links[from as usize];
        match links.binary_search_by_key(&to, |link| link.to) {
            Ok(at) => {
                links[at].count = links[at].count.saturating_add(1);
                links[at].latest = latest;
                false
            }
            Err(at) => {
                self.vertices += usize::from(links.is_empty());
                let count = 1;
                links.insert(at, Link { to, count, latest });
                true
            }
        }
    }

    /// The insertions so far, in order, without self loops.
    pub fn log(&self) -> &[(Pair, i64)] {
        &self.log
    }

    /// The time of the last edge.
    pub fn now(&self) -> Option<i64> {
        self.now
    }

    /// How many distinct pairs were seen.
    pub fn pairs(&self) -> usize {
        self.pairs
    }

    /// How many vertices have an edge.
    pub fn vertices(&self) -> usize {
        self.vertices
    }

    /// One more than the largest vertex.
    pub fn vertex_bound(&self) -> usize {
        self.links.len()
    }

    /// The links of `vertex`, sorted by their other ends.
    pub fn links(&self, vertex: u32) -> &[Link] {
        self.links.get(vertex as usize).map_or(&[], Vec::as_slice)
    }

    /// How many distinct neighbours `vertex` has.
    pub fn degree(&self, vertex: u32) -> usize {
        self.links(vertex).len()
    }

    /// What is known of `pair`, if it was seen. Costs a binary search.
    pub fn seen(&self, pair: Pair) -> Option<Link> {
        let (from, to) = if self.degree(pair.low()) <= self.degree(pair.high()) {
            (pair.low(), pair.high())
        } else {
            (pair.high(), pair.low())
        };
        let links = self.links(from);
        let at = links.binary_search_by_key(&to, |link| link.to).ok()?;
        Some(links[at])
    }

    /// How many vertices are neighbours of both ends of `pair`. Costs the sum of their degrees.
    pub fn common_neighbours(&self, pair: Pair) -> usize {
        let mut others = self.links(pair.high()).iter().peekable();
        let mut common = 0;
        for link in self.links(pair.low()) {
            while others.next_if(|other| other.to < link.to).is_some() {}
            common += usize::from(others.peek().is_some_and(|other| other.to == link.to));
        }
        common
    }

    /// The insertions that are younger than `age` at the time of the last edge, oldest first.
    pub fn younger_than(&self, age: i64) -> &[(Pair, i64)] {
        let now = i128::from(self.now.unwrap_or(0));
        let is_old = |(_, time): &(Pair, i64)| now - i128::from(*time) >= i128::from(age);
        &self.log[self.log.partition_point(is_old)..]
    }

    /// Up to `most` distinct pairs, the latest first.
    pub fn recent_pairs(&self, most: usize) -> Vec<Pair> {
        let most = most.min(self.pairs);
        let mut seen = HashSet::with_capacity(most);
        let latest_first = self.log.iter().rev().map(|(pair, _)| *pair);
        latest_first
            .filter(|pair| seen.insert(*pair))
            .take(most)
            .collect()
    }

    /// All distinct pairs, in the order in which they were first inserted.
    pub fn pairs_by_age(&self) -> Vec<Pair> {
        let mut seen = HashSet::with_capacity(self.pairs);
        let pairs = self.log.iter().map(|(pair, _)| *pair);
        pairs.filter(|pair| seen.insert(*pair)).collect()
    }

    /// Up to `most` distinct vertices, that of the latest edge first.
    pub fn recent_vertices(&self, most: usize) -> Vec<u32> {
        let most = most.min(self.vertices);
        let mut seen = HashSet::with_capacity(most);
        let latest_first = self.log.iter().rev();
        latest_first
            .flat_map(|(pair, _)| [pair.low(), pair.high()])
            .filter(|vertex| seen.insert(*vertex))
            .take(most)
            .collect()
    }

    /// The graph of all pairs so far.
    pub fn graph(&self) -> SimpleGraph {
        let mut pairs = Vec::with_capacity(self.pairs);
        for (vertex, links) in (0..).zip(&self.links) {
            let above = links.iter().filter(|link| link.to > vertex);
            pairs.extend(above.filter_map(|link| Pair::new(vertex, link.to)));
        }
        SimpleGraph::new(self.links.len(), &pairs)
    }
}
