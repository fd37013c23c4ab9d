//! [`SpeculationRun`]: one way of working ahead, over a stream, with what it took.

use reuselens_graph::{EdgeChange, VertexId};

use super::{
    KINDS, NamedGate, SpeculationKind, SpeculationTotals, SpeculativeAnswers, SpeculativeWork,
    TimedChange,
};
use crate::answers::Answers;
use crate::latency::Latencies;
use crate::timeline::{Merge, Timeline};

/// Answers with one way of working ahead.
pub struct SpeculationRun {
    answers: SpeculativeAnswers,
    work: SpeculativeWork,
    /// From a batch to its answers.
    pub latency: Latencies,
    /// What was done ahead.
    pub totals: SpeculationTotals,
    /// Both over time.
    pub timeline: Timeline<SpeculationWindow>,
}

/// What a run did in consecutive batches.
#[derive(Clone, Debug, Default)]
pub struct SpeculationWindow {
    /// The sum of the latencies, in nanoseconds.
    pub latency: u64,
    /// Processor time that was wasted, in nanoseconds.
    pub wasted: u64,
    /// Edges that were changed ahead.
    pub ahead: u64,
    /// Those whose change was taken back.
    pub taken_back: u64,
    /// Batches before which each of [`KINDS`] was enabled.
    pub enabled: [u64; KINDS.len()],
}

impl Merge for SpeculationWindow {
    fn merge(&mut self, other: &Self) {
        self.latency += other.latency;
        self.wasted += other.wasted;
        self.ahead += other.ahead;
        self.taken_back += other.taken_back;
        let all = self.enabled.iter_mut().zip(other.enabled);
        all.for_each(|(one, more)| *one += more);
    }
}

impl SpeculationRun {
    /// For a stream whose window is `window` long, and whose batches are `every` long.
    pub fn new(
        kind: SpeculationKind,
        answers: Answers,
        window: Option<u64>,
        every: Option<u64>,
    ) -> Self {
        Self {
            answers: SpeculativeAnswers::new(answers),
            work: SpeculativeWork::new(kind, window, every),
            latency: Latencies::default(),
            totals: SpeculationTotals::default(),
            timeline: Timeline::default(),
        }
    }

    /// What it does ahead.
    pub fn kind(&self) -> SpeculationKind {
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
        let enabled = self.work.enabled_kinds();
        let step = self.answers.apply(&changes, vertices);
        self.latency.add(step.latency);
        let wasted = self.work.learn(batch, &step);
        self.totals.add(idle, &step, wasted);
        self.timeline.add(|window| {
            window.merge(&SpeculationWindow {
                latency: step.latency.as_nanos() as u64,
                wasted: wasted.as_nanos() as u64,
                ahead: step.ahead.sum(),
                taken_back: step.taken_back.sum(),
                enabled: enabled.map(u64::from),
            });
        });
    }

    /// Nanoseconds a batch that this saves of the latency of another.
    pub fn saved(&self, off: &SpeculationRun) -> i64 {
        off.latency.mean() as i64 - self.latency.mean() as i64
    }

    /// As [`saved`](Self::saved), less what was wasted.
    pub fn net(&self, off: &SpeculationRun) -> i64 {
        self.saved(off) - self.totals.wasted_per_batch() as i64
    }

    /// What the gates decided.
    pub fn gates(&self) -> Vec<NamedGate> {
        self.work.gates()
    }
}
