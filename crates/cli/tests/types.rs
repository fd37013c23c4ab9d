//! Fields of data whose allocation has no type: by the instructions that access them, held against
//! what the programs of `programs/types/` count themselves.

use std::process::Command;

use serde_json::Value;

use crate::common::{Done, Place, expected, has, source};

/// Builds a program of `programs/types/`.
fn build(place: &Place, words: &[&str], file: &str) {
    let mut command = Command::new(words[0]);
    let source = source(&format!("types/{file}"));
    command.args(&words[1..]);
    command.args(["-g", &source, "-o", "program"]);
    Done::of(command.current_dir(place.path(""))).succeeds();
}

/// What the program printed, and the data with fields in its profile.
fn fields(place: &Place) -> (String, Vec<Value>) {
    let (done, json) = place.profile(&["--why=4K"], &["./program"]);
    let fields = &json.0["fields"];
    let fields = fields.as_array().cloned();
    (done.out, fields.unwrap_or_default())
}

/// The accesses of the fields of the data of a type.
fn of_type<'a>(data: &'a [Value], kind: &str) -> Option<&'a Value> {
    data.iter().find(|data| data["type"] == kind)
}

/// Accesses that may be counted for another field, or for none: those before one shows the type.
const EARLY: u64 = 2;

/// Holds the fields of a type against what the program counted.
fn are_counted(words: &[&str], file: &str, kind: &str) {
    if !has(words[0]) {
        return;
    }
    let place = Place::new();
    build(&place, words, file);
    let (out, data) = fields(&place);
    let found = of_type(&data, kind);
    let found = found.unwrap_or_else(|| panic!("no {kind} in {data:#?}, {words:?}"));
    assert_eq!(found["type_from"], "accesses", "{words:?}");
    let share = found["type_share"].as_f64().unwrap();
    assert!((0.5..=1.0).contains(&share), "{share}, {words:?}");
    let counted = expected(&out, "accesses");
    assert!(!counted.is_empty());
    for (name, count) in counted {
        let mut fields = found["fields"].as_array().unwrap().iter();
        let field = fields.find(|field| field["name"] == *name);
        let field = field.unwrap_or_else(|| panic!("no {name} in {found:#?}"));
        let accesses = field["accesses"].as_u64().unwrap();
        let is_near = accesses.abs_diff(count) <= EARLY;
        assert!(
            is_near,
            "{accesses} of {count}: {name} of {kind}, {words:?}"
        );
    }
}

#[test]
fn fields_of_nodes_of_an_arena_are_counted() {
    for words in [["gcc", "-O1"], ["gcc", "-O2"], ["clang", "-O0"]] {
        are_counted(&words, "arena.c", "node");
    }
}

#[test]
fn links_between_free_nodes_leave_the_type() {
    for compiler in ["gcc", "clang"] {
        are_counted(&[compiler, "-O1", "-DLINKS"], "arena.c", "node");
    }
}

#[test]
fn fields_of_records_in_a_buffer_of_bytes_are_counted() {
    for words in [["gcc", "-O0"], ["gcc", "-O2"], ["clang", "-O0"]] {
        are_counted(&words, "records.c", "record");
    }
}

#[test]
fn fields_of_objects_in_a_pool_are_counted() {
    for words in [
        ["g++", "-O0"],
        ["g++", "-O2"],
        ["clang++", "-O0"],
        ["clang++", "-O2"],
    ] {
        are_counted(&words, "slots.cc", "shapes::Square");
    }
    for level in ["-Copt-level=0", "-Copt-level=2"] {
        are_counted(&["rustc", level], "slots.rs", "slots::Particle");
    }
}

#[test]
fn an_arena_of_two_types_has_none() {
    for words in [
        ["gcc", "-O0"],
        ["gcc", "-O2"],
        ["clang", "-O0"],
        ["clang", "-O2"],
    ] {
        if !has(words[0]) {
            continue;
        }
        // Four numbers move the nodes after them; six have the bytes of a node, and clang accesses
        // them by instructions that show nothing.
        for numbers in ["-DMIXED=4", "-DMIXED=6"] {
            let place = Place::new();
            build(&place, &[&words[..], &[numbers]].concat(), "arena.c");
            let (_, data) = fields(&place);
            assert_eq!(of_type(&data, "node"), None, "{words:?} {numbers}");
        }
    }
}

#[test]
fn structures_before_their_data_are_no_elements() {
    for compiler in ["gcc", "clang"] {
        for (level, varied) in [
            ("-O0", "-DVARIED=1"),
            ("-O2", "-DVARIED=0"),
            ("-O2", "-DVARIED=1"),
        ] {
            if !has(compiler) {
                continue;
            }
            let place = Place::new();
            build(&place, &[compiler, level, varied], "tails.c");
            let (_, data) = fields(&place);
            for kind in ["vec", "old", "head"] {
                let found = of_type(&data, kind);
                assert_eq!(found, None, "{compiler} {level} {varied}");
            }
        }
    }
}
