//! Walks: transition probabilities against brute force, and what they visit.

use std::collections::BTreeMap;

use proptest::prelude::*;
use reuselens_link_prediction::{Node2vecOptions, Pair, SimpleGraph, Walks};

/// A graph with triangles, a square, a vertex of degree one and a vertex without edges.
fn graph() -> SimpleGraph {
    let edges = [
        (0, 1),
        (0, 2),
        (1, 2),
        (1, 3),
        (2, 4),
        (3, 4),
        (3, 5),
        (1, 4),
    ];
    let pairs: Vec<Pair> = edges
        .iter()
        .filter_map(|(u, v)| Pair::new(*u, *v))
        .collect();
    SimpleGraph::new(7, &pairs)
}

/// The probability of each next vertex, by the definition.
fn transition(graph: &SimpleGraph, from: u32, at: u32, p: f64, q: f64) -> BTreeMap<u32, f64> {
    let weight = |next: u32| {
        if next == from {
            1.0 / p
        } else if (0..7).any(|x| x == next && graph.neighbours(from).contains(&x)) {
            1.0
        } else {
            1.0 / q
        }
    };
    let total: f64 = graph.neighbours(at).iter().map(|next| weight(*next)).sum();
    let next = graph.neighbours(at).iter();
    next.map(|next| (*next, weight(*next) / total)).collect()
}

/// χ² and degrees of freedom of all steps of walks, against the definition.
fn chi_square(p: f64, q: f64) -> (f64, f64) {
    let graph = graph();
    let options = Node2vecOptions {
        walk_length: 100,
        walks_per_vertex: 400,
        p,
        q,
        seed: 11,
        ..Node2vecOptions::default()
    };
    let mut counts: BTreeMap<(u32, u32), BTreeMap<u32, f64>> = BTreeMap::new();
    for walk in Walks::new(&graph, &options).iter() {
        for step in walk.windows(3) {
            let next = counts.entry((step[0], step[1])).or_default();
            *next.entry(step[2]).or_default() += 1.0;
        }
    }
    let (mut sum, mut freedom) = (0.0, 0.0);
    for ((from, at), next) in counts {
        let steps: f64 = next.values().sum();
        let expected = transition(&graph, from, at, p, q);
        assert!(next.keys().all(|vertex| expected.contains_key(vertex)));
        for (vertex, share) in &expected {
            let expected = share * steps;
            let seen = next.get(vertex).copied().unwrap_or(0.0);
            sum += (seen - expected).powi(2) / expected;
        }
        freedom += expected.len() as f64 - 1.0;
    }
    (sum, freedom)
}

#[test]
fn steps_have_the_probabilities_of_the_definition() {
    for (p, q) in [(1.0, 1.0), (0.25, 4.0), (4.0, 0.25), (0.5, 0.5), (3.0, 3.0)] {
        let (sum, freedom) = chi_square(p, q);
        assert!(freedom > 15.0);
        // χ² has the mean `freedom` and the variance twice that: six deviations.
        let limit = freedom + 6.0 * (2.0 * freedom).sqrt();
        assert!(sum < limit, "p {p}, q {q}: χ² {sum:.1}, limit {limit:.1}");
    }
}

#[test]
fn each_linked_vertex_starts_a_walk_in_each_round() {
    let options = Node2vecOptions {
        walk_length: 5,
        walks_per_vertex: 3,
        ..Node2vecOptions::default()
    };
    let graph = graph();
    let walks = Walks::new(&graph, &options);
    assert_eq!(walks.visits(), 6 * 3 * 5);
    let starts: Vec<u32> = walks.iter().map(|walk| walk[0]).collect();
    for round in starts.chunks(6) {
        let mut round = round.to_vec();
        round.sort_unstable();
        assert_eq!(round, [0, 1, 2, 3, 4, 5]);
    }
    assert_ne!(starts[..6], starts[6..12]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn walks_follow_edges_and_do_not_depend_on_threads(
        edges in prop::collection::vec((0u32..40, 0u32..40), 0..120),
        seed: u64,
        length in 1usize..30,
    ) {
        let pairs: Vec<Pair> = edges.iter().filter_map(|(u, v)| Pair::new(*u, *v)).collect();
        let graph = SimpleGraph::new(0, &pairs);
        let options = Node2vecOptions {
            walk_length: length,
            p: 0.5,
            q: 2.0,
            seed,
            ..Node2vecOptions::default()
        };
        let walks = Walks::new(&graph, &options);
        for walk in walks.iter() {
            prop_assert!(walk.windows(2).all(|step| graph.has_edge(step[0], step[1])));
        }
        let threads = 4;
        prop_assert_eq!(&walks, &Walks::new(&graph, &Node2vecOptions { threads, ..options.clone() }));
    }
}
