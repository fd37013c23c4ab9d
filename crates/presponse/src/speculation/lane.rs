//! [`Lane`]: one way of working ahead, over a stream, with what it took.

use std::time::{Duration, Instant};

use reuselens_graph::{EdgeChange, VertexId};

use super::{
    AheadAnswers, AheadCounts, Expiries, Horizon, LookAhead, NetBenefitGate, Repeats, TimedChange,
    Warm,
};
use crate::answers::Answers;
use crate::latency::Latencies;

/// What is done ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneKind {
    /// Nothing.
    Off,
    /// Edges that leave a sliding window are deleted.
    Expiries,
    /// Pairs that were inserted often are inserted.
    Repeats,
    /// Neighbours of active vertices are read.
    Warm,
    /// All of these, each behind a gate.
    Gated,
    /// The next batch itself.
    Oracle,
}

impl LaneKind {
    /// All kinds, the baseline first.
    pub const ALL: [Self; 6] = [
        Self::Off,
        Self::Expiries,
        Self::Repeats,
        Self::Warm,
        Self::Gated,
        Self::Oracle,
    ];

    /// What tables call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Expiries => "expiries",
            Self::Repeats => "EdgeBank",
            Self::Warm => "warm",
            Self::Gated => "gated",
            Self::Oracle => "oracle",
        }
    }
}

/// A kind of work ahead with what decides about it.
struct Gated<T> {
    work: T,
    /// Without one the work is always done.
    gate: Option<NetBenefitGate>,
    /// What it took for the current batch.
    took: Duration,
}

impl<T> Gated<T> {
    fn new(work: T, gate: Option<NetBenefitGate>) -> Self {
        Self {
            work,
            gate,
            took: Duration::ZERO,
        }
    }

    /// Whether the work is done before the next batch.
    fn opens(&mut self) -> bool {
        self.took = Duration::ZERO;
        self.gate.as_mut().is_none_or(NetBenefitGate::opens)
    }

    /// The part of the time that went into changes that were taken back: `back` of `all`. All of
    /// it, if nothing was changed.
    fn wasted(&self, back: u64, all: u64) -> Duration {
        match all {
            0 => self.took,
            _ => self.took.mul_f64(back as f64 / all as f64),
        }
    }

    /// Tells the gate what the batch took and what was wasted for it; returns the latter.
    fn learn(&mut self, latency: Duration, wasted: Duration) -> Duration {
        if let Some(gate) = &mut self.gate {
            gate.learn(latency, wasted);
        }
        wasted
    }
}

/// Answers with one way of working ahead.
pub struct Lane {
    kind: LaneKind,
    answers: AheadAnswers,
    expiries: Option<Gated<Expiries>>,
    repeats: Option<Gated<Repeats>>,
    warm: Option<Gated<Warm>>,
    horizon: HorizonEstimate,
    /// From a batch to its answers.
    pub latency: Latencies,
    /// The time that work ahead took between two batches.
    pub idle: Latencies,
    /// Edges that were changed ahead.
    pub ahead: AheadCounts,
    /// Those whose change was taken back.
    pub taken_back: AheadCounts,
    /// Processor time for what was taken back, and for what changed nothing.
    wasted: Duration,
}

impl Lane {
    /// For a stream whose window is `window` long, and whose batches are `every` long.
    pub fn new(kind: LaneKind, answers: Answers, window: Option<u64>, every: Option<u64>) -> Self {
        let is_gated = kind == LaneKind::Gated;
        let gate = |phase| is_gated.then(|| NetBenefitGate::new(phase));
        let has = |one| is_gated || kind == one;
        let expiries = window
            .filter(|_| has(LaneKind::Expiries))
            .map(Expiries::new);
        let repeats = has(LaneKind::Repeats).then(Repeats::default);
        let warm = has(LaneKind::Warm).then(Warm::default);
        Self {
            kind,
            answers: AheadAnswers::new(answers),
            expiries: expiries.map(|work| Gated::new(work, gate(0))),
            repeats: repeats.map(|work| Gated::new(work, gate(5))),
            warm: warm.map(|work| Gated::new(work, gate(11))),
            horizon: HorizonEstimate::new(every),
            latency: Latencies::default(),
            idle: Latencies::default(),
            ahead: AheadCounts::default(),
            taken_back: AheadCounts::default(),
            wasted: Duration::ZERO,
        }
    }

    /// What it does ahead.
    pub fn kind(&self) -> LaneKind {
        self.kind
    }

    /// The answers after the last batch.
    pub fn answers(&self) -> &Answers {
        self.answers.answers()
    }

    /// Works ahead, as between two batches, and then applies the batch.
    pub fn batch(&mut self, batch: &[TimedChange], vertices: VertexId) {
        let changes: Vec<EdgeChange> = batch.iter().map(|timed| timed.change).collect();
        let idle = self.work_ahead(&changes);
        let step = self.answers.apply(&changes, vertices);
        self.latency.add(step.latency);
        self.idle.add(idle);
        self.ahead += step.ahead;
        self.taken_back += step.taken_back;
        let (back, ahead) = (step.taken_back, step.ahead);
        if let Some(expiries) = &mut self.expiries {
            let wasted = expiries.wasted(back.deleted, ahead.deleted);
            self.wasted += expiries.learn(step.latency, wasted);
            expiries.work.learn(batch);
        }
        if let Some(repeats) = &mut self.repeats {
            let wasted = repeats.wasted(back.inserted, ahead.inserted);
            self.wasted += repeats.learn(step.latency, wasted);
            repeats.work.learn(batch);
        }
        if let Some(warm) = &mut self.warm {
            self.wasted += warm.learn(step.latency, warm.took);
            warm.work.learn(batch);
        }
        self.horizon.learn(batch);
    }

    /// The time that this took. Only the oracle looks at the next batch.
    fn work_ahead(&mut self, next: &[EdgeChange]) -> Duration {
        let start = Instant::now();
        let horizon = self.horizon.next();
        let graph = self.answers.answers().graph();
        let mut changes = match self.kind {
            LaneKind::Oracle => next.to_vec(),
            _ => Vec::new(),
        };
        let deletions = predict(&mut self.expiries, graph, horizon);
        let insertions = predict(&mut self.repeats, graph, horizon);
        let [deleted, inserted] = [&deletions, &insertions].map(Vec::len);
        changes.extend(deletions);
        changes.extend(insertions);
        let applied = self.answers.work_ahead(&changes);
        let all = (deleted + inserted).max(1) as f64;
        if let Some(expiries) = &mut self.expiries {
            expiries.took += applied.mul_f64(deleted as f64 / all);
        }
        if let Some(repeats) = &mut self.repeats {
            repeats.took += applied.mul_f64(inserted as f64 / all);
        }
        if let Some(warm) = &mut self.warm
            && warm.opens()
        {
            warm.took = warm.work.read(self.answers.answers().graph());
        }
        start.elapsed()
    }

    /// Processor time that was wasted, in nanoseconds a batch.
    pub fn wasted_per_batch(&self) -> u64 {
        let batches = u128::from(self.latency.count().max(1));
        (self.wasted.as_nanos() / batches) as u64
    }

    /// Nanoseconds a batch that this saves of the latency of another.
    pub fn saved(&self, off: &Lane) -> i64 {
        off.latency.mean() as i64 - self.latency.mean() as i64
    }

    /// As [`saved`](Self::saved), less what was wasted.
    pub fn net(&self, off: &Lane) -> i64 {
        self.saved(off) - self.wasted_per_batch() as i64
    }

    /// What the gates decided, a line each.
    pub fn gates(&self) -> Vec<String> {
        let gates = [
            (
                "expiries",
                self.expiries.as_ref().and_then(|it| it.gate.as_ref()),
            ),
            (
                "EdgeBank",
                self.repeats.as_ref().and_then(|it| it.gate.as_ref()),
            ),
            ("warm", self.warm.as_ref().and_then(|it| it.gate.as_ref())),
        ];
        let line = |(name, gate): (&str, Option<&NetBenefitGate>)| {
            let counts = gate?.counts();
            let all = counts.on + counts.off;
            Some(format!(
                "The gate let {name} work before {} of {all} batches.",
                counts.on
            ))
        };
        gates.into_iter().filter_map(line).collect()
    }
}

/// What a kind predicts, if its gate is open; takes the time of it.
fn predict<T: LookAhead>(
    kind: &mut Option<Gated<T>>,
    graph: &reuselens_graph::SortedGraph,
    horizon: Horizon,
) -> Vec<EdgeChange> {
    let Some(kind) = kind.as_mut() else {
        return Vec::new();
    };
    if !kind.opens() {
        return Vec::new();
    }
    let start = Instant::now();
    let changes = kind.work.predict(graph, horizon);
    kind.took = start.elapsed();
    changes
}

/// Estimates how far the next batch reaches.
#[derive(Clone, Debug)]
struct HorizonEstimate {
    /// The length of batches that end by time.
    every: Option<u64>,
    latest: Option<i64>,
    /// From the end of the batch before to the end of the last one, and the one before that.
    spans: [u64; 2],
    /// Deletions of the last batch.
    deletions: usize,
}

impl HorizonEstimate {
    fn new(every: Option<u64>) -> Self {
        Self {
            every,
            latest: None,
            spans: [0; 2],
            deletions: 0,
        }
    }

    fn next(&self) -> Horizon {
        match self.every {
            Some(time) => Horizon {
                time,
                deletions: usize::MAX,
            },
            // A batch of a set number of changes has about as many deletions as the last one.
            None => Horizon {
                time: self.spans[0].min(self.spans[1]),
                deletions: self.deletions,
            },
        }
    }

    fn learn(&mut self, batch: &[TimedChange]) {
        let Some(end) = batch.iter().map(|timed| timed.time).max() else {
            return;
        };
        let end = self.latest.map_or(end, |latest| latest.max(end));
        let span = self.latest.map_or(0, |latest| end.abs_diff(latest));
        self.spans = [span, self.spans[0]];
        self.latest = Some(end);
        let deletions = batch.iter();
        self.deletions = deletions
            .filter(|timed| matches!(timed.change, EdgeChange::Delete(_)))
            .count();
    }
}
