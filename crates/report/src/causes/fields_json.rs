//! The field `fields` of a profile's JSON: fields of objects.

use reuselens_profile::{Profile, TypeOrigin};
use serde::Serialize;

use super::fields;

/// The fields of an object.
#[derive(Serialize)]
pub(crate) struct FieldsJson<'a> {
    object: &'a str,
    /// Null if the type is unknown: fields are then ranges of bytes without names.
    #[serde(rename = "type")]
    kind: Option<&'a str>,
    /// Where the type is from: `declaration`, `allocation` or `accesses`; null if it is unknown.
    type_from: Option<&'static str>,
    /// The share of the program's own accesses that show the type, if it is from these.
    #[serde(skip_serializing_if = "Option::is_none")]
    type_share: Option<f64>,
    element_bytes: u64,
    /// The share of the lines that was counted, if a sample was; counts are scaled to all lines.
    sample_rate: Option<f64>,
    fields: Vec<FieldJson>,
}

/// A field, padding, or a range of bytes.
#[derive(Serialize)]
struct FieldJson {
    /// Empty for padding and for ranges.
    name: String,
    #[serde(rename = "type")]
    kind: String,
    offset: u64,
    bytes: u64,
    accesses: u64,
    misses: u64,
    bytes_brought: u64,
    bytes_used: u64,
}

/// The objects whose accesses are broken down by field, the most misses first.
pub(super) fn of(profile: &Profile) -> Vec<FieldsJson<'_>> {
    let sample_rate = profile.causes.as_ref().and_then(|it| it.sample_rate);
    let objects = fields::of(profile).into_iter();
    let objects = objects.map(|object| FieldsJson {
        object: &object.object.name,
        kind: object.layout.map(|layout| layout.name.as_str()),
        type_from: object.origin.map(|origin| match origin {
            TypeOrigin::Declaration => "declaration",
            TypeOrigin::Allocation => "allocation",
            TypeOrigin::Accesses { .. } => "accesses",
        }),
        type_share: object.shown_share(),
        element_bytes: object.bytes,
        sample_rate,
        fields: object
            .fields
            .into_iter()
            .map(|field| FieldJson {
                name: field.field.name,
                kind: field.field.type_name,
                offset: field.field.offset,
                bytes: field.field.bytes,
                accesses: field.accesses,
                misses: field.misses,
                bytes_brought: field.brought,
                bytes_used: field.used,
            })
            .collect(),
    });
    objects.collect()
}
