//! [`PlacementPrediction`]: how a plan for an input that was not run came about, and how sure it
//! is.

use reuselens_document::numbers::{percent, ratio_percent};
use reuselens_placement::{Placed, PlacementPlan, Reason, TransferredPlan};
use reuselens_predict::{Estimate, ObjectEstimate, PredictedProfile};
use reuselens_units::Bytes;
use serde::Serialize;

/// Objects that cannot be predicted and have less than this part of the accesses are only counted.
const NOTABLE: u64 = 1000;

/// What a plan for a predicted profile is shown with.
#[derive(Clone, Debug)]
pub struct PlacementPrediction<'a> {
    /// The predicted profile, which the plan is for.
    pub predicted: &'a PredictedProfile,
    /// Names of the training runs, in the order of the indices in the prediction.
    pub training: Vec<&'a str>,
    /// The largest training run as planned from the others; `None` from two runs.
    pub rehearsal: Option<TransferredPlan>,
    /// A run that was compared with, and what the plan is worth there.
    pub check: Option<(&'a str, TransferredPlan)>,
}

impl PlacementPrediction<'_> {
    /// A data size as people read it.
    fn size(&self, size: f64) -> String {
        if self.predicted.given {
            format!("{size}")
        } else {
            Bytes((size as u64).saturating_mul(self.predicted.profile.granularity.bytes()))
                .to_string()
        }
    }

    /// What the plan is for, and how sure it is: pairs of a label and a sentence.
    pub(super) fn lines(&self, plan: &PlacementPlan) -> Vec<(&'static str, String)> {
        let predicted = self.predicted;
        let training = predicted.training.iter();
        let training: Vec<String> = training
            .map(|(run, size)| format!("{} ({})", self.training[*run], self.size(*size)))
            .collect();
        let mut lines = vec![(
            "input",
            format!(
                "not run, predicted: {} of data, from {}",
                self.size(predicted.size),
                training.join(", ")
            ),
        )];
        if let Some(text) = self.intervals(plan) {
            lines.push(("intervals", text));
        }
        if let Some(rehearsal) = &self.rehearsal {
            let text = format!(
                "planned in the same way from the smaller runs, with memory in proportion, the \
                 largest run has a regret of {} (what its best plan is worth more)",
                ratio_percent(rehearsal.regret())
            );
            lines.push(("rehearsal", text));
        }
        if let Some((name, worth)) = &self.check {
            let text = format!(
                "in {name} this plan has a regret of {}: what that run's best plan is worth more",
                ratio_percent(worth.regret())
            );
            lines.push(("check", text));
        }
        if let Some(text) = self.unpredicted() {
            lines.push(("unknown", text));
        }
        lines
    }

    /// How far the sizes and the accesses of what is placed may be off; `None` if nothing is.
    fn intervals(&self, plan: &PlacementPlan) -> Option<String> {
        let placed = plan.objects.iter();
        let placed = placed.filter(|object| object.reason == Reason::Placed);
        let estimates: Vec<ObjectEstimate> =
            placed.filter_map(|object| self.of_object(object)).collect();
        let bytes = span(estimates.iter().map(|estimate| estimate.bytes))?;
        let accesses = span(estimates.iter().map(|estimate| estimate.accesses))?;
        let confidence = match self.predicted.intervals.confidence() {
            Some(_) => "90 % prediction intervals of the regression",
            None => "from two runs, so of no confidence",
        };
        Some(format!(
            "what is placed has {bytes} of the bytes and {accesses} of the accesses that are \
             predicted ({confidence})"
        ))
    }

    /// What is predicted of an object of the plan.
    pub(super) fn of_object(&self, placed: &Placed) -> Option<ObjectEstimate> {
        self.predicted.estimates[placed.candidate.object]
    }

    /// Which objects cannot be predicted.
    fn unpredicted(&self) -> Option<String> {
        let objects = &self.predicted.unpredicted;
        let accesses = self.predicted.trained_accesses;
        let notable = objects.iter();
        let notable: Vec<String> = notable
            .take_while(|object| object.accesses.saturating_mul(NOTABLE) >= accesses)
            .map(|object| format!("{} ({})", object.name, percent(object.accesses, accesses)))
            .collect();
        let others = objects.len() - notable.len();
        let others = (others > 0).then(|| format!("{others} with less than 0.1 % each"));
        let all: Vec<String> = notable.into_iter().chain(others).collect();
        (!all.is_empty()).then(|| {
            format!(
                "not planned, as the second largest run lacks them (accesses are those of the \
                 largest): {}",
                all.join(", ")
            )
        })
    }
}

/// The sums of the lower and of the upper ends, in percent of what is predicted: `98 to 103 %`.
fn span(estimates: impl Iterator<Item = Estimate>) -> Option<String> {
    let sum = estimates.fold(Estimate::default(), |sum, one| Estimate {
        value: sum.value + one.value,
        low: sum.low + one.low,
        high: sum.high + one.high,
    });
    (sum.value > 0.0).then(|| {
        format!(
            "{:.0} to {:.0} %",
            100.0 * sum.low / sum.value,
            100.0 * sum.high / sum.value
        )
    })
}

/// The prediction in JSON.
#[derive(Serialize)]
pub(super) struct PredictionJson<'a> {
    /// In items, or in the unit of `--sizes`.
    size: f64,
    size_given: bool,
    training: Vec<TrainingJson<'a>>,
    confidence: Option<f64>,
    unpredicted: Vec<UnpredictedJson<'a>>,
    rehearsal: Option<WorthJson>,
    check: Option<CheckJson<'a>>,
}

#[derive(Serialize)]
struct TrainingJson<'a> {
    profile: &'a str,
    size: f64,
}

#[derive(Serialize)]
struct UnpredictedJson<'a> {
    name: &'a str,
    accesses: u64,
}

#[derive(Serialize)]
struct WorthJson {
    value: f64,
    best: f64,
    regret: f64,
}

#[derive(Serialize)]
struct CheckJson<'a> {
    profile: &'a str,
    #[serde(flatten)]
    worth: WorthJson,
}

/// The ends of the intervals of an object in JSON.
#[derive(Serialize)]
pub(super) struct IntervalsJson {
    bytes: [f64; 2],
    accesses: [f64; 2],
}

impl<'a> PlacementPrediction<'a> {
    pub(super) fn json(&self) -> PredictionJson<'_> {
        let predicted = self.predicted;
        let worth = |worth: &TransferredPlan| WorthJson {
            value: worth.value,
            best: worth.best,
            regret: worth.regret(),
        };
        let training = predicted.training.iter();
        let unpredicted = predicted.unpredicted.iter();
        PredictionJson {
            size: predicted.size,
            size_given: predicted.given,
            training: training
                .map(|&(run, size)| TrainingJson {
                    profile: self.training[run],
                    size,
                })
                .collect(),
            confidence: predicted.intervals.confidence(),
            unpredicted: unpredicted
                .map(|object| UnpredictedJson {
                    name: &object.name,
                    accesses: object.accesses,
                })
                .collect(),
            rehearsal: self.rehearsal.as_ref().map(worth),
            check: self.check.as_ref().map(|(profile, of)| CheckJson {
                profile,
                worth: worth(of),
            }),
        }
    }

    pub(super) fn intervals_json(&self, placed: &Placed) -> Option<IntervalsJson> {
        let ends = |estimate: Estimate| [estimate.low, estimate.high];
        self.of_object(placed).map(|estimate| IntervalsJson {
            bytes: ends(estimate.bytes),
            accesses: ends(estimate.accesses),
        })
    }
}
