//! [`advice_gitlab`]: findings as a report of code quality, which GitLab shows in merge requests.
//!
//! Source: GitLab's documentation, "Code Quality", section "Code Quality report format".

use reuselens_advice::{Confidence, Finding};
use serde_json::{Value, json};

use super::AdviceReport;
use super::review::{fingerprints, review_place};
use super::sarif::message;
use crate::json::to_text;

/// Findings as a list of code quality violations. Those without a source line are left out: the
/// format knows none. Paths below `root`, an absolute path of a folder, begin there, as GitLab
/// needs it. Ends with a line break.
pub fn advice_gitlab(report: &AdviceReport<'_>, root: Option<&str>) -> String {
    let known = fingerprints(report.findings, root);
    let violations = report.findings.iter().zip(known);
    let violations = violations.filter_map(|(finding, fingerprint)| {
        let place = review_place(finding, root)?;
        Some(json!({
            "description": message(finding),
            "check_name": finding.rule.name,
            "fingerprint": fingerprint,
            "severity": severity(finding),
            "location": { "path": place.path, "lines": { "begin": place.line } },
        }))
    });
    to_text(&violations.collect::<Vec<Value>>())
}

/// What follows from a heuristic is for information.
fn severity(finding: &Finding) -> &'static str {
    match finding.confidence {
        Confidence::Certain => "major",
        Confidence::Likely => "minor",
        Confidence::Possible => "info",
    }
}
