//! What a comparison says of findings, of invalidations, of misses counted in sets, of guessed
//! orders, and of unequal numbers of accesses.

use crate::common::matmul;
use reuselens_profile::*;
use reuselens_report::{CompareOptions, DiffOptions, ProfileVariant, compare, diff, diff_json};
use reuselens_units::Bytes;
use serde_json::Value;

/// A profile with causes, in which threads took lines of the first object from each other so often.
fn sharing(invalidations: u64, set_misses: u64) -> Profile {
    let mut profile = matmul(16, false);
    let end = SharedEnd {
        site: 1,
        object: 1,
        offset: None,
    };
    let shared = SharedData {
        writer: end,
        victim: end,
        true_sharing: invalidations / 100,
        false_sharing: invalidations,
        lines: 1,
    };
    let has_pairs = invalidations > 0;
    profile.causes = Some(Causes {
        cache: Bytes(32 << 10),
        shared: if has_pairs { vec![shared] } else { Vec::new() },
        set_caches: vec![SetCache {
            name: "L1d".to_owned(),
            size: Bytes(32 << 10),
            sets: 64,
            ways: 8,
            misses: set_misses,
            associative_misses: 96,
        }],
        ..Causes::default()
    });
    let cell = profile.cells.iter_mut().find(|cell| cell.object == 1);
    let causes = &mut cell.unwrap().causes;
    (causes.true_sharing, causes.false_sharing) = (invalidations / 100, invalidations);
    profile
}

fn text(before: &Profile, after: &Profile) -> String {
    let text = diff(before, after, &DiffOptions::default()).unwrap();
    assert!(
        text.lines().all(|line| line.chars().count() <= 90),
        "{text}"
    );
    text
}

fn json(before: &Profile, after: &Profile) -> Value {
    let text = diff_json(before, after, &DiffOptions::default(), None).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn page(before: &Profile, after: &Profile) -> String {
    let variants = [("one", before), ("two", after)].map(|(name, profile)| ProfileVariant {
        name,
        caption: "",
        profile,
    });
    compare(&variants, &CompareOptions::default()).unwrap()
}

/// The words of the row that begins with these.
fn row<'t>(text: &'t str, start: &str) -> Vec<&'t str> {
    let is_row = |line: &&str| line.trim_start().starts_with(start);
    let line = text
        .lines()
        .find(is_row)
        .unwrap_or_else(|| panic!("no {start}: {text}"));
    line.trim_start()[start.len()..]
        .split_whitespace()
        .collect()
}

#[test]
fn finding_that_a_change_removes_is_gone_and_the_other_way_round_new() {
    let (shared, alone) = (sharing(50_000, 200), sharing(0, 200));
    let gone = text(&shared, &alone);
    assert!(
        gone.contains("\nFindings that are gone\n  False sharing: 50.0 k invalidations, "),
        "{gone}"
    );
    assert!(
        !gone.contains("New findings") && !gone.contains("Findings that stay"),
        "{gone}"
    );
    let new = text(&alone, &shared);
    assert!(
        new.contains("\nNew findings\n  False sharing: 50.0 k invalidations, "),
        "{new}"
    );
    assert!(!new.contains("are gone"), "{new}");
    let found = json(&shared, &alone);
    let findings = found["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(findings[0]["change"], "gone");
    assert_eq!(findings[0]["before"]["rule"], "false-sharing");
    assert_eq!(findings[0]["before"]["cost"]["amount"], 50_000);
    assert!(findings[0]["after"].is_null());
    let html = page(&shared, &alone);
    let section = html.split("<section id=\"findings\">").nth(1).unwrap();
    assert!(section.contains("<h4 class=\"better\">Findings that are gone</h4>"));
    assert!(section.contains("<b>False sharing</b>"));
}

#[test]
fn finding_that_stays_has_its_cost_before_and_after() {
    let (much, less) = (sharing(50_000, 200), sharing(20_000, 200));
    let stays = text(&much, &less);
    let part = "Findings that stay (cost before → after)\n  False sharing: 50.0 k → 20.0 k invalidations, ";
    assert!(stays.contains(part), "{stays}");
    let found = json(&much, &less);
    assert_eq!(found["findings"][0]["change"], "stays");
    assert_eq!(found["findings"][0]["after"]["cost"]["amount"], 20_000);
    assert!(page(&much, &less).contains("50.0 k → 20.0 k invalidations"));
}

#[test]
fn findings_are_compared_only_where_both_profiles_have_causes_of_one_cache() {
    let alone = sharing(0, 200);
    assert!(text(&alone, &alone).contains("\nFindings\n  None, before and after.\n"));
    assert_eq!(json(&alone, &alone)["findings"], Value::Array(Vec::new()));
    let plain = matmul(16, false);
    for (before, after, lacks) in [(&plain, &alone, "before"), (&alone, &plain, "after")] {
        let part = format!("not compared: the profile {lacks} was made without --why.");
        assert!(text(before, after).contains(&part));
        assert!(json(before, after)["findings"].is_null());
        assert!(page(before, after).contains(&part));
    }
    assert!(!text(&plain, &plain).contains("indings"));
    assert!(!page(&plain, &plain).contains("id=\"findings\""));
    let mut other = sharing(50_000, 200);
    other.causes.as_mut().unwrap().cache = Bytes(256 << 10);
    let found = text(&sharing(50_000, 200), &other);
    let found = found.split_whitespace().collect::<Vec<_>>().join(" ");
    let part = "those before are of L1d (32 KiB), and those after of L2 (256 KiB).";
    assert!(found.contains(part), "{found}");
}

#[test]
fn totals_have_invalidations_and_misses_counted_in_sets() {
    let (before, after) = (sharing(50_000, 3_000), sharing(0, 100));
    let found = text(&before, &after);
    let ends = |start: &str| {
        let row = row(&found, start);
        (row[0].to_owned(), row.last().unwrap().to_string())
    };
    let sharing = ends("invalidations, true sharing");
    assert_eq!(sharing, ("500".to_owned(), "%".to_owned()), "{found}");
    let words = row(&found, "invalidations, false sharing");
    assert_eq!(words, ["50.0", "k", "0", "−100", "%"], "{found}");
    let words = row(&found, "with its sets, counted");
    assert_eq!((words[0], words[3]), ("3,000", "100"), "{found}");
    let found = json(&before, &after);
    assert_eq!(found["invalidations"]["true_sharing_before"], 500);
    assert_eq!(found["invalidations"]["false_sharing_after"], 0);
    assert_eq!(found["caches"][0]["counted_in_sets_before"], 3_000);
    assert_eq!(found["caches"][0]["counted_in_sets_after"], 100);
    assert!(found["caches"][1]["counted_in_sets_after"].is_null());
    let html = page(&before, &after);
    for part in [
        "with its sets, counted 3,000",
        "<th scope=\"col\">Invalidations by false sharing</th>",
        "<td data-head=\"Invalidations by false sharing\">50.0 k<div class=\"sets\">by true sharing 500</div></td>",
    ] {
        assert!(html.contains(part), "{part}");
    }
    // Of a sample neither is counted.
    let mut sampled = after.clone();
    sampled.causes.as_mut().unwrap().sample_rate = Some(0.5);
    let found = text(&before, &sampled);
    assert!(
        !found.contains("invalidations, true") && !found.contains("sets, counted"),
        "{found}"
    );
}

#[test]
fn comparison_reports_that_the_order_of_threads_is_a_guess() {
    let plain = matmul(16, false);
    let mut guessed = plain.clone();
    guessed.method.order_guessed_below = Some(64);
    for (before, after, part) in [
        (
            &plain,
            &guessed,
            "distances below 4 KiB (after) are a guess",
        ),
        (&guessed, &guessed, "distances below 4 KiB are a guess"),
    ] {
        let found = text(before, after);
        let found = found.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(found.contains(part), "{found}");
        assert!(page(before, after).contains(&part.replace("after", "two")));
        let found = json(before, after);
        assert_eq!(found["after"]["order_guessed_below"], 64);
    }
    assert!(json(&plain, &guessed)["before"]["order_guessed_below"].is_null());
    assert!(!text(&plain, &plain).contains("guess"));
    assert!(!page(&plain, &plain).contains("are a guess"));
}

#[test]
fn page_calls_the_lower_curve_better_only_of_equally_many_accesses() {
    let (small, large) = (matmul(16, false), matmul(20, false));
    let lower = "the lower curve misses less";
    let same = page(&small, &matmul(16, true));
    assert!(same.contains(lower));
    let other = page(&small, &large);
    assert!(!other.contains(lower));
    assert!(other.contains("a lower curve need not miss less"));
}
