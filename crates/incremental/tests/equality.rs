//! After every batch all maintained answers are those of the oracle.

mod oracle;

use oracle::Oracle;
use proptest::collection::vec;
use proptest::prelude::*;
use reuselens_graph::{BlockGraph, Edge, EdgeChange, EdgeKind, SortedGraph, StoredGraph};
use reuselens_incremental::{
    Choice, Components, Depths, Maintain, Policy, PublishedComponents, PublishedDepths,
    PublishedTriangles, StaticComponents, StaticDepths, StaticTriangles, Triangles,
};

const ROOT: u32 = 1;
const POLICIES: [Policy; 3] = [Policy::Predict, Policy::Repair, Policy::Recompute];

/// A small generator of numbers, so that runs repeat.
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

fn change(insert: bool, from: u32, to: u32) -> EdgeChange {
    if insert {
        EdgeChange::Insert(Edge { from, to })
    } else {
        EdgeChange::Delete(Edge { from, to })
    }
}

/// A stored graph with what is maintained on it.
struct Kept<G> {
    graph: G,
    depths: Vec<Box<dyn Maintain<G, Value = u32>>>,
    components: Vec<Box<dyn Maintain<G, Value = u32>>>,
    triangles: Vec<Box<dyn Maintain<G, Value = u64>>>,
}

impl<G: StoredGraph> Kept<G> {
    fn new(graph: G) -> Self {
        let mut depths: Vec<Box<dyn Maintain<G, Value = u32>>> = vec![
            Box::new(StaticDepths::new(&graph, ROOT)),
            Box::new(PublishedDepths::new(&graph, ROOT)),
        ];
        let mut components: Vec<Box<dyn Maintain<G, Value = u32>>> = vec![
            Box::new(StaticComponents::new(&graph)),
            Box::new(PublishedComponents::new(&graph)),
        ];
        for policy in POLICIES {
            depths.push(Box::new(Depths::new(&graph, ROOT, policy)));
            components.push(Box::new(Components::new(&graph, policy)));
        }
        Self {
            depths,
            components,
            triangles: vec![
                Box::new(StaticTriangles::new(&graph)),
                Box::new(PublishedTriangles::new(&graph)),
            ],
            graph,
        }
    }

    fn apply(&mut self, changes: &[EdgeChange], oracle: &Oracle) {
        let delta = self.graph.apply(changes);
        let depths = oracle.depths(ROOT);
        for (index, kept) in self.depths.iter_mut().enumerate() {
            let work = kept.apply(&self.graph, &delta);
            assert_eq!(kept.answer(), depths, "depths {index}, {work:?}");
        }
        let components = oracle.components();
        for (index, kept) in self.components.iter_mut().enumerate() {
            let work = kept.apply(&self.graph, &delta);
            assert_eq!(kept.answer(), components, "components {index}, {work:?}");
        }
        let triangles = oracle.triangles();
        for (index, kept) in self.triangles.iter_mut().enumerate() {
            let work = kept.apply(&self.graph, &delta);
            assert_eq!(kept.answer(), triangles, "triangles {index}, {work:?}");
        }
    }
}

/// Everything that is maintained, on both storages.
struct All {
    oracle: Oracle,
    sorted: Kept<SortedGraph>,
    blocks: Kept<BlockGraph>,
}

impl All {
    fn new(kind: EdgeKind, vertices: u32, threads: usize) -> Self {
        let mut graph = SortedGraph::new(kind, vertices);
        graph.set_threads(threads);
        let mut sorted = Kept::new(graph);
        for policy in POLICIES {
            let triangles = Triangles::new(&sorted.graph, policy, threads);
            sorted.triangles.push(Box::new(triangles));
        }
        Self {
            oracle: Oracle::new(kind, vertices as usize),
            sorted,
            blocks: Kept::new(BlockGraph::new(kind, vertices)),
        }
    }

    fn apply(&mut self, changes: &[EdgeChange]) {
        self.oracle.apply(changes);
        self.sorted.apply(changes, &self.oracle);
        self.blocks.apply(changes, &self.oracle);
    }
}

fn kind(directed: bool) -> EdgeKind {
    if directed {
        EdgeKind::Directed
    } else {
        EdgeKind::Undirected
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn answers_are_exact_after_every_batch_of_a_small_graph(
        directed: bool,
        vertices in 0..4_u32,
        edges in vec((0..14_u32, 0..14_u32), 0..40),
        batches in vec(vec((any::<bool>(), 0..14_u32, 0..14_u32), 0..24), 1..12),
    ) {
        let mut all = All::new(kind(directed), vertices, 1);
        let first: Vec<_> = edges.into_iter().map(|(u, v)| change(true, u, v)).collect();
        all.apply(&first);
        for batch in batches {
            let batch: Vec<_> = batch.into_iter().map(|(insert, u, v)| change(insert, u, v)).collect();
            all.apply(&batch);
        }
    }
}

/// A batch of which `deletions` in 10 changes delete present edges.
fn batch(
    oracle: &Oracle,
    vertices: u32,
    size: usize,
    deletions: u32,
    numbers: &mut Numbers,
) -> Vec<EdgeChange> {
    let present: Vec<_> = oracle.edges().collect();
    let mut one = || {
        if numbers.below(10) < deletions && !present.is_empty() {
            let edge = present[numbers.below(present.len() as u32) as usize];
            return change(false, edge.from, edge.to);
        }
        // Small ids are hubs.
        let from = numbers.below(vertices);
        change(
            true,
            from.min(numbers.below(vertices)),
            numbers.below(vertices),
        )
    };
    (0..size).map(|_| one()).collect()
}

/// Batches of these sizes, of which `deletions` in 10 changes delete present edges.
fn run(all: &mut All, vertices: u32, sizes: &[usize], deletions: u32, numbers: &mut Numbers) {
    for &size in sizes {
        let batch = batch(&all.oracle, vertices, size, deletions, numbers);
        all.apply(&batch);
    }
}

#[test]
fn answers_are_exact_for_batches_of_all_sizes() {
    for (directed, threads) in [(false, 1), (false, 2), (true, 2)] {
        let vertices = 2_000;
        let mut all = All::new(kind(directed), vertices, threads);
        let mut numbers = Numbers(17);
        run(&mut all, vertices, &[20_000], 0, &mut numbers);
        run(
            &mut all,
            vertices,
            &[1, 2, 1, 50, 1, 700, 3],
            5,
            &mut numbers,
        );
        run(&mut all, vertices, &[100_000, 5_000], 2, &mut numbers);
        run(
            &mut all,
            vertices,
            &[40_000, 40_000, 30_000, 1_000],
            9,
            &mut numbers,
        );
    }
}

#[test]
fn answers_are_exact_when_sparse_graphs_lose_their_edges() {
    for directed in [false, true] {
        let vertices = 600;
        let mut all = All::new(kind(directed), vertices, 1);
        let mut numbers = Numbers(23);
        run(&mut all, vertices, &[900], 0, &mut numbers);
        run(&mut all, vertices, &[1; 150], 8, &mut numbers);
        run(&mut all, vertices, &[10; 60], 9, &mut numbers);
        run(&mut all, vertices, &[400, 1, 1, 1, 100], 6, &mut numbers);
    }
}

/// Sparse graphs that fall into parts of all sizes, several in one batch: a wrong forest shows in
/// sizes at once, and in labels only long after.
#[test]
fn sizes_of_components_are_exact_over_long_histories() {
    let vertices = 150;
    for history in 0..120 {
        let kind = kind(history % 2 == 1);
        let mut numbers = Numbers(history << 32);
        let mut oracle = Oracle::new(kind, vertices as usize);
        let mut graph = SortedGraph::new(kind, vertices);
        let mut kept = POLICIES.map(|policy| Components::new(&graph, policy));
        for number in 0..16 {
            let (size, deletions) = match number % 4 {
                0 => (120, 2),
                _ => (1 + numbers.below(20) as usize, 7),
            };
            let batch = batch(&oracle, vertices, size, deletions, &mut numbers);
            oracle.apply(&batch);
            let delta = graph.apply(&batch);
            let labels = oracle.components();
            for components in &mut kept {
                let work = components.apply(&graph, &delta);
                assert_eq!(Maintain::<SortedGraph>::answer(components), labels);
                for (vertex, label) in (0..).zip(&labels) {
                    let size = labels.iter().filter(|other| *other == label).count();
                    assert_eq!(components.size(vertex) as usize, size, "{vertex}, {work:?}");
                }
            }
        }
    }
}

/// A grid has long shortest paths, and a path has a deep tree that is cut anywhere.
#[test]
fn answers_are_exact_on_grids_and_paths() {
    for width in [1, 2, 24] {
        let vertices = 600;
        let right = (0..vertices - 1)
            .filter(|v| (v + 1) % width != 0)
            .map(|v| (v, v + 1));
        let down = (0..vertices - width).map(|v| (v, v + width));
        let edges: Vec<_> = right.chain(down).collect();
        let mut all = All::new(EdgeKind::Undirected, 0, 1);
        let insert: Vec<_> = edges.iter().map(|&(u, v)| change(true, u, v)).collect();
        all.apply(&insert);
        let mut numbers = Numbers(u64::from(width));
        for size in [1, 1, 1, 1, 2, 3, 5, 30, 100, 1, 1, 1, 1] {
            let mut one = || {
                let (u, v) = edges[numbers.below(edges.len() as u32) as usize];
                change(numbers.below(2) == 0, u, v)
            };
            let batch: Vec<_> = (0..size).map(|_| one()).collect();
            all.apply(&batch);
            all.apply(&insert[..size]);
        }
    }
}

#[test]
fn parents_of_depths_are_neighbors_one_level_above() {
    let mut numbers = Numbers(5);
    let mut graph = SortedGraph::new(EdgeKind::Directed, 200);
    let mut depths = Depths::new(&graph, ROOT, Policy::Repair);
    for _ in 0..200 {
        let mut one = || change(numbers.below(3) > 0, numbers.below(200), numbers.below(200));
        let batch: Vec<_> = (0..30).map(|_| one()).collect();
        let delta = graph.apply(&batch);
        depths.apply(&graph, &delta);
        for vertex in 0..200 {
            let depth = Maintain::<SortedGraph>::value(&depths, vertex);
            match depths.parent(vertex) {
                Some(parent) => {
                    let above = Maintain::<SortedGraph>::value(&depths, parent);
                    assert_eq!(above + 1, depth);
                    assert!(graph.in_neighbors(vertex).flatten().any(|&id| id == parent));
                }
                None => assert!(vertex == ROOT || depth == u32::MAX),
            }
        }
    }
}

#[test]
fn both_directions_of_an_edge_are_one_cut() {
    let pair = [(0, 1), (1, 0)];
    let mut graph = SortedGraph::new(EdgeKind::Directed, 2);
    graph.apply(&pair.map(|(from, to)| change(true, from, to)));
    let mut components = Components::new(&graph, Policy::Repair);
    let delta = graph.apply(&pair.map(|(from, to)| change(false, from, to)));
    let work = components.apply(&graph, &delta);
    assert_eq!(
        (work.affected, components.size(0), components.size(1)),
        (1, 1, 1)
    );
}

#[test]
fn recompute_policy_recomputes_after_an_empty_batch() {
    for kind in [EdgeKind::Undirected, EdgeKind::Directed] {
        let mut graph = SortedGraph::new(kind, 0);
        graph.apply(&[(0, 1), (1, 2), (0, 2)].map(|(from, to)| change(true, from, to)));
        let delta = graph.apply(&[change(true, 0, 1)]);
        assert!(delta.is_empty());
        for (policy, choice) in [
            (Policy::Recompute, Choice::Recomputed),
            (Policy::Predict, Choice::Unchanged),
            (Policy::Repair, Choice::Unchanged),
        ] {
            let works = [
                Depths::new(&graph, ROOT, policy).apply(&graph, &delta),
                Components::new(&graph, policy).apply(&graph, &delta),
                Triangles::new(&graph, policy, 1).apply(&graph, &delta),
            ];
            assert_eq!(works.map(|work| work.choice), [choice; 3], "{policy:?}");
            assert_eq!(works.map(|work| work.predicted), [0; 3]);
        }
    }
}
