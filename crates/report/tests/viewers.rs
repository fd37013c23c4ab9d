//! What viewers of profiles open: every number of it, against the profile.

use std::collections::BTreeMap;
use std::path::Path;

use reuselens_locality::{CacheSize, Dimension, Profile};
use reuselens_report::Viewer;
use reuselens_units::Bytes;

use super::common;

#[test]
fn formats_are_found_by_their_names() {
    let of = |name: &str| Viewer::of(Path::new(name));
    assert_eq!(of("a/run.folded"), Some(Viewer::Folded));
    assert_eq!(of("run.callgrind"), Some(Viewer::Callgrind));
    assert_eq!(of("callgrind.out.12"), Some(Viewer::Callgrind));
    assert_eq!(of("run.speedscope.json"), Some(Viewer::Speedscope));
    assert_eq!(of("run.json"), None);
    assert_eq!(of("-"), None);
}

/// The misses of a profile's cells in a cache of `items` items.
fn misses(profile: &Profile, items: u64) -> u64 {
    let cells = profile.cells.iter();
    cells.map(|cell| cell.histogram.misses(items)).sum()
}

/// A profile of two threads, and one with names that need care in every format.
fn profiles() -> [Profile; 2] {
    [common::matmul(12, false), common::tiny()]
}

#[test]
fn folded_stacks_have_all_misses_and_the_data_last() {
    for profile in profiles() {
        let cache = CacheSize {
            bytes: Bytes(1024),
            ways: 0,
        };
        let text = Viewer::Folded.export(&profile, Some(cache));
        let lines = text.lines().map(|line| line.rsplit_once(' ').unwrap());
        let lines: BTreeMap<&str, u64> = lines
            .map(|(stack, count)| (stack, count.parse().unwrap()))
            .collect();
        assert_eq!(lines.len(), text.lines().count(), "no stack comes twice");
        let items = 1024 / profile.granularity.bytes();
        assert_eq!(lines.values().sum::<u64>(), misses(&profile, items));
        let objects = profile.entry_names(Dimension::Object);
        for stack in lines.keys() {
            let last = stack.rsplit(';').next().unwrap();
            assert!(objects.iter().any(|name| name == last), "{stack}");
        }
    }
}

#[test]
fn folded_stacks_are_those_of_the_program() {
    let text = Viewer::Folded.export(&common::matmul(12, false), None);
    for line in [
        "main;fill;matmul.c:9;a (matmul.c)",
        "main;multiply;matmul.c:18;c (matmul.c)",
        "worker;multiply;matmul.c:18;c (matmul.c)",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}

/// The costs of a line of numbers after the first, which is a place.
fn costs(line: &str) -> Vec<u64> {
    let words = line.split_whitespace().skip(1);
    words.map(|word| word.parse().unwrap()).collect()
}

#[test]
fn costs_of_functions_in_callgrinds_format_sum_to_its_summary() {
    for profile in profiles() {
        let text = Viewer::Callgrind.export(&profile, None);
        let summary = text.lines().find(|line| line.starts_with("summary:"));
        let mut left = costs(summary.unwrap());
        assert_eq!(left[0], profile.histogram.accesses());
        let (mut is_call, mut calls) = (false, 0);
        for line in text.lines() {
            if line.starts_with(|letter: char| letter.is_ascii_digit()) && !is_call {
                let costs = costs(line);
                assert_eq!(costs.len(), left.len());
                let both = left.iter_mut().zip(costs);
                both.for_each(|(left, cost)| *left -= cost);
            }
            is_call = line.starts_with("calls=");
            calls += usize::from(is_call);
        }
        assert!(left.iter().all(|left| *left == 0), "{left:?}");
        assert!(calls > 0);
    }
}

#[test]
fn speedscope_has_a_profile_for_each_cost_with_its_sum() {
    for profile in profiles() {
        let text = Viewer::Speedscope.export(&profile, None);
        let file: serde_json::Value = serde_json::from_str(&text).unwrap();
        let frames = file["shared"]["frames"].as_array().unwrap().len() as u64;
        let profiles = file["profiles"].as_array().unwrap();
        assert!(profiles.len() > 1);
        assert_eq!(profiles[0]["endValue"], profile.histogram.accesses());
        for weights in profiles {
            let all = weights["weights"].as_array().unwrap();
            let sum: u64 = all.iter().map(|weight| weight.as_u64().unwrap()).sum();
            assert_eq!(weights["endValue"], sum);
            let samples = weights["samples"].as_array().unwrap();
            assert_eq!(samples.len(), all.len());
            let mut numbers = samples.iter().flat_map(|stack| stack.as_array().unwrap());
            assert!(numbers.all(|frame| frame.as_u64().unwrap() < frames));
        }
    }
}

#[test]
fn profiles_without_contexts_have_the_functions_of_their_sites() {
    let mut profile = common::matmul(12, false);
    profile.contexts.truncate(1);
    profile.cells.iter_mut().for_each(|cell| cell.context = 0);
    let text = Viewer::Folded.export(&profile, None);
    assert!(text.starts_with("fill;matmul.c:9;a (matmul.c) "), "{text}");
    assert!(
        Viewer::Callgrind
            .export(&profile, None)
            .contains("fn=multiply\n")
    );
}

#[test]
fn damaged_contexts_end_a_stack() {
    let mut profile = common::matmul(12, false);
    for context in &mut profile.contexts {
        context.parent = u32::MAX;
    }
    for viewer in [Viewer::Folded, Viewer::Callgrind, Viewer::Speedscope] {
        assert!(!viewer.export(&profile, None).is_empty());
    }
}
