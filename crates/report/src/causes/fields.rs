//! The objects whose accesses are broken down by field, with the rows of their tables. Text, page
//! and JSON have them in common.

use reuselens_document::numbers::{count, percent};
use reuselens_document::{Table, TableColumn};
use reuselens_locality::total;
use reuselens_profile::{DataLayout, ElementUse, FieldUse, Object, Profile, TypeOrigin};

use super::lines;

/// The fields of an object.
pub(super) struct ObjectFields<'a> {
    pub object: &'a Object,
    /// Its type, if it is known.
    pub layout: Option<&'a DataLayout>,
    /// Where the type is from, if that is known.
    pub origin: Option<TypeOrigin>,
    /// Bytes of an element.
    pub bytes: u64,
    pub fields: Vec<FieldUse>,
    /// The remark that counts are estimates, with the rate of the sample; `None` if all lines were
    /// counted.
    pub estimates: Option<String>,
}

impl ObjectFields<'_> {
    /// Misses of all fields.
    pub fn misses(&self) -> u64 {
        total(self.fields.iter().map(|field| field.misses))
    }

    /// The share of the program's own accesses that show the type, if it is from these.
    pub fn shown_share(&self) -> Option<f64> {
        match self.origin {
            Some(TypeOrigin::Accesses { agree, all }) if all > 0 => Some(agree as f64 / all as f64),
            _ => None,
        }
    }

    /// What its elements are, and whether counts are estimates: `Entry, 48 bytes; estimates from a
    /// sample of 1.00 % of the lines`.
    pub fn described(&self) -> String {
        let element = self.element();
        match &self.estimates {
            Some(estimates) => format!("{element}; {estimates}"),
            None => element,
        }
    }

    /// What its elements are: `Entry, 48 bytes`; of a type that accesses show, with their share.
    fn element(&self) -> String {
        let unit = if self.bytes == 1 { "byte" } else { "bytes" };
        let name = match self.layout.map_or("", |layout| &layout.name) {
            "" => "unknown type",
            name if name.contains("(unnamed)") => "type without a name",
            name => name,
        };
        let element = format!("{name}, {} {unit}", self.bytes);
        match self.origin {
            Some(TypeOrigin::Accesses { agree, all }) => {
                let share = percent(agree, all);
                format!("{element}; type by {share} of the program's own accesses")
            }
            _ => element,
        }
    }

    /// These fields as a table.
    pub fn table<'f>(&self, fields: impl IntoIterator<Item = &'f FieldUse>) -> Table {
        let numbers = [
            "misses",
            "accesses",
            "bytes brought",
            "used",
            "offset",
            "bytes",
        ];
        let mut columns = TableColumn::all(&numbers, &[]);
        columns.push(TableColumn::words("field"));
        columns.push(TableColumn::words("type").on_pages_only());
        Table::new(columns, fields.into_iter().map(|field| self.cells(field)))
    }

    fn cells(&self, field: &FieldUse) -> Vec<String> {
        vec![
            count(field.misses),
            count(field.accesses),
            count(field.brought),
            match field.brought {
                0 => "-".to_owned(),
                brought => percent(field.used, brought),
            },
            field.field.offset.to_string(),
            field.field.bytes.to_string(),
            self.name(field).to_owned(),
            field.field.type_name.clone(),
        ]
    }

    /// The name of a row.
    fn name<'f>(&self, field: &'f FieldUse) -> &'f str {
        match (field.field.name.as_str(), self.layout) {
            ("", Some(layout)) if !layout.fields.is_empty() => "(padding)",
            ("", _) => "(no name)",
            (name, _) => name,
        }
    }
}

/// The explanation of the rows of objects of unknown type.
pub(super) const UNKNOWN_TYPE: &str = "The debug information has no type for these data, or there is none (compile with -g): rows are \
    ranges of bytes within a block, each from an offset where accesses begin to the next.";

/// An object is shown if it has at least one in this many of all misses: a C library has some
/// hundred structures.
const LEAST_SHARE: u64 = 100;

/// The objects whose accesses are broken down by field, the most misses first. Objects of which an
/// element is one number are left out, as they have no fields, and those of few misses.
pub(super) fn of(profile: &Profile) -> Vec<ObjectFields<'_>> {
    let Some(causes) = &profile.causes else {
        return Vec::new();
    };
    let object = |element: &'_ ElementUse| {
        let layout = element
            .layout
            .and_then(|number| causes.layouts.get(number as usize));
        let object = profile.objects.get(element.object as usize)?;
        Some(ObjectFields {
            object,
            layout,
            origin: element.origin,
            bytes: element.accesses.len() as u64,
            fields: element.by_field(layout),
            estimates: lines::estimates(causes),
        })
    };
    let all = causes.elements.iter().filter_map(object);
    let fills = total(profile.cells.iter().map(|cell| cell.causes.fills));
    let is_shown = |it: &ObjectFields<'_>| {
        it.fields.len() > 1 && it.misses().saturating_mul(LEAST_SHARE) >= fills
    };
    let mut all: Vec<ObjectFields<'_>> = all.filter(is_shown).collect();
    all.sort_by_key(|object| std::cmp::Reverse(object.misses()));
    all
}
