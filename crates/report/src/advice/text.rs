//! [`advice_text`]: what to change, on one screen of a terminal.

use std::fmt::Write;

use reuselens_advice::Finding;
use reuselens_advisor::{MissAdvice, Unknown};
use reuselens_locality::Profile;

use super::{cache, cost, place};
use crate::text::{Paint, TextStyle, heading, wrap};

/// Findings that a summary of a profile shows.
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

/// How many rules were not applied, for the title of no findings.
fn left_out(advice: &MissAdvice) -> String {
    let rules: usize = advice.unknown.iter().map(|it| it.rules.len()).sum();
    match rules {
        0 => String::new(),
        1 => "; 1 rule was not applied".to_owned(),
        _ => format!("; {rules} rules were not applied"),
    }
}

/// The findings of a profile as text for a terminal, the costliest first, and what is not known.
/// Ends with a line break.
pub fn advice_text(advice: &MissAdvice, command: &str, options: &AdviceTextOptions) -> String {
    let writer = FindingWriter {
        width: options.width.max(60),
        paint: Paint::new(options.color),
    };
    let mut out = String::new();
    let title = match advice.findings.len() {
        0 => format!("{command}: nothing to change was found{}", left_out(advice)),
        _ => format!("{command}: what to change"),
    };
    // Other costs are not of that cache.
    let is_of_cache = advice.findings.iter().all(|it| it.cost.unit == "misses");
    let aside = match is_of_cache {
        true => format!("({})", cache(advice)),
        false => String::new(),
    };
    heading(&mut out, &title, &aside, writer.width, writer.paint);
    for (number, finding) in (1..).zip(advice.findings.iter().take(options.most)) {
        out.push('\n');
        writer.finding(&mut out, number, finding);
    }
    let more = advice.findings.len().saturating_sub(options.most);
    if more > 0 {
        let most = advice.findings.len();
        writer.soft(
            &mut out,
            &format!("\n{more} more: --most {most} shows them."),
        );
    }
    writer.unknown(&mut out, &advice.unknown);
    // The summary of a profile begins with a line break; a text of its own does not.
    out.trim_start_matches('\n').to_owned()
}

/// Appends the first findings of a profile whose causes were recorded; nothing of another.
pub(crate) fn write_first(out: &mut String, profile: &Profile, width: usize, paint: Paint) {
    if profile.causes.is_none() {
        return;
    }
    let advice = reuselens_advisor::advise(profile);
    let writer = FindingWriter { width, paint };
    let title = match advice.findings.len() {
        0 => "Nothing to change was found",
        _ => "What to change",
    };
    heading(out, title, &format!("({})", cache(&advice)), width, paint);
    for (number, finding) in (1..).zip(advice.findings.iter().take(FIRST)) {
        writer.head(out, number, finding);
        writer.remedy(out, finding);
    }
    if advice.findings.len() > FIRST {
        let more = advice.findings.len() - FIRST;
        writer.soft(
            out,
            &format!("  {more} more, with their evidence: reuselens advise"),
        );
    }
}

struct FindingWriter {
    width: usize,
    paint: Paint,
}

impl FindingWriter {
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
        let place = place(finding);
        if !place.is_empty() {
            self.indented(out, &place);
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

    /// What is not known, with the number of rules that wait for it, and what records it.
    fn unknown(&self, out: &mut String, unknown: &[Unknown]) {
        if unknown.is_empty() {
            return;
        }
        heading(out, "Not known", "", self.width, self.paint);
        for unknown in unknown {
            let rules = match unknown.rules.as_slice() {
                [] => String::new(),
                [rule] => format!(" (for {rule})"),
                rules => format!(" (for {} rules)", rules.len()),
            };
            let text = format!("{}{rules}: {}", unknown.what, unknown.how);
            self.indented(out, &text);
        }
    }
}
