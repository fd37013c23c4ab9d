//! Fortran programs that use `reuselens.inc` and `reuselens.f90`.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{alone, compile, elements, items, line, object, profile, profile_with, source};
use common::{touches, warnings};
use reuselens::attribute::NamesMode;
use reuselens::capture::toolchain::{Language, RunTimeFiles};
use reuselens::profile::{Dimension, ObjectKind, Profile};
use reuselens_testing::has;

const FLAGS: [&str; 4] = ["-Wall", "-Wextra", "-Werror", "-O1"];

/// Whether there is no Fortran compiler.
fn no_compiler() -> bool {
    !has("gfortran")
}

/// Compiles a program; module files go into `folder`.
fn build(sources: &[&str], flags: &[&str], folder: &Path) -> PathBuf {
    let program = folder.join("names");
    let modules = format!("-J{}", folder.display());
    let flags = [&FLAGS[..], flags, &[modules.as_str()]].concat();
    let sources: Vec<_> = sources.iter().map(|name| source(name)).collect();
    compile(Language::Fortran, &flags, &sources, &program);
    program
}

fn all(range: std::ops::Range<u64>, count: u64) -> Vec<(u64, u64)> {
    range.map(|index| (index, count)).collect()
}

fn check_sizes(profile: &Profile, expected: &[(&str, u64, u64)]) {
    for &(name, bytes, element) in expected {
        let object = object(profile, name);
        // What is announced without a name stays what it is.
        let kind = match name {
            "words.0 (names90.f90)" => ObjectKind::Static,
            _ => ObjectKind::Named,
        };
        assert_eq!(object.kind, kind, "{name}");
        assert_eq!(
            (object.bytes, object.element_bytes),
            (bytes, element),
            "{name}"
        );
    }
}

fn check_77(profile: &Profile) {
    assert_eq!(warnings(profile), [""; 0]);
    assert_eq!(elements(profile, "A"), all(0..10, 2));
    assert_eq!(elements(profile, "matrix of K"), all(8..12, 1));
    let letters = "data announced by names (names77.f:16)";
    assert_eq!(elements(profile, letters), [(1, 1)]);
    assert_eq!(profile.references, 20 + 4 + 1 + 2);
    check_sizes(
        profile,
        &[("A", 80, 8), ("matrix of K", 96, 8), (letters, 15, 3)],
    );
    let raw = profile
        .objects
        .iter()
        .find(|object| object.kind == ObjectKind::Static)
        .unwrap();
    assert_eq!(touches(profile, Dimension::Object, &raw.name), 2, "{raw:?}");
    let read = format!("names77.f:{}", line(&source("names77.f"), "line: read") + 1);
    assert_eq!(touches(profile, Dimension::Line, &read), 80);
}

#[test]
fn fortran_77_is_profiled_in_all_dialects() {
    if no_compiler() {
        return;
    }
    for dialect in ["-std=gnu", "-std=legacy", "-fdefault-integer-8"] {
        let folder = tempfile::tempdir().unwrap();
        let program = build(&["names77.f"], &["--rl-names", dialect], folder.path());
        assert_eq!(alone(&program), " 0.2 4 abc 1.0\n", "{dialect}");
        check_77(&profile(&program).unwrap());
    }
}

#[test]
fn fortran_program_builds_with_a_plain_compiler_folder_and_object() {
    if no_compiler() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("names");
    let files = RunTimeFiles::install().unwrap();
    let mut command = Command::new("gfortran");
    command
        .args(FLAGS)
        .arg("-g")
        .arg("-I")
        .arg(files.include())
        .arg(source("names77.f"));
    let output = command
        .arg(files.object())
        .arg("-o")
        .arg(&program)
        .output()
        .unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
    check_77(&profile(&program).unwrap());
}

#[test]
fn statement_mode_counts_an_element_once() {
    if no_compiler() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = build(&["names77.f"], &["--rl-names"], folder.path());
    let profile = profile_with(&program, &items(8, NamesMode::Statement)).unwrap();
    assert_eq!(elements(&profile, "A"), all(0..10, 1));
    assert_eq!(touches(&profile, Dimension::Object, "A"), 10);
}

#[test]
fn fortran_90_in_several_files_is_profiled() {
    if no_compiler() {
        return;
    }
    for dialect in ["-std=f2018", "-std=gnu", "-fdefault-integer-8"] {
        let folder = tempfile::tempdir().unwrap();
        let sources = ["sweeps.f90", "names90.f90"];
        let program = build(&sources, &["--rl-names", dialect], folder.path());
        assert_eq!(alone(&program), " 0.0 7 1.0 end 2.0 0.6\n", "{dialect}");
        check_90(&profile(&program).unwrap());
    }
}

fn check_90(profile: &Profile) {
    assert_eq!(warnings(profile), [""; 0]);
    assert_eq!(elements(profile, "a"), all(6..14, 1));
    assert_eq!(elements(profile, "k"), [(23, 1)]);
    assert_eq!(elements(profile, "points"), [(1, 1), (2, 1)]);
    assert_eq!(elements(profile, "t"), [(2, 1), (5, 6)]);
    let words = "words.0 (names90.f90)";
    assert_eq!(elements(profile, words), [(3, 1)]);
    assert_eq!(profile.references, 8 + 1 + 2 + 7 + 1 + 1);
    check_sizes(profile, &[("a", 288, 8), ("k", 192, 8), ("points", 60, 12)]);
    check_sizes(profile, &[("t", 48, 8), (words, 12, 3)]);
    for (mark, count) in [("read", 24), ("write", 24), ("unnamed", 1)] {
        let line = line(&source("names90.f90"), &format!("line: {mark}"));
        let name = format!("names90.f90:{line}");
        assert_eq!(touches(profile, Dimension::Line, &name), count, "{mark}");
    }
}

#[test]
fn calls_beside_hooks_only_give_names() {
    if no_compiler() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = build(&["sweeps.f90", "names90.f90"], &[], folder.path());
    let profile = profile(&program).unwrap();
    assert_eq!(warnings(&profile), ["record-access-ignored"]);
    assert!(profile.sites.iter().all(|site| site.kind != "named"));
    // `a = 1` came before the name; each sweep loads and stores its elements.
    assert_eq!(elements(&profile, "a"), all(6..14, 2));
}
