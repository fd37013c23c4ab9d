//! No command writes over what it reads or runs, or two outputs into one file.

use crate::common::Place;

const TRACE: &str = "0x10 R\n0x40 W\n0x10 R\n";

#[test]
fn outputs_never_replace_inputs_or_the_program() {
    let place = Place::new();
    place.write("t.txt", TRACE);
    std::os::unix::fs::symlink(place.path("t.txt"), place.path("link.txt")).unwrap();
    std::fs::copy("/bin/true", place.path("prog")).unwrap();
    place.run(&["analyze", "-q", "t.txt"]).succeeds();
    place.run(&["shard", "-q", "1/1", "t.txt"]).succeeds();
    for line in [
        "analyze -f t.txt --json t.txt",
        "analyze -f t.txt --csv link.txt",
        "analyze -f link.txt -o new --csv t.txt",
        "convert -f t.txt ./t.txt",
        "shard -f 1/2 t.txt -o t.txt",
        "info -f t.txt --json t.txt",
        "merge -f t.1-of-1.rlpart --json t.1-of-1.rlpart",
        "report -f t.rlprof --html t.rlprof",
        "diff -f t.rlprof t.rlprof --html t.rlprof",
        "engines -f --bench --trace t.txt --json t.txt",
        "record -f -o prog -- ./prog",
        "profile -f --csv prog -- ./prog",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let before: Vec<_> = place.files().iter().map(|name| place.read(name)).collect();
        let done = place.run(&words).fails(1);
        let done = done.says(&["read or run here", "name another file"]);
        assert!(!done.err.contains("--force"), "{line}: {}", done.err);
        let after: Vec<_> = place.files().iter().map(|name| place.read(name)).collect();
        assert!(before == after, "{line}");
    }
}

#[test]
fn pages_are_not_written_over_traces_of_that_name() {
    let place = Place::new();
    place.write("t.html", TRACE);
    let done = place.run(&["analyze", "-f", "t.html"]).fails(1);
    done.says(&["t.html", "read or run here"]);
    assert_eq!(place.files(), ["t.html"]);
}

#[test]
fn two_outputs_never_share_a_file() {
    let place = Place::new();
    place.write("t.txt", TRACE);
    let done = place
        .run(&["analyze", "t.txt", "--json", "x", "--csv", "./x"])
        .fails(2);
    done.says(&["two outputs", "name of its own"]);
    assert_eq!(place.files(), ["t.txt"]);
    place
        .run(&[
            "analyze",
            "t.txt",
            "--json",
            "/dev/null",
            "--csv",
            "/dev/null",
        ])
        .succeeds();
}
