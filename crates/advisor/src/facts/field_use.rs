//! [`StructureUse`]: which fields of an object's elements are used while they are in the cache.

use reuselens_locality::{DataLayout, ElementUse};

use super::total;

/// Bytes of a piece of an element whose fields are not known.
const SLOT: usize = 8;
/// The least share of what is brought in that a field must be used of not to be *cold*.
const COLD: f64 = 0.1;

/// A field of an object's elements, or 8 bytes of them where fields are not known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FieldUse {
    /// `key`; `bytes 16–23` where fields are not known.
    pub name: String,
    /// The name of its type; empty where that is not known.
    pub type_name: String,
    /// Its bytes.
    pub bytes: u64,
    /// Accesses that begin in it.
    pub accesses: u64,
    /// Bytes of it that fills brought in.
    pub brought: u64,
    /// Of these, bytes that were used during the fill.
    pub used: u64,
}

impl FieldUse {
    /// The share of its bytes that are used of those that are brought in; 0 of none.
    pub fn share(&self) -> f64 {
        match self.brought {
            0 => 0.0,
            brought => self.used as f64 / brought as f64,
        }
    }

    /// Whether it is hardly ever used while it is in the cache.
    pub fn is_cold(&self) -> bool {
        self.share() < COLD
    }
}

/// How the elements of an object are used.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StructureUse<'a> {
    /// The object.
    pub object: u32,
    /// Bytes of an element, padding included.
    pub element: u64,
    /// The name of the type, if it is known.
    pub type_name: Option<&'a str>,
    /// The fields by offset; padding is none.
    pub fields: Vec<FieldUse>,
    /// Bytes that fills brought in, those of padding included.
    pub brought: u64,
    /// Of these, bytes that were used during the fill.
    pub used: u64,
    /// Bytes of padding in an element; 0 where fields are not known.
    pub padding: u64,
}

impl<'a> StructureUse<'a> {
    /// The use of an object's elements, by field. `None` if nothing was brought in, and for
    /// elements of one field: they are no structures.
    pub fn new(object: u32, elements: &ElementUse, layout: Option<&'a DataLayout>) -> Option<Self> {
        let layout = layout.filter(|layout| !layout.fields.is_empty());
        let fields = match layout {
            Some(layout) => named(elements, layout),
            None => slots(elements),
        };
        let brought = total(elements.brought.iter().copied());
        let covered = total(fields.iter().map(|field| field.bytes));
        let element = elements.accesses.len() as u64;
        (brought > 0 && fields.len() > 1).then(|| StructureUse {
            object,
            element,
            type_name: layout.map(|layout| layout.name.as_str()),
            fields,
            brought,
            used: total(elements.used.iter().copied()),
            padding: match layout {
                Some(_) => element.saturating_sub(covered),
                None => 0,
            },
        })
    }

    /// The share of the bytes brought in that are used, from 0 to 1.
    pub fn utilisation(&self) -> f64 {
        self.used as f64 / self.brought as f64
    }

    /// How many fields are used of an element while it is in the cache, on average.
    pub fn fields_at_a_time(&self) -> f64 {
        self.fields.iter().map(FieldUse::share).sum()
    }

    /// The type for people: `Entry`, `elements of 64 bytes`.
    pub fn name(&self) -> String {
        match self.type_name {
            Some(name) => name.to_owned(),
            None => format!("elements of {} bytes", self.element),
        }
    }

    /// The field through which elements are linked, if the type has a pointer to itself that is
    /// used.
    pub fn link(&self) -> Option<&FieldUse> {
        let own = bare(self.type_name?);
        let is_link = |field: &&FieldUse| {
            let target = field.type_name.trim_end_matches(['*', ' ']);
            let is_pointer = field.type_name.ends_with('*');
            is_pointer && field.used > 0 && bare(target) == own
        };
        self.fields.iter().find(is_link)
    }
}

/// The name of a type without the words around it.
fn bare(name: &str) -> &str {
    let words = ["const ", "volatile ", "struct ", "class ", "union "];
    let strip = |name: &str| {
        words
            .iter()
            .find_map(|word| name.strip_prefix(word).map(str::len))
    };
    let mut name = name.trim();
    while let Some(rest) = strip(name) {
        name = &name[name.len() - rest..];
    }
    name
}

fn named(elements: &ElementUse, layout: &DataLayout) -> Vec<FieldUse> {
    let fields = layout.fields.iter();
    fields
        .map(|field| {
            let (start, bytes) = (field.offset as usize, field.bytes as usize);
            FieldUse {
                name: field.name.clone(),
                type_name: field.type_name.clone(),
                ..piece(elements, start, bytes)
            }
        })
        .collect()
}

fn slots(elements: &ElementUse) -> Vec<FieldUse> {
    let starts = (0..elements.accesses.len()).step_by(SLOT);
    starts.map(|start| piece(elements, start, SLOT)).collect()
}

/// The use of some bytes of an element.
fn piece(elements: &ElementUse, start: usize, bytes: usize) -> FieldUse {
    let end = start.saturating_add(bytes).min(elements.accesses.len());
    let start = start.min(end);
    let sum = |column: &[u64]| total(column.get(start..end).unwrap_or_default().iter().copied());
    FieldUse {
        name: format!("bytes {start}–{}", end.saturating_sub(1)),
        type_name: String::new(),
        bytes: (end - start) as u64,
        accesses: sum(&elements.accesses),
        brought: sum(&elements.brought),
        used: sum(&elements.used),
    }
}
