//! The table of [`summary`](super::summary) about paths: how well paths of each length separate the
//! patterns of instructions.

use std::fmt::Write;

use reuselens_locality::PathShares;
use reuselens_profile::Profile;

use super::{Paint, TextColumn, TextStyle, rows, wrap};
use crate::numbers::{count, percent};

/// Appends a table by length of paths, if paths were followed.
pub(super) fn write(out: &mut String, profile: &Profile, width: usize, paint: Paint) {
    let Some(paths) = &profile.paths else {
        return;
    };
    let _ = writeln!(
        out,
        "\n{}",
        paint.ink(
            TextStyle::Strong,
            "What the path to an instruction tells (last outcomes of branches)"
        )
    );
    let columns = [
        TextColumn::right("outcomes"),
        TextColumn::right("paths"),
        TextColumn::right("accesses told"),
        TextColumn::right("several patterns"),
        TextColumn::right("told apart"),
        TextColumn::right("aliased"),
        TextColumn::right("short and long"),
        TextColumn::right("not known"),
    ];
    let all = paths.shares.first().map_or(0, |shares| shares.accesses);
    let row = |shares: &PathShares| {
        vec![
            shares.length.to_string(),
            count(shares.paths),
            percent(shares.accesses, all),
            percent(shares.multiple, shares.instructions),
            percent(shares.differentiable, shares.multiple),
            percent(shares.aliased, shares.multiple),
            percent(shares.short_and_long, shares.multiple),
            percent(shares.unknown, shares.multiple),
        ]
    };
    let cells: Vec<Vec<String>> = paths.shares.iter().map(row).collect();
    rows(out, &columns, &cells, width, paint);
    let text = format!(
        "accesses told: those whose path of so many outcomes is told apart; rarer ones by fewer. several patterns: of {} instructions; the \
         others: of those, not known as the several are of rarer paths together. Patterns end by {}; long: a mean of {} items or more; \
         loops keep {} iterations.",
        count(paths.shares.first().map_or(0, |shares| shares.instructions)),
        paths.rule,
        paths.long,
        paths.keep
    );
    let _ = writeln!(
        out,
        "{}",
        paint.ink(TextStyle::Soft, &wrap(&text, width, 0))
    );
}
