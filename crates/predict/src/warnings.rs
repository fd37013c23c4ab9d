//! The warnings of a prediction: what a reader must know before relying on it.

use reuselens_profile::{Profile, Warning};
use reuselens_units::counted;

use crate::group::GroupForecast;
use crate::prediction::{GroupMisses, PredictOptions, PredictionSizes};
use crate::program::By;
use crate::program_prediction::ProgramPrediction;

fn warn(code: &str, message: String, hint: &str) -> Warning {
    Warning {
        code: code.to_owned(),
        message,
        hint: hint.to_owned(),
    }
}

/// All warnings of a prediction. `too_much` is the data that do not grow, if they were too much to
/// be left out.
pub(crate) fn warnings(
    runs: &[&Profile],
    (scale, too_much): (&PredictionSizes, Option<f64>),
    program: &ProgramPrediction,
    groups: &[(GroupForecast, Vec<GroupMisses>)],
    options: &PredictOptions,
) -> Vec<Warning> {
    let mut all = size_warnings(scale, options.far);
    if let Some(fixed) = too_much {
        if scale.size <= fixed {
            all.push(below_fixed(fixed));
        }
        let message = format!(
            "{fixed:.0} of the {:.0} items of the smallest training run do not grow, which is too much to leave out of the sizes: ways of growing fit badly",
            scale.training[0].1
        );
        let hint = "profile larger inputs";
        all.push(warn("much-fixed", message, hint));
    }
    let below = groups
        .iter()
        .filter(|(forecast, _)| forecast.below_zero)
        .count();
    if program.below_zero > 0 || below > 0 {
        let groups = counted(below as u64, "group", "groups");
        let of_what = match (program.below_zero, below) {
            (0, _) => groups,
            (parts, 0) => format!("{parts} of 1000 parts of the program"),
            (parts, _) => format!("{parts} of 1000 parts of the program and {groups}"),
        };
        let message = format!("less than 0 was predicted for {of_what}, which became 0");
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
            "{} would leave a cache at a size beyond what any machine holds: growth is so slow that nothing can be said of it",
            counted(beyond as u64, "group", "groups")
        );
        let hint = "take them as staying, or profile inputs that differ more";
        all.push(warn("beyond-any", message, hint));
    }
    all.extend(rarer_paths(runs, options.by));
    if runs.iter().any(|run| !run.method.exact) {
        all.push(sampled());
    }
    if options.loose {
        let message = "programs and builds were not compared (--loose)".to_owned();
        all.push(warn("loose", message, ""));
    }
    all
}

fn sampled() -> Warning {
    let message = "a training run is a sample: its error is in the prediction too".to_owned();
    warn("sampled", message, "profile without --sample and --quick")
}

/// A share of the accesses that is no longer all of them when it is written.
const ALL: f64 = 0.9995;

/// The warning that some runs had rarer paths that were counted together, and how many accesses
/// those have.
fn rarer_paths(runs: &[&Profile], by: By) -> Option<Warning> {
    let By::Path(length) = by else { return None };
    let known = runs.iter().map(|run| known_paths(run, length));
    let known: Vec<f64> = known.map(|share| share.unwrap_or(1.0)).collect();
    if known.iter().all(|share| *share >= ALL) {
        return None;
    }
    let shares: Vec<String> = known
        .iter()
        .map(|share| format!("{:.1} %", 100.0 * share))
        .collect();
    let message = format!(
        "not all paths of {length} outcomes were counted by themselves, but those of {} of the accesses of the training runs: of rarer ones nothing is predicted",
        shares.join(", ")
    );
    let hint = "profile with more paths (--most-paths 8M), or ask for shorter ones (--history)";
    Some(warn("rarer-paths", message, hint))
}

/// The warning that smaller runs are hardly more than what does not grow, and are not used.
pub(crate) fn small_runs(left_out: &[(usize, f64)]) -> Option<Warning> {
    let sizes: Vec<String> = left_out.iter().map(|run| format!("{:.0}", run.1)).collect();
    let runs = counted(sizes.len() as u64, "training run", "training runs");
    let message = format!(
        "{runs} of {} items, of which more than two thirds do not grow, say nothing of growth and are left out",
        sizes.join(" and ")
    );
    let hint = "profile larger inputs";
    (!sizes.is_empty()).then(|| warn("small-runs", message, hint))
}

fn below_fixed(fixed: f64) -> Warning {
    let message = format!(
        "the size asked for is no more than the {fixed:.0} items that do not grow: what is shown is for one more"
    );
    warn("below-fixed", message, "ask for a larger size")
}

/// About sizes, of which only what grows counts.
fn size_warnings(scale: &PredictionSizes, far: f64) -> Vec<Warning> {
    let mut all = Vec::new();
    let grown = |size: f64| (size - scale.fixed).max(1.0);
    let training = scale.training;
    let (smallest, largest) = (grown(training[0].1), grown(training[training.len() - 1].1));
    let size = grown(scale.size);
    if scale.size <= scale.fixed {
        all.push(below_fixed(scale.fixed));
    }
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

/// The share of a profile's accesses whose path of `length` outcomes is known; `None` without
/// paths.
fn known_paths(profile: &Profile, length: u32) -> Option<f64> {
    let shares = &profile.paths.as_ref()?.shares;
    let all = shares.first().filter(|all| all.accesses > 0)?.accesses;
    let of = shares.iter().find(|shares| shares.length >= length)?;
    Some(of.accesses as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(training: &[(usize, f64)], size: f64, fixed: f64) -> Vec<String> {
        let scale = PredictionSizes {
            training,
            size,
            fixed,
            counts: Default::default(),
        };
        let all = size_warnings(&scale, 16.0).into_iter();
        all.map(|warning| warning.code).collect()
    }

    #[test]
    fn growth_ignores_fixed_data() {
        let training = [(0, 10_000.0), (1, 18_000.0)];
        assert_eq!(codes(&training, 200_000.0, 0.0), ["close-sizes"]);
        // 5500 and 13,500.
        assert_eq!(codes(&training, 200_000.0, 4500.0), [""; 0]);
        assert_eq!(codes(&training, 230_000.0, 4500.0), ["far-away"]);
        let below = ["below-fixed", "below-training"];
        assert_eq!(codes(&training, 4500.0, 4500.0), below);
    }
}
