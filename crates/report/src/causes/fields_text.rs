//! Fields of objects in a summary.

use reuselens_document::terminal::{Paint, heading, wrap};
use reuselens_profile::{FieldUse, Profile};

use super::fields::{self, ObjectFields, UNKNOWN_TYPE};
use crate::words;

/// Objects that are shown.
const OBJECTS: usize = 3;
/// Fields of an object that are shown: those of the most accesses.
const FIELDS: usize = 12;

/// Appends a table for each of the objects with the most misses.
pub(super) fn write(out: &mut String, profile: &Profile, width: usize, paint: Paint) {
    let objects = fields::of(profile);
    for object in objects
        .iter()
        .take(OBJECTS)
        .filter(|object| object.misses() > 0)
    {
        write_object(out, object, width, paint);
    }
}

fn write_object(out: &mut String, object: &ObjectFields<'_>, width: usize, paint: Paint) {
    let name = words::or(&object.object.name, "(unknown object)");
    let title = format!("Fields of {name}");
    heading(
        out,
        &title,
        &format!("({})", object.described()),
        width,
        paint,
    );
    let mut shown: Vec<&FieldUse> = object.fields.iter().collect();
    shown.sort_by_key(|field| std::cmp::Reverse((field.misses, field.accesses)));
    let others = shown.len().saturating_sub(FIELDS);
    shown.truncate(FIELDS);
    shown.sort_by_key(|field| field.field.offset);
    let mut table = object.table(shown);
    if others > 0 {
        table.left_out = format!("{others} other fields");
    }
    table.write_text(out, width, paint);
    if object.layout.is_none() {
        out.push_str(&wrap(UNKNOWN_TYPE, width, 2));
        out.push('\n');
    }
}
