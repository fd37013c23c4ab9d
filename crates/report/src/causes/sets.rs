//! Misses of objects that a cache has because its lines are in sets: conflicts.

use std::collections::BTreeMap;

use reuselens_document::numbers::{count, percent};
use reuselens_document::{Section, Table, TableColumn};
use reuselens_profile::Cell;

use super::cause_rows::CauseNames;

/// The misses of an object in a cache with its sets.
#[derive(Clone, Debug, Default)]
pub(super) struct ConflictRow {
    pub object: String,
    /// The name of the cache.
    pub cache: String,
    /// Misses with its sets.
    pub misses: u64,
    /// Misses in a fully associative cache of the same size, to a sixteenth of an octave.
    pub associative_misses: u64,
}

impl ConflictRow {
    /// Misses that a fully associative cache would not have.
    pub fn conflicts(&self) -> u64 {
        self.misses.saturating_sub(self.associative_misses)
    }
}

/// An object is shown if its conflicts are at least one in this many of the cache's misses.
const LEAST_SHARE: u64 = 100;

/// Objects and caches, the most conflicts first.
pub(super) fn rows(names: &CauseNames<'_>) -> Vec<ConflictRow> {
    let mut all = Vec::new();
    for (at, cache) in names.causes().set_caches.iter().enumerate() {
        let items = cache.sets.saturating_mul(cache.ways);
        let misses = |cell: &Cell| cell.causes.set_misses.get(at).copied().unwrap_or(0);
        let mut objects: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for cell in &names.profile().cells {
            let sums = objects.entry(names.object(cell.object)).or_default();
            sums.0 = sums.0.saturating_add(misses(cell));
            sums.1 = sums.1.saturating_add(cell.histogram.misses(items));
        }
        all.extend(
            objects
                .into_iter()
                .map(|(object, (misses, associative))| ConflictRow {
                    object: object.to_owned(),
                    cache: cache.name.clone(),
                    misses,
                    associative_misses: associative,
                }),
        );
    }
    all.sort_by_key(|row| std::cmp::Reverse(row.conflicts()));
    all
}

/// Objects with noticeable conflicts as a table.
pub(super) fn section(names: &CauseNames<'_>) -> Section {
    let caches = &names.causes().set_caches;
    let all = |name: &str| {
        let cache = caches.iter().find(|cache| cache.name == name);
        cache.map_or(0, |cache| cache.misses)
    };
    let is_shown = |row: &ConflictRow| {
        row.conflicts() > 0 && row.conflicts().saturating_mul(LEAST_SHARE) >= all(&row.cache)
    };
    let cells = |row: ConflictRow| {
        vec![
            count(row.conflicts()),
            percent(row.conflicts(), row.misses),
            count(row.misses),
            count(row.associative_misses),
            row.object,
            row.cache,
        ]
    };
    let shown = rows(names).into_iter().filter(is_shown);
    let heads = [
        "conflicts",
        "of its misses",
        "with sets",
        "without sets",
        "data",
        "cache",
    ];
    let table = Table::new(TableColumn::all(&heads, &[4, 5]), shown.map(cells));
    let title = "Conflicts in the sets of caches";
    let explain = "A cache keeps a line in one set only, which its address chooses. Conflicts are \
                  the misses with sets beyond those of a cache of the same size without sets: \
                  lines that many equal strides put into few sets. Objects with a hundredth of \
                  the cache's misses or more.";
    Section::new("sets", title, explain).with_table(table)
}
