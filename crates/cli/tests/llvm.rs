//! Programs built with `--llvm` are seen as exactly as those with hooks, in all the ways that
//! programs are built and end.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use reuselens::trace::{BasicBlock, Block, BlockEnd, Kind, Row, Source, Step};

use crate::common::{Done, Place, expected, has, source, with_count_source};

/// Whether LLVM 19 is there: compilers and the headers that the pass is made with.
fn has_llvm() -> bool {
    has("clang-19") && has("clang++-19") && has("llvm-config-19")
}

/// Builds one source of `programs/` into this folder, under the source's name.
fn build(place: &Place, path: &str, flags: &[&str]) -> String {
    let verb = if path.ends_with(".cc") { "c++" } else { "cc" };
    let name = Path::new(path).file_stem().unwrap().to_str().unwrap();
    let source = source(path);
    let mut words = vec![verb, "--llvm", "-O1", &source, "-o", name];
    words.extend(flags);
    place.run(&words).succeeds();
    format!("./{name}")
}

#[test]
fn missing_llvm_fails_with_the_package_to_install() {
    let place = with_count_source();
    let mut command = place.command(&["cc", "--llvm", "-c", "count.c"]);
    command
        .env("PATH", place.path(""))
        .env("XDG_CACHE_HOME", place.path("cache"));
    let done = Done::of(&mut command).fails(1);
    done.says(&["LLVM", "apt install clang-19 llvm-19-dev"]);
    let done = place.run(&["cc", "--llvm", "--rl-compiler=gcc", "-c", "count.c"]);
    done.fails(1).says(&["gcc is not a compiler of LLVM 19"]);
}

/// The pass is compiled once, which takes a while: that is said before, and not again. This LLVM is
/// none.
#[test]
fn first_use_reports_that_the_pass_is_built() {
    let place = with_count_source();
    for folder in ["bin", "include/llvm/Passes"] {
        std::fs::create_dir_all(place.path(folder)).unwrap();
    }
    place.write("include/llvm/Passes/PassPlugin.h", "");
    let config = format!("echo 19.1.7; echo {}", place.path("include").display());
    let compiler = "while [ $# -gt 1 ]; do [ \"$1\" = -o ] && : > \"$2\"; shift; done";
    for (name, script) in [
        ("llvm-config-19", config.as_str()),
        ("clang++-19", compiler),
        ("clang-19", compiler),
    ] {
        let file = format!("bin/{name}");
        place.write(&file, format!("#!/bin/sh\n{script}\n"));
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(place.path(&file), mode).unwrap();
    }
    let run = || {
        let mut command = place.command(&["cc", "--llvm", "-c", "count.c"]);
        command
            .env("PATH", place.path("bin"))
            .env("XDG_CACHE_HOME", place.path("cache"));
        Done::of(&mut command).succeeds()
    };
    run().says(&["compiling its pass, once", "ten seconds to a minute"]);
    let again = run();
    assert!(!again.err.contains("pass"), "{}", again.err);
}

#[test]
fn threads_are_counted_exactly_at_every_level_of_optimisation() {
    if !has_llvm() {
        return;
    }
    let place = with_count_source();
    for flags in [
        &["-O0"][..],
        &["-O1"],
        &["-O2"],
        &["-O3", "-march=x86-64-v3"],
        &["-Os"],
        &["-O2", "-fPIE", "-pie"],
        &["-O2", "-no-pie", "-fno-pie"],
        &["-O2", "-g0"],
        &["-O2", "-flto"],
        &["-O2", "-flto=thin"],
        &["-O2", "-fcf-protection", "-fstack-protector-all"],
        &["-O2", "-ffunction-sections", "-Wl,--gc-sections"],
    ] {
        if flags.iter().any(|flag| flag.starts_with("-flto")) && !has("ld.lld-19") {
            continue;
        }
        let lld: &[&str] = if flags.iter().any(|flag| flag.starts_with("-flto")) {
            &["-fuse-ld=lld"]
        } else {
            &[]
        };
        let words = ["cc", "--llvm", "-pthread", "count.c", "-o", "count"];
        place.run(&[&words[..], flags, lld].concat()).succeeds();
        place.counts_of_count_are_exact("./count");
        place.counts_are_exact(&[], &["./count", "30", "40"]);
    }
}

#[test]
fn lines_functions_and_contexts_are_those_of_the_source() {
    if !has_llvm() {
        return;
    }
    let place = Place::new();
    place.write(
        "inlined.c",
        "volatile int a, b;\nstatic inline void small(void) {\n    a = 1;\n}\n\
         __attribute__((noinline)) void outer(void) {\n    small();\n    b = 2;\n}\n\
         int main(void) {\n    for (int i = 0; i < 10; i++)\n        outer();\n    return 0;\n}\n",
    );
    place
        .run(&["cc", "--llvm", "-O2", "inlined.c", "-o", "inlined"])
        .succeeds();
    let by = ["--by", "line,function,context,object"];
    let (_, json) = place.profile(&by, &["./inlined"]);
    assert_eq!(json.warnings(), [""; 0]);
    assert_eq!(json.accesses("line", "inlined.c:3"), 10);
    assert_eq!(json.accesses("line", "inlined.c:7"), 10);
    assert_eq!(json.accesses("function", "small"), 10);
    assert_eq!(json.accesses("function", "outer"), 10);
    assert_eq!(json.accesses("context", "main > outer"), 10);
    assert_eq!(json.accesses("context", "main > outer > small"), 10);
    assert_eq!((json.object("a"), json.object("b")), (10, 10));
}

#[test]
fn short_and_long_lived_threads_are_all_counted() {
    if !has_llvm() {
        return;
    }
    let place = Place::new();
    let program = build(&place, "count/threads.c", &["-pthread"]);
    place.counts_are_exact(&[], &[&program]);
    let (_, json) = place.profile(&["--by", "thread,context"], &[&program]);
    assert_eq!(json.groups("thread").len(), 14);
    assert_eq!(json.accesses("context", "work"), 12 * 200_000);
    // The one that stays has its work inlined, and says when it is done.
    assert_eq!(json.accesses("context", "work_and_stay"), 1);
    assert_eq!(json.accesses("context", "work_and_stay > work"), 200_000);
}

#[test]
fn forked_processes_are_counted_exactly() {
    if !has_llvm() {
        return;
    }
    let place = Place::new();
    let program = build(&place, "count/forking.c", &[]);
    place.counts_are_exact(&[], &[&program]);
    let (_, json) = place.profile(&["--by", "context"], &[&program]);
    assert_eq!(json.accesses("context", "main > work"), 1_200_000);
}

#[test]
fn early_exits_and_crashes_lose_no_accesses() {
    if !has_llvm() {
        return;
    }
    let place = Place::new();
    let program = build(&place, "count/exit_middle.c", &[]);
    for how in ["exit", "_exit", "quick_exit", "return"] {
        place.counts_are_exact(&[], &[&program, how]);
    }
    let program = build(&place, "count/crash.c", &[]);
    for how in ["null", "abort", "kill"] {
        place.counts_are_exact(&[], &[&program, how]);
    }
}

#[test]
fn exceptions_leave_functions_without_confusing_contexts() {
    if !has_llvm() {
        return;
    }
    let place = Place::new();
    let program = build(&place, "count/exceptions.cc", &[]);
    place.counts_are_exact(&[], &[&program]);
    let (_, json) = place.profile(&["--by", "context"], &[&program]);
    let names: Vec<String> = json.groups("context").into_iter().map(|g| g.name).collect();
    let after = names.iter().find(|name| name.contains("after")).unwrap();
    assert_eq!(after.split(" > ").count(), 2, "called from main: {after}");
    assert_eq!(json.accesses("context", after), 2000);
    // A function that calls itself is one context, in each of a thousand rounds, with what is
    // inlined there below it.
    let descends = |name: &&String| name.contains("descend");
    let once = |name: &String| name.matches("descend").count() == 1;
    assert!(names.iter().filter(descends).all(once), "{names:?}");
    let down = names.iter().filter(descends);
    let down: u64 = down.map(|name| json.accesses("context", name)).sum();
    assert_eq!(down, 1000 * 11 * 4);
}

#[test]
fn long_jumps_restore_the_calling_context() {
    if !has_llvm() {
        return;
    }
    let place = Place::new();
    place.write(
        "jump.c",
        "#include <setjmp.h>\nstatic jmp_buf back;\nvolatile int cells[8];\n\
         __attribute__((noinline)) static void down(int n) {\n    cells[n]++;\n    if (n == 0) longjmp(back, 1);\n    \
         down(n - 1);\n    cells[n]++;\n}\n__attribute__((noinline)) static void after(void) { cells[7]++; }\n\
         int main(void) {\n    for (volatile int i = 0; i < 100; i++) {\n        if (!setjmp(back)) down(5);\n        \
         after();\n    }\n    return 0;\n}\n",
    );
    place
        .run(&["cc", "--llvm", "-O1", "jump.c", "-o", "jump"])
        .succeeds();
    let (_, json) = place.profile(&["--by", "object,context"], &["./jump"]);
    assert_eq!(json.object("cells"), 100 * 2 * 7);
    assert_eq!(json.accesses("context", "main > after"), 200);
}

#[test]
fn ranges_count_each_byte_once() {
    if !has_llvm() {
        return;
    }
    let place = Place::new();
    for level in ["-O0", "-O2"] {
        let program = build(&place, "count/range.c", &[level]);
        for (kind, word) in [("loads", "loaded"), ("stores", "stored")] {
            let options = ["--granularity", "1", "--by", "object", "--kind", kind];
            let (done, json) = place.profile(&options, &[&program]);
            for (object, count) in expected(&done.out, word) {
                assert_eq!(json.object(&object), count, "{object} {word} {level}");
            }
        }
    }
}

#[test]
fn atomic_operations_are_recorded_and_still_atomic() {
    if !has_llvm() {
        return;
    }
    let place = Place::new();
    let program = build(&place, "count/atomics.c", &["-mcx16", "-pthread"]);
    let (done, json) = place.profile(&["--by", "object"], &[&program]);
    assert!(done.out.contains("atomics right"), "{}", done.out);
    for (object, count) in expected(&done.out, "operations") {
        assert_eq!(json.object(&object), count, "{object}");
    }
}

#[test]
fn signal_handlers_are_recorded_beside_what_they_interrupt() {
    if !has_llvm() {
        return;
    }
    let place = Place::new();
    let program = build(&place, "count/signals.c", &[]);
    place.counts_are_exact(&[], &[&program, "100"]);
}

#[test]
fn libraries_linked_and_opened_are_found_under_their_own_names() {
    if !has_llvm() {
        return;
    }
    let place = Place::new();
    place.build_library(&["--llvm"]);
    let program = build(&place, "count/dl_main.c", &["-ldl"]);
    let command = [program.as_str(), "./libcells.so"];
    place.counts_are_exact(&[], &command);
    let (_, json) = place.profile(&["--by", "function"], &command);
    assert_eq!(json.accesses("function", "library_work"), 300_000);
}

#[test]
fn hooks_and_block_records_mix_in_one_program() {
    if !has_llvm() {
        return;
    }
    let place = Place::new();
    place.write(
        "a.c",
        "#include <string.h>\nint f(int i);\nvolatile int x[100];\n__attribute__((aligned(64))) char from[4096], to[4096];\nvolatile size_t n = 4096;\n\
         int main(void) { for (int i = 0; i < 100; i++) { x[i] = f(i); memcpy(to, from, n); } return 0; }\n",
    );
    place.write(
        "b.c",
        "volatile int y;\nint f(int i) { y = i; return i; }\n",
    );
    for (one, other) in [("a.c", "b.c"), ("b.c", "a.c")] {
        place.run(&["cc", "--llvm", "-O1", "-c", one]).succeeds();
        place.run(&["cc", "-O1", "-c", other]).succeeds();
        for link in [&["cc", "--llvm"][..], &["cc"]] {
            place
                .run(&[link, &["a.o", "b.o", "-o", "both"]].concat())
                .succeeds();
            let by = [
                "--by",
                "object,context",
                "--kind",
                "stores",
                "--granularity",
                "64",
            ];
            let (_, json) = place.profile(&by, &["./both"]);
            let counts = ["x", "y", "to"].map(|name| json.object(name));
            assert_eq!(
                counts,
                [100, 100, 6400],
                "{one} with notes, linked by {link:?}"
            );
            assert_eq!(json.accesses("context", "main > f"), 100);
        }
    }
}

#[test]
fn loops_recorded_in_bulk_keep_their_order() {
    if !has_llvm() {
        return;
    }
    let place = Place::new();
    place.write(
        "loops.c",
        "#include <stdlib.h>\nstatic volatile unsigned char cells[1 << 16];\n\
         #define GO __attribute__((noinline)) void\n\
         GO up(long n, long by) { for (long i = 0; i < n; i++) cells[i * by + 1]; }\n\
         GO down(long n) { for (long i = n - 1; i >= 0; i--) { cells[2 * i]; cells[i + 9] = 1; } }\n\
         GO narrow(unsigned n, unsigned char from) { for (unsigned i = 0; i < n; i++) cells[from++]; }\n\
         GO still(int n) { for (int i = 0; i < n; i++) cells[5] = i; }\n\
         GO fixed(void) { for (int i = 0; i < 41; i++) cells[3 * i]; }\n\
         GO nested(int n, int m) { for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) cells[j * n + i]; }\n\
         GO until(long n) { long i = 0; do cells[i]; while (++i != n); }\n\
         GO spin(int n) { unsigned x = n; for (int i = 0; i < n; i++) x = x * 33 + i; cells[5] = x; }\n\
         int main(int argc, char **argv) {\n    cells[0] = 1;\n    for (int n = 0; n < 80; n++) {\n        \
         up(n, n % 7 - 3 < 0 ? 2 : n % 7); down(n); narrow(n, 200); still(n); nested(n % 9, n); until(n + 1); spin(n);\n    \
         }\n    up(5000, 11); down(5000); fixed(); narrow(700, 3);\n    return 0;\n}\n",
    );
    let expected = looped();
    for flags in [
        &["--llvm", "-O0"][..],
        &["--llvm", "-O1"],
        &["--llvm", "-O2"],
        &["--llvm", "-O3", "-funroll-loops"],
        &["--llvm=blocks", "-O2"],
    ] {
        let words = ["cc", "-Wno-unused-value", "loops.c", "-o", "loops"];
        place.run(&[&words[..], flags].concat()).succeeds();
        let record = ["record", "-q", "-f", "-o", "loops.rltrace", "--", "./loops"];
        place.run(&record).succeeds();
        let rows = rows_of(&place, "loops.rltrace");
        // What is not of one byte is not of the cells.
        let mut cells = rows.iter().filter(|row| row.size == 1);
        let base = cells
            .find(|row| row.kind == Kind::Store)
            .expect("the first store")
            .addr;
        let of_cells = cells.filter(|row| row.addr.wrapping_sub(base) < 1 << 16);
        let found: Vec<_> = of_cells.map(|row| (row.kind, row.addr - base)).collect();
        assert_eq!(found.len(), expected.len(), "{flags:?}");
        assert!(found == expected, "{flags:?}");
    }
}

/// What `loops.c` does after its first store.
fn looped() -> Vec<(Kind, u64)> {
    let mut all = Vec::new();
    let load = |at: u64| (Kind::Load, at);
    let up = |n: u64, by: u64| (0..n).map(move |i| load(i * by + 1));
    let down = |n: u64| {
        (0..n)
            .rev()
            .flat_map(move |i| [load(2 * i), (Kind::Store, i + 9)])
    };
    let narrow = |n: u64, from: u64| (0..n).map(move |i| load((from + i) % 256));
    for n in 0..80 {
        all.extend(up(n, if n % 7 < 3 { 2 } else { n % 7 }));
        all.extend(down(n));
        all.extend(narrow(n, 200));
        all.extend((0..n).map(|_| (Kind::Store, 5)));
        let rows = n % 9;
        all.extend((0..rows).flat_map(|i| (0..n).map(move |j| load(j * rows + i))));
        all.extend((0..=n).map(load));
        all.push((Kind::Store, 5));
    }
    all.extend(up(5000, 11));
    all.extend(down(5000));
    all.extend((0..41).map(|i| load(3 * i)));
    all.extend(narrow(700, 3));
    all
}

#[test]
fn masked_vectors_access_selected_lanes_only() {
    if !has_llvm() || !is_avx512() {
        return;
    }
    let place = Place::new();
    place.write(
        "masks.c",
        "double a[64], b[64]; int which[64];\n__attribute__((noinline)) void go(int n) {\n    \
         for (int i = 0; i < n; i++) if (which[i]) a[i] = b[which[i]];\n}\n\
         int main(void) { for (int i = 0; i < 64; i++) which[i] = i % 3 == 0 ? 63 - i : 0; go(61); return 0; }\n",
    );
    let flags = ["-O3", "-march=x86-64-v4", "-mprefer-vector-width=512"];
    let words = ["cc", "--llvm", "masks.c", "-o", "masks"];
    place.run(&[&words[..], &flags].concat()).succeeds();
    let by = ["--by", "object", "--granularity", "8", "--kind", "loads"];
    let (_, json) = place.profile(&by, &["./masks"]);
    // Entries 0, 3 … 60 but the last, which is 63 − 63: 21 of 61 have a value that is not 0.
    assert_eq!(json.object("b"), 21);
    let (_, json) = place.profile(&["--by", "object", "--granularity", "8"], &["./masks"]);
    assert!(
        json.object("a") >= 21 && json.object("a") <= 64,
        "{}",
        json.object("a")
    );
}

fn is_avx512() -> bool {
    let found =
        std::fs::read_to_string("/proc/cpuinfo").is_ok_and(|text| text.contains("avx512vl"));
    if !found {
        reuselens_testing::skip("no AVX-512");
    }
    found
}

#[test]
fn llvm_pass_records_basic_blocks_for_paths() {
    if !has_llvm() {
        return;
    }
    let place = Place::new();
    let branches = source("rewrite/branches.c");
    let words = ["cc", "--llvm=blocks", "-O1", &branches, "-o", "branches"];
    place.run(&words).succeeds();
    let record = ["record", "-f", "-o", "path.rltrace"];
    place
        .run(&[&record[..], &["--basic-blocks", "--", "./branches"]].concat())
        .succeeds();
    let rows = rows_of(&place, "path.rltrace");
    let blocks: Vec<BasicBlock> = rows.iter().filter_map(BasicBlock::of).collect();
    let mut outcomes: BTreeMap<u64, ([u64; 2], BasicBlock)> = BTreeMap::new();
    for pair in blocks.windows(2) {
        if pair[0].end == BlockEnd::Conditional {
            let taken = usize::from(pair[1].start == pair[0].taken);
            outcomes.entry(pair[0].start).or_insert(([0; 2], pair[0])).0[taken] += 1;
        }
        let strays = pair[0].end == BlockEnd::Jump && pair[1].start != pair[0].taken;
        assert!(!strays, "{pair:x?}");
    }
    let often = |low: u64, high: u64| {
        let mut counts = outcomes.values();
        let found = counts.find(|(counts, _)| *counts == [low, high] || *counts == [high, low]);
        found
            .unwrap_or_else(|| panic!("no {low} and {high}: {outcomes:x?}"))
            .1
    };
    let end = often(1, 999);
    assert!(
        end.taken_loops != end.falls_loops,
        "one way goes round: {end:x?}"
    );
    let fourth = often(250, 750);
    assert!(!fourth.taken_loops && !fourth.falls_loops, "{fourth:x?}");
    // Where they were not asked for they are left out, and nothing else is.
    place
        .run(&[&record[..], &["--", "./branches"]].concat())
        .succeeds();
    let without = rows_of(&place, "path.rltrace");
    assert!(without.iter().all(|row| row.kind != Kind::BasicBlock));
    let others = rows.iter().filter(|row| row.kind != Kind::BasicBlock);
    assert_eq!(
        others.map(|row| row.pc).collect::<Vec<_>>(),
        without.iter().map(|row| row.pc).collect::<Vec<_>>()
    );
    // Without blocks in the program it is said where they are to be had.
    place
        .run(&["cc", "--llvm", "-O1", &branches, "-o", "plain"])
        .succeeds();
    let words = [
        "--capture",
        "compiled-in",
        "--basic-blocks",
        "--",
        "./plain",
    ];
    let done = place.run(&[&record[..], &words].concat()).fails(2);
    done.says(&["--llvm=blocks"]);
}

fn rows_of(place: &Place, trace: &str) -> Vec<Row> {
    let mut source = reuselens::formats::open(&place.path(trace), None).unwrap();
    let (mut rows, mut block) = (Vec::new(), Block::new());
    loop {
        match source.next(&mut block).unwrap() {
            Step::Block => rows.extend(block.rows()),
            Step::Event(_) => {}
            Step::End => return rows,
        }
    }
}

#[test]
fn program_built_by_the_pass_runs_without_reuselens() {
    if !has_llvm() {
        return;
    }
    let place = with_count_source();
    place
        .run(&["cc", "--llvm", "-O1", "-pthread", "count.c", "-o", "count"])
        .succeeds();
    let mut alone = Command::new(place.path("count"));
    let done = Done::of(alone.args(["5000", "50", "9"]).current_dir(place.path(""))).succeeds();
    assert!(
        done.out.contains("right") && done.err.is_empty(),
        "{done:?}"
    );
    assert_eq!(place.files(), ["count", "count.c"]);
}

#[test]
fn unreadable_block_records_get_a_warning() {
    if !has_llvm() || !has("llvm-objcopy-19") {
        return;
    }
    let place = with_count_source();
    place
        .run(&["cc", "--llvm", "-O1", "-pthread", "count.c", "-o", "count"])
        .succeeds();
    let mut strip = Command::new("llvm-objcopy-19");
    let words = ["--strip-sections", "count", "bare"];
    Done::of(strip.args(words).current_dir(place.path(""))).succeeds();
    let (_, json) = place.profile(&[], &["./bare"]);
    assert_eq!(json.number("accesses"), 0);
    assert!(
        json.warnings().iter().any(|code| code == "notes-not-read"),
        "{:?}",
        json.warnings()
    );
    // Without names they are still there.
    let mut strip = Command::new("llvm-objcopy-19");
    let words = ["--strip-all", "count", "stripped"];
    Done::of(strip.args(words).current_dir(place.path(""))).succeeds();
    let (_, json) = place.profile(&[], &["./stripped", "40", "25"]);
    assert!(json.number("accesses") >= 2000);
}

#[test]
fn fortran_is_seen_with_its_lines_and_common_blocks() {
    if !has_llvm() || !has("flang-new-19") {
        return;
    }
    let place = Place::new();
    place.write(
        "sum.f",
        "      PROGRAM SUMS\n      REAL*8 A(100)\n      COMMON /GRID/ A\n      INTEGER I\n      DO I=1,100\n        \
         A(I)=I\n      ENDDO\n      CALL ADD\n      END\n      SUBROUTINE ADD\n      REAL*8 A(100),S\n      \
         COMMON /GRID/ A\n      INTEGER I\n      S=0\n      DO I=1,100\n        S=S+A(I)\n      ENDDO\n      \
         A(1)=S\n      END\n",
    );
    place
        .run(&["fortran", "--llvm", "-O1", "sum.f", "-o", "sum"])
        .succeeds();
    let by = ["--by", "line,function,object", "--granularity", "8"];
    let (_, json) = place.profile(&by, &["./sum"]);
    assert_eq!(json.object("grid_"), 201);
    assert_eq!(json.accesses("line", "sum.f:16"), 100);
    assert_eq!(json.accesses("line", "sum.f:6"), 100);
    assert_eq!(json.accesses("function", "add"), 101);
}
