//! Fields of objects on a page.

use std::fmt::Write;

use reuselens_profile::{FieldUse, Profile};

use super::fields::{self, HEADS, ObjectFields, UNKNOWN_TYPE};
use crate::html::{escape, table};
use crate::numbers::count;
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
    let heads = ["field", "type"]
        .into_iter()
        .chain(HEADS)
        .map(str::to_owned);
    let row = |field: &FieldUse| {
        let words = [object.name(field).to_owned(), field.field.type_name.clone()];
        words.into_iter().chain(object.numbers(field)).collect()
    };
    let rows: Vec<Vec<String>> = object.fields.iter().take(FIELDS).map(row).collect();
    table(out, &(heads.collect(), rows), &[0, 1]);
    out.push_str("</details>");
}
