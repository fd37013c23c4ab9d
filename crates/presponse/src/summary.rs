//! [`RunSummary`]: what a run took, as text and as JSON.

use std::time::Duration;

use reuselens_document::{Table, TableColumn};
use reuselens_incremental::{Choice, Work};
use reuselens_units::{counted, grouped};
use serde_json::{Value, json};

use crate::answers::{AnswerTotals, BatchStep, SERIES};
use crate::latency::Latencies;
use crate::timeline::{Merge, Timeline};

/// The three answers are from here on in [`SERIES`].
const FIRST_ANSWER: usize = 1;

/// The columns of [`RunSummary::table`].
const TABLE_HEADS: [&str; 9] = [
    "Latency of a batch",
    "p50",
    "p99",
    "p999",
    "longest",
    "unchanged",
    "repaired",
    "recomputed",
    "affected",
];

/// Latencies and work of many batches.
#[derive(Clone, Debug, Default)]
pub struct RunSummary {
    /// Batches.
    pub batches: u64,
    /// Changes that were asked for.
    pub changes: u64,
    /// Edges that came.
    pub inserted: u64,
    /// Edges that went.
    pub deleted: u64,
    /// Latencies by [`SERIES`].
    pub latencies: [Latencies; SERIES.len()],
    /// Latencies of depths, components and triangles with that of the graph.
    pub with_graph: [Latencies; 3],
    /// Latencies and work over time.
    pub timeline: Timeline<RunWindow>,
    /// Batches in which an answer did not change, was repaired, was recomputed.
    pub choices: [[u64; 3]; 3],
    /// Vertices whose answer had to be found again.
    pub affected: [u64; 3],
}

/// What a run keeps of consecutive batches, by [`SERIES`].
#[derive(Clone, Debug, Default)]
pub struct RunWindow {
    /// Latencies.
    pub latencies: [Latencies; SERIES.len()],
    /// The sum of affected vertices; of the graph, of changed edges.
    pub affected: [u64; SERIES.len()],
}

impl Merge for RunWindow {
    fn merge(&mut self, other: &Self) {
        for (one, more) in self.latencies.iter_mut().zip(&other.latencies) {
            one.merge(more);
        }
        for (one, more) in self.affected.iter_mut().zip(other.affected) {
            *one += more;
        }
    }
}

impl RunSummary {
    /// Counts a batch of `changes`.
    pub fn add(&mut self, changes: usize, step: &BatchStep) {
        self.batches += 1;
        self.changes += changes as u64;
        self.inserted += step.delta.inserted.len() as u64;
        self.deleted += step.delta.deleted.len() as u64;
        for (series, latency) in self.latencies.iter_mut().zip(step.latencies) {
            series.add(latency);
        }
        for (series, latency) in self
            .with_graph
            .iter_mut()
            .zip(&step.latencies[FIRST_ANSWER..])
        {
            series.add(step.latencies[0] + *latency);
        }
        self.timeline.add(|window| {
            let each = window.latencies.iter_mut().zip(step.latencies);
            each.for_each(|(series, latency)| series.add(latency));
            let each = window.affected.iter_mut().zip(step.affected());
            each.for_each(|(sum, more)| *sum += more);
        });
        for (
            answer,
            Work {
                choice, affected, ..
            },
        ) in step.work.into_iter().enumerate()
        {
            let place = match choice {
                Choice::Unchanged => 0,
                Choice::Repaired => 1,
                Choice::Recomputed => 2,
            };
            self.choices[answer][place] += 1;
            self.affected[answer] += affected;
        }
    }

    /// The time that all batches took together.
    pub fn busy(&self) -> Duration {
        let all = &self.latencies[SERIES.len() - 1];
        Duration::from_nanos(all.mean().saturating_mul(all.count()))
    }

    /// Changes per second of that time.
    pub fn rate(&self) -> f64 {
        self.changes as f64 / self.busy().as_secs_f64().max(1e-9)
    }

    /// A table of latencies, and what was done for each answer. Percentiles are shown once there
    /// are enough batches for them.
    pub fn table(&self) -> Table {
        let row = |(at, name): (usize, &&str)| {
            let series = &self.latencies[at];
            let shown = |share: f64, least: u64| {
                if series.count() >= least {
                    nanoseconds(series.percentile(share))
                } else {
                    "–".to_owned()
                }
            };
            let mut row = vec![
                (*name).to_owned(),
                shown(0.5, 1),
                shown(0.99, 100),
                shown(0.999, 1000),
                nanoseconds(series.max()),
            ];
            if let Some(answer) = at.checked_sub(FIRST_ANSWER).filter(|answer| *answer < 3) {
                row.extend(self.choices[answer].map(grouped));
                row.push(grouped(self.affected[answer]));
            }
            row
        };
        let rows = SERIES.iter().enumerate().map(row);
        Table::new(TableColumn::all(&TABLE_HEADS, &[0]), rows)
    }

    /// Everything, for programs.
    pub fn json(&self) -> Value {
        let series = SERIES.iter().zip(&self.latencies).map(|(name, series)| {
            let value = latencies_json(series);
            ((*name).to_owned(), value)
        });
        let answers = SERIES[FIRST_ANSWER..]
            .iter()
            .zip(self.choices)
            .zip(self.affected);
        let answers = answers.map(|((name, [unchanged, repaired, recomputed]), affected)| {
            let value = json!({
                "unchanged": unchanged, "repaired": repaired, "recomputed": recomputed,
                "affected": affected,
            });
            ((*name).to_owned(), value)
        });
        json!({
            "batches": self.batches,
            "changes": self.changes,
            "inserted": self.inserted,
            "deleted": self.deleted,
            "changes_per_second": self.rate(),
            "latency_ns": series.collect::<serde_json::Map<_, _>>(),
            "answers": answers.collect::<serde_json::Map<_, _>>(),
        })
    }
}

/// Percentiles in nanoseconds.
pub fn latencies_json(series: &Latencies) -> Value {
    json!({
        "count": series.count(),
        "mean": series.mean(),
        "p50": series.percentile(0.5),
        "p99": series.percentile(0.99),
        "p999": series.percentile(0.999),
        "max": series.max(),
    })
}

/// Sums of answers on one line.
pub fn totals_line(totals: &AnswerTotals) -> String {
    let reached = counted(totals.reached, "vertex", "vertices");
    let components = counted(totals.components, "component", "components");
    let triangles = counted(totals.triangles, "triangle", "triangles");
    let mean = totals.depth_sum as f64 / totals.reached.max(1) as f64;
    format!("{reached} reached at depth {mean:.2} on average, {components}, {triangles}")
}

/// A duration that may be below 0, with three digits.
pub fn signed_nanoseconds(value: i64) -> String {
    match value {
        0.. => nanoseconds(value.unsigned_abs()),
        _ => format!("-{}", nanoseconds(value.unsigned_abs())),
    }
}

/// A duration with three digits.
pub fn nanoseconds(value: u64) -> String {
    let value = value as f64;
    let (value, unit) = match value {
        _ if value < 1e3 => return format!("{value:.0} ns"),
        _ if value < 1e6 => (value / 1e3, "µs"),
        _ if value < 1e9 => (value / 1e6, "ms"),
        _ => (value / 1e9, "s"),
    };
    match value {
        _ if value < 10.0 => format!("{value:.2} {unit}"),
        _ if value < 100.0 => format!("{value:.1} {unit}"),
        _ => format!("{value:.0} {unit}"),
    }
}
