//! [`SpeculativeAnswers`]: answers, with a batch that was applied ahead and can be corrected.

use std::time::{Duration, Instant};

use reuselens_graph::{Delta, Edge, EdgeChange, StoredGraph, VertexId};

use crate::answers::{Answers, BatchStep};

/// Answers that may be ahead of the last batch.
pub struct SpeculativeAnswers {
    answers: Answers,
    /// What was changed ahead, since the last batch.
    ahead: Delta,
}

/// What a batch took, with what was done ahead of it.
#[derive(Clone, Debug)]
pub struct SpeculativeStep {
    /// From the batch to its answers: the correction included.
    pub latency: Duration,
    /// The batch with its corrections. The delta is what changed since the last batch, also where
    /// it was changed ahead.
    pub step: BatchStep,
    /// Edges that had been changed ahead.
    pub ahead: SpeculationCounts,
    /// Those of them whose change had to be taken back.
    pub taken_back: SpeculationCounts,
}

/// Counts of edges that were changed ahead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpeculationCounts {
    /// Those that were inserted.
    pub inserted: u64,
    /// Those that were deleted.
    pub deleted: u64,
}

impl SpeculationCounts {
    fn of(delta: &Delta) -> Self {
        Self {
            inserted: delta.inserted.len() as u64,
            deleted: delta.deleted.len() as u64,
        }
    }

    /// Both together.
    pub fn sum(self) -> u64 {
        self.inserted + self.deleted
    }
}

impl std::ops::AddAssign for SpeculationCounts {
    fn add_assign(&mut self, other: Self) {
        self.inserted += other.inserted;
        self.deleted += other.deleted;
    }
}

impl SpeculativeAnswers {
    /// Nothing is ahead yet.
    pub fn new(answers: Answers) -> Self {
        Self {
            answers,
            ahead: Delta::default(),
        }
    }

    /// The answers. Between a call of [`work_ahead`](Self::work_ahead) and the next batch they are
    /// not those of the last batch.
    pub fn answers(&self) -> &Answers {
        &self.answers
    }

    /// Edges that are changed ahead of the next batch.
    pub fn ahead(&self) -> SpeculationCounts {
        SpeculationCounts::of(&self.ahead)
    }

    /// Applies changes ahead, at most once between two batches. How long that took.
    pub fn work_ahead(&mut self, changes: &[EdgeChange]) -> Duration {
        let start = Instant::now();
        if !changes.is_empty() {
            let vertices = self.answers.graph().vertices();
            self.ahead = self.answers.apply(changes, vertices).delta;
        }
        start.elapsed()
    }

    /// Applies a batch, and takes back what was done ahead and it does not ask for. `vertices` is
    /// the count of vertices after it. The answers are then those of the graph with this batch.
    pub fn apply(&mut self, batch: &[EdgeChange], vertices: VertexId) -> SpeculativeStep {
        let start = Instant::now();
        let ahead = std::mem::take(&mut self.ahead);
        let wrong = unconfirmed(&ahead, batch);
        let mut step = if wrong.is_empty() {
            self.answers.apply(batch, vertices)
        } else {
            let deletions = wrong.inserted.iter().copied().map(EdgeChange::Delete);
            let insertions = wrong.deleted.iter().copied().map(EdgeChange::Insert);
            let batch = batch.iter().copied();
            let changes: Vec<_> = deletions.chain(insertions).chain(batch).collect();
            self.answers.apply(&changes, vertices)
        };
        let latency = start.elapsed();
        let counts = SpeculationCounts::of(&ahead);
        if counts.sum() > 0 {
            step.delta = ahead.followed_by(step.delta);
        }
        SpeculativeStep {
            latency,
            step,
            ahead: counts,
            taken_back: SpeculationCounts::of(&wrong),
        }
    }
}

/// The part of `ahead` whose edges `batch` does not name. For an edge that it names, the batch
/// decides, as if nothing had been done ahead. Costs a binary search in `ahead` for each change:
/// the batch is not sorted, since that would cost more than what was done ahead often saves.
fn unconfirmed(ahead: &Delta, batch: &[EdgeChange]) -> Delta {
    let open = |edges: &[Edge]| -> Vec<Edge> {
        let mut named = vec![false; edges.len()];
        // A list without edges confirms nothing, so the batch is not read for it.
        for change in batch.iter().filter(|_| !edges.is_empty()) {
            if let Ok(at) = edges.binary_search(&change.edge()) {
                named[at] = true;
            }
        }
        let edges = edges.iter().zip(named);
        edges
            .filter_map(|(edge, named)| (!named).then_some(*edge))
            .collect()
    };
    Delta {
        inserted: open(&ahead.inserted),
        deleted: open(&ahead.deleted),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use reuselens_graph::{EdgeKind, SortedGraph};

    use super::*;
    use crate::answers::Rules;

    const VERTICES: VertexId = 12;

    fn answers() -> Answers {
        let graph = SortedGraph::new(EdgeKind::Undirected, VERTICES);
        Answers::new(graph, 0, Rules::Ours, 1)
    }

    fn change() -> impl Strategy<Value = EdgeChange> {
        (any::<bool>(), 0..VERTICES, 0..VERTICES).prop_map(|(inserts, u, v)| {
            let edge = Edge::new(EdgeKind::Undirected, u, v);
            if inserts {
                EdgeChange::Insert(edge)
            } else {
                EdgeChange::Delete(edge)
            }
        })
    }

    proptest! {
        /// Whatever is done ahead, answers after a batch are those without it.
        #[test]
        fn answers_do_not_depend_on_what_was_done_ahead(
            steps in prop::collection::vec(
                (prop::collection::vec(change(), 0..10), prop::collection::vec(change(), 0..20)),
                1..12,
            ),
        ) {
            let (mut plain, mut ahead) = (answers(), SpeculativeAnswers::new(answers()));
            for (guess, batch) in steps {
                ahead.work_ahead(&guess);
                let step = ahead.apply(&batch, VERTICES);
                prop_assert!(step.taken_back.sum() <= step.ahead.sum());
                let wanted = plain.apply(&batch, VERTICES);
                prop_assert_eq!(wanted.delta, step.step.delta);
                prop_assert_eq!(plain.depths(), ahead.answers().depths());
                prop_assert_eq!(plain.components(), ahead.answers().components());
                prop_assert_eq!(plain.triangles(), ahead.answers().triangles());
            }
        }
    }

    #[test]
    fn what_the_batch_confirms_is_not_taken_back() {
        let kind = EdgeKind::Undirected;
        let [a, b] = [Edge::new(kind, 0, 1), Edge::new(kind, 1, 2)];
        let mut ahead = SpeculativeAnswers::new(answers());
        ahead.work_ahead(&[EdgeChange::Insert(a), EdgeChange::Insert(b)]);
        let step = ahead.apply(&[EdgeChange::Insert(b)], VERTICES);
        assert_eq!((step.ahead.inserted, step.taken_back.inserted), (2, 1));
        assert_eq!(
            ahead.answers().depths()[1],
            reuselens_incremental::UNREACHED
        );
    }
}
