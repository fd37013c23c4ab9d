//! Cells of few accesses that become parts of coarser ones.

use std::collections::BTreeMap;

use crate::common::{BIAS, Finished, Run, STACK, at};
use reuselens_attribute::Options;

const MAX_CELLS: usize = 16;
/// Places in `g` that call `f` often.
const HOT: u64 = 40;

/// `main` calls `f` once from each of 600 places; then `g`, which calls `f` from 40 places in turn,
/// 300 times each, while `main` calls `f` from further places now and then.
fn run(merges: bool) -> Finished {
    let mut run = Run::new(Options {
        max_cells: MAX_CELLS,
        merges,
        ..Options::default()
    });
    let low = STACK.1 - 0x1000;
    run.enter(0x100, low, 0);
    let cold = |run: &mut Run, place: u64| {
        run.enter(0x200, low - 0x100, BIAS + 0x1000 + place);
        run.load(at(0x200, 5), 0x1000);
        run.exit(low - 0x100);
        if place.is_multiple_of(8) {
            run.flush();
        }
    };
    (0..600).for_each(|place| cold(&mut run, place));
    for turn in 0..300 {
        run.enter(0x300, low - 0x100, at(0x100, 0xf0));
        for place in 0..HOT {
            run.enter(0x200, low - 0x200, at(0x300, 2 * place));
            run.load(at(0x200, 5), 0x1000);
            run.exit(low - 0x200);
        }
        run.exit(low - 0x100);
        cold(&mut run, 600 + turn);
    }
    run.finish()
}

/// The accesses of each context: its calls, outermost first.
fn by_context(done: &Finished) -> BTreeMap<Vec<(String, u32)>, usize> {
    let mut accesses = BTreeMap::new();
    for cell in &done.columns.cells {
        let contexts = &done.tables.contexts;
        let mut context = done.tables.cells[*cell as usize].context;
        let mut path = Vec::new();
        while context != 0 {
            let of = &contexts[context as usize];
            path.insert(0, (of.function.clone(), of.call.line));
            context = of.parent;
        }
        *accesses.entry(path).or_insert(0) += 1;
    }
    accesses
}

fn others(accesses: &BTreeMap<Vec<(String, u32)>, usize>) -> usize {
    let other = |path: &&Vec<(String, u32)>| {
        let last = path.last();
        last.is_some_and(|(function, _)| function == "(other contexts)")
    };
    accesses
        .keys()
        .filter(other)
        .map(|path| accesses[path])
        .sum()
}

#[test]
fn many_hot_groups_keep_their_names_however_late_they_come() {
    let done = run(true);
    let accesses = by_context(&done);
    assert_eq!(
        accesses.values().sum::<usize>(),
        600 + 300 * (HOT as usize + 1)
    );
    let hot = accesses.iter().filter(|(path, accesses)| {
        path.get(1).is_some_and(|(function, _)| function == "g") && **accesses >= 290
    });
    assert_eq!(hot.count(), HOT as usize, "{accesses:?}");
    let all = done.columns.cells.len();
    assert!(
        others(&accesses) < all / 10,
        "{} of {all}",
        others(&accesses)
    );
    assert!(done.tables.cells.len() <= 7 * MAX_CELLS);
    assert!(done.warnings().contains(&"contexts-folded"));
    // Without merges, groups that come late have to be far more frequent.
    let without = run(false);
    assert!(others(&by_context(&without)) > all / 10);
}

/// Places of [`waiting`] that call `f` from the start, in each turn; as many do in every other.
const BUSY: u64 = 35;
/// The places that become busy at last.
const LATE: std::ops::Range<u64> = 0xa0..0xa3;
/// Turns in which the busy places of [`waiting`] call `f`.
const BUSY_TURNS: u64 = 240;
/// Turns after which another place of `main` calls `f` in each of the next turns.
const STAY: u64 = 16;
/// Calls of `f` from each place of [`waiting`] that becomes busy at last.
const LATE_CALLS: u64 = 400;

/// `g` calls `f` from [`BUSY`] places in each turn and from as many more in every other, while
/// `main` calls `f` from 15 places, one after the other, until cells of about a hundred accesses
/// are cold. Then `g` calls `f` from 3 more places often, and `main` three times from each of 5
/// more.
fn waiting() -> Finished {
    let mut run = Run::new(Options {
        max_cells: MAX_CELLS,
        merges: true,
        ..Options::default()
    });
    let low = STACK.1 - 0x1000;
    run.enter(0x100, low, 0);
    let call = |run: &mut Run, stack_pointer: u64, place: u64| {
        run.enter(0x200, stack_pointer, place);
        run.load(at(0x200, 5), 0x1000);
        run.exit(stack_pointer);
    };
    let from_main = |run: &mut Run, place: u64| call(run, low - 0x100, BIAS + 0x1000 + place);
    let from_g = |run: &mut Run, places: std::ops::Range<u64>| {
        run.enter(0x300, low - 0x100, at(0x100, 0xf0));
        places.for_each(|place| call(run, low - 0x200, at(0x300, place)));
        run.exit(low - 0x100);
        run.flush();
    };
    for turn in 0..BUSY_TURNS {
        from_g(&mut run, 0..BUSY * (1 + turn % 2));
        from_main(&mut run, turn / STAY);
    }
    (0..LATE_CALLS).for_each(|_| from_g(&mut run, LATE));
    (0..15).for_each(|call| from_main(&mut run, 0x800 + call / 3));
    run.finish()
}

#[test]
fn a_new_group_waits_for_its_cell_once_cells_were_merged() {
    let done = waiting();
    let accesses = by_context(&done);
    let all = BUSY_TURNS * BUSY * 3 / 2 + BUSY_TURNS + 3 * LATE_CALLS + 15;
    assert_eq!(accesses.values().sum::<usize>() as u64, all);
    let of_f = |caller: &str, lines: std::ops::Range<u32>| -> Vec<usize> {
        let is_it = |path: &&Vec<(String, u32)>| match &path[..] {
            [.., (from, _), (to, line)] => from == caller && to == "f" && lines.contains(line),
            _ => false,
        };
        let paths = accesses.keys().filter(is_it);
        paths.map(|path| accesses[path]).collect()
    };
    // Places that are busy from the start keep their cells.
    assert_eq!(
        of_f("g", 0..BUSY as u32).len(),
        BUSY as usize,
        "{accesses:?}"
    );
    // One that becomes busy later gets a cell, without the accesses for which it waited: an eighth
    // of about a hundred.
    let late = of_f("g", LATE.start as u32..LATE.end as u32);
    assert_eq!(late.len(), 3, "{accesses:?}");
    let waited = |accesses: &usize| LATE_CALLS as usize - accesses;
    assert!(
        late.iter()
            .map(waited)
            .all(|waited| (8..40).contains(&waited))
    );
    // A place that calls three times never gets one.
    assert!(of_f("main", 0..u32::MAX).is_empty(), "{accesses:?}");
}

#[test]
fn the_same_accesses_are_merged_the_same_each_time() {
    let once = || {
        let done = run(true);
        (done.columns.cells.clone(), done.tables)
    };
    assert!(once() == once());
}

#[test]
fn what_is_merged_counts_where_paths_meet() {
    let accesses = by_context(&run(true));
    let below_main = |path: &&Vec<(String, u32)>| {
        path.len() == 2 && path[0].0 == "main" && path[1].0 == "(other contexts)"
    };
    let merged: usize = accesses
        .keys()
        .filter(below_main)
        .map(|path| accesses[path])
        .sum();
    assert!(merged >= 700, "{accesses:?}");
}
