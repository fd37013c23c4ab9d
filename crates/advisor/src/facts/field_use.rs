//! [`StructureUse`]: which fields of an object's elements are used while they are in the cache.

use reuselens_profile::{DataLayout, ElementUse, FieldUse, LayoutField};

use super::total;

/// Bytes of a piece of an element whose fields are not known.
const SLOT: u64 = 8;
/// Part of the names of the types in which nodes of the C++ library hold a value, whose fields are
/// not known: `__aligned_membuf<Order>`, `__aligned_buffer<std::pair<int const, Order>>`.
const BUFFER: &str = "__aligned_";
/// The least share of the used elements in which a field must be used not to be *cold*.
const COLD: f64 = 0.1;
/// The least share of what is brought in that later fills must make, so that they count without the
/// first touches. With less, the first touches are the program.
const LEAST_LATER: f64 = 0.3;

/// The share of a field's bytes that are used of those that are brought in; 0 of none.
fn used_share(field: &FieldUse) -> f64 {
    field.used_share().unwrap_or(0.0)
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
    /// The fields by offset, or pieces of 8 bytes where they are not known; padding is none.
    pub fields: Vec<FieldUse>,
    /// Misses of accesses to these elements; those to other elements of the object are left out,
    /// and so are those whose offset in an element is unknown.
    pub misses: u64,
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
            None => slots(elements, "", 0, elements.accesses.len() as u64),
        };
        let brought = total(elements.brought.iter().copied());
        let covered = total(fields.iter().map(|field| field.field.bytes));
        let element = elements.accesses.len() as u64;
        (brought > 0 && fields.len() > 1).then(|| StructureUse {
            object,
            element,
            type_name: layout.map(|layout| layout.name.as_str()),
            fields,
            misses: total(elements.misses.iter().copied()),
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

    /// The use without the first touches of `cold` bytes, if these used all fields and enough is
    /// left: one pass that initialises all fields says nothing about the passes after it.
    pub fn after_first_touches(&self, cold: u64) -> Option<StructureUse<'a>> {
        let elements = cold / self.element.max(1);
        let later = |field: &FieldUse| {
            let first = elements.saturating_mul(field.field.bytes);
            // Lines at the ends of a block have bytes of other data.
            let all = first - first / 16;
            (field.used >= all).then(|| FieldUse {
                brought: field.brought.saturating_sub(first),
                used: field.used.saturating_sub(first),
                ..field.clone()
            })
        };
        let fields: Option<Vec<FieldUse>> = self.fields.iter().map(later).collect();
        let brought = self.brought.saturating_sub(cold);
        let used = self.used.saturating_sub(cold);
        let is_enough = brought as f64 >= LEAST_LATER * self.brought as f64;
        (is_enough && used > 0).then_some(StructureUse {
            fields: fields?,
            brought,
            used,
            ..self.clone()
        })
    }

    /// How many fields are used of an element while it is in the cache, on average over all
    /// elements that are brought in.
    pub fn fields_at_a_time(&self) -> f64 {
        self.fields.iter().map(used_share).sum()
    }

    /// How many fields are used of an element that is used, by an estimate: of fields that are used
    /// together the first one misses; of those that are used one at a time each misses as often as
    /// it is used.
    pub fn fields_of_a_visit(&self) -> f64 {
        let used = self.fields.iter().map(used_share);
        let missing = self.fields.iter().map(|field| field.misses as f64);
        in_proportion(used) / in_proportion(missing)
    }

    /// The share of the elements brought in that are used: that of the field that is used most.
    pub fn visited(&self) -> f64 {
        self.fields.iter().map(used_share).fold(0.0, f64::max)
    }

    /// Whether a field is hardly ever used of the elements that are.
    pub fn is_cold(&self, field: &FieldUse) -> bool {
        used_share(field) < COLD * self.visited()
    }

    /// The type for people: `Entry`, `elements of 64 bytes`.
    pub fn name(&self) -> String {
        match self.type_name.filter(|name| !name.contains("(unnamed)")) {
            Some(name) => name.to_owned(),
            None => format!("elements of {} bytes", self.element),
        }
    }

    /// The field through which elements are linked, if the type has a pointer to itself, or to the
    /// type that it is derived from, that is used.
    pub fn link(&self) -> Option<&FieldUse> {
        let own = bare(self.type_name?);
        let is_link = |field: &&FieldUse| {
            let target = field.field.type_name.trim_end_matches(['*', ' ']);
            let is_pointer = field.field.type_name.ends_with('*');
            is_pointer && field.used > 0 && (bare(target) == own || is_base(target, own))
        };
        self.fields.iter().find(is_link)
    }
}

/// The sum in proportion to the largest: as many as there are if all are equal, 1 if one is all,
/// and 1 of nothing.
fn in_proportion(counts: impl Iterator<Item = f64>) -> f64 {
    let (sum, most) = counts.fold((0.0, 0.0_f64), |(sum, most), count| {
        (sum + count, most.max(count))
    });
    if most > 0.0 { sum / most } else { 1.0 }
}

/// Whether a type is the base of a node's type, by the names that the C++ libraries have:
/// `std::__detail::_List_node_base` of `std::_List_node<Order>`.
fn is_base(base: &str, node: &str) -> bool {
    let base = own_name(base).strip_suffix("_base");
    base.is_some_and(|base| base == own_name(node))
}

/// The name of a type without those of its namespaces and arguments.
fn own_name(name: &str) -> &str {
    let name = name.split('<').next().unwrap_or_default();
    name.rsplit("::").next().unwrap_or_default()
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
    let mut fields = Vec::new();
    for field in &layout.fields {
        if field.type_name.contains(BUFFER) && field.bytes > SLOT {
            let prefix = format!("{} ", field.name);
            fields.extend(slots(elements, &prefix, field.offset, field.bytes));
        } else {
            fields.push(piece(elements, field.clone()))
        }
    }
    fields
}

/// The bytes from `first` on in pieces of 8, named by their bytes after `prefix`.
fn slots(elements: &ElementUse, prefix: &str, first: u64, bytes: u64) -> Vec<FieldUse> {
    let starts = (0..bytes).step_by(SLOT as usize);
    let slots = starts.map(|start| {
        let end = (start + SLOT).min(bytes);
        LayoutField {
            name: format!("{prefix}bytes {start}–{}", end - 1),
            offset: first + start,
            bytes: end - start,
            ..LayoutField::default()
        }
    });
    slots.map(|slot| piece(elements, slot)).collect()
}

/// The use of a field, as far as it is within the element.
fn piece(elements: &ElementUse, field: LayoutField) -> FieldUse {
    let all = elements.accesses.len() as u64;
    let end = field.offset.saturating_add(field.bytes).min(all);
    let offset = field.offset.min(end);
    elements.field_use(LayoutField {
        offset,
        bytes: end - offset,
        ..field
    })
}
