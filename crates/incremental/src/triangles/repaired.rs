//! Triangle counts that are repaired by intersections of sorted lists, one for each changed edge.
//!
//! Each changed edge adds or takes the triangles that it makes or breaks ([`Batch`]), so edges are
//! independent of each other, and several threads share them.
//!
//! **Cost model.** The intersection for an edge costs the sum of the degrees of its ends, or the
//! smaller degree times twice the logarithm of their ratio where that is less. Their sum over the
//! batch is compared with the ids that recomputing read the last time, in proportion to the number
//! of edges since.

use std::sync::atomic::{AtomicUsize, Ordering};

use reuselens_graph::{Delta, Edge, SortedGraph, StoredGraph, VertexId};
use reuselens_workers::together;

use super::batch::Batch;
use super::search::Oriented;
use super::undirected::Undirected;
use crate::{Choice, Maintain, Policy, Work};

/// Below this prediction a second thread costs more than it saves: starting one takes as long as
/// reading 30,000 ids.
const SHARED_FROM: u64 = 200_000;
/// The edges that a thread takes at a time.
const PART: usize = 16;

/// Triangle counts that are repaired, or recomputed where that is predicted to be less work.
#[derive(Clone, Debug)]
pub struct Triangles {
    policy: Policy,
    threads: usize,
    undirected: Option<Undirected>,
    counts: Vec<u64>,
    batch: Batch,
    oriented: Oriented,
    /// The ids that recomputing read, and the edges that there were.
    recomputed: (u64, u64),
    all_changes: Vec<CountChanges>,
}

/// What one thread adds to the counts.
#[derive(Clone, Debug, Default)]
struct CountChanges {
    /// By vertex, modulo 2^64; all 0 between batches.
    counts: Vec<u64>,
    /// The vertices whose counts may not be 0.
    vertices: Vec<VertexId>,
}

impl Triangles {
    /// The triangles at each vertex of a graph, kept up to date by up to `threads` threads.
    #[must_use]
    pub fn new(graph: &SortedGraph, policy: Policy, threads: usize) -> Self {
        let mut new = Self {
            policy,
            threads: threads.max(1),
            undirected: Undirected::of(graph),
            counts: Vec::new(),
            batch: Batch::default(),
            oriented: Oriented::default(),
            recomputed: (0, 0),
            all_changes: Vec::new(),
        };
        match new.undirected.take() {
            None => new.recompute(graph),
            Some(undirected) => {
                let work = new.recompute(&undirected.graph);
                new.undirected = Some(undirected);
                work
            }
        };
        new
    }

    fn recompute(&mut self, graph: &SortedGraph) -> Work {
        let scanned = self.oriented.count(graph, self.threads, &mut self.counts);
        self.recomputed = (scanned, graph.edges());
        Work {
            choice: Choice::Recomputed,
            scanned,
            affected: u64::from(graph.vertices()),
            predicted: 0,
        }
    }

    fn repair(&mut self, graph: &SortedGraph, delta: &Delta) -> Work {
        if delta.is_empty() {
            self.counts.resize(graph.vertices() as usize, 0);
            return Work::default();
        }
        let edges = delta.inserted.iter().chain(&delta.deleted);
        let predicted = edges.map(|edge| cost(graph, *edge)).sum();
        let (ids, before) = self.recomputed;
        let recomputing = u128::from(ids) * u128::from(graph.edges()) / u128::from(before.max(1));
        let recompute = match self.policy {
            Policy::Predict => u128::from(predicted) > recomputing,
            Policy::Repair => false,
            Policy::Recompute => true,
        };
        if recompute {
            return Work {
                predicted,
                ..self.recompute(graph)
            };
        }
        self.counts.resize(graph.vertices() as usize, 0);
        self.batch
            .set(graph.vertices(), &delta.inserted, &delta.deleted);
        let affected = match self.threads > 1 && predicted >= SHARED_FROM {
            true => self.share(graph, delta),
            false => {
                let all = 0..delta.len();
                let counts = &mut self.counts;
                take(&self.batch, graph, delta, all, |vertex, change| {
                    let count = &mut counts[vertex as usize];
                    *count = count.wrapping_add(change);
                })
            }
        };
        Work {
            choice: Choice::Repaired,
            scanned: predicted,
            affected,
            predicted,
        }
    }

    /// Takes the changed edges by several threads. Returns the number of triangles.
    fn share(&mut self, graph: &SortedGraph, delta: &Delta) -> u64 {
        self.all_changes
            .resize_with(self.threads, CountChanges::default);
        let all_changes: Vec<_> = self
            .all_changes
            .iter_mut()
            .map(std::sync::Mutex::new)
            .collect();
        let (next, next_own) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = || {
            let own = next_own.fetch_add(1, Ordering::Relaxed);
            let mut changes = reuselens_workers::lock(&all_changes[own]);
            changes.counts.resize(graph.vertices() as usize, 0);
            let mut triangles = 0;
            loop {
                let start = next.fetch_add(PART, Ordering::Relaxed);
                if start >= delta.len() {
                    return triangles;
                }
                let part = start..delta.len().min(start + PART);
                triangles += take(&self.batch, graph, delta, part, |vertex, change| {
                    changes.add(vertex, change);
                });
            }
        };
        let triangles = together("triangles", self.threads, work, work)
            .into_iter()
            .sum();
        drop(all_changes);
        for changes in &mut self.all_changes {
            for vertex in changes.vertices.drain(..) {
                let change = std::mem::take(&mut changes.counts[vertex as usize]);
                let count = &mut self.counts[vertex as usize];
                *count = count.wrapping_add(change);
            }
        }
        triangles
    }
}

impl CountChanges {
    #[inline]
    fn add(&mut self, vertex: VertexId, change: u64) {
        let count = &mut self.counts[vertex as usize];
        if *count == 0 {
            self.vertices.push(vertex);
        }
        *count = count.wrapping_add(change);
    }
}

/// What the intersection for an edge is predicted to read.
fn cost(graph: &SortedGraph, edge: Edge) -> u64 {
    let (u, v) = (graph.degree(edge.from) as u64, graph.degree(edge.to) as u64);
    let (few, many) = (u.min(v), u.max(v));
    let searches = 2 * few * u64::from((many / few.max(1)).max(1).ilog2() + 1);
    1 + searches.min(u + v)
}

/// Takes a part of the changed edges, deleted ones first, and calls `add` with a vertex and what
/// its count changes by, modulo 2^64. Returns the number of triangles.
fn take(
    batch: &Batch,
    graph: &SortedGraph,
    delta: &Delta,
    part: std::ops::Range<usize>,
    mut add: impl FnMut(VertexId, u64),
) -> u64 {
    let mut all = 0;
    for index in part {
        let (mut triangles, deleted) = (0, delta.deleted.len());
        let (edge, change) = match delta.deleted.get(index) {
            Some(&edge) => {
                batch.broken(graph, index as u32, edge, |third| {
                    add(third, u64::MAX);
                    triangles += 1;
                });
                (edge, 0_u64.wrapping_sub(triangles))
            }
            None => {
                let number = index - deleted;
                let edge = delta.inserted[number];
                batch.made(graph, number as u32, edge, |third| {
                    add(third, 1);
                    triangles += 1;
                });
                (edge, triangles)
            }
        };
        if triangles > 0 {
            add(edge.from, change);
            add(edge.to, change);
        }
        all += triangles;
    }
    all
}

impl Maintain<SortedGraph> for Triangles {
    type Value = u64;

    fn apply(&mut self, graph: &SortedGraph, delta: &Delta) -> Work {
        match self.undirected.take() {
            None => self.repair(graph, delta),
            Some(mut undirected) => {
                let delta = undirected.apply(graph, delta);
                let work = self.repair(&undirected.graph, &delta);
                self.undirected = Some(undirected);
                work
            }
        }
    }

    fn value(&self, vertex: VertexId) -> u64 {
        self.counts[vertex as usize]
    }

    fn answer(&self) -> Vec<u64> {
        self.counts.clone()
    }
}
