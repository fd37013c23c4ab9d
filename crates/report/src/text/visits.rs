//! The table of [`summary`](super::summary) with the accesses and the footprints of calling
//! contexts, where a profile has placement data.

use std::cmp::Reverse;

use reuselens_document::numbers::{count, count_or_dash};
use reuselens_document::terminal::{Paint, heading};
use reuselens_document::{Table, TableColumn};
use reuselens_profile::{Dimension, Profile};
use reuselens_units::Items;

use super::TextOptions;
use crate::words;

/// Appends the contexts of most accesses, if contexts are asked for and their footprints known.
pub(super) fn write(
    out: &mut String,
    profile: &Profile,
    options: &TextOptions,
    width: usize,
    paint: Paint,
) {
    if !options.by.contains(&Dimension::Context) {
        return;
    }
    let mut visits = profile.context_visits();
    if visits.is_empty() {
        return;
    }
    // Stable: callers come before the functions that they call.
    visits.sort_by_key(|visit| Reverse((visit.exclusive, visit.inclusive)));
    visits.truncate(options.top);
    let title = "Accesses and footprint of calling contexts";
    heading(out, title, "(itself, and with its calls)", width, paint);
    let columns = [
        TableColumn::numbers("accesses"),
        TableColumn::numbers("with calls"),
        TableColumn::numbers("footprint"),
        TableColumn::numbers("with calls"),
        TableColumn::numbers("entries"),
        TableColumn::words("context"),
    ];
    let size = |items| Items(items).bytes(profile.granularity).to_string();
    let cells: Vec<Vec<String>> = visits
        .iter()
        .map(|visit| {
            vec![
                count(visit.exclusive),
                count(visit.inclusive),
                size(visit.footprint.exclusive),
                size(visit.footprint.inclusive),
                count_or_dash(visit.entries),
                words::group(Dimension::Context, &visit.name).to_owned(),
            ]
        })
        .collect();
    Table::new(columns, cells).write_text(out, width, paint);
}
