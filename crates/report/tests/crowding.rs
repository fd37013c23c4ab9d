//! Lines that crowd into few sets: what every form of a report says of them.

mod common;

use reuselens_locality::{Cell, FineHistogram, Profile, SetUse};
use reuselens_report::{
    CompareOptions, DiffOptions, HtmlOptions, JsonOptions, TextOptions, Variant, compare, diff,
    json, page, summary,
};
use reuselens_units::Distance;
use serde_json::Value;

/// The matrix product, and a walk down a column in its line of most accesses, over `sets` sets at a time.
fn walk(sets: u64, misses: u64) -> Profile {
    let mut profile = common::matmul(24, false);
    let mut histogram = FineHistogram::new();
    histogram.add(Distance::new(255), 1_000_000);
    profile.histogram.add(Distance::new(255), 1_000_000);
    let first = profile.cells[0].clone();
    profile.cells[0] = Cell {
        histogram,
        set_use: SetUse {
            accesses: 1_000_000,
            misses,
            stretches: 1000,
            sets: sets * 1000,
            strides: vec![(if sets == 1 { 64 } else { 65 }, misses)],
        },
        ..first
    };
    profile
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_summary_says_which_line_and_data_and_what_to_do() {
    let text = squeezed(&summary(&walk(1, 1_000_000), &TextOptions::default()));
    for part in [
        "into few sets",
        "1 of the 64 sets of L1d",
        "room for",
        "4,096 bytes apart",
        "pad it to 4,160 bytes",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    let spread = summary(&walk(64, 90_000), &TextOptions::default());
    assert!(!spread.contains("few sets"), "{spread}");
}

/// The column of misses with sets is not that of lines that fall on sets at random alone.
#[test]
fn the_misses_with_sets_have_those_of_crowded_lines() {
    let with_sets = |profile: &Profile| {
        let text = summary(profile, &TextOptions::default());
        let row = text
            .lines()
            .find(|line| line.trim_start().starts_with("L1d"));
        let row = row.unwrap_or_else(|| panic!("{text}"));
        let numbers: Vec<&str> = row.split_whitespace().collect();
        let percent = numbers[numbers.len() - 2];
        percent.trim_start_matches('<').parse::<f64>().unwrap()
    };
    let (crowded, spread) = (with_sets(&walk(1, 1_000_000)), with_sets(&walk(64, 90_000)));
    assert!(
        crowded > 90.0 && spread < crowded / 2.0,
        "{crowded} {spread}"
    );
}

#[test]
fn json_has_a_list_and_a_warning() {
    let value: Value =
        serde_json::from_str(&json(&walk(1, 1_000_000), &JsonOptions::default())).unwrap();
    let all = value["crowded_sets"].as_array().unwrap();
    let one = all.iter().find(|one| one["cache"] == "L1d").unwrap();
    assert_eq!(
        (&one["cache"], &one["sets"], &one["sets_used"]),
        (&"L1d".into(), &64.into(), &1.into())
    );
    assert_eq!(
        (&one["misses"], &one["stride_bytes"]),
        (&1_000_000.into(), &4096.into())
    );
    let codes: Vec<&str> = value["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["code"].as_str())
        .collect();
    assert!(codes.contains(&"crowded-sets"), "{codes:?}");
    let spread = json(&walk(64, 90_000), &JsonOptions::default());
    assert!(!spread.contains("crowded"), "{spread}");
}

#[test]
fn a_comparison_shows_that_padding_helped() {
    let (before, after) = (walk(1, 1_000_000), walk(64, 90_000));
    let text = squeezed(&diff(&before, &after, &DiffOptions::default()).unwrap());
    for part in ["few sets of a cache", "1 of 64 64 of 64 1.00 M 90.0 k L1d"] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    let same = diff(&after, &after, &DiffOptions::default()).unwrap();
    assert!(!same.contains("few sets"), "{same}");
}

#[test]
fn pages_say_it_too_and_show_the_misses_with_sets() {
    let (before, after) = (walk(1, 1_000_000), walk(64, 90_000));
    let html = page(&before, &HtmlOptions::default());
    for part in [
        "1 of the 64 sets of L1d",
        "crowded-sets",
        "with its sets about",
    ] {
        assert!(html.contains(part), "no {part:?}");
    }
    let variants = [("before", &before), ("after", &after)].map(|(name, profile)| Variant {
        name,
        caption: "",
        profile,
    });
    let html = compare(&variants, &CompareOptions::default()).unwrap();
    for part in [
        "few sets of a cache",
        "1 of 64",
        "64 of 64",
        "with its sets, about 1",
    ] {
        assert!(html.contains(part), "no {part:?}");
    }
}

#[test]
fn a_comparison_names_its_files() {
    let profile = common::tiny();
    let names = ["a.rlprof", "b.rlprof"].map(str::to_owned);
    let text = diff(
        &profile,
        &profile,
        &DiffOptions {
            names,
            ..DiffOptions::default()
        },
    )
    .unwrap();
    assert!(text.starts_with("before  a.rlprof: './tiny"), "{text}");
    assert!(text.contains("\nafter   b.rlprof: './tiny"), "{text}");
}

#[test]
fn what_accesses_are_made_by_is_what_was_counted() {
    let mut profile = walk(64, 90_000);
    for (kinds, words) in [
        ("stores", " stores to"),
        ("loads", " loads to"),
        ("all", " loads and stores to"),
    ] {
        profile.method.kinds = kinds.to_owned();
        let text = summary(&profile, &TextOptions::default());
        assert!(text.contains(words), "{kinds}: {text}");
        let html = page(&profile, &HtmlOptions::default());
        assert!(html.contains(words.trim_end_matches(" to")), "{kinds}");
    }
    profile.method.kinds = "stores".to_owned();
    let text = summary(&profile, &TextOptions::default());
    assert!(!text.contains("loads and stores"), "{text}");
}

#[test]
fn a_table_of_paths_that_is_not_there_tells_how_to_get_one() {
    let options = TextOptions {
        by: vec![reuselens_locality::Dimension::Path],
        ..TextOptions::default()
    };
    let text = squeezed(&summary(&common::matmul(24, false), &options));
    assert!(
        text.contains("reuselens profile --by path,line -- PROGRAM"),
        "{text}"
    );
}
