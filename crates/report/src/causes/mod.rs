//! Why accesses miss, where a profile has that.

mod fields;
mod fields_json;
mod fields_page;
mod fields_text;
mod lines;
mod lines_json;
mod lines_page;
mod lines_text;

pub(crate) use fields_json::FieldsJson;
pub(crate) use lines_json::LinesJson;

use reuselens_locality::Profile;

use crate::text::Paint;

/// Appends what a summary says of causes.
pub(crate) fn write_text(out: &mut String, profile: &Profile, width: usize, paint: Paint) {
    lines_text::write(out, profile, width, paint);
    fields_text::write(out, profile, width, paint);
}

/// Whether [`write_page`] has fields.
pub(crate) fn has_fields(profile: &Profile) -> bool {
    !fields::of(profile).is_empty()
}

/// Whether [`write_page`] has lines.
pub(crate) fn has_lines(profile: &Profile) -> bool {
    !lines::of(profile).is_empty()
}

/// Appends what a page says of causes.
pub(crate) fn write_page(out: &mut String, profile: &Profile) {
    lines_page::write(out, profile);
    fields_page::write(out, profile);
}

/// The fields of objects, for JSON; empty if the profile has no causes.
pub(crate) fn fields_json(profile: &Profile) -> Vec<FieldsJson<'_>> {
    fields_json::of(profile)
}

/// Bytes used of lines, for JSON; `None` if the profile has no causes, or nothing missed.
pub(crate) fn lines_json(profile: &Profile) -> Option<LinesJson<'_>> {
    lines_json::of(profile)
}
