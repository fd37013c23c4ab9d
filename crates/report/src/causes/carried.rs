//! What carries the reuses that miss: from which access to which, and over which loop or call.

use std::collections::BTreeMap;

use reuselens_document::numbers::{count, percent};
use reuselens_document::{Section, Table, TableColumn};
use reuselens_locality::total;
use reuselens_profile::{CarriedReuse, Carrier};

use super::cause_rows::{CauseNames, noticeable};
use crate::caches;

/// Reuses that miss, of one pair of lines and one object, with one carrier.
#[derive(Clone, Debug)]
pub(super) struct CarriedRow {
    /// The line of the access before; empty for rarer ones together.
    pub source: String,
    /// The line of the access that misses.
    pub sink: String,
    /// The object.
    pub object: String,
    /// The kind of the carrier: `loop`, `function`, `thread` (its outermost code), `iteration` (one
    /// of a loop), `threads` (from one to another), `others` (rarer ones together), `unknown`.
    pub kind: &'static str,
    /// The carrier in words: `the loop at matmul.c:35`.
    pub carrier: String,
    /// Reuses that miss.
    pub misses: u64,
    /// The sum of their distances in items.
    pub distance_sum: u64,
}

impl CarriedRow {
    /// The mean distance in items.
    pub fn mean_distance(&self) -> u64 {
        self.distance_sum / self.misses.max(1)
    }
}

/// The reuses, the most misses first. Those of the instructions of one line are one row.
pub(super) fn rows(names: &CauseNames<'_>) -> Vec<CarriedRow> {
    let mut all: BTreeMap<(String, String, String, String), CarriedRow> = BTreeMap::new();
    for reuse in &names.causes().carried {
        let row = row(names, reuse);
        let key = (
            row.source.clone(),
            row.sink.clone(),
            row.object.clone(),
            row.carrier.clone(),
        );
        match all.get_mut(&key) {
            Some(known) => {
                known.misses = known.misses.saturating_add(row.misses);
                known.distance_sum = known.distance_sum.saturating_add(row.distance_sum);
            }
            None => {
                all.insert(key, row);
            }
        }
    }
    let mut all: Vec<CarriedRow> = all.into_values().collect();
    all.sort_by_key(|row| std::cmp::Reverse(row.misses));
    all
}

fn row(names: &CauseNames<'_>, reuse: &CarriedReuse) -> CarriedRow {
    let scope = |number: u32| {
        let scope = names.causes().scopes.get(number as usize);
        scope.map_or_else(|| "unknown code".to_owned(), |scope| names.scope(scope))
    };
    let kind_of = |number: u32| match names.causes().scopes.get(number as usize) {
        Some(scope) => super::kind_name(scope.kind),
        None => "unknown",
    };
    let (kind, carrier) = match reuse.carrier {
        Carrier::Threads => ("threads", "from thread to thread".to_owned()),
        Carrier::Scope(number) => (kind_of(number), scope(number)),
        Carrier::Iteration(number) => ("iteration", format!("one iteration of {}", scope(number))),
        Carrier::Others => ("others", "rarer ones together".to_owned()),
    };
    let is_one = reuse.carrier != Carrier::Others;
    CarriedRow {
        source: if is_one { names.line(reuse.source) } else { "" }.to_owned(),
        sink: names.line(reuse.sink).to_owned(),
        object: names.object(reuse.object).to_owned(),
        kind,
        carrier,
        misses: reuse.misses,
        distance_sum: reuse.distance_sum,
    }
}

/// The reuses as a table.
pub(super) fn section(names: &CauseNames<'_>) -> Section {
    let rows = rows(names);
    let all = total(rows.iter().map(|row| row.misses));
    let (rows, small) = noticeable(rows, |row| row.misses);
    let granularity = names.profile().granularity;
    let cells = |row: &CarriedRow| {
        vec![
            count(row.misses),
            percent(row.misses, all),
            caches::size(row.mean_distance(), granularity),
            match row.source.as_str() {
                "" => row.sink.clone(),
                source => format!("{source} → {}", row.sink),
            },
            row.object.clone(),
            row.carrier.clone(),
        ]
    };
    let heads = [
        "misses",
        "share",
        "between",
        "access → next access",
        "data",
        "carried by",
    ];
    let mut table = Table::new(TableColumn::all(&heads, &[3, 4, 5]), rows.iter().map(cells));
    table.hidden = small;
    let title = "What carries the reuses that miss";
    let explain = "From the access before to the one that misses, the data, and the innermost loop \
                  or call that both are in: the reuse happens from one of its iterations to a \
                  later one, or from one call that it makes to another. Between is the mean size \
                  of the other data that was accessed meanwhile.";
    Section::new("carried", title, explain).with_table(table)
}
