//! Bytes used of lines in a summary.

use reuselens_profile::Profile;

use super::cause_table;
use super::lines::{self, HEADS, TITLE};
use crate::text::{Paint, TextColumn, heading, rows};

/// Rows that are shown: all data, and the objects of the most misses.
const ROWS: usize = 6;

/// Appends the table, if something missed.
pub(super) fn write(out: &mut String, profile: &Profile, width: usize, paint: Paint) {
    let (lines, others) = lines::shown(profile, ROWS);
    if lines.is_empty() {
        return;
    }
    let aside = format!("({})", lines::of_what(profile));
    heading(out, TITLE, &aside, width, paint);
    let columns = HEADS.map(TextColumn::right).into_iter();
    let columns: Vec<TextColumn> = columns.chain([TextColumn::left("data")]).collect();
    let row = |it: &lines::ObjectLines<'_>| {
        let mut row = it.numbers().to_vec();
        row.push(it.name().to_owned());
        row
    };
    let cells: Vec<Vec<String>> = lines.iter().map(row).collect();
    rows(out, &columns, &cells, width, paint);
    cause_table::write_others(out, others);
}
