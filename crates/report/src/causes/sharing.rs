//! Accesses of threads that take lines from each other.

use std::collections::BTreeMap;

use reuselens_locality::SharedEnd;

use super::cause_table::{CauseNames, CauseTable, noticeable};
use crate::numbers::{count, percent};

/// A store, and the access of another thread that found its line invalidated by it.
#[derive(Clone, Debug)]
pub(super) struct SharedRow {
    pub writer: SharedPlace,
    pub victim: SharedPlace,
    /// Invalidations after which the thread used what the other had written.
    pub true_sharing: u64,
    /// Invalidations after which it did not.
    pub false_sharing: u64,
    /// Distinct lines; of instructions of one line of the source the sum.
    pub lines: u64,
}

/// One side.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SharedPlace {
    pub line: String,
    pub object: String,
    pub field: Option<String>,
}

impl SharedPlace {
    fn of(names: &CauseNames<'_>, end: &SharedEnd) -> Self {
        let field = names.field(end.object, end.offset);
        SharedPlace {
            line: names.line(end.site).to_owned(),
            object: names.object(end.object).to_owned(),
            field: field.map(str::to_owned),
        }
    }

    fn words(&self) -> String {
        match &self.field {
            Some(field) => format!("{} (.{field})", self.line),
            None => self.line.clone(),
        }
    }
}

impl SharedRow {
    fn invalidations(&self) -> u64 {
        self.true_sharing.saturating_add(self.false_sharing)
    }
}

/// The pairs, the most invalidations first. Instructions of one line are one.
pub(super) fn rows(names: &CauseNames<'_>) -> Vec<SharedRow> {
    let mut all: BTreeMap<(SharedPlace, SharedPlace), SharedRow> = BTreeMap::new();
    for pair in &names.causes().shared {
        let ends = [&pair.writer, &pair.victim];
        let [writer, victim] = ends.map(|end| SharedPlace::of(names, end));
        let key = (writer.clone(), victim.clone());
        let row = all.entry(key).or_insert_with(|| SharedRow {
            writer,
            victim,
            true_sharing: 0,
            false_sharing: 0,
            lines: 0,
        });
        let add = |into: &mut u64, more: u64| *into = into.saturating_add(more);
        add(&mut row.true_sharing, pair.true_sharing);
        add(&mut row.false_sharing, pair.false_sharing);
        add(&mut row.lines, pair.lines);
    }
    let mut all: Vec<SharedRow> = all.into_values().collect();
    all.sort_by_key(|row| std::cmp::Reverse(row.invalidations()));
    all
}

/// The pairs as a table.
pub(super) fn table(names: &CauseNames<'_>) -> CauseTable {
    let (rows, small) = noticeable(rows(names), SharedRow::invalidations);
    let cells = |row: &SharedRow| {
        vec![
            count(row.invalidations()),
            percent(row.false_sharing, row.invalidations()),
            count(row.lines),
            row.writer.words(),
            row.victim.words(),
            match row.writer.object == row.victim.object {
                true => row.victim.object.clone(),
                false => format!("{}, {}", row.writer.object, row.victim.object),
            },
        ]
    };
    CauseTable {
        title: "Threads that take lines from each other",
        explain: "A store of one thread takes the line from the cache of another, whose next \
                  access then misses in a cache of its own. False: that thread used no byte that \
                  the other had written, so the two need different lines and nothing else.",
        numbers: &["invalidations", "false", "lines"],
        words: &["a store at", "takes a line from", "data"],
        rows: rows.iter().map(cells).collect(),
        small,
    }
}
