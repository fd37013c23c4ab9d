//! Fields of objects on a page.

use std::fmt::Write;

use reuselens_document::html::escape;
use reuselens_document::numbers::count;
use reuselens_profile::Profile;

use super::fields::{self, ObjectFields, UNKNOWN_TYPE};
use crate::words;

/// Objects that are shown.
const OBJECTS: usize = 12;
/// Fields of an object that are shown.
const FIELDS: usize = 200;

const EXPLAIN: &str = "Which fields of a structure are accessed, which miss, and how many of the bytes that were brought \
    into the cache with them were used before they were evicted. Fields that are seldom used take the room of others: keep them \
    in a structure of their own.";

/// Appends the section, if the profile has fields.
pub(super) fn write(out: &mut String, profile: &Profile) {
    let objects = fields::of(profile);
    if objects.is_empty() {
        return;
    }
    let _ = write!(
        out,
        "<section id=\"fields\"><h2>Fields</h2><p class=\"explain\">{EXPLAIN}</p>"
    );
    for (index, object) in objects.iter().take(OBJECTS).enumerate() {
        write_object(out, object, index == 0);
    }
    out.push_str("</section>");
}

fn write_object(out: &mut String, object: &ObjectFields<'_>, is_open: bool) {
    let name = escape(words::or(&object.object.name, "(unknown object)"));
    let element = object.described();
    let open = if is_open { " open" } else { "" };
    let _ = write!(
        out,
        "<details{open}><summary><b>{name}</b> <span class=\"soft\">{}; {} misses</span></summary>",
        escape(&element),
        count(object.misses())
    );
    if object.layout.is_none() {
        let _ = write!(out, "<p class=\"soft\">{UNKNOWN_TYPE}</p>");
    }
    let fields = object.fields.iter().take(FIELDS);
    object.table(fields).write_html(out);
    out.push_str("</details>");
}
