//! The SVM against textbook solutions, a bound, and a search.

use proptest::prelude::*;
use reuselens_link_prediction::{InvalidOptions, LinearSvm, SvmOptions, TrainedSvm};

fn train(features: &[f32], dimensions: usize, labels: &[bool], cost: f64) -> TrainedSvm {
    let options = SvmOptions {
        cost,
        tolerance: 1e-9,
        most_passes: 200_000,
        ..SvmOptions::default()
    };
    LinearSvm::train(features, dimensions, labels, &options).expect("valid options")
}

/// What an SVM minimises, written down again.
fn objective(w: &[f64], b: f64, features: &[f32], labels: &[bool], cost: f64) -> f64 {
    let rows = features.chunks_exact(w.len()).zip(labels);
    let losses = rows.map(|(row, label)| {
        let dot: f64 = row.iter().zip(w).map(|(x, w)| f64::from(*x) * w).sum();
        let sign = if *label { 1.0 } else { -1.0 };
        (1.0 - sign * (dot + b)).max(0.0)
    });
    let square: f64 = w.iter().map(|w| w * w).sum();
    0.5 * (square + b * b) + cost * losses.sum::<f64>()
}

#[test]
fn two_points_have_the_textbook_plane() {
    // The nearest points of both classes are (1, 1) and (-1, -1): w = (½, ½), b = 0.
    let features = [1.0, 1.0, -1.0, -1.0, 3.0, 2.0, -2.0, -5.0];
    let trained = train(&features, 2, &[true, false, true, false], 10.0);
    assert!(trained.is_converged);
    for weight in &trained.svm.weights {
        assert!((weight - 0.5).abs() < 1e-6, "{trained:?}");
    }
    assert!(trained.svm.bias.abs() < 1e-6);
    assert!((trained.primal - 0.25).abs() < 1e-6);
}

#[test]
fn a_small_cost_caps_the_dual_variables() {
    // Points ±0.1 with cost 1: both duals are at the cost, so w = 0.1 + 0.1 and b = 1 − 1.
    let trained = train(&[0.1, -0.1], 1, &[true, false], 1.0);
    assert!((trained.svm.weights[0] - 0.2).abs() < 1e-6, "{trained:?}");
    assert!(trained.svm.bias.abs() < 1e-6);
}

#[test]
fn one_class_and_no_examples_are_no_errors() {
    let trained = train(&[1.0, 2.0], 1, &[true, true], 1.0);
    assert!(trained.svm.score(&[1.0]) > 0.9);
    let trained = train(&[], 3, &[], 1.0);
    assert_eq!((trained.svm.weights, trained.svm.bias), (vec![0.0; 3], 0.0));
}

#[test]
fn options_that_are_not_positive_are_refused() {
    let options = SvmOptions {
        cost: -1.0,
        ..SvmOptions::default()
    };
    let refused = LinearSvm::train(&[1.0], 1, &[true], &options);
    assert_eq!(refused, Err(InvalidOptions::NotPositive("cost")));
}

fn examples() -> impl Strategy<Value = Vec<(f32, f32, bool)>> {
    let number = || (-20i32..=20).prop_map(|tenths| tenths as f32 / 10.0);
    prop::collection::vec((number(), number(), any::<bool>()), 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_step_from_the_optimum_improves_it(examples in examples(), cost in 0.1f64..4.0) {
        let features: Vec<f32> = examples.iter().flat_map(|(x, y, _)| [*x, *y]).collect();
        let labels: Vec<bool> = examples.iter().map(|(_, _, label)| *label).collect();
        let trained = train(&features, 2, &labels, cost);
        let svm = &trained.svm;
        let best = objective(&svm.weights, svm.bias, &features, &labels, cost);
        prop_assert!((best - trained.primal).abs() < 1e-9 * (1.0 + best));
        // The dual value is a bound below all: a small gap proves the optimum.
        prop_assert!(trained.dual <= trained.primal + 1e-9);
        prop_assert!(trained.primal - trained.dual < 1e-4 * (1.0 + best), "{:?}", trained);
        // By search too, which does not rely on the dual.
        for size in [1.0, 0.1, 0.01, 0.001] {
            for direction in 0..27 {
                let offset = |digit: i32| f64::from(direction / digit % 3 - 1) * size;
                let w = [svm.weights[0] + offset(1), svm.weights[1] + offset(3)];
                let other = objective(&w, svm.bias + offset(9), &features, &labels, cost);
                prop_assert!(best <= other + 1e-4 * (1.0 + best));
            }
        }
    }
}
