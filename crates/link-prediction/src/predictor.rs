//! The published predictor: node2vec, Hadamard products, a linear SVM, and retraining.
//!
//! Source: Shen, *Exploring Heterogeneous Architectures with Tools and Applications*, 2021,
//! section 4.3.2. That text leaves open how features are scaled, how many examples are taken, and
//! what becomes of vertices that came after the training. Here each feature gets mean 0 and
//! deviation 1 over the examples; up to [`PredictorOptions::most_examples`] edges are taken; and a
//! vertex without a vector counts as a vector of zeros, so all its pairs get the same score.

use crate::metrics::absent_pairs;
use crate::node2vec::positive;
use crate::random::{Purpose, RandomStream};
use crate::vector::{padded, weighted_sum};
use crate::{
    Accuracy, BalancedPairs, Embedding, History, InvalidOptions, LinearSvm, Node2vecOptions, Pair,
    ScorePairs, SimpleGraph, SvmOptions, TrainedSvm,
};

/// How a [`Predictor`] is trained, and when again.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictorOptions {
    /// How vectors of vertices are trained.
    pub node2vec: Node2vecOptions,
    /// How the SVM is trained.
    pub svm: SvmOptions,
    /// How many edges are taken as examples, and as many pairs without an edge.
    pub most_examples: usize,
    /// The share of the pairs, the latest, from which the SVM learns while the vectors are trained
    /// on the others. 0, as published, trains both on all pairs; the SVM then learns to recognise
    /// edges that the vectors were trained on, which those of the future are not.
    pub held_out: f64,
    /// An accuracy from 0 to 1: after a batch below it all is trained anew. Never, if nothing.
    pub retrain_below: Option<f64>,
}

impl Default for PredictorOptions {
    fn default() -> Self {
        PredictorOptions {
            node2vec: Node2vecOptions::default(),
            svm: SvmOptions::default(),
            most_examples: 10_000,
            held_out: 0.0,
            retrain_below: Some(0.7),
        }
    }
}

/// An SVM over products of vectors.
#[derive(Clone, Debug, PartialEq)]
struct EdgeClassifier {
    embedding: Embedding,
    /// A weight for each product: that of the SVM, over the deviation of the feature.
    weights: Vec<f64>,
    bias: f64,
}

impl EdgeClassifier {
    fn train(
        history: &History,
        options: &PredictorOptions,
    ) -> Result<(EdgeClassifier, TrainedSvm), InvalidOptions> {
        let pairs = history.pairs_by_age();
        let held_out = (pairs.len() as f64 * options.held_out.clamp(0.0, 1.0)) as usize;
        let (earlier, later) = pairs.split_at(pairs.len() - held_out);
        let graph = SimpleGraph::new(history.vertex_bound(), earlier);
        let embedding = Embedding::train(&graph, &options.node2vec)?;
        let positives = if held_out == 0 { earlier } else { later };
        let (pairs, labels) = examples(history, &embedding, positives, options);
        let dimensions = embedding.dimensions();
        let mut features = Vec::with_capacity(pairs.len() * dimensions);
        for pair in pairs {
            features.extend_from_slice(&hadamard(&embedding, pair)[..dimensions]);
        }
        let scales = standardise(&mut features, dimensions);
        let trained = LinearSvm::train(&features, dimensions, &labels, &options.svm)?;
        let mut weights = vec![0.0; padded(dimensions)];
        let mut bias = trained.svm.bias;
        for ((weight, scale), trained) in weights.iter_mut().zip(scales).zip(&trained.svm.weights) {
            *weight = trained / scale.deviation;
            bias -= *weight * scale.mean;
        }
        let classifier = EdgeClassifier {
            embedding,
            weights,
            bias,
        };
        Ok((classifier, trained))
    }

    fn score(&self, pair: Pair) -> f64 {
        weighted_sum(&hadamard(&self.embedding, pair), &self.weights) + self.bias
    }
}

/// The products of the numbers of both vectors, padded; zeros if a vector is missing.
fn hadamard(embedding: &Embedding, pair: Pair) -> Vec<f32> {
    match (embedding.row(pair.low()), embedding.row(pair.high())) {
        (Some(low), Some(high)) => low.iter().zip(high).map(|(a, b)| a * b).collect(),
        _ => vec![0.0; padded(embedding.dimensions())],
    }
}

/// Random pairs of `positives` whose ends have vectors, and as many random pairs that are no edges.
fn examples(
    history: &History,
    embedding: &Embedding,
    positives: &[Pair],
    options: &PredictorOptions,
) -> (Vec<Pair>, Vec<bool>) {
    let mut random = RandomStream::new(options.node2vec.seed, Purpose::Examples, 0);
    let is_known = |pair: &&Pair| embedding.knows(pair.low()) && embedding.knows(pair.high());
    let mut pairs: Vec<Pair> = positives.iter().filter(is_known).copied().collect();
    random.shuffle(&mut pairs);
    pairs.truncate(options.most_examples);
    let positives = pairs.len();
    let known: Vec<u32> = (0..history.vertex_bound() as u32)
        .filter(|vertex| embedding.knows(*vertex))
        .collect();
    let is_edge = |pair: Pair| history.seen(pair).is_some();
    pairs.extend(absent_pairs(&known, positives, is_edge, &mut random));
    let labels = (0..pairs.len())
        .map(|example| example < positives)
        .collect();
    (pairs, labels)
}

/// Mean and standard deviation of a feature.
#[derive(Clone, Copy, Debug)]
struct FeatureScale {
    mean: f64,
    deviation: f64,
}

/// Gives each feature mean 0 and deviation 1. A feature that is constant stays 0.
fn standardise(features: &mut [f32], dimensions: usize) -> Vec<FeatureScale> {
    let rows = (features.len() / dimensions).max(1) as f64;
    let mut means = vec![0.0; dimensions];
    for row in features.chunks_exact(dimensions) {
        for (mean, feature) in means.iter_mut().zip(row) {
            *mean += f64::from(*feature) / rows;
        }
    }
    let mut variances = vec![0.0; dimensions];
    for row in features.chunks_exact(dimensions) {
        for ((variance, mean), feature) in variances.iter_mut().zip(&means).zip(row) {
            *variance += (f64::from(*feature) - mean).powi(2) / rows;
        }
    }
    let scale = |(mean, variance): (f64, f64)| FeatureScale {
        mean,
        deviation: if variance > 0.0 { variance.sqrt() } else { 1.0 },
    };
    let scales: Vec<FeatureScale> = means.into_iter().zip(variances).map(scale).collect();
    for row in features.chunks_exact_mut(dimensions) {
        for (feature, scale) in row.iter_mut().zip(&scales) {
            *feature = ((f64::from(*feature) - scale.mean) / scale.deviation) as f32;
        }
    }
    scales
}

/// What [`Predictor::observe`] saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The accuracy on the batch, before any retraining.
    pub accuracy: Accuracy,
    /// Whether the predictor was trained anew after the batch.
    pub is_retrained: bool,
}

/// node2vec and an SVM, which are trained anew when they get bad.
#[derive(Clone, Debug, PartialEq)]
pub struct Predictor {
    options: PredictorOptions,
    classifier: EdgeClassifier,
    training: TrainedSvm,
    trainings: u64,
}

impl Predictor {
    /// Trains on all that `history` has.
    ///
    /// Costs what [`Embedding::train`] and [`LinearSvm::train`] cost.
    ///
    /// # Errors
    /// If an option cannot be used.
    pub fn train(
        history: &History,
        options: PredictorOptions,
    ) -> Result<Predictor, InvalidOptions> {
        positive("most_examples", options.most_examples as f64)?;
        let (classifier, training) = EdgeClassifier::train(history, &options)?;
        Ok(Predictor {
            options,
            classifier,
            training,
            trainings: 1,
        })
    }

    /// The same predictor with another rule for retraining.
    pub fn with_retraining(mut self, below: Option<f64>) -> Predictor {
        self.options.retrain_below = below;
        self
    }

    /// Measures the accuracy on `pairs` of a batch, and trains anew on `after`, the history with
    /// the batch, if the accuracy is too low. Each training has a seed of its own.
    ///
    /// # Errors
    /// None after [`Predictor::train`] accepted the options.
    pub fn observe(
        &mut self,
        pairs: &BalancedPairs,
        after: &History,
    ) -> Result<Observation, InvalidOptions> {
        let accuracy = Accuracy::of(self, after, pairs);
        let limit = self.options.retrain_below;
        let is_retrained = limit
            .zip(accuracy.share())
            .is_some_and(|(limit, share)| share < limit);
        if is_retrained {
            let mut options = self.options.clone();
            let seed = options.node2vec.seed;
            options.node2vec.seed =
                RandomStream::new(seed, Purpose::Retraining, self.trainings).bits();
            (self.classifier, self.training) = EdgeClassifier::train(after, &options)?;
            self.trainings += 1;
        }
        Ok(Observation {
            accuracy,
            is_retrained,
        })
    }

    /// How often it was trained, the first time included.
    pub fn trainings(&self) -> u64 {
        self.trainings
    }

    /// How well the last training of the SVM went.
    pub fn training(&self) -> &TrainedSvm {
        &self.training
    }

    /// The vectors of the vertices.
    pub fn embedding(&self) -> &Embedding {
        &self.classifier.embedding
    }
}

impl ScorePairs for Predictor {
    /// Scores depend on the last training alone, not on the history since.
    fn scores(&self, _history: &History, pairs: &[Pair]) -> Vec<f64> {
        pairs
            .iter()
            .map(|pair| self.classifier.score(*pair))
            .collect()
    }
}
