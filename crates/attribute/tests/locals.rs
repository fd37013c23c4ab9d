//! Local variables that have a fixed place in the frames of their function are objects of their
//! own.

use reuselens_attribute::Options;
use reuselens_profile::ObjectKind;

use crate::common::{Run, STACK, at, counts};

const MAIN: u64 = 0x100;
const F: u64 = 0x200;
const G: u64 = 0x300;
/// The canonical frame address of `main`, and that of `f`, which it calls.
const MAIN_FRAME: u64 = STACK.1 - 0x1000;
const F_FRAME: u64 = STACK.1 - 0x2000;

/// `main` with `a` and `b`, `f` with `c`.
fn run_with(options: Options) -> Run {
    let mut run = Run::bare(options);
    run.symbols.locals = [
        (
            MAIN,
            vec![(0x400, 0x200, "a in main"), (0x100, 0x80, "b in main")],
        ),
        (F, vec![(0x80, 0x40, "c in f")]),
    ]
    .into();
    run.map_module(0);
    run.thread(0, 0, STACK);
    run.call(MAIN, MAIN_FRAME - 8, 0);
    run
}

fn run() -> Run {
    run_with(Options::default())
}

#[test]
fn variables_of_a_frame_are_apart_and_the_rest_is_the_function() {
    let mut run = run();
    let a = MAIN_FRAME - 0x400;
    for address in [
        a - 8,
        a,
        a + 0x1f8,
        a + 0x200,
        MAIN_FRAME - 0x100,
        MAIN_FRAME - 0x80,
    ] {
        // The second time, the instruction remembers; the third time, another comes from elsewhere.
        for line in [5, 5, 6] {
            run.load(at(MAIN, line), address);
        }
    }
    let done = run.finish();
    let expected = ["stack of main", "a in main", "a in main", "stack of main"];
    let expected = expected.into_iter().chain(["b in main", "stack of main"]);
    let expected: Vec<&str> = expected.flat_map(|name| [name; 3]).collect();
    assert_eq!(done.objects(), expected);
    let a = done.object("a in main");
    assert_eq!(
        (a.kind, a.bytes, a.blocks, a.element_bytes),
        (ObjectKind::Stack, 0x200, 1, 8)
    );
}

#[test]
fn a_variable_of_the_caller_is_the_same_object_in_the_callee() {
    let mut run = run();
    for _ in 0..2 {
        run.call(F, F_FRAME - 8, at(MAIN, 20));
        for _ in 0..2 {
            run.load(at(F, 3), MAIN_FRAME - 0x400);
            run.load(at(F, 4), F_FRAME - 0x80);
            run.load(at(F, 5), F_FRAME - 0x10);
        }
        run.exit(F_FRAME - 8);
        run.load(at(MAIN, 3), F_FRAME - 0x80);
    }
    let done = run.finish();
    let twice = ["a in main", "c in f", "stack of f"].repeat(2);
    let once = [twice, vec!["stack of main"]].concat();
    assert_eq!(done.objects(), once.repeat(2));
    let c = done.object("c in f");
    assert_eq!((c.bytes, c.blocks), (0x40, 2));
}

#[test]
fn frames_of_a_recursion_share_their_variables() {
    let mut run = run();
    let frame = |depth: u64| F_FRAME - 0x100 * depth;
    for depth in 0..3 {
        run.call(
            F,
            frame(depth) - 8,
            at(if depth == 0 { MAIN } else { F }, 20),
        );
        run.store(at(F, 3), frame(depth) - 0x80);
    }
    run.load(at(F, 3), frame(0) - 0x80);
    run.load(at(F, 3), frame(1) - 0x40);
    // `longjmp` to `main`.
    run.call(G, F_FRAME - 8, at(MAIN, 30));
    run.load(at(G, 3), F_FRAME - 0x80);
    run.load(at(G, 3), MAIN_FRAME - 0x100);
    let done = run.finish();
    let expected = [
        "c in f",
        "c in f",
        "c in f",
        "c in f",
        "stack of f",
        "stack of g",
    ];
    assert_eq!(done.objects()[..6], expected);
    assert_eq!(done.objects()[6], "b in main");
    let c = done.object("c in f");
    assert_eq!((c.bytes, c.blocks), (3 * 0x40, 3));
}

#[test]
fn a_function_that_another_jumped_to_has_none_of_its_variables() {
    let mut run = run();
    run.call(F, F_FRAME - 8, at(MAIN, 20));
    run.load(at(F, 3), F_FRAME - 0x80);
    // `f` has jumped to `g`, which has the frame now, and calls `f`.
    run.load(at(G, 3), F_FRAME - 0x80);
    run.call(F, F_FRAME - 0x1008, at(G, 20));
    run.load(at(F, 4), F_FRAME - 0x80);
    run.load(at(F, 4), F_FRAME - 0x1080);
    run.exit(F_FRAME - 0x1008);
    run.load(at(G, 4), F_FRAME - 0x60);
    run.exit(F_FRAME - 8);
    run.load(at(MAIN, 4), MAIN_FRAME - 0x100);
    let expected = [
        "c in f",
        "stack of f",
        "stack of f",
        "c in f",
        "stack of f",
        "b in main",
    ];
    assert_eq!(run.finish().objects(), expected);
}

#[test]
fn variables_that_share_a_place_are_one() {
    let mut run = Run::bare(Options::default());
    let shared = [
        (0x200, 0x100, "b in main"),
        (0x200, 0x80, "a in main"),
        (0x120, 0x40, "c in main"),
        // An argument, in the caller's frame.
        (0x8, 0x20, "d in main"),
        (0xe0, 0x20, "e in main"),
    ];
    let many = ["a in h", "b in main", "c in h", "d in main", "d in main"];
    let many = many.map(|name| (0x80, 0x40, name));
    run.symbols.locals = [(MAIN, shared.into()), (F, many.into())].into();
    run.map_module(0);
    run.thread(0, 0, STACK);
    run.call(MAIN, MAIN_FRAME - 8, 0);
    run.load(at(MAIN, 3), MAIN_FRAME - 0x110);
    run.load(at(MAIN, 3), MAIN_FRAME - 0xe8);
    run.load(at(MAIN, 3), MAIN_FRAME - 0xe0);
    run.load(at(MAIN, 3), MAIN_FRAME - 0x8);
    run.call(F, F_FRAME - 8, at(MAIN, 20));
    run.load(at(F, 3), F_FRAME - 0x80);
    let expected = [
        "a/b/c in main",
        "a/b/c in main",
        "e in main",
        "stack of main",
    ];
    let objects = run.finish();
    assert_eq!(objects.objects()[..4], expected);
    assert_eq!(objects.objects()[4], "a in h/b in main/c in h/1 more");
    assert_eq!(objects.object("a/b/c in main").bytes, 0x200 - 0xe0);
}

#[test]
fn another_thread_knows_the_variables_too() {
    let mut run = run();
    run.thread(0, 1, (STACK.0 - 0x10_0000, STACK.0));
    run.on(0, 1);
    run.call(F, STACK.0 - 0x108, at(MAIN, 20));
    for _ in 0..2 {
        run.load(at(F, 3), MAIN_FRAME - 0x400);
        run.load(at(F, 3), STACK.0 - 0x180);
        run.load(at(F, 3), MAIN_FRAME - 0x8);
    }
    run.on(0, 0);
    run.load(at(F, 3), STACK.0 - 0x180);
    run.load(at(MAIN, 3), MAIN_FRAME - 0x400);
    let done = run.finish();
    let other = ["a in main", "c in f", "stack of main"].repeat(2);
    assert_eq!(
        done.objects(),
        [other, vec!["c in f", "a in main"]].concat()
    );
}

#[test]
fn frames_above_their_stack_pointers_have_no_variables() {
    let mut run = run();
    run.enter(F, F_FRAME, at(MAIN, 20));
    run.load(at(F, 3), F_FRAME + 0x10);
    run.load(at(F, 3), MAIN_FRAME - 0x100);
    run.exit(F_FRAME);
    assert_eq!(run.finish().objects(), ["stack of f", "stack of f"]);
}

#[test]
fn named_structure_wins_over_local_variable() {
    let mut run = run();
    let a = MAIN_FRAME - 0x400;
    run.load(at(MAIN, 3), a);
    run.data(a + 0x40, 0x40, 8, "mine");
    for _ in 0..2 {
        run.load(at(MAIN, 3), a);
        run.load(at(MAIN, 3), a + 0x40);
        run.load(at(MAIN, 3), a + 0x80);
    }
    let twice = ["a in main", "mine", "a in main"].repeat(2);
    assert_eq!(run.finish().objects(), [vec!["a in main"], twice].concat());
}

#[test]
fn elements_of_variables_are_counted_on_request() {
    let mut run = run_with(Options {
        elements: true,
        ..Options::default()
    });
    for index in [3, 3, 5] {
        run.load(at(MAIN, 1), MAIN_FRAME - 0x400 + 8 * index);
    }
    // A frame elsewhere has the same elements.
    run.call(MAIN, F_FRAME - 8, at(MAIN, 20));
    run.load(at(MAIN, 1), F_FRAME - 0x400 + 8 * 5);
    let done = run.finish();
    assert_eq!(counts(done.object("a in main")), [(3, 2), (5, 2)]);
}
