//! Groups of accesses for which there is no room.
mod common;

use std::collections::BTreeMap;

use common::{BIAS, Finished, Run, STACK, at};
use reuselens_attribute::Options;

/// `main` calls `f` from `calls` places, once each; then `g`, which calls `f` again and again, from
/// one place.
fn run(max_cells: usize, calls: u64, hot: u64) -> Finished {
    let mut run = Run::new(Options {
        max_cells,
        ..Options::default()
    });
    let low = STACK.1 - 0x1000;
    run.enter(0x100, low, 0);
    for call in 0..calls {
        run.enter(0x200, low - 0x100, BIAS + 0x100 + call);
        run.load(at(0x200, 5), 0x1000);
        run.exit(low - 0x100);
    }
    run.enter(0x300, low - 0x100, at(0x100, 0xf0));
    for _ in 0..hot {
        run.enter(0x200, low - 0x200, at(0x300, 7));
        run.load(at(0x200, 5), 0x1000);
        run.exit(low - 0x200);
    }
    run.finish()
}

fn by_context(done: &Finished) -> BTreeMap<String, usize> {
    let mut accesses = BTreeMap::new();
    for context in done.contexts() {
        *accesses.entry(context).or_insert(0) += 1;
    }
    accesses
}

#[test]
fn hot_groups_are_kept_however_late_they_come() {
    let done = run(16, 200, 10_000);
    let accesses = by_context(&done);
    assert_eq!(accesses.values().sum::<usize>(), 10_200);
    // But for those before it was known to be hot.
    assert!(accesses[">main>g>f"] >= 9_500, "{accesses:?}");
    assert!(done.tables.cells.len() <= 6 * 16);
    assert_eq!(done.warnings(), ["contexts-folded", "groups-folded"]);
}

#[test]
fn rare_groups_count_where_their_paths_meet() {
    let done = run(16, 230, 1);
    let accesses = by_context(&done);
    // Each place in `main` calls `f` once.
    assert!(accesses[">main>(other contexts)"] >= 150, "{accesses:?}");
    assert!(!accesses.contains_key(">(other contexts)"), "{accesses:?}");
    let objects = done.objects();
    let others = objects.iter().filter(|name| **name == "(other objects)");
    assert!(others.count() < 10);
}

#[test]
fn the_same_accesses_count_the_same_each_time() {
    let once = || {
        let done = run(16, 230, 3_000);
        (done.columns.cells.clone(), done.tables)
    };
    assert!(once() == once());
}
