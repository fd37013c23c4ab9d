//! Bytes used of lines in a summary, on a page and in JSON.

use reuselens_profile::{Causes, Profile, SampledUse};
use reuselens_report::{HtmlOptions, TextOptions, page, summary};
use reuselens_units::Bytes;
use serde_json::{Value, json};

use crate::common::{matmul, parsed, words_from};

/// A profile with causes: fills of two objects, of which a quarter and all bytes were used.
fn profile(sample: Option<f64>) -> Profile {
    let mut profile = matmul(16, false);
    let known = |object, utilisation, half_width| SampledUse {
        object,
        items: 50,
        utilisation,
        half_width,
    };
    for (object, used) in [(1, 16), (2, 64)] {
        let cell = (profile.cells.iter_mut()).find(|cell| cell.object == object);
        let causes = &mut cell.unwrap().causes;
        (causes.fills, causes.used_bytes) = (500, 500 * used);
    }
    profile.causes = Some(Causes {
        cache: Bytes(4096),
        sample_rate: sample,
        sampled_use: match sample {
            Some(_) => vec![
                known(None, 0.626, 0.03),
                known(Some(1), 0.25, 0.02),
                known(Some(2), 0.99, 1.0),
            ],
            None => Vec::new(),
        },
        ..Causes::default()
    });
    profile
}

/// The heading of the table in a summary.
const HEADING: &str = "Bytes used of the lines";

#[test]
fn exact_use_has_no_bound() {
    let profile = profile(None);
    let text = summary(&profile, &TextOptions::default());
    let lines = words_from(&text, HEADING);
    assert_eq!(
        lines[2],
        ["1,000", "64.0", "k", "62.5", "%", "all", "data"],
        "{text}"
    );
    assert_eq!(lines[3][..5], ["500", "32.0", "k", "25.0", "%"], "{text}");
    assert_eq!(lines[4][..5], ["500", "32.0", "k", "100", "%"], "{text}");
    assert!(!text.contains('±') && !text.contains("sample"), "{text}");
    let page = page(&profile, &HtmlOptions::default());
    assert!(page.contains("<section id=\"lines\">") && page.contains("href=\"#lines\""));
    assert!(page.contains("a cache of 4\u{a0}KiB") && page.contains("62.5 %"));
    let known = &parsed(&profile)["line_use"];
    let expected = json!({
        "cache_bytes": 4096, "sample_rate": null, "misses": 1000, "bytes_brought": 64000,
        "bytes_used": 40000, "utilisation": 0.625, "utilisation_bound": 0.0,
    });
    assert_eq!(*known, expected);
    let object = &parsed(&profile)["causes"]["by_object"][0];
    assert_eq!(
        (&object["misses"], &object["utilisation"]),
        (&json!(500), &json!(0.25))
    );
}

#[test]
fn a_sample_shows_its_bound_or_that_nothing_is_known() {
    let profile = profile(Some(0.01));
    let text = summary(&profile, &TextOptions::default());
    assert!(text.contains("62.6 % ± 3.00 %  all data"), "{text}");
    assert!(text.contains("25.0 % ± 2.00 %"), "{text}");
    assert!(text.contains("not known"), "{text}");
    assert!(text.contains("sample of 1.00 % of the lines"), "{text}");
    let page = page(&profile, &HtmlOptions::default());
    assert!(page.contains("62.6 % ± 3.00 %") && page.contains("not known"));
    assert!(page.contains("sample of 1.00\u{a0}% of the lines"));
    let known = &parsed(&profile)["line_use"];
    assert_eq!(known["sample_rate"], 0.01);
    assert_eq!(known["utilisation"], 0.626);
    let causes = &parsed(&profile)["causes"];
    let objects = causes["by_object"].as_array().unwrap();
    let bounds = (objects.iter()).map(|it| &it["utilisation_bound"]);
    let bounds: Vec<&Value> = [&known["utilisation_bound"]]
        .into_iter()
        .chain(bounds)
        .collect();
    assert_eq!(bounds, [&json!(0.03), &json!(0.02), &Value::Null]);
}

#[test]
fn rows_that_a_table_leaves_out_are_counted() {
    let mut profile = profile(None);
    let known = profile.objects.len();
    for number in 0..50 {
        let mut object = profile.objects[1].clone();
        object.name = format!("table {number}");
        profile.objects.push(object);
        let mut cell = profile.cells[0].clone();
        cell.object = (known + number) as u32;
        // The last object has too few of the misses to be shown.
        cell.causes.fills = if number < 49 { 100 } else { 1 };
        profile.cells.push(cell);
    }
    let text = summary(&profile, &TextOptions::default());
    let lines = words_from(&text, HEADING);
    // The heading and the heads of columns, all data, five of 52 objects.
    assert_eq!(lines[8], ["47", "others"], "{text}");
    let page = page(&profile, &HtmlOptions::default());
    let section = page.split("<section id=\"lines\">").nth(1).unwrap();
    let section = section.split("</section>").next().unwrap();
    assert!(
        section.contains("13 more rows are in the JSON"),
        "{section}"
    );
    let objects = parsed(&profile)["causes"]["by_object"].clone();
    assert_eq!(objects.as_array().map(Vec::len), Some(52));
}

#[test]
fn without_misses_there_is_no_table() {
    let mut profile = profile(None);
    for cell in &mut profile.cells {
        cell.causes = Default::default();
    }
    assert_eq!(
        words_from(&summary(&profile, &TextOptions::default()), HEADING).len(),
        0
    );
    assert!(!page(&profile, &HtmlOptions::default()).contains("id=\"lines\""));
    assert!(parsed(&profile).get("line_use").is_none());
}
