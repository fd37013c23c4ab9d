//! Predictions of single groups, by hand.

use super::*;
use crate::{GroupCheck, straight, work};
use reuselens_locality::PatternRule;

/// A line with a pattern around each of some distances.
fn run(hills: &[(u64, u64)], cold: u64) -> GroupRun {
    let mut fine = FineHistogram::new();
    for (distance, count) in hills {
        fine.add(Distance::new(*distance), *count);
    }
    GroupRun {
        rest: false,
        accesses: fine.accesses() + cold,
        cold,
        bins: PatternBin::of_fine(&fine),
    }
}

fn groups(list: &[(&str, GroupRun)]) -> Groups {
    list.iter()
        .map(|(name, run)| ((*name).to_owned(), run.clone()))
        .collect()
}

/// Predicts groups of a run of a size, whose accesses are predicted from the runs.
fn predicted(runs: &[(f64, &Groups)], merging: Merging, size: f64) -> Vec<GroupForecast> {
    let sum = |count: fn(&GroupRun) -> u64| -> Vec<(f64, f64)> {
        let sum = |(size, groups): &(f64, &Groups)| {
            (*size, groups.values().map(count).sum::<u64>() as f64)
        };
        runs.iter().map(sum).collect()
    };
    let asked = Asked {
        size,
        accesses: work(&sum(|run| run.accesses), size),
        cold: straight(&sum(|run| run.cold), size),
    };
    predict_groups(runs, &Shape::ALL, merging, &asked)
}

#[test]
fn patterns_move_and_report_the_size_at_which_they_miss() {
    let small = groups(&[("a", run(&[(2, 900), (1000, 100)], 50))]);
    let large = groups(&[("a", run(&[(2, 3600), (4000, 400)], 200))]);
    let found = predicted(
        &[(1000.0, &small), (4000.0, &large)],
        PatternRule::default().into(),
        16_000.0,
    );
    assert_eq!(found.len(), 1);
    let patterns = found[0].patterns.as_ref().unwrap();
    assert_eq!(
        (patterns[0].fit.shape, patterns[1].fit.shape),
        (Shape::Constant, Shape::Linear)
    );
    let far = patterns[1].pattern();
    assert!(
        (15_000..17_000).contains(&far.min) && (far.mean - 16_000.0).abs() < 300.0,
        "{far:?}"
    );
    assert_eq!(far.accesses, 1600);
    let histogram = found[0].histogram().unwrap();
    assert_eq!(
        (histogram.cold(), histogram.accesses()),
        (800, 800 + 1600 + 14_400)
    );
    assert_eq!(histogram.misses(768), 800 + 1600);
    assert_eq!(histogram.misses(32_768), 800);
    let begins = found[0].misses_from(32_000, 4000.0).unwrap();
    assert!((begins - 32_000.0).abs() < 1000.0, "{begins}");
    assert_eq!(found[0].misses_from(3000, 4000.0), Some(4000.0));
    let truth = groups(&[("a", run(&[(2, 14_400), (16_000, 1600)], 800))]);
    let check = GroupCheck::of(&found, &truth, PatternRule::default().into(), 2);
    assert_eq!((check.coverage(), check.accuracy()), (1.0, 1.0));
    assert_eq!(check.intervals, (2, 2));
    let other = groups(&[
        ("a", run(&[(2, 14_400), (60_000, 1600)], 800)),
        ("b", run(&[(1, 9)], 0)),
    ]);
    let check = GroupCheck::of(&found, &other, PatternRule::default().into(), 2);
    assert_eq!(
        (check.covered, check.correct, check.accesses),
        (16_800, 0, 16_809)
    );
}

#[test]
fn rare_far_reuses_grow() {
    // One in 200 is far in the small run and one in 400 in the large one, as many as there are
    // items.
    let small = groups(&[("a", run(&[(2, 199_000), (1000, 1000)], 50))]);
    let large = groups(&[("a", run(&[(2, 1_592_000), (4000, 4000)], 200))]);
    let runs = [(1000.0, &small), (4000.0, &large)];
    let of = |rare: f64| {
        let merging = Merging {
            rare,
            ..Merging::default()
        };
        predicted(&runs, merging, 64_000.0).remove(0)
    };
    let found = of(0.01);
    assert_eq!(found.patterns.as_ref().map(Vec::len), Ok(1), "to compare");
    assert_eq!(found.rare.len(), 1);
    assert_eq!(found.rare[0].fit.shape, Shape::Linear);
    let histogram = found.histogram().unwrap();
    // 64,000 far reuses at 64,000 items, and the cold accesses. Shares of reuses are not quite
    // powers of the size.
    let far = histogram.misses(32_768) as f64;
    assert!((far - 67_200.0).abs() < 100.0, "{far}");
    assert_eq!(histogram.misses(80_000), 3200);
    let begins = found.misses_from(32_768, 4000.0).unwrap();
    assert!((begins - 32_768.0).abs() < 1000.0, "{begins}");
    // The same as with nothing left out.
    let whole = of(0.0);
    assert!(whole.rare.is_empty());
    assert_eq!(whole.histogram(), Some(histogram));
    assert_eq!(whole.misses_from(32_768, 4000.0), Some(begins));
}

#[test]
fn rare_reuses_whose_patterns_differ_grow_as_one() {
    let small = groups(&[("a", run(&[(2, 199_000), (1000, 1000)], 50))]);
    let large = groups(&[("a", run(&[(2, 1_592_000), (3600, 2000), (9000, 2000)], 200))]);
    let found = predicted(
        &[(1000.0, &small), (4000.0, &large)],
        Merging::default(),
        64_000.0,
    );
    assert_eq!(found[0].rare.len(), 1);
    assert_eq!(found[0].rare[0].seen[1].accesses, 4000);
    let far = found[0].histogram().unwrap().misses(32_768) as f64;
    assert!((far - 67_200.0).abs() < 100.0, "{far}");
}

#[test]
fn rare_reuses_of_one_run_alone_stay_at_their_distance() {
    let small = groups(&[("a", run(&[(2, 199_000)], 50))]);
    let large = groups(&[("a", run(&[(2, 796_000), (4000, 4000)], 200))]);
    let found = predicted(
        &[(1000.0, &small), (4000.0, &large)],
        Merging::default(),
        16_000.0,
    );
    assert_eq!(found[0].rare[0].fit.shape, Shape::Constant);
    let histogram = found[0].histogram().unwrap();
    let far = histogram.misses(3000) - histogram.cold();
    // As much more of the share as it rose by from the small run, which is as far away.
    assert!((far as f64 / histogram.accesses() as f64 - 0.01).abs() < 1e-4);
    assert_eq!(histogram.misses(5000), histogram.cold());
}

#[test]
fn unpredictable_group_names_its_reason() {
    let small = groups(&[("gone", run(&[(2, 9)], 1)), ("splits", run(&[(2, 9)], 1))]);
    let large = groups(&[
        ("new", run(&[(2, 9)], 1)),
        ("splits", run(&[(2, 9), (900, 3)], 1)),
    ]);
    let found = predicted(
        &[(10.0, &small), (40.0, &large)],
        PatternRule::default().into(),
        90.0,
    );
    let why: Vec<_> = found
        .iter()
        .map(|f| (f.name.as_str(), f.patterns.clone().unwrap_err()))
        .collect();
    let expected = [
        ("gone", Unpredictable::Missing(vec![1])),
        ("new", Unpredictable::Missing(vec![0])),
        ("splits", Unpredictable::Patterns(vec![1, 2])),
    ];
    assert_eq!(why, expected);
    assert!(
        found
            .iter()
            .all(|f| f.histogram().is_none() && f.misses_from(1, 1.0).is_none())
    );
    // Of 13 accesses in the largest run one is cold and three are at 900: as often as there.
    let [gone, _, splits] = &found[..] else {
        panic!("three groups")
    };
    let share = |items| splits.misses_as_trained(items).unwrap() as f64 / splits.accesses.value;
    assert!((share(100) - 4.0 / 13.0).abs() < 0.5 / splits.accesses.value);
    assert!((share(1 << 20) - 1.0 / 13.0).abs() < 0.5 / splits.accesses.value);
    assert_eq!(splits.misses(100), splits.cold.value.round() as u64);
    assert!(gone.misses_as_trained(1) >= Some(gone.cold.value.round() as u64));
}

#[test]
fn prediction_does_not_copy_a_training_run() {
    let [small, large] = [1, 4].map(|times| groups(&[("a", run(&[(2, 900 * times)], 50))]));
    let runs = [(1000.0, &small), (4000.0, &large)];
    let found = predicted(&runs, Merging::default(), 16_000.0);
    assert_eq!(found[0].misses_as_trained(8), None);
    assert_eq!(run(&[(5, 10)], 0).miss_ratio(5), 1.0);
    assert_eq!(run(&[(5, 10)], 0).miss_ratio(6), 0.0);
    assert_eq!(run(&[], 0).miss_ratio(6), 0.0);
}

#[test]
fn groups_of_only_cold_accesses_are_predicted() {
    let runs = [
        groups(&[("init", run(&[], 100))]),
        groups(&[("init", run(&[], 400))]),
    ];
    let found = predicted(
        &[(100.0, &runs[0]), (400.0, &runs[1])],
        PatternRule::default().into(),
        1600.0,
    );
    let histogram = found[0].histogram().unwrap();
    assert_eq!((histogram.cold(), histogram.accesses()), (1600, 1600));
}

#[test]
fn growth_from_two_accesses_is_bounded_by_shares() {
    // A power of the size would make 1000² times as many of the rare line.
    let small = groups(&[("rare", run(&[(9, 2)], 0)), ("a", run(&[(2, 99_998)], 50))]);
    let large = groups(&[
        ("rare", run(&[(9, 2000)], 0)),
        ("a", run(&[(2, 398_000)], 200)),
    ]);
    let runs = [(1000.0, &small), (4000.0, &large)];
    let found = predicted(&runs, Merging::default(), 64_000.0);
    let [a, rare] = &found[..] else { panic!() };
    let all = 64.0 * 100_050.0;
    let sum = a.accesses.value + rare.accesses.value;
    assert!((sum - all).abs() < 1e-3 * all, "{sum}");
    // It rose by half a hundredth in a fourfold run, and the one asked for is fourfold twice.
    let share = rare.accesses.value / sum;
    assert!((share - 0.015).abs() < 2e-4, "{share}");
    assert!(rare.accesses.low <= rare.accesses.value && rare.accesses.value <= rare.accesses.high);
}

#[test]
fn two_largest_of_three_runs_suffice() {
    let runs = [
        groups(&[("a", run(&[(2, 900)], 50))]),
        groups(&[("a", run(&[(2, 3600), (1000, 400)], 200))]),
        groups(&[("a", run(&[(2, 14_400), (4000, 1600)], 800))]),
    ];
    let by_size: Vec<(f64, &Groups)> = [250.0, 1000.0, 4000.0].into_iter().zip(&runs).collect();
    let found = predicted(&by_size, Merging::default(), 16_000.0);
    assert_eq!(found[0].runs, 2);
    let pair = predicted(&by_size[1..], Merging::default(), 16_000.0);
    let of = |found: &[GroupForecast]| -> Vec<(Estimate, Fit)> {
        let patterns = found[0].patterns.as_ref().unwrap().iter();
        patterns
            .map(|pattern| (pattern.mean, pattern.fit))
            .collect()
    };
    assert_eq!(of(&found), of(&pair));
    // The smaller two are not: the largest is the nearest.
    let reversed = [&runs[1], &runs[1], &runs[0]];
    let by_size: Vec<(f64, &Groups)> = [250.0, 1000.0, 4000.0].into_iter().zip(reversed).collect();
    let found = predicted(&by_size, Merging::default(), 16_000.0);
    let why = Unpredictable::Patterns(vec![2, 2, 1]);
    assert_eq!((found[0].runs, &found[0].patterns), (0, &Err(why)));
    // Missing in the smallest is no reason if the larger two differ, and in one of those it is.
    let none = Groups::new();
    let why = |runs: [&Groups; 3]| {
        let by_size: Vec<(f64, &Groups)> = [250.0, 1000.0, 4000.0].into_iter().zip(runs).collect();
        let asked = predicted(&by_size, Merging::default(), 16_000.0);
        // It misses at least on its cold accesses.
        let cold = asked[0].cold.value;
        assert!(cold > 0.0 && asked[0].misses(1 << 40) == cold.round() as u64);
        asked[0].patterns.clone().unwrap_err()
    };
    let patterns = why([&none, &runs[0], &runs[1]]);
    assert_eq!(patterns, Unpredictable::Patterns(vec![0, 1, 2]));
    let missing = why([&runs[0], &none, &runs[1]]);
    assert_eq!(missing, Unpredictable::Missing(vec![1]));
    // Its accesses are known all the same.
    assert!(found[0].accesses.value > 0.0);
}

#[test]
fn possibly_merged_path_is_not_reported_missing() {
    let rest = GroupRun {
        rest: true,
        ..run(&[(8, 50)], 0)
    };
    let small = groups(&[
        ("m+0x10 after 01", run(&[(2, 100)], 0)),
        ("m+0x20 after 01", run(&[(2, 100)], 0)),
    ]);
    let large = groups(&[("m+0x10 after rarer paths", rest)]);
    let found = predicted(
        &[(1000.0, &small), (4000.0, &large)],
        PatternRule::default().into(),
        16_000.0,
    );
    let why = |name: &str| {
        let group = found.iter().find(|group| group.name == name);
        group.unwrap().patterns.clone().unwrap_err()
    };
    assert_eq!(why("m+0x10 after 01"), Unpredictable::Rarer(vec![1]));
    assert_eq!(why("m+0x20 after 01"), Unpredictable::Missing(vec![1]));
}
