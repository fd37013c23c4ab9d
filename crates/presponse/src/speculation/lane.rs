//! [`Lane`]: one way of working ahead, over a stream, with what it took.

use reuselens_graph::{EdgeChange, VertexId};

use super::work::{AheadTotals, NamedGate};
use super::{AheadAnswers, AheadKind, TimedChange, WorkAhead};
use crate::answers::Answers;
use crate::latency::Latencies;

/// Answers with one way of working ahead.
pub struct Lane {
    answers: AheadAnswers,
    work: WorkAhead,
    /// From a batch to its answers.
    pub latency: Latencies,
    /// What was done ahead.
    pub totals: AheadTotals,
}

impl Lane {
    /// For a stream whose window is `window` long, and whose batches are `every` long.
    pub fn new(kind: AheadKind, answers: Answers, window: Option<u64>, every: Option<u64>) -> Self {
        Self {
            answers: AheadAnswers::new(answers),
            work: WorkAhead::new(kind, window, every),
            latency: Latencies::default(),
            totals: AheadTotals::default(),
        }
    }

    /// What it does ahead.
    pub fn kind(&self) -> AheadKind {
        self.work.kind()
    }

    /// The answers after the last batch.
    pub fn answers(&self) -> &Answers {
        self.answers.answers()
    }

    /// Works ahead, as between two batches, and then applies the batch.
    pub fn batch(&mut self, batch: &[TimedChange], vertices: VertexId) {
        let changes: Vec<EdgeChange> = batch.iter().map(|timed| timed.change).collect();
        let idle = self.work.work(&mut self.answers, &changes);
        let step = self.answers.apply(&changes, vertices);
        self.latency.add(step.latency);
        let wasted = self.work.learn(batch, &step);
        self.totals.add(idle, &step, wasted);
    }

    /// Nanoseconds a batch that this saves of the latency of another.
    pub fn saved(&self, off: &Lane) -> i64 {
        off.latency.mean() as i64 - self.latency.mean() as i64
    }

    /// As [`saved`](Self::saved), less what was wasted.
    pub fn net(&self, off: &Lane) -> i64 {
        self.saved(off) - self.totals.wasted_per_batch() as i64
    }

    /// What the gates decided.
    pub fn gates(&self) -> Vec<NamedGate> {
        self.work.gates()
    }
}
