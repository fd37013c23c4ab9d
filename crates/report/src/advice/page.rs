//! The section of a page with what to change.

use std::fmt::Write;

use reuselens_advice::{Finding, capitalised};
use reuselens_advisor::Unknown;
use reuselens_document::html::{escape, page, with_code};

use super::{AdviceReport, PlaceNames, cost};
use crate::ShownProfile;

/// Findings that are shown at most.
const FINDINGS: usize = 50;
/// Findings that are open at first.
const OPEN: usize = 3;

/// What a page shows of a profile: nothing without causes and findings, as most rules have nothing
/// to look at then, and a list of them would be in the way.
pub(crate) fn for_page<'a>(shown: &'a ShownProfile<'_>) -> Option<AdviceReport<'a>> {
    let is_shown = shown.profile().causes.is_some() || !shown.advice().findings.is_empty();
    is_shown.then(|| AdviceReport::of(shown))
}

/// Appends the section, if there is something to show.
pub(crate) fn write(out: &mut String, report: Option<&AdviceReport<'_>>) {
    let Some(report) = report else { return };
    let is_empty = report.findings.is_empty();
    let explain = match report.lacking().filter(|_| is_empty) {
        Some(lacking) => with_code(&lacking),
        None => format!(
            "The costliest first. The cost is what could be saved at most, and its share of all of \
             its kind; there are {}.",
            escape(&report.cache().unwrap_or_default())
        ),
    };
    page::card(out, "advice", "What to change", &explain, |out| {
        if is_empty {
            let _ = write!(out, "<p>{}.</p>", capitalised(&report.nothing_found()));
        }
        write_findings(out, report.findings);
        let unlooked = report.unlooked().filter(|_| !is_empty);
        for note in unlooked.iter().chain(&report.notes) {
            let _ = write!(out, "<p>{}</p>", with_code(note));
        }
        write_unknown(out, report.unknown);
    });
}

/// Appends findings, the first ones open.
pub(crate) fn write_findings(out: &mut String, findings: &[Finding]) {
    let names = PlaceNames::of(findings);
    for (at, finding) in findings.iter().take(FINDINGS).enumerate() {
        write_finding(out, finding, &names.place(finding), at < OPEN);
    }
    if findings.len() > FINDINGS {
        let more = findings.len() - FINDINGS;
        let _ = write!(out, "<p>{more} more are in the JSON.</p>");
    }
}

fn write_finding(out: &mut String, finding: &Finding, place: &str, is_open: bool) {
    let rule = finding.rule;
    let _ = write!(
        out,
        "<details class=\"finding\"{}><summary><b>{}</b> {} <span class=\"soft\">{}</span></summary>",
        if is_open { " open" } else { "" },
        escape(rule.title),
        escape(place),
        escape(&cost(&finding.cost)),
    );
    if !finding.place.call_path.is_empty() {
        let _ = write!(
            out,
            "<p class=\"mono\">{}</p>",
            escape(&finding.place.call_path.join(" › "))
        );
    }
    out.push_str("<ul>");
    for evidence in &finding.evidence {
        let _ = write!(out, "<li>{}</li>", with_code(evidence));
    }
    let _ = write!(
        out,
        "</ul><p><b>Change:</b> {}</p><p class=\"soft\">{} Confidence: {}. {}</p>",
        with_code(&finding.remedy),
        with_code(rule.why),
        finding.confidence.name(),
        escape(rule.limits)
    );
    if !rule.example.before.is_empty() {
        let _ = write!(
            out,
            "<div class=\"lesson\"><div><b>Before, in an example</b><pre><code>{}</code></pre></div>\
             <div><b>After</b><pre><code>{}</code></pre></div></div>",
            escape(rule.example.before),
            escape(rule.example.after)
        );
    }
    out.push_str("</details>");
}

/// Appends what is not known.
fn write_unknown(out: &mut String, unknown: &[Unknown]) {
    if unknown.is_empty() {
        return;
    }
    out.push_str("<details class=\"finding\"><summary>Not known</summary><ul>");
    for unknown in unknown {
        let named = |what: &str, rules: &[&str]| match rules {
            [] => String::new(),
            rules => format!(" {what}: {}.", rules.join(", ")),
        };
        let _ = write!(
            out,
            "<li><b>{}</b>: {} {}{}{}</li>",
            escape(unknown.what),
            with_code(unknown.why),
            with_code(&unknown.how.to_string()),
            escape(&named("Not applied", &unknown.rules)),
            escape(&named(
                "Applied to the other data only",
                &unknown.partial_rules
            ))
        );
    }
    out.push_str("</ul></details>");
}
