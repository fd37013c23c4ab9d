//! The program's own names for its data.

use reuselens_attribute::{DataFilter, Kinds, NamesMode, Options};
use reuselens_profile::ObjectKind;
use reuselens_trace::{Event, Kind, Process};
use reuselens_units::Granularity;

use crate::common::{BIAS, Finished, Run, STACK, at, counts};

fn byte() -> Options {
    Options {
        granularity: Granularity::BYTE,
        ..Options::default()
    }
}

#[test]
fn a_named_access_touches_its_element() {
    let mut run = Run::new(Options {
        granularity: Granularity::new(8).unwrap(),
        ..Options::default()
    });
    run.data(0x1000, 80, 8, "A");
    run.data(0x2000, 24, 24, "B of many letters");
    run.named(0x1000, 0x1013);
    run.named(0x2000, 0x2004);
    run.named(0x1000, 0x1050);
    run.named(0x7777, 0x1008);
    let done = run.finish();
    assert_eq!(
        done.columns.items,
        [0x202, 0x400, 0x401, 0x402, 0x20a, 0x201]
    );
    let b = "B of many letters";
    assert_eq!(done.objects(), ["A", b, b, b, "unknown", "A"]);
    assert_eq!(done.references, 4);
    let a = done.object("A");
    assert_eq!(
        (a.kind, a.bytes, a.element_bytes, a.blocks),
        (ObjectKind::Named, 80, 8, 1)
    );
    assert_eq!(counts(a), [(1, 1), (2, 1)]);
    assert_eq!(
        done.elements(),
        [
            "A[2]",
            "B of many letters[0]",
            "B of many letters[0]",
            "B of many letters[0]",
            "",
            "A[1]"
        ]
    );
    assert_eq!(done.tables.sites[1].kind, "named");
}

/// What a call announces, and where: base, bytes, bytes of an element, line of the call.
const UNNAMED: [(u64, u64, u64, u64); 7] = [
    (BIAS + 0x1_0000, 0x1000, 16, 1),
    (BIAS + 0x1_1000, 0x1000, 16, 2),
    (BIAS + 0x1_4004, 4, 4, 3),
    (0x1000, 64, 16, 4),
    (0x2000, 64, 16, 5),
    (0x9000, 64, 16, 6),
    (0xa000, 64, 16, 7),
];

#[test]
fn unnamed_structures_keep_their_names_and_are_rows_of_their_own() {
    let table = "table (prog.c)";
    let names = [
        table,
        "table (prog.c) + 4096 bytes",
        "count (prog.c)",
        "heap from make (prog.c:7)",
        "heap from make (prog.c:8)",
        "data announced by main (prog.c:6)",
        "data announced by main (prog.c:7)",
    ];
    for totals in [false, true] {
        let mut run = Run::new(Options {
            granularity: Granularity::new(16).unwrap(),
            totals_only: totals,
            ..Options::default()
        });
        run.alloc(at(0x400, 7), 0x1000, 64);
        run.alloc(at(0x400, 8), 0x2000, 64);
        for _ in 0..2 {
            for (base, bytes, element, line) in UNNAMED {
                let operands = [bytes, element, 0];
                run.row(Kind::Data, 0, at(0x100, line), base, &operands);
            }
        }
        for (index, (base, ..)) in UNNAMED.into_iter().enumerate() {
            for _ in 0..=index {
                run.named(base, base);
            }
        }
        let done = run.finish();
        assert_eq!(done.columns.len(), 28);
        if totals {
            continue;
        }
        let indices = 0..names.len();
        let expected = indices.flat_map(|index| vec![names[index]; index + 1]);
        assert_eq!(done.objects(), expected.collect::<Vec<_>>());
        for (index, (_, bytes, element, _)) in UNNAMED.into_iter().enumerate() {
            let object = done.object(names[index]);
            assert_eq!(counts(object), [(0, index as u64 + 1)], "{}", names[index]);
            assert_eq!((object.element_bytes, object.blocks), (element, 1));
            let all = if index == 0 { 0x4000 } else { bytes };
            assert_eq!(object.bytes, all, "{}", names[index]);
        }
    }
}

#[test]
fn an_unnamed_structure_on_the_stack_keeps_the_name_of_its_variable() {
    let mut run = Run::bare(Options::default());
    run.symbols.locals.insert(0x100, vec![(0x200, 64, "local")]);
    run.map_module(0);
    run.thread(0, 0, STACK);
    let top = STACK.1 - 0x1000;
    run.call(0x100, top, 0);
    let first = top + 8 - 0x200;
    run.row(Kind::Data, 0, at(0x100, 1), first, &[64, 8, 0]);
    run.row(Kind::Data, 0, at(0x100, 2), top - 0x800, &[64, 8, 0]);
    run.load(at(0x100, 3), first + 8);
    run.load(at(0x100, 3), top - 0x800);
    let done = run.finish();
    let announced = "data announced by main (prog.c:2)";
    assert_eq!(done.objects(), ["local", announced]);
    assert_eq!(counts(done.object("local")), [(1, 1)]);
}

#[test]
fn instrumented_accesses_keep_names_that_unnamed_structures_have() {
    let mut run = Run::bare(byte());
    run.event(Event::Process(Process {
        instrumented: true,
        ..Process::default()
    }));
    run.map_module(0);
    run.thread(0, 0, STACK);
    run.alloc(at(0x400, 7), 0x1000, 64);
    for (base, bytes) in [(BIAS + 0x1_0000, 0x4000), (0x1000, 64)] {
        run.load(at(0x100, 1), base);
        run.row(Kind::Data, 0, at(0x100, 1), base, &[bytes, 8, 0]);
        run.load(at(0x100, 1), base + 8);
    }
    let done = run.finish();
    let names: Vec<_> = done.objects().into_iter().step_by(8).collect();
    let (table, heap) = ("table (prog.c)", "heap from make (prog.c:7)");
    assert_eq!(names, [table, table, heap, heap]);
    // An access is one to each of its bytes.
    assert_eq!(counts(done.object(heap)), [(1, 8)]);
}

/// Of these many rows at a time are judged, and structures that were entered lately are known at
/// once.
#[test]
fn of_whole_programs_named_accesses_touch_the_same() {
    for (kinds, bytes) in [(Kinds::All, 64), (Kinds::All, 8), (Kinds::Loads, 64)] {
        let [apart, whole] = [false, true].map(|whole| {
            let mut run = Run::new(Options {
                totals_only: whole,
                kinds,
                granularity: Granularity::new(bytes).unwrap(),
                ..Options::default()
            });
            run.alloc(at(0x400, 7), 0x8000, 0x4000);
            for round in 0..30 {
                // Elements lie across items, and the last of each structure is cut short.
                run.data(0x1000 + round % 3 * 0x800, 0x7f1, 24 + 8 * (round % 2), "A");
                run.data(0x8000, 1000, 100, "B");
                run.row(Kind::PartialData, 0, 0, 0x8100, &[0x8000]);
                for step in 0..100 {
                    let base = [0x1000, 0x1800, 0x2000, 0x8000, 0x8100, 0x7777][step % 6];
                    run.named(base, 0x1000 + (step as u64 * 397 + round * 31) % 0x1900);
                    run.named(0x8000, 0x8000 + (step as u64 * 53) % 1100);
                }
                if round % 4 == 1 {
                    // The name of B ends with its memory.
                    run.free(0x8000, 0);
                    run.named(0x8000, 0x8064);
                    run.alloc(at(0x400, 7), 0x8000, 0x4000);
                }
            }
            run.finish()
        });
        // Too many to show.
        assert!(apart.columns.items == whole.columns.items);
        assert_eq!(apart.references, whole.references);
        assert_eq!(whole.references > 0, kinds == Kinds::All);
    }
}

#[test]
fn a_partial_entry_leads_to_the_whole_structure() {
    let mut run = Run::new(byte());
    run.data(0x1000, 80, 8, "A");
    run.row(Kind::PartialData, 0, 0, 0x1020, &[0x1000]);
    run.row(Kind::PartialData, 0, 0, 0x1040, &[0x1020]);
    run.row(Kind::PartialData, 0, 0, 0x1048, &[0x5555]);
    run.named(0x1020, 0x1008);
    run.named(0x1040, 0x1000);
    run.named(0x1048, 0x1000);
    let done = run.finish();
    assert_eq!(
        done.columns.len(),
        8 + 8 + 1,
        "an unknown entry is raw memory, one byte"
    );
    assert_eq!(counts(done.object("A")), [(0, 9), (1, 8)]);
}

#[test]
fn named_structure_wins_over_memory_and_ends_with_it() {
    let mut run = Run::new(byte());
    run.alloc(at(0x400, 7), 0x1000, 0x10000);
    run.load(at(0x100, 1), 0x1000);
    run.data(0x2000, 0x1000, 8, "part");
    for address in [0x1ff0, 0x2000, 0x2ff8, 0x3000] {
        run.load(at(0x100, 1), address);
    }
    run.free(0x1000, 0);
    run.load(at(0x100, 1), 0x2000);
    let done = run.finish();
    let heap = "heap from make (prog.c:7)";
    let names: Vec<_> = done.objects().into_iter().step_by(8).collect();
    assert_eq!(names, [heap, heap, "part", "part", heap, "unknown"]);
}

#[test]
fn names_of_a_caller_outlive_a_callee_that_is_entered_by_call() {
    let mut run = Run::new(Options::default());
    let top = STACK.1 - 0x1000;
    run.call(0x100, top, 0);
    run.data(top - 0x800, 64, 8, "of caller");
    run.call(0x200, top - 0x1000, at(0x100, 3));
    run.data(top - 0x1800, 64, 8, "of callee");
    run.load(at(0x200, 1), top - 0x1800);
    run.exit(top - 0x1000);
    run.load(at(0x100, 1), top - 0x800);
    run.load(at(0x100, 1), top - 0x1800);
    let done = run.finish();
    assert_eq!(done.objects(), ["of callee", "of caller", "stack of main"]);
}

#[test]
fn names_on_the_stack_end_with_their_frame() {
    let mut run = Run::new(Options::default());
    let low = STACK.1 - 0x1000;
    run.enter(0x100, low, 0);
    run.enter(0x200, low - 0x1000, at(0x100, 3));
    run.data(low - 0x800, 64, 8, "local");
    run.load(at(0x200, 1), low - 0x800);
    run.load(at(0x200, 1), low - 0x900);
    run.exit(low - 0x1000);
    run.enter(0x300, low - 0x1000, at(0x100, 3));
    run.load(at(0x300, 1), low - 0x800);
    let done = run.finish();
    assert_eq!(done.objects(), ["local", "stack of f", "stack of g"]);
}

#[test]
fn named_data_count_by_where_they_lie() {
    for (data, names) in [
        (DataFilter::Static, vec!["S"]),
        (DataFilter::Heap, vec!["H"]),
        (DataFilter::Stack, vec!["T"]),
        (DataFilter::All, vec!["S", "H", "T", "R"]),
    ] {
        let mut run = Run::new(Options {
            data,
            ..Options::default()
        });
        run.alloc(at(0x400, 7), 0x1000, 64);
        run.enter(0x100, STACK.1 - 0x1000, 0);
        let bases = [BIAS + 0x1_0000, 0x1000, STACK.1 - 0x800, 0x9000];
        for (base, name) in bases.into_iter().zip(["S", "H", "T", "R"]) {
            run.data(base, 64, 8, name);
            run.named(base, base);
        }
        assert_eq!(run.finish().objects(), names);
    }
}

/// `A(i) = A(i) * 0.2` for two elements, then again without a mark.
fn statements(names: NamesMode, use_names: bool) -> Finished {
    let mut run = Run::new(Options {
        names,
        granularity: Granularity::LINE_64,
        ..Options::default()
    });
    run.data(0x1000, 80, 8, "A");
    for element in [0x1000, 0x1008] {
        run.statement();
        for offset in [0, 4] {
            if use_names {
                run.named(0x1000, element + offset);
            } else {
                run.row(Kind::Load, 4, at(0x100, 5), element + offset, &[]);
            }
        }
    }
    run.finish()
}

#[test]
fn a_statement_counts_an_element_once_in_statement_mode() {
    for use_names in [false, true] {
        let done = statements(NamesMode::Statement, use_names);
        assert_eq!((done.columns.items, done.references), (vec![0x40; 2], 2));
        assert_eq!(statements(NamesMode::Instruction, use_names).references, 4);
    }
    assert_eq!(
        counts(statements(NamesMode::Statement, true).object("A")),
        [(0, 1), (1, 1)]
    );
}

#[test]
fn statement_mode_without_marks_warns() {
    for (names, marked, warnings) in [
        (NamesMode::Statement, false, &["no-statements"][..]),
        (NamesMode::Statement, true, &[]),
        (NamesMode::Instruction, false, &[]),
    ] {
        let mut run = Run::new(Options {
            names,
            ..Options::default()
        });
        run.load(at(0x100, 5), 0x1000);
        if marked {
            run.statement();
        }
        run.load(at(0x100, 5), 0x1000);
        let done = run.finish();
        assert_eq!((done.references, done.warnings()), (2, warnings.to_vec()));
    }
}

#[test]
fn beside_instrumentation_named_accesses_do_not_count_twice() {
    let mut run = Run::bare(Options::default());
    run.event(Event::Process(Process {
        instrumented: true,
        ..Process::default()
    }));
    run.data(0x1000, 80, 8, "A");
    run.named(0x1000, 0x1008);
    run.named(0x1000, 0x1008);
    run.load(at(0x100, 5), 0x1008);
    let done = run.finish();
    assert_eq!(
        (done.objects(), done.warnings()),
        (vec!["A"], vec!["record-access-ignored"])
    );
    assert_eq!(counts(done.object("A")), [(1, 1)]);
}

#[test]
fn more_elements_than_counters_only_cost_the_counters() {
    let mut run = Run::new(Options::default());
    run.data(0x1000, 1 << 40, 1, "huge");
    run.data(1 << 41, 1 << 20, 1, "small");
    run.named(0x1000, 0x2000);
    run.named(1 << 41, (1 << 41) + 5);
    let done = run.finish();
    assert_eq!(done.objects(), ["huge", "small"]);
    assert!(done.object("huge").elements.is_empty());
    assert_eq!(counts(done.object("small")), [(5, 1)]);
    assert_eq!(done.warnings(), ["elements-not-counted"]);
}
