//! The phases of a run: the rows of their table, and a line over time in a summary.

use reuselens_document::numbers::{count, percent};
use reuselens_document::terminal::Paint;
use reuselens_document::{Section, Table, TableColumn, TableRow};
use reuselens_locality::total;
use reuselens_profile::RunPhases;
use reuselens_units::counted;

use super::cause_rows::{CauseNames, TEXT_ROWS, others};
use crate::caches;

/// Objects of a phase that are named.
const OBJECTS: usize = 3;
/// Columns of the line of phases in a summary.
const COLUMNS: usize = 60;
/// Colours of phases on a page. Later phases take them in turn again.
pub(super) const COLOURS: usize = 6;

/// A phase.
pub(super) struct PhaseRow {
    /// From 1, in the order in which phases begin.
    pub number: usize,
    /// Intervals of the run.
    pub intervals: u64,
    pub accesses: u64,
    pub misses: u64,
    /// The mean of the distinct items of an interval.
    pub footprint: u64,
    /// Objects with their misses, the most first.
    pub objects: Vec<(String, u64)>,
}

/// The phases, if the run has any.
pub(super) fn rows(names: &CauseNames<'_>) -> Vec<PhaseRow> {
    let run = &names.causes().phases;
    let row = |(at, phase): (usize, &reuselens_profile::RunPhase)| {
        let own = run.intervals.iter().filter(|it| it.phase as usize == at);
        let (mut intervals, mut footprint) = (0_u64, 0_u64);
        for interval in own {
            intervals += 1;
            footprint = footprint.saturating_add(interval.footprint);
        }
        let objects = phase.objects.iter();
        PhaseRow {
            number: at + 1,
            intervals,
            accesses: phase.accesses,
            misses: phase.misses,
            footprint: footprint / intervals.max(1),
            objects: objects
                .map(|it| (names.object(it.object).to_owned(), it.misses))
                .collect(),
        }
    };
    run.phases.iter().enumerate().map(row).collect()
}

/// The phases as a table.
pub(super) fn section(names: &CauseNames<'_>) -> Section {
    let rows = rows(names);
    let all = total(rows.iter().map(|row| row.accesses));
    let granularity = names.profile().granularity;
    let cells = |row: &PhaseRow| {
        vec![
            percent(row.accesses, all),
            count(row.misses),
            percent(row.misses, row.accesses),
            caches::size(row.footprint, granularity),
            format!("{}: {}", row.number, objects(row)),
        ]
    };
    let heads = [
        "of the run",
        "misses",
        "miss ratio",
        "footprint",
        "phase, and what its misses are on",
    ];
    let colours = (0..COLOURS).cycle();
    let rows = rows.iter().zip(colours).map(|(row, colour)| TableRow {
        series: Some(colour),
        ..cells(row).into()
    });
    let table = Table::new(TableColumn::all(&heads, &[4]), rows);
    Section::new("phases", "Phases of the run", "").with_table(table)
}

/// The objects of a phase: `table 81.0 %, index 4.20 %`.
fn objects(row: &PhaseRow) -> String {
    let is_noticeable = |misses: u64| misses > 0 && misses.saturating_mul(100) >= row.misses;
    let named = row.objects.iter().filter(|(_, it)| is_noticeable(*it));
    let words: Vec<String> = named
        .take(OBJECTS)
        .map(|(name, misses)| format!("{name} {}", percent(*misses, row.misses)))
        .collect();
    words.join(", ")
}

/// Whether a run has more than one phase. The other tables show the same as those of a single one.
pub(super) fn has_several(run: &RunPhases) -> bool {
    run.phases.len() > 1 && !run.intervals.is_empty()
}

/// Appends the table, and a line with the number of the phase at each time.
pub(super) fn write_text(out: &mut String, names: &CauseNames<'_>, width: usize, paint: Paint) {
    let run = &names.causes().phases;
    if !has_several(run) {
        return;
    }
    let section = section(names).first(TEXT_ROWS, others);
    section.write_text(out, width, paint);
    let all = run.intervals.len();
    let columns = COLUMNS.min(all);
    let digit = |column: usize| {
        let phase = run.intervals[column * all / columns].phase + 1;
        char::from_digit(phase, 36).unwrap_or('+')
    };
    let line: String = (0..columns).map(digit).collect();
    let each = counted(run.intervals[0].accesses, "access", "accesses");
    out.push_str(&format!(
        "  over time  {line}  ({all} intervals of {each})\n"
    ));
}
