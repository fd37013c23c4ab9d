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

/// Profiles a program whose first thread works while the others wait for it at barriers. Returns
/// the accesses of waits, those that count, and those of them that the library of threads makes.
fn waits(compiler: &str, words: &[&str]) -> [u64; 3] {
    let place = Place::new();
    let mut build = Command::new(compiler);
    build.args(["-O1", "-g", "-fopenmp"]).args(words);
    build.arg(source("count/alone.c")).args(["-o", "alone"]);
    Done::of(build.current_dir(place.path(""))).succeeds();
    let mut command = Command::new("timeout");
    command
        .args(["120", env!("CARGO_BIN_EXE_reuselens"), "profile", "-q"])
        .args(["--json", "x.json", "--by", "line,object", "--", "./alone"])
        .env("OMP_WAIT_POLICY", "active")
        .env("KMP_BLOCKTIME", "infinite")
        .current_dir(place.path(""));
    assert_eq!(Done::of(&mut command).succeeds().out, "79800\n");
    let json = place.json("x.json");
    // One load and one store of each cell in each round, and what is printed.
    assert_eq!(json.object("cells"), 2 * 400 * 1000 + 1, "{compiler}");
    let lines = json.groups("line").into_iter();
    let library = lines.filter(|line| line.name.contains("omp.so"));
    [
        json.number("waiting"),
        json.number("accesses"),
        library.map(|line| line.accesses).sum(),
    ]
}

#[test]
fn threads_that_wait_at_barriers_do_not_work() {
    let [waiting, all, library] = waits("gcc", &[]);
    assert!(
        waiting > 0 && library < all / 10,
        "{waiting} {all} {library}"
    );
    if has_clang_openmp() {
        let words = ["-L/usr/lib/llvm-19/lib", "-Wl,-rpath,/usr/lib/llvm-19/lib"];
        let [waiting, all, library] = waits("clang-19", &words);
        // What its loops call is not in them.
        assert!(waiting > 0 && library < all, "{waiting} {all} {library}");
    }
}

#[test]
fn programs_without_waits_have_none() {
    let place = Place::new();
    let program = place.build("count/team.c", &["-O1", "-g", "-fopenmp"]);
    let (_, json) = place.profile(&["--capture", "compiled-in"], &[&program, "2"]);
    assert_eq!(json.0.get("waiting"), None);
}
