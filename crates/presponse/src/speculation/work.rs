//! [`SpeculativeWork`]: the kinds of work ahead that are in use, with their gates.

use std::time::{Duration, Instant};

use reuselens_graph::{EdgeChange, SortedGraph};

use super::gate::GateCounts;
use super::{
    ChangePredictor, EdgeBankInsertions, Expiries, Horizon, NetBenefitGate, SpeculationCounts,
    SpeculativeAnswers, SpeculativeStep, TimedChange, Warm,
};
use crate::latency::Latencies;

/// What is done ahead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum SpeculationKind {
    /// Nothing
    #[default]
    Off,
    /// Edges that leave a sliding window are deleted
    Expiries,
    /// Pairs that were inserted often are inserted
    #[value(name = "edgebank")]
    EdgeBank,
    /// Neighbours of active vertices are read
    Warm,
    /// All of these, each while it gains
    Gated,
    /// The next batch itself, which only an experiment knows
    #[value(skip)]
    Oracle,
}

impl SpeculationKind {
    /// All kinds, the baseline first.
    pub const ALL: [Self; 6] = [
        Self::Off,
        Self::Expiries,
        Self::EdgeBank,
        Self::Warm,
        Self::Gated,
        Self::Oracle,
    ];

    /// What tables call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Expiries => "expiries",
            Self::EdgeBank => "EdgeBank",
            Self::Warm => "warm",
            Self::Gated => "gated",
            Self::Oracle => "oracle",
        }
    }
}

/// The kinds that can have a gate.
pub const KINDS: [SpeculationKind; 3] = [
    SpeculationKind::Expiries,
    SpeculationKind::EdgeBank,
    SpeculationKind::Warm,
];

/// A kind of work ahead with what decides about it.
struct Gated<T> {
    work: T,
    /// Without one the work is always done.
    gate: Option<NetBenefitGate>,
    /// Whether it was enabled before the next batch.
    is_enabled: bool,
    /// What it took for the current batch.
    took: Duration,
}

impl<T> Gated<T> {
    fn new(work: T, gate: Option<NetBenefitGate>) -> Self {
        Self {
            work,
            gate,
            is_enabled: false,
            took: Duration::ZERO,
        }
    }

    /// Decides whether the work is done before the next batch.
    fn decide(&mut self) -> bool {
        self.took = Duration::ZERO;
        self.is_enabled = self.gate.as_mut().is_none_or(NetBenefitGate::decide);
        self.is_enabled
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

/// Works ahead of the batches of one graph, and learns from them.
pub struct SpeculativeWork {
    kind: SpeculationKind,
    expiries: Option<Gated<Expiries>>,
    edge_bank: Option<Gated<EdgeBankInsertions>>,
    warm: Option<Gated<Warm>>,
    horizon: HorizonEstimate,
    /// Whether there was time to work since the last batch.
    had_time: bool,
}

/// What a kind is called, and what its gate did.
pub type NamedGate = (&'static str, GateCounts);

impl SpeculativeWork {
    /// For a stream whose window is `window` long, and whose batches are `every` long.
    pub fn new(kind: SpeculationKind, window: Option<u64>, every: Option<u64>) -> Self {
        let is_gated = kind == SpeculationKind::Gated;
        let gate = |phase| is_gated.then(|| NetBenefitGate::new(phase));
        let has = |one| is_gated || kind == one;
        let expiries = window
            .filter(|_| has(SpeculationKind::Expiries))
            .map(Expiries::new);
        let edge_bank = has(SpeculationKind::EdgeBank).then(EdgeBankInsertions::default);
        let warm = has(SpeculationKind::Warm).then(Warm::default);
        Self {
            kind,
            expiries: expiries.map(|work| Gated::new(work, gate(0))),
            edge_bank: edge_bank.map(|work| Gated::new(work, gate(5))),
            warm: warm.map(|work| Gated::new(work, gate(11))),
            horizon: HorizonEstimate::new(every),
            had_time: false,
        }
    }

    /// What is done ahead.
    pub fn kind(&self) -> SpeculationKind {
        self.kind
    }

    /// Works ahead of the next batch, unless that was done since the last one. Returns the time
    /// that it took. Only the oracle looks at `next`, the next batch.
    pub fn work(&mut self, answers: &mut SpeculativeAnswers, next: &[EdgeChange]) -> Duration {
        if std::mem::replace(&mut self.had_time, true) {
            return Duration::ZERO;
        }
        let start = Instant::now();
        let horizon = self.horizon.next();
        let graph = answers.answers().graph();
        let mut changes = match self.kind {
            SpeculationKind::Oracle => next.to_vec(),
            _ => Vec::new(),
        };
        let deletions = predict(&mut self.expiries, graph, horizon);
        let insertions = predict(&mut self.edge_bank, graph, horizon);
        let [deleted, inserted] = [&deletions, &insertions].map(Vec::len);
        changes.extend(deletions);
        changes.extend(insertions);
        let applied = answers.work_ahead(&changes);
        let all = (deleted + inserted).max(1) as f64;
        if let Some(expiries) = &mut self.expiries {
            expiries.took += applied.mul_f64(deleted as f64 / all);
        }
        if let Some(edge_bank) = &mut self.edge_bank {
            edge_bank.took += applied.mul_f64(inserted as f64 / all);
        }
        if let Some(warm) = &mut self.warm
            && warm.decide()
        {
            warm.took = warm.work.read(answers.answers().graph());
        }
        start.elapsed()
    }

    /// Whether [`Self::work`] was called since the last batch.
    pub fn had_time(&self) -> bool {
        self.had_time
    }

    /// Learns from a batch that came and what it did. Returns the processor time that was wasted
    /// for it. Gates learn nothing from a batch that left no time to work ahead.
    pub fn learn(&mut self, batch: &[TimedChange], step: &SpeculativeStep) -> Duration {
        let mut wasted = Duration::ZERO;
        let had_time = std::mem::take(&mut self.had_time);
        let (back, ahead) = (step.taken_back, step.ahead);
        if let Some(expiries) = &mut self.expiries {
            if had_time {
                let part = expiries.wasted(back.deleted, ahead.deleted);
                wasted += expiries.learn(step.latency, part);
            }
            expiries.work.learn(batch);
        }
        if let Some(edge_bank) = &mut self.edge_bank {
            if had_time {
                let part = edge_bank.wasted(back.inserted, ahead.inserted);
                wasted += edge_bank.learn(step.latency, part);
            }
            edge_bank.work.learn(batch);
        }
        if let Some(warm) = &mut self.warm {
            if had_time {
                wasted += warm.learn(step.latency, warm.took);
            }
            warm.work.learn(batch);
        }
        self.horizon.learn(batch);
        wasted
    }

    /// Which of [`KINDS`] were enabled before the next batch.
    pub fn enabled_kinds(&self) -> [bool; KINDS.len()] {
        [
            is_enabled(&self.expiries),
            is_enabled(&self.edge_bank),
            is_enabled(&self.warm),
        ]
    }

    /// What the gates decided. Kinds that are always on have no gate.
    pub fn gates(&self) -> Vec<NamedGate> {
        let gates = [
            gate(&self.expiries),
            gate(&self.edge_bank),
            gate(&self.warm),
        ];
        let gates = KINDS.iter().zip(gates);
        gates
            .filter_map(|(kind, counts)| Some((kind.name(), counts?)))
            .collect()
    }
}

fn is_enabled<T>(kind: &Option<Gated<T>>) -> bool {
    kind.as_ref().is_some_and(|kind| kind.is_enabled)
}

/// What the gate of a kind did, if it has one.
fn gate<T>(kind: &Option<Gated<T>>) -> Option<GateCounts> {
    Some(kind.as_ref()?.gate.as_ref()?.counts())
}

/// What work ahead did, over many batches.
#[derive(Clone, Debug, Default)]
pub struct SpeculationTotals {
    /// Batches that followed work ahead, if only a look whether there is any.
    pub batches: u64,
    /// The time that the work took between two batches.
    pub idle: Latencies,
    /// Edges that were changed ahead.
    pub ahead: SpeculationCounts,
    /// Those whose change was taken back.
    pub taken_back: SpeculationCounts,
    /// Processor time for what was taken back, and for what changed nothing.
    wasted: Duration,
}

impl SpeculationTotals {
    /// Counts a batch, with the time of the work ahead of it and the part that was wasted.
    pub fn add(&mut self, idle: Duration, step: &SpeculativeStep, wasted: Duration) {
        self.batches += 1;
        self.idle.add(idle);
        self.ahead += step.ahead;
        self.taken_back += step.taken_back;
        self.wasted += wasted;
    }

    /// Processor time that was wasted, in nanoseconds a batch.
    pub fn wasted_per_batch(&self) -> u64 {
        (self.wasted.as_nanos() / u128::from(self.batches.max(1))) as u64
    }
}

/// What a kind predicts, if its gate is open; takes the time of it.
fn predict<T: ChangePredictor>(
    kind: &mut Option<Gated<T>>,
    graph: &SortedGraph,
    horizon: Horizon,
) -> Vec<EdgeChange> {
    let Some(kind) = kind.as_mut() else {
        return Vec::new();
    };
    if !kind.decide() {
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
