//! Programs with OpenMP end as they do alone, whichever compiler and run time of OpenMP they have.

use std::process::Command;

use crate::common::{Done, Place, has, source};

/// Whether clang 19 can compile and link programs with OpenMP.
fn has_clang_openmp() -> bool {
    has("clang-19") && has("clang++-19") && has("/usr/lib/llvm-19/lib/libomp.so")
}

/// Builds nested parallel regions as C or C++ with these words, and runs them with 1, 2 and 8
/// threads beside a build without us.
fn runs_as_natively(verb: &str, words: &[&str]) {
    let place = Place::new();
    let name = if verb == "cc" { "team.c" } else { "team.cc" };
    place.write(name, std::fs::read(source("count/team.c")).unwrap());
    let build = ["-O1", "-g", "-fopenmp", name, "-o", "team"];
    place.run(&[&[verb][..], words, &build].concat()).succeeds();
    for threads in ["1", "2", "8"] {
        let alone = Command::new(place.path("team")).arg(threads).output();
        let alone = String::from_utf8(alone.unwrap().stdout).unwrap();
        assert_eq!(alone, "2605056\n");
        let mut command = Command::new("timeout");
        command
            .args(["60", env!("CARGO_BIN_EXE_reuselens"), "profile", "-q", "-f"])
            .args(["--json", "x.json", "--by", "thread,object", "--", "./team"])
            .arg(threads)
            .current_dir(place.path(""));
        let done = Done::of(&mut command).succeeds();
        assert_eq!(done.out, alone, "{verb} {words:?}, {threads} threads");
        let json = place.json("x.json");
        // One store and one load of each cell.
        assert_eq!(json.object("cells"), 2 * 64 * 256, "{verb} {words:?}");
        let outer: usize = threads.parse().unwrap();
        // Each outer thread works in its inner region; whether helpers get work there is chance.
        assert!(json.groups("thread").len() >= outer, "{threads}");
    }
}

#[test]
fn nested_regions_of_gcc_are_seen_by_hooks() {
    runs_as_natively("cc", &[]);
}

#[test]
fn nested_regions_of_clang_are_seen_by_hooks() {
    if has_clang_openmp() {
        runs_as_natively("cc", &["--rl-compiler=clang-19"]);
        runs_as_natively("c++", &["--rl-compiler=clang++-19"]);
    }
}

#[test]
fn nested_regions_of_clang_are_seen_by_the_pass() {
    if has_clang_openmp() && has("llvm-config-19") {
        runs_as_natively("cc", &["--llvm"]);
        runs_as_natively("c++", &["--llvm"]);
    }
}
