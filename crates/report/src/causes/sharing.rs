//! Lines that threads take from each other: which store, and which access then misses.

use std::collections::BTreeMap;

use reuselens_document::numbers::{count, percent};
use reuselens_document::{Section, Table, TableColumn};
use reuselens_profile::SharedEnd;

use super::cause_rows::{CauseNames, noticeable};

/// A store, and the access of another thread that found its line invalidated by it.
#[derive(Clone, Debug)]
pub(super) struct SharedRow {
    /// The store and the access; `None` for the rarer pairs together, which are not listed.
    pub places: Option<[SharedPlace; 2]>,
    /// Invalidations after which the thread used what the other had written.
    pub true_sharing: u64,
    /// Invalidations after which it did not.
    pub false_sharing: u64,
    /// Distinct cache lines, summed over the pairs of instructions of the two source lines.
    pub lines: u64,
}

/// One side of a pair: its source line and its data.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SharedPlace {
    pub line: String,
    pub object: String,
    pub field: Option<String>,
}

impl SharedPlace {
    fn of(names: &CauseNames<'_>, end: &SharedEnd) -> Self {
        let field = names.field(end);
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
    /// The store, the access, and their data.
    fn words(&self) -> [String; 3] {
        let Some([writer, victim]) = &self.places else {
            return ["rarer pairs".to_owned(), String::new(), String::new()];
        };
        let objects = if writer.object == victim.object {
            victim.object.clone()
        } else {
            format!("{}, {}", writer.object, victim.object)
        };
        [writer.words(), victim.words(), objects]
    }

    fn invalidations(&self) -> u64 {
        self.true_sharing.saturating_add(self.false_sharing)
    }
}

/// The pairs, the most invalidations first. Those of the instructions of one line are one row. If
/// there were too many pairs, the rarer ones are a row without places. Pairs of unknown code on
/// unknown data are then in this row too, as a profile has one entry for both.
pub(super) fn rows(names: &CauseNames<'_>) -> Vec<SharedRow> {
    let mut all: BTreeMap<Option<[SharedPlace; 2]>, SharedRow> = BTreeMap::new();
    let has_unlisted = names.causes().unlisted_pairs.is_some();
    for pair in &names.causes().shared {
        let ends = [&pair.writer, &pair.victim];
        let is_listed = !has_unlisted || ends != [&SharedEnd::default(); 2];
        let places = is_listed.then(|| ends.map(|end| SharedPlace::of(names, end)));
        let row = all.entry(places.clone()).or_insert_with(|| SharedRow {
            places,
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
pub(super) fn section(names: &CauseNames<'_>) -> Section {
    let (rows, small) = noticeable(rows(names), SharedRow::invalidations);
    let cells = |row: &SharedRow| -> Vec<String> {
        let numbers = [
            count(row.invalidations()),
            percent(row.false_sharing, row.invalidations()),
            count(row.lines),
        ];
        numbers.into_iter().chain(row.words()).collect()
    };
    let heads = [
        "invalidations",
        "false",
        "lines",
        "a store at",
        "takes a line from",
        "data",
    ];
    let mut table = Table::new(TableColumn::all(&heads, &[3, 4, 5]), rows.iter().map(cells));
    table.hidden = small;
    let title = "Threads that take lines from each other";
    let explain = "A store of one thread takes the line from the cache of another, whose next \
                  access then misses in a cache of its own. False: that thread used no byte that \
                  the other had written, so the two need different lines and nothing else.";
    Section::new("sharing", title, explain).with_table(table)
}
