//! `reuselens diff`.

use crate::common::{self, Place, is_offline_page, old_and_new};

/// `naive` and `tiled`: two orders of loops of one product of matrices.
fn products() -> Place {
    let place = Place::new();
    place.build("matmul/matmul.c", &["-O2"]);
    for variant in ["naive", "tiled"] {
        let words = [
            "profile", "-q", "-o", variant, "--", "./matmul", variant, "64",
        ];
        place.run(&words).succeeds();
    }
    place
}

/// Four accesses of which one is misplaced: half a share in two of the bins.
#[test]
fn diff_shows_the_error_of_a_histogram() {
    let place = Place::new();
    place.write("a.txt", "a b a b");
    place.write("b.txt", "a b b a");
    for name in ["a", "b"] {
        let trace = format!("{name}.txt");
        let words = ["analyze", "-q", "--format", "text", &trace, "-o", name];
        place.run(&words).succeeds();
    }
    let words = ["diff", "a.rlprof", "b.rlprof", "--error"];
    // Bins 0 and 1 and first touches: |0 − ¼|, |½ − ¼|, 0.
    place.run(&words).succeeds().prints(&[
        "Error over 3 bins",
        "average error of a bin 16.7 %",
        "25.0 % of the accesses are in another bin",
    ]);
    let json = [&words[..], &["--json", "-"]].concat();
    let json = place.run(&json).succeeds();
    json.prints(&["\"total_variation\": 0.25", "\"average_bin_error\": 0.16"]);
    let near = "analyze -q --format text a.txt -o near --max-distance 1";
    let near: Vec<&str> = near.split(' ').collect();
    place.run(&near).succeeds();
    let words = ["diff", "near.rlprof", "b.rlprof", "--error"];
    place
        .run(&words)
        .fails(2)
        .says(&["--error", "--max-distance"]);
}

#[test]
fn diff_shows_where_a_change_gains_and_loses() {
    let place = products();
    let done = place
        .run(&["diff", "naive.rlprof", "tiled.rlprof"])
        .succeeds();
    done.prints(&[
        "./matmul naive 64",
        "./matmul tiled 64",
        "accesses",
        "distinct data",
    ]);
    let done = place.run(&[
        "diff",
        "naive.rlprof",
        "tiled.rlprof",
        "--by",
        "function",
        "--cache",
        "8K",
    ]);
    let done = done.succeeds();
    done.clone()
        .prints(&["8 KiB", "by function", "fewer misses", "more misses"]);
    let line = |name: &str| {
        let found = done
            .out
            .lines()
            .find(|line| line.trim_end().ends_with(name));
        found
            .unwrap_or_else(|| panic!("no {name} in {}", done.out))
            .to_owned()
    };
    assert!(line(" naive").contains("gone"), "{}", line(" naive"));
    assert!(line(" block").contains("new"), "{}", line(" block"));
    // The other way round, what was gone is new.
    let back = place
        .run(&["diff", "tiled.rlprof", "naive.rlprof", "--by", "function"])
        .succeeds();
    let naive = back
        .out
        .lines()
        .find(|line| line.trim_end().ends_with(" naive"))
        .unwrap();
    assert!(naive.contains("new"), "{naive}");
}

#[test]
fn the_same_profile_twice_has_no_change() {
    let place = products();
    let done = place.run(&[
        "diff",
        "naive.rlprof",
        "naive.rlprof",
        "--by",
        "line,object,context",
    ]);
    let done = done.succeeds();
    let row = |start: &str| {
        let found = done
            .out
            .lines()
            .find(|line| line.trim_start().starts_with(start));
        found
            .unwrap_or_else(|| panic!("no {start} in {}", done.out))
            .to_owned()
    };
    for start in ["accesses", "distinct data"] {
        assert!(row(start).contains("±0 %"), "{}", row(start));
    }
    for word in [
        "fewer misses",
        "more misses",
        "largest changes",
        "gone",
        "new ",
    ] {
        assert!(!done.out.contains(word), "'{word}' in {}", done.out);
    }
}

#[test]
fn two_runs_of_one_program_have_no_change() {
    let place = products();
    place
        .run(&[
            "profile", "-q", "-o", "again", "--", "./matmul", "naive", "64",
        ])
        .succeeds();
    let same = place
        .run(&["diff", "naive.rlprof", "naive.rlprof"])
        .succeeds()
        .out;
    let again = place
        .run(&["diff", "naive.rlprof", "again.rlprof"])
        .succeeds()
        .out;
    assert_eq!(again.replace("again", "naive"), same);
}

#[test]
fn different_items_do_not_compare() {
    let place = products();
    let words = [
        "profile",
        "-q",
        "-o",
        "bytes",
        "--granularity",
        "8",
        "--",
        "./matmul",
        "naive",
        "16",
    ];
    place.run(&words).succeeds();
    let json = place
        .run(&["report", "naive.rlprof", "--json", "-"])
        .succeeds()
        .out;
    let line = common::Json::parse(&json).number("granularity_bytes");
    let done = place
        .run(&["diff", "naive.rlprof", "bytes.rlprof"])
        .fails(1);
    done.says(&[
        "different items",
        &format!("{line} and 8 bytes"),
        "--granularity",
    ]);
    place
        .run(&["diff", "bytes.rlprof", "naive.rlprof", "--html", "x.html"])
        .fails(1);
    assert!(!place.path("x.html").exists());
}

#[test]
fn two_inputs_of_one_program_show_what_moves() {
    let place = products();
    place
        .run(&[
            "profile", "-q", "-o", "large", "--", "./matmul", "naive", "96",
        ])
        .succeeds();
    let done = place
        .run(&["diff", "--inputs", "naive.rlprof", "large.rlprof"])
        .succeeds();
    assert!(done.out.contains("evadable"), "{}", done.out);
    let change = place
        .run(&["diff", "naive.rlprof", "tiled.rlprof"])
        .succeeds();
    assert!(
        !change.out.contains("evadable"),
        "one input: {}",
        change.out
    );
}

#[test]
fn the_page_is_written_once() {
    let place = products();
    let words = [
        "diff",
        "naive.rlprof",
        "tiled.rlprof",
        "--html",
        "change.html",
    ];
    place.run(&words).succeeds().prints(&["Page: change.html"]);
    is_offline_page(&place.read("change.html"));
    place
        .run(&words)
        .fails(1)
        .says(&["change.html", "exists already"]);
    place.run(&[&words[..], &["-f", "-q"]].concat()).succeeds();
}

#[test]
fn diff_rejects_files_that_are_no_profiles() {
    let place = Place::new();
    place.write("trace", "a b c a");
    place
        .run(&["diff", "trace", "trace"])
        .fails(1)
        .says(&["not a reuselens profile"]);
    place
        .run(&["diff", "a.rlprof", "b.rlprof"])
        .fails(1)
        .says(&["cannot read a.rlprof"]);
    place.run(&["diff", "trace"]).fails(2).says(&["AFTER"]);
    place
        .run(&["diff", "trace", "trace", "--csv", "-"])
        .fails(2)
        .says(&["reuselens report"]);
}

#[test]
fn a_comparison_is_exported_and_gated() {
    let place = old_and_new();
    let words = [
        "diff",
        "old.rlprof",
        "new.rlprof",
        "--fail-if",
        "misses@3 > +100 %",
        "accesses > +30 %",
    ];
    let done = place.run(&words).ends_with(3);
    done.clone().prints(&[
        "before old.rlprof",
        "2 of 2 limits are broken",
        "accesses > +30 %",
    ]);
    done.says(&["limit broken: misses@3 > +100 %: 8 now, 3 in the base (+166.67 %)"]);
    let done = place
        .run(&[&words[..], &["--json", "-"]].concat())
        .ends_with(3);
    let json = common::Json::parse(&done.out).0;
    assert_eq!(json["schema"], "reuselens-diff/1");
    assert_eq!(
        (&json["before"]["accesses"], &json["after"]["cold"]),
        (&6.into(), &4.into())
    );
    let size = |items: u64| {
        let sizes = json["sizes"].as_array().unwrap().iter();
        sizes.clone().find(|size| size[0] == items).unwrap().clone()
    };
    assert_eq!(size(3), serde_json::json!([3, 3, 3, 8, 0.0]));
    assert_eq!(size(4), serde_json::json!([4, 4, 3, 4, 0.0]));
    assert_eq!(json["bins"][2], serde_json::json!([2, 3, 3, 4]));
    assert_eq!(json["limits"][0]["result"], "broken");
    assert_eq!(json["losses"][0]["is_last"], true);
    place
        .run(&[
            "diff",
            "old.rlprof",
            "new.rlprof",
            "--fail-if",
            "misses@3 > +200 %",
        ])
        .succeeds()
        .prints(&["the limit holds"]);
}

/// Which is before and which is after can be seen from what is printed alone.
#[test]
fn the_two_files_are_named() {
    let place = Place::new();
    place.write("trace", "a b c a b c\n");
    for name in ["old", "new"] {
        place
            .run(&["analyze", "-q", "trace", "-o", name])
            .succeeds();
    }
    let done = place.run(&["diff", "old.rlprof", "new.rlprof"]).succeeds();
    done.prints(&["before  old.rlprof: trace", "after   new.rlprof: trace"]);
}

/// What `advise` finds in a program is gone in one with the remedy, and the totals say why.
#[test]
fn diff_confirms_what_advise_proposes() {
    if !crate::common::caches_are_known() {
        return;
    }
    let place = Place::new();
    for name in ["strides", "padded_rows"] {
        place.build(&format!("advice/{name}.c"), &["-O2"]);
        let program = format!("./{name}");
        let words = ["profile", "-q", "--why=32K", "-o", name, "--", &program];
        place.run(&words).succeeds();
    }
    let files = ["strides.rlprof", "padded_rows.rlprof"];
    let words = [
        &["diff"][..],
        &files[..],
        &["--json", "diff.json", "--html", "diff.html"],
    ]
    .concat();
    let done = place.run(&words).succeeds();
    done.prints(&[
        "with its sets, counted",
        "Findings that are gone",
        "Strides that use a few sets of the cache",
    ]);
    let json = common::Json::parse(&place.text("diff.json"));
    let findings = json.0["findings"].as_array().unwrap();
    let gone = findings.iter().filter(|it| it["change"] == "gone");
    let rules: Vec<&str> = gone
        .filter_map(|it| it["before"]["rule"].as_str())
        .collect();
    assert!(rules.contains(&"set-conflicts"), "{findings:#?}");
    assert!(place.text("diff.html").contains("Findings that are gone"));
    // Another command compares runs on a GPU.
    let refused = place.run(&[&["gpu", "diff"][..], &files].concat()).fails(2);
    refused.says(&[
        "is the profile of a program",
        "reuselens diff strides.rlprof padded_rows.rlprof",
    ]);
}
