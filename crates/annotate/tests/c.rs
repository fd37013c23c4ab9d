//! C and C++ programs that use `reuselens.h`.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{alone, compile, elements, items, line, object, profile, profile_with, source};
use common::{touches, warnings};
use reuselens::attribute::NamesMode;
use reuselens::capture::toolchain::{Language, RunTimeFiles};
use reuselens::profile::{Dimension, ObjectKind, Profile};

/// Every warning is an error, and the language as old as it can be.
const STRICT: [&str; 6] = [
    "-std=c90",
    "-pedantic",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-O1",
];

/// Compiles `names.c` by the system's compiler, without any help of ours but the two files.
fn plain(compiler: &str, folder: &Path, flags: &[&str]) -> PathBuf {
    let files = RunTimeFiles::install().unwrap();
    let program = folder.join(compiler);
    let mut command = Command::new(compiler);
    command
        .args(flags)
        .arg("-g")
        .arg("-I")
        .arg(files.include())
        .arg(source("names.c"));
    command
        .arg("-x")
        .arg("none")
        .arg(files.object())
        .arg("-o")
        .arg(&program);
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && errors.is_empty(),
        "{command:?}: {errors}"
    );
    program
}

/// What is the same however the program was built to record its calls only.
fn check_calls(profile: &Profile) {
    assert_eq!(warnings(profile), [""; 0]);
    let a: Vec<_> = (0..10).map(|i| (i, 2)).collect();
    assert_eq!(elements(profile, "a"), a);
    // Two rows of eight, entered by their own addresses.
    assert_eq!(
        elements(profile, "matrix"),
        [(16, 1), (17, 1), (18, 1), (24, 1), (25, 1)]
    );
    // Announced without a name, the block keeps that of its allocation.
    let list = "heap from main (names.c:24)";
    assert_eq!(elements(profile, list), [(5, 1)]);
    assert_eq!(profile.references, 20 + 5 + 1 + 3);
    for (name, bytes, element) in [("a", 80, 8), ("matrix", 128, 4), (list, 12, 2)] {
        let object = object(profile, name);
        let kind = if name == list {
            ObjectKind::Heap
        } else {
            ObjectKind::Named
        };
        assert_eq!(object.kind, kind, "{name}");
        assert_eq!(
            (object.bytes, object.element_bytes),
            (bytes, element),
            "{name}"
        );
    }
    // Memory without a name is what it is, a byte per access.
    assert_eq!(touches(profile, Dimension::Object, "unnamed (names.c)"), 3);
    for (mark, count) in [("read", 80), ("write", 80), ("unnamed", 3)] {
        let line = line(&source("names.c"), &format!("line: {mark}"));
        let name = format!("names.c:{line}");
        assert_eq!(touches(profile, Dimension::Line, &name), count, "{mark}");
    }
}

#[test]
fn c_program_builds_with_a_plain_compiler_header_and_object() {
    let folder = tempfile::tempdir().unwrap();
    let cxx = [
        "-x",
        "c++",
        "-std=c++11",
        "-pedantic",
        "-Wall",
        "-Wextra",
        "-Werror",
    ];
    for (compiler, flags) in [("gcc", &STRICT[..]), ("g++", &cxx[..])] {
        let program = plain(compiler, folder.path(), flags);
        assert_eq!(alone(&program), "0 1 1 1\n", "{compiler}");
        check_calls(&profile(&program).unwrap());
    }
}

#[test]
fn cc_with_rl_names_adds_header_and_object() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("names");
    let flags = [&STRICT[..], &["--rl-names"]].concat();
    compile(Language::C, &flags, &[source("names.c")], &program);
    check_calls(&profile(&program).unwrap());
    let options = items(8, NamesMode::Statement);
    let statements = profile_with(&program, &options).unwrap();
    let a: Vec<_> = (0..10).map(|i| (i, 1)).collect();
    assert_eq!(elements(&statements, "a"), a);
    assert_eq!(touches(&statements, Dimension::Object, "a"), 10);
}

#[test]
fn calls_beside_hooks_only_give_names() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("names");
    compile(Language::C, &STRICT, &[source("names.c")], &program);
    let profile = profile(&program).unwrap();
    assert_eq!(warnings(&profile), ["record-access-ignored"]);
    assert!(profile.sites.iter().all(|site| site.kind != "named"));
    // The hooks see a load and a store of each, and the load for `printf`.
    let a: Vec<_> = (0..10).map(|i| (i, 2 + u64::from(i == 9))).collect();
    assert_eq!(elements(&profile, "a"), a);
    assert_eq!(
        elements(&profile, "matrix"),
        [(16, 2), (17, 3), (18, 2), (24, 2), (25, 2)]
    );
}

#[test]
fn disabled_calls_need_no_run_time() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("names");
    let status = Command::new("gcc")
        .args(STRICT)
        .args(["-DREUSELENS_OFF", "-I"])
        .arg(RunTimeFiles::install().unwrap().include())
        .arg(source("names.c"))
        .arg("-o")
        .arg(&program)
        .status();
    // It links without the run time, so there are no calls.
    assert!(status.unwrap().success());
    assert_eq!(alone(&program), "0 1 1 1\n");
}
