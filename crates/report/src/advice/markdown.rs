//! [`advice_markdown`]: findings as Markdown, for the summary of a pull request.

use std::fmt::Write;

use reuselens_document::markdown::{code, code_in_cell, plain, prose};

use super::review::review_place;
use super::{AdviceReport, cost};

/// The costliest findings, `most` of them, as a table in Markdown (GitHub's), then what each is
/// seen by and what to change, and what is not known. Paths below `root`, an absolute path of a
/// folder, begin there. Ends with a line break.
pub fn advice_markdown(report: &AdviceReport<'_>, root: Option<&str>, most: usize) -> String {
    let command = code(&report.command);
    let mut out = match report.findings {
        [] => format!(
            "### Locality: {} ({command})\n",
            plain(&report.nothing_found())
        ),
        _ => format!("### Locality: what to change ({command})\n"),
    };
    let shown: Vec<_> = report.findings.iter().take(most).collect();
    if !shown.is_empty() {
        out.push_str("\n| | what | where | cost at most |\n|---:|---|---|---|\n");
    }
    for (number, finding) in (1..).zip(&shown) {
        let place = review_place(finding, root);
        let line = place.map(|place| code_in_cell(&format!("{}:{}", place.path, place.line)));
        let named = |word: &str, name: &Option<String>| {
            name.as_ref()
                .map(|name| format!("{word} {}", code_in_cell(name)))
        };
        let words = [
            line,
            named("in", &finding.place.function),
            named("on", &finding.place.object),
        ];
        let place = words.into_iter().flatten().collect::<Vec<_>>().join(" ");
        let title = plain(finding.rule.title);
        let cost = plain(&cost(&finding.cost));
        let _ = writeln!(out, "| {number} | {title} | {place} | {cost} |");
    }
    let mut remarks = Vec::new();
    for (number, finding) in (1..).zip(&shown) {
        let evidence = prose(&finding.evidence.join(" "));
        let remedy = prose(&finding.remedy);
        remarks.push(format!("{number}: {evidence} → {remedy}"));
    }
    let more = report.findings.len() - shown.len();
    if more > 0 {
        remarks.push(format!("{more} more"));
    }
    remarks.extend(report.notes.iter().map(|note| prose(note)));
    let unknown = report.unknown.iter();
    remarks.extend(unknown.map(|it| prose(&format!("not known: {}: {}", it.what, it.how))));
    if !remarks.is_empty() {
        out.push('\n');
    }
    for remark in remarks {
        let _ = writeln!(out, "- {remark}");
    }
    out
}
