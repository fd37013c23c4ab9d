//! Runs `cases/predict/*.toml`.

use std::collections::HashSet;
use std::path::Path;

use reuselens_locality::{Pattern, PatternBin, PatternBins, PatternRule, patterns};
use reuselens_predict::{is_right, overlap};
use reuselens_units::Distance;

fn tables() -> Vec<toml::Table> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/predict");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(!files.is_empty());
    files
        .iter()
        .map(|file| std::fs::read_to_string(file).unwrap().parse().unwrap())
        .collect()
}

/// The cases of one kind, whose names differ, and which say why their numbers are right.
fn cases(kind: &str) -> Vec<toml::Table> {
    let mut names = HashSet::new();
    let lists = tables()
        .into_iter()
        .filter_map(|table| table.get(kind).cloned());
    let cases: Vec<toml::Table> = lists
        .flat_map(|list| list.as_array().unwrap().clone())
        .map(|case| case.as_table().unwrap().clone())
        .collect();
    for case in &cases {
        assert!(names.insert(text(case, "name")) && !text(case, "source").is_empty());
    }
    assert!(cases.len() > 5, "{kind}");
    cases
}

fn text(case: &toml::Table, key: &str) -> String {
    case[key].as_str().unwrap().to_owned()
}

fn numbers(value: &toml::Value) -> Vec<u64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|number| number.as_integer().unwrap() as u64)
        .collect()
}

#[test]
fn pattern_bins_merge_as_in_the_cases() {
    for case in cases("merge") {
        let mut bins = PatternBins::new();
        for pair in case["distances"].as_array().unwrap() {
            let pair = numbers(pair);
            bins.add(Distance::new(pair[0]), pair[1]);
        }
        let rule = case.get("rule").map_or(PatternRule::default(), |rule| {
            rule.as_str().unwrap().parse().unwrap()
        });
        let found = patterns(&bins.iter().collect::<Vec<PatternBin>>(), rule);
        let found: Vec<Vec<u64>> = found
            .iter()
            .map(|p| vec![p.min, p.max, p.accesses])
            .collect();
        let expected: Vec<Vec<u64>> = case["patterns"]
            .as_array()
            .unwrap()
            .iter()
            .map(numbers)
            .collect();
        assert_eq!(found, expected, "{}", text(&case, "name"));
    }
}

#[test]
fn overlaps_equal_those_of_the_cases() {
    for case in cases("overlap") {
        let pattern = |key: &str| {
            let ends = numbers(&case[key]);
            Pattern {
                min: ends[0],
                max: ends[1],
                mean: ends[0] as f64,
                accesses: 1,
            }
        };
        let (predicted, observed) = (pattern("predicted"), pattern("observed"));
        for (a, b) in [(predicted, observed), (observed, predicted)] {
            let name = text(&case, "name");
            let expected = case["overlap"].as_float().unwrap();
            assert!(
                (overlap(&a, &b) - expected).abs() < 1e-9,
                "{name}: {}",
                overlap(&a, &b)
            );
            assert_eq!(is_right(&a, &b), case["right"].as_bool().unwrap(), "{name}");
        }
    }
}
