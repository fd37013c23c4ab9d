//! What to change in a program, as text, JSON, SARIF and as a section of a page; and rules
//! explained.

mod advice_report;
mod explain;
mod json;
mod page;
mod sarif;
mod text;

use reuselens_advice::{Cost, Finding};

use crate::numbers::{count, ratio_percent};

pub use advice_report::AdviceReport;
pub use explain::{explain_text, rules_text};
pub use json::{ADVICE_SCHEMA, advice_json};
pub(crate) use json::{AdviceJson, finding_json};
pub(crate) use page::{for_page, write as write_section, write_findings};
pub use sarif::advice_sarif;
pub(crate) use text::write_first;
pub use text::{AdviceTextOptions, advice_text};

/// Where a finding is: line, function and object, as far as they are known.
pub(crate) fn place(finding: &Finding) -> String {
    let place = &finding.place;
    let mut words = Vec::new();
    if let Some(source) = &place.source {
        words.push(short_place(source).to_owned());
    }
    if let Some(function) = &place.function {
        words.push(format!("in {function}"));
    }
    if let Some(object) = &place.object {
        words.push(format!("on {object}"));
    }
    words.join(" ")
}

/// The end of a path: its file's name.
pub(crate) fn short_place(place: &str) -> &str {
    place.rsplit('/').next().unwrap_or(place)
}

/// A cost for people: `875 k misses, 62.1 % of all`.
fn cost(cost: &Cost) -> String {
    let (amount, share) = (count(cost.amount), ratio_percent(cost.share));
    format!("{amount} {}, {share} of all", cost.unit)
}
