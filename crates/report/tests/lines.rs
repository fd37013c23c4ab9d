//! Bytes used of lines in a summary, on a page and in JSON.

mod common;

use common::matmul;
use reuselens_locality::{Causes, Profile, SampledUse};
use reuselens_report::{HtmlOptions, JsonOptions, TextOptions, json, page, summary};
use reuselens_units::Bytes;
use serde_json::{Value, json};

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

/// The lines of a summary from the heading of the table on.
fn lines_of(text: &str) -> Vec<Vec<&str>> {
    let lines = text
        .lines()
        .skip_while(|line| !line.starts_with("Bytes used of the lines"));
    lines
        .map(|line| line.split_whitespace().collect())
        .collect()
}

fn parsed(profile: &Profile) -> Value {
    serde_json::from_str(&json(profile, &JsonOptions::default())).unwrap()
}

#[test]
fn exact_use_has_no_bound() {
    let profile = profile(None);
    let text = summary(&profile, &TextOptions::default());
    let lines = lines_of(&text);
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
    assert!(page.contains("a cache of 4 KiB") && page.contains("62.5 %"));
    let known = &parsed(&profile)["line_use"];
    assert_eq!(
        (&known["cache_bytes"], &known["sample_rate"]),
        (&json!(4096), &Value::Null)
    );
    let expected = json!({
        "object": null, "misses": 1000, "bytes_brought": 64000, "bytes_used": 40000,
        "utilisation": 0.625, "utilisation_bound": 0.0,
    });
    assert_eq!(known["data"][0], expected);
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
    assert!(page.contains("sample of 1.00 % of the lines"));
    let known = &parsed(&profile)["line_use"];
    assert_eq!(known["sample_rate"], 0.01);
    let data = known["data"].as_array().unwrap();
    let bounds: Vec<&Value> = data.iter().map(|it| &it["utilisation_bound"]).collect();
    assert_eq!(bounds, [&json!(0.03), &json!(0.02), &Value::Null]);
    assert_eq!(data[0]["utilisation"], 0.626);
}

#[test]
fn without_misses_there_is_no_table() {
    let mut profile = profile(None);
    for cell in &mut profile.cells {
        cell.causes = Default::default();
    }
    assert_eq!(
        lines_of(&summary(&profile, &TextOptions::default())).len(),
        0
    );
    assert!(!page(&profile, &HtmlOptions::default()).contains("id=\"lines\""));
    assert!(parsed(&profile).get("line_use").is_none());
}
