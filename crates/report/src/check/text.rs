//! [`check_text`]: checked limits as a table on a terminal.

use std::fmt::Write;

use reuselens_document::terminal::{Paint, TextStyle, wrap};
use reuselens_document::{Table, TableColumn};
use reuselens_units::shown;

use super::{Checked, CheckedLimit, change, number};
use crate::words;

/// The limits as text for a terminal: a row each, with the number now and in the base, and how far
/// it may be off. `width` is that of the terminal, 60 at least. Ends with a line break.
pub fn check_text(checked: &Checked<'_>, width: usize, color: bool) -> String {
    let (paint, width) = (Paint::new(color), width.max(60));
    let mut out = String::new();
    for (name, (file, profile)) in both(checked) {
        let name = paint.ink(TextStyle::Soft, &format!("{name:<7}"));
        let command = paint.ink(TextStyle::Strong, &words::command(profile));
        let _ = writeln!(out, "{name} {}: {command}", shown(file));
    }
    let warning = paint.ink(TextStyle::Warn, "warning:");
    for text in checked.warnings() {
        let _ = writeln!(out, "{warning} {}", wrap(&text, width, 9));
    }
    out.push('\n');
    let with_base = checked.limits.iter().any(|limit| limit.limit.needs_base());
    let mut columns = vec![TableColumn::words("result"), TableColumn::numbers("now")];
    if with_base {
        columns.extend([TableColumn::numbers("base"), TableColumn::numbers("change")]);
    }
    columns.push(TableColumn::words("limit"));
    let cells: Vec<Vec<String>> = checked
        .limits
        .iter()
        .map(|limit| cells(limit, with_base))
        .collect();
    Table::new(columns, cells).write_text(&mut out, width, paint);
    notes(&mut out, checked, width, paint);
    let _ = writeln!(out, "\nCheck: {}.", checked.outcome());
    out
}

/// What it is compared with, and the profile.
pub(super) fn both<'a>(
    checked: &Checked<'a>,
) -> impl Iterator<Item = (&'static str, (&'a str, &'a reuselens_profile::Profile))> {
    let base = checked.base.map(|base| ("base", base));
    base.into_iter().chain([("profile", checked.profile)])
}

fn cells(limit: &CheckedLimit, with_base: bool) -> Vec<String> {
    let metric = limit.limit.metric;
    let none = || "—".to_owned();
    let verdict = limit.verdict.as_ref().ok();
    let base = verdict.and_then(|verdict| verdict.base);
    let mut cells = vec![
        limit.result().to_owned(),
        verdict.map_or_else(none, |verdict| number(metric, verdict.now)),
    ];
    if with_base {
        cells.push(base.map_or_else(none, |base| number(metric, base)));
        cells.push(match (verdict, base) {
            (Some(verdict), Some(base)) => change(base.value, verdict.now.value),
            _ => none(),
        });
    }
    cells.push(limit.limit.text.clone());
    cells
}

/// Below the table, for each limit that has them: its note, and how far its numbers may be off.
fn notes(out: &mut String, checked: &Checked<'_>, width: usize, paint: Paint) {
    for limit in &checked.limits {
        let note = Some(limit.note.clone()).filter(|note| !note.is_empty());
        for text in note.into_iter().chain(limit.doubt()) {
            let text = wrap(&format!("{}: {text}", limit.limit), width, 4);
            let _ = writeln!(out, "  {}", paint.ink(TextStyle::Soft, &text));
        }
    }
}
