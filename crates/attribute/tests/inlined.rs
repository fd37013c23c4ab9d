//! Calling contexts of code that was inlined.

use crate::common::{BIAS, Run, STACK, at};
use reuselens_attribute::Options;

/// What `main` calls from an inlined function is called by that, and what it accesses there too.
#[test]
fn contexts_follow_inlined_functions() {
    let mut run = Run::new(Options::default());
    run.symbols.inlined = [(0x120, vec!["leaf", "helper"])].into();
    let low = STACK.1 - 0x1000;
    run.enter(0x100, low, BIAS + 0x300);
    run.load(at(0x100, 0x20), low + 8);
    run.load(at(0x100, 0x30), low + 8);
    run.enter(0x200, low - 0x100, at(0x100, 0x20));
    run.load(at(0x200, 5), low + 8);
    run.exit(low - 0x100);
    run.enter(0x200, low - 0x100, at(0x100, 0x30));
    run.load(at(0x200, 5), low + 8);
    let done = run.finish();
    let expected = [
        ">main>helper>leaf",
        ">main",
        ">main>helper>leaf>f",
        ">main>f",
    ];
    assert_eq!(done.contexts(), expected);
    let tables = &done.tables;
    let leaf = tables.cells[done.columns.cells[0] as usize].context as usize;
    let leaf = &tables.contexts[leaf];
    assert_eq!((leaf.call.function.as_str(), leaf.call.line), ("helper", 7));
    let helper = &tables.contexts[leaf.parent as usize];
    assert_eq!(
        (helper.call.function.as_str(), helper.call.line),
        ("main", 0x20)
    );
}

/// An access in a function whose entry was not seen is no part of the one that is known.
#[test]
fn functions_inlined_elsewhere_are_not_below_the_context() {
    let mut run = Run::new(Options::default());
    run.symbols.inlined = [(0x320, vec!["leaf"])].into();
    run.enter(0x100, STACK.1 - 0x1000, 0);
    run.load(at(0x300, 0x20), STACK.1 - 0x800);
    assert_eq!(run.finish().contexts(), [">main"]);
}
