//! After every batch all answers on a device are those of the processor and of an oracle.

mod kept;
#[path = "../../incremental/tests/oracle/mod.rs"]
mod oracle;

use kept::{Kept, Seen, WAYS, device, stream};
use oracle::Oracle;
use proptest::collection::vec;
use proptest::prelude::*;
use reuselens_graph::generate::{RmatShares, delaunay, erdos_renyi, rmat};
use reuselens_graph::{BlockGraph, Edge, EdgeChange, EdgeKind, SortedGraph, StoredGraph};
use reuselens_graph_gpu::{GpuGraph, interpreter};
use reuselens_incremental::{Choice, Maintain};

fn change(insert: bool, from: u32, to: u32) -> EdgeChange {
    if insert {
        EdgeChange::Insert(Edge { from, to })
    } else {
        EdgeChange::Delete(Edge { from, to })
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
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn answers_are_exact_after_every_batch_of_a_small_graph(
        directed: bool,
        way in 0..WAYS.len(),
        edges in vec((0..14_u32, 0..14_u32), 0..40),
        batches in vec(vec((any::<bool>(), 0..14_u32, 0..14_u32), 0..24), 1..12),
    ) {
        let way = WAYS[way];
        let mut oracle = Oracle::new(kind(directed), 0);
        let mut graph = SortedGraph::new(kind(directed), 0);
        let first: Vec<_> = edges.into_iter().map(|(u, v)| change(true, u, v)).collect();
        graph.apply(&first);
        oracle.apply(&first);
        let mut kept = Kept::new(graph, device(way), way);
        kept.compare(&oracle, Default::default());
        for batch in batches {
            let batch: Vec<_> = batch.into_iter().map(|(insert, u, v)| change(insert, u, v)).collect();
            oracle.apply(&batch);
            kept.apply(&batch, &oracle);
        }
    }
}

/// 24,700 updates: a mesh, a graph with hubs and a random one, undirected and directed, half
/// deletions and mostly deletions, on one thread and two.
#[test]
fn answers_are_exact_for_batches_of_1_to_1000() {
    const SIZES: [(usize, usize); 4] = [(1, 20), (10, 10), (100, 5), (1_000, 3)];
    let undirected = EdgeKind::Undirected;
    let shares = RmatShares::default();
    let graphs = [
        (undirected, 1_000, delaunay(1_000, 1)),
        (undirected, 512, rmat(undirected, 9, 3_000, shares, 1)),
        (
            EdgeKind::Directed,
            600,
            erdos_renyi(EdgeKind::Directed, 600, 2_500, 1),
        ),
    ];
    let mut seen = Seen::default();
    for (kind, vertices, edges) in graphs {
        let edges = edges.unwrap();
        for (way, deletions) in [(WAYS[0], 0.9), (WAYS[1], 0.5)] {
            let graph = (kind, &edges[..], vertices);
            let more = stream(graph, deletions, &SIZES, way, device(way));
            seen.updates += more.updates;
            seen.batches += more.batches;
            for (all, more) in seen
                .choices
                .iter_mut()
                .flatten()
                .zip(more.choices.iter().flatten())
            {
                *all += more;
            }
        }
    }
    assert!(seen.updates > 20_000, "{} updates", seen.updates);
    // Each way of keeping an answer was taken; triangles are never computed again.
    let [depths, components, triangles] = seen.choices;
    assert!(depths.iter().all(|&count| count > 0), "{depths:?}");
    assert!(components.iter().all(|&count| count > 0), "{components:?}");
    assert!(triangles[1] > 0, "{triangles:?}");
}

/// A grid has long shortest paths, and a path is cut anywhere.
#[test]
fn answers_are_exact_on_grids_and_paths_in_random_order() {
    for width in [1, 2, 12] {
        let vertices = 180;
        let right = (0..vertices - 1).filter(|v| (v + 1) % width != 0);
        let right = right.map(|v| Edge { from: v, to: v + 1 });
        let down = (0..vertices - width).map(|v| Edge {
            from: v,
            to: v + width,
        });
        let mut edges: Vec<_> = right.chain(down).collect();
        edges.sort_unstable();
        edges.dedup();
        let sizes = [(1, 20), (3, 10), (30, 5)];
        let graph = (EdgeKind::Undirected, &edges[..], vertices);
        stream(graph, 0.6, &sizes, WAYS[2], device(WAYS[2]));
    }
}

/// Lists that are longer than a team, and two hubs that share all neighbours.
#[test]
fn hubs_gain_and_lose_all_their_neighbors() {
    let vertices = 400;
    let spokes: Vec<EdgeChange> = (2..vertices)
        .flat_map(|v| [change(true, 0, v), change(true, 1, v)])
        .chain([change(true, 0, 1)])
        .collect();
    let gone: Vec<EdgeChange> = spokes
        .iter()
        .map(|one| EdgeChange::Delete(one.edge()))
        .collect();
    for way in WAYS {
        let mut oracle = Oracle::new(EdgeKind::Undirected, vertices as usize);
        let graph = SortedGraph::new(EdgeKind::Undirected, vertices);
        let mut kept = Kept::new(graph, device(way), way);
        for batch in [&spokes[..], &gone[..500], &spokes[200..], &gone[..]] {
            oracle.apply(batch);
            kept.apply(batch, &oracle);
        }
    }
}

/// Each batch writes two lists anew: the room is used up again and again, and does not grow.
#[test]
fn device_memory_is_bounded_over_many_batches() {
    let kind = EdgeKind::Undirected;
    let mut graph = SortedGraph::new(kind, 200);
    let ring: Vec<_> = (0..200).map(|v| change(true, v, (v + 1) % 200)).collect();
    graph.apply(
        &ring
            .iter()
            .map(|one| EdgeChange::Insert(Edge::new(kind, one.edge().from, one.edge().to)))
            .collect::<Vec<_>>(),
    );
    let mut oracle = Oracle::new(kind, 0);
    let edges: Vec<Edge> = (0..200_u32)
        .map(|v| Edge::new(kind, v, (v + 1) % 200))
        .collect();
    oracle.apply(
        &edges
            .iter()
            .map(|&edge| EdgeChange::Insert(edge))
            .collect::<Vec<_>>(),
    );
    let mut kept = Kept::new(graph, device(WAYS[0]), WAYS[0]);
    let before = kept.on_device.device_memory();
    for number in 0..600 {
        let batch = [change(number % 2 == 0, 7, 100)];
        oracle.apply(&batch);
        kept.apply(&batch, &oracle);
    }
    let after = kept.on_device.device_memory();
    assert!(after <= before + 4096, "{before} bytes became {after}");
}

#[test]
fn unsorted_storage_gives_the_same_answers() {
    let kind = EdgeKind::Undirected;
    let insert: Vec<_> = delaunay(200, 5)
        .unwrap()
        .into_iter()
        .map(EdgeChange::Insert)
        .collect();
    let mut oracle = Oracle::new(kind, 200);
    let mut graph = BlockGraph::new(kind, 200);
    // A deletion moves the last id of a list.
    let gone: Vec<_> = insert[100..150]
        .iter()
        .map(|one| EdgeChange::Delete(one.edge()))
        .collect();
    for batch in [&insert[..], &gone, &insert[120..130]] {
        oracle.apply(batch);
        graph.apply(batch);
    }
    let on_device = GpuGraph::upload(interpreter(1 << 28, 1), &graph).unwrap();
    let (mut depths, mut triangles) = (
        on_device.depths(1).unwrap(),
        on_device.triangles(&graph).unwrap(),
    );
    let delta = graph.apply(&gone);
    oracle.apply(&gone);
    let work = depths.apply(&graph, &delta);
    triangles.apply(&graph, &delta);
    assert_ne!(work.choice, Choice::Unchanged);
    assert_eq!(Maintain::<BlockGraph>::answer(&depths), oracle.depths(1));
    assert_eq!(
        Maintain::<BlockGraph>::answer(&triangles),
        oracle.triangles()
    );
}
