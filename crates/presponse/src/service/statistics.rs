//! [`ServiceStatistics`]: what the service has done since it began.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::speculator::LearnedBatch;
use crate::latency::Latencies;
use crate::speculation::{NamedGate, SpeculationCounts, SpeculationTotals, SpeculativeStep};
use crate::summary::{RunSummary, latencies_json};

/// Counts of all threads.
#[derive(Debug)]
pub struct ServiceStatistics {
    begun: Instant,
    /// Connections now.
    pub clients: AtomicU64,
    /// Connections so far.
    pub connections: AtomicU64,
    /// Questions that were answered from the confirmed state.
    pub questions: AtomicU64,
    /// Requests that were refused.
    pub refused: AtomicU64,
    batches: Mutex<BatchTimes>,
}

/// What the writer measures.
#[derive(Debug, Default)]
pub struct BatchTimes {
    /// Time and work of the answers.
    pub run: RunSummary,
    /// From the request to the acknowledgement, without the network.
    pub acknowledged: Latencies,
    /// Writing and syncing of the log.
    pub log: Latencies,
    /// Applying the batch to the other replica, after the acknowledgement.
    pub catch_up: Latencies,
    /// Bytes of the log.
    pub log_bytes: u64,
    /// What was done ahead of batches; nothing where that is off.
    pub speculation: Option<SpeculationTimes>,
}

/// What work ahead did.
#[derive(Clone, Debug, Default)]
pub struct SpeculationTimes {
    /// Edges that are changed ahead of the next batch.
    pub ahead_now: SpeculationCounts,
    /// Over all batches that left time to work ahead of them.
    totals: SpeculationTotals,
    /// How long such batches waited for the end of that work.
    waited: Latencies,
    gates: Vec<NamedGate>,
}

impl SpeculationTimes {
    /// Counts a batch.
    pub fn add(&mut self, learned: LearnedBatch, step: &SpeculativeStep, gates: Vec<NamedGate>) {
        if let Some(idle) = learned.idle {
            self.totals.add(idle, step, learned.wasted);
            self.waited.add(learned.waited);
        }
        self.ahead_now = SpeculationCounts::default();
        self.gates = gates;
    }

    fn json(&self) -> Value {
        let gates = self.gates.iter().map(|(name, counts)| {
            let value = json!({"on": counts.on, "off": counts.off});
            ((*name).to_owned(), value)
        });
        json!({
            "ahead_now": self.ahead_now.sum(),
            "batches": self.totals.batches,
            "ahead": self.totals.ahead.sum(),
            "taken_back": self.totals.taken_back.sum(),
            "idle_ns": latencies_json(&self.totals.idle),
            "waited_ns": latencies_json(&self.waited),
            "wasted_ns_per_batch": self.totals.wasted_per_batch(),
            "gates": gates.collect::<serde_json::Map<_, _>>(),
        })
    }
}

impl ServiceStatistics {
    /// Nothing has happened yet.
    pub fn new() -> Self {
        Self {
            begun: Instant::now(),
            clients: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            questions: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            batches: Mutex::default(),
        }
    }

    /// Changes what the writer measures.
    pub fn batches(&self, change: impl FnOnce(&mut BatchTimes)) {
        change(
            &mut self
                .batches
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner),
        );
    }

    /// How long the service runs.
    pub fn uptime(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Everything, for programs.
    pub fn json(&self) -> Value {
        let mut value = Value::Null;
        self.batches(|times| {
            value = times.run.json();
            value["log_bytes"] = json!(times.log_bytes);
            let series = [
                ("acknowledged", &times.acknowledged),
                ("log", &times.log),
                ("catch_up", &times.catch_up),
            ];
            for (name, latencies) in series {
                value["latency_ns"][name] = latencies_json(latencies);
            }
            if let Some(speculation) = &times.speculation {
                value["speculation"] = speculation.json();
            }
        });
        let counts = [
            ("clients", &self.clients),
            ("connections", &self.connections),
            ("questions", &self.questions),
            ("refused", &self.refused),
        ];
        for (name, count) in counts {
            value[name] = json!(count.load(Ordering::Relaxed));
        }
        value["uptime_seconds"] = json!(self.uptime().as_secs_f64());
        value
    }
}
