//! What to change in a program, as text, JSON, Markdown, SARIF, a report for GitLab and as a
//! section of a page; and rules explained.

mod advice_report;
mod explain;
mod gitlab;
mod json;
mod markdown;
mod page;
mod review;
mod sarif;
mod text;

use std::collections::BTreeSet;

use reuselens_advice::{Cost, Finding, SourcePlace};
use reuselens_document::numbers::{count, ratio_percent};

pub use advice_report::AdviceReport;
pub use explain::{explain_text, rules_text};
pub use gitlab::advice_gitlab;
pub use json::{ADVICE_SCHEMA, advice_json};
pub(crate) use json::{AdviceJson, finding_json};
pub use markdown::advice_markdown;
pub(crate) use page::{for_page, write as write_section, write_findings};
pub use sarif::advice_sarif;
pub(crate) use text::write_first;
pub use text::{AdviceTextOptions, advice_text};

/// How the places of findings are written: with the names of files alone, but with the paths of
/// files that have one name.
pub(crate) struct PlaceNames<'a> {
    /// Each file of the findings.
    files: BTreeSet<&'a str>,
}

impl<'a> PlaceNames<'a> {
    /// For these findings together.
    pub fn of(findings: impl IntoIterator<Item = &'a Finding>) -> Self {
        let findings = findings.into_iter();
        let sources = findings.filter_map(|it| it.place.source.as_deref());
        PlaceNames {
            files: sources.map(file_of).collect(),
        }
    }

    /// Where a finding is: line, function and object, as far as they are known.
    pub fn place(&self, finding: &Finding) -> String {
        let place = &finding.place;
        let mut words = Vec::new();
        if let Some(source) = &place.source {
            words.push(self.source(source).to_owned());
        }
        if let Some(function) = &place.function {
            words.push(format!("in {function}"));
        }
        if let Some(object) = &place.object {
            words.push(format!("on {object}"));
        }
        words.join(" ")
    }

    fn source<'s>(&self, source: &'s str) -> &'s str {
        let name = short_place(file_of(source));
        let same = self.files.iter().filter(|file| short_place(file) == name);
        match same.count() {
            0 | 1 => short_place(source),
            _ => source,
        }
    }
}

/// The file of a place; all of a place without a line.
fn file_of(source: &str) -> &str {
    SourcePlace::parse(source).map_or(source, |place| place.file)
}

/// The end of a path: its file's name.
pub(crate) fn short_place(place: &str) -> &str {
    place.rsplit('/').next().unwrap_or(place)
}

/// A cost for people: `875 k misses, 62.1 % of all`.
pub(crate) fn cost(cost: &Cost) -> String {
    let (amount, share) = (count(cost.amount), ratio_percent(cost.share));
    format!("{amount} {}, {share} of all", cost.unit)
}
