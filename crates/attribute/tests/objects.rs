//! Which object an address belongs to.

use reuselens_attribute::{Options, StaticSymbol};
use reuselens_profile::ObjectKind;
use reuselens_trace::{Event, Kind, Module, ModuleId, Process, ProcessEnd, ProcessId, ThreadId};

use crate::common::{BIAS, Run, STACK, at, counts};

#[test]
fn statics_have_their_extent_to_the_byte() {
    let mut run = Run::new(Options::default());
    for address in [
        0x1_0000, 0x1_3fff, 0x1_4000, 0x1_4004, 0x1_4007, 0x1_4009, 0x1_400a, 0x1_4013, 0x1_4014,
    ] {
        run.row(
            Kind::Load,
            1,
            at(0x100, address & 0x3f),
            BIAS + address,
            &[],
        );
    }
    // The same instruction: what it remembers must not blur the borders.
    for address in [0x1_4004, 0x1_4008, 0x1_4004, 0x1_400c, 0x1_4000] {
        run.row(Kind::Load, 1, at(0x100, 0x70), BIAS + address, &[]);
    }
    let done = run.finish();
    let names = done.objects();
    assert_eq!(
        names[..5],
        [
            "table (prog.c)",
            "table (prog.c)",
            "unknown",
            "count (prog.c)",
            "count (prog.c)"
        ]
    );
    assert_eq!(
        names[5..9],
        ["flag (prog.c)", "unknown", "total (prog.c)", "unknown"]
    );
    assert_eq!(
        names[9..],
        [
            "count (prog.c)",
            "flag (prog.c)",
            "count (prog.c)",
            "total (prog.c)",
            "unknown"
        ]
    );
    let table = done.object("table (prog.c)");
    assert_eq!(
        (table.kind, table.bytes, table.element_bytes, table.blocks),
        (ObjectKind::Static, 0x4000, 8, 1)
    );
    assert_eq!(done.tables.objects[0].kind, ObjectKind::Unknown);
}

#[test]
fn symbols_that_overlap_are_one() {
    let mut run = Run::bare(Options::default());
    run.symbols.statics = vec![
        (0x1_0010, 0x1_0018, "inner"),
        (0x1_0000, 0x1_0010, "alias"),
        (0x1_0000, 0x1_0020, "whole"),
    ];
    run.map_module(0);
    run.load(at(0x100, 1), BIAS + 0x1_0012);
    run.load(at(0x100, 1), BIAS + 0x1_0000);
    assert_eq!(run.finish().objects(), ["whole (prog.c)", "whole (prog.c)"]);
    assert_eq!(StaticSymbol::default().low, 0);
}

#[test]
fn elements_of_statics_are_counted_on_request() {
    let mut run = Run::new(Options {
        elements: true,
        ..Options::default()
    });
    for index in [3, 3, 5, 2047] {
        run.load(at(0x100, 1), BIAS + 0x1_0000 + 8 * index);
    }
    run.row(Kind::RangeLoad, 0, at(0x100, 2), BIAS + 0x1_0000, &[8 * 4]);
    let done = run.finish();
    let table = done.object("table (prog.c)");
    assert_eq!(counts(table), [(0, 1), (3, 2), (5, 1), (2047, 1)]);
}

/// The first call of `make` enters another function at its address, as the stub of a library does.
#[test]
fn equal_calls_that_enter_different_functions_allocate_one_object() {
    let mut run = Run::new(Options::default());
    let top = STACK.1;
    run.enter(0x100, top - 0x1000, 0);
    for (allocator, inner) in [(0x200, None), (0x300, None), (0x300, Some(0x400))] {
        run.enter(allocator, top - 0x2000, at(0x100, 20));
        if let Some(inner) = inner {
            run.enter(inner, top - 0x3000, at(0x300, 5));
        }
        run.alloc(at(0x100, 20), 0x60_0000, 4096);
        if inner.is_some() {
            run.exit(top - 0x3000);
        }
        run.exit(top - 0x2000);
        run.load(at(0x100, 21), 0x60_0010);
        run.free(0x60_0000, 0);
    }
    run.alloc(at(0x100, 30), 0x70_0000, 64);
    run.load(at(0x100, 31), 0x70_0000);
    let done = run.finish();
    let object = done.object("heap from main (prog.c:20)");
    let longest = object.longest;
    assert_eq!((object.bytes, object.blocks, longest), (4096, 3, 4096));
    assert_eq!(object.origins.len(), 1, "{:?}", object.origins);
    assert_eq!(done.object("heap from main (prog.c:30)").bytes, 64);
}

#[test]
fn stack_memory_belongs_to_the_function_whose_frame_it_is() {
    let mut run = Run::new(Options::default());
    let top = STACK.1;
    run.enter(0x100, top - 0x1000, 0);
    run.enter(0x200, top - 0x2000, at(0x100, 20));
    run.load(at(0x200, 1), top - 0x1800);
    run.load(at(0x200, 2), top - 0x0800);
    run.load(at(0x200, 3), top - 0x2400);
    run.exit(top - 0x2000);
    run.load(at(0x100, 4), top - 0x0800);
    // An exception leaves g and f without a word.
    run.enter(0x200, top - 0x2000, at(0x100, 21));
    run.enter(0x300, top - 0x3000, at(0x200, 7));
    run.load(at(0x300, 1), top - 0x2800);
    run.enter(0x400, top - 0x1800, at(0x100, 22));
    run.load(at(0x400, 1), top - 0x1700);
    run.exit(top - 0x1000);
    run.load(at(0x100, 8), top - 0x0800);
    let done = run.finish();
    let expected = ["f", "main", "f", "main", "g", "make"].map(|name| format!("stack of {name}"));
    assert_eq!(done.objects()[..6], expected);
    assert_eq!(done.objects()[6], "stack of thread (unknown frame)");
    let contexts = done.contexts();
    assert_eq!(contexts[..3], [">main>f"; 3]);
    assert_eq!(contexts[3..], [">main", ">main>f>g", ">main>make", ""]);
    let f = done.object("stack of f");
    assert_eq!((f.kind, f.bytes, f.blocks), (ObjectKind::Stack, 0x1000, 2));
    let g = done
        .tables
        .contexts
        .iter()
        .find(|context| context.function == "g")
        .unwrap();
    assert_eq!((g.call.function.as_str(), g.call.line), ("f", 7));
}

#[test]
fn two_entry_points_of_a_function_are_one_object() {
    let mut run = Run::new(Options::default());
    for line in [1, 2] {
        run.row(
            Kind::Enter,
            0,
            at(0x200, line),
            STACK.1 - 0x1000,
            &[at(0x100, 3)],
        );
        run.load(at(0x200, 9), STACK.1 - 0x10);
        run.exit(STACK.1 - 0x1000);
    }
    let done = run.finish();
    assert_eq!(done.objects(), ["stack of f"; 2]);
    assert_eq!(
        (done.tables.objects.len(), done.tables.contexts.len()),
        (2, 2)
    );
}

#[test]
fn recursion_leads_back_and_is_balanced() {
    let mut run = Run::new(Options::default());
    run.enter(0x100, STACK.1 - 0x100, 0);
    // By itself, and through another.
    let frame = |depth: u64| STACK.1 - 0x200 - depth * 0x100;
    let function = |depth: u64| 0x200 + 0x100 * (depth % 3 / 2);
    for depth in 0..3000 {
        run.enter(
            function(depth),
            frame(depth),
            at(function(depth.max(1) - 1), depth % 7),
        );
    }
    run.load(at(function(2999), 4), frame(2999));
    for depth in (0..3000).rev() {
        run.exit(frame(depth));
    }
    run.load(at(0x100, 4), STACK.1 - 8);
    let done = run.finish();
    assert_eq!(done.objects(), ["stack of g", "stack of main"]);
    let contexts = done.contexts();
    assert_eq!(contexts[1], ">main");
    assert_eq!(contexts[0], ">main>f>g");
    // From different lines of the first two.
    assert!(
        done.tables.contexts.len() < 10,
        "{}",
        done.tables.contexts.len()
    );
}

#[test]
fn deep_calls_are_capped_and_balanced() {
    let mut run = Run::new(Options::default());
    run.enter(0x100, STACK.1 - 0x100, 0);
    // Each is of code of its own, of which no name is known.
    let function = |depth: u64| 0x9000_0000 + depth * 0x1000;
    for depth in 0..3000 {
        run.enter(
            function(depth),
            STACK.1 - 0x200 - depth * 0x10,
            at(0x200, 3),
        );
    }
    run.load(function(2999) + 4, STACK.1 - 0x200 - 2999 * 0x10);
    for depth in (0..3000).rev() {
        run.exit(STACK.1 - 0x200 - depth * 0x10);
    }
    run.load(at(0x100, 4), STACK.1 - 8);
    let done = run.finish();
    assert_eq!(done.contexts()[1], ">main");
    assert_eq!(done.tables.contexts.len(), 513);
}

#[test]
fn another_threads_stack_is_looked_into() {
    let mut run = Run::new(Options::default());
    run.enter(0x100, STACK.1 - 0x1000, 0);
    run.thread(0, 1, (0x7f00_0000_0000, 0x7f00_0001_0000));
    run.thread(0, 2, (0, 0));
    run.on(0, 1);
    run.load(at(0x200, 1), STACK.1 - 0x10);
    run.on(0, 2);
    run.enter(0x300, 0x7e00_0000_8000, 0);
    run.load(at(0x300, 1), 0x7e00_0000_8010);
    run.load(at(0x300, 1), 0x7f00_0000_0000);
    run.event(Event::ThreadEnded(ThreadId(1)));
    run.load(at(0x300, 1), 0x7f00_0000_0000);
    let names = [
        "stack of main",
        "stack of g",
        "stack of thread (unknown frame)",
        "unknown",
    ];
    assert_eq!(run.finish().objects(), names);
}

#[test]
fn heap_blocks_go_by_the_path_that_allocated_them() {
    let mut run = Run::new(Options::default());
    let (low, block) = (STACK.1 - 0x1000, 0x60_0000);
    run.enter(0x100, low, 0);
    for (function, call) in [(0x200, 20), (0x300, 30), (0x200, 20)] {
        run.enter(function, low - 0x100, at(0x100, call));
        run.enter(0x400, low - 0x200, at(function, 5));
        run.alloc(at(0x400, 7), block, 40);
        run.exit(low - 0x200);
        run.exit(low - 0x100);
        run.load(at(0x100, 1), block + 39);
        run.load(at(0x100, 2), block + 40);
        run.free(block, 0);
        run.load(at(0x100, 3), block);
    }
    let done = run.finish();
    let cells: Vec<_> = done
        .columns
        .cells
        .iter()
        .map(|cell| done.tables.cells[*cell as usize].object)
        .collect();
    assert_eq!(cells[0], cells[6], "the same path");
    assert_ne!(cells[0], cells[3], "another path, the same address");
    assert_eq!(done.objects()[1..3], ["unknown", "unknown"]);
    let object = &done.tables.objects[cells[0] as usize];
    // `make` allocates on one line for `f` and `g`, and does nothing with it.
    assert_eq!(object.name, "heap from f (prog.c:5)");
    assert_eq!(
        (object.kind, object.bytes, object.blocks),
        (ObjectKind::Heap, 40, 2)
    );
    let path: Vec<_> = object
        .path
        .iter()
        .map(|frame| (frame.function.as_str(), frame.line))
        .collect();
    assert_eq!(path, [("make", 7), ("f", 5), ("main", 20)]);
}

/// Two calls on one line: what their blocks are called says which is which.
#[test]
fn blocks_of_two_calls_on_one_line_are_two_objects() {
    for names in [&["a", "b"][..], &["a"], &[]] {
        let mut run = Run::new(Options::default());
        // The same function and lines at another address.
        run.symbols.functions.insert(0x300, "make");
        run.symbols.names = names.iter().map(|name| (*name).to_owned()).collect();
        for (call, block) in [(0x400, 0x60_0000), (0x300, 0x70_0000)] {
            run.alloc(at(call, 7), block, 64);
            run.load(at(0x100, 2), block);
        }
        let expected = match names {
            // In the order of the allocations.
            ["a", "b"] => [
                "heap from make (prog.c:7) (a)",
                "heap from make (prog.c:7) (b)",
            ],
            // In the order of the code.
            _ => [
                "heap from make (prog.c:7) #2",
                "heap from make (prog.c:7) #1",
            ],
        };
        assert_eq!(run.finish().objects(), expected);
    }
}

#[test]
fn parts_of_blocks_can_go() {
    let mut run = Run::new(Options::default());
    run.alloc(at(0x400, 7), 0x10_0000, 0x10_0000);
    run.load(at(0x100, 1), 0x18_0000);
    run.free(0x17_0000, 0x2_0000);
    for address in [0x16_fff8, 0x17_0000, 0x18_0000, 0x18_fff8, 0x19_0000] {
        run.load(at(0x100, 1), address);
    }
    run.free(0x12_0000, 0);
    run.load(at(0x100, 1), 0x12_0000);
    let done = run.finish();
    let heap = "heap from make (prog.c:7)";
    assert_eq!(
        done.objects(),
        [heap, heap, "unknown", "unknown", "unknown", heap, heap]
    );
}

#[test]
fn a_forked_child_has_its_parents_data_and_frames() {
    let mut run = Run::new(Options::default());
    run.enter(0x100, STACK.1 - 0x1000, 0);
    run.alloc(at(0x400, 7), 0x60_0000, 4096);
    let parent = Some(ProcessId(0));
    run.event(Event::Process(Process {
        id: ProcessId(1),
        parent,
        ..Process::default()
    }));
    run.thread(1, 1, STACK);
    run.load(at(0x100, 1), 0x60_0010);
    run.on(1, 1);
    for address in [0x60_0010, BIAS + 0x1_0000, STACK.1 - 0x10] {
        run.load(at(0x100, 1), address);
    }
    run.free(0x60_0000, 0);
    run.load(at(0x100, 1), 0x60_0010);
    run.event(Event::ProcessEnded(ProcessId(1), ProcessEnd::Exit(0)));
    run.on(0, 0);
    run.load(at(0x100, 1), 0x60_0010);
    let done = run.finish();
    let heap = "heap from make (prog.c:7)";
    assert_eq!(
        done.objects(),
        [
            heap,
            heap,
            "table (prog.c)",
            "stack of main",
            "unknown",
            heap
        ]
    );
    assert_eq!(done.contexts(), [">main"; 6]);
    assert_eq!(done.tables.objects.len(), 4);
}

#[test]
fn code_that_ran_before_its_module_was_announced_gets_its_name() {
    let mut run = Run::bare(Options::default());
    run.thread(0, 0, STACK);
    run.enter(0x100, STACK.1 - 0x1000, 0);
    run.load(at(0x100, 1), STACK.1 - 8);
    run.map_module(0);
    let done = run.finish();
    assert_eq!(
        (done.objects(), done.contexts()),
        (vec!["stack of main"], vec![">main".to_owned()])
    );
    assert_eq!(done.tables.sites[1].frames[0].function, "main");
}

#[test]
fn without_symbols_there_is_module_and_offset() {
    let mut run = Run::new(Options::default());
    run.enter(0x700, STACK.1 - 0x1000, 0);
    run.load(at(0x700, 1), STACK.1 - 8);
    run.load(0x1234, 0x99);
    run.load(0, 0x99);
    let done = run.finish();
    assert_eq!(
        done.objects(),
        ["stack of prog+0x701", "unknown", "unknown"]
    );
    let sites = &done.tables.sites;
    assert_eq!(sites[1].frames[0].function, "prog+0x701");
    assert_eq!(
        (
            sites[2].module.as_str(),
            sites[2].offset,
            sites[2].frames.len()
        ),
        ("", 0x1233, 0)
    );
    assert_eq!(done.tables.cells[2].site, 0);
    assert_eq!(done.warnings(), ["no-debug-information"]);
}

#[test]
fn modules_without_lines_share_one_warning() {
    const EACH: u64 = 0x1000;
    let mut run = Run::bare(Options::default());
    run.event(Event::Process(Process::default()));
    let names = ["python3", "_json.so", "_csv.so", "math.so", "zlib.so"];
    for (number, name) in (0..).zip(names) {
        let low = BIAS + EACH * u64::from(number);
        run.event(Event::Module(Module {
            process: ProcessId(0),
            id: ModuleId(number),
            path: format!("/home/me/{name}"),
            bias: low,
            low,
            high: low + EACH,
            build_id: vec![1],
        }));
    }
    run.thread(0, 0, STACK);
    for number in 0..names.len() as u64 {
        run.load(BIAS + EACH * number + 0x701, 0x99);
    }
    let done = run.finish();
    assert_eq!(done.warnings(), ["no-debug-information"]);
    let message = &done.tables.warnings[0].message;
    assert!(
        message.starts_with("python3, _json.so, _csv.so and 2 more have no line numbers"),
        "{message}"
    );
}
