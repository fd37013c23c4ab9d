//! Which edges an evolving graph gets next.
//!
//! - [`History`] is what was seen so far; [`TemporalEdge`]s go in, sorted by time.
//! - [`Candidates`] are the pairs that are scored: a bounded part of all pairs.
//! - [`ScorePairs`] is what a predictor does; [`predict_batch`] takes the best candidates.
//! - [`EdgeBank`], [`Latest`], [`FadingCount`], [`Popularity`] and [`CommonNeighbours`] are simple
//!   predictors. [`Predictor`] is the published one: node2vec ([`Walks`], [`Embedding`]), Hadamard
//!   products, a [`LinearSvm`], and retraining when it gets bad.
//! - [`BatchQuality`], [`Accuracy`] and [`Novelty`] say how good predictions are, and what could
//!   not be predicted. [`Evaluation`] measures all predictors on one stream.
//!
//! Graphs are undirected and simple here, and edges are only inserted. A pair that is inserted
//! again counts as predicted or not, but changes nothing in such a graph; so pairs that were never
//! seen before are measured by themselves too.
//!
//! Results depend on the input, the options and the seeds alone, to the bit: not on the number of
//! threads, nor on the instructions of the processor.
//!
//! ```
//! use reuselens_link_prediction::{Candidates, EdgeBank, History, TemporalEdge, predict_batch};
//!
//! let mut history = History::default();
//! for (time, (u, v)) in (0..).zip([(0, 1), (2, 3), (0, 1), (1, 2)]) {
//!     history.insert(TemporalEdge { u, v, time })?;
//! }
//! let candidates = Candidates::enumerate(&history, &Default::default());
//! let batch = predict_batch(&history, &EdgeBank::Unlimited, candidates.pairs(), 1);
//! assert_eq!((batch[0].low(), batch[0].high()), (0, 1));
//! # Ok::<(), reuselens_link_prediction::UnsortedEdge>(())
//! ```
//!
//! Source: Shen, *Exploring Heterogeneous Architectures with Tools and Applications*, 2021,
//! chapter 4 (Presponse); the modules name the others.
//!
//! For: whoever wants to work ahead of an evolving graph, and to know whether that can pay.
//! Not for: keeping properties of graphs up to date, reading files, or programs and their memory.

mod baselines;
mod candidates;
mod edges;
mod evaluation;
mod history;
mod metrics;
mod node2vec;
mod predictor;
mod random;
mod simple_graph;
mod skip_gram;
mod svm;
mod vector;
mod walks;

pub use baselines::{
    CommonNeighbours, EdgeBank, FadingCount, Latest, Popularity, ScorePairs, predict_batch,
};
pub use candidates::{CandidateLimits, Candidates};
pub use edges::{BatchRule, Pair, TemporalEdge, batches, distinct_pairs};
pub use evaluation::{BatchReport, Evaluation, EvaluationError, EvaluationOptions, Scorecard};
pub use history::{History, Link, UnsortedEdge};
pub use metrics::{Accuracy, BalancedPairs, BatchCount, BatchQuality, Negatives, Novelty};
pub use node2vec::{Embedding, InvalidOptions, Node2vecOptions};
pub use predictor::{Observation, Predictor, PredictorOptions};
pub use simple_graph::SimpleGraph;
pub use svm::{LinearSvm, SvmOptions, TrainedSvm};
pub use walks::Walks;
