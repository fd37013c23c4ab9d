//! `reuselens cc`, `c++`, `fortran`: what they build is seen to the access, in all the ways that
//! programs are built; and they are the compilers that they stand for.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{Done, Place, expected, has, source, with_count_source};

fn binary() -> &'static str {
    env!("CARGO_BIN_EXE_reuselens")
}

// ---- in place of the compiler ----

#[test]
fn queries_are_answered_by_the_compiler() {
    let place = Place::new();
    for (verb, compiler) in [("cc", "gcc"), ("c++", "g++"), ("fortran", "gfortran")] {
        if !has(compiler) {
            continue;
        }
        for query in [
            "--version",
            "-dumpmachine",
            "-dumpversion",
            "-print-search-dirs",
            "--help=common",
        ] {
            let theirs = Done::of(Command::new(compiler).arg(query));
            let ours = place.run(&[verb, query]).succeeds();
            assert_eq!(ours.out, theirs.out, "{verb} {query}");
        }
    }
}

#[test]
fn compiler_help_is_that_of_reuselens() {
    let place = Place::new();
    for verb in ["cc", "c++", "fortran"] {
        let ours = place.run(&[verb, "--help"]).succeeds();
        assert_eq!(ours.out, place.run(&["help", verb]).succeeds().out);
        ours.prints(&[
            "--llvm ",
            "--llvm=blocks",
            "--rl-compiler=NAME",
            "--rl-names",
            "--rl-rustflags",
            "gcc --help",
        ]);
    }
}

#[test]
fn compiler_failures_keep_message_and_status() {
    let place = Place::new();
    place.write("bad.c", "int main(void) { return x; }");
    let done = place.run(&["cc", "-c", "bad.c"]).ends_with(1);
    done.says(&["bad.c:1:", "error"]);
    place.run(&["cc", "none.c"]).ends_with(1).says(&["none.c"]);
    place
        .run(&["cc"])
        .fails(1)
        .says(&["reuselens cc -O2 program.c -o program"]);
    let done = place
        .run(&["cc", "--rl-compiler=no-such-compiler", "bad.c"])
        .fails(1);
    done.says(&["no-such-compiler", "--rl-compiler=NAME"]);
    place
        .run(&["fortran", "--rl-compiler=flang", "a.f"])
        .fails(1)
        .says(&["gfortran"]);
    assert_eq!(place.files(), ["bad.c"]);
}

#[test]
fn a_static_program_is_refused_with_the_reason() {
    let place = with_count_source();
    let done = place
        .run(&["cc", "-static", "count.c", "-o", "count"])
        .fails(1);
    done.says(&["static", "leave -static out"]);
    assert_eq!(place.files(), ["count.c"]);
}

#[test]
fn link_named_reuselens_cc_works_as_the_command() {
    let place = with_count_source();
    std::os::unix::fs::symlink(binary(), place.path("reuselens-cc")).unwrap();
    let mut command = Command::new(place.path("reuselens-cc"));
    command
        .args(["-O1", "-pthread", "count.c", "-o", "count"])
        .current_dir(place.path(""));
    Done::of(&mut command).succeeds();
    place.counts_of_count_are_exact("./count");
}

#[test]
fn preprocessing_and_dependency_files_are_unchanged() {
    let place = with_count_source();
    for query in [
        &["-E", "count.c"][..],
        &["-MM", "count.c"],
        &["-E", "-dM", "count.c"],
    ] {
        let theirs = Done::of(Command::new("gcc").args(query).current_dir(place.path("")));
        let ours = place.run(&[&["cc"], query].concat()).succeeds();
        assert!(ours.out == theirs.out, "{query:?}");
    }
}

// ---- ways to compile ----

#[test]
fn every_level_of_optimisation_is_seen() {
    let place = with_count_source();
    for level in ["-O0", "-Og", "-O1", "-O2", "-O3", "-Os"] {
        place
            .run(&["cc", level, "-pthread", "count.c", "-o", "count"])
            .succeeds();
        place.counts_of_count_are_exact("./count");
    }
}

#[test]
fn code_models_and_debug_levels_are_seen() {
    let place = with_count_source();
    for flags in [
        &["-fPIE", "-pie"][..],
        &["-no-pie"],
        &["-g0"],
        &["-g3"],
        &["-gdwarf-4"],
        &["-ggdb"],
        &["-save-temps"],
        &["-Wl,-z,now", "-Wl,--as-needed"],
        &["-D_FORTIFY_SOURCE=2"],
        &["-Wall", "-Wextra", "-Werror"],
    ] {
        place
            .run(&[&["cc", "-O2", "-pthread", "count.c", "-o", "count"], flags].concat())
            .succeeds();
        let options = ["--by", "object,line"];
        let (_, json) = place.profile(&options, &["./count", "40", "25"]);
        assert_eq!(json.object("cells"), 2000, "{flags:?}");
        assert_eq!(
            json.warnings().is_empty(),
            flags != ["-g0"],
            "{flags:?}: {:?}",
            json.warnings()
        );
        let has_lines = json
            .groups("line")
            .iter()
            .any(|group| group.name.starts_with("count.c:"));
        assert_eq!(has_lines, flags != ["-g0"], "{flags:?}");
    }
}

#[test]
fn link_time_optimisation_is_seen_in_one_step_and_in_two() {
    let place = with_count_source();
    place
        .run(&["cc", "-O2", "-flto", "-pthread", "count.c", "-o", "one"])
        .succeeds();
    place.counts_of_count_are_exact("./one");
    place
        .run(&["cc", "-O2", "-flto", "-c", "count.c"])
        .succeeds();
    place
        .run(&["cc", "-O2", "-flto", "-pthread", "count.o", "-o", "two"])
        .succeeds();
    place.counts_of_count_are_exact("./two");
}

#[test]
fn sources_are_found_however_they_are_named() {
    let place = with_count_source();
    let text = place.text("count.c");
    place
        .run_on(
            &text,
            &["cc", "-O1", "-x", "c", "-", "-pthread", "-o", "input"],
        )
        .succeeds();
    place.counts_of_count_are_exact("./input");
    place
        .run_on(&text, &["cc", "-O1", "-c", "-xc", "-", "-o", "object.o"])
        .succeeds();
    place
        .run(&["cc", "object.o", "-pthread", "-o", "object"])
        .succeeds();
    place.counts_of_count_are_exact("./object");
    place.write("count.txt", &text);
    place
        .run(&[
            "cc",
            "-O1",
            "-x",
            "c",
            "count.txt",
            "-x",
            "none",
            "-pthread",
            "-o",
            "txt",
        ])
        .succeeds();
    place.counts_of_count_are_exact("./txt");
    place.run(&["cc", "-S", "-O1", "count.c"]).succeeds();
    place
        .run(&["cc", "count.s", "-pthread", "-o", "assembly"])
        .succeeds();
    place.counts_of_count_are_exact("./assembly");
    place.write("words", "-O1 -pthread \"count.c\"\n-o response");
    place.run(&["cc", "@words"]).succeeds();
    place.counts_of_count_are_exact("./response");
}

#[test]
fn other_compilers_are_seen_too() {
    if !has("clang") {
        return;
    }
    let place = with_count_source();
    for flags in [&["-O0"][..], &["-O2"], &["-O3"]] {
        let words = [
            "cc",
            "--rl-compiler=clang",
            "-pthread",
            "count.c",
            "-o",
            "count",
        ];
        place.run(&[&words[..], flags].concat()).succeeds();
        place.counts_of_count_are_exact("./count");
    }
    let mut command = place.command(&["cc", "-O2", "-c", "count.c"]);
    Done::of(command.env("REUSELENS_CC", "clang")).succeeds();
    place
        .run(&[
            "cc",
            "--rl-compiler=clang",
            "-pthread",
            "count.o",
            "-o",
            "two",
        ])
        .succeeds();
    place.counts_of_count_are_exact("./two");
    // Objects of one compiler, linked by the other.
    place
        .run(&["cc", "-pthread", "count.o", "-o", "mixed"])
        .succeeds();
    place.counts_of_count_are_exact("./mixed");
    // Some clangs leave memcpy alone, some call a hook for it: each byte counts once.
    let range = source("count/range.c");
    place
        .run(&["cc", "--rl-compiler=clang", "-O1", &range, "-o", "range"])
        .succeeds();
    for (kind, word) in [("loads", "loaded"), ("stores", "stored")] {
        let options = ["--granularity", "1", "--by", "object", "--kind", kind];
        let (done, json) = place.profile(&options, &["./range"]);
        for (object, count) in expected(&done.out, word) {
            assert_eq!(json.object(&object), count, "{object} {word}");
        }
    }
}

// ---- ways to link ----

/// `main` in `a.c`, the other half in `b.c`; 100 stores to `x` and 100 to `y`.
fn halves() -> Place {
    let place = Place::new();
    place.write("a.c", "int f(int);\nvolatile int x[100];\nint main(void) { for (int i = 0; i < 100; i++) x[i] = f(i); return 0; }\n");
    place.write(
        "b.c",
        "volatile int y;\nint f(int i) { y = i; return i; }\n",
    );
    place
}

fn both_halves_are_seen(place: &Place, program: &str) {
    let (_, json) = place.profile(&["--by", "object,line"], &[program]);
    assert_eq!(
        (json.object("x"), json.object("y")),
        (100, 100),
        "{program}"
    );
    assert_eq!(json.warnings(), [""; 0], "{program}");
}

#[test]
fn objects_archives_and_partial_links_are_seen() {
    let place = halves();
    place.run(&["cc", "-O1", "-c", "a.c", "b.c"]).succeeds();
    place.run(&["cc", "a.o", "b.o", "-o", "objects"]).succeeds();
    both_halves_are_seen(&place, "./objects");
    place
        .run(&["cc", "-r", "a.o", "b.o", "-o", "both.o"])
        .succeeds();
    place.run(&["cc", "both.o", "-o", "partial"]).succeeds();
    both_halves_are_seen(&place, "./partial");
    if has("ar") {
        let mut ar = Command::new("ar");
        Done::of(
            ar.args(["rcs", "libb.a", "b.o"])
                .current_dir(place.path("")),
        )
        .succeeds();
        place
            .run(&["cc", "a.o", "libb.a", "-o", "archive"])
            .succeeds();
        both_halves_are_seen(&place, "./archive");
    }
}

#[test]
fn shared_libraries_are_seen() {
    let place = halves();
    place
        .run(&["cc", "-O1", "-shared", "-fPIC", "b.c", "-o", "libb.so"])
        .succeeds();
    place
        .run(&[
            "cc",
            "-O1",
            "a.c",
            "-L.",
            "-lb",
            "-Wl,-rpath,.",
            "-o",
            "shared",
        ])
        .succeeds();
    both_halves_are_seen(&place, "./shared");
    place.run(&["cc", "-O1", "-fPIC", "-c", "b.c"]).succeeds();
    place
        .run(&["cc", "-shared", "b.o", "-o", "libb.so"])
        .succeeds();
    both_halves_are_seen(&place, "./shared");
}

#[test]
fn object_built_by_gcc_links_and_records_nothing() {
    let place = halves();
    let mut gcc = Command::new("gcc");
    Done::of(gcc.args(["-O1", "-c", "b.c"]).current_dir(place.path(""))).succeeds();
    place
        .run(&["cc", "-O1", "a.c", "b.o", "-o", "half"])
        .succeeds();
    let (_, json) = place.profile(&["--by", "object"], &["./half"]);
    assert_eq!((json.object("x"), json.object("y")), (100, 0));
}

#[test]
fn built_program_runs_without_reuselens() {
    let place = with_count_source();
    let others = ["forking", "signals"];
    for name in others {
        let path = source(&format!("count/{name}.c"));
        place.write(&format!("{name}.c"), std::fs::read(path).unwrap());
    }
    for name in ["count", "forking", "signals"] {
        let file = format!("{name}.c");
        place
            .run(&["cc", "-O1", "-pthread", &file, "-o", name])
            .succeeds();
    }
    // More accesses than go into a page, by several threads, on both sides of a fork, and under
    // signals.
    let alone = |name: &str, words: &[&str]| {
        let mut command = Command::new(place.path(name));
        let done = Done::of(command.args(words).current_dir(place.path("")));
        assert!(done.err.is_empty(), "{name}: {done:?}");
        done
    };
    for words in [["50", "50", "3"], ["5000", "50", "9"]] {
        let done = alone("count", &words).succeeds();
        assert!(done.out.contains("right"), "{done:?}");
    }
    alone("forking", &[]).succeeds();
    alone("signals", &["100"]).succeeds();
    let files = place.files();
    let made = files.iter().filter(|name| !name.ends_with(".c"));
    assert_eq!(made.collect::<Vec<_>>(), ["count", "forking", "signals"]);
}

// ---- build systems ----

#[test]
fn make_builds_with_reuselens_cc() {
    if !has("make") {
        return;
    }
    let place = halves();
    place.write(
        "Makefile",
        "CFLAGS = -O1\nprog: a.o b.o\n\t$(CC) $(LDFLAGS) -o $@ $^\n",
    );
    let mut make = place.command(&[""; 0]);
    make = rebase(make, "make");
    make.arg(format!("CC={} cc", binary()));
    Done::of(&mut make).succeeds();
    both_halves_are_seen(&place, "./prog");
}

#[test]
fn cmake_builds_with_reuselens_cc() {
    if !has("cmake") || !has("make") || !has("g++") {
        return;
    }
    let place = halves();
    place.write("v.cc", VECTOR);
    place.write(
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.10)\nproject(p C CXX)\nfind_package(Threads REQUIRED)\n\
         add_library(b STATIC b.c)\nadd_executable(prog a.c)\n\
         target_link_libraries(prog b Threads::Threads)\nadd_executable(v v.cc)\n",
    );
    let mut configure = rebase(place.command(&[""; 0]), "cmake");
    configure
        .env("CC", format!("{} cc", binary()))
        .env("CXX", format!("{} c++", binary()));
    Done::of(configure.args(["-G", "Unix Makefiles", "-B", "build", "."])).succeeds();
    let mut build = rebase(place.command(&[""; 0]), "cmake");
    Done::of(build.args(["--build", "build"])).succeeds();
    both_halves_are_seen(&place, "build/prog");
    vector_is_seen(&place, "build/v");
}

/// The same folder and environment for another program.
fn rebase(ours: Command, program: &str) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(ours.get_current_dir().unwrap())
        .stdin(Stdio::null());
    for (name, value) in ours.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    // What cargo itself runs under is not for other builds.
    for name in ["MAKEFLAGS", "MFLAGS", "CARGO_MAKEFLAGS"] {
        command.env_remove(name);
    }
    command
}

// ---- languages ----

const VECTOR: &str = "#include <vector>\n#include <stdexcept>\n#include <cstdio>\n\
int main() {\n    std::vector<int> v;\n    for (int i = 0; i < 1000; i++) v.push_back(i);\n    long sum = 0;\n    \
for (int x : v) sum += x;\n    try { v.at(5000) = 1; } catch (const std::out_of_range &) { sum++; }\n    \
std::printf(\"%ld\\n\", sum);\n    return sum != 499501;\n}\n";

fn vector_is_seen(place: &Place, program: &str) {
    let options = ["--by", "object", "--data", "heap", "--kind", "stores"];
    let (done, json) = place.profile(&options, &[program]);
    assert_eq!(done.out, "499501\n");
    let blocks = json.groups("object");
    // Each number is written once, and again whenever the vector grows.
    assert!(json.number("accesses") >= 1000, "{blocks:?}");
    assert!(
        blocks[0].name.contains("heap from main (v.cc:6)"),
        "{blocks:?}"
    );
}

#[test]
fn cxx_containers_and_exceptions_are_seen() {
    if !has("g++") {
        return;
    }
    let place = Place::new();
    place.write("v.cc", VECTOR);
    for level in ["-O0", "-O2"] {
        place.run(&["c++", level, "v.cc", "-o", "v"]).succeeds();
        vector_is_seen(&place, "./v");
    }
}

#[test]
fn openmp_gives_the_same_result_and_all_threads() {
    let place = Place::new();
    let stencil = place.build("stencil/stencil.c", &["-O2", "-fopenmp"]);
    let run = |threads: &str| {
        let words = [
            "profile",
            "-q",
            "-f",
            "--json",
            "x.json",
            "--by",
            "thread,object",
            "--",
            &stencil,
            "plain",
            "3000",
            "8",
        ];
        let mut command = place.command(&words);
        let done = Done::of(command.env("OMP_NUM_THREADS", threads)).succeeds();
        (done.out, place.json("x.json"))
    };
    let (sum, one) = run("1");
    let (other_sum, three) = run("3");
    assert_eq!(sum, other_sum);
    assert_eq!(
        (one.groups("thread").len(), three.groups("thread").len()),
        (1, 3)
    );
    // Steps there and back: three loads and a store of each inner cell.
    for array in ["rod", "next"] {
        assert_eq!(one.object(array), three.object(array), "{array}");
        assert!(
            one.object(array) >= 2998 * 16,
            "{array}: {}",
            one.object(array)
        );
    }
}

#[test]
fn fortran_is_seen_by_hooks_and_by_names() {
    if !has("gfortran") {
        return;
    }
    let place = Place::new();
    place.write(
        "sum.f90",
        "program sums\n  implicit none\n  integer :: i\n  real(8), allocatable :: a(:)\n  allocate(a(500))\n\
         do i = 1, 500\n    a(i) = i\n  end do\n  print *, sum(a)\nend program\n",
    );
    place
        .run(&["fortran", "-O1", "sum.f90", "-o", "sum"])
        .succeeds();
    for (kind, line) in [("stores", "sum.f90:7"), ("loads", "sum.f90:9")] {
        let (_, json) = place.profile(
            &["--by", "line", "--kind", kind, "--data", "heap"],
            &["./sum"],
        );
        assert_eq!(
            json.accesses("line", line),
            500,
            "{:?}",
            json.groups("line")
        );
    }
    let adi = place.build("adi/adi.f", &["--rl-names", "-std=legacy"]);
    let options = [
        "--granularity",
        "8",
        "--names",
        "statement",
        "--by",
        "object",
    ];
    let (_, json) = place.profile(&options, &[&adi, "50"]);
    assert_eq!(
        (json.number("accesses"), json.number("distinct")),
        (64_100, 7_500)
    );
    let names: Vec<String> = json
        .groups("object")
        .into_iter()
        .map(|group| group.name)
        .collect();
    assert_eq!(names.len(), 3);
    assert!(
        ["A", "B", "X"]
            .iter()
            .all(|name| names.iter().any(|known| known == name)),
        "{names:?}"
    );
}

#[test]
fn named_data_keep_their_names_in_c() {
    let place = Place::new();
    place.write(
        "named.c",
        "#include <stdlib.h>\n#include <reuselens.h>\nint main(void) {\n    double *grid = malloc(800);\n    \
         RecordNamedData(\"grid\", grid, 800, 8);\n    for (int i = 0; i < 100; i++) RecordAccess(grid, &grid[i]);\n    \
         free(grid);\n    return 0;\n}\n",
    );
    place
        .run(&["cc", "-O1", "--rl-names", "named.c", "-o", "named"])
        .succeeds();
    let (_, json) = place.profile(&["--granularity", "8", "--by", "object"], &["./named"]);
    assert_eq!(json.number("accesses"), 100);
    assert_eq!(json.accesses("object", "grid"), 100);
    let mut plain = Command::new("gcc");
    let include = include_folder(&place);
    plain.args(["-DREUSELENS_OFF", "-I", &include, "named.c", "-o", "plain"]);
    Done::of(plain.current_dir(place.path(""))).succeeds();
}

/// `RecordData` of the paper has no name: a variable and an allocation have one of their own.
#[test]
fn data_without_a_name_are_rows_by_variable_and_allocation() {
    let place = Place::new();
    place.write(
        "two.c",
        "#include <reuselens.h>\n#include <stdlib.h>\nstatic double A[100];\nstatic double B[50];\nint main(void) {\n    \
         double *C = malloc(30 * sizeof *C);\n    RecordData(A, sizeof A, 8);\n    RecordData(B, sizeof B, 8);\n    \
         RecordData(C, 240, 8);\n    for (int r = 0; r < 2; r++) {\n        \
         for (int i = 0; i < 100; i++) { A[i] = i; RecordAccess(A, &A[i]); }\n        \
         for (int i = 0; i < 50; i++) { B[i] = i; RecordAccess(B, &B[i]); }\n        \
         for (int i = 0; i < 30; i++) { C[i] = i; RecordAccess(C, &C[i]); }\n    }\n    return 0;\n}\n",
    );
    let by = ["--granularity", "8", "--by", "object,element"];
    for (way, own) in [(&["--rl-names"][..], true), (&[][..], false)] {
        let words = [&["cc", "-g", "-O1", "two.c", "-o", "two"], way].concat();
        place.run(&words).succeeds();
        let (_, json) = place.profile(&by, &["./two"]);
        let heap = "heap from main (two.c:6)";
        for (name, accesses) in [("A (two.c)", 200), ("B (two.c)", 100), (heap, 60)] {
            assert_eq!(json.accesses("object", name), accesses, "{name}");
            let last = name.replacen(" (", &format!("[{}] (", accesses / 2 - 1), 1);
            assert_eq!(json.accesses("element", &last), 2, "{last}");
        }
        assert!(!own || json.groups("object").len() == 3);
    }
}

/// The folder of `reuselens.h`, as the compiler is told.
fn include_folder(place: &Place) -> String {
    let done = place
        .run(&["cc", "-v", "-c", "named.c", "-o", "named.o"])
        .succeeds();
    let words: Vec<&str> = done.err.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "-isystem").unwrap();
    words[at + 1].to_owned()
}

// ---- Rust ----

#[test]
fn rust_programs_are_seen_with_the_flags_that_are_printed() {
    if !has("rustc") {
        return;
    }
    let place = Place::new();
    let flags = place.run(&["cc", "--rl-rustflags"]).succeeds().out;
    let mut rustc = Command::new("rustc");
    rustc
        .args([
            "--edition",
            "2024",
            "-O",
            // As Cargo does for release builds.
            "-Cstrip=debuginfo",
            &source("count/cells.rs"),
            "-o",
            "cells",
        ])
        .args(flags.split_whitespace());
    Done::of(rustc.current_dir(place.path(""))).succeeds();
    for kind in ["loads", "stores"] {
        let options = ["--by", "object,line", "--kind", kind];
        let (done, json) = place.profile(&options, &["./cells"]);
        let cells = json.groups("object").into_iter();
        let seen: u64 = cells
            .filter(|group| group.name.contains("alloc_zeroed"))
            .map(|group| group.accesses)
            .sum();
        let wanted = expected(&done.out, kind);
        assert_eq!(wanted, [("zeroed".to_owned(), seen)], "{kind}");
        let mut lines = json.groups("line").into_iter();
        assert!(lines.any(|group| group.name.starts_with("cells.rs:")));
    }
    // Alone it runs as it is.
    let mut alone = Command::new(place.path("cells"));
    Done::of(&mut alone).succeeds();
}

// ---- the run time's files ----

#[test]
fn compilers_that_start_together_install_the_run_time_once() {
    let place = with_count_source();
    let cache = place.path("cache");
    let compilers: Vec<_> = (0..8)
        .map(|number| {
            let name = format!("count{number}");
            let mut command = place.command(&["cc", "-O1", "-pthread", "count.c", "-o", &name]);
            command
                .env("XDG_CACHE_HOME", &cache)
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for compiler in compilers {
        Done::from(compiler.wait_with_output().unwrap()).succeeds();
    }
    for number in 0..8 {
        place.counts_of_count_are_exact(&format!("./count{number}"));
    }
    let versions: Vec<_> = std::fs::read_dir(cache.join("reuselens"))
        .unwrap()
        .collect();
    assert_eq!(versions.len(), 1, "leftovers: {versions:?}");
}

#[test]
fn missing_cache_folder_falls_back_to_the_temporary_one() {
    let place = with_count_source();
    place.write("file", "");
    let mut command = place.command(&["cc", "-O1", "-pthread", "count.c", "-o", "count"]);
    command
        .env("XDG_CACHE_HOME", place.path("file/below"))
        .env("TMPDIR", place.path(""));
    Done::of(&mut command).succeeds();
    let is_own = |name: &String| {
        let mode = std::fs::metadata(place.path(name)).unwrap().mode();
        name.starts_with("reuselens-") && mode & 0o777 == 0o700
    };
    assert!(place.files().iter().any(is_own), "{:?}", place.files());
    place.counts_of_count_are_exact("./count");
    let mut command = place.command(&["cc", "-O1", "-pthread", "count.c", "-o", "count"]);
    command
        .env("XDG_CACHE_HOME", place.path("file/below"))
        .env("TMPDIR", place.path("file"));
    Done::of(&mut command).fails(1).says(&["XDG_CACHE_HOME"]);
    assert!(Path::new(&place.path("count")).exists());
}
