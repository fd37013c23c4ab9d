//! [`EdgeBankInsertions`]: pairs that will probably be inserted again.

use reuselens_graph::{Edge, EdgeChange, EdgeKind, SortedGraph, StoredGraph};
use reuselens_link_prediction::{EdgeBank, History, TemporalEdge, predict_batch};

use super::{ChangePredictor, Horizon, TimedChange};

/// Pairs that are scored: the latest of those that were seen.
const CANDIDATES: usize = 4096;

/// EdgeBank: predicts as many insertions as the last batch had, of the pairs that were inserted
/// most often and are absent now.
#[derive(Clone, Debug, Default)]
pub struct EdgeBankInsertions {
    history: History,
    /// Insertions of the last batch.
    expected: usize,
}

impl ChangePredictor for EdgeBankInsertions {
    fn predict(&mut self, graph: &SortedGraph, _horizon: Horizon) -> Vec<EdgeChange> {
        if graph.kind() == EdgeKind::Directed {
            // The predictor knows pairs only.
            return Vec::new();
        }
        let mut absent = self.history.recent_pairs(CANDIDATES);
        absent.retain(|pair| !graph.contains(edge(pair.low(), pair.high())));
        absent.sort_unstable();
        absent.dedup();
        let pairs = predict_batch(&self.history, &EdgeBank::Unlimited, &absent, self.expected);
        let insert = |pair: &reuselens_link_prediction::Pair| {
            EdgeChange::Insert(edge(pair.low(), pair.high()))
        };
        pairs.iter().map(insert).collect()
    }

    fn learn(&mut self, batch: &[TimedChange]) {
        self.expected = 0;
        for &TimedChange { change, time } in batch {
            let EdgeChange::Insert(Edge { from, to }) = change else {
                continue;
            };
            self.expected += 1;
            // Times that go back count as the latest one.
            let time = self.history.now().map_or(time, |now| now.max(time));
            let edge = TemporalEdge {
                u: from,
                v: to,
                time,
            };
            self.history
                .insert(edge)
                .expect("the time was made not to go back");
        }
    }
}

fn edge(u: u32, v: u32) -> Edge {
    Edge::new(EdgeKind::Undirected, u, v)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_frequent_absent_pairs_are_predicted() {
        let insert = |u, v| TimedChange {
            change: EdgeChange::Insert(edge(u, v)),
            time: 0,
        };
        let mut edge_bank = EdgeBankInsertions::default();
        edge_bank.learn(&[
            insert(0, 1),
            insert(0, 1),
            insert(2, 3),
            insert(2, 3),
            insert(4, 5),
        ]);
        edge_bank.learn(&[insert(6, 7)]);
        let mut graph = SortedGraph::new(EdgeKind::Undirected, 8);
        graph.apply(&[EdgeChange::Insert(edge(0, 1))]);
        let predicted = edge_bank.predict(
            &graph,
            Horizon {
                time: 0,
                deletions: 0,
            },
        );
        assert_eq!(predicted, [EdgeChange::Insert(edge(2, 3))]);
    }
}
