//! `reuselens analyze`: every format, and traces that are damaged or none.

use std::path::Path;

use crate::common::{self, DIMENSIONS, Json, Place};

fn analyzed(place: &Place, options: &[&str]) -> Json {
    let words = [
        &["analyze", "-q", "-f", "--bins", "exact", "--json", "-"],
        options,
    ]
    .concat();
    Json::parse(&place.run(&words).succeeds().out)
}

#[test]
fn text_trace_has_one_item_per_word() {
    let place = Place::new();
    for (text, counts, cold) in [
        ("a b c a", &[[2, 2, 1]][..], 3),
        ("a b c a a c b\n", &[[0, 0, 1], [1, 1, 1], [2, 2, 2]], 3),
        ("1\n2\n1\n", &[[1, 1, 1]], 2),
        ("16 0x10 16\n", &[[0, 0, 2]], 1),
        ("x y # x\nx\n", &[[1, 1, 1]], 2),
        ("a", &[], 1),
    ] {
        place.write("t.txt", text);
        let json = analyzed(&place, &["--format", "text", "t.txt"]);
        assert_eq!(
            (json.counts().as_slice(), json.number("cold")),
            (counts, cold),
            "{text}"
        );
        assert_eq!(json.number("granularity_bytes"), 1);
    }
}

#[test]
fn granularity_does_not_change_items_of_id_traces() {
    let place = Place::new();
    let ids = [1_u64, 2, 3, 1, 1, 3, 2, u64::MAX, 1 << 48, u64::MAX];
    place.write_items("ids.u64", ids);
    let known = [[0, 0, 1], [1, 1, 2], [2, 2, 2]];
    for options in [&["ids.u64"][..], &["ids.u64", "--granularity", "64"]] {
        let json = analyzed(&place, options);
        assert_eq!(json.counts(), known);
        assert_eq!(json.number("granularity_bytes"), 1);
    }
    // Without the ending only by name: a wrong guess gives wrong numbers without a word.
    std::fs::rename(place.path("ids.u64"), place.path("ids.raw")).unwrap();
    place
        .run(&["analyze", "-f", "ids.raw"])
        .fails(1)
        .says(&["ids.raw", "--format u64"]);
    assert_eq!(
        analyzed(&place, &["ids.raw", "--format", "u64"]).counts(),
        known
    );
}

#[test]
fn lackey_format_is_detected_and_read() {
    let place = Place::new();
    let text =
        "==1== Lackey, an example Valgrind tool\nI  04001000,3\n L 1000,8\n S 1040,4\n M 1000,8\n";
    place.write("l.txt", text);
    let json = analyzed(&place, &["l.txt", "--granularity", "64"]);
    assert_eq!(json.counts(), [[0, 0, 1], [1, 1, 1]]);
    let loads = analyzed(&place, &["l.txt", "--granularity", "64", "--kind", "loads"]);
    assert_eq!((loads.number("accesses"), loads.number("distinct")), (2, 1));
    let bytes = analyzed(
        &place,
        &["l.txt", "--granularity", "1", "--format", "lackey"],
    );
    assert_eq!(bytes.number("accesses"), 8 + 4 + 8 + 8);
}

#[test]
fn analyze_reads_standard_input() {
    let place = Place::new();
    let words = ["analyze", "-", "--json", "-", "--bins", "exact"];
    let done = place.run_on("a b c a", &words).succeeds();
    assert_eq!(Json::parse(&done.out).counts(), [[2, 2, 1]]);
    assert_eq!(place.files(), ["stdin.html", "stdin.rlprof"]);
    place
        .run_on("a b", &["analyze", "-"])
        .succeeds()
        .prints(&["stdin.2.rlprof"]);
    place
        .run_on("a b", &["analyze", "-", "-o", "stdin"])
        .fails(1)
        .says(&["stdin.rlprof", "exists already"]);
    place
        .run_on("a b", &["analyze", "-", "-o", "two"])
        .succeeds()
        .prints(&["accesses to", "two.html"]);
    place
        .run_on("", &["analyze", "-", "-o", "three"])
        .fails(1)
        .says(&["is empty"]);
    assert!(!place.path("three.rlprof").exists());
}

#[test]
fn outputs_are_named_after_the_trace() {
    let place = Place::new();
    std::fs::create_dir(place.path("traces")).unwrap();
    place.write("traces/a.b.txt", "a b c a");
    place
        .run(&["analyze", "traces/a.b.txt"])
        .succeeds()
        .prints(&["accesses to", "Next: "]);
    assert_eq!(place.files(), ["a.b.html", "a.b.rlprof", "traces"]);
    common::is_offline_page(&place.read("a.b.html"));
    place
        .run(&["analyze", "traces/a.b.txt", "-o", "a.b"])
        .fails(1)
        .says(&["a.b.rlprof", "exists already"]);
    place
        .run(&["analyze", "traces/a.b.txt", "-f", "-q"])
        .succeeds();
    assert_eq!(std::fs::read_dir(place.path("traces")).unwrap().count(), 1);
}

#[test]
fn accesses_without_names_count_in_every_grouping() {
    let place = Place::new();
    place.write("t.txt", "a b c a b c a");
    let json = analyzed(&place, &["t.txt", "--by", &DIMENSIONS.join(",")]);
    for by in DIMENSIONS {
        let sum: u64 = json.groups(by).iter().map(|group| group.accesses).sum();
        assert_eq!(sum, 7, "{by}");
    }
    // Groups that say nothing are there only if they were asked for.
    let json = analyzed(&place, &["t.txt"]);
    assert_eq!(json.0["groups"], serde_json::json!([]));
}

#[test]
fn equal_traces_give_equal_bytes() {
    let place = Place::new();
    let text: String = (0..3000_u64).map(|i| format!("{} ", i * i % 509)).collect();
    place.write("t.txt", text);
    for name in ["a", "b"] {
        place
            .run(&["analyze", "-q", "t.txt", "-o", name])
            .succeeds();
    }
    assert!(place.read("a.rlprof") == place.read("b.rlprof"));
    assert!(place.read("a.html") == place.read("b.html"));
}

#[test]
fn analyze_rejects_files_that_are_no_traces() {
    let place = Place::new();
    place.write("empty", "");
    place.write(
        "noise",
        (0..1000_u32)
            .map(|i| ((i * i * 7) >> 3) as u8)
            .collect::<Vec<u8>>(),
    );
    place.write(
        "prose",
        "What is this? It is prose, and no trace;\nbut every word could be an item.\n",
    );
    place.write("packed.bz2", b"BZh91AY&SY");
    place.write("packed.gz", b"\x1f\x8b\x08\0\0\0\0\0\0\x03");
    place.write("packed.zst", b"\x28\xb5\x2f\xfd\0\0\0\0");
    std::fs::create_dir(place.path("folder")).unwrap();
    for (trace, hints) in [
        ("empty", &["empty is empty"][..]),
        (
            "noise",
            &["those of no trace", "--format u64", "reuselens formats"],
        ),
        ("prose", &["--format text"]),
        (
            "packed.bz2",
            &["compressed with bzip2", "| reuselens analyze -"],
        ),
        ("packed.gz", &["packed.gz: its gzip data is cut off"]),
        ("packed.zst", &["packed.zst: its zstd data is cut off"]),
        ("folder", &["folder"]),
        ("none", &["cannot open none", "No such file"]),
    ] {
        place.run(&["analyze", trace]).fails(1).says(hints);
    }
    place
        .run(&["analyze", "noise", "--format", "native"])
        .fails(1)
        .says(&["noise"]);
    place
        .run(&["analyze", "prose", "--format", "lackey"])
        .fails(1)
        .says(&["prose"]);
    place
        .run(&["analyze", "prose", "--format", "tea"])
        .fails(2)
        .says(&["'tea'", "reuselens formats"]);
    place.run(&["analyze"]).fails(2).says(&["TRACE"]);
    let expected = [
        "empty",
        "folder",
        "noise",
        "packed.bz2",
        "packed.gz",
        "packed.zst",
        "prose",
    ];
    assert_eq!(place.files(), expected, "no half results");
    // A profile is no trace; what to do with it is said.
    place.write("t.txt", "a b a");
    place.run(&["analyze", "-q", "t.txt"]).succeeds();
    place.run(&["analyze", "t.rlprof", "-o", "x"]).fails(1);
}

/// Records a run of more than one chunk; its accesses.
fn long_trace(place: &Place) -> u64 {
    place.record_count("t.rltrace", common::LONG_RUN);
    let json = analyzed(place, &["t.rltrace"]);
    assert_eq!(json.warnings(), [""; 0]);
    json.number("accesses")
}

/// Analyses what is left of a trace: all before the damage and a warning, or a clear refusal.
/// Returns the accesses that were read.
fn damaged(place: &Place, bytes: &[u8]) -> u64 {
    place.write("bad.rltrace", bytes);
    let _ = std::fs::remove_file(place.path("bad.json"));
    let done = place.run(&["analyze", "-f", "bad.rltrace", "--json", "bad.json"]);
    if !place.path("bad.json").exists() {
        done.fails(1).says(&["bad.rltrace"]);
        return 0;
    }
    let json = place.json("bad.json");
    if json.warnings() == ["damaged-index"] {
        done.succeeds()
            .prints(&["nothing that was recorded is missing"]);
        return json.number("accesses");
    }
    assert_eq!(json.warnings(), ["truncated"]);
    assert!(
        json.0["outcome"]["incomplete"].is_string(),
        "{}",
        json.0["outcome"]
    );
    // The summary says it too.
    done.ends_with(4)
        .prints(&["everything before it was read", "record it again"]);
    json.number("accesses")
}

#[test]
fn truncated_trace_is_analysed_up_to_the_cut() {
    let place = Place::new();
    let all = long_trace(&place);
    let whole = place.read("t.rltrace");
    let size = whole.len();
    let cuts = [
        1,
        7,
        8,
        9,
        30,
        100,
        size / 8,
        size / 4,
        size / 2,
        size * 3 / 4,
        size - 100,
        size - 41,
        size - 1,
    ];
    let found = cuts.map(|length| damaged(&place, &whole[..length]));
    assert!(
        found.windows(2).all(|pair| pair[0] <= pair[1]),
        "more of it, more accesses: {found:?}"
    );
    assert!(
        found.iter().any(|read| (1..all).contains(read)),
        "part of it is read: {found:?}"
    );
    assert_eq!(found[12], all, "only the ending is missing");
}

#[test]
fn changed_trace_is_never_read_as_complete() {
    let place = Place::new();
    let all = long_trace(&place);
    let whole = place.read("t.rltrace");
    for position in (0..whole.len())
        .step_by(whole.len() / 16)
        .chain([1, 8, 12, whole.len() - 1])
    {
        let mut bytes = whole.clone();
        bytes[position] ^= 0x55;
        assert!(damaged(&place, &bytes) <= all, "byte {position}");
    }
    let twice = [&whole[..], &whole[..]].concat();
    assert!(
        damaged(&place, &twice) <= all,
        "what follows the ending is not of the trace"
    );
    let half = [&whole[..whole.len() / 2], &whole[whole.len() / 2 + 5..]].concat();
    assert!(damaged(&place, &half) <= all, "bytes are missing");
}

#[test]
fn truncated_numbers_are_read_up_to_the_cut() {
    let place = Place::new();
    place.write(
        "odd.u64",
        [1_u64, 2, 1]
            .map(u64::to_le_bytes)
            .concat()
            .split_last()
            .unwrap()
            .1,
    );
    let words = ["analyze", "odd.u64", "--json", "odd.json"];
    place.run(&words).ends_with(4);
    let json = place.json("odd.json");
    assert_eq!(
        (json.number("accesses"), json.warnings()),
        (2, vec!["truncated".to_owned()])
    );
}

#[test]
fn truncated_trace_is_reported_first_and_exits_with_4() {
    let place = Place::new();
    place.write("cut.u64", [7; 8 + 3]);
    place.write("cut.csv", "address,kind\n0x10,R\n0x2");
    place.write("cut.lackey", "I  04001000,3\n L 1ffeffe7e,8\n S 10");
    place.write("cut.msr", "1,h,0,Read,5,6,7\n1,h,0,Re");
    for trace in ["cut.u64", "cut.csv", "cut.lackey", "cut.msr"] {
        let words = ["analyze", "-f", trace, "--json", "cut.json"];
        let done = place.run(&words).ends_with(4);
        let first = done.out.lines().next().unwrap_or_default();
        assert!(first.contains("NOT COMPLETE"), "{trace}: {first}");
        let page = place.text("cut.html");
        let head = page.split("</h1>").next().unwrap_or_default();
        assert!(head.contains("NOT COMPLETE"), "{trace}");
        assert_eq!(place.json("cut.json").0["input_complete"], false);
        // The profile was read well, and still shows it.
        let done = place.run(&["report", "cut.rlprof"]).succeeds();
        assert!(done.out.lines().next().unwrap().contains("NOT COMPLETE"));
        for words in [
            &["info", trace][..],
            &["convert", "-f", trace, "copy.rltrace", "--to", "native"],
            &["analyze", "-f", "-o", "copy", "copy.rltrace"],
            &["shard", "1/1", trace, "-f", "-o", "cut.rlpart"],
            &["merge", "-f", "-o", "cut", "cut.rlpart"],
        ] {
            place.run(words).ends_with(4);
        }
    }
    place.write("good.u64", [7; 16]);
    let done = place.run(&["analyze", "good.u64", "--json", "good.json"]);
    let done = done.succeeds();
    assert!(!done.out.contains("NOT COMPLETE"), "{}", done.out);
    assert!(place.json("good.json").0["input_complete"].is_null());
}

/// With the index as the only thing that is wrong, nothing is missing and nothing was cut off.
#[test]
fn trace_with_damaged_index_is_complete() {
    let place = Place::new();
    place.write("t.txt", "a b c a b");
    let words = ["convert", "t.txt", "t.rltrace"];
    place.run(&words).succeeds();
    let whole = place.read("t.rltrace");
    let end = whole.len();
    for bytes in [
        &[&whole[..end - 1], &[!whole[end - 1]]].concat()[..],
        &whole[..end - 10],
    ] {
        place.write("bad.rltrace", bytes);
        let json = analyzed(&place, &["bad.rltrace"]);
        assert_eq!(json.warnings(), ["damaged-index"]);
        assert_eq!(json.number("accesses"), 5);
        let words = ["convert", "-f", "bad.rltrace", "good.rltrace"];
        place.run(&words).succeeds();
        let json = analyzed(&place, &["good.rltrace"]);
        assert_eq!(json.warnings(), [""; 0], "a copy has a sound index");
    }
}

#[test]
fn capture_and_lackey_see_the_same_accesses() {
    if !common::has("valgrind") {
        return;
    }
    let place = Place::new();
    place.write("none.txt", "");
    let done = std::process::Command::new("valgrind")
        .args([
            "--tool=lackey",
            "--trace-mem=yes",
            "--log-file=l.txt",
            "/bin/true",
        ])
        .current_dir(place.path(""))
        .output()
        .unwrap();
    if !Path::new(&place.path("l.txt")).exists() || !done.status.success() {
        return reuselens_testing::skip("valgrind does not run here");
    }
    let lines = place.text("l.txt");
    let count = |start: &str| lines.lines().filter(|line| line.starts_with(start)).count() as u64;
    let json = analyzed(&place, &["l.txt"]);
    assert_eq!(
        json.number("references"),
        count(" L ") + count(" S ") + 2 * count(" M ")
    );
}

#[test]
fn times_and_forward_distances_are_exported_where_asked_for() {
    let place = Place::new();
    place.write("t.txt", "a b b a c a");
    let json = |options: &[&str]| -> serde_json::Value {
        let words = [
            "analyze", "-q", "-f", "t.txt", "--format", "text", "--json", "-",
        ];
        let words = [&words[..], &["--by", "program"], options].concat();
        serde_json::from_str(&place.run(&words).succeeds().out).unwrap()
    };
    let all = json(&["--times", "--forward"]);
    // b b: none between; a b b a: two; a c a: one.
    let counts = serde_json::json!([[0, 0, 1], [1, 1, 1], [2, 3, 1]]);
    assert_eq!(all["reuse_times"]["counts"], counts);
    assert_eq!(all["reuse_times"]["cold"], 3);
    let footprint = all["footprint"].as_array().unwrap();
    assert_eq!(footprint[0], serde_json::json!([1, 1.0]));
    assert_eq!(footprint[1], serde_json::json!([2, 1.8]));
    assert_eq!(footprint[5], serde_json::json!([6, 3.0]));
    let group = &all["groups"][0];
    assert_eq!(group["forward"]["counts"], group["histogram"]["counts"]);
    assert_eq!(group["forward"]["cold"], 3);
    let plain = json(&[]);
    assert!(plain.get("reuse_times").is_none() && plain.get("footprint").is_none());
    assert_eq!(plain["histogram"], all["histogram"]);
    assert!(plain["groups"][0].get("forward").is_none());
    // They are kept in the profile.
    let words = ["report", "t.rlprof", "-q", "--json", "-"];
    let before = json(&["--times"]);
    let again = place.run(&words).succeeds().out;
    let again: serde_json::Value = serde_json::from_str(&again).unwrap();
    assert_eq!(again["footprint"], before["footprint"]);
    let done = place.run(&["analyze", "-f", "t.txt", "--format", "text", "--times"]);
    done.succeeds().prints(&["Reuse times: half of the reuses"]);
}

#[test]
fn max_distance_bounds_the_curve_and_is_reported() {
    let place = Place::new();
    let words: Vec<String> = (0..30_000_u64)
        .map(|at| if at % 2 == 0 { at } else { 1_000_001 + at % 60 })
        .map(|item| item.to_string())
        .collect();
    place.write("t.txt", words.join("\n"));
    let json = |options: &[&str]| -> serde_json::Value {
        let words = [
            "analyze", "-q", "-f", "t.txt", "--format", "text", "--bins", "exact",
        ];
        let words = [&words[..], &["--json", "-"], options].concat();
        serde_json::from_str(&place.run(&words).succeeds().out).unwrap()
    };
    let whole = json(&[]);
    assert_eq!(
        whole["histogram"]["counts"],
        serde_json::json!([[59, 59, 14_970]])
    );
    assert_eq!(
        json(&["--max-distance", "60"])["histogram"]["counts"],
        whole["histogram"]["counts"]
    );
    let bounded = json(&["--max-distance", "59"]);
    assert_eq!(bounded["histogram"]["counts"], serde_json::json!([]));
    assert_eq!(bounded["histogram"]["cold"], 30_000);
    assert_eq!(bounded["max_distance"], 59);
    assert_eq!(bounded["distinct"], serde_json::Value::Null);
    assert_eq!(bounded["warnings"][0]["code"], "max-distance");
    let wrong = |options: &[&str]| place.run(&[&["analyze", "t.txt"], options].concat());
    wrong(&["--most-paths", "9"])
        .fails(2)
        .says(&["--most-paths is for paths", "--by path"]);
    wrong(&["--most-paths", "0"]).fails(2).says(&["above 0"]);
    wrong(&["--most-paths", "1G", "--by", "path"])
        .fails(2)
        .says(&["--most-paths 1000000000", "268M at most"]);
    wrong(&["--max-distance", "0"]).fails(2).says(&["above 0"]);
    wrong(&["--max-distance", "9", "--times"])
        .fails(2)
        .says(&["--times"]);
    let words = ["--max-distance", "9", "--engine", "olken", "-f"];
    wrong(&words).fails(2).says(&["only 'counting' can"]);
}

/// A stream with near and far reuses: half of the accesses to 300 items, half to 40,000.
fn mixed(accesses: u64) -> Vec<u8> {
    let mut state = 7_u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let item = |_| match next() % 2 {
        0 => next() % 300,
        _ => 1000 + next() % 40_000,
    };
    (0..accesses).map(item).flat_map(u64::to_le_bytes).collect()
}

fn bounds(json: &Json) -> Vec<(u64, f64)> {
    let points = json.0["error_bounds"]["points"].as_array().unwrap();
    let point =
        |point: &serde_json::Value| (point[0].as_u64().unwrap(), point[1].as_f64().unwrap());
    points.iter().map(point).collect()
}

fn ratio_at(json: &Json, items: u64) -> Option<f64> {
    let curve = json.0["miss_ratio_curve"].as_array().unwrap();
    let point = curve.iter().find(|point| point[0] == items)?;
    point[2].as_f64()
}

#[test]
fn sample_estimates_items_unless_the_rate_is_1() {
    let place = Place::new();
    place.write("mixed.u64", mixed(900_000));
    let done = |rate| {
        let words = ["analyze", "mixed.u64", "--force", "--sample", rate];
        place.run(&words).succeeds()
    };
    done("4%").prints(&[" to about ", "distinct items"]);
    let known = place.run(&["info", "mixed.rlprof"]).succeeds();
    known.prints(&["accesses to about "]);
    let whole = done("100%").prints(&["sampled engine, exact: no sample had to be taken"]);
    assert!(!whole.out.contains(" to about "), "{}", whole.out);
}

#[test]
fn a_sampled_curve_is_within_its_bounds_and_its_counts_add_up() {
    let place = Place::new();
    place.write("mixed.u64", mixed(900_000));
    let exact = analyzed(&place, &["mixed.u64"]);
    let sampled = analyzed(
        &place,
        &["mixed.u64", "--sample", "4%", "--by", "program,line"],
    );
    assert_eq!(sampled.0["engine"], "sampled");
    assert_eq!(
        (&sampled.0["exact"], &exact.0["exact"]),
        (&false.into(), &true.into())
    );
    assert!(exact.0["error_bound"].is_null() && exact.0["error_bounds"].is_null());
    assert_eq!(sampled.number("accesses"), 900_000);
    let finite: u64 = sampled.counts().iter().map(|count| count[2]).sum();
    assert_eq!(finite + sampled.number("cold"), 900_000);
    let groups = sampled.0["groups"].as_array().unwrap();
    assert!(
        groups.iter().all(|group| group["accesses"] == 900_000),
        "{groups:?}"
    );

    let bounds = bounds(&sampled);
    let largest = bounds.iter().map(|bound| bound.1).fold(0.0, f64::max);
    assert_eq!(sampled.0["error_bound"].as_f64(), Some(largest));
    let compared: Vec<_> = bounds
        .iter()
        .filter_map(|(items, half)| {
            let error = ratio_at(&sampled, *items)? - ratio_at(&exact, *items)?;
            Some((error.abs(), *half))
        })
        .collect();
    let within = compared
        .iter()
        .filter(|(error, half)| *error <= half + 1e-6);
    assert!(
        compared.len() > 60 && within.count() * 10 > compared.len() * 9,
        "{compared:?}"
    );

    let again = place
        .run(&["analyze", "-f", "mixed.u64", "--sample", "0.04"])
        .succeeds();
    again.prints(&["4.00 % of the items", "95 % confidence"]);
    let other = analyzed(&place, &["mixed.u64", "--sample", "0.04", "--seed", "2"]);
    assert_ne!(other.0["miss_ratio_curve"], sampled.0["miss_ratio_curve"]);
}

#[test]
fn short_traces_are_exact_whatever_the_rate() {
    let place = Place::new();
    place.write("short.u64", mixed(20_000));
    let exact = analyzed(&place, &["short.u64"]);
    let sampled = analyzed(&place, &["short.u64", "--engine", "sampled"]);
    assert_eq!(
        (&sampled.0["engine"], &sampled.0["exact"]),
        (&"sampled".into(), &true.into())
    );
    assert_eq!(sampled.counts(), exact.counts());
}

/// Every item is new, and there is no room for all of them.
#[test]
fn memory_limit_starts_sampling_or_stops_an_exact_engine() {
    let place = Place::new();
    let items = (0..4_000_000_u64).map(|item| item * 3);
    place.write_items("new.u64", items);
    let sampled = analyzed(&place, &["new.u64", "--memory-limit", "24M"]);
    assert_eq!(sampled.warnings(), ["sampled"]);
    assert_eq!(
        (&sampled.0["engine"], &sampled.0["exact"]),
        (&"sampled".into(), &false.into())
    );
    assert_eq!(sampled.number("accesses"), 4_000_000);
    let cold = sampled.number("cold") as f64 / 4_000_000.0;
    assert!((cold - 1.0).abs() < 0.05, "{cold}");

    let options = ["new.u64", "--memory-limit", "24M", "--engine", "counting"];
    let stopped = analyzed(&place, &options);
    assert_eq!(stopped.warnings(), ["memory-limit"]);
    assert!(stopped.number("accesses") < 4_000_000);
    assert_eq!(stopped.0["exact"], true);
}

#[test]
fn analyze_rejects_invalid_rates_and_engines_that_do_not_sample() {
    let place = Place::new();
    place.write("t.txt", "a b c a");
    for rate in ["0", "1.5", "-1", "101%", "much"] {
        let option = format!("--sample={rate}");
        place
            .run(&["analyze", "t.txt", &option])
            .fails(2)
            .says(&["--sample 0.01"]);
    }
    let words = ["analyze", "t.txt", "--sample", "1%", "--engine", "olken"];
    place
        .run(&words)
        .fails(2)
        .says(&["'olken'", "--engine sampled"]);
    assert_eq!(place.files(), ["t.txt"]);
}

#[test]
fn analyze_names_the_command_for_profiles_and_parts() {
    let place = Place::new();
    place.write("t.txt", "a b c a");
    place.run(&["analyze", "-q", "t.txt"]).succeeds();
    place.run(&["shard", "-q", "1/2", "t.txt"]).succeeds();
    for verb in [&["analyze"][..], &["shard", "1/1"], &["convert"]] {
        let on = |file: &str| {
            let rest: &[&str] = if verb == ["convert"] { &["out"] } else { &[] };
            place.run(&[verb, &[file], rest].concat()).fails(1)
        };
        on("t.rlprof").says(&["t.rlprof", "a profile", "reuselens report t.rlprof"]);
        on("t.1-of-2.rlpart").says(&["a part", "reuselens merge t.1-of-2.rlpart"]);
    }
}

#[test]
fn id_traces_show_no_sizes_and_no_source_lines() {
    if !crate::common::caches_are_known() {
        return;
    }
    let place = Place::new();
    place.write("t.txt", "a b c a b c d e f\n".repeat(50_000));
    let done = place.run(&["analyze", "-f", "t.txt"]).succeeds();
    done.clone().prints(&[
        "its caches say nothing about ids",
        "Misses in 32.8 k items (assumed: ids have no size",
        "No table of lines, objects, contexts",
    ]);
    for word in ["L1d", "ends here", "unknown line", "KiB"] {
        assert!(!done.out.contains(word), "{word} in {}", done.out);
    }
    let by = ["analyze", "-f", "t.txt", "--cache", "4"];
    let done = place.run(&by).succeeds();
    done.prints(&["Misses in 4 items (the size asked for): 300 k, 66.7 %"]);
    place
        .run(&["analyze", "-f", "t.txt", "--cache", "L1"])
        .fails(2)
        .says(&["ids", "--cache 4096"]);
    place
        .run(&["analyze", "-f", "t.txt", "--data", "heap"])
        .fails(2)
        .says(&["a trace of ids", "leave out --data"]);
    place.write_items("n.u64", (0..200_000).map(|i| i * i % 70_001));
    let done = place.run(&["analyze", "-f", "n.u64"]).succeeds();
    let bars = done.out.lines().filter(|line| line.contains(" items – "));
    let ends: Vec<Option<usize>> = bars
        .map(|line| line.chars().position(|c| ('█'..='▏').contains(&c)))
        .collect();
    assert!(
        ends.len() > 10 && ends.iter().all(|end| *end == ends[0]),
        "{}",
        done.out
    );
}

#[test]
fn ranking_by_a_cache_beyond_max_distance_fails() {
    let place = Place::new();
    place.write(
        "l.txt",
        "I  04001000,3\n L 1ffe,8\n S 1000,57600\n L 1ffe,8\n",
    );
    let run = |options: &[&str]| {
        place.run(&[&["analyze", "-f", "l.txt", "--granularity", "64"], options].concat())
    };
    run(&["--max-distance", "100", "--by", "instruction"])
        .succeeds()
        .prints(&[
            "Most misses in 6.3 KiB by instruction",
            "exact below distances of 100 items",
        ]);
    run(&["--max-distance", "100", "--cache", "6400"]).succeeds();
    run(&["--max-distance", "100", "--cache", "8K"])
        .fails(2)
        .says(&["--cache 8K holds 128 items", "--max-distance"]);
    run(&["--max-distance", "100", "-q"]).succeeds();
    place
        .run(&["report", "l.rlprof", "--cache", "8K"])
        .fails(2)
        .says(&["--cache 8K holds 128 items"]);
    for (typed, items) in [
        ("1K", 1_000),
        ("1k", 1_000),
        ("1.5M", 1_500_000),
        ("2_000", 2_000),
    ] {
        let json = analyzed(&place, &["l.txt", "--max-distance", typed]);
        assert_eq!(json.number("max_distance"), items, "{typed}");
    }
    for typed in [
        "0",
        "1.5",
        "1.0001k",
        "K",
        "",
        "1e3",
        "99999999999G",
        "1KiB",
    ] {
        run(&["--max-distance", typed]).fails(2).says(&["4M"]);
    }
}

#[test]
fn analyze_rejects_contradictory_and_unused_options() {
    let place = Place::new();
    place.write("t.txt", "a b c a");
    for (options, code, hints) in [
        (
            &["--forward", "--sample", "1%"][..],
            2,
            &["--sample and --forward", "leave out"][..],
        ),
        (
            &["--max-distance", "9", "--sample", "1%"],
            2,
            &["--sample and --max-distance"],
        ),
        (
            &["--seed", "3", "--engine", "olken"],
            2,
            &["--seed", "'olken'", "--engine sampled"],
        ),
        (
            &["--disable-adjusting"],
            2,
            &["--disable-adjusting", "'auto'", "--engine hp-rda"],
        ),
        (&["--threads", "0"], 2, &["1 thread or more"]),
    ] {
        let done = place.run(&[&["analyze", "-q", "t.txt"], options].concat());
        done.fails(code).says(hints);
    }
    place
        .run(&["shard", "1/2", "t.txt", "--seed", "3"])
        .fails(2)
        .says(&["--seed", "leave it out"]);
    analyzed(&place, &["t.txt", "--seed", "3", "--sample", "1%"]);
    analyzed(
        &place,
        &["t.txt", "--engine", "hp-rda", "--disable-adjusting"],
    );
    assert!(place.run(&["analyze", "--help"]).out.contains("element"));
}

/// Whoever asked for silence still hears that there is less than there should be.
#[test]
fn quiet_still_warns_of_incomplete_results() {
    let place = Place::new();
    let text = "a b c a ".repeat(100_000);
    place.write("t.txt", &text);
    let done = place.run(&["analyze", "-q", "-f", "t.txt"]).succeeds();
    assert_eq!((done.out.as_str(), done.err.as_str()), ("", ""));
    place.write_items("n.u64", [1, 2, 1]);
    let mut cut = place.read("n.u64");
    cut.pop();
    place.write("n.u64", cut);
    let warning = "reuselens: warning: n.u64";
    let quiet = ["analyze", "-q", "-f", "n.u64"];
    let json = ["analyze", "-f", "n.u64", "--json", "-"];
    let report = ["report", "-q", "n.rlprof"];
    for (words, code) in [(&quiet[..], 4), (&json, 4), (&report, 0)] {
        let done = place.run(words).ends_with(code);
        assert!(done.err.contains(warning), "{words:?}: {done:?}");
        assert_eq!(done.err.lines().count(), 1, "{done:?}");
    }
    let done = place.run(&["analyze", "-f", "n.u64"]).ends_with(4);
    assert_eq!(done.err, "", "the summary has said so");
}

/// Where the system gives no thread, there is one: stacks that no memory has room for.
#[test]
fn analyze_works_when_threads_are_refused() {
    let place = Place::new();
    place.write("t.txt", "a b c a b c d e f\n".repeat(50_000));
    place
        .run(&["analyze", "-q", "t.txt", "-o", "two", "--threads", "2"])
        .succeeds();
    for engine in ["auto", "counting"] {
        let words = [
            "analyze",
            "-q",
            "-f",
            "t.txt",
            "-o",
            "one",
            "--threads",
            "2",
            "--engine",
            engine,
        ];
        let mut command = place.command(&words);
        command.env("RUST_MIN_STACK", (1_u64 << 46).to_string());
        common::Done::of(&mut command).succeeds();
        assert!(place.read("one.rlprof") == place.read("two.rlprof"));
    }
}

/// A row of half a GiB: eight million lines.
#[test]
fn memory_limit_is_checked_within_a_row() {
    let place = Place::new();
    place.write("l.csv", "address,size\n0x1000000,536870912\n0x1ffe,8\n");
    let limit = ["l.csv", "--granularity", "64", "--memory-limit", "20M"];
    let stopped = analyzed(&place, &[&limit[..], &["--engine", "counting"]].concat());
    assert_eq!(stopped.warnings(), ["memory-limit"]);
    let accesses = stopped.number("accesses");
    assert!((1 << 18..8 << 20).contains(&accesses), "{accesses}");
    let sampled = analyzed(&place, &limit);
    assert_eq!(sampled.warnings(), ["sampled"]);
    // The load lies on two lines.
    assert_eq!(sampled.number("accesses"), (512 << 14) + 2);
}

/// Two threads at the same time: each goes over lines that are its own, and over lines that both
/// have.
const TWO_THREADS: &str = r#"
#include <pthread.h>
enum { LINES = 500, ROUNDS = 20 };
static volatile char own[2][LINES][64] __attribute__((aligned(64)));
static volatile char both[LINES][64] __attribute__((aligned(64)));
static void *work(void *which) {
    volatile char (*mine)[64] = own[(long)which];
    for (int round = 0; round < ROUNDS; round++)
        for (int line = 0; line < LINES; line++)
            (void)mine[line][0], (void)both[line][0];
    return 0;
}
int main(void) {
    pthread_t threads[2];
    for (long which = 0; which < 2; which++)
        if (pthread_create(&threads[which], 0, work, (void *)which) != 0) return 1;
    for (int which = 0; which < 2; which++) pthread_join(threads[which], 0);
    return 0;
}
"#;

#[test]
fn each_thread_of_a_program_can_have_a_cache_of_its_own() {
    let place = Place::new();
    place.write("two.c", TWO_THREADS);
    let build = ["cc", "-O1", "-pthread", "two.c", "-o", "two"];
    place.run(&build).succeeds();
    place.run(&["record", "-q", "--", "./two"]).succeeds();
    let arrays = |options: &[&str]| {
        let base = ["two.rltrace", "--granularity", "64", "--data", "static"];
        let json = analyzed(&place, &[&base[..], &["--by", "object"], options].concat());
        let cold = |name: &str| {
            let groups = json.groups("object");
            let group = groups.iter().find(|group| group.name.starts_with(name));
            group.map(|group| (group.accesses, group.cold)).unwrap()
        };
        (cold("own"), cold("both"), json)
    };
    let (own, both, private) = arrays(&["--sharing", "private"]);
    assert_eq!(own, (20_000, 1_000));
    assert_eq!(both, (20_000, 1_000), "500 lines in each of two threads");
    assert_eq!(private.0["sharing"], "private");
    assert_eq!(
        private.0["order"],
        "each thread by itself, in program order"
    );
    // Between two uses of a line, a thread uses all others of its own and all that both have.
    let counts = private.counts();
    assert!(counts.contains(&[999, 999, 38_000]), "{counts:?}");
    let (own, both, shared) = arrays(&["--sharing", "shared"]);
    assert_eq!((own, both), ((20_000, 1_000), (20_000, 500)));
    assert_eq!(shared.0.get("sharing"), None);
    let (.., unasked) = arrays(&[]);
    assert_eq!(unasked.0, shared.0);

    let profile = |threads: &str| {
        let words = [
            "analyze",
            "two.rltrace",
            "-f",
            "--sharing",
            "private",
            "--threads",
            threads,
            "--times",
            "--elements",
            "--forward",
            "--granularity",
            "64",
        ];
        let done = place.run(&words).succeeds().prints(&[
            "a cache for each thread",
            "summed over the threads",
            "each thread by itself",
        ]);
        (done.out, place.read("two.rlprof"), place.read("two.html"))
    };
    let alone = profile("1");
    let page = String::from_utf8_lossy(&alone.2).into_owned();
    assert!(page.contains("a cache for each thread") && page.contains("summed over the threads"));
    for threads in ["2", "3", "7"] {
        assert!(profile(threads) == alone, "{threads}");
    }
}

#[test]
fn coherent_caches_count_what_stores_of_other_threads_invalidate() {
    let place = Place::new();
    // Both threads load lines 0 and 64; thread 2 stores to the first, which thread 1 then loads
    // twice.
    let trace = "address,size,type,thread\n0,8,load,1\n64,8,load,1\n0,8,load,2\n0,8,store,2\n0,8,load,1\n0,8,load,1\n64,8,load,1\n";
    place.write("t.csv", trace);
    let base = ["t.csv", "--granularity", "64", "--sharing", "coherent"];
    let json = analyzed(&place, &[&base[..], &["--by", "thread"]].concat()).0;
    assert_eq!(json["sharing"], "coherent");
    assert_eq!((&json["accesses"], &json["cold"]), (&7.into(), &3.into()));
    assert_eq!(
        (&json["distinct"], &json["invalidated"]),
        (&3.into(), &1.into())
    );
    assert_eq!(
        json["histogram"]["counts"],
        serde_json::json!([[0, 0, 2], [1, 1, 1]])
    );
    assert_eq!(json["histogram"]["invalidated"], 1);
    let lost: u64 = json["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| {
            let histogram = &group["histogram"];
            assert_eq!(histogram["invalidated"], group["invalidated"]);
            assert_eq!(histogram["cold"], group["cold"]);
            group["invalidated"].as_u64().unwrap()
        })
        .sum();
    assert_eq!(lost, 1);
    let words = [&["analyze", "-f"], &base[..], &["--csv", "t.out.csv"]].concat();
    place.run(&words).succeeds().prints(&[
        "kept coherent",
        "find it invalidated by another thread's store",
        "invalidated",
    ]);
    let page = String::from_utf8_lossy(&place.read("t.html")).into_owned();
    assert!(page.contains("first touch or invalidated") && page.contains("Invalidated"));
    let csv = String::from_utf8_lossy(&place.read("t.out.csv")).into_owned();
    assert!(
        csv.lines().next().unwrap().ends_with(",invalidated"),
        "{csv}"
    );
    place.run(&["diff", "t.rlprof", "t.rlprof"]).succeeds();
    for options in [
        &["--kind", "loads"][..],
        &["--times"],
        &["--engine", "hp-rda"],
    ] {
        let words = [&["analyze"], &base[..], options].concat();
        place.run(&words).fails(2).says(&["--sharing coherent"]);
    }
    place
        .run(&["shard", "1/1", "t.csv", "--sharing", "coherent"])
        .fails(2)
        .says(&["piece by piece"]);
}

#[test]
fn private_caches_are_refused_with_options_that_exclude_them() {
    let place = Place::new();
    place.write("t.txt", "a b c a");
    let refused = |command: &[&str], options: &[&str], says: &str| {
        let words = [command, &["t.txt", "--sharing", "private"], options].concat();
        place
            .run(&words)
            .fails(2)
            .says(&[says, "--sharing private"]);
    };
    refused(&["analyze"], &["--engine", "hp-rda"], "as one stream");
    refused(&["analyze"], &["--sample", "1%"], "leave out --sample");
    refused(&["shard", "1/1"], &[], "piece by piece");
    let words = ["analyze", "t.txt", "--sharing", "mine"];
    place.run(&words).fails(2).says(&["private"]);
    place
        .run(&["analyze", "t.txt", "--sharing", "private"])
        .succeeds();
}

#[test]
fn totals_equal_those_of_a_broken_down_analysis() {
    let place = Place::new();
    place.write("l.txt", lackey());
    for options in [
        &[][..],
        &["--sample", "10%"],
        &["--engine", "olken"],
        &["--memory-limit", "1K"],
    ] {
        let parts = analyzed(&place, &[&["l.txt"], options].concat());
        let whole = analyzed(&place, &[&["l.txt", "--by", "program"], options].concat());
        for field in [
            "accesses",
            "distinct",
            "cold",
            "references",
            "histogram",
            "miss_ratio_curve",
        ] {
            assert_eq!(whole.0[field], parts.0[field], "{field} with {options:?}");
        }
        let groups = whole.groups("program");
        assert_eq!(
            (groups.len(), groups[0].accesses),
            (1, whole.number("accesses"))
        );
    }
    let place_alone = analyzed(&place, &["l.txt", "--by", "program", "--data", "stack"]);
    assert_eq!(
        place_alone.number("accesses"),
        0,
        "where data lie is looked up all the same"
    );
}

/// A loop over more lines than any cache has, and one over a few.
fn lackey() -> String {
    let mut text = String::new();
    for round in 0..40_u64 {
        for line in 0..900_u64 {
            text += &format!(
                " L {:x},8\n S {:x},4\n",
                0x10_0000 + 64 * line,
                0x9000 + 8 * (line % 50) + round % 2
            );
        }
    }
    text
}

// ---- signals ----

fn kill(child: &std::process::Child, signal: &str) {
    let words = [signal, &child.id().to_string()];
    let sent = std::process::Command::new("kill").args(words).status();
    assert!(sent.unwrap().success());
}

#[test]
fn signal_ends_an_analysis_with_a_report() {
    use std::io::Write;
    use std::process::Stdio;

    let place = Place::new();
    for (signal, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        if common::is_ignored(code - 128) {
            println!("SIG{} is ignored here, and stays so", &signal[1..]);
            continue;
        }
        let words = [
            "analyze", "-", "-f", "-o", "x", "--format", "text", "--json", "x.json",
        ];
        let mut command = place.command(&words);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        let line = "a b c d\n".repeat(10_000);
        // More than it holds at once: it has read much of this when all is written.
        for _ in 0..50 {
            input.write_all(line.as_bytes()).unwrap();
        }
        kill(&child, signal);
        // It may be gone before all is written.
        for _ in 0..50 {
            if input.write_all(line.as_bytes()).is_err() {
                break;
            }
        }
        drop(input);
        assert_eq!(child.wait().unwrap().code(), Some(code), "{signal}");
        let json = place.json("x.json");
        assert_eq!(json.warnings(), ["interrupted"]);
        assert!(json.number("accesses") > 0 && json.number("distinct") == 4);
        let reason = json.0["outcome"]["incomplete"].as_str().unwrap();
        assert_eq!(reason, format!("SIG{} stopped the analysis", &signal[1..]));
    }
    assert_eq!(place.files(), ["x.html", "x.json", "x.rlprof"]);
}

#[test]
fn signal_ends_the_wait_for_a_silent_pipe_without_files() {
    use std::io::Write;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Stdio;

    let place = Place::new();
    let mut command = place.command(&["analyze", "-", "-o", "x", "--format", "text"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input
        .write_all("a b c ".repeat(100_000).as_bytes())
        .unwrap();
    // More than a pipe holds: it has begun. Time to read what there is, and to wait for more.
    std::thread::sleep(std::time::Duration::from_secs(1));
    kill(&child, "-TERM");
    let status = child.wait().unwrap();
    drop(input);
    // If it had not come to wait yet, it has a report.
    if status.code() == Some(143) {
        assert_eq!(place.files(), ["x.html", "x.rlprof"]);
    } else {
        assert_eq!(status.signal(), Some(15));
        assert_eq!(place.files(), [""; 0]);
    }
}

#[test]
fn bad_line_is_reported_with_its_number() {
    let place = Place::new();
    place.write("t.din", "0 1a\n1 2b\n0 zz\n0 1a\n");
    place
        .run(&["analyze", "t.din", "--format", "din"])
        .ends_with(4)
        .prints(&[
            "everything before it was read",
            "mend line 3",
            "--format NAME",
        ]);
}

/// Not read as text, in which its labels would be items.
#[test]
fn a_bad_line_early_in_a_din_trace_is_reported() {
    let place = Place::new();
    let lines = "0 7fff1234\n1 7fff1238\n".repeat(20);
    place.write("t.din", format!("{lines}zz top\n{lines}"));
    let words = ["analyze", "t.din", "--json", "t.json"];
    place
        .run(&words)
        .ends_with(4)
        .prints(&["everything before it was read", "mend line 41"]);
    assert_eq!(place.json("t.json").warnings(), ["truncated"]);
    place.write("title.din", format!("# made by foo\n{lines}"));
    place
        .run(&["analyze", "title.din"])
        .fails(1)
        .says(&["line 1"]);
}

#[test]
fn text_that_may_be_din_gets_a_warning() {
    let place = Place::new();
    let doubted = |name: &str, text: &str, options: &[&str]| {
        place.write(name, text);
        let words = [&["analyze", "-q", "-f", name, "--json", "a.json"], options].concat();
        place.run(&words).succeeds();
        place.json("a.json").warnings() == ["may-be-din"]
    };
    let labels = "0 1000\n1 1008\n2 400\n0 1000\n";
    assert!(doubted("a.din", labels, &[]));
    assert!(!doubted("a.din", labels, &["--format", "din"]));
    assert!(!doubted("a.din", labels, &["--format", "text"]));
    assert!(!doubted("a.txt", labels, &[]));
    assert!(!doubted("b.din", "7 8\n9 10\n", &[]));
}

#[test]
fn text_format_rejects_words_that_are_no_items() {
    let place = Place::new();
    let analyzed = |name: &str, text: &str| {
        place.write(name, text);
        let words = ["analyze", "-q", "-f", name, "--json", "a.json"];
        place.run(&words).succeeds();
        let found = place.json("a.json");
        (found.number("accesses"), found.warnings())
    };
    let told = |code: &str| vec![code.to_owned()];
    assert_eq!(
        analyzed("a.txt", "0x10 R\n0x20 W\n"),
        (4, told("may-be-labels"))
    );
    assert_eq!(
        analyzed("a.csv", "offset\n0\n64\n0\n"),
        (4, told("may-be-header"))
    );
    // Also under a name that says nothing, where the column's does; a comment is none.
    assert_eq!(
        analyzed("b", "address\n0\n64\n0\n"),
        (4, told("may-be-header"))
    );
    assert_eq!(analyzed("c", "# address\n0\n64\n0\n"), (3, vec![]));
    // What the hint says, also of a column with the name of another thing.
    for name in ["offset", "size"] {
        place.write("d.csv", format!("{name}\n0\n64\n0\n"));
        let words = [
            "analyze",
            "-qf",
            "d.csv",
            "--format",
            "csv:address=1",
            "--json",
            "a.json",
        ];
        place.run(&words).succeeds();
        assert_eq!(place.json("a.json").number("accesses"), 3);
    }
    place.write("c.csv", "where,when\n1,2\n3,4\n");
    place
        .run(&["analyze", "c.csv"])
        .fails(1)
        .says(&["its columns are 'where', 'when'", "csv:address=COLUMN"]);
    place
        .run(&["analyze", "c.csv", "--format", "csv:id=1,id=2"])
        .fails(2)
        .says(&["id is chosen twice"]);
}

#[test]
fn thread_option_rejects_non_numbers() {
    let place = Place::new();
    place.write("trace", "a b a");
    place
        .run(&["analyze", "trace", "--thread", "foo"])
        .fails(2)
        .says(&["a thread of a trace has a number", "reuselens info"]);
}

/// Traces that differ in their endings alone do not share a series of numbers.
#[test]
fn outputs_of_traces_with_other_endings_have_other_names() {
    let place = Place::new();
    place.write("t.txt", "a b a");
    place.write_items("t.bin", [1, 2, 1, 2]);
    let commands = |trace: &str| {
        let words = ["analyze", "-q", trace, "--format"];
        let format = if trace == "t.txt" { "text" } else { "u64" };
        place.run(&[&words[..], &[format]].concat()).succeeds();
    };
    for trace in ["t.txt", "t.bin", "t.bin", "t.txt"] {
        commands(trace);
    }
    let profiles = [
        ("t.rlprof", 3),
        ("t.2.rlprof", 3),
        ("t.bin.rlprof", 4),
        ("t.bin.2.rlprof", 4),
    ];
    for (name, accesses) in profiles {
        let json = place.run(&["report", name, "--json", "-"]).succeeds().out;
        assert_eq!(Json::parse(&json).number("accesses"), accesses, "{name}");
    }
    // Whoever overwrites means the name without the ending.
    let words = ["analyze", "-q", "-f", "t.bin", "--format", "u64"];
    place.run(&words).succeeds();
    let json = place.run(&["report", "t.rlprof", "--json", "-"]).succeeds();
    assert_eq!(Json::parse(&json.out).number("accesses"), 4);
}
