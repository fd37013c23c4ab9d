//! [`diff_markdown`]: the comparison of two profiles in Markdown, for the summary of a pull
//! request.

use std::fmt::Write;

use reuselens_document::markdown::{code, plain, prose};
use reuselens_document::{Table, TableColumn};
use reuselens_profile::{DifferenceError, Dimension, Profile};

use crate::advice::PlaceNames;
use crate::comparable;
use crate::diff_text::{DiffOptions, DiffView};
use crate::finding_changes::{FindingChange, FindingChanges, FindingFate};
use crate::words;

/// The comparison as text in Markdown (GitHub's): totals and misses in the caches, the findings
/// that are gone, new and stay, and the groups that change most; `width`, `color` and `error` of
/// the options mean nothing here. Ends with a line break.
///
/// # Errors
/// As [`diff`](crate::diff).
pub fn diff_markdown(
    before: &Profile,
    after: &Profile,
    options: &DiffOptions,
) -> Result<String, DifferenceError> {
    reuselens_profile::LocalityChange::comparable(before, after)?;
    let view = DiffView::new(before, after, options);
    let [old, new] = &options.names;
    let mut out = format!(
        "### Locality: {} → {}\n",
        named(old, before),
        named(new, after)
    );
    out.push('\n');
    view.total_table(&view.levels()).write_markdown(&mut out);
    let findings = FindingChanges::between(before, after);
    for fate in FindingFate::ALL {
        list(&mut out, fate, &findings.with(fate), view.top);
    }
    for by in &options.by {
        groups(&mut out, &view, *by);
    }
    let warnings = comparable::seen(before, after).into_iter();
    let warnings = warnings.chain(comparable::unlike(before, after).map(str::to_owned));
    let warnings: Vec<_> = warnings
        .map(|text| format!("**warning:** {}", prose(&text)))
        .collect();
    remarks(&mut out, &warnings);
    remarks(
        &mut out,
        &findings
            .notes
            .iter()
            .map(|note| prose(note))
            .collect::<Vec<_>>(),
    );
    Ok(out)
}

/// A profile by its file, or by its command if it has none.
fn named(file: &str, profile: &Profile) -> String {
    match file {
        "" => code(&words::command(profile)),
        file => code(file),
    }
}

/// The findings that one thing becomes of.
fn list(out: &mut String, fate: FindingFate, changes: &[&FindingChange], top: usize) {
    if changes.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n#### {}", fate.title());
    let names = PlaceNames::of(changes.iter().filter_map(|change| change.latest()));
    let finding = |change: &&FindingChange| {
        let finding = change.latest()?;
        let what = plain(&format!("{}: {}", finding.rule.title, change.cost()));
        Some(match names.place(finding).as_str() {
            "" => what,
            place => format!("{what} ({})", code(place)),
        })
    };
    let mut lines: Vec<String> = changes.iter().take(top).filter_map(finding).collect();
    if changes.len() > top {
        lines.push(format!("{} more", changes.len() - top));
    }
    remarks(out, &lines);
}

/// The groups of a dimension that change most.
fn groups(out: &mut String, view: &DiffView<'_>, by: Dimension) {
    let all = view.changed_groups(by);
    if all.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n#### {}", plain(&view.groups_title(by)));
    out.push('\n');
    let numbers = ["before", "after", "change", "%"];
    let mut columns = TableColumn::all(&numbers, &[]);
    columns.push(TableColumn::names(by.name()));
    let rows = all.iter().map(|group| view.group(by, group));
    let table = Table::new(columns, rows);
    let table = table.first(view.top, |more| format!("{more} other changes are less"));
    table.write_markdown(out);
}

/// A list, after an empty line; nothing if there are none.
fn remarks(out: &mut String, lines: &[String]) {
    if !lines.is_empty() {
        out.push('\n');
    }
    for line in lines {
        let _ = writeln!(out, "- {line}");
    }
}
