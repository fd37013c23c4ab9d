//! [`explain_text`]: what a rule means; [`rules_text`]: all rules.

use std::fmt::Write;

use reuselens_advice::FindingRule;
use reuselens_document::terminal::{Paint, TextStyle, heading, wrap};

/// A rule as text for a terminal: when it applies, why that is bad, an example before and after,
/// when it can be wrong, and where it is from. Ends with a line break.
pub fn explain_text(rule: &FindingRule, width: usize, color: bool) -> String {
    let paint = Paint::new(color);
    let mut out = String::new();
    let title = format!("{} ({})", rule.title, rule.name);
    let _ = writeln!(out, "{}\n", paint.ink(TextStyle::Strong, &title));
    let _ = writeln!(out, "{}", wrap(rule.why, width, 0));
    for (title, text) in [
        ("Found in", rule.what),
        ("Can be wrong", rule.limits),
        ("Source", rule.source),
    ] {
        heading(&mut out, title, "", width, paint);
        let _ = writeln!(out, "  {}", wrap(text, width, 2));
    }
    for (title, code) in [
        ("Before", rule.example.before),
        ("After", rule.example.after),
    ] {
        if code.is_empty() {
            continue;
        }
        heading(&mut out, title, "", width, paint);
        for line in code.lines() {
            let _ = writeln!(out, "  {line}");
        }
    }
    out
}

/// Rules with their names and titles, a line each, under headings. Ends with a line break.
pub fn rules_text(groups: &[(&str, Vec<&FindingRule>)], color: bool) -> String {
    let paint = Paint::new(color);
    let rules = groups.iter().flat_map(|(_, rules)| rules);
    let columns = rules.map(|rule| rule.name.len()).max().unwrap_or(0);
    let mut out = String::new();
    for (at, (title, rules)) in groups.iter().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        let _ = writeln!(out, "{}", paint.ink(TextStyle::Strong, title));
        for rule in rules {
            let _ = writeln!(out, "  {:<columns$}  {}", rule.name, rule.title);
        }
    }
    out
}
