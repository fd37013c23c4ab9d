//! Phases, carried reuses, sharing and conflicts in a summary, on a page and in JSON.

use crate::common::{matmul, parsed};
use reuselens_profile::*;
use reuselens_report::{HtmlOptions, JsonOptions, TextOptions, json, page, summary};
use reuselens_units::Bytes;
use serde_json::{Value, json as value};

/// Objects of the profile, from 1.
const OBJECTS: [u32; 2] = [1, 2];

fn interval(misses: u64, footprint: u64, phase: u32) -> RunInterval {
    RunInterval {
        accesses: 1000,
        misses,
        first_touches: misses / 10,
        footprint,
        phase,
    }
}

fn phase(object: u32, misses: u64) -> RunPhase {
    RunPhase {
        accesses: 2000,
        misses,
        objects: vec![ObjectMisses { object, misses }],
    }
}

fn causes() -> Causes {
    let [a, b] = OBJECTS;
    let end = |object| SharedEnd {
        site: 1,
        object,
        offset: None,
    };
    let reuse = |sink, misses| CarriedReuse {
        source: 1,
        sink,
        object: a,
        carrier: Carrier::Scope(0),
        misses,
        distance_sum: misses * 1024,
    };
    Causes {
        cache: Bytes(32 << 10),
        has_loops: true,
        carried: vec![reuse(1, 300), reuse(2, 100)],
        scopes: vec![MissScope {
            kind: ScopeKind::Loop,
            frame: Frame {
                function: "multiply".to_owned(),
                file: "/src/<a>.c".to_owned(),
                line: 35,
            },
            ..MissScope::default()
        }],
        shared: vec![SharedData {
            writer: end(a),
            victim: end(b),
            true_sharing: 1,
            false_sharing: 99,
            lines: 3,
        }],
        set_caches: vec![SetCache {
            name: "L1d".to_owned(),
            size: Bytes(32 << 10),
            sets: 64,
            ways: 8,
            misses: 5000,
            associative_misses: 1000,
        }],
        phases: RunPhases {
            intervals: vec![
                interval(900, 512, 0),
                interval(800, 512, 0),
                interval(10, 16, 1),
                interval(0, 16, 1),
            ],
            phases: vec![phase(a, 1700), phase(b, 10)],
        },
        ..Causes::default()
    }
}

fn profile() -> Profile {
    let mut profile = matmul(16, false);
    profile.causes = Some(causes());
    for cell in &mut profile.cells {
        if cell.object == OBJECTS[0] {
            cell.causes.set_misses = vec![4000];
            cell.causes.fills = 50;
            cell.causes.used_bytes = 800;
            break;
        }
    }
    profile
}

fn name(profile: &Profile, object: u32) -> String {
    profile.objects[object as usize].name.clone()
}

#[test]
fn summary_has_tables_of_causes_and_a_line_of_phases() {
    let profile = profile();
    let text = summary(&profile, &TextOptions::default());
    let rows: Vec<Vec<&str>> = (text.lines())
        .map(|line| line.split_whitespace().collect())
        .collect();
    let starts = |words: &[&str]| rows.iter().any(|row| row.starts_with(words));
    assert!(starts(&["300", "75.0", "%", "64", "KiB"]), "{text}");
    assert!(text.contains("the loop at <a>.c:35"), "{text}");
    assert!(starts(&["100", "99.0", "%", "3"]), "{text}");
    assert!(starts(&["over", "time", "1122"]), "{text}");
    assert!(
        starts(&["50.0", "%", "1,700", "85.0", "%", "32", "KiB"]),
        "{text}"
    );
    let conflicts = text
        .lines()
        .find(|line| line.contains(" L1d") && line.contains("4,000"));
    assert!(
        conflicts.is_some_and(|line| line.contains(&name(&profile, 1))),
        "{text}"
    );
}

#[test]
fn page_has_a_picture_of_phases_and_the_tables() {
    let text = page(&profile(), &HtmlOptions::default());
    for part in [
        "href=\"#why\"",
        "<section id=\"why\">",
        "id=\"phases\"",
        "Accesses that miss over time, at most 90.0 %",
        "Distinct data in an interval over time, at most 32 KiB",
        "the loop at &lt;a&gt;.c:35",
        "Threads that take lines from each other",
        "Conflicts in the sets of caches",
    ] {
        assert!(text.contains(part), "{part}");
    }
    // The first phase has the first half of the width, its intervals 900 and 800 of 900 high.
    let path = "<path class=\"sbar v0\" d=\"M0.0 1000V0H250.0V1000zM250.0 1000V111H500.0V1000z\">";
    assert!(text.contains(path));
}

#[test]
fn json_has_all_causes() {
    let profile = profile();
    let text = json(&profile, &JsonOptions::default());
    let document: Value = serde_json::from_str(&text).unwrap();
    let causes = &document["causes"];
    assert_eq!(causes["cache_bytes"], 32 << 10);
    let phases = &causes["phases"];
    assert_eq!(phases["intervals"][2], value!([1000, 10, 1, 16, 2]));
    assert_eq!(
        phases["phases"][0],
        value!({
            "phase": 1, "intervals": 2, "accesses": 2000, "misses": 1700, "mean_footprint": 512,
            "objects": [[name(&profile, 1), 1700]],
        })
    );
    let reuse = &causes["carried"][0];
    assert_eq!(
        (&reuse["misses"], &reuse["mean_distance"], &reuse["kind"]),
        (&300.into(), &1024.into(), &"loop".into())
    );
    let pair = &causes["shared"][0];
    assert_eq!(
        (&pair["false_sharing"], &pair["victim"]["object"]),
        (&99.into(), &name(&profile, 2).into())
    );
    let object = &causes["by_object"][0];
    assert_eq!(
        (
            &object["object"],
            &object["bytes_brought"],
            &object["bytes_used"]
        ),
        (&name(&profile, 1).into(), &3200.into(), &800.into())
    );
    assert_eq!(causes["set_caches"][0]["ways"], 8);
    assert_eq!(causes["conflicts"][0]["misses"], 4000);
}

#[test]
fn without_causes_nothing_of_them_is_shown() {
    let mut profile = profile();
    profile.causes = None;
    let text = summary(&profile, &TextOptions::default());
    assert!(!text.contains("over time"), "{text}");
    assert!(!page(&profile, &HtmlOptions::default()).contains("id=\"why\""));
    let document = parsed(&profile);
    assert!(document.get("causes").is_none());
}

#[test]
fn one_phase_is_no_picture() {
    let mut profile = profile();
    if let Some(causes) = &mut profile.causes {
        causes.phases.phases.truncate(1);
        causes.phases.intervals.truncate(2);
    }
    let text = page(&profile, &HtmlOptions::default());
    assert!(!text.contains("id=\"phases\"") && text.contains("<section id=\"why\">"));
}

#[test]
fn rows_of_few_misses_are_in_the_json_alone() {
    let mut profile = profile();
    if let Some(causes) = &mut profile.causes {
        let rare = CarriedReuse {
            object: OBJECTS[1],
            misses: 3,
            ..causes.carried[0]
        };
        causes.carried[0].misses = 300_000;
        causes.carried.push(rare);
    }
    let text = page(&profile, &HtmlOptions::default());
    assert!(text.contains("2 more rows are in the JSON"), "{text}");
    let text = summary(&profile, &TextOptions::default());
    assert!(text.contains("  2 others\n"), "{text}");
    let document = parsed(&profile);
    let carried = document["causes"]["carried"].as_array().map(Vec::len);
    assert_eq!(carried, Some(3));
}

#[test]
fn sampled_profile_says_that_no_rule_was_applied() {
    let mut profile = profile();
    profile.method.exact = false;
    let text = summary(&profile, &TextOptions::default());
    assert!(text.contains("\nNo rule was applied\n"), "{text}");
    let joined = text.split_whitespace().collect::<Vec<&str>>().join(" ");
    let hint = "Distances were sampled. For findings: reuselens profile --why=L1d --engine counting \
                -- ./matmul 16";
    assert!(joined.contains(hint), "{text}");
    let page = page(&profile, &HtmlOptions::default());
    assert!(page.contains(hint) && page.contains("<p>No rule was applied.</p>"));
    for shown in [text, page] {
        assert!(
            !shown.to_lowercase().contains("nothing to change"),
            "{shown}"
        );
    }
}

#[test]
fn json_of_a_sample_has_its_rate_and_null_for_what_was_not_counted() {
    let mut profile = profile();
    let exact = parsed(&profile);
    assert!(exact["causes"]["sample_rate"].is_null());
    profile.causes = Some(Causes {
        cache: Bytes(32 << 10),
        sample_rate: Some(0.05),
        ..Causes::default()
    });
    let causes = &parsed(&profile)["causes"];
    assert_eq!(causes["sample_rate"], 0.05);
    for part in [
        "shared",
        "carried",
        "conflicts",
        "set_caches",
        "phases",
        "has_loops",
    ] {
        assert!(causes.get(part).is_some_and(Value::is_null), "{part}");
        assert!(!exact["causes"][part].is_null(), "{part}");
    }
    let object = &causes["by_object"][0];
    assert_eq!(object["misses"], 50);
    for part in ["true_sharing", "false_sharing", "set_misses"] {
        assert!(object.get(part).is_some_and(Value::is_null), "{part}");
    }
}

#[test]
fn rarer_pairs_that_share_lines_are_no_unknown_code() {
    let mut profile = profile();
    let pair = |site, true_sharing| SharedData {
        victim: SharedEnd {
            site,
            ..SharedEnd::default()
        },
        writer: SharedEnd::default(),
        true_sharing,
        ..SharedData::default()
    };
    let causes = profile.causes.as_mut().unwrap();
    causes.shared.extend([pair(0, 40), pair(1, 30)]);
    causes.unlisted_pairs = Some(UnlistedPairs {
        invalidations: 40,
        most_of_a_pair: 7,
    });
    let text = summary(&profile, &TextOptions::default());
    let row = text.lines().find(|line| line.contains("rarer pairs"));
    assert!(
        row.is_some_and(|row| row.trim_start().starts_with("40 ")),
        "{text}"
    );
    assert!(page(&profile, &HtmlOptions::default()).contains("rarer pairs"));
    let document = parsed(&profile);
    let causes = &document["causes"];
    let unlisted = value!({ "invalidations": 40, "most_of_a_pair": 7 });
    assert_eq!(causes["unlisted_pairs"], unlisted);
    assert_eq!(causes["shared"][1]["true_sharing"], 40);
    assert!(causes["shared"][1]["writer"].is_null());
    assert!(causes["shared"][2]["writer"].is_object());
    // Without rarer pairs, the same entry is of unknown code.
    profile.causes.as_mut().unwrap().unlisted_pairs = None;
    let text = summary(&profile, &TextOptions::default());
    assert!(!text.contains("rarer pairs"), "{text}");
    let document = parsed(&profile);
    assert!(document["causes"]["shared"][1]["writer"].is_object());
    assert!(document["causes"]["unlisted_pairs"].is_null());
}

#[test]
fn last_tick_of_a_picture_ends_at_the_edge() {
    let text = page(&profile(), &HtmlOptions::default());
    assert!(text.contains("<span class=\"end\" style=\"left:100%\">100 %</span>"));
    assert!(text.contains(".plot .x span.end { transform: translateX(-100%); }"));
}
