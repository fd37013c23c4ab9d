//! Conflict misses: a walk down the columns of a matrix against one along its rows, and how wide
//! tables of names are.

use reuselens_document::numbers::grouped;
use reuselens_locality::{ExactHistogram, Histogram, SetAssociative};
use reuselens_profile::{Causes, Dimension, Object, ObjectKind, Profile, SetCache};
use reuselens_report::{
    CompareOptions, DiffOptions, HtmlOptions, ProfileVariant, TextOptions, compare, diff,
    diff_json, page, summary,
};
use reuselens_units::Distance;

use crate::common::{self, Recorder, context, empty, frame, machine, site};

/// Rows of the matrix: few enough for all lines of a column to fit into a cache of 512 lines, and
/// too many for its sets of 8.
const ROWS: u64 = 400;

/// All elements of a matrix of `ROWS` rows, 4,096 bytes apart, along its columns or along its rows.
fn walk(along_columns: bool) -> Profile {
    const COLUMNS: u64 = 64;
    let mut profile = empty();
    profile.command = vec!["./walk".into()];
    profile.objects.push(Object {
        kind: ObjectKind::Static,
        name: "m (walk.c)".into(),
        blocks: 1,
        ..Object::default()
    });
    profile
        .sites
        .push(site(vec![frame("walk", "walk.c", 9)], 0x1150, "load"));
    profile.contexts.push(context(0, "walk", frame("", "", 0)));
    let mut recorder = Recorder::new((ROWS * COLUMNS) as usize);
    for at in 0..ROWS * COLUMNS {
        let (row, column) = if along_columns {
            (at % ROWS, at / ROWS)
        } else {
            (at / COLUMNS, at % COLUMNS)
        };
        recorder.touch((1, 1, 1, 0), row * 4096 + column * 8);
    }
    recorder.finish(&mut profile);
    profile
}

/// A text without its line breaks, which depend on the width of the terminal.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The misses of the first cache with its sets, as reports write them.
fn with_sets(histogram: &impl Histogram) -> String {
    let cache = &machine().caches[0];
    let model = SetAssociative::new(cache.sets.into(), cache.ways.into());
    let misses = model.misses(histogram).round() as u64;
    assert!(misses < 10_000, "written to the last digit");
    grouped(misses)
}

/// Those of its only group, which has a histogram of wider bins.
fn with_sets_of_group(profile: &Profile) -> String {
    with_sets(&profile.groups(Dimension::Line)[0].histogram)
}

#[test]
fn a_comparison_counts_with_sets_where_conflict_misses_dominate() {
    let (columns, rows) = (walk(true), walk(false));
    let text = diff(&columns, &rows, &DiffOptions::default()).unwrap();
    let (before, after) = (with_sets(&columns.histogram), with_sets(&rows.histogram));
    assert_ne!(before, after);
    let group = (with_sets_of_group(&columns), with_sets_of_group(&rows));
    for part in [
        "Conflict misses dominate in L1d (with its sets about ×",
        " before).",
        "gain or lose by more than 1 % of their misses (fully associative)",
        "Misses in L1d (32 KiB) with its sets, about, by line",
    ] {
        assert!(words(&text).contains(part), "{part}: {text}");
    }
    for (name, (before, after)) in [
        ("  walk.c:9", &group),
        ("  m (walk.c)", &group),
        ("with its sets, about", &(before, after)),
    ] {
        let has = |line: &&str| line.contains(name) && line.contains(before);
        let row = text.lines().find(has).unwrap_or_else(|| panic!("{text}"));
        assert!(row.contains(after), "{row}");
    }
    // The other way round there is something to do about it.
    let text = diff(&rows, &columns, &DiffOptions::default()).unwrap();
    assert!(
        words(&text).contains("after): pad the rows by a line (64 bytes)."),
        "{text}"
    );
    let same = diff(&rows, &rows, &DiffOptions::default()).unwrap();
    assert!(!same.contains("onflict"), "{same}");
}

#[test]
fn a_comparison_as_json_has_misses_with_sets() {
    let (columns, rows) = (walk(true), walk(false));
    let json = |before, after| -> serde_json::Value {
        let text = diff_json(before, after, &DiffOptions::default(), None).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let found = json(&columns, &rows);
    let sentence = found["conflicts"].as_str().unwrap();
    assert!(sentence.starts_with("Conflict misses dominate in L1d"));
    let line = &found["groups"][0];
    let first = line["set_associative_before"][0].as_u64().unwrap();
    assert_eq!(grouped(first), with_sets_of_group(&columns));
    assert!(first > 2 * line["misses_before"][0].as_u64().unwrap());
    // In the second cache sets make no difference.
    assert!(line["set_associative_before"][1].is_null(), "{line}");
    assert!(json(&rows, &rows)["conflicts"].is_null());
}

#[test]
fn a_page_of_several_profiles_counts_with_sets_too() {
    let (columns, rows) = (walk(true), walk(false));
    let variants = [("columns", &columns), ("rows", &rows)].map(|(name, profile)| ProfileVariant {
        name,
        caption: "",
        profile,
    });
    let html = compare(&variants, &CompareOptions::default()).unwrap();
    for part in [
        format!("with its sets, about {} ", with_sets(&columns.histogram)),
        format!("with its sets, about {} ", with_sets(&rows.histogram)),
        "Conflict misses dominate in L1d (with its sets about ×".to_owned(),
        "By line: rows against columns, with the cache’s sets, about".to_owned(),
    ] {
        assert!(html.contains(&part), "{part}");
    }
    let changed = html.split("<section id=\"changes\">").nth(1).unwrap();
    assert!(changed.contains(&format!("<td>{}</td>", with_sets_of_group(&columns))));
    let variants = [variants[1], variants[1]];
    let html = compare(&variants, &CompareOptions::default()).unwrap();
    assert!(!html.contains("onflict"));
}

#[test]
fn a_summary_names_conflict_misses_and_how_it_ranks() {
    let text = summary(&walk(true), &TextOptions::default());
    for part in [
        "Conflict misses dominate in L1d (with its sets about ×",
        "): pad the rows by a line (64 bytes).",
        "ranked as fully associative)",
    ] {
        assert!(words(&text).contains(part), "{part}: {text}");
    }
    assert!(page(&walk(true), &HtmlOptions::default()).contains("Conflict misses dominate in L1d"));
    let text = summary(&walk(false), &TextOptions::default());
    assert!(!text.contains("onflict") && !text.contains("ranked as"));
}

#[test]
fn conflict_sentence_names_misses_that_only_sets_cause() {
    let mut profile = walk(true);
    profile.histogram = ExactHistogram::new();
    profile.histogram.add(Distance::new(ROWS - 1), 1000);
    let text = summary(&profile, &TextOptions::default());
    let part = "Conflict misses dominate in L1d (none without its sets): pad";
    assert!(words(&text).contains(part), "{text}");
}

#[test]
fn names_are_cut_only_where_the_terminal_has_no_room() {
    let mut profile = common::matmul(24, false);
    // Folders that all lines have in common are not shown.
    let long =
        |function: &str| format!("sources_of_{function}/in_a_folder_with_a_long_name/matmul.c");
    for site in &mut profile.sites {
        for frame in &mut site.frames {
            frame.file = long(&frame.function);
        }
    }
    let lines = |width: usize| {
        let options = TextOptions {
            width,
            ..TextOptions::default()
        };
        let text = summary(&profile, &options);
        let longest = text.lines().map(|line| line.chars().count()).max();
        assert!(longest <= Some(width), "{width}: {text}");
        text
    };
    // 33 columns of numbers, 60 of the line's name, 12 of the data's, and the gaps.
    let wide = lines(110);
    assert!(wide.contains(&long("multiply")), "{wide}");
    let narrow = lines(90);
    assert!(!narrow.contains(&long("fill")), "{narrow}");
    assert!(narrow.contains("  a (matmul.c)"), "{narrow}");
    // No heading is longer.
    lines(64);
}

/// Counted misses take the place of the model's, and so does what they say of conflicts.
#[test]
fn counted_misses_with_sets_take_the_place_of_the_model() {
    let mut profile = walk(true);
    let l1 = profile.machine.caches[0].clone();
    let full = profile.histogram.misses(l1.items(profile.granularity));
    for (misses, conflicts) in [(full, false), (3 * full, true)] {
        let counted = SetCache {
            name: l1.name(),
            size: l1.size,
            sets: l1.sets.into(),
            ways: l1.ways.into(),
            misses,
            associative_misses: full,
        };
        profile.causes = Some(Causes {
            set_caches: vec![counted],
            ..Causes::default()
        });
        let text = words(&summary(&profile, &TextOptions::default()));
        let sentence = "Conflict misses dominate in L1d (with its sets ×3.00)";
        assert_eq!(text.contains(sentence), conflicts, "{text}");
        assert!(!text.contains("its sets about"), "{text}");
    }
}
