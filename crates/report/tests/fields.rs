//! Fields of objects in a summary, on a page and in JSON.

use reuselens_profile::{Causes, DataLayout, ElementUse, LayoutField, Profile, TypeOrigin};
use reuselens_report::{HtmlOptions, JsonOptions, TextOptions, json, page, summary};

use crate::common::{matmul, parsed, words_from};

/// A profile with causes: object 1 has elements of 16 bytes, of this type.
fn profile(layout: Option<DataLayout>) -> Profile {
    let mut element = ElementUse {
        object: 1,
        layout: layout.as_ref().map(|_| 0),
        accesses: vec![0; 16],
        misses: vec![0; 16],
        brought: vec![40; 16],
        used: vec![0; 16],
        ..ElementUse::default()
    };
    (element.accesses[0], element.misses[0]) = (7_654, 40);
    element.accesses[8] = 3;
    element.used[..8].fill(40);
    let mut profile = matmul(16, false);
    profile.causes = Some(Causes {
        elements: vec![element],
        layouts: layout.into_iter().collect(),
        ..Causes::default()
    });
    profile
}

fn node() -> DataLayout {
    let field = |name: &str, kind: &str, offset, bytes| LayoutField {
        name: name.into(),
        type_name: kind.into(),
        offset,
        bytes,
    };
    DataLayout {
        name: "Node<1>".into(),
        bytes: 16,
        fields: vec![field("key", "double", 0, 8), field("flag", "bool", 8, 1)],
    }
}

/// What the headings of the tables in a summary begin with.
const HEADING: &str = "Fields of ";

#[test]
fn a_type_that_accesses_show_has_their_share() {
    let mut profile = profile(Some(node()));
    assert!(parsed(&profile)["fields"][0]["type_from"].is_null());
    let causes = profile.causes.as_mut().unwrap();
    causes.elements[0].origin = Some(TypeOrigin::Accesses { agree: 3, all: 4 });
    let shown = &parsed(&profile)["fields"][0];
    assert_eq!(shown["type_from"], "accesses");
    assert_eq!(shown["type_share"], 0.75);
    let text = summary(&profile, &TextOptions::default());
    assert!(
        text.contains("type by 75.0 % of the program's own accesses"),
        "{text}"
    );
}

#[test]
fn fields_are_shown_with_padding() {
    let profile = profile(Some(node()));
    let text = summary(&profile, &TextOptions::default());
    let lines = words_from(&text, HEADING);
    assert!(lines[0].ends_with(&["(Node<1>,", "16", "bytes)"]), "{text}");
    assert_eq!(
        lines[2],
        ["40", "7,654", "320", "100", "%", "0", "8", "key"],
        "{text}"
    );
    assert_eq!(
        lines[3],
        ["0", "3", "40", "0", "%", "8", "1", "flag"],
        "{text}"
    );
    assert_eq!(
        lines[4],
        ["0", "0", "280", "0", "%", "9", "7", "(padding)"],
        "{text}"
    );

    let page = page(&profile, &HtmlOptions::default());
    assert!(page.contains("<section id=\"fields\">") && page.contains("href=\"#fields\""));
    assert!(page.contains("Node&lt;1&gt;, 16 bytes") && page.contains("(padding)"));

    let json = parsed(&profile);
    let object = &json["fields"][0];
    assert_eq!(
        (&object["type"], &object["element_bytes"]),
        (&"Node<1>".into(), &16.into())
    );
    let key = &object["fields"][0];
    let expected = serde_json::json!({
        "name": "key", "type": "double", "offset": 0, "bytes": 8, "accesses": 7654, "misses": 40,
        "bytes_brought": 320, "bytes_used": 320,
    });
    assert_eq!(*key, expected);
}

#[test]
fn without_a_type_there_are_offsets_and_a_statement() {
    let profile = profile(None);
    let text = summary(&profile, &TextOptions::default());
    let lines = words_from(&text, HEADING);
    assert!(
        lines[0].ends_with(&["(unknown", "type,", "16", "bytes)"]),
        "{text}"
    );
    assert_eq!(
        lines[3],
        ["0", "3", "320", "0", "%", "8", "8", "(no", "name)"],
        "{text}"
    );
    assert!(text.contains("compile with -g"), "{text}");
    assert!(page(&profile, &HtmlOptions::default()).contains("compile with -g"));
    let json = parsed(&profile);
    assert!(json["fields"][0]["type"].is_null());
}

#[test]
fn without_causes_there_are_no_fields() {
    let mut profile = profile(None);
    profile.causes = None;
    assert!(words_from(&summary(&profile, &TextOptions::default()), HEADING).is_empty());
    assert!(!page(&profile, &HtmlOptions::default()).contains("id=\"fields\""));
    let json = json(&profile, &JsonOptions::default());
    assert!(!json.contains("\"fields\":"));
}

#[test]
fn fields_of_a_sample_are_marked_as_estimates() {
    let mut profile = profile(Some(node()));
    profile.causes.as_mut().unwrap().sample_rate = Some(0.01);
    let estimates = "Node<1>, 16 bytes; estimates from a sample of 1.00 % of the lines";
    let text = summary(&profile, &TextOptions::default());
    let joined = text.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(joined.contains(estimates), "{text}");
    let page = page(&profile, &HtmlOptions::default());
    assert!(page.contains(&estimates.replace('<', "&lt;").replace('>', "&gt;")));
    let json = parsed(&profile);
    assert_eq!(json["fields"][0]["sample_rate"], 0.01);
}
