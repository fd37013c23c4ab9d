//! [`advice_sarif`]: findings as SARIF, for tools that review code.
//!
//! Source: *Static Analysis Results Interchange Format (SARIF) Version 2.1.0*, OASIS 2020. The
//! numbers of sections below are those of that document.

use reuselens_advice::{Confidence, Finding, FindingRule};
use serde_json::{Map, Value, json};

use super::review::{fingerprints, review_place};
use super::{AdviceReport, cost};
use crate::json::to_text;

/// Where the schema of SARIF 2.1.0 is, as its section 3.13.3 names it: readers know the version by
/// it. Nothing is fetched.
const SARIF_SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// What sets these results apart from those of other tools in one repository (3.17.3).
const CATEGORY: &str = "reuselens/";

/// The name of the folder that relative paths begin at (3.14.14); readers know this one.
const ROOT: &str = "%SRCROOT%";

/// Findings as SARIF 2.1.0: one run, with the rules that applied, and a result for each finding.
/// Results without a source line have no location. Paths below `root`, an absolute path of a
/// folder, begin there, as services that review code need it. Ends with a line break.
pub fn advice_sarif(report: &AdviceReport<'_>, root: Option<&str>) -> String {
    let mut rules: Vec<&'static FindingRule> = Vec::new();
    for finding in report.findings {
        if rules.iter().all(|rule| rule.name != finding.rule.name) {
            rules.push(finding.rule);
        }
    }
    let index = |finding: &Finding| rules.iter().position(|rule| *rule == finding.rule);
    let known = fingerprints(report.findings, root);
    let results = report.findings.iter().zip(known);
    let results: Vec<Value> = results
        .map(|(finding, fingerprint)| {
            let mut result = result(finding, index(finding), root);
            // 3.27.17
            result["partialFingerprints"] = json!({ "reuselens/v1": fingerprint });
            result
        })
        .collect();
    to_text(&json!({
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {
                "driver": {
                    "name": "reuselens",
                    "version": env!("CARGO_PKG_VERSION"),
                    "rules": rules.iter().map(|it| rule(it)).collect::<Vec<Value>>(),
                },
            },
            "automationDetails": { "id": CATEGORY },
            "invocations": [{ "commandLine": report.command, "executionSuccessful": true }],
            "results": results,
        }],
    }))
}

/// A `reportingDescriptor` (3.49).
fn rule(rule: &FindingRule) -> Value {
    json!({
        "id": rule.name,
        "shortDescription": { "text": rule.title },
        "fullDescription": { "text": rule.what },
        "help": { "text": format!("{} {}", rule.why, rule.limits) },
        "defaultConfiguration": { "level": "warning" },
    })
}

/// A `result` (3.27).
fn result(finding: &Finding, rule: Option<usize>, root: Option<&str>) -> Value {
    let mut result = Map::new();
    result.insert("ruleId".to_owned(), json!(finding.rule.name));
    if let Some(rule) = rule {
        result.insert("ruleIndex".to_owned(), json!(rule));
    }
    result.insert("level".to_owned(), json!(level(finding.confidence)));
    result.insert("message".to_owned(), json!({ "text": message(finding) }));
    if let Some(location) = location(finding, root) {
        result.insert("locations".to_owned(), json!([location]));
    }
    let properties = json!({
        "amount": finding.cost.amount,
        "unit": finding.cost.unit,
        "share": finding.cost.share,
        "confidence": finding.confidence.name(),
    });
    result.insert("properties".to_owned(), properties);
    Value::Object(result)
}

/// The level of a result (3.27.10): what follows from a heuristic is a note.
fn level(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Certain | Confidence::Likely => "warning",
        Confidence::Possible => "note",
    }
}

pub(super) fn message(finding: &Finding) -> String {
    let about = match &finding.place.object {
        Some(object) => format!("{} on {object}", finding.rule.title),
        None => finding.rule.title.to_owned(),
    };
    format!(
        "{about}: {}. {} {}",
        cost(&finding.cost),
        finding.evidence.join(" "),
        finding.remedy
    )
}

/// A `location` (3.28) with a `physicalLocation`; `None` where the line is not known.
fn location(finding: &Finding, root: Option<&str>) -> Option<Value> {
    let place = review_place(finding, root)?;
    let mut artifact = json!({ "uri": uri(&place.path) });
    if !place.path.starts_with('/') {
        artifact["uriBaseId"] = json!(ROOT);
    }
    let mut location = json!({
        "physicalLocation": {
            "artifactLocation": artifact,
            "region": { "startLine": place.line },
        },
    });
    if let Some(function) = &finding.place.function {
        location["logicalLocations"] = json!([{ "name": function, "kind": "function" }]);
    }
    Some(location)
}

/// A path as a URI (3.4.4): absolute ones are of this machine, others are relative.
fn uri(path: &str) -> String {
    let mut uri = if path.starts_with('/') {
        "file://".to_owned()
    } else {
        String::new()
    };
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b'+' => {
                uri.push(byte.into());
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_escaped_in_uris() {
        assert_eq!(uri("/p/my file#1.c"), "file:///p/my%20file%231.c");
        assert_eq!(uri("src/a.c"), "src/a.c");
    }
}
