//! `reuselens predict`.

use crate::common::{self, Json, Place, is_offline_page};

/// Traces of loops over `items` items: items 0 to 9 in between, which stay near. The far ones move
/// with the input.
fn trace(items: usize) -> String {
    let mut words = Vec::new();
    for _ in 0..12 {
        for item in 0..items {
            words.push(format!("i{item}"));
            words.push(format!("near{}", item % 3));
        }
    }
    words.join(" ")
}

fn place(sizes: &[(&str, usize)]) -> Place {
    let place = Place::new();
    for (name, items) in sizes {
        place.write("loop.txt", trace(*items));
        place
            .run(&["analyze", "-q", "-f", "loop.txt", "-o", name])
            .succeeds();
    }
    place
}

fn loops() -> Place {
    place(&[("small", 100), ("middle", 400), ("large", 3200)])
}

const TRAIN: [&str; 4] = ["predict", "--train", "small.rlprof", "middle.rlprof"];

fn with(more: &[&'static str]) -> Vec<&'static str> {
    [&TRAIN[..], more].concat()
}

/// A cache of any size and ways, beside those of the machine; ids have no others.
#[test]
fn a_cache_with_ways_is_predicted_with_its_sets() {
    let place = loops();
    let words = with(&[
        "--check",
        "large.rlprof",
        "--cache",
        "4096:4",
        "--json",
        "p.json",
    ]);
    place.run(&words).succeeds().prints(&["4096 items 4-way"]);
    let json = place.json("p.json").0;
    let cache = json["caches"].as_array().unwrap().last().unwrap();
    assert_eq!(cache["items"], 4096);
    // All reuses are nearer than the cache is large, but its sets are not equally full.
    let full = cache["miss_ratio"]["value"].as_f64().unwrap();
    let sets = cache["with_sets"].as_f64().unwrap();
    assert!(full < sets && sets < 0.5, "{cache}");
    for (cache, say) in [
        ("4096:7", "ways"),
        ("L1", "write a size"),
        ("0", "not even one"),
    ] {
        place
            .run(&with(&["--size", "3200", "--cache", cache]))
            .fails(2)
            .says(&[say]);
    }
}

#[test]
fn loop_is_predicted_at_its_distances() {
    let place = loops();
    let done = place
        .run(&with(&["--check", "large.rlprof", "--json", "p.json"]))
        .succeeds();
    done.prints(&[
        "Predicted for data of",
        "accuracy 99.4 %",
        "Intervals: of distances, from the next slower",
        "All lines together, beside the whole program",
        "Accesses of lines are shares of those of the program",
        "of the right line: 100 % of accesses",
        "Next: reuselens predict",
    ]);
    let json = place.json("p.json");
    assert_eq!(json.0["schema"], "reuselens-predict/1");
    assert_eq!(json.0["pattern_rule"], "valley:2");
    assert!(
        json.0["intervals"]["confidence"].is_null(),
        "two runs have none"
    );
    assert!(json.0["check"]["measures"]["accuracy"].as_f64().unwrap() > 0.99);
    let accesses = json.0["accesses"]["value"].as_f64().unwrap();
    // A straight line or a power of the size, which the three near items bend a little.
    assert!((accesses - 76_800.0).abs() < 2000.0, "{accesses}");
    // The whole program is the sum of its lines, here of one that has no name.
    let sums = &json.0["groups_sum"];
    assert_eq!(sums["unpredictable"], 0.0);
    assert_eq!(sums["fewer"], 0.0);
    assert_eq!(json.0["groups"][0]["runs"], 2);
    let placing = &json.0["check"]["measures"]["placing"];
    assert_eq!(
        (&placing["accesses"], &placing["intervals"]),
        (&1.0.into(), &vec![1, 1].into())
    );
    assert!((sums["accesses"].as_f64().unwrap() - accesses).abs() < 1.0);
    // A loop over 3200 items and three others: one bin of the predicted histogram holds half of
    // all.
    let counts = json.0["histogram"]["counts"].as_array().unwrap();
    let far = counts.iter().find(|bin| bin[0] == 2048).unwrap();
    assert!(
        (30_000..40_000).contains(&far[2].as_u64().unwrap()),
        "{far}"
    );
}

#[test]
fn three_runs_have_intervals_with_a_confidence() {
    let place = place(&[
        ("small", 100),
        ("middle", 400),
        ("more", 800),
        ("large", 3200),
    ]);
    let words = [
        "predict",
        "--train",
        "more.rlprof",
        "small.rlprof",
        "middle.rlprof",
        "--like",
        "large.rlprof",
        "--json",
        "-",
    ];
    let json = Json::parse(&place.run(&words).succeeds().out);
    assert_eq!(json.0["intervals"]["confidence"], 0.9);
    let names: Vec<_> = json.0["training"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["name"].clone())
        .collect();
    assert_eq!(names, ["small", "middle", "more"], "by size");
    assert!(json.0["check"].is_null());
}

#[test]
fn the_page_is_offline_and_written_once() {
    let place = loops();
    let words = with(&["--check", "large.rlprof", "-o", "p.html"]);
    place.run(&words).succeeds().prints(&["Page: p.html"]);
    let page = place.read("p.html");
    is_offline_page(&page);
    assert!(page.len() < 2 << 20);
    let text = place.text("p.html");
    for words in [
        "When to believe this",
        "Hills that move",
        "moves",
        "stays",
        ">observed<",
        " strong\"",
        " pale\"",
    ] {
        assert!(text.contains(words), "{words}");
    }
    place
        .run(&words)
        .fails(1)
        .says(&["p.html", "exists already"]);
    place.run(&[&words[..], &["-f", "-q"]].concat()).succeeds();
}

#[test]
fn equal_predictions_are_equal_bytes() {
    let place = loops();
    let once = place
        .run(&with(&["--size", "5000", "--json", "-"]))
        .succeeds()
        .out;
    let again = place
        .run(&with(&["--size", "5000", "--json", "-"]))
        .succeeds()
        .out;
    assert_eq!(once, again);
}

#[test]
fn predict_warns_of_far_and_backward_extrapolation() {
    let place = loops();
    place
        .run(&with(&["--size", "500000"]))
        .succeeds()
        .prints(&["times the largest that was run"]);
    place
        .run(&with(&["--size", "10"]))
        .succeeds()
        .prints(&["smaller than all that were run"]);
}

#[test]
fn sizes_may_be_given() {
    let place = place(&[("small", 100), ("middle", 400), ("same", 400)]);
    let words = [
        "predict",
        "--train",
        "middle.rlprof",
        "same.rlprof",
        "--size",
        "5000",
    ];
    place
        .run(&words)
        .fails(1)
        .says(&["runs 1 and 2 have the same size (402)", "--sizes"]);
    let given = [&words[..], &["--sizes", "1000,2000"]].concat();
    // They may be of anything: iterations, records, bytes.
    place.run(&given).succeeds().prints(&[
        "Predicted for data of 5,000, in the unit of --sizes",
        "(1,000)",
    ]);
    place
        .run(&with(&["--size", "9", "--sizes", "1"]))
        .fails(1)
        .says(&["1 numbers for 2 training runs"]);
    place
        .run(&with(&["--size", "9", "--sizes", "0,4"]))
        .fails(1)
        .says(&["sizes of 1 or more"]);
    place
        .run(&with(&["--check", "small.rlprof", "--sizes", "1,2"]))
        .fails(2)
        .says(&["--size must say"]);
}

#[test]
fn predict_rejects_profiles_of_different_analyses() {
    let place = loops();
    place
        .run(&["predict", "--train", "small.rlprof", "--size", "9"])
        .fails(1)
        .says(&["one training run", "--train"]);
    place
        .run(&with(&[]))
        .fails(2)
        .says(&["--size SIZE", "--like PROFILE", "--check PROFILE"]);
    place
        .run(&with(&["--size", "many"]))
        .fails(2)
        .says(&["--size many is not a number of ids"]);
    place
        .run(&with(&["--size", "0"]))
        .fails(1)
        .says(&["less than one item"]);
    place
        .run(&with(&["--size", "1e18"]))
        .fails(1)
        .says(&["beyond what any machine holds"]);
    for (option, value, says) in [
        ("--top", "0", "1 row or more"),
        ("--rare", "1", "less than 0.5"),
    ] {
        let words = with(&["--size", "900", option, value]);
        place.run(&words).fails(2).says(&[says]);
    }
    place.write("other.txt", "a b a b");
    place
        .run(&["analyze", "-q", "other.txt", "-o", "other"])
        .succeeds();
    let others = [
        "predict",
        "--train",
        "small.rlprof",
        "other.rlprof",
        "--size",
        "900",
    ];
    place
        .run(&others)
        .fails(1)
        .says(&["run 2 is of 'other.txt' and run 1 of 'loop.txt'", "--loose"]);
    place
        .run(&[&others[..], &["--loose"]].concat())
        .succeeds()
        .prints(&["--loose"]);
    place.write("cold.txt", "x y z");
    place
        .run(&["analyze", "-q", "cold.txt", "-o", "cold"])
        .succeeds();
    let cold = [
        "predict",
        "--loose",
        "--train",
        "small.rlprof",
        "cold.rlprof",
        "--size",
        "900",
    ];
    place.run(&cold).fails(1).says(&["run 2 has no reuses"]);
    place
        .run(&with(&["--size", "900", "--by", "path"]))
        .fails(1)
        .says(&["no paths of 8 outcomes", "--by path"]);
    place
        .run(&with(&["--size", "900", "--patterns", "hill"]))
        .fails(2)
        .says(&["valley:2"]);
    place
        .run(&[
            "predict",
            "--train",
            "loop.txt",
            "small.rlprof",
            "--size",
            "9",
        ])
        .fails(1)
        .says(&["loop.txt"]);
}

/// Compiles the matrix multiplication.
fn build(place: &Place, level: &str) {
    let source = common::source("matmul/matmul.c");
    let built = std::process::Command::new("gcc")
        .args([level, "-g", "-Wl,--build-id", &source, "-o"])
        .arg(place.path("matmul"))
        .status()
        .unwrap();
    assert!(built.success());
}

/// Profiles `./matmul naive SIZE`, into SIZE.rlprof.
fn profile(place: &Place, size: &str, options: &[&str]) {
    let words = [&["profile", "-q", "-o", size][..], options].concat();
    let program = ["--", "./matmul", "naive", size];
    place.run(&[&words[..], &program].concat()).succeeds();
}

#[test]
fn predict_rejects_other_builds_by_build_id() {
    let place = Place::new();
    for (level, size) in [("-O2", "24"), ("-O1", "48")] {
        build(&place, level);
        profile(&place, size, &[]);
    }
    let words = [
        "predict",
        "--train",
        "24.rlprof",
        "48.rlprof",
        "--size",
        "1M",
    ];
    let refused = place.run(&words).fails(1);
    refused.says(&["another build of 'matmul'", "build id", "--loose"]);
    place.run(&[&words[..], &["--loose"]].concat()).succeeds();
}

#[test]
fn check_without_paths_compares_lines_with_lines() {
    let place = Place::new();
    build(&place, "-O2");
    for size in ["24", "48", "96"] {
        // One trace for both: a program's start-up is not the same in every run.
        let words = ["record", "-q", "--basic-blocks", "-o", "t", "-f"];
        let program = ["--", "./matmul", "naive", size];
        place.run(&[&words[..], &program].concat()).succeeds();
        for by in ["path", "line"] {
            let name = format!("{by}{size}.rlprof");
            let words = ["analyze", "t", "-q", "--by", by, "-o", &name];
            place.run(&words).succeeds();
        }
    }
    let check = |by: &str| {
        let train = ["24", "48"].map(|size| format!("{by}{size}.rlprof"));
        let words = [
            "predict",
            "--train",
            &train[0],
            &train[1],
            "--check",
            "line96.rlprof",
            "--json",
            "-",
        ];
        Json::parse(&place.run(&words).succeeds().out).0["check"].clone()
    };
    let (exact, coarse) = (check("path"), check("line"));
    assert!(coarse["coverage"].as_f64().unwrap() > 0.0);
    for what in ["coverage", "group_accuracy"] {
        assert_eq!(exact[what], coarse[what], "{what}");
    }
    assert_eq!(exact["measures"]["wrong"], coarse["measures"]["wrong"]);
}

#[test]
fn check_prints_observed_beside_predicted() {
    if !crate::common::caches_are_known() {
        return;
    }
    let place = Place::new();
    build(&place, "-O2");
    for size in ["24", "48", "96"] {
        profile(&place, size, &["--json", "seen.json", "-f"]);
    }
    let words = [
        "predict",
        "--train",
        "24.rlprof",
        "48.rlprof",
        "--check",
        "96.rlprof",
        "--top",
        "3",
    ];
    place.run(&words).succeeds().prints(&[
        "observed",
        " others",
        "predicted beside observed",
        "with mean distances within a tenth",
    ]);
    let json = [&words[..], &["--json", "-"]].concat();
    let json = Json::parse(&place.run(&json).succeeds().out);
    let seen = place.json("seen.json");
    let groups = json.0["groups"].as_array().unwrap();
    let mut compared = 0;
    for group in groups {
        let name = group["name"].as_str().unwrap();
        let observed = group["observed"]["accesses"].as_u64();
        if name.contains("matmul.c:")
            && let Some(accesses) = observed
        {
            let short = name.rsplit('/').next().unwrap();
            assert_eq!(accesses, seen.accesses("line", short), "{name}");
            compared += 1;
        }
    }
    assert!(compared > 2, "{json:?}");
    // What cannot be predicted has the misses that it would have as in the largest training run.
    let failed = groups
        .iter()
        .filter(|group| group["unpredictable"].is_string());
    let failed: Vec<_> = failed.collect();
    assert!(!failed.is_empty());
    for group in failed {
        let misses = group["misses_as_trained"].as_array().unwrap();
        let least = group["cold"]["value"].as_f64().unwrap().round();
        assert!(
            misses
                .iter()
                .all(|misses| misses.as_f64().unwrap() >= least)
        );
    }
}

#[test]
fn paths_of_a_real_program_are_predicted() {
    let place = Place::new();
    build(&place, "-O2");
    for size in ["88", "128"] {
        profile(&place, size, &["--by", "path", "--granularity", "64"]);
    }
    let shown = place.run(&["report", "128.rlprof", "--text"]).succeeds();
    shown.prints(&["What the path to an instruction tells", "separated"]);
    let page = place.text("128.html");
    for words in [
        "Patterns by path",
        "all paths",
        "of loops 8 iterations are kept",
    ] {
        assert!(page.contains(words), "{words}");
    }
    let words = [
        "predict",
        "--train",
        "88.rlprof",
        "128.rlprof",
        "--size",
        "1M",
        "--by",
        "path",
        "--history",
        "4",
        "-o",
        "p.html",
        "--json",
        "-",
    ];
    let json = Json::parse(&place.run(&words).succeeds().out);
    let groups = json.0["groups"].as_array().unwrap();
    let mine = groups
        .iter()
        .filter(|group| group["name"].as_str().unwrap().starts_with("matmul+0x"));
    assert!(mine.clone().count() > 20);
    assert!(mine.clone().any(|group| group["patterns"].is_array()));
    let page = place.text("p.html");
    for words in ["do not grow with the input", "; rare</title>", "; rare, "] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn predict_takes_profiles_without_options() {
    let place = loops();
    let with_option = place
        .run(&with(&["--size", "90000", "--json", "-"]))
        .succeeds();
    let words = with(&["--size", "90000", "--json", "-"]);
    let words: Vec<&str> = words
        .into_iter()
        .filter(|word| *word != "--train")
        .collect();
    assert_eq!(place.run(&words).succeeds().out, with_option.out);
}

/// What makes a number less than it seems is read before the number, and what to do about it right
/// there.
#[test]
fn warnings_come_first_each_with_a_remedy() {
    let place = loops();
    let done = place.run(&with(&["--loose", "--size", "90000"])).succeeds();
    let at = |text: &str| {
        let found = done.out.find(text);
        found.unwrap_or_else(|| panic!("no {text:?} in {}", done.out))
    };
    let order = [
        "warning: the size asked for",
        "try: ",
        " accesses to ",
        "All lines together",
        "Next: ",
    ];
    assert!(order.map(at).is_sorted(), "{}", done.out);
}
