//! What the reader of a prediction must know.

use reuselens_locality::{Profile, Warning};

use crate::group::GroupForecast;
use crate::prediction::{GroupMisses, PredictOptions};
use crate::whole::WholePrediction;

fn warn(code: &str, message: String, hint: &str) -> Warning {
    Warning {
        code: code.to_owned(),
        message,
        hint: hint.to_owned(),
    }
}

/// What the reader of a prediction must know.
pub(crate) fn warnings(
    runs: &[&Profile],
    training: &[(usize, f64)],
    size: f64,
    whole: &WholePrediction,
    groups: &[(GroupForecast, Vec<GroupMisses>)],
    options: &PredictOptions,
) -> Vec<Warning> {
    let mut all = size_warnings(training, size, options.far);
    let below = groups
        .iter()
        .filter(|(forecast, _)| forecast.below_zero)
        .count();
    if whole.below_zero > 0 || below > 0 {
        let message = format!(
            "less than 0 was predicted for {} of 1000 parts of the program and {below} groups, which became 0",
            whole.below_zero
        );
        let hint = "profile a larger input, or ask for a smaller size: distances that shrink cannot be extrapolated far";
        all.push(warn("below-zero", message, hint));
    }
    let beyond = |misses: &GroupMisses| misses.misses_from.is_some_and(f64::is_infinite);
    let beyond = groups
        .iter()
        .filter(|group| group.1.iter().any(beyond))
        .count();
    if beyond > 0 {
        let message = format!(
            "{beyond} groups leave a cache at a size beyond what any machine holds: they grow so slowly that nothing can be said of it"
        );
        let hint = "take them as staying, or profile inputs that differ more";
        all.push(warn("beyond-any", message, hint));
    }
    if runs.iter().any(|run| !run.method.exact) {
        let message = "a training run is a sample: its error is in the prediction too".to_owned();
        all.push(warn("sampled", message, "profile without --sample"));
    }
    if options.loose {
        let message = "programs and builds were not compared (--loose)".to_owned();
        all.push(warn("loose", message, ""));
    }
    all
}

fn size_warnings(training: &[(usize, f64)], size: f64, far: f64) -> Vec<Warning> {
    let mut all = Vec::new();
    let (smallest, largest) = (training[0].1, training[training.len() - 1].1);
    if size > largest * far {
        let times = size / largest;
        let message = format!(
            "the size asked for is {times:.0} times the largest that was run: small errors of the fit become large"
        );
        all.push(warn(
            "far-away",
            message,
            "profile a larger input, and add it to --train",
        ));
    }
    if size < smallest {
        let message = "the size asked for is smaller than all that were run".to_owned();
        all.push(warn(
            "below-training",
            message,
            "profile that input: it is quick",
        ));
    }
    if largest < smallest * 2.0 {
        let times = largest / smallest;
        let message = format!("the largest training run is only {times:.2} times the smallest");
        all.push(warn(
            "close-sizes",
            message,
            "profile inputs that differ fourfold or more",
        ));
    }
    all
}
