//! [`page()`]: one profile as an HTML page. It puts the sections together.

use std::collections::BTreeMap;
use std::fmt::Write;

use reuselens_document::html::{page, script_json};
use reuselens_profile::{CacheSize, Profile};

use super::scene::Scene;
use super::{
    curve, data, footprint, headline, histogram, icicle, lessons, paths, source, tables, weights,
};
use crate::{MAKER, ShownProfile, advice, causes};

const SCRIPT: &str = concat!(include_str!("scales.js"), include_str!("script.js"));

/// The sections that the bar at the top links to, if they are there.
const SECTIONS: [(&str, &str); 9] = [
    ("advice", "Advice"),
    ("where", "Where"),
    ("why", "Why"),
    ("lines", "Lines"),
    ("fields", "Fields"),
    ("source", "Source"),
    ("contexts", "Calls"),
    ("paths", "Paths"),
    ("method", "Method"),
];

/// What a page shows.
#[derive(Clone, Debug)]
pub struct HtmlOptions {
    /// The heading; the command if empty.
    pub title: String,
    /// The cache that tables and colours start with; `None` = the one in which the misses of reuses
    /// cost the most time.
    pub cache: Option<CacheSize>,
    /// Groups that each table has at most; the rest are summed in one row.
    pub top: usize,
    /// Source texts by path, as debug information names the files; may be empty.
    pub sources: BTreeMap<String, String>,
}

impl Default for HtmlOptions {
    fn default() -> Self {
        HtmlOptions {
            title: String::new(),
            cache: None,
            top: 500,
            sources: BTreeMap::new(),
        }
    }
}

/// A profile as one HTML file that works offline, and without JavaScript for all but the
/// interaction.
///
/// Usually below 300 KB; below 2 MB with a `top` of at most 500, however many groups the profile
/// has: tables show `top` rows at most, and fewer where their histograms are large.
/// Cost: linear in the cells.
pub fn page(profile: &Profile, options: &HtmlOptions) -> String {
    page_of(&ShownProfile::new(profile), options)
}

/// As [`page()`], of a profile that is shown in other ways too.
pub fn page_of(shown: &ShownProfile<'_>, options: &HtmlOptions) -> String {
    let profile = shown.profile();
    let scene = Scene::new(shown.grouping(), options);
    let mut out = String::with_capacity(128 << 10);
    let title = match options.title.as_str() {
        "" => crate::words::command(profile),
        title => title.to_owned(),
    };
    page::head(&mut out, MAKER, &title);
    let tables = data::tables(&scene);
    let tree = data::tree(profile);
    let files = source::files(&scene);
    let patterns = paths::pictures(&scene);
    let found = advice::for_page(shown);
    let causes = causes::sections(profile);
    page::top(&mut out, MAKER, &SECTIONS, |id| match id {
        "advice" => found.is_some(),
        "why" => !causes.why.is_empty(),
        "lines" => !causes.lines.is_empty(),
        "fields" => !causes.fields.is_empty(),
        "contexts" => tree.len() > 1,
        "paths" => !patterns.is_empty(),
        "source" => !files.is_empty(),
        "where" => !tables.is_empty(),
        _ => true,
    });
    headline::write(&mut out, &scene, &options.title);
    advice::write_section(&mut out, found.as_ref());
    lessons::reuse_distance(&mut out);
    if scene.accesses > 0 {
        chooser(&mut out, &scene);
        pictures(&mut out, &scene);
        weights::write(&mut out, &scene);
    }
    if !tables.is_empty() {
        tables::write(&mut out, &scene, &tables);
    }
    for section in [&causes.why, &causes.lines, &causes.fields] {
        out.push_str(section);
    }
    source::write(&mut out, &scene, &files);
    icicle::write(&mut out, &scene, &tree);
    if !patterns.is_empty() {
        paths::write(&mut out, &scene, &patterns);
    }
    if scene.accesses > 0 {
        footprint::write(&mut out, &scene);
    }
    lessons::method(&mut out, &scene);
    let json = data::json(&scene, &tables, &tree, &source::json(&files));
    end(&mut out, &json);
    out
}

/// Appends the pictures of all accesses.
fn pictures(out: &mut String, scene: &Scene) {
    page::card(
        out,
        "distances",
        "How far apart data is reused",
        lessons::HISTOGRAM,
        |out| {
            histogram::write(out, scene);
        },
    );
    page::card(
        out,
        "sizes",
        "What caches of other sizes would do",
        lessons::CURVE,
        |out| {
            curve::write(out, scene);
        },
    );
}

/// Appends the choice of the heights of a picture, shared by all pictures.
pub(super) fn heights(out: &mut String, picture: &str) {
    let choices = [
        ("all", "all accesses"),
        ("log", "logarithmic"),
        ("misses", "misses only"),
    ];
    let _ = write!(
        out,
        "<fieldset class=\"heights needs-js\"><legend>Height:</legend>"
    );
    for (value, words) in choices {
        let on = if value == "all" { " checked" } else { "" };
        let _ = write!(
            out,
            "<label><input type=\"radio\" name=\"heights-{picture}\" value=\"{value}\"{on}>{words}</label>"
        );
    }
    out.push_str("</fieldset>");
}

/// Appends the end of a page, with the script of pictures and tables and with its numbers as JSON.
pub(super) fn end(out: &mut String, json: &str) {
    let numbers = script_json(json);
    let scripts = format!(
        "\n<script type=\"application/json\" id=\"data\">{numbers}</script>\n<script>{SCRIPT}</script>"
    );
    page::end(out, MAKER, &scripts);
}

/// Appends the choice of the cache.
fn chooser(out: &mut String, scene: &Scene) {
    out.push_str(
        "<form class=\"chooser needs-js\" id=\"chooser\"><fieldset><legend>Count misses in a cache of</legend>",
    );
    for level in &scene.levels {
        let on = if *level == scene.chosen {
            " checked"
        } else {
            ""
        };
        let _ = write!(
            out,
            "<label><input type=\"radio\" name=\"cache\" value=\"{}\"{on}>{}</label>",
            level.items,
            level.label()
        );
    }
    let custom = scene.chosen.name.is_none();
    let (on, value) = if custom {
        (" checked", scene.chosen.size.as_str())
    } else {
        ("", "")
    };
    let _ = write!(
        out,
        "<label><input type=\"radio\" name=\"cache\" value=\"other\"{on}>other<input type=\"text\" id=\"other\" \
         aria-label=\"Another cache size\" placeholder=\"48K\" value=\"{value}\" spellcheck=\"false\"></label>\
         <output id=\"total\"></output></fieldset></form>"
    );
}
