//! Work ahead: between two batches, answers are brought to where the next batch will probably take
//! them, and corrected when it comes.
//!
//! | kind | what is done ahead | when it is right |
//! |---|---|---|
//! | [`Expiries`] | deletions of what leaves a sliding window | unless an edge is renewed |
//! | [`EdgeBankInsertions`] | insertions of frequent pairs (EdgeBank) | rarely |
//! | [`Warm`] | reads of the neighbours of active vertices | it changes nothing |
//!
//! [`SpeculativeAnswers`] holds the answers and what was done ahead. [`SpeculativeWork`] decides
//! what is done. A [`NetBenefitGate`] for each kind measures what it gains, less what it wastes,
//! and turns it off where it loses. Answers after a batch are exact whatever was done ahead. A
//! [`SpeculationRun`] is all of this for one way of working ahead of a stream.
//!
//! Source: Shen 2021, chapter 4 (Presponse), where predicted edges alone are applied ahead.

mod ages;
mod answers;
mod edge_bank;
mod expiries;
mod gate;
mod quality;
mod run;
mod warm;
mod work;

use reuselens_graph::{EdgeChange, SortedGraph};

pub use ages::DeletionAges;
pub use answers::{SpeculationCounts, SpeculativeAnswers, SpeculativeStep};
pub use edge_bank::EdgeBankInsertions;
pub use expiries::Expiries;
pub use gate::{GateCounts, NetBenefitGate};
pub use quality::{Insertions, KNOWN, NODE2VEC, PredictionQuality, RETRAIN_BELOW};
pub use run::{SpeculationRun, SpeculationWindow};
pub use warm::Warm;
pub use work::{KINDS, NamedGate, SpeculationKind, SpeculationTotals, SpeculativeWork};

/// A change of a stream, with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedChange {
    /// The change.
    pub change: EdgeChange,
    /// When, in the unit of the stream; 0 without times.
    pub time: i64,
}

/// How far the next batch reaches, as an estimate that is rather too small: a change that is made
/// too early is taken back and made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Horizon {
    /// The time from now to its last change, in the unit of the stream.
    pub time: u64,
    /// The most deletions that it has.
    pub deletions: usize,
}

/// Something that knows what may be done ahead.
pub trait ChangePredictor {
    /// What the next batch will probably ask for.
    fn predict(&mut self, graph: &SortedGraph, horizon: Horizon) -> Vec<EdgeChange>;

    /// Learns from a batch that came.
    fn learn(&mut self, batch: &[TimedChange]);
}
