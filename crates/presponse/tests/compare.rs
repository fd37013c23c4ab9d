//! `compare`: all rules on one stream, and peers that may be missing.

use std::process::Command;

use serde_json::Value;

use crate::common::Place;

fn place() -> Place {
    let place = Place::new();
    place.succeed(&[
        "generate",
        "erdos-renyi",
        "--vertices",
        "60",
        "--edges",
        "150",
        "-o",
        "graph",
    ]);
    let changes = [
        "generate", "changes", "graph", "--count", "300", "-o", "stream",
    ];
    place.succeed(&changes);
    place
}

#[test]
fn all_rules_give_the_same_answers() {
    let place = place();
    let compare = [
        "compare",
        "graph",
        "--stream",
        "stream",
        "--batch",
        "20",
        "--no-peers",
    ];
    let text = place.succeed(&[&compare[..], &["--json", "-", "-o", "page.html"]].concat());
    let text = text.rsplit_once("}\n").unwrap().0.to_owned() + "}";
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["schema"], "presponse-compare/1");
    let results = json["results"].as_array().unwrap();
    let names: Vec<&str> = results
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["ours", "repair", "published", "recompute"]);
    for result in results {
        for question in ["depths", "components", "triangles"] {
            let latency = &result["latency_ns"][question];
            assert_eq!(
                (&latency["count"], &latency["same_answers"]),
                (&15.into(), &true.into())
            );
        }
    }
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    assert!(page.contains("Exact answers, compared") && page.contains("recompute"));
    let table = place.succeed(&compare);
    assert!(
        table.contains("p99 × ours") && !table.contains("NO"),
        "{table}"
    );
}

#[test]
fn missing_peers_are_named_and_skipped() {
    let place = place();
    let compare = [
        "compare",
        "graph",
        "--stream",
        "stream",
        "--python",
        "no-such-python",
    ];
    let output = place.run(&[&compare[..], &["--dataflow", "no-such-dataflow"]].concat());
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{error}");
    for peer in ["networkit", "velographx", "differential-dataflow"] {
        assert!(
            error.contains(&format!("{peer} is skipped: cannot run no-such")),
            "{error}"
        );
    }
    let output = place.run(&compare);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("name it with --dataflow"), "{error}");
}

#[test]
fn peers_that_are_installed_give_the_same_answers() {
    let python = std::env::var("PRESPONSE_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let place = place();
    let compare = [
        "compare", "graph", "--stream", "stream", "--batch", "30", "--python", &python,
    ];
    let mut found = Vec::new();
    for peer in ["networkit", "velographx"] {
        let code = format!("import {peer}");
        let has = Command::new(&python).args(["-c", &code]).output();
        match has.is_ok_and(|output| output.status.success()) {
            true => found.push(peer),
            false => eprintln!("skipped: no {peer}"),
        }
    }
    if found.is_empty() {
        return;
    }
    let text = place.succeed(&[&compare[..], &["--json", "-"]].concat());
    let json: Value = serde_json::from_str(&text).unwrap();
    let results = json["results"].as_array().unwrap();
    for peer in found {
        let result = results
            .iter()
            .find(|it| it["name"].as_str().unwrap().starts_with(peer));
        let latency = &result.unwrap()["latency_ns"];
        assert_eq!(latency["depths"]["same_answers"], true, "{peer}");
        assert_eq!(latency["components"]["same_answers"], true, "{peer}");
    }
}
