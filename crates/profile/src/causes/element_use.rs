//! [`ElementUse`]: which bytes of an object's elements are accessed, brought in, and used.

use serde::{Deserialize, Serialize};

use super::{Causes, TypeOrigin};

/// The offset of an access in its element, if that is unknown.
pub const NO_OFFSET: u32 = u32::MAX;

/// A field of a type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LayoutField {
    /// Its name; those of nested structures with their own: `position.x`.
    pub name: String,
    /// The name of its type.
    pub type_name: String,
    /// Offset of its first byte in the type.
    pub offset: u64,
    /// Its bytes.
    pub bytes: u64,
}

/// A type of data, as the debug information has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DataLayout {
    /// Its name: `Entry`, `double`.
    pub name: String,
    /// Its bytes, padding included.
    pub bytes: u64,
    /// Its fields by offset, without padding. Empty for types without fields.
    pub fields: Vec<LayoutField>,
}

impl DataLayout {
    /// The field that has the byte at an offset; `None` for padding, and beyond the type.
    pub fn field_at(&self, offset: u64) -> Option<&LayoutField> {
        let mut fields = self.fields.iter();
        fields.find(|it| it.offset <= offset && offset - it.offset < it.bytes)
    }
}

impl Causes {
    /// The type of an object's elements, and its field that has the byte at an offset of an
    /// element. `None` if no type is known, if the object has elements of several types (or of
    /// known and unknown ones) that are long enough for the offset, and for padding. Cost: linear
    /// in [`Causes::elements`].
    pub fn field(&self, object: u32, offset: u32) -> Option<(&DataLayout, &LayoutField)> {
        let offset = u64::from(offset);
        let elements = self.elements.iter().filter(|it| it.object == object);
        let mut fitting = elements.filter(|it| offset < it.accesses.len() as u64);
        let number = fitting.next()?.layout?;
        if fitting.any(|it| it.layout != Some(number)) {
            return None;
        }
        let layout = self.layouts.get(number as usize)?;
        Some((layout, layout.field_at(offset)?))
    }
}

/// Which bytes of an object's elements are accessed, brought in and used. All columns have an entry
/// for each byte of an element.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElementUse {
    /// Index into [`Profile::objects`](crate::Profile::objects).
    pub object: u32,
    /// Index into [`Causes::layouts`](super::Causes::layouts); `None` if the type is unknown, so
    /// that only offsets are.
    #[serde(default)]
    pub layout: Option<u32>,
    /// Where the type is from; `None` if it is unknown, and in profiles of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<TypeOrigin>,
    /// Accesses that begin at the byte.
    pub accesses: Vec<u64>,
    /// Of these, those that miss.
    pub misses: Vec<u64>,
    /// How often a fill brought the byte in. A line of several elements counts once for each, so
    /// that the sum is that of the bytes of the fills.
    pub brought: Vec<u64>,
    /// Of these, how often the byte was read or written during the fill.
    pub used: Vec<u64>,
}

impl ElementUse {
    /// The most bytes of an element whose bytes are counted.
    pub const MOST_BYTES: u64 = 1024;

    /// What it is of; elements of another size are other ones.
    pub fn key(&self) -> (u32, Option<u32>, usize) {
        (self.object, self.layout, self.accesses.len())
    }

    /// Makes it one of elements of so many bytes: several of them, if it has a multiple; the begin
    /// of one, if it has fewer. Else it stays.
    pub(super) fn resize(&mut self, bytes: usize) {
        let own = self.accesses.len();
        if bytes == 0 || own > bytes && !own.is_multiple_of(bytes) {
            return;
        }
        let columns = [
            &mut self.accesses,
            &mut self.misses,
            &mut self.brought,
            &mut self.used,
        ];
        for column in columns.into_iter().filter(|column| !column.is_empty()) {
            let mut of_element = vec![0_u64; bytes];
            for (at, count) in column.iter().enumerate() {
                let into = &mut of_element[at % bytes];
                *into = into.saturating_add(*count);
            }
            *column = of_element;
        }
    }

    /// Adds the counts of another with the same key. Sums beyond 64 bits saturate.
    pub fn merge(&mut self, other: &Self) {
        self.origin = match (self.origin, other.origin) {
            (Some(own), Some(other)) => Some(own.and(other)),
            (own, other) => own.or(other),
        };
        let columns = [
            (&mut self.accesses, &other.accesses),
            (&mut self.misses, &other.misses),
            (&mut self.brought, &other.brought),
            (&mut self.used, &other.used),
        ];
        for (into, other) in columns {
            for (into, other) in into.iter_mut().zip(other) {
                *into = into.saturating_add(*other);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(object: u32, layout: Option<u32>, bytes: usize) -> ElementUse {
        ElementUse {
            object,
            layout,
            accesses: vec![1; bytes],
            ..ElementUse::default()
        }
    }

    fn layout(name: &str, bytes: u64, fields: &[(&str, u64)]) -> DataLayout {
        let field = |&(name, offset): &(&str, u64)| LayoutField {
            name: name.into(),
            offset,
            bytes: 8,
            ..LayoutField::default()
        };
        DataLayout {
            name: name.into(),
            bytes,
            fields: fields.iter().map(field).collect(),
        }
    }

    #[test]
    fn field_of_an_object_with_several_types_is_not_guessed() {
        let causes = Causes {
            elements: vec![
                element(1, Some(0), 16),
                element(2, Some(0), 16),
                element(2, Some(1), 32),
                element(3, None, 16),
                element(3, Some(0), 16),
                element(4, None, 16),
            ],
            layouts: vec![
                layout("Small", 16, &[("left", 0)]),
                layout("Large", 32, &[("first", 0), ("last", 24)]),
            ],
            ..Causes::default()
        };
        let field = |object, offset| {
            let found = causes.field(object, offset);
            found.map(|(layout, field)| (layout.name.as_str(), field.name.as_str()))
        };
        assert_eq!(field(1, 7), Some(("Small", "left")));
        assert_eq!(field(1, 8), None, "padding");
        assert_eq!(field(1, 16), None, "beyond the type");
        assert_eq!(field(2, 0), None, "both types have a field there");
        assert_eq!(field(2, 24), Some(("Large", "last")));
        assert_eq!(field(3, 0), None, "one of the types is unknown");
        assert_eq!(field(4, 0), None, "no type is known");
        assert_eq!(field(5, 0), None, "no elements");
    }
}
