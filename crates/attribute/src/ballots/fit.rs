//! Whether an access is one that data of a type can have.

use std::ops::Range;

use reuselens_profile::{DataLayout, LayoutField};

use crate::known_names::is_library_type;
use crate::symbol_source::AccessedType;

/// What an access shows about data of a type. Accesses of the same instruction that begin in this
/// range of bytes show the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// The data have this type.
    Agrees(Range<u32>),
    /// The data may have this type, or another.
    Open(Range<u32>),
    /// The data do not have this type.
    Against(Range<u32>),
}

/// Whether an access at an offset of an element is one that elements of a type can have.
///
/// - An instruction that accesses a field of the same type must do so where the field is, and
///   access whole fields. With an index, an access elsewhere shows nothing: optimised code may add
///   a part of the offset to the index, so that the instruction has another one.
/// - One of another structure, such as a base class or a part, must access a field of the same
///   name, type and bytes.
/// - One of a number must find a number of that size there.
/// - Accesses to unions, arrays and types of libraries show nothing.
pub(super) fn fit(access: &AccessedType, layout: &DataLayout, at: u32) -> Fit {
    let here = field_at(layout, at);
    let range = match here {
        Some(field) => range(field),
        None => at..at + 1,
    };
    if is_same(&access.layout, layout) {
        return fit_of_same(access, layout, at);
    }
    // The first bytes of an element that is free are often a link to the next one.
    if at == 0 && is_link(access) {
        return Fit::Open(0..1);
    }
    let Some(here) = here else {
        return Fit::Against(range);
    };
    let inner = u64::from(at) - here.offset;
    let bytes = access.layout.bytes;
    if access.layout.fields.is_empty() {
        let is_number = here.bytes == bytes && inner == 0;
        return if is_number || is_opaque(here) {
            Fit::Open(range)
        } else {
            Fit::Against(range)
        };
    }
    let Some(offset) = access.offset else {
        return Fit::Open(0..layout.bytes as u32);
    };
    match field_at(&access.layout, offset) {
        None => Fit::Open(range),
        Some(there) => {
            let is_there = u64::from(offset) - there.offset == inner && there.bytes == here.bytes;
            let is_alike = there.type_name == here.type_name
                && last_part(&there.name) == last_part(&here.name);
            match (is_there && is_alike, is_opaque(here)) {
                (true, _) if is_whole(access, layout, at) => Fit::Agrees(at..at + 1),
                (true, _) => Fit::Open(at..at + 1),
                (_, true) => Fit::Open(range),
                _ => Fit::Against(range),
            }
        }
    }
}

/// [`fit`] of an access to the same type.
fn fit_of_same(access: &AccessedType, layout: &DataLayout, at: u32) -> Fit {
    let all = 0..layout.bytes as u32;
    let Some(offset) = access.offset else {
        return Fit::Open(all);
    };
    if at == offset {
        return if is_whole(access, layout, at) {
            Fit::Agrees(at..at + 1)
        } else {
            Fit::Open(at..at + 1)
        };
    }
    let here = field_at(layout, at);
    let is_inner = here.is_some_and(|here| field_at(layout, offset) == Some(here));
    if !access.is_indexed && !is_inner {
        return Fit::Against(here.map_or(at..at + 1, range));
    }
    if has_one_place(access, layout) {
        return Fit::Open(at..at + 1);
    }
    let around = match here.filter(|_| !access.is_indexed) {
        Some(here) => range(here),
        None => all,
    };
    // All but the one place that agrees.
    Fit::Open(if at < offset {
        around.start..offset
    } else {
        offset + 1..around.end
    })
}

/// Whether an access by an index to elements of a type is at the same offset of each element. It is
/// not if it may be to an array within an element.
pub(super) fn has_one_place(access: &AccessedType, layout: &DataLayout) -> bool {
    let field = access.offset.and_then(|offset| field_at(layout, offset));
    let is_single = field.is_some_and(|field| !is_opaque(field));
    access.is_indexed && is_single && is_same(&access.layout, layout)
}

/// Whether two bytes of an element are in one array: an index may hide where that begins.
pub(super) fn are_in_one_array(layout: &DataLayout, one: u32, other: u32) -> bool {
    let field = field_at(layout, one).filter(|field| is_opaque(field));
    field.is_some() && field == field_at(layout, other)
}

/// Whether an access to a field of a type is to whole fields, or within one that may hold several
/// data.
fn is_whole(access: &AccessedType, layout: &DataLayout, at: u32) -> bool {
    let Some(first) = field_at(layout, at) else {
        return false;
    };
    let (begin, end) = (u64::from(at), u64::from(at) + u64::from(access.bytes));
    let is_part = is_opaque(first) && end <= first.offset + first.bytes;
    let is_border = |field: &LayoutField| field.offset == end || field.offset + field.bytes == end;
    let ends = end == layout.bytes || layout.fields.iter().any(is_border);
    access.bytes == 0 || is_part || first.offset == begin && ends
}

/// Whether a type begins with all the fields of another: a class and its base.
pub(super) fn extends(layout: &DataLayout, base: &DataLayout) -> bool {
    let has_more = layout.fields.len() > base.fields.len();
    let is_field = |field: &LayoutField| {
        let same = layout.fields.iter().find(|it| it.offset == field.offset);
        same.is_some_and(|same| {
            let is_alike = last_part(&same.name) == last_part(&field.name);
            same.bytes == field.bytes && is_alike && same.type_name == field.type_name
        })
    };
    has_more && base.fields.iter().all(is_field)
}

/// Whether two layouts describe one type: typedefs give one type several names, and elements may
/// be further apart than the type has bytes.
pub(super) fn is_same(one: &DataLayout, other: &DataLayout) -> bool {
    let is_number = one.fields.is_empty();
    one.fields == other.fields && (one.bytes == other.bytes || !is_number)
}

/// The field that a byte of a type is in; `None` for padding.
fn field_at(layout: &DataLayout, at: u32) -> Option<&LayoutField> {
    let at = u64::from(at);
    let after = layout.fields.partition_point(|field| field.offset <= at);
    let field = layout.fields[..after].last()?;
    (at - field.offset < field.bytes).then_some(field)
}

fn range(field: &LayoutField) -> Range<u32> {
    field.offset as u32..(field.offset + field.bytes) as u32
}

/// Whether a field may hold data of several types: a union, an array, a type of a library.
fn is_opaque(field: &LayoutField) -> bool {
    field.bytes > 8 || field.type_name.contains(['[', '/']) || is_library_type(&field.type_name)
}

/// Whether an access is to a pointer alone.
pub(super) fn is_link(access: &AccessedType) -> bool {
    let layout = &access.layout;
    let is_pointer = match &*layout.fields {
        [] => layout.name.ends_with('*'),
        [field] => field.type_name.ends_with('*'),
        _ => false,
    };
    is_pointer && layout.bytes == 8 && access.offset == Some(0)
}

/// The last part of a field's name: `x` of `position.x`.
fn last_part(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn layout(name: &str, bytes: u64, fields: &[(&str, &str, u64, u64)]) -> DataLayout {
        let field = |&(name, kind, offset, bytes): &(&str, &str, u64, u64)| LayoutField {
            name: name.into(),
            type_name: kind.into(),
            offset,
            bytes,
        };
        DataLayout {
            name: name.into(),
            bytes,
            fields: fields.iter().map(field).collect(),
        }
    }

    fn node() -> DataLayout {
        let fields = [
            ("kind", "int", 0, 4),
            ("next", "node*", 8, 8),
            ("text", "char[16]", 16, 16),
            ("at.x", "double", 32, 8),
        ];
        layout("node", 40, &fields)
    }

    fn at(layout: DataLayout, offset: Option<u32>) -> AccessedType {
        let layout = Arc::new(layout);
        AccessedType {
            layout,
            offset,
            is_indexed: false,
            bytes: 0,
            has_tail: false,
        }
    }

    #[test]
    fn a_field_is_where_its_type_says() {
        assert_eq!(fit(&at(node(), Some(8)), &node(), 8), Fit::Agrees(8..9));
        assert_eq!(fit(&at(node(), Some(8)), &node(), 0), Fit::Against(0..4));
        assert_eq!(fit(&at(node(), Some(16)), &node(), 21), Fit::Open(17..32));
        assert_eq!(fit(&at(node(), Some(22)), &node(), 21), Fit::Open(16..22));
        assert_eq!(fit(&at(node(), None), &node(), 21), Fit::Open(0..40));
    }

    #[test]
    fn accesses_to_parts_of_numbers_say_nothing() {
        let of = |offset, bytes| AccessedType {
            bytes,
            ..at(node(), Some(offset))
        };
        for (offset, bytes) in [(0, 4), (0, 8), (8, 8), (8, 24), (20, 1), (32, 8)] {
            let found = fit(&of(offset, bytes), &node(), offset);
            assert_eq!(found, Fit::Agrees(offset..offset + 1), "{offset} {bytes}");
        }
        for (offset, bytes) in [(0, 2), (8, 4), (12, 4), (28, 8), (4, 4), (32, 16)] {
            let found = fit(&of(offset, bytes), &node(), offset);
            assert_eq!(found, Fit::Open(offset..offset + 1), "{offset} {bytes}");
        }
    }

    #[test]
    fn an_index_may_go_with_a_constant() {
        let indexed = AccessedType {
            is_indexed: true,
            ..at(node(), Some(8))
        };
        assert_eq!(fit(&indexed, &node(), 8), Fit::Agrees(8..9));
        assert_eq!(fit(&indexed, &node(), 0), Fit::Open(0..1));
        assert_eq!(fit(&indexed, &node(), 34), Fit::Open(34..35));
        let array = AccessedType {
            offset: Some(20),
            ..indexed
        };
        assert_eq!(fit(&array, &node(), 34), Fit::Open(21..40));
    }

    #[test]
    fn parts_have_the_fields_that_the_whole_has() {
        let point = layout("point", 8, &[("x", "double", 0, 8)]);
        assert_eq!(
            fit(&at(point.clone(), Some(0)), &node(), 32),
            Fit::Agrees(32..33)
        );
        assert_eq!(fit(&at(point, Some(0)), &node(), 8), Fit::Against(8..16));
        let base = layout(
            "base",
            16,
            &[("kind", "int", 0, 4), ("next", "node*", 8, 8)],
        );
        assert!(extends(&node(), &base) && !extends(&base, &node()));
    }

    /// A constructor accesses what a type of a library is made of.
    #[test]
    fn accesses_to_parts_of_library_types_say_nothing() {
        let owner = |kind| layout("person", 16, &[("id", "long", 0, 8), ("boss", kind, 8, 8)]);
        let part = layout("_Head_base", 8, &[("_M_head_impl", "int*", 0, 8)]);
        let of_library = owner("std::unique_ptr<int>");
        assert_eq!(
            fit(&at(part.clone(), Some(0)), &of_library, 8),
            Fit::Open(8..16)
        );
        assert_eq!(
            fit(&at(part, Some(0)), &owner("handle"), 8),
            Fit::Against(8..16)
        );
    }

    #[test]
    fn numbers_are_where_numbers_of_their_size_are() {
        let number = |bytes| at(layout("number", bytes, &[]), Some(0));
        assert_eq!(fit(&number(4), &node(), 0), Fit::Open(0..4));
        assert_eq!(fit(&number(8), &node(), 0), Fit::Against(0..4));
        assert_eq!(fit(&number(4), &node(), 4), Fit::Against(4..5), "padding");
        assert_eq!(
            fit(&number(8), &node(), 20),
            Fit::Open(16..32),
            "an array of bytes"
        );
    }

    #[test]
    fn a_link_between_free_elements_says_nothing() {
        let link = layout("link", 8, &[("next", "link*", 0, 8)]);
        assert_eq!(fit(&at(link.clone(), Some(0)), &node(), 0), Fit::Open(0..1));
        assert_eq!(fit(&at(link, Some(0)), &node(), 32), Fit::Against(32..40));
    }
}
