//! What a batch changed, without directions.

use reuselens_graph::{Delta, Edge, EdgeKind, StoredGraph};

/// What a batch changed in the graph without directions. `graph` is the one after the batch.
///
/// Costs two lookups in the graph for each changed edge, if it is directed.
pub(crate) fn undirected_delta<G: StoredGraph>(graph: &G, delta: &Delta) -> Delta {
    if graph.kind() == EdgeKind::Undirected {
        return delta.clone();
    }
    let edges = delta.inserted.iter().chain(&delta.deleted);
    let mut pairs: Vec<Edge> = edges
        .map(|edge| Edge::new(EdgeKind::Undirected, edge.from, edge.to))
        .collect();
    pairs.sort_unstable();
    pairs.dedup();
    let mut changed = Delta::default();
    for pair in pairs {
        let directions = [
            pair,
            Edge {
                from: pair.to,
                to: pair.from,
            },
        ];
        let is_there = directions.map(|edge| graph.contains(edge));
        let mut was_there = false;
        for (edge, is_there) in directions.iter().zip(is_there) {
            let inserted = delta.inserted.binary_search(edge).is_ok();
            was_there |= (is_there && !inserted) || delta.deleted.binary_search(edge).is_ok();
        }
        match (was_there, is_there[0] || is_there[1]) {
            (false, true) => changed.inserted.push(pair),
            (true, false) => changed.deleted.push(pair),
            _ => {}
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use reuselens_graph::{EdgeChange, SortedGraph};

    #[test]
    fn an_edge_with_an_opposite_one_changes_nothing() {
        let edge = |from, to| Edge { from, to };
        let mut graph = SortedGraph::new(EdgeKind::Directed, 4);
        graph.apply(&[EdgeChange::Insert(edge(0, 1))]);
        let delta = graph.apply(&[
            EdgeChange::Insert(edge(1, 0)),
            EdgeChange::Delete(edge(0, 1)),
            EdgeChange::Insert(edge(3, 2)),
            EdgeChange::Insert(edge(2, 3)),
        ]);
        let changed = undirected_delta(&graph, &delta);
        assert_eq!(changed.inserted, [edge(2, 3)]);
        assert_eq!(changed.deleted, []);
        let delta = graph.apply(&[
            EdgeChange::Delete(edge(1, 0)),
            EdgeChange::Delete(edge(3, 2)),
        ]);
        let changed = undirected_delta(&graph, &delta);
        assert_eq!(changed.inserted, []);
        assert_eq!(changed.deleted, [edge(0, 1)]);
    }
}
