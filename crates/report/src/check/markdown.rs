//! [`check_markdown`]: checked limits as a Markdown table, for the summary of a pull request.

use std::fmt::Write;

use reuselens_document::markdown::{code, code_in_cell, prose};

use super::text::both;
use super::{Checked, CheckedLimit, change, number};
use crate::words;

/// The limits as a table in Markdown (GitHub's): a row each, with the number now and in the base;
/// below it a line for each broken limit with the lines that cause it. Ends with a line break.
pub fn check_markdown(checked: &Checked<'_>) -> String {
    let mut out = format!("### Locality: {}\n\n", checked.outcome());
    out.push_str("| | limit | now | base | change |\n|---|---|---:|---:|---:|\n");
    for limit in &checked.limits {
        let _ = writeln!(out, "{}", row(limit));
    }
    let mut remarks: Vec<String> = Vec::new();
    for limit in &checked.limits {
        let rule = code(&limit.limit.text);
        if let Err(error) = &limit.verdict {
            remarks.push(format!(
                "{rule} cannot be checked: {}",
                prose(&error.to_string())
            ));
        }
        let note = Some(limit.note.clone()).filter(|note| !note.is_empty());
        let causes = Some(checked.causes(limit)).filter(|causes| !causes.is_empty());
        let all = causes.into_iter().chain(limit.doubt()).chain(note);
        remarks.extend(all.map(|text| format!("{rule}: {}", prose(&text))));
    }
    for (name, (file, profile)) in both(checked) {
        let command = code(&words::command(profile));
        remarks.push(format!("{name}: {} ({command})", code(file)));
    }
    let warnings = checked.warnings().into_iter();
    remarks.extend(warnings.map(|text| format!("**warning:** {}", prose(&text))));
    out.push('\n');
    for remark in remarks {
        let _ = writeln!(out, "- {remark}");
    }
    out
}

fn row(limit: &CheckedLimit) -> String {
    let metric = limit.limit.metric;
    let verdict = limit.verdict.as_ref().ok();
    let now = verdict.map(|verdict| number(metric, verdict.now));
    let base = verdict.and_then(|verdict| verdict.base);
    let change = verdict
        .zip(base)
        .map(|(verdict, base)| change(base.value, verdict.now.value));
    let result = match limit.result() {
        "ok" => "ok".to_owned(),
        other => format!("**{other}**"),
    };
    format!(
        "| {result} | {} | {} | {} | {} |",
        code_in_cell(&limit.limit.text),
        now.unwrap_or_default(),
        base.map(|base| number(metric, base)).unwrap_or_default(),
        change.unwrap_or_default()
    )
}
