//! Bytes used of lines on a page.

use std::fmt::Write;

use reuselens_profile::Profile;

use super::cause_table;
use super::lines::{self, HEADS, ObjectLines, TITLE};
use crate::html::{escape, table};

/// Rows that are shown.
const ROWS: usize = 40;

const EXPLAIN: &str = "A miss brings a line into the cache. Bytes count as used if they are read or written before \
    the line's next miss. Where few are used, most of what is fetched is fetched for nothing.";

/// Appends the section, if something missed.
pub(super) fn write(out: &mut String, profile: &Profile) {
    let (lines, others) = lines::shown(profile, ROWS);
    if lines.is_empty() {
        return;
    }
    let _ = write!(
        out,
        "<section id=\"lines\"><h2>Lines</h2><p class=\"explain\">{TITLE}, {}. {EXPLAIN}</p>",
        escape(&lines::of_what(profile))
    );
    let heads = ["data"].into_iter().chain(HEADS).map(str::to_owned);
    let row = |it: &ObjectLines<'_>| {
        let name = [it.name().to_owned()].into_iter();
        name.chain(it.numbers()).collect()
    };
    let rows: Vec<Vec<String>> = lines.iter().map(row).collect();
    table(out, &(heads.collect(), rows), &[0]);
    cause_table::write_more(out, others);
    out.push_str("</section>");
}
