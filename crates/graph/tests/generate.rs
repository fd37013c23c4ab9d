//! Generators: what each promises of its graphs, and that a seed fixes them.

use std::collections::BTreeSet;

use reuselens_graph::formats::stream::StreamRecord;
use reuselens_graph::generate::{
    ChangeMix, Changes, EDGE_LIMIT, RmatShares, barabasi_albert, delaunay, erdos_renyi, rmat,
    window,
};
use reuselens_graph::{Edge, EdgeChange, EdgeKind, VERTEX_LIMIT};

const KINDS: [EdgeKind; 2] = [EdgeKind::Undirected, EdgeKind::Directed];

/// Whether all edges are sorted, each once, none is a self loop, and all ends are vertices.
fn assert_simple(edges: &[Edge], vertices: u32) {
    assert!(edges.windows(2).all(|pair| pair[0] < pair[1]));
    for edge in edges {
        assert!(!edge.is_loop() && edge.from < vertices && edge.to < vertices);
    }
}

#[test]
fn delaunay_is_planar_and_triangulated() {
    let edges = delaunay(1 << 12, 7).unwrap();
    assert_simple(&edges, 1 << 12);
    // Euler: 3 n - 3 - h edges, where h corners are on the hull.
    let (n, count) = (1 << 12, edges.len());
    assert!(count <= 3 * n - 6 && count > 3 * n - 200, "{count}");
    assert_eq!(edges, delaunay(1 << 12, 7).unwrap());
    assert_ne!(edges, delaunay(1 << 12, 8).unwrap());
    assert!(delaunay(2, 1).is_err());
    assert_eq!(delaunay(3, 1).unwrap().len(), 3);
}

#[test]
fn erdos_renyi_has_exactly_the_edges_asked_for() {
    for kind in KINDS {
        for (vertices, edges) in [(100, 0), (100, 1), (100, 2000), (3, 3), (1, 0)] {
            let graph = erdos_renyi(kind, vertices, edges, 3).unwrap();
            assert_simple(&graph, vertices);
            assert_eq!(graph.len() as u64, edges);
        }
    }
    // All pairs there are, so each place of the list is another edge.
    assert_eq!(erdos_renyi(KINDS[0], 60, 1770, 1).unwrap().len(), 1770);
    assert_eq!(erdos_renyi(KINDS[1], 60, 3540, 1).unwrap().len(), 3540);
    assert!(erdos_renyi(KINDS[0], 60, 1771, 1).is_err());
}

#[test]
fn rmat_has_hubs_and_barabasi_albert_has_its_count() {
    let shares = RmatShares::default();
    let edges = rmat(KINDS[1], 10, 8 << 10, shares, 5).unwrap();
    assert_simple(&edges, 1 << 10);
    assert!(edges.len() > 4 << 10 && edges.len() < 8 << 10);
    let hub = edges.iter().filter(|edge| edge.from == 0).count();
    assert!(hub > 10 * edges.len() / 1024, "{hub}");
    let wrong = RmatShares { a: 0.9, ..shares };
    assert!(rmat(KINDS[1], 10, 8, wrong, 5).is_err() && rmat(KINDS[1], 32, 8, shares, 5).is_err());

    let edges = barabasi_albert(500, 4, 2).unwrap();
    assert_simple(&edges, 500);
    assert_eq!(edges.len(), 496 * 4);
    assert!(barabasi_albert(5, 5, 1).is_err() && barabasi_albert(5, 0, 1).is_err());
}

#[test]
fn each_random_change_changes_the_graph() {
    for deletions in [0.0, 0.5, 0.9, 1.0] {
        let start = erdos_renyi(EdgeKind::Undirected, 40, 200, 1).unwrap();
        let mut present: BTreeSet<Edge> = start.iter().copied().collect();
        let mix = ChangeMix {
            deletions,
            ..ChangeMix::default()
        };
        let (mut deleted, mut count) = (0, 0);
        for change in Changes::new(EdgeKind::Undirected, 40, &start, mix, 9).take(500) {
            count += 1;
            let changed = match change {
                EdgeChange::Insert(edge) => present.insert(edge),
                EdgeChange::Delete(edge) => {
                    deleted += 1;
                    present.remove(&edge)
                }
            };
            assert!(changed, "{change:?}");
        }
        assert_eq!(count, 500);
        assert_eq!(deleted == 0, deletions == 0.0);
    }
}

fn record(inserts: bool, from: u64, to: u64, time: i64) -> StreamRecord {
    StreamRecord {
        inserts,
        from,
        to,
        time: Some(time),
    }
}

#[test]
fn window_expires_a_pair_once_after_its_last_insertion() {
    let input = [
        record(true, 1, 2, 0),
        record(true, 2, 1, 5),
        record(true, 3, 4, 6),
        record(false, 3, 4, 7),
        // Earlier than the one before: counts as 6.
        record(true, 5, 6, 2),
        record(true, 7, 8, 15),
        record(true, 7, 8, 40),
    ];
    let expected = [
        input[0],
        input[1],
        input[2],
        record(true, 5, 6, 6),
        record(false, 1, 2, 15),
        input[5],
        record(false, 3, 4, 16),
        record(false, 5, 6, 16),
        record(false, 7, 8, 25),
        input[6],
    ];
    assert_eq!(window(EdgeKind::Undirected, &input, 10), expected);
}

#[test]
fn graphs_beyond_the_limits_are_refused() {
    let shares = RmatShares::default();
    for kind in KINDS {
        assert!(erdos_renyi(kind, VERTEX_LIMIT, 9 << 59, 1).is_err());
        assert!(erdos_renyi(kind, VERTEX_LIMIT, EDGE_LIMIT + 1, 1).is_err());
        assert!(erdos_renyi(kind, VERTEX_LIMIT + 1, 5, 1).is_err());
        assert_eq!(erdos_renyi(kind, VERTEX_LIMIT, 5, 1).unwrap().len(), 5);
        assert!(rmat(kind, 31, EDGE_LIMIT + 1, shares, 1).is_err());
        assert!(rmat(kind, 1, u64::MAX, shares, 1).is_err());
    }
    assert!(barabasi_albert(u32::MAX, i32::MAX as u32, 1).is_err());
    assert!(barabasi_albert(VERTEX_LIMIT, i32::MAX as u32, 1).is_err());
    assert!(delaunay(u32::MAX, 1).is_err());
}
