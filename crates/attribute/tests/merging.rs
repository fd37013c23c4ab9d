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
