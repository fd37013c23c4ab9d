//! [`Expiries`]: edges that will leave a sliding window.

use std::collections::VecDeque;

use hashbrown::HashMap;
use reuselens_graph::{Edge, EdgeChange, SortedGraph, StoredGraph};

use super::{ChangePredictor, Horizon, TimedChange};

/// Knows when edges leave a window: once their last insertion is as old as the window is long.
#[derive(Clone, Debug)]
pub struct Expiries {
    window: u64,
    now: i64,
    /// Insertions by time. Of an edge that was inserted again, the earlier ones do not count.
    waiting: VecDeque<(i64, Edge)>,
    /// When each edge in the window was inserted last.
    last: HashMap<Edge, i64>,
}

impl Expiries {
    /// For a window of this length, in the unit of the stream.
    pub fn new(window: u64) -> Self {
        Self {
            window,
            now: i64::MIN,
            waiting: VecDeque::new(),
            last: HashMap::new(),
        }
    }
}

impl ChangePredictor for Expiries {
    fn predict(&mut self, graph: &SortedGraph, horizon: Horizon) -> Vec<EdgeChange> {
        let until = self.now.saturating_add_unsigned(horizon.time);
        let ends = |begun: i64| begun.saturating_add_unsigned(self.window) <= until;
        let expiring = self.waiting.iter().take_while(|(begun, _)| ends(*begun));
        expiring
            .filter(|(begun, edge)| self.last.get(edge) == Some(begun) && graph.contains(*edge))
            .map(|(_, edge)| EdgeChange::Delete(*edge))
            .take(horizon.deletions)
            .collect()
    }

    fn learn(&mut self, batch: &[TimedChange]) {
        for &TimedChange { change, time } in batch {
            self.now = self.now.max(time);
            match change {
                EdgeChange::Insert(edge) => {
                    if self.last.insert(edge, self.now) != Some(self.now) {
                        self.waiting.push_back((self.now, edge));
                    }
                }
                EdgeChange::Delete(edge) => {
                    self.last.remove(&edge);
                }
            }
        }
        while let Some((begun, edge)) = self.waiting.front()
            && self.last.get(edge) != Some(begun)
        {
            self.waiting.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use reuselens_graph::EdgeKind;

    use super::*;

    #[test]
    fn edges_expire_once_their_last_insertion_is_old() {
        let edge = |v| Edge::new(EdgeKind::Undirected, 0, v);
        let insert = |v, time| TimedChange {
            change: EdgeChange::Insert(edge(v)),
            time,
        };
        let mut graph = SortedGraph::new(EdgeKind::Undirected, 4);
        graph.apply(&[1, 2, 3].map(|v| EdgeChange::Insert(edge(v))));
        let mut expiries = Expiries::new(10);
        // Vertex 1 is renewed at time 4.
        let within = |time| Horizon { time, deletions: 2 };
        expiries.learn(&[insert(1, 0), insert(2, 2), insert(1, 4), insert(3, 5)]);
        assert_eq!(expiries.predict(&graph, within(6)), []);
        assert_eq!(
            expiries.predict(&graph, within(7)),
            [EdgeChange::Delete(edge(2))]
        );
        let both = [2, 1].map(|v| EdgeChange::Delete(edge(v)));
        assert_eq!(expiries.predict(&graph, within(100)), both);
        let gone = TimedChange {
            change: both[0],
            time: 12,
        };
        expiries.learn(&[gone]);
        assert_eq!(expiries.predict(&graph, within(2)), both[1..]);
    }
}
