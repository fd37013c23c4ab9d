//! [`advice_json`]: findings as JSON, schema `reuselens-advice/1`.

use reuselens_advice::Finding;
use reuselens_advisor::Unknown;
use serde::Serialize;
use serde_json::{Value, json};

use super::AdviceReport;
use crate::json::to_text;

/// The name and version of the schema. Fields may be added to it; none is renamed.
pub const ADVICE_SCHEMA: &str = "reuselens-advice/1";

#[derive(Serialize)]
struct AdviceDocument<'a> {
    schema: &'static str,
    version: &'static str,
    command: &'a str,
    #[serde(flatten)]
    advice: AdviceJson,
}

/// Findings, and what is not known: the field `advice` of a profile's JSON.
#[derive(Serialize)]
pub(crate) struct AdviceJson {
    /// This and the next two are null for GPU kernels.
    cache_bytes: Option<u64>,
    cache_name: Option<String>,
    misses: Option<u64>,
    findings: Vec<Value>,
    unknown: Vec<Value>,
    notes: Vec<String>,
}

impl From<&AdviceReport<'_>> for AdviceJson {
    fn from(report: &AdviceReport<'_>) -> Self {
        let miss_advice = report.miss_advice;
        AdviceJson {
            cache_bytes: miss_advice.map(|advice| advice.cache.get()),
            cache_name: miss_advice.and_then(|advice| advice.cache_name.clone()),
            misses: miss_advice.map(|advice| advice.misses),
            findings: report.findings.iter().map(finding_json).collect(),
            unknown: report.unknown.iter().map(unknown_json).collect(),
            notes: report.notes.clone(),
        }
    }
}

/// Findings as JSON. Ends with a line break.
pub fn advice_json(report: &AdviceReport<'_>) -> String {
    to_text(&AdviceDocument {
        schema: ADVICE_SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        command: &report.command,
        advice: report.into(),
    })
}

/// A finding of any advisor.
pub(crate) fn finding_json(finding: &Finding) -> Value {
    json!({
        "rule": finding.rule.name,
        "title": finding.rule.title,
        "source": finding.place.source,
        "function": finding.place.function,
        "call_path": finding.place.call_path,
        "object": finding.place.object,
        "evidence": finding.evidence,
        "cost": {
            "amount": finding.cost.amount,
            "unit": finding.cost.unit,
            "share": finding.cost.share,
        },
        "remedy": finding.remedy,
        "confidence": finding.confidence.name(),
    })
}

fn unknown_json(unknown: &Unknown) -> Value {
    json!({
        "what": unknown.what,
        "why": unknown.why,
        "how": unknown.how.to_string(),
        "rules": unknown.rules,
        "partial_rules": unknown.partial_rules,
        "misses": unknown.misses,
    })
}
