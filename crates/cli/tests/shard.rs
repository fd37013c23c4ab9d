//! `reuselens shard`: pieces of native, text and raw traces.

use crate::common::{LONG_RUN, Place};

/// Items with reuses over all distances, more than a block of them.
fn items() -> impl Iterator<Item = u64> {
    (0..200_000_u64).map(|i| i * i % 509 + i / 700)
}

/// All pieces of a trace, merged, against `analyze`: the same files, byte for byte.
fn same(place: &Place, trace: &str, of: u32, options: &[&str]) {
    same_ending_with(0, place, trace, of, options);
}

/// The same of a trace of which the last piece, and so all that is made of it, ends with that exit
/// code.
fn same_ending_with(code: i32, place: &Place, trace: &str, of: u32, options: &[&str]) {
    let words = [
        &["analyze", "-f", trace, "-o", "whole", "--json", "w.json"],
        options,
    ]
    .concat();
    let whole = place.run(&words).ends_with(code);
    let mut parts = Vec::new();
    for number in 1..=of {
        let (piece, part) = (format!("{number}/{of}"), format!("p{number}.rlpart"));
        let words = ["shard", &piece, trace, "-f", "-o", &part];
        let done = place.run(&[&words[..], options].concat());
        let done = done.ends_with(if number == of { code } else { 0 });
        let first = done.out.lines().next().unwrap_or_default();
        let is_damaged = number == of && code == 4;
        assert_eq!(first.contains("NOT COMPLETE"), is_damaged, "{first}");
        done.prints(&[&part, &format!("piece {piece}"), "Next: "]);
        parts.push(part);
    }
    // In an order that nobody would type.
    parts.rotate_left(of as usize / 2);
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let words = [
        &["merge", "-f", "-o", "merged", "--json", "m.json"],
        &parts[..],
    ]
    .concat();
    let merged = place.run(&words).ends_with(code);
    for (one, other) in [("whole.rlprof", "merged.rlprof"), ("w.json", "m.json")] {
        assert!(
            place.read(one) == place.read(other),
            "{trace}, {of} pieces, {options:?}: {other}"
        );
    }
    let page = |name: &str| place.text(name).replace("merged", "whole");
    assert!(page("whole.html") == page("merged.html"));
    assert_eq!(merged.out.replace("merged", "whole"), whole.out);
}

#[test]
fn parts_of_text_and_numbers_merge_into_the_same_profile() {
    let place = Place::new();
    let words: String = items().map(|item| format!("item{item}\n")).collect();
    place.write("t.txt", words);
    place.write_items("n.u64", items());
    for of in [1, 2, 5] {
        same(&place, "t.txt", of, &[]);
        same(&place, "n.u64", of, &["--kind", "loads"]);
    }
    same(&place, "n.u64", 16, &[]);
    // It breaks off: the last piece says so.
    let numbers = place.read("n.u64");
    place.write("cut.u64", &numbers[..numbers.len() - 3]);
    same_ending_with(4, &place, "cut.u64", 3, &[]);
    assert_eq!(place.json("m.json").warnings(), ["truncated"]);
}

#[test]
fn parts_of_a_program_merge_into_the_same_profile() {
    let place = Place::new();
    place.record_count("t.rltrace", LONG_RUN);
    same(&place, "t.rltrace", 1, &[]);
    same(&place, "t.rltrace", 3, &["--elements"]);
    same(
        &place,
        "t.rltrace",
        7,
        &["--granularity", "8", "--data", "heap", "--no-contexts"],
    );
}

#[test]
fn part_is_named_after_its_trace() {
    let place = Place::new();
    place.write("a.b.txt", "a b c a");
    place.run(&["shard", "1/2", "a.b.txt", "-q"]).succeeds();
    place
        .run(&["shard", "2/2", "a.b.txt"])
        .succeeds()
        .prints(&["reuselens merge a.b.[0-9]-of-2.rlpart"]);
    let parts = ["a.b.1-of-2.rlpart", "a.b.2-of-2.rlpart"];
    assert_eq!(place.files(), [&parts[..], &["a.b.txt"]].concat());
    place
        .run(&["shard", "1/2", "a.b.txt"])
        .fails(1)
        .says(&["exists already", "--force"]);
    place
        .run(&["shard", "1/2", "a.b.txt", "-f", "-q"])
        .succeeds();
    let again = place.run(&[
        "shard",
        "2/2",
        "a.b.txt",
        "-f",
        "-q",
        "-o",
        "x",
        "--threads",
        "7",
    ]);
    again.succeeds();
    assert!(
        place.read("x") == place.read(parts[1]),
        "equal parts are equal bytes"
    );
}

#[test]
fn shard_rejects_traces_that_cannot_be_cut() {
    let place = Place::new();
    place.write("t.txt", "a b c a");
    for piece in ["0/2", "3/2", "2", "1/0", "a/b"] {
        place
            .run(&["shard", piece, "t.txt"])
            .fails(2)
            .says(&["1/4"]);
    }
    place
        .run_on("a b", &["shard", "1/2", "-"])
        .fails(1)
        .says(&["no file", "reuselens analyze"]);
    place
        .run(&["shard", "1/2", "none"])
        .fails(1)
        .says(&["cannot read none"]);
    place.write("t.txt.gz", b"\x1f\x8b\x08\0\0\0\0\0\0\x03");
    place.run(&["shard", "1/2", "t.txt.gz"]).fails(1).says(&[
        "compressed with gzip",
        "unpack it first",
        "gunzip -k t.txt.gz",
    ]);
    let engine = ["shard", "1/2", "t.txt", "--engine", "olken"];
    place
        .run(&engine)
        .fails(2)
        .says(&["'olken'", "leave --engine out"]);
    place.run(&["shard", "1/2"]).fails(2).says(&["TRACE"]);
    assert_eq!(place.files(), ["t.txt", "t.txt.gz"], "no half results");
}

#[test]
fn part_that_exceeds_memory_is_an_error() {
    let place = Place::new();
    place.write_items("n.u64", 0..3_000_000);
    let words = ["shard", "1/1", "n.u64", "--memory-limit", "20M"];
    place
        .run(&words)
        .fails(1)
        .says(&["piece 1/1", "20 MiB", "--memory-limit"]);
    assert_eq!(place.files(), ["n.u64"]);
}
