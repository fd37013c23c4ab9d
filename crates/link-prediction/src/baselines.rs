//! Simple predictors: what anything else has to beat.
//!
//! Each gives scores for many pairs at once. A score of 0 or less says that the pair is not
//! predicted; among positive scores the higher is the more likely.

use std::collections::HashMap;

use crate::{History, Pair};

/// Something that says how likely pairs are to be inserted next.
pub trait ScorePairs {
    /// A score for each of `pairs`, given all that was seen before; 0 or less is a no.
    fn scores(&self, history: &History, pairs: &[Pair]) -> Vec<f64>;
}

/// Predicts that what was seen is seen again; the pair that was seen more often is the likelier.
///
/// Source: Poursafaei, Huang, Pelrine and Rabbany, *Towards Better Evaluation for Dynamic Link
/// Prediction*, NeurIPS 2022. There EdgeBank only says yes or no; here the count orders the pairs,
/// so that a batch of limited size can be predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeBank {
    /// All that was ever seen counts.
    Unlimited,
    /// Only insertions younger than this count, in the unit of the edges.
    Window(i64),
}

impl ScorePairs for EdgeBank {
    fn scores(&self, history: &History, pairs: &[Pair]) -> Vec<f64> {
        match *self {
            EdgeBank::Unlimited => {
                let count = |pair: &Pair| history.seen(*pair).map_or(0, |link| link.count);
                pairs.iter().map(|pair| f64::from(count(pair))).collect()
            }
            EdgeBank::Window(age) => {
                let mut counts: HashMap<Pair, u32> = HashMap::new();
                for (pair, _) in history.younger_than(age) {
                    *counts.entry(*pair).or_default() += 1;
                }
                let count = |pair: &Pair| counts.get(pair).copied().unwrap_or(0);
                pairs.iter().map(|pair| f64::from(count(pair))).collect()
            }
        }
    }
}

/// Predicts the last pairs again, the latest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latest;

impl ScorePairs for Latest {
    fn scores(&self, history: &History, pairs: &[Pair]) -> Vec<f64> {
        let position = |pair: &Pair| history.seen(*pair).map_or(0, |link| link.latest + 1);
        pairs.iter().map(|pair| position(pair) as f64).collect()
    }
}

/// Counts how often a pair was seen, an insertion for less the older it is: for half after each
/// half-life.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FadingCount {
    /// In the unit of the edges; must be positive.
    pub half_life: f64,
}

impl ScorePairs for FadingCount {
    fn scores(&self, history: &History, pairs: &[Pair]) -> Vec<f64> {
        let now = history.now().unwrap_or(0) as f64;
        let mut sums: HashMap<Pair, f64> = HashMap::new();
        for (pair, time) in history.log() {
            let age = now - *time as f64;
            *sums.entry(*pair).or_default() += libm::exp2(-age / self.half_life);
        }
        let sum = |pair: &Pair| sums.get(pair).copied().unwrap_or(0.0);
        pairs.iter().map(sum).collect()
    }
}

/// Popularity (preferential attachment): the product of the degrees of both ends, less a threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Popularity {
    /// The product above which a pair is predicted.
    pub threshold: f64,
}

impl ScorePairs for Popularity {
    fn scores(&self, history: &History, pairs: &[Pair]) -> Vec<f64> {
        let degree = |vertex| history.degree(vertex) as f64;
        let product = |pair: &Pair| degree(pair.low()) * degree(pair.high());
        let score = |pair: &Pair| product(pair) - self.threshold;
        pairs.iter().map(score).collect()
    }
}

impl Popularity {
    /// The threshold that separates `positives` from `negatives` with the fewest errors.
    pub fn fit(history: &History, positives: &[Pair], negatives: &[Pair]) -> Popularity {
        let plain = Popularity { threshold: 0.0 };
        let products = |pairs, is_edge| {
            let products = plain.scores(history, pairs);
            products.into_iter().map(move |product| (product, is_edge))
        };
        let mut all: Vec<(f64, bool)> = products(positives, true)
            .chain(products(negatives, false))
            .collect();
        all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        // With the threshold below all products, every negative is an error.
        let mut errors = negatives.len();
        let mut best = (errors, -1.0);
        for group in all.chunk_by(|a, b| a.0 == b.0) {
            for (_, is_edge) in group {
                errors = if *is_edge { errors + 1 } else { errors - 1 };
            }
            if errors < best.0 {
                best = (errors, group[0].0);
            }
        }
        Popularity { threshold: best.1 }
    }
}

/// The number of common neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommonNeighbours;

impl ScorePairs for CommonNeighbours {
    fn scores(&self, history: &History, pairs: &[Pair]) -> Vec<f64> {
        let common = |pair: &Pair| history.common_neighbours(*pair) as f64;
        pairs.iter().map(common).collect()
    }
}

/// Up to `size` of `candidates`: those of the highest positive scores. Among equal scores the pair
/// that was seen last comes first, then the smaller one.
pub fn predict_batch(
    history: &History,
    predictor: &dyn ScorePairs,
    candidates: &[Pair],
    size: usize,
) -> Vec<Pair> {
    let scores = predictor.scores(history, candidates);
    let mut scored: Vec<(f64, Pair)> = scores
        .into_iter()
        .zip(candidates.iter().copied())
        .filter(|(score, _)| *score > 0.0)
        .collect();
    let latest = |pair| history.seen(pair).map(|link| link.latest);
    let order = |a: &(f64, Pair), b: &(f64, Pair)| {
        let by_score = b.0.total_cmp(&a.0);
        by_score
            .then_with(|| latest(b.1).cmp(&latest(a.1)))
            .then_with(|| a.1.cmp(&b.1))
    };
    if size < scored.len() {
        scored.select_nth_unstable_by(size, order);
        scored.truncate(size);
    }
    scored.sort_unstable_by(order);
    scored.into_iter().map(|(_, pair)| pair).collect()
}
