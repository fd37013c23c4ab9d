//! `speculate`, as users run it.

use std::fmt::Write as _;

use serde_json::Value;

use crate::common::Place;

/// A temporal graph in which a ring of 40 vertices grows, and its chords are renewed now and then.
fn temporal() -> String {
    let mut text = String::new();
    for time in 0..600 {
        let (from, step) = (time % 40, 1 + time / 40 % 3);
        let _ = writeln!(text, "{from} {} {time}", (from + step) % 40);
    }
    text
}

#[test]
fn expiries_of_a_window_are_right_and_answers_stay_exact() {
    let place = Place::new();
    place.write("temporal", &temporal());
    place.write("graph", "0 1\n");
    place.succeed(&[
        "generate", "window", "temporal", "--length", "50", "-o", "stream",
    ]);
    let run = [
        "speculate",
        "graph",
        "--stream",
        "stream",
        "--window",
        "50",
        "--verify",
    ];
    let text = place.succeed(&[&run[..], &["--every", "7", "--json", "-"]].concat());
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["schema"], "presponse-speculation/1");
    let kind = |name: &str| -> &Value {
        let kinds = json["kinds"].as_array().unwrap();
        kinds.iter().find(|kind| kind["kind"] == name).unwrap()
    };
    assert_eq!(kind("off")["ahead"], 0);
    let expiries = kind("expiries");
    assert!(expiries["ahead"].as_u64().unwrap() > 300, "{expiries}");
    // The stream ends within a batch, and what would have expired in the rest of it is taken back.
    assert!(expiries["taken_back"].as_u64().unwrap() < 8, "{expiries}");
    assert_eq!(kind("oracle")["taken_back"], 0);
    // Cut by count, the horizon is estimated.
    let table = place.succeed(&[&run[..], &["--batch", "9", "-o", "page.html"]].concat());
    for row in ["off", "expiries", "EdgeBank", "warm", "gated", "oracle"] {
        assert!(table.contains(&format!("\n{row}")), "{table}");
    }
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    assert!(page.contains("taken back") && !page.contains("http"));
}

#[test]
fn a_window_without_times_is_refused() {
    let place = Place::new();
    place.write("graph", "0 1\n");
    place.write("stream", "+ 1 2\n");
    let (code, error) = place.fail(&["speculate", "graph", "--stream", "stream", "--window", "5"]);
    assert_eq!(code, 2, "{error}");
    assert!(error.contains("a window needs times"), "{error}");
}

#[test]
fn page_has_net_benefit_gates_and_quality_of_prediction() {
    let place = Place::new();
    place.write("temporal", &temporal());
    let speculate = [
        "speculate",
        "--stream",
        "temporal",
        "--batch",
        "20",
        "--predict=3",
        "--json",
        "table.json",
    ];
    let text = place.succeed(&[&speculate[..], &["-o", "page.html"]].concat());
    assert!(text.contains("node2vec, retrained"), "{text}");
    let json = std::fs::read_to_string(place.path("table.json")).unwrap();
    let json: Value = serde_json::from_str(&json).unwrap();
    let prediction = &json["prediction"];
    assert_eq!(prediction["insertions_per_period"], 80);
    // Every pair of the last part recurs, so what was seen before is all there is.
    assert_eq!(prediction["unseen_share"], 0.0);
    let predictors = prediction["predictors"].as_array().unwrap();
    let named = |name: &str| predictors.iter().find(|it| it["name"] == name).unwrap();
    for name in [
        "EdgeBank, unlimited",
        "node2vec, trained once",
        "node2vec, retrained",
    ] {
        let periods = named(name)["periods"].as_array().unwrap();
        assert_eq!(periods.len(), 3);
        assert!(
            periods
                .iter()
                .all(|card| card["accuracy"].as_f64().is_some())
        );
    }
    assert!(
        named("EdgeBank, unlimited")["all"]["recall"]
            .as_f64()
            .unwrap()
            > 0.3
    );
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    for wanted in [
        "<title>Working ahead of batches · presponse</title>",
        "Kinds of work ahead, and their gates",
        "Net benefit over time",
        "Gates and mistakes",
        "Accuracy over time",
        "Precision and recall of predicted batches",
    ] {
        assert!(page.contains(wanted), "no {wanted}");
    }
    assert!(!page.contains("NaN") && !page.contains("inf"));

    let (code, error) = place.fail(&[&speculate[..5], &["--predict=400"]].concat());
    assert!(code == 2 && error.contains("ask for fewer"), "{error}");
}

#[test]
fn wrong_window_is_warned_of_and_a_missing_one_suggested() {
    let place = Place::new();
    place.write("temporal", &temporal());
    place.succeed(&[
        "generate", "window", "temporal", "--length", "50", "-o", "stream",
    ]);
    let run = |further: &[&str]| {
        let speculate = ["speculate", "--stream", "stream", "--batch", "20"];
        let output = place.run(&[&speculate[..], further].concat());
        assert!(output.status.success());
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap())
    };
    let [_, warning] = run(&["--window", "5000"]);
    assert!(
        warning.contains("at the age of 50, not 5000; is --window 50 meant?"),
        "{warning}"
    );
    assert_eq!(run(&["--window", "50"])[1], "");
    let [hint, _] = run(&[]);
    assert!(hint.contains("add --window 50"), "{hint}");
}
