//! [`PredictionQuality`]: how well the insertions of a stream can be predicted.

use reuselens_link_prediction::{
    BatchRule, CandidateLimits, Evaluation, EvaluationOptions, History, Node2vecOptions, Novelty,
    Predictor, PredictorOptions, Scorecard, TemporalEdge, batches,
};

use super::TimedChange;
use crate::exit::WrongUsage;
use reuselens_graph::{Edge, EdgeChange};

/// The share of the insertions of a stream that predictors know at first.
pub const KNOWN: f64 = 0.6;
/// The accuracy below which node2vec is trained anew, as published.
pub const RETRAIN_BELOW: f64 = 0.7;
/// What the predictor is called that is trained once, and the one that is trained anew.
pub const NODE2VEC: [&str; 2] = ["node2vec, trained once", "node2vec, retrained"];

/// The insertions of a stream, in the order of their times.
#[derive(Clone, Debug, Default)]
pub struct Insertions {
    edges: Vec<TemporalEdge>,
    /// Those of the graph before the stream.
    graph: usize,
}

/// What predictors did in the last part of a stream.
#[derive(Clone, Debug)]
pub struct PredictionQuality {
    /// What the predictors are called.
    pub names: Vec<String>,
    /// For each period a card for each predictor.
    pub periods: Vec<Vec<Scorecard>>,
    /// The sums over all periods, by predictor.
    pub totals: Vec<Scorecard>,
    /// What of all periods was new.
    pub novelty: Novelty,
    /// Insertions in a period; the last one may have fewer.
    pub length: usize,
}

impl Insertions {
    /// Those of a graph, which count as older than the stream.
    pub fn of_graph(edges: Vec<Edge>) -> Self {
        let edge = |edge: Edge| TemporalEdge {
            u: edge.from,
            v: edge.to,
            time: i64::MIN,
        };
        let edges: Vec<TemporalEdge> = edges.into_iter().map(edge).collect();
        let graph = edges.len();
        Self { edges, graph }
    }

    /// Adds those of a batch. A time that goes back counts as the latest one.
    pub fn add(&mut self, batch: &[TimedChange]) {
        for timed in batch {
            let EdgeChange::Insert(Edge { from, to }) = timed.change else {
                continue;
            };
            let latest = self.edges.last().map_or(timed.time, |last| last.time);
            self.edges.push(TemporalEdge {
                u: from,
                v: to,
                time: latest.max(timed.time),
            });
        }
    }

    /// Predicts the last part of the stream in so many periods of equally many insertions, and
    /// compares. `memory` is the age up to which the EdgeBank with a window remembers. node2vec is
    /// trained by `threads` threads, once at first, and after each period that it predicts badly.
    ///
    /// # Errors
    /// If the stream has fewer insertions than there are periods.
    pub fn measure(
        mut self,
        periods: usize,
        memory: Option<u64>,
        threads: usize,
    ) -> anyhow::Result<PredictionQuality> {
        let stream = self.edges.len() - self.graph;
        let known = (stream as f64 * KNOWN) as usize;
        if stream - known < periods {
            let what = format!(
                "the stream has {stream} insertions, too few to predict {periods} periods; leave out \
                 --predict, or ask for fewer"
            );
            return Err(WrongUsage(what).into());
        }
        let first = self.edges[self.graph].time;
        // An age must be a number, and the graph is older than all of the stream.
        self.edges[..self.graph]
            .iter_mut()
            .for_each(|edge| edge.time = first);
        let (past, future) = self.edges.split_at(self.graph + known);
        let length = future.len().div_ceil(periods);
        let rule = BatchRule::Edges(length);
        let last = self.edges.last().map_or(first, |last| last.time);
        let options = EvaluationOptions {
            limits: CandidateLimits::default(),
            size: None,
            memory: i64::try_from(memory.unwrap_or(last.abs_diff(first) / 10)).unwrap_or(i64::MAX),
            seed: 1,
        };
        let mut evaluation = Evaluation::new(&batches(past, rule), options)?;
        for (name, predictor) in NODE2VEC.iter().zip(train(evaluation.history(), threads)?) {
            evaluation.add(name, predictor);
        }
        let names = evaluation.names().to_vec();
        let mut quality = PredictionQuality {
            periods: Vec::new(),
            totals: vec![Scorecard::default(); names.len()],
            novelty: Novelty::default(),
            names,
            length,
        };
        for period in batches(future, rule) {
            let report = evaluation.step(period)?;
            quality.novelty.add(report.novelty);
            let totals = quality.totals.iter_mut().zip(&report.cards);
            totals.for_each(|(total, card)| total.add(card));
            quality.periods.push(report.cards);
        }
        Ok(quality)
    }
}

/// The published predictor, without and with retraining.
fn train(history: &History, threads: usize) -> anyhow::Result<[Predictor; 2]> {
    let options = PredictorOptions {
        node2vec: Node2vecOptions {
            threads,
            ..Node2vecOptions::default()
        },
        retrain_below: Some(RETRAIN_BELOW),
        ..PredictorOptions::default()
    };
    let retrained = Predictor::train(history, options)?;
    Ok([retrained.clone().with_retraining(None), retrained])
}

#[cfg(test)]
mod tests {
    use reuselens_graph::EdgeKind;

    use super::*;

    fn insert(u: u32, v: u32, time: i64) -> TimedChange {
        let edge = Edge::new(EdgeKind::Undirected, u, v);
        TimedChange {
            change: EdgeChange::Insert(edge),
            time,
        }
    }

    /// Twenty pairs that are inserted over and over.
    #[test]
    fn pairs_that_recur_are_predicted_and_few_insertions_refused() {
        let graph = (0..20).map(|v| Edge {
            from: v,
            to: v + 20,
        });
        let mut insertions = Insertions::of_graph(graph.collect());
        let round = |time| (0..20).map(move |v| insert(v, v + 20, time));
        for time in 0..20 {
            insertions.add(&round(time).collect::<Vec<_>>());
        }
        let few = insertions.clone().measure(161, None, 1);
        let error = few.unwrap_err().to_string();
        assert!(
            error.contains("400 insertions, too few to predict 161"),
            "{error}"
        );
        let quality = insertions.measure(4, None, 1).unwrap();
        assert_eq!((quality.length, quality.periods.len()), (40, 4));
        let names = quality.names.iter();
        let last = names
            .clone()
            .position(|name| name == "last pairs again")
            .unwrap();
        assert_eq!(quality.totals[last].all.recall(), Some(1.0));
        assert_eq!(quality.novelty.unseen, 0);
        assert!(
            NODE2VEC
                .iter()
                .all(|name| names.clone().any(|it| it == name))
        );
    }
}
