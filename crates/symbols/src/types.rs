//! The sizes of types by DWARF, and what depends on the language of a unit.

use gimli::{AttributeValue, UnitOffset};

use super::source_frames::FORTRAN;
use super::variables::{MAX_STEPS, Unit, offset};

/// The size of a type, as far as it matters for variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    /// Bytes of an array that has them whenever the program runs.
    Array(u64),
    /// Bytes of a structure, a class or a union.
    Structure(u64),
    /// A number, a pointer, a vector of the processor.
    Single(u64),
}

impl Size {
    /// The bytes, whatever has them.
    pub(super) fn bytes(self) -> u64 {
        match self {
            Size::Array(bytes) | Size::Structure(bytes) | Size::Single(bytes) => bytes,
        }
    }
}

/// The size of a type, if it is fixed.
pub(super) fn size(unit: Unit<'_>, kind: UnitOffset) -> Option<Size> {
    size_within(unit, kind, MAX_STEPS)
}

fn size_within(unit: Unit<'_>, kind: UnitOffset, steps: usize) -> Option<Size> {
    let steps = steps.checked_sub(1)?;
    let entry = unit.entry(kind).ok()?;
    let of = |name| entry.attr_value(name);
    let bytes = of(gimli::DW_AT_byte_size).and_then(|value| value.udata_value());
    match entry.tag() {
        gimli::DW_TAG_typedef
        | gimli::DW_TAG_const_type
        | gimli::DW_TAG_volatile_type
        | gimli::DW_TAG_restrict_type
        | gimli::DW_TAG_atomic_type => size_within(unit, offset(of(gimli::DW_AT_type)?)?, steps),
        gimli::DW_TAG_array_type => {
            let elsewhere = [gimli::DW_AT_data_location, gimli::DW_AT_byte_stride];
            if elsewhere.into_iter().any(|name| of(name).is_some()) {
                return None;
            }
            let one = size_within(unit, offset(of(gimli::DW_AT_type)?)?, steps)?;
            let bytes = bytes.or_else(|| one.bytes().checked_mul(elements(unit, kind)?))?;
            let is_vector = of(gimli::DW_AT_GNU_vector).is_some();
            Some(if is_vector {
                Size::Single(bytes)
            } else {
                Size::Array(bytes)
            })
        }
        tag if is_structure(tag) => bytes.map(Size::Structure),
        gimli::DW_TAG_pointer_type
        | gimli::DW_TAG_reference_type
        | gimli::DW_TAG_rvalue_reference_type => {
            let pointer = u64::from(unit.encoding().address_size);
            Some(Size::Single(bytes.unwrap_or(pointer)))
        }
        _ => bytes.map(Size::Single),
    }
}

/// The elements of an array in all its dimensions.
pub(super) fn elements(unit: Unit<'_>, array: UnitOffset) -> Option<u64> {
    let mut tree = unit.entries_tree(Some(array)).ok()?;
    let mut dimensions = tree.root().ok()?.children();
    let mut all: Option<u64> = None;
    while let Some(dimension) = dimensions.next().ok()? {
        let entry = dimension.entry();
        let number = |name| entry.attr_value(name).map(|value| signed(&value));
        let count = match (number(gimli::DW_AT_count), number(gimli::DW_AT_upper_bound)) {
            (Some(count), _) => count?,
            (None, Some(upper)) => {
                let default = || language(unit).and_then(|language| language.default_lower_bound());
                let lower = match number(gimli::DW_AT_lower_bound) {
                    Some(lower) => lower?,
                    None => default().unwrap_or(0) as i64,
                };
                upper?.checked_sub(lower)?.checked_add(1)?
            }
            (None, None) => return None,
        };
        all = Some(all.unwrap_or(1).checked_mul(u64::try_from(count).ok()?)?);
    }
    all
}

/// A number that does not depend on the run.
fn signed<R: gimli::Reader>(value: &AttributeValue<R>) -> Option<i64> {
    value
        .sdata_value()
        .or_else(|| i64::try_from(value.udata_value()?).ok())
}

/// Whether entries of this kind have members: structures, classes and unions.
pub(super) fn is_structure(tag: gimli::DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type
    )
}

/// Whether a unit is written in Fortran.
pub(super) fn is_fortran(unit: Unit<'_>) -> bool {
    language(unit).is_some_and(|language| FORTRAN.contains(&language))
}

/// Whether a unit is written in a language with namespaces.
pub(super) fn has_namespaces(unit: Unit<'_>) -> bool {
    const WITHOUT: [gimli::DwLang; 5] = [
        gimli::DW_LANG_C,
        gimli::DW_LANG_C89,
        gimli::DW_LANG_C99,
        gimli::DW_LANG_C11,
        gimli::DW_LANG_C17,
    ];
    language(unit).is_none_or(|language| !WITHOUT.contains(&language)) && !is_fortran(unit)
}

/// Whether a unit is written in C++.
pub(super) fn is_cpp(unit: Unit<'_>) -> bool {
    const VERSIONS: [gimli::DwLang; 6] = [
        gimli::DW_LANG_C_plus_plus,
        gimli::DW_LANG_C_plus_plus_03,
        gimli::DW_LANG_C_plus_plus_11,
        gimli::DW_LANG_C_plus_plus_14,
        gimli::DW_LANG_C_plus_plus_17,
        gimli::DW_LANG_C_plus_plus_20,
    ];
    language(unit).is_some_and(|language| VERSIONS.contains(&language))
}

/// The language that a unit is written in.
fn language(unit: Unit<'_>) -> Option<gimli::DwLang> {
    let mut entries = unit.entries();
    let root = entries.next_dfs().ok()??;
    match root.attr_value(gimli::DW_AT_language)? {
        AttributeValue::Language(language) => Some(language),
        _ => None,
    }
}
