//! What became of a run by a placement file, as text.

use std::fmt::Write;
use std::os::unix::process::ExitStatusExt;

use reuselens_document::terminal::{Paint, TextStyle, heading, wrap};
use reuselens_document::{Table, TableColumn};
use reuselens_locality::total;
use reuselens_placement::{FileObject, PlacedKind, PlacementFile};
use reuselens_preload::{ObjectOutcome, PlacedRun};
use reuselens_units::{Bytes, counted, shown};

/// The column of bytes without room.
const LEFT_OUT: usize = 5;

/// Where the pages of each object were, as a table with the judgement after it. The table has the
/// `top` largest objects, or those of at least 1 % of all bytes, and all that are not as planned or
/// that the tier had no room for; the others are one row for each verdict. `width` is that of the
/// terminal, 60 at least. Ends with a line break.
pub fn placed_run_text(
    file: &PlacementFile,
    run: &PlacedRun,
    top: Option<usize>,
    width: usize,
    color: bool,
) -> String {
    let (paint, width) = (Paint::new(color), width.max(60));
    let mut out = String::new();
    heading(
        &mut out,
        "Where the pages of each object were",
        "",
        width,
        paint,
    );
    let mut columns = columns();
    let mut cells = Vec::new();
    let mut folded: Vec<(&'static str, u64, ObjectOutcome)> = Vec::new();
    let largest = largest(run, top);
    for ((object, outcome), is_large) in objects(file, run).zip(largest) {
        let tier = file.tier(&object.tier).unwrap_or(0);
        let verdict = verdict(run, object, outcome, tier);
        let is_short = outcome.no_room_bytes > 0;
        if verdict == NO || is_short || (is_large && verdict != NOT_SEEN) {
            let way = run.tiers.get(tier).map(|tier| tier.way.to_string());
            let head = [
                object.name.clone(),
                object.tier.clone(),
                way.unwrap_or_default(),
            ];
            cells.push(row(head, outcome, verdict));
            continue;
        }
        match folded.iter_mut().find(|(of, ..)| *of == verdict) {
            Some((_, count, sum)) => (*count, *sum) = (*count + 1, sum_of(sum, outcome)),
            None => folded.push((verdict, 1, outcome.clone())),
        }
    }
    for (verdict, count, sum) in &folded {
        let name = counted(*count, "other object", "other objects");
        cells.push(row([name, String::new(), String::new()], sum, verdict));
    }
    // A column of zeros would take room from the names.
    if run.objects.iter().all(|object| object.no_room_bytes == 0) {
        columns.remove(LEFT_OUT);
        cells.iter_mut().for_each(|row| {
            row.remove(LEFT_OUT);
        });
    }
    Table::new(columns, cells).write_text(&mut out, width, paint);
    let label = paint.ink(TextStyle::Soft, "verified");
    let _ = writeln!(out, "{label}  {}", wrap(&judgement(run), width, 10));
    out
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::words("object"),
        TableColumn::words("tier"),
        TableColumn::words("as"),
        TableColumn::numbers("blocks"),
        TableColumn::numbers("placed"),
        TableColumn::numbers("left out"),
        TableColumn::numbers("as planned"),
        TableColumn::numbers("elsewhere"),
        TableColumn::numbers("untouched"),
        TableColumn::words("verified"),
    ]
}

fn objects<'a>(
    file: &'a PlacementFile,
    run: &'a PlacedRun,
) -> impl Iterator<Item = (&'a FileObject, &'a ObjectOutcome)> {
    file.objects.iter().zip(&run.objects)
}

/// The cells of a row, after those of the object, its tier, and how that is made.
fn row(head: [String; 3], outcome: &ObjectOutcome, verdict: &str) -> Vec<String> {
    let bytes = |count: u64| Bytes(count).to_string();
    let counts = [
        outcome.blocks.to_string(),
        bytes(outcome.placed),
        bytes(outcome.no_room_bytes),
        bytes(outcome.as_planned),
        bytes(outcome.elsewhere),
        bytes(outcome.untouched),
        verdict.to_owned(),
    ];
    head.into_iter().chain(counts).collect()
}

fn sum_of(a: &ObjectOutcome, b: &ObjectOutcome) -> ObjectOutcome {
    ObjectOutcome {
        blocks: a.blocks.saturating_add(b.blocks),
        placed: a.placed.saturating_add(b.placed),
        no_room_bytes: a.no_room_bytes.saturating_add(b.no_room_bytes),
        as_planned: a.as_planned.saturating_add(b.as_planned),
        elsewhere: a.elsewhere.saturating_add(b.elsewhere),
        untouched: a.untouched.saturating_add(b.untouched),
        ..a.clone()
    }
}

/// The bytes that the program allocated for an object.
fn wanted_bytes(outcome: &ObjectOutcome) -> u64 {
    outcome.placed.saturating_add(outcome.no_room_bytes)
}

/// Whether each object is one of the `top` largest, of equal ones the first, or of those with at
/// least 1 % of all bytes.
fn largest(run: &PlacedRun, top: Option<usize>) -> Vec<bool> {
    let bytes: Vec<u64> = run.objects.iter().map(wanted_bytes).collect();
    let Some(top) = top else {
        let least = total(bytes.iter().copied()).div_ceil(100).max(1);
        return bytes.iter().map(|it| *it >= least).collect();
    };
    let mut order: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] > 0).collect();
    order.sort_by_key(|at| std::cmp::Reverse(bytes[*at]));
    let mut is_large = vec![false; bytes.len()];
    for at in order.into_iter().take(top) {
        is_large[at] = true;
    }
    is_large
}

/// The pages of an object are elsewhere.
const NO: &str = "no";
/// The program allocated nothing for an object.
const NOT_SEEN: &str = "not seen";

/// Whether an object is as planned, in a word.
fn verdict(
    run: &PlacedRun,
    object: &FileObject,
    outcome: &ObjectOutcome,
    tier: usize,
) -> &'static str {
    let is_forbidden = run.tiers.get(tier).is_some_and(|tier| tier.is_forbidden());
    match outcome {
        ObjectOutcome {
            blocks: 0,
            no_room: 0,
            ..
        } => NOT_SEEN,
        ObjectOutcome { blocks: 0, .. } => "no room",
        _ if is_forbidden => "skipped",
        ObjectOutcome { elsewhere: 1.., .. } => NO,
        ObjectOutcome {
            as_planned: 0,
            unknown: 1..,
            ..
        } => "skipped",
        ObjectOutcome {
            as_planned: 0,
            untouched: 0,
            unknown: 0,
            ..
        } if object.kind == PlacedKind::Static || !object.chunks.is_empty() => "too small",
        ObjectOutcome {
            as_planned: 0,
            untouched: 0,
            ..
        } => "not asked",
        _ if object.bytes > 0 && outcome.no_room > 0 => "in part",
        _ => "yes",
    }
}

fn judgement(run: &PlacedRun) -> String {
    let forbidden = run.tiers.iter().any(|tier| tier.is_forbidden());
    let any = |count: fn(&ObjectOutcome) -> u64| run.objects.iter().map(count).any(|it| it > 0);
    let planned = total(run.objects.iter().map(|object| object.as_planned));
    if run.is_misplaced() {
        let misplaced = || {
            let objects = run.objects.iter();
            objects.filter(|object| run.has_misplaced(object))
        };
        let elsewhere = total(misplaced().map(|object| object.elsewhere));
        return format!(
            "no: {} of {} are not where the file puts them, of {}",
            Bytes(elsewhere),
            Bytes(elsewhere.saturating_add(planned)),
            counted(misplaced().count() as u64, "object", "objects")
        );
    }
    if run.left_out() > 0 {
        return without_room(run, planned);
    }
    if forbidden || planned == 0 && any(|object| object.unknown) {
        return "skipped: the system did not allow it".to_owned();
    }
    if planned == 0 && !any(|object| object.placed) {
        return "nothing: no object of the file was placed".to_owned();
    }
    if planned == 0 && !any(|object| object.untouched) && run.status.signal().is_some() {
        return "nothing: a signal ended the program before the kernel was asked".to_owned();
    }
    if planned == 0 {
        return "nothing: no page of a placed object was accessed, or the kernel was not asked"
            .to_owned();
    }
    let unasked = run
        .objects
        .iter()
        .filter(|object| object.as_planned == 0 && object.untouched == 0 && object.unknown == 0);
    let unasked = total(unasked.map(|object| object.placed));
    let mut text = format!(
        "all {} of accessed pages are where the file puts them",
        Bytes(planned)
    );
    if unasked > 0 {
        let _ = write!(
            text,
            "; {} of other objects were not verified: too small, or not asked",
            Bytes(unasked)
        );
    }
    text
}

/// The judgement where tiers had no room for planned bytes; `planned` bytes are as planned.
fn without_room(run: &PlacedRun, planned: u64) -> String {
    let placed = total(run.objects.iter().map(|object| object.placed));
    let mut text = format!(
        "no: {} of {} that the file puts into fast memory had no room there",
        Bytes(run.left_out()),
        Bytes(run.left_out().saturating_add(placed))
    );
    if planned > 0 {
        let _ = write!(text, "; {} of the others are as planned", Bytes(planned));
    }
    text
}

/// What the user must know of a run: each a sentence or two.
pub fn placed_run_warnings(file: &PlacementFile, run: &PlacedRun) -> Vec<String> {
    let mut warnings = Vec::new();
    if run.processes == 0 {
        warnings.push(
            "the allocator was not loaded into the program, so nothing was placed; the system \
             refuses that for privileged programs, for those of other processors, and where \
             programs cannot be run from the folder of temporary files (set TMPDIR)"
                .to_owned(),
        );
        return warnings;
    }
    if run.own_allocators > 0 {
        warnings.push(format!(
            "{} an allocator built in, so blocks of the heap were not seen; mappings and static \
             objects were placed",
            match run.processes {
                1 => "the program has".to_owned(),
                all => format!("{} of {all} processes have", run.own_allocators),
            }
        ));
    }
    for module in &run.modules {
        let name = shown(&module.name).into_owned();
        match (module.seen, module.other_build) {
            (0, 1..) => warnings.push(format!(
                "{name} is another build than the one that was profiled: what the file places by \
                 it was not found; profile again, or add --loosely"
            )),
            (0, 0) => warnings.push(format!(
                "{name} was not loaded by the program: what the file places by it was not found"
            )),
            _ => {}
        }
    }
    tier_warnings(file, run, &mut warnings);
    object_warnings(file, run, &mut warnings);
    if run.objects.iter().all(|object| object.placed == 0) {
        warnings.push("nothing was placed: the program ran as it does without the file".to_owned());
    }
    warnings
}

fn tier_warnings(file: &PlacementFile, run: &PlacedRun, warnings: &mut Vec<String>) {
    for (tier, outcome) in file
        .tiers
        .iter()
        .zip(&run.tiers)
        .filter(|(_, it)| it.refused > 0)
    {
        let name = shown(&tier.name);
        warnings.push(if outcome.is_forbidden() {
            format!(
                "tier '{name}': the system forbids {} here (containers often do), so its objects \
                 are wherever the system puts them",
                outcome.way
            )
        } else {
            format!(
                "tier '{name}': the system refused {} for {}; such blocks were left to the \
                 ordinary allocator",
                outcome.way,
                counted(outcome.refused, "request", "requests")
            )
        });
    }
    if run.no_range > 0 {
        warnings.push(
            "no addresses could be reserved for the tiers (is there a limit, ulimit -v?), so the \
             heap was left to the ordinary allocator"
                .to_owned(),
        );
    }
}

fn object_warnings(file: &PlacementFile, run: &PlacedRun, warnings: &mut Vec<String>) {
    let names = |is_meant: &dyn Fn(&ObjectOutcome) -> bool| {
        let found = objects(file, run).filter(|(_, outcome)| is_meant(outcome));
        let names: Vec<String> = found
            .map(|(object, _)| shown(&object.name).into_owned())
            .collect();
        match &names[..] {
            [] => None,
            [one] => Some(format!("'{one}'")),
            [first, others @ ..] => {
                let others = counted(others.len() as u64, "other object", "other objects");
                Some(format!("'{first}' and {others}"))
            }
        }
    };
    if let Some(names) = names(&|it| it.no_room > 0 && run.no_range == 0) {
        let bytes = total(run.objects.iter().map(|object| object.no_room_bytes));
        warnings.push(format!(
            "no room for {} of {names}: that was left to the ordinary allocator",
            Bytes(bytes)
        ));
    }
    // There is a warning about modules that were not found already.
    let all_seen = run.modules.iter().all(|module| module.seen > 0);
    if let Some(names) = names(&|it| it.blocks == 0 && it.no_room == 0).filter(|_| all_seen) {
        warnings.push(format!("the program allocated nothing for {names}"));
    }
}

#[cfg(test)]
mod tests {
    use std::process::ExitStatus;

    use super::*;

    fn run(bytes: &[u64]) -> PlacedRun {
        let outcome = |&placed: &u64| ObjectOutcome {
            object: 0,
            tier: 0,
            blocks: 1,
            placed,
            no_room: 0,
            no_room_bytes: 0,
            as_planned: placed,
            elsewhere: 0,
            untouched: 0,
            unknown: 0,
        };
        PlacedRun {
            status: ExitStatus::from_raw(0),
            processes: 1,
            own_allocators: 0,
            no_range: 0,
            objects: bytes.iter().map(outcome).collect(),
            tiers: Vec::new(),
            modules: Vec::new(),
        }
    }

    #[test]
    fn top_takes_as_many_objects_as_it_says_where_several_are_equal() {
        let run = run(&[10, 20, 10, 0, 10]);
        let large = |top| largest(&run, Some(top));
        assert_eq!(large(2), [true, true, false, false, false]);
        assert_eq!(large(9), [true, true, true, false, true]);
        assert_eq!(large(0), [false; 5]);
    }

    #[test]
    fn totals_stop_at_the_largest_number() {
        assert_eq!(
            largest(&run(&[u64::MAX, u64::MAX, 1]), None),
            [true, true, false]
        );
        assert!(judgement(&run(&[u64::MAX, 1])).starts_with("all 16 EiB"));
        assert!(!judgement(&run(&[7])).contains("not verified"));
        let mut partly = run(&[7, 0]);
        partly.objects[1].placed = 2048;
        assert!(judgement(&partly).contains("; 2 KiB of other objects were not verified"));
    }

    #[test]
    fn planned_bytes_without_room_are_no_success() {
        let mut short = run(&[2048, 0]);
        assert_eq!(short.left_out(), 0);
        (short.objects[1].no_room, short.objects[1].no_room_bytes) = (1, 1024);
        assert_eq!(short.left_out(), 1024);
        assert_eq!(
            judgement(&short),
            "no: 1 KiB of 3 KiB that the file puts into fast memory had no room there; 2 KiB of \
             the others are as planned"
        );
    }
}
