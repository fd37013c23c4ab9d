//! The section of the page with what to change.

use std::fmt::Write;

use reuselens_advice::Finding;

use crate::gpu::{GpuRun, STOPPED, rows};
use crate::html::{escape, page};
use crate::numbers::{count, ratio_percent};

/// Findings that are shown at most.
const FINDINGS: usize = 50;
/// Findings that are open at first.
const OPEN: usize = 3;

const EXPLAIN: &str = "The costliest first. The cost is what could be saved at most, and its share of all of its kind in \
this run.";

/// Appends the section.
pub(super) fn write(out: &mut String, run: &GpuRun) {
    page::picture(out, "findings", "What to change", EXPLAIN, |out| {
        if !run.ledger.faults.is_empty() {
            let _ = write!(out, "<p>{STOPPED}</p>");
        } else if run.findings.is_empty() {
            out.push_str("<p>No rule applied.</p>");
        }
        for (at, finding) in run.findings.iter().take(FINDINGS).enumerate() {
            write_finding(out, finding, at < OPEN);
        }
        if run.findings.len() > FINDINGS {
            let more = run.findings.len() - FINDINGS;
            let _ = write!(out, "<p>{more} more are in the JSON.</p>");
        }
    });
}

fn write_finding(out: &mut String, finding: &Finding, is_open: bool) {
    let rule = finding.rule;
    let _ = write!(
        out,
        "<details class=\"finding\"{}><summary><b>{}</b> {} <span class=\"soft\">{} {}, {} of all</span></summary>",
        if is_open { " open" } else { "" },
        escape(rule.title),
        escape(&rows::place(finding)),
        count(finding.cost.amount),
        escape(finding.cost.unit),
        ratio_percent(finding.cost.share),
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
        let _ = write!(out, "<li>{}</li>", escape(evidence));
    }
    let _ = write!(
        out,
        "</ul><p><b>Change:</b> {}</p><p class=\"soft\">{} Confidence: {}. {}</p>",
        escape(&finding.remedy),
        escape(rule.why),
        finding.confidence.name(),
        escape(rule.limits)
    );
    if !rule.example.before.is_empty() {
        let _ = write!(
            out,
            "<div class=\"lesson\"><pre><code>{}</code></pre><pre><code>{}</code></pre></div>",
            escape(rule.example.before),
            escape(rule.example.after)
        );
    }
    out.push_str("</details>");
}
