//! What to change, as text, JSON, SARIF and on a page.

use std::collections::BTreeSet;

use reuselens_advice::{Confidence, Cost, Example, Finding, FindingPlace, FindingRule};
use reuselens_advisor::{MissAdvice, NextStep, Unknown};
use reuselens_report::{
    AdviceReport, AdviceTextOptions, advice_gitlab, advice_json, advice_markdown, advice_sarif,
    advice_text, explain_text, rules_text,
};
use reuselens_units::Bytes;
use serde_json::Value;

static RULE: FindingRule = FindingRule {
    name: "a-rule",
    title: "A title",
    what: "What it looks at.",
    why: "Why that is bad.",
    example: Example {
        before: "for (;;)\n  a();",
        after: "a();",
    },
    limits: "When it is wrong.",
    source: "A paper",
};

fn finding(source: Option<&str>, confidence: Confidence) -> Finding {
    Finding {
        rule: &RULE,
        place: FindingPlace {
            source: source.map(str::to_owned),
            function: Some("solve".to_owned()),
            call_path: ["main (a.c:9)", "run (a.c:7)"].map(str::to_owned).to_vec(),
            object: Some("table <1>".to_owned()),
        },
        evidence: vec!["12 of 24 are wrong.".to_owned()],
        cost: Cost {
            amount: 12_345,
            unit: "misses".into(),
            share: 0.5,
        },
        remedy: "Do it right.".to_owned(),
        confidence,
    }
}

fn advice() -> MissAdvice {
    MissAdvice {
        cache: Bytes(32 << 10),
        cache_name: Some("L1d".to_owned()),
        misses: 24_690,
        findings: vec![
            finding(Some("/src/my dir/a.c:12"), Confidence::Likely),
            finding(Some("b.cu:7:3"), Confidence::Possible),
            finding(None, Confidence::Certain),
        ],
        unexplained: None,
        unknown: vec![Unknown {
            what: "misses of the TLB",
            why: "Distances were counted in lines.",
            how: NextStep::Command("reuselens profile --granularity 4K -- ./prog".to_owned()),
            rules: vec!["huge-pages"],
            partial_rules: Vec::new(),
            misses: None,
            is_essential: false,
        }],
    }
}

fn report(advice: &MissAdvice) -> AdviceReport<'_> {
    AdviceReport::of_misses(advice, "./prog".to_owned())
}

#[test]
fn text_has_the_costliest_findings_and_counts_the_others() {
    let options = AdviceTextOptions {
        most: 1,
        width: 80,
        color: false,
    };
    let text = advice_text(&report(&advice()), &options);
    for part in [
        "./prog: what to change (24.7 k misses in L1d (32 KiB))",
        "1. A title: 12.3 k misses, 50.0 % of all\n   a.c:12 in solve on table <1>\n",
        "   called by main (a.c:9) › run (a.c:7)\n   12 of 24 are wrong.\n   → Do it right.\n",
        "likely; reuselens explain a-rule",
        "2 more: --most 3 shows them.",
        "   misses of the TLB (for huge-pages): Run: reuselens profile --granularity 4K\n",
    ] {
        assert!(text.contains(part), "'{part}' is not in:\n{text}");
    }
    assert!(!text.contains("2. A title"), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
}

/// What section 3 of SARIF 2.1.0 requires of a log, a run, a tool, a rule and a result, and the
/// values that it allows.
#[test]
fn sarif_has_the_fields_that_its_schema_requires() {
    let log: Value = serde_json::from_str(&advice_sarif(&report(&advice()), None)).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let schema = log["$schema"].as_str().unwrap();
    assert!(schema.ends_with("/sarif-schema-2.1.0.json"), "{schema}");
    let [run] = &log["runs"].as_array().unwrap()[..] else {
        panic!("{log}");
    };
    let driver = &run["tool"]["driver"];
    assert_eq!(driver["name"], "reuselens");
    let rules = driver["rules"].as_array().unwrap();
    let ids: BTreeSet<&str> = rules
        .iter()
        .map(|rule| rule["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids.len(), rules.len(), "rules are there once: {log}");
    for rule in rules {
        for text in ["shortDescription", "fullDescription", "help"] {
            assert!(
                rule[text]["text"]
                    .as_str()
                    .is_some_and(|text| !text.is_empty()),
                "{rule}"
            );
        }
    }
    assert_eq!(run["invocations"][0]["executionSuccessful"], true);
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    for result in results {
        let index = result["ruleIndex"].as_u64().unwrap() as usize;
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert!(["none", "note", "warning", "error"].contains(&result["level"].as_str().unwrap()));
        assert!(
            result["message"]["text"]
                .as_str()
                .is_some_and(|text| text.contains("12.3 k"))
        );
        for location in result["locations"].as_array().into_iter().flatten() {
            let place = &location["physicalLocation"];
            assert!(place["artifactLocation"]["uri"].is_string(), "{location}");
            assert!(
                place["region"]["startLine"]
                    .as_u64()
                    .is_some_and(|line| line > 0)
            );
        }
    }
    let place = |at: usize| &results[at]["locations"][0]["physicalLocation"];
    assert_eq!(
        place(0)["artifactLocation"]["uri"],
        "file:///src/my%20dir/a.c"
    );
    assert_eq!(place(0)["region"]["startLine"], 12);
    assert_eq!(place(1)["artifactLocation"]["uri"], "b.cu");
    assert_eq!(place(1)["region"]["startLine"], 7);
    assert!(results[2].get("locations").is_none(), "{log}");
    assert_eq!(
        (&results[0]["level"], &results[1]["level"]),
        (&"warning".into(), &"note".into())
    );
}

/// Paths of the repository are relative to it, and a finding is known by the same words when its
/// line and its numbers change.
#[test]
fn services_that_review_code_find_the_file_and_know_the_finding_again() {
    let sarif = |advice: &MissAdvice| -> Value {
        serde_json::from_str(&advice_sarif(&report(advice), Some("/src"))).unwrap()
    };
    let gitlab = |advice: &MissAdvice| -> Value {
        serde_json::from_str(&advice_gitlab(&report(advice), Some("/src"))).unwrap()
    };
    let mut advice = advice();
    advice
        .findings
        .push(finding(Some("/src/my dir/a.c:19"), Confidence::Likely));
    let (log, violations) = (sarif(&advice), gitlab(&advice));
    assert_eq!(log["runs"][0]["automationDetails"]["id"], "reuselens/");
    let results = log["runs"][0]["results"].as_array().unwrap();
    let artifact = &results[0]["locations"][0]["physicalLocation"]["artifactLocation"];
    assert_eq!(artifact["uri"], "my%20dir/a.c");
    assert_eq!(artifact["uriBaseId"], "%SRCROOT%");
    let known = |result: &Value| result["partialFingerprints"]["reuselens/v1"].clone();
    assert_eq!(known(&results[0]), "a-rule:my dir/a.c:solve:table <1>");
    assert_eq!(known(&results[3]), "a-rule:my dir/a.c:solve:table <1>:2");
    // GitLab has those with a line.
    let violations = violations.as_array().unwrap();
    assert_eq!(violations.len(), 3);
    for (violation, at) in violations.iter().zip([0, 1, 3]) {
        assert_eq!(violation["fingerprint"], known(&results[at]));
        assert_eq!(violation["description"], results[at]["message"]["text"]);
        assert_eq!(violation["check_name"], "a-rule");
        let severities = ["info", "minor", "major", "critical", "blocker"];
        assert!(severities.contains(&violation["severity"].as_str().unwrap()));
    }
    let place = serde_json::json!({ "path": "my dir/a.c", "lines": { "begin": 12 } });
    assert_eq!(violations[0]["location"], place);
    advice.findings[0].place.source = Some("/src/my dir/a.c:14".to_owned());
    advice.findings[0].cost.amount = 7;
    let later = sarif(&advice);
    assert_eq!(known(&later["runs"][0]["results"][0]), known(&results[0]));
}

#[test]
fn markdown_is_a_table_whose_cells_mean_nothing_to_it() {
    let mut advice = advice();
    advice.findings[0].place.object = Some("a|b".to_owned());
    let text = advice_markdown(&report(&advice), Some("/src"), 2);
    for part in [
        "### Locality: what to change (`./prog`)\n",
        "\n| 1 | A title | `my dir/a.c:12` in `solve` on `a\\|b` | 12.3 k misses, 50.0 % of all |\n",
        "\n- 1: 12 of 24 are wrong. → Do it right.\n",
        "\n- 1 more\n",
        "\n- not known: misses of the TLB: Run: reuselens profile --granularity 4K",
    ] {
        assert!(text.contains(part), "'{part}' is not in:\n{text}");
    }
    let rows = text.lines().filter(|line| line.starts_with('|'));
    let columns = |row: &str| row.replace("\\|", "").matches('|').count();
    assert!(rows.clone().count() == 4 && rows.clone().all(|row| columns(row) == 5));
}

#[test]
fn json_has_findings_and_what_is_unknown() {
    let json: Value = serde_json::from_str(&advice_json(&report(&advice()))).unwrap();
    assert_eq!(
        (&json["schema"], &json["cache_bytes"]),
        (&"reuselens-advice/1".into(), &32768.into())
    );
    assert_eq!(json["findings"][0]["cost"]["amount"], 12_345);
    assert_eq!(json["findings"][2]["source"], Value::Null);
    assert_eq!(json["unknown"][0]["rules"][0], "huge-pages");
    let how = "Run: reuselens profile --granularity 4K -- ./prog";
    assert_eq!(json["unknown"][0]["how"], how);
}

#[test]
fn next_step_is_a_command_without_its_verb_or_sentences() {
    let lacking = |how: NextStep| {
        let mut advice = advice();
        advice.findings.clear();
        advice.unknown[0].how = how;
        advice.unknown[0].is_essential = true;
        report(&advice).next().map(str::to_owned)
    };
    let command = "reuselens profile --why -- ./prog";
    let step = NextStep::Command(command.to_owned());
    assert_eq!(lacking(step).as_deref(), Some(command));
    let advice = "Record a trace with addresses.";
    assert_eq!(lacking(NextStep::Advice(advice)).as_deref(), Some(advice));
}

#[test]
fn rules_are_explained_with_their_example() {
    let text = explain_text(&RULE, 80, false);
    assert!(
        text.starts_with("A title (a-rule)\n\nWhy that is bad.\n"),
        "{text}"
    );
    assert!(
        text.contains("Before\n  for (;;)\n    a();\n\nAfter\n  a();\n"),
        "{text}"
    );
    let list = rules_text(&[("Programs", vec![&RULE]), ("Others", vec![&RULE])], false);
    assert_eq!(
        list,
        "Programs\n  a-rule  A title\n\nOthers\n  a-rule  A title\n"
    );
}

#[test]
fn files_of_one_name_are_shown_with_their_paths() {
    let mut advice = advice();
    let options = AdviceTextOptions {
        most: 5,
        width: 100,
        color: false,
    };
    advice.findings[1].place.source = Some("/src/other/a.c:12".to_owned());
    let text = advice_text(&report(&advice), &options);
    assert!(
        text.contains("   /src/my dir/a.c:12 in") && text.contains("   /src/other/a.c:12 in"),
        "{text}"
    );
}

/// Where rules could not look at most of the misses, the absence of findings is none of the
/// program's.
#[test]
fn nothing_found_says_of_how_many_misses_rules_could_not_know() {
    let mut advice = advice();
    let options = AdviceTextOptions {
        most: 5,
        width: 100,
        color: false,
    };
    advice.unknown.push(Unknown {
        what: "which fields of structures are used",
        why: "There is no debug information.",
        how: NextStep::Advice("Compile the program with -g."),
        rules: Vec::new(),
        partial_rules: vec!["array-of-structures", "loop-order", "mixed-fields"],
        misses: Some(22_221),
        is_essential: false,
    });
    let text = advice_text(&report(&advice), &options);
    assert!(text.starts_with("./prog: what to change"), "{text}");
    advice.findings.clear();
    let text = advice_text(&report(&advice), &options);
    let title = "./prog: nothing was found; 3 rules could not look at 90.0 % of the misses, 1 was";
    assert!(text.starts_with(title), "{text}");
    let step = report(&advice).next().map(str::to_owned);
    assert_eq!(step.as_deref(), Some("Compile the program with -g."));
    let json: Value = serde_json::from_str(&advice_json(&report(&advice))).unwrap();
    assert_eq!(json["unknown"][1]["misses"], 22_221);
}
