//! Groups of accesses for which there is no room.

use std::collections::BTreeMap;

use crate::common::{BIAS, Finished, Run, STACK, at};
use reuselens_attribute::Options;
use reuselens_trace::{Event, Process};

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

/// `main` calls `f` from eight places, four times each; every call runs the same 64 instructions.
fn straight_code(without_lines: bool) -> Finished {
    let mut run = Run::bare(Options {
        max_cells: 16,
        ..Options::default()
    });
    run.symbols.without_lines = without_lines;
    run.event(Event::Process(Process::default()));
    run.map_module(0);
    run.thread(0, 0, STACK);
    let low = STACK.1 - 0x1000;
    run.enter(0x100, low, 0);
    for call in 0..32 {
        run.enter(
            0x300 + 0x100 * (call & 1),
            low - 0x100,
            BIAS + 0x100 + call / 4,
        );
        run.enter(0x200, low - 0x200, at(0x300, 9));
        for line in 0..64 {
            run.load(at(0x200, line), BIAS + 0x1_0000);
        }
        run.exit(low - 0x200);
        run.exit(low - 0x100);
    }
    run.finish()
}

#[test]
fn instructions_without_lines_share_their_function_once_room_is_short() {
    let other = |done: &Finished| {
        let contexts = done.contexts();
        let other = |name: &&String| name.ends_with("(other contexts)");
        contexts.iter().filter(other).count()
    };
    let (with, without) = (straight_code(false), straight_code(true));
    assert!(other(&with) > 32 * 64 / 2, "{}", other(&with));
    assert!(other(&without) < 32 * 64 / 8, "{}", other(&without));
    let sites = |done: &Finished| {
        let functions = done
            .tables
            .sites
            .iter()
            .filter(|site| !site.frames.is_empty());
        functions
            .map(|site| site.frames[0].function.clone())
            .collect::<Vec<_>>()
    };
    // Those that had cells before, and one for all of `f`.
    assert!(sites(&without).len() <= 16 + 1, "{:?}", sites(&without));
    assert!(sites(&without).iter().all(|name| name.starts_with("f+")));
    assert!(sites(&with).len() > 60);
}

/// Threads that each run the same 16 lines once, one after the other, or all of them line by line.
fn many_threads(merges: bool, line_by_line: bool) -> Finished {
    let mut run = Run::new(Options {
        max_cells: 1024,
        merges,
        ..Options::default()
    });
    let threads = 1..=4000_u32;
    threads
        .clone()
        .for_each(|thread| run.thread(0, thread, (0, 0)));
    let mut load = |thread, line| {
        run.on(0, thread);
        run.load(at(0x200, line), 0x1000);
    };
    if line_by_line {
        (0..16).for_each(|line| threads.clone().for_each(|thread| load(thread, line)));
    } else {
        threads.for_each(|thread| (0..16).for_each(|line| load(thread, line)));
    }
    run.finish()
}

/// Accesses by line and by thread.
fn by_line_and_thread(done: &Finished) -> [BTreeMap<u32, usize>; 2] {
    let mut counts = [BTreeMap::new(), BTreeMap::new()];
    for cell in &done.columns.cells {
        let key = done.tables.cells[*cell as usize];
        *counts[0].entry(key.site).or_insert(0) += 1;
        *counts[1].entry(key.thread).or_insert(0) += 1;
    }
    counts
}

#[test]
fn lines_are_kept_and_threads_are_merged_where_there_are_many_threads() {
    for (merges, line_by_line) in [(false, false), (false, true), (true, false), (true, true)] {
        let done = many_threads(merges, line_by_line);
        let [lines, threads] = by_line_and_thread(&done);
        assert_eq!(lines.len(), 16, "{merges} {line_by_line}");
        assert!(
            lines.values().all(|accesses| *accesses == 4000),
            "{lines:?}"
        );
        assert_eq!(done.warnings(), ["threads-merged"]);
        // The unnamed one is the last.
        let (last, others) = threads.last_key_value().unwrap();
        let names = &done.tables.threads;
        assert_eq!(*last as usize, names.len() - 1);
        assert_eq!(names[*last as usize].name, "(other threads)");
        assert!(*others >= 16 * 2000, "{others}");
        let kept = threads.iter().filter(|(thread, _)| **thread < 16);
        assert!(kept.clone().count() >= 15 && kept.into_iter().all(|(_, it)| *it == 16));
    }
}
