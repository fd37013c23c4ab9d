//! [`advice_text`]: what to change, on one screen of a terminal.

use std::fmt::Write;

use reuselens_advice::{Finding, capitalised};
use reuselens_advisor::Unknown;
use reuselens_document::numbers::count;
use reuselens_document::terminal::{Paint, TextStyle, heading, wrap};

use super::{AdviceReport, PlaceNames, cost};
use crate::ShownProfile;
use crate::gpu::STOPPED_HEADING;

/// Findings that a summary of a profile shows, and stopped kernels that come before findings.
const FIRST: usize = 3;
/// Calls that are shown of the path to a place: the last ones.
const CALLS: usize = 4;

/// How findings are shown.
#[derive(Clone, Copy, Debug)]
pub struct AdviceTextOptions {
    /// Findings that are shown at most.
    pub most: usize,
    /// Columns of the terminal; 60 at least.
    pub width: usize,
    /// Whether to colour.
    pub color: bool,
}

/// Findings as text for a terminal, the costliest first, and what is not known. Ends with a line
/// break.
pub fn advice_text(report: &AdviceReport<'_>, options: &AdviceTextOptions) -> String {
    let writer = FindingWriter {
        names: PlaceNames::of(report.findings),
        width: options.width.max(60),
        paint: Paint::new(options.color),
    };
    let mut out = String::new();
    writer.stopped(&mut out, report);
    let (command, findings) = (&report.command, report.findings);
    let title = match findings.len() {
        0 => format!("{command}: {}", report.nothing_found()),
        _ => format!("{command}: what to change"),
    };
    // Other costs are not of that cache.
    let is_of_cache = report.is_applied() && findings.iter().all(|it| it.cost.unit == "misses");
    let cache = report.cache().filter(|_| is_of_cache);
    let aside = cache.map_or(String::new(), |cache| format!("({cache})"));
    heading(&mut out, &title, &aside, writer.width, writer.paint);
    for (number, finding) in (1..).zip(findings.iter().take(options.most)) {
        out.push('\n');
        writer.finding(&mut out, number, finding);
    }
    let more = findings.len().saturating_sub(options.most);
    if more > 0 {
        let most = findings.len();
        writer.soft(
            &mut out,
            &format!("\n{more} more: --most {most} shows them."),
        );
    }
    writer.notes(&mut out, report);
    writer.unknown(&mut out, report.unknown);
    // The summary of a profile begins with a line break; a text of its own does not.
    out.trim_start_matches('\n').to_owned()
}

/// Appends the first findings of a profile whose causes were recorded; nothing of another.
pub(crate) fn write_first(out: &mut String, shown: &ShownProfile<'_>, width: usize, paint: Paint) {
    if shown.profile().causes.is_none() {
        return;
    }
    let report = AdviceReport::of(shown);
    let findings = report.findings;
    let writer = FindingWriter {
        names: PlaceNames::of(findings),
        width,
        paint,
    };
    let title = match findings.len() {
        0 => capitalised(&report.nothing_found()),
        _ => "What to change".to_owned(),
    };
    let cache = report.cache().filter(|_| report.is_applied());
    let aside = cache.map_or(String::new(), |cache| format!("({cache})"));
    heading(out, &title, &aside, width, paint);
    if let Some(lacking) = report.lacking().filter(|_| findings.is_empty()) {
        let _ = writeln!(out, "{}", wrap(&lacking, width, 0));
    }
    for (number, finding) in (1..).zip(findings.iter().take(FIRST)) {
        writer.head(out, number, finding);
        writer.remedy(out, finding);
    }
    if findings.len() > FIRST {
        let more = findings.len() - FIRST;
        writer.soft(
            out,
            &format!("  {more} more, with their evidence: reuselens advise"),
        );
    }
    if let Some(unlooked) = report.unlooked().filter(|_| !findings.is_empty()) {
        let _ = writeln!(out, "\n{}", wrap(&unlooked, width, 0));
    }
    writer.notes(out, &report);
}

struct FindingWriter<'a> {
    names: PlaceNames<'a>,
    width: usize,
    paint: Paint,
}

impl FindingWriter<'_> {
    fn finding(&self, out: &mut String, number: usize, finding: &Finding) {
        self.head(out, number, finding);
        let calls = &finding.place.call_path;
        if !calls.is_empty() {
            let shown = &calls[calls.len().saturating_sub(CALLS)..];
            self.indented(out, &format!("called by {}", shown.join(" › ")));
        }
        for evidence in &finding.evidence {
            self.indented(out, evidence);
        }
        self.remedy(out, finding);
        let about = format!(
            "{}; reuselens explain {}",
            finding.confidence.name(),
            finding.rule.name
        );
        let _ = writeln!(out, "   {}", self.paint.ink(TextStyle::Soft, &about));
    }

    /// The rule, what it costs, and where.
    fn head(&self, out: &mut String, number: usize, finding: &Finding) {
        let title = format!("{number}. {}", finding.rule.title);
        let title = self.paint.ink(TextStyle::Strong, &title);
        let cost = self.paint.ink(TextStyle::Miss, &cost(&finding.cost));
        let _ = writeln!(out, "{title}: {cost}");
        let place = self.names.place(finding);
        if !place.is_empty() {
            self.indented(out, &place);
        }
    }

    /// Kernels that were stopped or refused: a fault is to be mended before anything else.
    fn stopped(&self, out: &mut String, report: &AdviceReport<'_>) {
        if report.stopped.is_empty() {
            return;
        }
        heading(out, STOPPED_HEADING, "", self.width, self.paint);
        for stopped in report.stopped.iter().take(FIRST) {
            let message = wrap(&stopped.message, self.width, 3);
            let _ = writeln!(out, "   {}", self.paint.ink(TextStyle::Warn, &message));
            for fact in &stopped.facts {
                self.indented(out, fact);
            }
        }
        if report.stopped.len() > FIRST {
            let more = report.stopped.len() - FIRST;
            self.soft(out, &format!("   {more} more"));
        }
    }

    fn remedy(&self, out: &mut String, finding: &Finding) {
        let text = wrap(&format!("→ {}", finding.remedy), self.width, 5);
        let _ = writeln!(out, "   {text}");
    }

    fn indented(&self, out: &mut String, text: &str) {
        let _ = writeln!(out, "   {}", wrap(text, self.width, 3));
    }

    fn soft(&self, out: &mut String, text: &str) {
        let _ = writeln!(out, "{}", self.paint.ink(TextStyle::Soft, text));
    }

    fn notes(&self, out: &mut String, report: &AdviceReport<'_>) {
        for note in &report.notes {
            let _ = writeln!(out, "\n{}", wrap(note, self.width, 0));
        }
    }

    /// What is not known, with the number of rules that it keeps from all or some of the data, and
    /// what records it.
    fn unknown(&self, out: &mut String, unknown: &[Unknown]) {
        if unknown.is_empty() {
            return;
        }
        heading(out, "Not known", "", self.width, self.paint);
        for unknown in unknown {
            let rules = unknown.rules.iter().chain(&unknown.partial_rules);
            let rules: Vec<&str> = rules.copied().collect();
            let rules = match rules.as_slice() {
                [] => String::new(),
                [rule] => format!(" (for {rule})"),
                rules => format!(" (for {} rules)", rules.len()),
            };
            let part = match unknown.misses {
                Some(misses) => format!(", {} misses", count(misses)),
                None => String::new(),
            };
            let text = format!("{}{part}{rules}: {}", unknown.what, unknown.how);
            self.indented(out, &text);
        }
    }
}
