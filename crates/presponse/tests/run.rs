//! `run` and `generate`, as users run them.

use crate::common::Place;
use serde_json::Value;

/// A path of four vertices with a triangle at its end, and what happens to it.
const GRAPH: &str = "10 20\n20 30\n30 40\n40 50\n30 50\n";
const STREAM: &str = "- 20 30\n+ 10 60\n+ 60 50\n+ 20 20\n- 7 8\n";

#[test]
fn run_gives_exact_answers_and_json() {
    let place = Place::new();
    place.write("graph", GRAPH);
    place.write("stream", STREAM);
    let arguments = [
        "run", "graph", "--stream", "stream", "--batch", "2", "--verify",
    ];
    let text = place.succeed(&[&arguments[..], &["--answers", "-"]].concat());
    // 7 and 8 are vertices once they are named.
    let expected = "# id depth component triangles\n10 0 10 0\n20 1 10 0\n30 3 10 1\n40 3 10 1\n\
                    50 2 10 1\n60 1 10 0\n7 - 7 0\n8 - 8 0\n";
    assert_eq!(text, expected);
    let text = place.succeed(&[&arguments[..], &["--json", "-"]].concat());
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["schema"], "presponse-run/1");
    assert_eq!((&json["batches"], &json["changes"]), (&3.into(), &5.into()));
    assert_eq!(
        (&json["inserted"], &json["deleted"]),
        (&2.into(), &1.into())
    );
    assert_eq!(json["totals"]["components"], 3);
    assert_eq!(json["totals"]["triangles"], 1);
    assert_eq!(json["latency_ns"]["depths"]["count"], 3);
}

#[test]
fn run_counts_depths_along_directed_edges_from_the_root() {
    let place = Place::new();
    place.write("graph", "1 2\n2 3\n3 1\n4 1\n");
    place.write("stream", "+ 3 4\n");
    for rules in ["ours", "repair", "published", "recompute"] {
        let text = place.succeed(&[
            "run",
            "graph",
            "--stream",
            "stream",
            "--directed",
            "--root",
            "2",
            "--rules",
            rules,
            "--verify",
            "--answers",
            "-",
        ]);
        let expected = "# id depth component triangles\n1 2 1 2\n2 0 1 1\n3 1 1 2\n4 2 1 1\n";
        assert_eq!(text, expected, "{rules}");
    }
}

#[test]
fn run_reads_standard_input_and_cuts_by_time() {
    use std::io::Write as _;
    use std::process::Stdio;

    let place = Place::new();
    let graph = place.write("graph", GRAPH);
    let mut command = crate::common::presponse(&["run", graph.to_str().unwrap()]);
    command.args(["--stream", "-", "--every", "10", "--json", "-"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stream = "+ 1 2 100\n+ 1 3 109\n- 1 2 90\n+ 1 4 110\n+ 1 5 131\n";
    child
        .stdin
        .take()
        .unwrap()
        .write_all(stream.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&json["batches"], &json["late_changes"]),
        (&3.into(), &1.into())
    );
    assert!(
        error.contains("1 change is earlier than one before"),
        "{error}"
    );
}

#[test]
fn run_without_a_graph_begins_with_an_empty_one() {
    let place = Place::new();
    place.write("stream", "8 6 10\n6 5 20\n- 8 6 30\n9 8 40\n");
    let arguments = [
        "run",
        "--stream",
        "stream",
        "--batch",
        "1",
        "--verify",
        "--answers",
        "-",
    ];
    let expected = "# id depth component triangles\n8 0 8 0\n6 - 6 0\n5 - 6 0\n9 1 8 0\n";
    assert_eq!(place.succeed(&arguments), expected);
    let compare = [
        "compare",
        "--stream",
        "stream",
        "--batch",
        "1",
        "--no-peers",
    ];
    let table = place.succeed(&compare);
    assert!(
        table.contains("no graph: 0 vertices") && !table.contains("NO"),
        "{table}"
    );
}

#[test]
fn run_writes_a_page_once() {
    let place = Place::new();
    place.write("graph", GRAPH);
    place.write("stream", STREAM);
    let arguments = ["run", "graph", "--stream", "stream", "-o", "run.html"];
    let text = place.succeed(&arguments);
    assert!(
        text.contains("Latency of a batch") && text.contains("Page: run.html"),
        "{text}"
    );
    let page = std::fs::read_to_string(place.path("run.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"));
    let (code, error) = place.fail(&arguments);
    assert!(code == 1 && error.contains("--force"), "{error}");
    place.succeed(&[&arguments[..], &["--force"]].concat());
}

#[test]
fn generated_files_are_the_same_for_a_seed_and_run() {
    let place = Place::new();
    for kind in [
        &["delaunay", "--vertices", "200"][..],
        &["rmat", "--scale", "7"],
        &["erdos-renyi", "--vertices", "100", "--edges", "300"],
        &["barabasi-albert", "--vertices", "100", "--each", "3"],
    ] {
        let one = place.succeed(&[&["generate"], kind].concat());
        let other = place.succeed(&[&["generate"], kind, &["--seed", "1"]].concat());
        assert_eq!(one, other);
        place.succeed(&[&["generate"], kind, &["-f", "-o", "graph"]].concat());
        assert_eq!(std::fs::read_to_string(place.path("graph")).unwrap(), one);
        let changes = [
            "generate",
            "changes",
            "graph",
            "--count",
            "500",
            "--deletions",
            "0.7",
        ];
        place.succeed(&[&changes[..], &["-f", "-o", "stream"]].concat());
        let run = [
            "run", "graph", "--stream", "stream", "--batch", "50", "--verify", "--json", "-",
        ];
        let json: Value = serde_json::from_str(&place.succeed(&run)).unwrap();
        assert_eq!(
            (&json["changes"], &json["batches"]),
            (&500.into(), &10.into())
        );
    }
}

#[test]
fn window_deletes_what_is_old() {
    let place = Place::new();
    place.write("temporal", "1 2 0\n2 3 5\n1 2 8\n3 4 30\n");
    let text = place.succeed(&["generate", "window", "temporal", "--length", "10"]);
    let expected = "+ 1 2 0\n+ 2 3 5\n+ 1 2 8\n- 2 3 15\n- 1 2 18\n+ 3 4 30\n";
    assert_eq!(text, expected);
}

#[test]
fn a_root_that_the_graph_lacks_is_warned_of() {
    let place = Place::new();
    place.write("graph", "1 2\n");
    place.write("stream", "+ 2 3\n");
    let output = place.run(&["run", "graph", "--stream", "stream", "--root", "77"]);
    assert!(output.status.success());
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("the root 77 is no vertex"), "{error}");
}

/// Each option's text, by its name, of the options that a command has.
fn options(place: &Place, command: &str) -> std::collections::BTreeMap<String, String> {
    let help = place.succeed(&[command, "-h"]);
    let mut options: Vec<(String, String)> = Vec::new();
    for line in help.lines() {
        match line.trim_start().strip_prefix('-') {
            Some(option) => {
                let (name, text) = option.split_once("  ").unwrap_or((option, ""));
                let name = name.rsplit("--").next().unwrap();
                let name = name.trim_start_matches('-').to_owned();
                options.push((name, text.trim().to_owned()));
            }
            None if line.starts_with("     ") => {
                if let Some((_, text)) = options.last_mut() {
                    *text = format!("{text} {}", line.trim()).trim().to_owned();
                }
            }
            None => {}
        }
    }
    options.into_iter().collect()
}

#[test]
fn options_that_commands_share_have_one_text() {
    let place = Place::new();
    let [run, compare, speculate] = ["run", "compare", "speculate"].map(|it| options(&place, it));
    for name in [
        "directed",
        "root <ID>",
        "threads <N>",
        "stream <FILE>",
        "every <TIME>",
        "json <FILE>",
        "output <FILE>",
        "force",
        "quiet",
    ] {
        let text = &run[name];
        assert!(!text.is_empty(), "{name}");
        assert_eq!([&compare[name], &speculate[name]], [text; 2], "{name}");
    }
    assert_eq!(run["verify"], speculate["verify"]);
}
