//! Both storages against a set of edges.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::prelude::*;
use reuselens_graph::{BlockGraph, Delta, Edge, EdgeChange, EdgeKind, SortedGraph, StoredGraph};

const KINDS: [EdgeKind; 2] = [EdgeKind::Undirected, EdgeKind::Directed];

/// What a graph must be.
struct Model {
    kind: EdgeKind,
    edges: BTreeSet<Edge>,
    vertices: u32,
}

impl Model {
    fn new(kind: EdgeKind, vertices: u32) -> Self {
        Self {
            kind,
            edges: BTreeSet::new(),
            vertices,
        }
    }

    fn apply(&mut self, changes: &[EdgeChange]) -> Delta {
        let mut last = BTreeMap::new();
        for change in changes {
            let Edge { from, to } = change.edge();
            if from != to {
                let insert = matches!(change, EdgeChange::Insert(_));
                last.insert(Edge::new(self.kind, from, to), insert);
            }
        }
        let mut delta = Delta::default();
        for (edge, insert) in last {
            if insert && self.edges.insert(edge) {
                delta.inserted.push(edge);
                self.vertices = self.vertices.max(edge.from.max(edge.to) + 1);
            } else if !insert && self.edges.remove(&edge) {
                delta.deleted.push(edge);
            }
        }
        delta
    }

    /// The neighbours and the in-neighbours of a vertex, in ascending order.
    fn lists(&self) -> Vec<[Vec<u32>; 2]> {
        let mut lists = vec![[Vec::new(), Vec::new()]; self.vertices as usize];
        for edge in &self.edges {
            let (from, to) = (edge.from as usize, edge.to as usize);
            lists[from][0].push(edge.to);
            lists[to][1].push(edge.from);
            if self.kind == EdgeKind::Undirected {
                lists[to][0].push(edge.from);
                lists[from][1].push(edge.to);
            }
        }
        lists
            .iter_mut()
            .flatten()
            .for_each(|list| list.sort_unstable());
        lists
    }
}

fn check(graph: &impl StoredGraph, model: &Model) {
    assert_eq!(graph.vertices(), model.vertices);
    assert_eq!(graph.edges(), model.edges.len() as u64);
    for (vertex, [out, into]) in (0..).zip(model.lists()) {
        let sorted = |mut ids: Vec<u32>| {
            ids.sort_unstable();
            ids
        };
        let read = sorted(graph.neighbors(vertex).flatten().copied().collect());
        assert_eq!(read, out, "neighbours of {vertex}");
        assert_eq!(graph.degree(vertex), out.len());
        let read = sorted(graph.in_neighbors(vertex).flatten().copied().collect());
        assert_eq!(read, into, "in-neighbours of {vertex}");
        assert_eq!(graph.in_degree(vertex), into.len());
        assert!(graph.neighbors(vertex).all(|block| !block.is_empty()));
    }
}

/// A small generator, so that large tests repeat.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((self.0 >> 33) % u64::from(limit)) as u32
    }
}

fn change((insert, from, to): (bool, u32, u32)) -> EdgeChange {
    if insert {
        EdgeChange::Insert(Edge { from, to })
    } else {
        EdgeChange::Delete(Edge { from, to })
    }
}

proptest! {
    #[test]
    fn storages_hold_what_batches_ask_for(
        directed: bool,
        batches in vec(vec((any::<bool>(), 0..12_u32, 0..12_u32), 0..40), 1..12),
    ) {
        let kind = KINDS[usize::from(directed)];
        let mut model = Model::new(kind, 4);
        let mut sorted = SortedGraph::new(kind, 4);
        let mut blocks = BlockGraph::new(kind, 4);
        for batch in batches {
            let batch: Vec<_> = batch.into_iter().map(change).collect();
            let delta = model.apply(&batch);
            prop_assert_eq!(&sorted.apply(&batch), &delta);
            prop_assert_eq!(&blocks.apply(&batch), &delta);
            check(&sorted, &model);
            check(&blocks, &model);
        }
    }
}

/// Batches whose edges often meet a few vertices, most of them deletions at the end.
fn hub_batches(seed: u64, vertices: u32) -> Vec<Vec<EdgeChange>> {
    let mut numbers = Numbers(seed);
    let sizes = [60_000, 3, 9_000, 1, 500, 20_000, 20_000, 64, 60_000];
    let batch = |(at, size)| {
        let inserts = if at < 5 { 9 } else { 1 };
        let mut one = |_| {
            let from = numbers.below(3) * 7;
            let to = numbers.below(vertices);
            let (from, to) = if numbers.below(2) == 0 {
                (from, to)
            } else {
                (to, from)
            };
            change((numbers.below(10) < inserts, from, to))
        };
        (0..size).map(&mut one).collect()
    };
    sizes.into_iter().enumerate().map(batch).collect()
}

#[test]
fn hubs_grow_and_shrink_with_any_number_of_threads() {
    for kind in KINDS {
        let mut model = Model::new(kind, 0);
        let mut graphs = [1, 2, 3].map(|threads| {
            let mut graph = SortedGraph::new(kind, 0);
            graph.set_threads(threads);
            graph
        });
        let mut blocks = BlockGraph::new(kind, 0);
        let mut largest = 0;
        for batch in hub_batches(5, 9_000) {
            let delta = model.apply(&batch);
            for graph in &mut graphs {
                assert_eq!(graph.apply(&batch), delta);
                check(graph, &model);
            }
            assert_eq!(blocks.apply(&batch), delta);
            check(&blocks, &model);
            largest = largest.max(graphs[0].degree(7));
        }
        assert!(largest > 5_000, "degree {largest} makes no hub");
        assert!(graphs[0].degree(7) < 2_000, "the hub is left");
    }
}

/// Only batches of so many changes are shared among threads.
#[test]
fn large_batches_do_not_depend_on_the_number_of_threads() {
    const VERTICES: u32 = 30_000;
    for kind in KINDS {
        let mut numbers = Numbers(9);
        let mut batch = |inserts| -> Vec<EdgeChange> {
            let mut one = |at| {
                // Each fourth change meets one of seven hubs.
                let ends = if at % 4 == 0 { 7 } else { VERTICES };
                let insert = numbers.below(10) < inserts;
                change((insert, numbers.below(ends), numbers.below(VERTICES)))
            };
            (0..150_000).map(&mut one).collect()
        };
        let mut model = Model::new(kind, 0);
        let mut graphs = [1, 2, 5].map(|threads| {
            let mut graph = SortedGraph::new(kind, 0);
            graph.set_threads(threads);
            graph
        });
        let (first, second) = (batch(9), batch(5));
        // Deletions of edges that are there, with some that are not.
        let third = first.iter().map(|change| match change {
            EdgeChange::Insert(edge) => EdgeChange::Delete(*edge),
            other => *other,
        });
        for batch in [first.clone(), second, third.collect()] {
            let delta = model.apply(&batch);
            assert!(batch.len() > 1 << 17);
            for graph in &mut graphs {
                assert_eq!(graph.apply(&batch), delta);
                check(graph, &model);
            }
        }
    }
}

#[test]
fn hubs_change_by_single_edges() {
    let kind = EdgeKind::Undirected;
    let mut model = Model::new(kind, 0);
    let mut graph = SortedGraph::new(kind, 0);
    let star: Vec<_> = (1..6_000).map(|leaf| change((true, 0, leaf * 3))).collect();
    assert_eq!(graph.apply(&star), model.apply(&star));
    let mut numbers = Numbers(9);
    for round in 0..20_000 {
        // First blocks overflow, then they become empty.
        let insert = round < 8_000;
        let one = [change((
            insert,
            0,
            numbers.below(4_000 + 16_000 * u32::from(!insert)),
        ))];
        assert_eq!(graph.apply(&one), model.apply(&one));
    }
    check(&graph, &model);
}

#[test]
fn edge_list_has_each_edge_once_in_order() {
    for kind in KINDS {
        let (mut graph, mut model) = (SortedGraph::new(kind, 0), Model::new(kind, 0));
        for batch in hub_batches(5, 3_000).into_iter().take(3) {
            graph.apply(&batch);
            model.apply(&batch);
        }
        let edges: Vec<Edge> = model.edges.iter().copied().collect();
        assert_eq!(graph.edge_list(), edges);
    }
}

#[test]
fn common_neighbors_are_those_of_both_lists() {
    let kind = EdgeKind::Undirected;
    let mut graph = SortedGraph::new(kind, 0);
    let mut model = Model::new(kind, 0);
    for batch in hub_batches(11, 9_000).into_iter().take(5) {
        graph.apply(&batch);
        model.apply(&batch);
    }
    let mut numbers = Numbers(3);
    let spread: Vec<_> = (0..30_000)
        .map(|_| change((true, numbers.below(9_000), numbers.below(9_000))))
        .collect();
    graph.apply(&spread);
    model.apply(&spread);
    let lists = model.lists();
    for u in [0, 7, 14, 20, 21, 22] {
        for v in (0..9_000).step_by(7) {
            let expected: Vec<_> = lists[u as usize][0]
                .iter()
                .copied()
                .filter(|id| lists[v as usize][0].binary_search(id).is_ok())
                .collect();
            let mut found = Vec::new();
            graph.common_neighbors(u, v, |w| found.push(w));
            assert_eq!(found, expected, "common neighbours of {u} and {v}");
        }
    }
}

#[test]
fn memory_per_directed_edge_is_bounded() {
    for (kind, vertices, edges) in [
        (EdgeKind::Undirected, 10_000, 40_000),
        (EdgeKind::Undirected, 10_000, 400_000),
        (EdgeKind::Directed, 10_000, 60_000),
    ] {
        let mut numbers = Numbers(1);
        let mut graph = SortedGraph::new(kind, vertices);
        for _ in 0..edges / 500 {
            let mut one = |_| change((true, numbers.below(vertices), numbers.below(vertices)));
            let batch: Vec<_> = (0..500).map(&mut one).collect();
            graph.apply(&batch);
        }
        let directed = match kind {
            EdgeKind::Undirected => 2 * graph.edges(),
            EdgeKind::Directed => graph.edges(),
        };
        let bytes = graph.memory() as f64 / directed as f64;
        assert!(bytes <= 24.0, "{kind:?} {edges}: {bytes:.1} bytes");
    }
}
