//! `reuselens reorder`.

mod common;

use common::{Json, Place, has};

#[test]
fn adi_loses_most_of_its_third_hill() {
    if !has("gfortran") {
        return;
    }
    let place = Place::new();
    let adi = place.build("adi/adi.f", &["--rl-names", "-std=legacy"]);
    place
        .run(&["record", "-q", "-o", "adi.rltrace", "--", &adi, "50"])
        .succeeds();
    place.run(&["reorder", "adi.rltrace"]).succeeds().prints(&[
        "every dependence between them is kept",
        "reuselens diff adi.program.rlprof",
    ]);
    let between = |name: &str, low: u64, high: u64| {
        let json = Json::parse(&place.run(&["report", name, "--json", "-"]).succeeds().out);
        assert_eq!(
            json.number("accesses"),
            64_100,
            "statement mode of the demo"
        );
        assert_eq!(json.number("cold"), 7_500);
        let counts = json.0["histogram"]["counts"].as_array().unwrap().clone();
        let inside = |bin: &&serde_json::Value| (low..=high).contains(&bin[0].as_u64().unwrap());
        counts
            .iter()
            .filter(inside)
            .map(|bin| bin[2].as_u64().unwrap())
            .sum::<u64>()
    };
    let hills = |low: u64, high: u64| {
        let names = ["adi.program.rlprof", "adi.reordered.rlprof"];
        names.map(|name| between(name, low, high))
    };
    // A third of the reuses lies at 4096 and beyond; two thirds of those come nearer.
    let [before, after] = hills(4096, u64::MAX);
    assert!(
        before > 18_000 && after * 5 < before * 2,
        "{after} of {before}"
    );
    // The first hill reaches from below 4 to below 8.
    let [before, after] = hills(4, 7);
    assert!(after > before * 20, "{after} after {before}");
    place
        .run(&["reorder", "adi.rltrace"])
        .fails(1)
        .says(&["exists already"]);
}

#[test]
fn program_order_is_the_histogram_of_statement_mode() {
    if !has("gfortran") {
        return;
    }
    let place = Place::new();
    let adi = place.build("adi/adi.f", &["--rl-names", "-std=legacy"]);
    place
        .run(&["record", "-q", "-o", "adi.rltrace", "--", &adi, "100"])
        .succeeds();
    let analyze = ["analyze", "-q", "adi.rltrace", "--names", "statement"];
    let options = ["--granularity", "8", "--json", "analysed.json"];
    place.run(&[&analyze[..], &options].concat()).succeeds();
    place.run(&["reorder", "-q", "adi.rltrace"]).succeeds();
    let words = ["report", "adi.program.rlprof", "--json", "program.json"];
    place.run(&words).succeeds();
    let [analysed, program] = ["analysed.json", "program.json"].map(|name| place.json(name));
    assert_eq!(program.counts(), analysed.counts());
    assert_eq!(program.number("cold"), analysed.number("cold"));
    let near = |bin: &&[u64; 3]| (2..=3).contains(&bin[0]);
    let counts = program.counts();
    let near: u64 = counts.iter().filter(near).map(|bin| bin[2]).sum();
    assert_eq!(near, 69_300);
}

#[test]
fn a_trace_without_statements_is_told() {
    let place = Place::new();
    place.write("trace.txt", "a b c a");
    place
        .run(&["reorder", "trace.txt"])
        .fails(1)
        .says(&["no statements", "RecordStatement"]);
    assert!(!place.path("trace.program.rlprof").exists());
    place.run(&["reorder", "none"]).fails(1).says(&["none"]);
    place.run(&["reorder"]).fails(2).says(&["TRACE"]);
    place
        .run(&["reorder", "trace.txt", "--granularity", "12"])
        .fails(2)
        .says(&["power of two"]);
    place
        .run(&["reorder", "trace.txt", "--json", "-"])
        .fails(2)
        .says(&["reuselens report"]);
}
