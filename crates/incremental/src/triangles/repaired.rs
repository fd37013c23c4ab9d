//! Triangle counts that are repaired by intersections of sorted lists, one for each changed edge.
//!
//! Each changed edge adds or takes the triangles that it makes or breaks ([`Batch`]), so edges are
//! independent of each other, and several threads share them. Edges that share a hub are taken one
//! after the other, and its neighbours are marked once in a bitmap for all of them ([`HubMarks`]).
//!
//! **Cost model.** The intersection for an edge costs the sum of the degrees of its ends, or the
//! smaller degree times twice the logarithm of their ratio where that is less. Their sum over the
//! batch is compared with the ids that recomputing read the last time, in proportion to the number
//! of edges since.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use reuselens_graph::{Delta, SortedGraph, StoredGraph, VertexId};
use reuselens_workers::together;

use super::batch::{self, Batch};
use super::hubs::HubMarks;
use super::search::Oriented;
use super::undirected::Undirected;
use crate::{Choice, Maintain, Policy, Work};

/// Below this prediction a second thread costs more than it saves. It takes 30 to 45 µs to start
/// one, as long as reading 10,000 ids, about 100 until it is at work, and 7 to 14 % of processor
/// time to collect what it adds. From 1.3 million ids on it saved 15 to 30 % where a core was free;
/// below 140,000 it cost 10 to 50 % (`--example threads`).
const SHARED_FROM: u64 = 1_000_000;
/// The edges that a thread takes at a time.
const PART: usize = 64;
/// The changes of counts that a thread collects before it takes the lock of all counts: 256 KiB,
/// which stay in its own cache.
const BUFFERED: usize = 1 << 14;

/// Triangle counts that are repaired, or recomputed where that is predicted to be less work.
#[derive(Clone, Debug)]
pub struct Triangles {
    policy: Policy,
    threads: usize,
    undirected: Option<Undirected>,
    counts: Vec<u64>,
    batch: Batch,
    marks: HubMarks,
    oriented: Oriented,
    /// The ids that recomputing read, and the edges that there were.
    recomputed: (u64, u64),
    buffers: Vec<CountBuffer>,
}

/// What one thread adds to the counts, [`BUFFERED`] changes at a time. So its memory does not grow
/// with the graph, but for a bit for each vertex, and it waits for the others once for that many.
#[derive(Clone, Debug, Default)]
struct CountBuffer {
    /// A vertex, and what its count changes by, modulo 2^64. Empty between batches.
    changes: Vec<(VertexId, u64)>,
    marks: HubMarks,
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
            marks: HubMarks::default(),
            oriented: Oriented::default(),
            recomputed: (0, 0),
            buffers: Vec::new(),
        };
        let undirected = new.undirected.take();
        let counted = undirected.as_ref().map_or(graph, |copy| &copy.graph);
        new.recompute(counted);
        // So that the first batch does not wait for memory.
        new.batch.set(counted, &Delta::default(), 0);
        new.undirected = undirected;
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
        if self.policy == Policy::Recompute {
            return self.recompute(graph);
        }
        if delta.is_empty() {
            self.counts.resize(graph.vertices() as usize, 0);
            return Work::default();
        }
        let edges = delta.inserted.iter().chain(&delta.deleted);
        let predicted = edges.map(|edge| batch::cost(graph, *edge)).sum();
        let (ids, before) = self.recomputed;
        let recomputing = u128::from(ids) * u128::from(graph.edges()) / u128::from(before.max(1));
        if self.policy == Policy::Predict && u128::from(predicted) > recomputing {
            return Work {
                predicted,
                ..self.recompute(graph)
            };
        }
        self.counts.resize(graph.vertices() as usize, 0);
        self.batch.set(graph, delta, predicted);
        let found = if self.threads > 1 && predicted >= SHARED_FROM {
            self.share(graph, delta)
        } else {
            let (order, counts) = (self.batch.order(), &mut self.counts);
            let add = |vertex: VertexId, change| {
                let count = &mut counts[vertex as usize];
                *count = count.wrapping_add(change);
            };
            let all = take(&self.batch, graph, delta, order, &mut self.marks, add);
            self.marks.clear(graph);
            all
        };
        Work {
            choice: Choice::Repaired,
            scanned: found.read,
            affected: found.triangles,
            predicted,
        }
    }

    /// Takes the changed edges by several threads.
    fn share(&mut self, graph: &SortedGraph, delta: &Delta) -> TriangleWork {
        self.buffers.resize_with(self.threads, CountBuffer::default);
        let buffers: Vec<_> = self.buffers.iter_mut().map(Mutex::new).collect();
        let counts = Mutex::new(&mut self.counts[..]);
        let (next, next_own) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = || {
            let own = next_own.fetch_add(1, Ordering::Relaxed);
            let mut buffer = reuselens_workers::lock(&buffers[own]);
            let CountBuffer { changes, marks } = &mut **buffer;
            let (mut all, order) = (TriangleWork::default(), self.batch.order());
            loop {
                let start = next.fetch_add(PART, Ordering::Relaxed);
                if start >= order.len() {
                    marks.clear(graph);
                    flush(changes, &counts);
                    return all;
                }
                let part = &order[start..order.len().min(start + PART)];
                let add = |vertex, change| {
                    changes.push((vertex, change));
                    if changes.len() >= BUFFERED {
                        flush(changes, &counts);
                    }
                };
                all += take(&self.batch, graph, delta, part, marks, add);
            }
        };
        let parts = together("triangles", self.threads, work, work);
        parts
            .into_iter()
            .fold(TriangleWork::default(), |mut all, part| {
                all += part;
                all
            })
    }
}

/// What changed edges took.
#[derive(Clone, Copy, Debug, Default)]
struct TriangleWork {
    /// Triangles that they make or break.
    triangles: u64,
    /// Ids that were read or compared.
    read: u64,
}

impl std::ops::AddAssign for TriangleWork {
    fn add_assign(&mut self, other: Self) {
        self.triangles += other.triangles;
        self.read += other.read;
    }
}

/// Adds what a thread collected to the counts.
fn flush(changes: &mut Vec<(VertexId, u64)>, counts: &Mutex<&mut [u64]>) {
    let mut counts = reuselens_workers::lock(counts);
    for (vertex, change) in changes.drain(..) {
        let count = &mut counts[vertex as usize];
        *count = count.wrapping_add(change);
    }
}

/// Takes changed edges by their places, and calls `add` with a vertex and what its count changes
/// by, modulo 2^64.
fn take(
    batch: &Batch,
    graph: &SortedGraph,
    delta: &Delta,
    part: &[u32],
    marks: &mut HubMarks,
    mut add: impl FnMut(VertexId, u64),
) -> TriangleWork {
    let (mut all, deleted) = (TriangleWork::default(), delta.deleted.len() as u32);
    for &index in part {
        let mut triangles = 0;
        let edge = batch::edge(delta, index as usize);
        let change = if index < deleted {
            all.read += batch.broken(graph, marks, (index, edge), |third| {
                add(third, u64::MAX);
                triangles += 1;
            });
            0_u64.wrapping_sub(triangles)
        } else {
            all.read += batch.made(graph, marks, (index - deleted, edge), |third| {
                add(third, 1);
                triangles += 1;
            });
            triangles
        };
        if triangles > 0 {
            add(edge.from, change);
            add(edge.to, change);
        }
        all.triangles += triangles;
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

#[cfg(test)]
mod tests {
    use reuselens_graph::generate::delaunay;
    use reuselens_graph::{Edge, EdgeChange, EdgeKind};

    use super::*;

    #[test]
    fn ids_are_counted_as_they_are_read() {
        let kind = EdgeKind::Undirected;
        let insert = |u, v| EdgeChange::Insert(Edge::new(kind, u, v));
        let mut graph = SortedGraph::new(kind, 0);
        graph.apply(&[insert(0, 1), insert(1, 2)]);
        let mut triangles = Triangles::new(&graph, Policy::Repair, 1);
        let delta = graph.apply(&[insert(0, 2)]);
        let work = triangles.repair(&graph, &delta);
        // Of 1 and 2, and 0 and 1, the last id is not needed.
        assert_eq!((work.scanned, work.predicted, work.affected), (3, 5, 1));
        // The list of a hub is read once, and for each edge that of its other end: two of these
        // have 3 ids, and 97 have one.
        let star: Vec<_> = (1..100).map(|leaf| insert(100, leaf)).collect();
        let delta = graph.apply(&star);
        let work = triangles.repair(&graph, &delta);
        assert_eq!(work.scanned, 99 + (97 + 3 + 3));
        assert!(work.scanned < work.predicted);
    }

    /// Threads need as much memory in a graph of many vertices as in one of few.
    #[test]
    fn memory_of_threads_does_not_grow_with_the_vertices() {
        const THREADS: usize = 4;
        let changed = delaunay(1 << 16, 1).unwrap();
        let insert: Vec<_> = changed.iter().copied().map(EdgeChange::Insert).collect();
        for vertices in [1 << 16, 1 << 20] {
            let mut graph = SortedGraph::new(EdgeKind::Undirected, vertices);
            let mut triangles = Triangles::new(&graph, Policy::Repair, THREADS);
            let delta = graph.apply(&insert);
            triangles.repair(&graph, &delta);
            let wanted = Triangles::new(&graph, Policy::Recompute, 1);
            assert_eq!(triangles.counts, wanted.counts);
            assert_eq!(triangles.buffers.len(), THREADS);
            for buffer in &triangles.buffers {
                assert!(buffer.changes.is_empty());
                assert!(buffer.changes.capacity() <= 2 * BUFFERED);
            }
        }
    }
}
