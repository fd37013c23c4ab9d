//! `reuselens merge`: step by step, and what does not belong together.

use crate::common::{self, Place};

/// A trace of some blocks in so many parts.
fn parts(of: u32) -> Place {
    let place = Place::new();
    let numbers = (0..150_000_u64).map(|i| i * i % 1009);
    place.write_items("n.u64", numbers);
    for number in 1..=of {
        place
            .run(&["shard", &format!("{number}/{of}"), "n.u64", "-q"])
            .succeeds();
    }
    place
}

#[test]
fn adjacent_parts_merge_into_a_part_and_all_into_a_profile() {
    let place = parts(4);
    let done = place
        .run(&["merge", "n.3-of-4.rlpart", "n.2-of-4.rlpart"])
        .succeeds();
    done.prints(&[
        "n.2-3-of-4.rlpart",
        "pieces 2-3/4",
        "missing: 1/4",
        "Next: ",
    ]);
    place
        .run(&[
            "merge",
            "n.2-3-of-4.rlpart",
            "n.4-of-4.rlpart",
            "-o",
            "rest",
        ])
        .succeeds();
    assert!(!place.path("n.rlprof").exists());
    let all = ["merge", "rest", "n.1-of-4.rlpart"];
    place
        .run(&all)
        .succeeds()
        .prints(&["accesses to", "n.html", "n.rlprof"]);
    common::is_offline_page(&place.read("n.html"));
    place
        .run(&["analyze", "-q", "n.u64", "-o", "whole"])
        .succeeds();
    assert!(place.read("whole.rlprof") == place.read("n.rlprof"));
    place.run(&all).succeeds().prints(&["n.2.rlprof"]);
    place
        .run(&[&all[..], &["-o", "n"]].concat())
        .fails(1)
        .says(&["n.rlprof", "exists already"]);
    place
        .run(&["merge", "-q", "-f", "rest", "n.1-of-4.rlpart"])
        .succeeds();
}

#[test]
fn merge_rejects_parts_of_different_analyses() {
    let place = parts(3);
    let shard = |piece: &str, trace: &str, name: &str, options: &[&str]| {
        let words = [&["shard", piece, trace, "-q", "-f", "-o", name], options].concat();
        place.run(&words).succeeds();
    };
    place.write_items("other.u64", [1, 2, 1]);
    shard("2/3", "other.u64", "other", &[]);
    shard("2/3", "n.u64", "loads", &["--kind", "loads"]);
    shard("2/4", "n.u64", "fourth", &[]);
    place.write("n.u64.copy", place.read("n.u64"));
    shard("2/3", "n.u64.copy", "copy", &["--format", "u64"]);
    let (one, two, three) = ("n.1-of-3.rlpart", "n.2-of-3.rlpart", "n.3-of-3.rlpart");
    for (words, hints) in [
        (
            &[one, "other"][..],
            &["different traces", "other is 2/3", "1/3"][..],
        ),
        (
            &[one, "loads"],
            &["--kind all", "--kind loads", "same options"],
        ),
        (&[one, "fourth"], &["3 pieces", "4 pieces"]),
        (&[one, two, two], &["2/3", "name each piece once"]),
        (&[one, three], &["missing: 2/3", "reuselens shard 2/3"]),
        (
            &[one, "n.u64"],
            &["n.u64", "no whole part", "reuselens shard"],
        ),
        (&[one, "none"], &["cannot read none"]),
    ] {
        place
            .run(&[&["merge", "-o", "out"], words].concat())
            .fails(1)
            .says(hints);
    }
    let json = ["merge", one, two, "--json", "-"];
    place.run(&json).fails(1).says(&["missing: 3/3"]);
    place.run(&["merge"]).fails(2).says(&["PART"]);
    assert!(!place.files().iter().any(|name| name.starts_with("out")));
    // Where the trace lay does not matter.
    place.run(&["merge", "-q", one, "copy", three]).succeeds();
}

#[test]
fn merge_keeps_a_single_part_and_reports_it() {
    let place = parts(2);
    let before = place.read("n.1-of-2.rlpart");
    for options in [&[][..], &["-f"], &["--json", "-"]] {
        let words = [&["merge", "n.1-of-2.rlpart"], options].concat();
        place.run(&words).fails(1).says(&[
            "piece 1/2",
            "nothing to merge",
            "missing: 2/2",
            "reuselens shard 2/2",
        ]);
    }
    assert!(place.read("n.1-of-2.rlpart") == before);
    place
        .run(&["merge", "-q", "n.1-of-2.rlpart", "-o", "copy"])
        .succeeds();
    assert!(place.read("copy") == before);
    place.run(&["shard", "-q", "1/1", "n.u64"]).succeeds();
    place.run(&["merge", "-q", "n.1-of-1.rlpart"]).succeeds();
    place
        .run(&["merge", "n.rlprof"])
        .fails(1)
        .says(&["whole profile", "reuselens report n.rlprof"]);
    place
        .run(&["report", "n.1-of-2.rlpart"])
        .fails(1)
        .says(&["a part of one", "reuselens merge n.1-of-2.rlpart"]);
}

/// What `shard` suggests is what a shell takes for all pieces, beside merged ones and pieces of
/// other cuts.
#[test]
fn the_next_command_that_is_suggested_works() {
    let place = parts(3);
    place
        .run(&["merge", "-q", "n.1-of-3.rlpart", "n.2-of-3.rlpart"])
        .succeeds();
    place.run(&["shard", "-q", "1/2", "n.u64"]).succeeds();
    let done = place.run(&["shard", "-f", "3/3", "n.u64"]).succeeds();
    let next = done.out.split("reuselens merge ").nth(1).unwrap().trim();
    let mut shell = std::process::Command::new("sh");
    shell
        .arg("-c")
        .arg(format!("echo {next}"))
        .current_dir(place.path(""));
    let found = common::Done::of(&mut shell).succeeds().out;
    let found: Vec<&str> = found.split_whitespace().collect();
    assert_eq!(
        found,
        ["n.1-of-3.rlpart", "n.2-of-3.rlpart", "n.3-of-3.rlpart"]
    );
    place
        .run(&[&["merge", "-q"], &found[..]].concat())
        .succeeds();
}

#[test]
fn merge_rejects_damaged_parts() {
    let place = parts(2);
    let bytes = place.read("n.2-of-2.rlpart");
    for at in (0..bytes.len()).step_by(bytes.len() / 40) {
        let mut changed = bytes.clone();
        changed[at] ^= 0x20;
        place.write("bad.rlpart", &changed);
        let words = ["merge", "n.1-of-2.rlpart", "bad.rlpart"];
        place
            .run(&words)
            .fails(1)
            .says(&["bad.rlpart", "reuselens"]);
    }
    assert!(!place.path("n.rlprof").exists());
}

#[test]
fn parts_of_a_damaged_trace_merge_into_one_that_is_not_complete() {
    let place = Place::new();
    place.write("cut.u64", vec![1; 8 * 40_000 - 3]);
    for (piece, code) in [("1/3", 0), ("2/3", 0), ("3/3", 4)] {
        place
            .run(&["shard", piece, "cut.u64", "-q"])
            .ends_with(code);
    }
    let two = ["merge", "cut.2-of-3.rlpart", "cut.3-of-3.rlpart"];
    let done = place.run(&two).ends_with(4);
    let first = done.out.lines().next().unwrap_or_default();
    assert!(first.contains("NOT COMPLETE"), "{first}");
    let rest = ["merge", "cut.1-of-3.rlpart", "cut.2-3-of-3.rlpart"];
    place.run(&rest).ends_with(4);
}
