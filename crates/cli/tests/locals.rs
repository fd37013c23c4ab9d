//! Local arrays and structures are objects of their own, whichever compiler made their frames.

use std::process::Command;

use crate::common::{Done, Json, Place, has, source, triples};

/// Loads and stores of each array of `programs/count/locals.c`, and what it is called.
const ARRAYS: [(&str, u64); 6] = [
    ("stream in work", 700 + 5 * 700),
    ("hot in work", 10 + 3 * 5 * 10),
    ("grid in work", 2 * 30),
    ("small in inlined", 2 * 12),
    ("level in deep", 5 * 20),
    ("own in main", 2 * 20),
];

/// Builds a source of `programs/count/` with another compiler than ours.
fn build(place: &Place, words: &[&str], file: &str, name: &str) {
    let mut command = Command::new(words[0]);
    let source = source(&format!("count/{file}"));
    command.args(&words[1..]).args(["-g", &source, "-o", name]);
    Done::of(command.current_dir(place.path(""))).succeeds();
}

/// Profiles a program by object, with items of 8 bytes. Distances are within each thread: `main`
/// may still be on its way to `pthread_join` while the other thread works, and what it accesses
/// there would lie between accesses to the arrays.
fn objects(place: &Place, name: &str) -> Json {
    let program = format!("./{name}");
    let options = [
        "--by",
        "object",
        "--granularity",
        "8",
        "--sharing",
        "private",
    ];
    place.profile(&options, &[&program]).1
}

/// Holds objects to their counts; `how` is how the program was built.
fn have(json: &Json, objects: &[(&str, u64)], how: &str) {
    for &(name, accesses) in objects {
        let groups = json.groups("object");
        assert_eq!(
            json.accesses("object", name),
            accesses,
            "{name}, {how}: {groups:?}"
        );
    }
}

/// First accesses and the histogram of the object that is an array. gcc calls a static `hot.1`, and
/// clang `work.hot`.
fn histogram(json: &Json, array: &str) -> (u64, Vec<[u64; 3]>) {
    let groups = json.0["groups"].as_array().unwrap();
    let is_own = |name: &str| name.ends_with(" (locals.c)") || name.contains(" in ");
    let named = |group: &&serde_json::Value| {
        let name = group["name"].as_str().unwrap();
        name.contains(array) && is_own(name)
    };
    let group = groups.iter().find(named);
    let group = group.unwrap_or_else(|| panic!("no {array} in {:?}", json.groups("object")));
    let cold = group["cold"].as_u64().unwrap();
    (cold, triples(&group["histogram"]))
}

/// Holds local arrays to their counts, and to the distances that they have where they are static.
fn are_apart(compiler: &str, level: &str) {
    if !has(compiler) {
        return;
    }
    let place = Place::new();
    let words = [compiler, level, "-pthread"];
    build(&place, &words, "locals.c", "local");
    build(
        &place,
        &[&words[..], &["-DFIXED"]].concat(),
        "locals.c",
        "fixed",
    );
    let (local, fixed) = (objects(&place, "local"), objects(&place, "fixed"));
    have(&local, &ARRAYS, &words.join(" "));
    for array in ["stream", "hot", "grid", "small"] {
        assert_eq!(
            histogram(&local, array),
            histogram(&fixed, array),
            "{array}, {words:?}"
        );
    }
}

#[test]
fn local_arrays_of_gcc_are_separate_objects() {
    are_apart("gcc", "-O0");
    are_apart("gcc", "-O2");
}

#[test]
fn local_arrays_of_clang_are_separate_objects() {
    are_apart("clang-19", "-O0");
    are_apart("clang-19", "-O2");
}

#[test]
fn local_arrays_of_fortran_are_separate_objects() {
    if !has("gfortran") {
        return;
    }
    for level in ["-O0", "-O2"] {
        let place = Place::new();
        build(&place, &["gfortran", level], "locals.f90", "local");
        let json = objects(&place, "local");
        let arrays = [
            ("stream in work", 3 * 1024),
            ("hot in work", 3 * (16 + 512)),
        ];
        have(&json, &arrays, level);
    }
}

#[test]
fn local_arrays_of_rust_are_separate_objects() {
    if !has("rustc") {
        return;
    }
    for level in ["-Copt-level=0", "-Copt-level=2"] {
        let place = Place::new();
        build(&place, &["rustc", level], "locals.rs", "local");
        let json = objects(&place, "local");
        let of = |name| json.accesses("object", name);
        // They may be stored once more, where they are made.
        let (stream, hot) = (of("stream in locals::work"), of("hot in locals::work"));
        let most = 3 * 1024 + 3 * 513;
        assert!(
            (3 * 1024..=most).contains(&stream),
            "{level}: {:?}",
            json.groups("object")
        );
        assert!(
            (3 * 512..=3 * 530).contains(&hot),
            "{level}: {:?}",
            json.groups("object")
        );
    }
}

#[test]
fn local_arrays_are_stack_objects_in_traces_and_limits_too() {
    let place = Place::new();
    build(&place, &["gcc", "-O1", "-pthread"], "locals.c", "local");
    place
        .run(&["record", "-q", "-o", "local.rltrace", "--", "./local"])
        .succeeds();
    let options = ["--data", "stack", "--by", "object", "--json", "local.json"];
    let file = ["analyze", "-q", "local.rltrace", "-o", "local.rlprof"];
    place.run(&[&file[..], &options].concat()).succeeds();
    let json = place.json("local.json");
    have(&json, &ARRAYS, "recorded");
    let report = ["report", "local.rlprof", "--by", "object"];
    place.run(&report).succeeds().prints(&["stream in work"]);
    for (limit, code) in [
        ("accesses of object hot in work > 159", 3),
        ("accesses of object hot in work > 160", 0),
    ] {
        place
            .run(&["check", "local.rlprof", "--fail-if", limit])
            .ends_with(code);
    }
}

#[test]
fn llvm_pass_separates_local_arrays() {
    if !has("clang-19") || !has("llvm-config-19") {
        return;
    }
    for level in ["-O0", "-O2"] {
        let place = Place::new();
        let source = source("count/locals.c");
        let words = [
            "cc", "--llvm", level, "-g", "-pthread", &source, "-o", "local",
        ];
        place.run(&words).succeeds();
        let json = objects(&place, "local");
        have(&json, &ARRAYS, level);
    }
}

#[test]
fn frames_without_debug_information_stay_one_object() {
    let place = Place::new();
    let source = source("count/locals.c");
    let mut command = Command::new("gcc");
    command.args(["-O1", "-g0", "-pthread", &source, "-o", "local"]);
    Done::of(command.current_dir(place.path(""))).succeeds();
    let json = objects(&place, "local");
    assert!(json.accesses("object", "stack of work") >= 4200);
    assert_eq!(json.accesses("object", "stream in work"), 0);
}
