//! [`advice_sarif`]: findings as SARIF, for tools that review code.
//!
//! Source: *Static Analysis Results Interchange Format (SARIF) Version 2.1.0*, OASIS 2020. The
//! numbers of sections below are those of that document.

use reuselens_advice::{Confidence, Finding, FindingPlace, FindingRule, SourcePlace};
use serde_json::{Map, Value, json};

use super::{AdviceReport, cost};
use crate::json::to_text;

/// Where the schema of SARIF 2.1.0 is, as its section 3.13.3 names it: readers know the version by
/// it. Nothing is fetched.
const SARIF_SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Findings as SARIF 2.1.0: one run, with the rules that applied, and a result for each finding.
/// Results without a source line have no location. Ends with a line break.
pub fn advice_sarif(report: &AdviceReport<'_>) -> String {
    let mut rules: Vec<&'static FindingRule> = Vec::new();
    for finding in report.findings {
        if rules.iter().all(|rule| rule.name != finding.rule.name) {
            rules.push(finding.rule);
        }
    }
    let index = |finding: &Finding| rules.iter().position(|rule| *rule == finding.rule);
    let results = report.findings.iter();
    let results: Vec<Value> = results
        .map(|finding| result(finding, index(finding)))
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
fn result(finding: &Finding, rule: Option<usize>) -> Value {
    let mut result = Map::new();
    result.insert("ruleId".to_owned(), json!(finding.rule.name));
    if let Some(rule) = rule {
        result.insert("ruleIndex".to_owned(), json!(rule));
    }
    result.insert("level".to_owned(), json!(level(finding.confidence)));
    result.insert("message".to_owned(), json!({ "text": message(finding) }));
    if let Some(location) = location(&finding.place) {
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

fn message(finding: &Finding) -> String {
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
fn location(place: &FindingPlace) -> Option<Value> {
    let SourcePlace { file, line, .. } = known_line(place.source.as_deref()?)?;
    let mut location = json!({
        "physicalLocation": {
            "artifactLocation": { "uri": uri(file) },
            "region": { "startLine": line },
        },
    });
    if let Some(function) = &place.function {
        location["logicalLocations"] = json!([{ "name": function, "kind": "function" }]);
    }
    Some(location)
}

/// A place with a file and a line: lines count from 1 (3.30.5).
fn known_line(source: &str) -> Option<SourcePlace<'_>> {
    let place = SourcePlace::parse(source)?;
    (place.line > 0 && !place.file.is_empty()).then_some(place)
}

/// A path as a URI (3.4.4): absolute ones are of this machine, others are relative.
fn uri(path: &str) -> String {
    let mut uri = match path.starts_with('/') {
        true => "file://".to_owned(),
        false => String::new(),
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
    fn places_without_a_file_or_a_line_have_no_location() {
        assert!(known_line("/p/a.cu:12:7").is_some());
        for none in ["a.c", "a.c:0", ":3", "a.c:x"] {
            assert_eq!(known_line(none), None, "{none}");
        }
    }

    #[test]
    fn paths_are_escaped_in_uris() {
        assert_eq!(uri("/p/my file#1.c"), "file:///p/my%20file%231.c");
        assert_eq!(uri("src/a.c"), "src/a.c");
    }
}
