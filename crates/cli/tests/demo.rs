//! `reuselens demo`: every program builds, runs in all variants, and makes its pages.

use crate::common::{self, Done, Place, has, is_offline_page};

/// Builds and runs a demo and looks at all that it leaves behind.
fn runs(name: &str, compiler: &str, source: &str, variants: &[&str]) {
    if !has(compiler) {
        return;
    }
    let place = Place::new();
    let done = place.run(&["demo", name, "-o", "out"]).succeeds();
    done.prints(&[
        "are first touches",
        "before",
        "after",
        "Page: ",
        "Next: reuselens diff",
    ]);
    is_offline_page(&place.read(&format!("out/{name}.html")));
    let page = place.text(&format!("out/{name}.html"));
    for variant in variants {
        assert!(
            page.contains(variant),
            "{name}.html does not speak of {variant}"
        );
        is_offline_page(&place.read(&format!("out/{variant}.html")));
        let profile = format!("out/{variant}.rlprof");
        let json = place
            .run(&["report", &profile, "--json", "-"])
            .succeeds()
            .out;
        let json = common::Json::parse(&json);
        assert!(json.number("accesses") > 10_000, "{variant}");
        assert_eq!(json.0["outcome"]["exit"], 0, "{variant}");
        assert_eq!(json.warnings(), [""; 0], "{variant}");
    }
    assert_eq!(
        place.text(&format!("out/{source}")),
        std::fs::read_to_string(common::source(&format!("{name}/{source}"))).unwrap()
    );
    assert_eq!(place.files(), ["out"]);
}

#[test]
fn missing_compiler_is_reported_before_files_are_written() {
    let place = Place::new();
    let mut command = place.command(&["demo", "stencil"]);
    Done::of(command.env("PATH", "/nonexistent"))
        .fails(1)
        .says(&["'gcc' is missing", "apt install gcc", "REUSELENS_CC="]);
    assert_eq!(place.files(), [""; 0]);
}

#[test]
fn matmul() {
    runs(
        "matmul",
        "gcc",
        "matmul.c",
        &["naive", "interchanged", "tiled"],
    );
}

#[test]
fn list() {
    runs("list", "g++", "list.cc", &["ordered", "shuffled", "vector"]);
}

#[test]
fn hashjoin() {
    runs(
        "hashjoin",
        "g++",
        "hashjoin.cc",
        &["chained", "partitioned"],
    );
}

#[test]
fn stencil() {
    runs("stencil", "gcc", "stencil.c", &["plain", "blocked"]);
}

#[test]
fn adi() {
    runs("adi", "gfortran", "adi.f", &["50", "100"]);
}

#[test]
fn fft() {
    runs("fft", "gfortran", "fft.f", &["64", "128"]);
}

#[test]
fn adi_has_the_references_and_elements_that_were_published() {
    if !has("gfortran") {
        return;
    }
    let place = Place::new();
    place.run(&["demo", "adi", "-q", "-o", "."]).succeeds();
    for (name, references, elements) in [("50", 64_100, 7_500), ("100", 258_200, 30_000)] {
        place
            .run(&[
                "report",
                &format!("{name}.rlprof"),
                "--json",
                &format!("{name}.json"),
            ])
            .succeeds();
        let json = place.json(&format!("{name}.json"));
        assert_eq!(
            (json.number("accesses"), json.number("distinct")),
            (references, elements)
        );
        assert_eq!(json.number("granularity_bytes"), 8);
    }
}

#[test]
fn demo_lists_all_demos() {
    let place = Place::new();
    let done = place.run(&["demo", "--list"]).succeeds();
    for name in ["matmul", "list", "hashjoin", "stencil", "adi", "fft"] {
        let line = done
            .out
            .lines()
            .find(|line| line.split_whitespace().next() == Some(name));
        assert!(line.is_some_and(|line| line.len() > 30), "{name}: {line:?}");
    }
    assert!(place.files().is_empty());
}

#[test]
fn demo_keeps_changed_files() {
    if !has("gfortran") {
        return;
    }
    let place = Place::new();
    place.run(&["demo", "adi", "-q", "-o", "out"]).succeeds();
    place.write("out/adi.f", "C changed");
    place
        .run(&["demo", "adi", "-o", "out"])
        .fails(1)
        .says(&["adi.f", "exists already", "--force"]);
    assert_eq!(place.text("out/adi.f"), "C changed");
    place
        .run(&["demo", "adi", "-q", "-o", "out", "--force"])
        .succeeds();
    assert!(place.text("out/adi.f") != "C changed");
    // Without a name, the folders are numbered.
    for folder in ["reuselens-demo-adi", "reuselens-demo-adi-2"] {
        place.run(&["demo", "adi", "-q"]).succeeds();
        assert!(place.path(folder).join("adi.html").is_file());
    }
}

#[test]
fn demo_rejects_unknown_names() {
    let place = Place::new();
    place
        .run(&["demo", "chess"])
        .fails(1)
        .says(&["no demo 'chess'", "matmul, list, hashjoin"]);
    place
        .run(&["demo", "matmul", "--json", "x.json"])
        .fails(2)
        .says(&["reuselens report"]);
    let mut command = place.command(&["demo", "matmul", "-o", "out"]);
    let done = common::Done::of(command.env("REUSELENS_CC", "no-such-compiler")).fails(1);
    done.says(&["'no-such-compiler' is missing", "REUSELENS_CC="]);
}
