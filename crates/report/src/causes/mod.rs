//! Why accesses miss, in all reports of a profile whose causes were recorded.
//!
//! A module has the rows of one subject, and its [`Section`] for all formats: [`carried`] reuses,
//! [`fields`], [`lines`], [`phases`], conflicts in [`sets`], [`sharing`]. Where formats differ in
//! more than a section does, its siblings `…_text`, `…_page` and `…_json` write the rows.

mod carried;
mod cause_rows;
mod causes_json;
mod fields;
mod fields_json;
mod fields_page;
mod fields_text;
mod lines;
mod lines_json;
mod phases;
mod phases_page;
mod sets;
mod sharing;

pub(crate) use causes_json::CausesJson;
pub(crate) use fields_json::FieldsJson;
pub(crate) use lines_json::LinesJson;

use reuselens_document::Section;
use reuselens_document::html::escape;
use reuselens_document::terminal::Paint;
use reuselens_profile::{Causes, Profile, ScopeKind};

use crate::caches::Level;
use cause_rows::{CauseNames, PAGE_ROWS, TEXT_ROWS, in_json, others};

/// The causes of profiles; `None` if one has none, or those of a sample, in which invalidations and
/// sets are not counted.
pub(crate) fn complete<'a>(profiles: &[&'a Profile]) -> Option<Vec<&'a Causes>> {
    let of = |profile: &&'a Profile| {
        let causes = profile.causes.as_ref();
        causes.filter(|causes| causes.sample_rate.is_none())
    };
    profiles.iter().map(of).collect()
}

/// Rows of the table of lines: all data, and the objects of the most misses.
const TEXT_LINES: usize = 6;
const PAGE_LINES: usize = 40;

/// The tables of causes, in the order in which they are shown.
fn tables(names: &CauseNames<'_>) -> [Section; 3] {
    [
        carried::section(names),
        sharing::section(names),
        sets::section(names),
    ]
}

/// Appends the tables of causes to a summary.
pub(crate) fn write_text(out: &mut String, profile: &Profile, width: usize, paint: Paint) {
    lines::section(profile, TEXT_LINES, others).write_text(out, width, paint);
    fields_text::write(out, profile, width, paint);
    if let Some(names) = CauseNames::of(profile) {
        for section in tables(&names) {
            section
                .first(TEXT_ROWS, others)
                .write_text(out, width, paint);
        }
        phases::write_text(out, &names, width, paint);
    }
}

/// The parts of a page about causes.
#[derive(Default)]
pub(crate) struct CauseSections {
    /// Phases and tables; empty if there are none.
    pub why: String,
    /// Bytes used of lines, then fields; both empty if there are none.
    pub lines: String,
    pub fields: String,
}

/// The sections of a page about causes.
pub(crate) fn sections(profile: &Profile) -> CauseSections {
    let mut sections = CauseSections::default();
    lines::section(profile, PAGE_LINES, in_json).write_html(&mut sections.lines);
    fields_page::write(&mut sections.fields, profile);
    let Some(names) = CauseNames::of(profile) else {
        return sections;
    };
    let mut inner = String::new();
    phases_page::write(&mut inner, &names);
    for section in tables(&names) {
        section
            .first(PAGE_ROWS, in_json)
            .write_html_within(&mut inner);
    }
    if !inner.is_empty() {
        let cache = Level::named(names.causes().cache, profile).label();
        sections.why = format!(
            "<section id=\"why\"><h2>Why accesses miss in {}</h2>{inner}</section>",
            escape(&cache)
        );
    }
    sections
}

/// The fields of objects, for JSON; empty if the profile has no causes.
pub(crate) fn fields_json(profile: &Profile) -> Vec<FieldsJson<'_>> {
    fields_json::of(profile)
}

/// Bytes used of lines, for JSON; `None` if the profile has no causes, or nothing missed.
pub(crate) fn lines_json(profile: &Profile) -> Option<LinesJson> {
    lines_json::of(profile)
}

/// The causes, for JSON; `None` if the profile has none.
pub(crate) fn causes_json(profile: &Profile) -> Option<CausesJson> {
    causes_json::of(profile)
}

/// The name of a kind of scope in JSON.
fn kind_name(kind: ScopeKind) -> &'static str {
    match kind {
        ScopeKind::Thread => "thread",
        ScopeKind::Function => "function",
        ScopeKind::Loop => "loop",
    }
}
