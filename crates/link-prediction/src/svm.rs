//! A linear support vector machine.
//!
//! Minimises ½ ‖w‖² + C Σ max(0, 1 − yᵢ w·xᵢ) by descent along one coordinate of the dual problem
//! at a time, without shrinking; the bias is the weight of a feature that is always 1, as in
//! LIBLINEAR with `-s 3 -B 1`.
//!
//! Source: Hsieh, Chang, Lin, Keerthi and Sundararajan, *A Dual Coordinate Descent Method for
//! Large-scale Linear SVM*, ICML 2008, algorithm 1.

use crate::InvalidOptions;
use crate::node2vec::positive;
use crate::random::{Purpose, RandomStream};
use crate::vector::weighted_sum;

/// How an SVM is trained. The default is that of LIBLINEAR.
#[derive(Clone, Debug, PartialEq)]
pub struct SvmOptions {
    /// What an example on the wrong side costs (C).
    pub cost: f64,
    /// Training ends when the projected gradients of a pass differ by at most this.
    pub tolerance: f64,
    /// Training ends after so many passes over the examples in any case.
    pub most_passes: usize,
    /// Decides the order of the examples.
    pub seed: u64,
}

impl Default for SvmOptions {
    fn default() -> Self {
        SvmOptions {
            cost: 1.0,
            tolerance: 0.1,
            most_passes: 300,
            seed: 1,
        }
    }
}

impl SvmOptions {
    /// Whether an SVM can be trained so.
    ///
    /// # Errors
    /// If a number is not positive.
    pub fn check(&self) -> Result<(), InvalidOptions> {
        positive("cost", self.cost)?;
        positive("tolerance", self.tolerance)?;
        positive("most_passes", self.most_passes as f64)
    }
}

/// A plane between two classes.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearSvm {
    /// A weight for each feature.
    pub weights: Vec<f64>,
    /// What is added to the weighted sum of the features.
    pub bias: f64,
}

/// An SVM, and how good it is.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainedSvm {
    /// The SVM.
    pub svm: LinearSvm,
    /// What is minimised, for this SVM.
    pub primal: f64,
    /// A bound below what any SVM can reach: the difference to `primal` is the most that this one
    /// can be worse than the best.
    pub dual: f64,
    /// Passes over the examples.
    pub passes: usize,
    /// Whether the tolerance was reached.
    pub is_converged: bool,
}

impl LinearSvm {
    /// How far on the positive side an example is: positive for the class of `true`.
    pub fn score(&self, features: &[f32]) -> f64 {
        weighted_sum(features, &self.weights) + self.bias
    }

    /// Trains on `labels.len()` examples: `features` has a row of `dimensions` numbers for each.
    ///
    /// Costs two passes over the features for each pass, at most [`SvmOptions::most_passes`].
    ///
    /// # Errors
    /// If [`SvmOptions::check`] finds one.
    ///
    /// # Panics
    /// If `features` does not have `dimensions` numbers for each label.
    ///
    /// ```
    /// use reuselens_link_prediction::{LinearSvm, SvmOptions};
    ///
    /// let trained = LinearSvm::train(&[-3.0, -2.0, 2.0, 3.0], 1, &[false, false, true, true],
    ///     &SvmOptions::default())?;
    /// assert!(trained.svm.score(&[1.0]) > 0.0);
    /// # Ok::<(), reuselens_link_prediction::InvalidOptions>(())
    /// ```
    pub fn train(
        features: &[f32],
        dimensions: usize,
        labels: &[bool],
        options: &SvmOptions,
    ) -> Result<TrainedSvm, InvalidOptions> {
        options.check()?;
        assert_eq!(features.len(), dimensions * labels.len());
        let mut descent = Descent::new(features, dimensions, labels, options.cost);
        let mut order: Vec<usize> = (0..labels.len()).collect();
        let mut random = RandomStream::new(options.seed, Purpose::SvmOrder, 0);
        let mut passes = 0;
        let mut is_converged = false;
        while !is_converged && passes < options.most_passes {
            random.shuffle(&mut order);
            is_converged = descent.pass(&order) <= options.tolerance;
            passes += 1;
        }
        Ok(descent.finish(passes, is_converged))
    }
}

/// The state of the descent.
struct Descent<'a> {
    features: &'a [f32],
    dimensions: usize,
    labels: &'a [bool],
    cost: f64,
    /// The dual variables, one for each example, each from 0 to the cost.
    duals: Vec<f64>,
    /// The squared lengths of the examples, with the constant feature.
    squares: Vec<f64>,
    svm: LinearSvm,
}

impl<'a> Descent<'a> {
    fn new(features: &'a [f32], dimensions: usize, labels: &'a [bool], cost: f64) -> Self {
        let mut descent = Descent {
            features,
            dimensions,
            labels,
            cost,
            duals: vec![0.0; labels.len()],
            squares: Vec::new(),
            svm: LinearSvm {
                weights: vec![0.0; dimensions],
                bias: 0.0,
            },
        };
        let square = |example| {
            let row: &[f32] = descent.row(example);
            1.0 + row.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>()
        };
        descent.squares = (0..labels.len()).map(square).collect();
        descent
    }

    fn row(&self, example: usize) -> &'a [f32] {
        &self.features[example * self.dimensions..][..self.dimensions]
    }

    fn sign(&self, example: usize) -> f64 {
        if self.labels[example] { 1.0 } else { -1.0 }
    }

    /// How far inside its side an example is.
    fn margin(&self, example: usize) -> f64 {
        self.sign(example) * self.svm.score(self.row(example))
    }

    /// Minimises along each coordinate once, and returns how much the projected gradients differ.
    fn pass(&mut self, order: &[usize]) -> f64 {
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for &example in order {
            let gradient = self.margin(example) - 1.0;
            let before = self.duals[example];
            // At a bound, only the direction back inside counts.
            let projected = if before <= 0.0 {
                gradient.min(0.0)
            } else if before >= self.cost {
                gradient.max(0.0)
            } else {
                gradient
            };
            least = least.min(projected);
            most = most.max(projected);
            if projected != 0.0 {
                let after = (before - gradient / self.squares[example]).clamp(0.0, self.cost);
                self.duals[example] = after;
                self.move_by(example, (after - before) * self.sign(example));
            }
        }
        // Without examples there is nothing to do.
        (most - least).max(0.0)
    }

    fn move_by(&mut self, example: usize, step: f64) {
        let row = self.row(example);
        for (weight, feature) in self.svm.weights.iter_mut().zip(row) {
            *weight += step * f64::from(*feature);
        }
        self.svm.bias += step;
    }

    fn finish(self, passes: usize, is_converged: bool) -> TrainedSvm {
        let svm = &self.svm;
        let length = svm.weights.iter().map(|w| w * w).sum::<f64>() + svm.bias * svm.bias;
        let losses: f64 = (0..self.labels.len())
            .map(|example| (1.0 - self.margin(example)).max(0.0))
            .sum();
        TrainedSvm {
            primal: length / 2.0 + self.cost * losses,
            dual: self.duals.iter().sum::<f64>() - length / 2.0,
            passes,
            is_converged,
            svm: self.svm,
        }
    }
}
