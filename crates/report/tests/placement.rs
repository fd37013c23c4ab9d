//! Plans with phases, lifetimes and footprints, as text, JSON and page.

use reuselens_locality::FineHistogram;
use reuselens_placement::{MemoryMachine, Objective, PlacementPlan, PlanOptions, plan};
use reuselens_profile::{
    Cell, ContextFootprint, Frame, Lifetime, Object, ObjectKind, ObjectPart, PlacementData, Profile,
};
use reuselens_report::{PlacementReport, placement_json, placement_page, placement_text};
use reuselens_units::{Bytes, Distance};
use serde_json::Value;

use crate::common;

const MACHINE: &str = r#"
name = "near and far <memory>"
parallelism = 10
[[tier]]
name = "near"
kind = "HBM"
capacity = "10 MiB"
latency = 50
bandwidth = 100000
[[tier]]
name = "far"
kind = "DRAM"
latency = 150
bandwidth = 20000
"#;

const MIB: u64 = 1 << 20;

/// Two phases of several entries, each with an array of its own that fills the near memory; and two
/// objects that are never live together.
fn planned() -> (Profile, PlacementPlan) {
    let machine = MemoryMachine::from_toml(MACHINE).unwrap();
    planned_on(&machine, Objective::Time)
}

fn planned_on(machine: &MemoryMachine, objective: Objective) -> (Profile, PlacementPlan) {
    let mut profile = common::empty();
    profile.method.placement = Some(PlacementData::default());
    for (at, name) in ["first", "second"].into_iter().enumerate() {
        let mut context = common::context(0, name, Frame::default());
        context.entries = Some(5000);
        context.footprint = Some(ContextFootprint {
            exclusive: 8 * MIB / 64,
            inclusive: 8 * MIB / 64,
        });
        profile.contexts.push(context);
        add(&mut profile, name, 8 * MIB, None, at as u32 + 1);
        let (begin, end) = (at as u64 * 100, at as u64 * 100 + 50);
        let lifetime = Some(Lifetime { begin, end });
        add(
            &mut profile,
            &format!("{name} <buffer>"),
            MIB,
            lifetime,
            at as u32 + 1,
        );
    }
    let options = PlanOptions {
        objective,
        cache: Bytes(1 << 16).into(),
    };
    let plan = plan(&profile, machine, options).unwrap();
    (profile, plan)
}

fn add(profile: &mut Profile, name: &str, bytes: u64, lifetime: Option<Lifetime>, context: u32) {
    profile.objects.push(Object {
        kind: ObjectKind::Heap,
        name: name.to_owned(),
        bytes,
        blocks: 1,
        lifetime,
        path: vec![common::frame("main", "a.c", 7)],
        ..Object::default()
    });
    let object = profile.objects.len() as u32 - 1;
    let mut histogram = FineHistogram::new();
    let counts = [
        (Distance::new(MIB), 1_000_000),
        (Distance::COLD, bytes / 64),
    ];
    for (distance, count) in counts {
        histogram.add(distance, count + u64::from(object));
        profile.histogram.add(distance, count + u64::from(object));
    }
    profile.cells.push(Cell {
        object,
        context,
        histogram,
        ..Cell::default()
    });
}

/// A report of a measured profile.
fn report<'a>(profile: &'a Profile, plan: &'a PlacementPlan) -> PlacementReport<'a> {
    PlacementReport {
        name: "p.rlprof",
        profile,
        plan,
        prediction: None,
    }
}

#[test]
fn text_has_phases_with_their_break_even_and_shared_room() {
    let (profile, plan) = planned();
    let text = placement_text(&report(&profile, &plan), 10, 140, false);
    for part in [
        "Calling contexts by what they access",
        "optimise first",
        "Phases, each with a placement of its own",
        "do not move",
        "moving pays with",
        "10 MiB, 9 MiB at one time",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn text_has_equal_paths_once_and_what_a_verdict_lacks() {
    let machine = MemoryMachine::of_fast_memory(Bytes(10 * MIB));
    let (profile, plan) = planned_on(&machine, Objective::Misses);
    let text = placement_text(&report(&profile, &plan), 10, 140, false);
    assert!(text.contains("unknown  ? (add --machine)"), "{text}");
    assert_eq!(text.matches("main (a.c:7)").count(), 1, "{text}");
    assert!(text.contains("     2  as 1\n"), "{text}");
}

#[test]
fn json_has_what_the_text_says_of_phases() {
    let (profile, plan) = planned();
    let json: Value = serde_json::from_str(&placement_json(&report(&profile, &plan))).unwrap();
    let phases = json["phases"].as_array().unwrap();
    let verdicts: Vec<&str> = phases
        .iter()
        .map(|it| it["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(verdicts, ["do_not_move", "same"]);
    let number = |name: &str| phases[0][name].as_f64().unwrap();
    assert!(number("value_of_own") > number("value_of_plan"));
    assert!(number("moving_cost") > number("value_of_own") - number("value_of_plan"));
    assert_eq!(json["contexts"][1]["advice"], "optimise_first");
    assert_eq!(json["objects"][0]["rank"], 1);
    let buffers = json["objects"].as_array().unwrap().iter();
    let lives: Vec<_> = buffers.filter(|it| !it["live"].is_null()).collect();
    assert_eq!(lives.len(), 2);
}

#[test]
fn page_is_complete_and_escapes_its_texts() {
    let (profile, plan) = planned();
    let page = placement_page(&report(&profile, &plan));
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"));
    for part in [
        "near and far &lt;memory&gt;",
        "first &lt;buffer&gt;",
        "capacity of near",
        "do not move",
        "optimise first",
        "<b>this plan</b> 10 MiB",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("=\"NaN") && !page.contains(":NaN") && !page.contains("<buffer>"));
    assert_eq!(page, placement_page(&report(&profile, &plan)));
}

#[test]
fn phases_and_contexts_of_one_name_have_the_calls_that_distinguish_them() {
    let (mut profile, _) = planned();
    for (context, line) in [(1, 12), (2, 15)] {
        profile.contexts[context].function = "work".to_owned();
        profile.contexts[context].call = common::frame("main", "a.c", line);
    }
    let machine = MemoryMachine::from_toml(MACHINE).unwrap();
    let options = PlanOptions {
        objective: Objective::Time,
        cache: Bytes(1 << 16).into(),
    };
    let plan = plan(&profile, &machine, options).unwrap();
    let text = placement_text(&report(&profile, &plan), 10, 140, false);
    for line in [12, 15] {
        let label = format!("work < main (a.c:{line})");
        assert_eq!(text.matches(&label).count(), 2, "{text}");
    }
    let json: Value = serde_json::from_str(&placement_json(&report(&profile, &plan))).unwrap();
    assert_eq!(json["phases"][0]["calls"][0], "main (a.c:12)");
}

#[test]
fn large_costs_of_phases_are_factors() {
    let (profile, mut plan) = planned();
    let phase = &mut plan.phases.phases[0];
    phase.cost = Some(phase.value_own * 6529.2);
    let text = placement_text(&report(&profile, &plan), 10, 140, false);
    assert!(text.contains("× 6,529"), "{text}");
}

/// Rows of one object in one place are one; the page has each chunk and lists small ones.
#[test]
fn chunks_are_one_row_of_the_text_and_all_named_on_the_page() {
    let mut profile = common::empty();
    profile.method.placement = Some(PlacementData::default());
    for at in 0..16 {
        add(&mut profile, "large", MIB, None, 0);
        profile.objects[at as usize + 1].part = Some(ObjectPart {
            start: at * MIB,
            end: (at + 1) * MIB,
            chunk: MIB,
            longest: 16 * MIB,
        });
    }
    let machine = MemoryMachine::from_toml(MACHINE).unwrap();
    let options = PlanOptions {
        objective: Objective::Misses,
        cache: Bytes(1 << 16).into(),
    };
    let plan = plan(&profile, &machine, options).unwrap();
    let text = placement_text(&report(&profile, &plan), 10, 140, false);
    let rows: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("  large  "))
        .collect();
    assert_eq!(rows.len(), 2, "{text}");
    assert!(
        rows[0].contains("6–16 MiB") && rows[0].ends_with("near"),
        "{text}"
    );
    assert!(
        rows[1].contains("0–6 MiB") && rows[1].ends_with("far: no room"),
        "{text}"
    );
    let page = placement_page(&report(&profile, &plan));
    let others = page.split("<summary>").nth(1).unwrap();
    let others = others.split("</details>").next().unwrap();
    assert!(others.starts_with("4 others"), "{others}");
    assert_eq!(others.matches("large [").count(), 4, "{others}");
}
