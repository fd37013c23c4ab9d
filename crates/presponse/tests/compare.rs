//! `compare`: all rules on one stream, and peers that may be missing.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

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
    for option in ["--dataflow", "--dndtree"] {
        assert!(error.contains(&format!("name it with {option}")), "{error}");
    }
}

/// The program of a folder of `programs/graphs`, built as users build it but for the optimiser,
/// which would take a minute. Nothing if its crates cannot be had: that fails in CI, which has a
/// network.
fn build(name: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../programs/graphs")
        .join(name);
    let cargo = |arguments: &[&str]| -> Output {
        let mut command = Command::new(env!("CARGO"));
        command.args(arguments).current_dir(&folder);
        command.env("CARGO_PROFILE_DEV_DEBUG", "0");
        command.output().unwrap()
    };
    let fetches: [&[&str]; 2] = [&["fetch", "--offline"], &["fetch"]];
    if !fetches.iter().any(|fetch| cargo(fetch).status.success()) {
        let what = format!("the crates of programs/graphs/{name} cannot be fetched");
        let is_required = std::env::var_os("REUSELENS_REQUIRE_TOOLS").is_some();
        assert!(!is_required, "{what}");
        eprintln!("skipped: {what}");
        return None;
    }
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let built = cargo(&[
        "build",
        "--offline",
        "--target-dir",
        target.to_str().unwrap(),
    ]);
    let error = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{error}");
    Some(target.join(format!("debug/presponse-{name}")))
}

/// What the peers whose programs are named find, as JSON.
fn compare_with(further: &[&str]) -> Value {
    let place = place();
    let compare = [
        "compare",
        "graph",
        "--stream",
        "stream",
        "--batch",
        "30",
        "--python",
        "no-such-python",
        "--json",
        "-",
    ];
    let text = place.succeed(&[&compare[..], further].concat());
    serde_json::from_str(&text).unwrap()
}

#[test]
fn dndtree_finds_as_many_components() {
    let Some(program) = build("dndtree") else {
        return;
    };
    let json = compare_with(&["--dndtree", program.to_str().unwrap()]);
    let mut results = json["results"].as_array().unwrap().iter();
    let found = results.find(|it| it["name"] == "dndtree 0.3.1").unwrap();
    let components = &found["latency_ns"]["components"];
    assert_eq!(
        (&components["count"], &components["same_answers"]),
        (&10.into(), &true.into())
    );
}

#[test]
fn differential_dataflow_gives_the_same_answers_on_one_worker_and_on_two() {
    let Some(program) = build("dataflow") else {
        return;
    };
    let json = compare_with(&["--dataflow", program.to_str().unwrap()]);
    let results = json["results"].as_array().unwrap();
    for workers in [1, 2] {
        let ending = format!(", workers: {workers}");
        let named = |it: &&Value| it["name"].as_str().unwrap().ends_with(&ending);
        let latency = &results.iter().find(named).unwrap()["latency_ns"];
        for question in ["depths", "components"] {
            assert_eq!(latency[question]["count"], 10, "{question}");
            assert_eq!(latency[question]["same_answers"], true, "{question}");
        }
    }
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
        if has.is_ok_and(|output| output.status.success()) {
            found.push(peer)
        } else {
            eprintln!("skipped: no {peer}")
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
