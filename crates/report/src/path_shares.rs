//! The table about paths of a summary and a page: how well paths of each length separate the
//! patterns of instructions (see `PathTable::shares` in `locality`).

use reuselens_document::numbers::{count, percent};
use reuselens_document::{Table, TableColumn};
use reuselens_locality::PathShares;
use reuselens_profile::PathProfile;

/// A row for each number of outcomes.
pub(crate) fn table(paths: &PathProfile) -> Table {
    let heads = [
        "outcomes",
        "paths",
        "accesses covered",
        "several patterns",
        "separated",
        "aliased",
        "short and long",
        "not known",
    ];
    // By length, from 0 outcomes: there, all accesses are on one path.
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
    let columns = TableColumn::all(&heads, &[]);
    Table::new(columns, paths.shares.iter().map(row))
}

/// How to read the table: plain text.
pub(crate) fn explain(paths: &PathProfile) -> String {
    let instructions = paths.shares.first().map_or(0, |shares| shares.instructions);
    format!(
        "accesses covered: those whose path of N outcomes is counted by itself; rarer paths are counted by fewer outcomes. several \
         patterns: the share of {} instructions; the columns after it are shares of those. separated: each path has one pattern. \
         aliased: one path is several ways through the program. short and long: a path has a short and a long pattern. not \
         known: the several patterns are of rarer paths together. Rare reuses count as patterns here. Patterns end by {}; long is a \
         mean of {} items or more; loops keep {} iterations.",
        count(instructions),
        paths.rule,
        count(paths.long),
        paths.keep
    )
}
