//! [`GpuFindings`]: what to change, from a run of a GPU program that was read back from its JSON.

use reuselens_advice::{Confidence, Cost, Finding, FindingPlace};
use reuselens_document::numbers::noun;

use super::STOPPED;
use super::stored::{StoppedKernel, StoredFinding, StoredGpuRun};

/// The findings of a run of a GPU program that was read back from its JSON.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GpuFindings {
    /// The command of the run, as one line.
    pub command: String,
    /// The findings, the costliest first.
    pub findings: Vec<Finding>,
    /// Findings of rules that this version does not have.
    pub left_out: u64,
    /// Kernels that were stopped.
    pub stopped: Vec<StoppedKernel>,
}

impl From<StoredGpuRun> for GpuFindings {
    fn from(run: StoredGpuRun) -> Self {
        let all = run.findings.len();
        let known = run.findings.into_iter().filter_map(finding);
        let findings: Vec<Finding> = known.collect();
        GpuFindings {
            command: run.command,
            left_out: (all - findings.len()) as u64,
            findings,
            stopped: run.faults,
        }
    }
}

impl GpuFindings {
    /// What to know of all findings, as sentences.
    pub(crate) fn notes(&self) -> Vec<String> {
        let left_out = (self.left_out > 0).then(|| {
            let findings = noun(self.left_out, "finding is", "findings are");
            format!("{findings} of rules that this version does not have.")
        });
        let stopped = (!self.stopped.is_empty()).then(|| STOPPED.to_owned());
        stopped.into_iter().chain(left_out).collect()
    }
}

/// A finding of a rule of this version; `None` of another one.
fn finding(stored: StoredFinding) -> Option<Finding> {
    let rule = reuselens_gpu_advisor::rules().find(|rule| rule.name == stored.rule)?;
    let all = [
        Confidence::Certain,
        Confidence::Likely,
        Confidence::Possible,
    ];
    let confidence = all.into_iter().find(|it| it.name() == stored.confidence);
    Some(Finding {
        rule,
        place: FindingPlace {
            source: stored.source,
            function: stored.function,
            call_path: stored.call_path,
            object: stored.object,
        },
        evidence: stored.evidence,
        cost: Cost {
            amount: stored.cost.amount,
            unit: stored.cost.unit.into(),
            share: stored.cost.share,
        },
        remedy: stored.remedy,
        confidence: confidence.unwrap_or(Confidence::Possible),
    })
}
