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
        assert!(table.contains(&format!("\n {row}")), "{table}");
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
