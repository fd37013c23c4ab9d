//! [`Speculator`]: work ahead of the batches of clients, on the replica that no reader sees.

use std::time::{Duration, Instant};

use reuselens_graph::formats::stream::StreamRecord;

use super::Confirmed;
use crate::speculation::{
    SpeculationCounts, SpeculationKind, SpeculativeStep, SpeculativeWork, TimedChange,
};

/// Works ahead while no batch waits, and learns from each batch.
///
/// What it learns is not in the update log: after a start it knows nothing of earlier batches.
pub struct Speculator {
    work: SpeculativeWork,
    /// The latest time of a change; changes without a time have this one.
    now: i64,
    /// The time that the last work took, and when it ended.
    idle: Duration,
    ended: Instant,
    changes: Vec<TimedChange>,
}

/// What a batch showed.
#[derive(Clone, Copy, Debug)]
pub struct LearnedBatch {
    /// The time that the work ahead of it took; nothing if it came before there was time to work.
    pub idle: Option<Duration>,
    /// How long the batch waited for the end of that work.
    pub waited: Duration,
    /// Processor time that was wasted for it.
    pub wasted: Duration,
}

impl Speculator {
    /// For a stream whose window is `window` long, in the unit of the times of its changes.
    pub fn new(kind: SpeculationKind, window: Option<u64>) -> Self {
        Self {
            work: SpeculativeWork::new(kind, window, None),
            now: i64::MIN,
            idle: Duration::ZERO,
            ended: Instant::now(),
            changes: Vec::new(),
        }
    }

    /// The work and its gates.
    pub fn work(&self) -> &SpeculativeWork {
        &self.work
    }

    /// Works ahead of the next batch, unless that is done. Returns what is changed ahead if there
    /// was something to do.
    pub fn work_ahead(&mut self, confirmed: &Confirmed) -> Option<SpeculationCounts> {
        if self.work.had_time() {
            return None;
        }
        let work = &mut self.work;
        let (idle, ahead) =
            confirmed.work_ahead(|answers| (work.work(answers, &[]), answers.ahead()));
        (self.idle, self.ended) = (idle, Instant::now());
        Some(ahead)
    }

    /// Learns from the batch that was applied last, and what it did. Its request came at `begun`.
    pub fn learn(
        &mut self,
        confirmed: &Confirmed,
        records: &[StreamRecord],
        step: &mut SpeculativeStep,
        begun: Instant,
    ) -> LearnedBatch {
        self.changes.clear();
        for (record, change) in records.iter().zip(&confirmed.read().changes) {
            self.now = self.now.max(record.time.unwrap_or(self.now));
            self.changes.push(TimedChange {
                change: *change,
                time: record.time.unwrap_or(self.now),
            });
        }
        let had_time = self.work.had_time();
        let waited = if had_time {
            self.ended.saturating_duration_since(begun)
        } else {
            Duration::ZERO
        };
        // The wait is part of what the work costs, so the gates must see it.
        step.latency += waited;
        let wasted = self.work.learn(&self.changes, step);
        LearnedBatch {
            idle: had_time.then_some(self.idle),
            waited,
            wasted,
        }
    }
}
