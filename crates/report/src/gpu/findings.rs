//! [`GpuFindings`]: what to change, from the JSON of a run of a GPU program.

use reuselens_advice::{Confidence, Cost, Finding, FindingPlace};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::STOPPED;
use super::diff::GpuDiffError;
use super::json::GPU_SCHEMA;
use crate::numbers::noun;

/// The findings of a run of a GPU program, read from its JSON.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GpuFindings {
    /// The command of the run, as one line.
    pub command: String,
    /// The findings, the costliest first.
    pub findings: Vec<Finding>,
    /// Findings of rules that this version does not have.
    pub left_out: u64,
    /// Whether kernels were stopped.
    pub is_stopped: bool,
}

#[derive(Deserialize)]
struct StoredRun {
    schema: String,
    command: String,
    findings: Vec<StoredFinding>,
    #[serde(default)]
    faults: Vec<IgnoredAny>,
}

/// As [`finding_json`](crate::advice::finding_json) writes it.
#[derive(Deserialize)]
struct StoredFinding {
    rule: String,
    source: Option<String>,
    function: Option<String>,
    #[serde(default)]
    call_path: Vec<String>,
    object: Option<String>,
    evidence: Vec<String>,
    cost: StoredCost,
    remedy: String,
    confidence: String,
}

#[derive(Deserialize)]
struct StoredCost {
    amount: u64,
    unit: String,
    share: f64,
}

impl GpuFindings {
    /// Reads the JSON of [`gpu_json`](super::gpu_json).
    ///
    /// # Errors
    /// If it is none, or of another schema.
    pub fn parse(text: &str) -> Result<GpuFindings, GpuDiffError> {
        let run: StoredRun =
            serde_json::from_str(text).map_err(|error| GpuDiffError::NotARun(error.to_string()))?;
        if run.schema != GPU_SCHEMA {
            return Err(GpuDiffError::Schema(run.schema));
        }
        let all = run.findings.len();
        let known = run.findings.into_iter().filter_map(finding);
        let findings: Vec<Finding> = known.collect();
        Ok(GpuFindings {
            command: run.command,
            left_out: (all - findings.len()) as u64,
            findings,
            is_stopped: !run.faults.is_empty(),
        })
    }

    /// What to know of all findings, as sentences.
    pub(crate) fn notes(&self) -> Vec<String> {
        let left_out = (self.left_out > 0).then(|| {
            let findings = noun(self.left_out, "finding is", "findings are");
            format!("{findings} of rules that this version does not have.")
        });
        let stopped = self.is_stopped.then(|| STOPPED.to_owned());
        stopped.into_iter().chain(left_out).collect()
    }
}

/// A finding of a rule of this version; `None` of another one.
fn finding(entry: StoredFinding) -> Option<Finding> {
    let rule = reuselens_gpu_advisor::rules().find(|rule| rule.name == entry.rule)?;
    let all = [
        Confidence::Certain,
        Confidence::Likely,
        Confidence::Possible,
    ];
    let confidence = all.into_iter().find(|it| it.name() == entry.confidence);
    Some(Finding {
        rule,
        place: FindingPlace {
            source: entry.source,
            function: entry.function,
            call_path: entry.call_path,
            object: entry.object,
        },
        evidence: entry.evidence,
        cost: Cost {
            amount: entry.cost.amount,
            unit: entry.cost.unit.into(),
            share: entry.cost.share,
        },
        remedy: entry.remedy,
        confidence: confidence.unwrap_or(Confidence::Possible),
    })
}
