//! Reuse times, footprints, forward distances and bounded history, where they are shown.

use reuselens_locality::ReuseTimeCounts;
use reuselens_profile::{Dimension, Profile};
use reuselens_report::{HtmlOptions, JsonOptions, TextOptions, json, page, summary};
use serde_json::Value;

use crate::common;

/// With everything measured: a trace that goes over 32 items again and again, and forward distances
/// that are the backward ones.
fn measured() -> Profile {
    let mut profile = common::matmul(24, false);
    let mut counts = ReuseTimeCounts::new();
    let accesses = profile.histogram.accesses();
    counts.add_column((0..accesses).map(|at| (at >= 32).then_some(31)));
    profile.reuse_times = Some(counts.finish(0..32));
    for cell in &mut profile.cells {
        cell.forward = cell.histogram.clone();
    }
    profile
}

fn parsed(profile: &Profile) -> Value {
    let options = JsonOptions {
        by: vec![Dimension::Program, Dimension::Line],
        ..JsonOptions::default()
    };
    serde_json::from_str(&json(profile, &options)).unwrap()
}

#[test]
fn json_has_reuse_times_if_they_were_measured() {
    let profile = measured();
    let value = parsed(&profile);
    let reuses = profile.histogram.accesses() - 32;
    assert_eq!(
        value["reuse_times"]["counts"],
        serde_json::json!([[16, 31, reuses]])
    );
    let footprint = value["footprint"].as_array().unwrap();
    for point in footprint {
        let window = point[0].as_f64().unwrap();
        assert!(
            (point[1].as_f64().unwrap() - window.min(32.0)).abs() < 1e-9,
            "{point}"
        );
    }
    assert!(footprint.len() > 30);
    for group in value["groups"].as_array().unwrap() {
        assert_eq!(group["forward"]["counts"], group["histogram"]["counts"]);
    }
    let plain = parsed(&common::matmul(24, false));
    for name in ["reuse_times", "footprint", "max_distance"] {
        assert_eq!(plain.get(name), None);
    }
    assert_eq!(plain["groups"][0].get("forward"), None);
}

#[test]
fn summary_has_a_line_for_each_measure_of_time() {
    let text = summary(&measured(), &TextOptions::default());
    for line in [
        "Reuse times: half of the reuses come after at most 31 other accesses; the mean is 31.0.",
        "Footprint, mean 64-byte lines in a stretch of accesses: 32.0 of 100, 32.0 of 10.0 k.",
        "Forward distances: ",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(
        text.lines().all(|line| line.chars().count() <= 90),
        "{text}"
    );
    assert!(!summary(&common::matmul(24, false), &TextOptions::default()).contains("Footprint"));
}

#[test]
fn page_draws_the_footprint_as_a_curve() {
    let html = page(&measured(), &HtmlOptions::default());
    let (_, section) = html.split_once("<section id=\"footprint\">").unwrap();
    let (section, _) = section.split_once("</section>").unwrap();
    assert!(
        section.contains("class=\"chart\"") && !section.contains("NaN"),
        "{section}"
    );
    let plain = page(&common::matmul(24, false), &HtmlOptions::default());
    assert!(!plain.contains("id=\"footprint\""));
}

#[test]
fn limited_distances_are_reported_as_limited() {
    let mut profile = common::matmul(24, false);
    profile.method.max_distance = Some(600);
    let value = parsed(&profile);
    assert_eq!(value["max_distance"], 600);
    assert_eq!(value["distinct"], Value::Null);
    let curve = value["miss_ratio_curve"].as_array().unwrap();
    assert!(curve.iter().all(|point| point[0].as_u64().unwrap() <= 600));
    // L1 has 512 lines; the others are larger than the measured distances.
    let caches = value["caches"].as_array().unwrap();
    assert_eq!(caches.len(), 1);
    let text = summary(&profile, &TextOptions::default());
    assert!(
        text.contains("exact below distances of 600 items"),
        "{text}"
    );
    assert!(text.contains("first or ≥ 37.5 KiB"), "{text}");
    assert!(!text.contains("distinct"), "{text}");
    let html = page(&profile, &HtmlOptions::default());
    assert!(html.contains("No distance told") && !html.contains("Distinct data"));
}
