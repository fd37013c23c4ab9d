//! The terminal forms, as people see them.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use reuselens_locality::{BoundedCurve, BoundedPoint, ExactHistogram};
use reuselens_profile::{Cache, ContextFootprint, Dimension, Method, Profile, Sharing};
use reuselens_report::{
    CompareOptions, DiffOptions, HtmlOptions, JsonOptions, ProfileVariant, TextOptions, compare,
    curve_csv, diff, json, page, summary,
};
use reuselens_units::{Bytes, Distance, Granularity};

use crate::common;

#[test]
fn summary_fits_on_a_screen() {
    let text = summary(&common::matmul(48, false), &TextOptions::default());
    insta::assert_snapshot!("matmul", text);
    assert!(text.lines().count() <= 45, "{} lines", text.lines().count());
    for line in text.lines() {
        assert!(line.chars().count() <= 90, "{line}");
    }
}

#[test]
fn contexts_with_footprints_have_a_table() {
    let mut profile = common::matmul(24, false);
    let options = TextOptions {
        by: vec![Dimension::Context],
        ..TextOptions::default()
    };
    let title = "Accesses and footprint of calling contexts";
    assert!(!summary(&profile, &options).contains(title));
    for (context, items) in profile.contexts.iter_mut().zip([16, 3, 40, 2]) {
        context.entries = Some(items / 8);
        context.footprint = Some(ContextFootprint {
            exclusive: items,
            inclusive: 2 * items,
        });
    }
    let text = summary(&profile, &options);
    let table = text.split(title).nth(1).unwrap();
    let fill = table.lines().find(|row| row.ends_with("main > fill"));
    let fill = fill.unwrap_or_else(|| panic!("{text}"));
    assert!(
        fill.contains("2.5 KiB") && fill.contains(" 5 KiB"),
        "{fill}"
    );
    let lines = TextOptions::default();
    assert!(!summary(&profile, &lines).contains(title));
}

/// As a quick look: the miss ratio in L1d may be off by half of it, that in L2 by 50 points.
fn quick(mut profile: Profile) -> Profile {
    let of_l1 = profile.histogram.misses(512) as f64 / profile.histogram.accesses() as f64;
    let point = |items, half_width| BoundedPoint {
        items,
        miss_ratio: 0.0,
        half_width,
    };
    let method = &mut profile.method;
    (method.engine, method.exact) = (Method::BURSTS.to_owned(), false);
    method.error_bound = Some(0.5);
    method.error_bounds = Some(BoundedCurve {
        confidence: 0.95,
        rate: 0.04,
        points: vec![point(512, of_l1 / 2.0), point(4096, 0.5)],
    });
    profile
}

/// Where the error of a miss ratio is larger than itself, nothing is said of who misses.
#[test]
fn estimates_say_how_far_off_they_may_be() {
    let profile = quick(common::matmul(48, false));
    let table = curve_csv(&profile);
    assert!(
        table.starts_with("items,bytes,misses,miss_ratio,half_width\r\n"),
        "{table}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&json(&profile, &JsonOptions::default())).unwrap();
    assert_eq!(json["caches"][1]["half_width"], 0.5);
    for (html, text) in [
        (false, summary(&profile, &TextOptions::default())),
        (true, page(&profile, &HtmlOptions::default())),
    ] {
        let row = |name: &str| {
            let mut lines = text.lines().filter(|line| line.contains(name));
            let found = lines.find(|line| line.contains('±') || line.contains("at most"));
            found.unwrap_or_else(|| panic!("{name}: {text}"))
        };
        assert!(row("L1d").contains('±'));
        assert!(text.contains("about 336 k"), "{text}");
        assert!(row("L2").contains("at most 5"));
        if !html {
            assert!(
                text.contains("Most misses in L1d (32 KiB) by line"),
                "{text}"
            );
            assert!(text.contains("\nabout "), "{text}");
        }
    }
}

#[test]
fn summary_without_accesses_is_a_sentence() {
    let text = summary(&common::empty(), &TextOptions::default());
    insta::assert_snapshot!("empty", text);
    assert!(!text.contains("NaN"), "{text}");
}

#[test]
fn every_dimension_and_any_cache_can_be_asked_for() {
    let options = TextOptions {
        cache: Some(Bytes(4096).into()),
        width: 20,
        by: Dimension::ALL.to_vec(),
        ..TextOptions::default()
    };
    let text = summary(&common::matmul(24, false), &options);
    // It has no paths.
    for by in Dimension::ALL
        .into_iter()
        .filter(|by| *by != Dimension::Path)
    {
        assert!(
            text.contains(&format!("Most misses in 4 KiB by {by}")),
            "{text}"
        );
    }
}

#[test]
fn distances_within_threads_are_not_ranked_by_the_cache_that_threads_share() {
    let (mut before, mut after) = (common::matmul(48, false), common::matmul(48, true));
    // Most of what changes are misses in the last cache, which cost most.
    let l3 = before.machine.caches.last_mut().unwrap();
    l3.size = Bytes(256 * 64 * 3);
    after.machine = before.machine.clone();
    let ranked = |before: &Profile, after: &Profile| {
        let text = diff(before, after, &DiffOptions::default()).unwrap();
        text.contains("Misses in L3")
    };
    assert!(ranked(&before, &after));
    for profile in [&mut before, &mut after] {
        profile.method.sharing = Sharing::Private;
    }
    assert!(!ranked(&before, &after));
}

#[test]
fn the_hottest_elements_are_listed() {
    let options = TextOptions {
        by: vec![Dimension::Element],
        cache: Some(Bytes(1024).into()),
        ..TextOptions::default()
    };
    let text = summary(&common::matmul_by_element(24), &options);
    let table = text
        .split("Most misses in 1 KiB by element")
        .nth(1)
        .unwrap();
    insta::assert_snapshot!("elements", table);
    let none = summary(&common::matmul(24, false), &options);
    assert!(none.contains("No elements are known: name data"), "{none}");
}

#[test]
fn colour_only_when_asked_and_never_from_names() {
    let mut profile = common::tiny();
    profile.objects[1].name = "red \u{1b}[31m name".into();
    profile.warnings[0].message = "bell \u{7}".into();
    let plain = summary(&profile, &TextOptions::default());
    assert!(!plain.contains(['\u{1b}', '\u{7}']), "{plain}");
    let coloured = summary(
        &profile,
        &TextOptions {
            color: true,
            ..TextOptions::default()
        },
    );
    assert!(coloured.contains("\u{1b}[1m"));
    assert!(!coloured.contains("\u{1b}[31m"));
    let mut bare = coloured.clone();
    for code in ["1", "2", "33", "34", "35", "1;33", "0"] {
        bare = bare.replace(&format!("\u{1b}[{code}m"), "");
    }
    assert_eq!(bare, plain);
}

#[test]
fn summary_of_ids_has_no_bytes() {
    let mut profile = common::tiny();
    profile.granularity = Granularity::BYTE;
    profile.machine.caches.clear();
    let text = summary(&profile, &TextOptions::default());
    assert!(text.contains("to 4 distinct items;"), "{text}");
    assert!(!text.contains(" B ") && !text.contains("byte"), "{text}");
}

#[test]
fn items_below_a_line_are_named_by_their_bytes() {
    for (bytes, name) in [
        (2, "2-byte items"),
        (8, "8-byte items"),
        (16, "16-byte items"),
    ] {
        let mut profile = common::tiny();
        profile.granularity = Granularity::new(bytes).unwrap();
        let text = summary(&profile, &TextOptions::default());
        let html = page(&profile, &HtmlOptions::default());
        let variant = ProfileVariant {
            name: "one",
            caption: "",
            profile: &profile,
        };
        let compared = compare(&[variant], &CompareOptions::default()).unwrap();
        for report in [text, html, compared] {
            assert!(report.contains(name), "{report}");
            assert!(!report.contains("-byte line"), "{report}");
        }
    }
}

#[test]
fn diff_text_names_the_cache_sizes_that_win() {
    let options = DiffOptions::default();
    let text = diff(
        &common::matmul(48, false),
        &common::matmul(48, true),
        &options,
    )
    .unwrap();
    insta::assert_snapshot!("diff", text);
}

#[test]
fn diff_text_tells_of_estimates_what_is_known() {
    let ijk = common::matmul(48, false);
    let mut after = ijk.clone();
    after.histogram.add(Distance::new(600), 10_000);
    let text = diff(&quick(ijk.clone()), &after, &DiffOptions::default()).unwrap();
    let row = |name: &str| text.lines().find(|line| line.contains(name)).unwrap();
    for name in ["  accesses ", "distinct data"] {
        assert!(row(name).contains("about "), "{text}");
    }
    assert!(row("distinct data").contains("not known"), "{text}");
    // Far more miss one way than the other.
    let of_l1 = row("misses in L1d");
    assert!(of_l1.contains('±') && of_l1.contains("+862 %"), "{text}");
    let of_l2 = row("misses in L2");
    assert!(
        of_l2.contains("at most 5") && of_l2.contains("not known"),
        "{text}"
    );
    // More than what is not known of one side.
    let mut twice = ijk.clone();
    twice.histogram.add(Distance::new(1_000_000), 10_000_000);
    let text = diff(&quick(ijk.clone()), &twice, &DiffOptions::default()).unwrap();
    let of_l2 = text
        .lines()
        .find(|line| line.contains("misses in L2"))
        .unwrap();
    assert!(
        of_l2.contains("at most 5") && of_l2.ends_with(" more"),
        "{text}"
    );
    // Half of either: no change is known.
    let text = diff(&quick(ijk.clone()), &quick(ijk), &DiffOptions::default()).unwrap();
    let of_l1 = text
        .lines()
        .find(|line| line.contains("misses in L1d"))
        .unwrap();
    assert!(of_l1.contains("not known"), "{text}");
}

#[test]
fn diff_text_of_two_inputs_names_what_grows() {
    let text = diff(
        &common::matmul(16, false),
        &common::matmul(48, false),
        &DiffOptions::default(),
    )
    .unwrap();
    insta::assert_snapshot!("inputs", text);
}

#[test]
fn diff_text_reports_what_cannot_be_compared() {
    let mut other = common::tiny();
    other.granularity = Granularity::BYTE;
    assert!(diff(&common::tiny(), &other, &DiffOptions::default()).is_err());
    let text = diff(&common::empty(), &common::tiny(), &DiffOptions::default()).unwrap();
    assert!(
        text.contains("The profile before has no accesses"),
        "{text}"
    );
}

#[test]
fn diff_reports_that_profiles_hardly_differ() {
    let difference = |after: &Profile| {
        let before = common::matmul(24, false);
        diff(&before, after, &DiffOptions::default()).unwrap()
    };
    let mut after = common::matmul(24, false);
    let same = difference(&after);
    let sentence = "  None: the two miss equally often at every cache size.\n";
    assert!(same.contains(sentence), "{same}");
    after.histogram.add(Distance::new(1), 1);
    let near = difference(&after);
    let sentence = "  None: at no cache size do the misses change by more than that.\n";
    assert!(near.contains(sentence), "{near}");
}

#[test]
fn tables_take_the_cache_whose_misses_cost_most() {
    // Reuses that miss in the first cache only, in the first two, and in all three.
    for (missing, cache) in [
        ([500_000, 0, 0], "L1d"),
        ([500_000, 20_000, 0], "L1d"),
        ([500_000, 200_000, 10_000], "L2"),
        ([500_000, 100_000, 100_000], "L3"),
        // Hardly a reuse misses.
        ([100, 100, 100], "L1d"),
    ] {
        let mut profile = common::matmul(24, false);
        let mut histogram = ExactHistogram::new();
        histogram.add(Distance::new(0), 1_000_000);
        for (cache, count) in profile.machine.data_caches().iter().zip(missing) {
            histogram.add(Distance::new(cache.items(profile.granularity)), count);
        }
        profile.histogram = histogram;
        let text = summary(&profile, &TextOptions::default());
        assert!(
            text.contains(&format!("Most misses in {cache} ")),
            "{missing:?}: {text}"
        );
    }
}

#[test]
fn diff_text_takes_the_cache_with_the_costliest_change() {
    let mut chosen = BTreeSet::new();
    for items in [[1, 2, 4], [2, 6, 20], [4, 30, 100], [3, 24, 4096]] {
        let mut before = common::matmul(24, false);
        for (cache, items) in before.machine.caches.iter_mut().zip(items) {
            cache.size = Bytes(items * before.granularity.bytes());
        }
        let mut after = common::matmul(24, true);
        after.machine = before.machine.clone();
        let changed = |cache: &Cache| {
            let misses = |of: &Profile| of.histogram.misses(cache.items(of.granularity));
            misses(&before).abs_diff(misses(&after))
        };
        let caches = before.machine.data_caches();
        let costs = caches.iter().zip([10, 35, 200]);
        let costs: Vec<u64> = costs
            .map(|(cache, cycles)| changed(cache) * cycles)
            .collect();
        let most = (0..3).max_by_key(|&at| (costs[at], Reverse(at))).unwrap();
        let text = diff(&before, &after, &DiffOptions::default()).unwrap();
        let title = format!("\nMisses in {} ", caches[most].name());
        assert!(text.contains(&title), "{costs:?}: {text}");
        chosen.insert(most);
    }
    assert!(chosen.len() > 1, "no choice was tried: {chosen:?}");
}

#[test]
fn text_reports_private_caches() {
    let shared = common::matmul(24, false);
    let mut private = shared.clone();
    private.method.sharing = Sharing::Private;
    let text = summary(&private, &TextOptions::default()).replace('\n', " ");
    assert!(text.contains("a cache for each thread"), "{text}");
    assert!(text.contains("summed over the threads;"), "{text}");
    let page = page(&private, &HtmlOptions::default());
    assert!(page.contains("a cache for each thread") && page.contains("summed over the threads"));
    let text = diff(&shared, &private, &DiffOptions::default()).unwrap();
    assert!(text.contains("the same --sharing"), "{text}");
}

#[test]
fn diff_says_if_one_profile_counts_ids() {
    let bytes = common::matmul(24, false);
    let mut ids = bytes.clone();
    ids.method.ids = true;
    let told = |before: &Profile, after: &Profile| {
        let text = diff(before, after, &DiffOptions::default()).unwrap();
        text.contains("the items of one are ids")
    };
    assert!(told(&bytes, &ids) && told(&ids, &bytes));
    assert!(!told(&bytes, &bytes) && !told(&ids, &ids));
}
