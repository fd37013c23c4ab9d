//! [`ElementUse`]: which bytes of an object's elements are accessed, brought in, and used.

use serde::{Deserialize, Serialize};

use super::TypeOrigin;

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
