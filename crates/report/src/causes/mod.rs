//! Why accesses miss, where a profile has that.

mod fields;
mod fields_json;
mod fields_page;
mod fields_text;

pub(crate) use fields_json::FieldsJson;

use reuselens_locality::Profile;

use crate::text::Paint;

/// Appends what a summary says of causes.
pub(crate) fn write_text(out: &mut String, profile: &Profile, width: usize, paint: Paint) {
    fields_text::write(out, profile, width, paint);
}

/// Whether [`write_page`] has something to say.
pub(crate) fn has_section(profile: &Profile) -> bool {
    !fields::of(profile).is_empty()
}

/// Appends what a page says of causes.
pub(crate) fn write_page(out: &mut String, profile: &Profile) {
    fields_page::write(out, profile);
}

/// The fields of objects, for JSON; empty if the profile has no causes.
pub(crate) fn fields_json(profile: &Profile) -> Vec<FieldsJson<'_>> {
    fields_json::of(profile)
}
