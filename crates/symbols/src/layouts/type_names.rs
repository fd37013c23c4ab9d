//! Names of types, as the source has them.

use gimli::UnitOffset;

use super::{Layouts, is_qualifier, is_structure, types};
use crate::exact_names;
use crate::variables::{Entry, MAX_STEPS, Unit, for_each_entry, offset};

/// Bytes of a name that are kept.
const MAX_NAME: usize = 256;
/// Namespaces and types that a name begins with at most.
const MAX_SCOPES: usize = 8;

/// What the types of a unit are declared in: namespaces, and other types.
pub(super) struct Scopes {
    /// Each by its offset, ascending, with the index of the one around.
    list: Vec<(UnitOffset, Option<u32>)>,
}

impl Scopes {
    /// The namespaces and types of a unit, as far as it can be read.
    fn of(unit: Unit<'_>) -> Scopes {
        let mut scopes = Scopes { list: Vec::new() };
        let _ = scopes.read(unit);
        scopes
    }

    fn read(&mut self, unit: Unit<'_>) -> gimli::Result<()> {
        // Depth and index of the entries around, the innermost last.
        let mut around: Vec<(isize, u32)> = Vec::new();
        for_each_entry(unit, |place, depth, abbreviation| {
            while around.pop_if(|(outer, _)| *outer >= depth).is_some() {}
            let tag = abbreviation.tag();
            let is_named = is_structure(tag) || tag == gimli::DW_TAG_enumeration_type;
            if is_named || tag == gimli::DW_TAG_namespace {
                let outer = around.last().map(|(_, index)| *index);
                around.push((depth, self.list.len() as u32));
                self.list.push((place, outer));
            }
            Ok(())
        })
    }

    /// What a type is declared in, innermost first.
    fn around(&self, kind: UnitOffset) -> impl Iterator<Item = UnitOffset> {
        let outer = |index: usize| self.list[index].1.map(|outer| outer as usize);
        let found = self.list.binary_search_by_key(&kind, |(place, _)| *place);
        let first = found.ok().and_then(outer);
        let all = std::iter::successors(first, move |index| outer(*index));
        all.take(MAX_SCOPES).map(|index| self.list[index].0)
    }
}

impl<'a> Layouts<'a> {
    /// The name that an entry has, without what is around it.
    pub(super) fn own_name(&self, entry: &Entry<'a>) -> Option<String> {
        let mut name = exact_names::own_name(self.unit, entry)?;
        if name.len() > MAX_NAME {
            let end = (0..=MAX_NAME).rev().find(|at| name.is_char_boundary(*at));
            name.truncate(end.unwrap_or(0));
        }
        Some(name)
    }

    /// The name of a type: `grid::Cell`, `Node*`, `int[16]`. Qualifiers are left out, as they do
    /// not change its bytes.
    pub(super) fn type_name(&mut self, kind: UnitOffset) -> String {
        let mut kind = kind;
        // What follows the name, the last part first.
        let mut after: Vec<String> = Vec::new();
        for _ in 0..MAX_STEPS {
            let Ok(entry) = self.unit.entry(kind) else {
                break;
            };
            let tag = entry.tag();
            let suffix = match tag {
                gimli::DW_TAG_pointer_type => "*".to_owned(),
                gimli::DW_TAG_reference_type => "&".to_owned(),
                gimli::DW_TAG_rvalue_reference_type => "&&".to_owned(),
                gimli::DW_TAG_array_type => match types::elements(self.unit, kind) {
                    Some(elements) => format!("[{elements}]"),
                    None => "[]".to_owned(),
                },
                gimli::DW_TAG_subroutine_type => return ended("function", &after),
                tag if is_qualifier(tag) => String::new(),
                _ => return ended(&self.qualified(kind, &entry), &after),
            };
            // Rust names its pointers.
            if let Some(name) = self.own_name(&entry).filter(|_| suffix == "*") {
                return ended(&name, &after);
            }
            after.push(suffix);
            match entry.attr_value(gimli::DW_AT_type).and_then(offset) {
                Some(next) => kind = next,
                None => return ended("void", &after),
            }
        }
        ended("(unknown)", &after)
    }

    /// The name of a type that has one of its own, with the namespaces around.
    fn qualified(&mut self, kind: UnitOffset, entry: &Entry<'a>) -> String {
        let Some(name) = self.own_name(entry) else {
            return match entry.tag() {
                gimli::DW_TAG_string_type => "character".to_owned(),
                _ => "(unnamed)".to_owned(),
            };
        };
        let is_scoped = is_structure(entry.tag()) || entry.tag() == gimli::DW_TAG_enumeration_type;
        if !is_scoped || !types::has_namespaces(self.unit) {
            return name;
        }
        let scopes = self
            .memory
            .scopes
            .get_or_insert_with(|| Scopes::of(self.unit));
        let around: Vec<UnitOffset> = scopes.around(kind).collect();
        around.into_iter().fold(name, |name, scope| {
            let scope = self.unit.entry(scope).ok();
            match scope.and_then(|scope| self.own_name(&scope)) {
                Some(scope) => format!("{scope}::{name}"),
                None => name,
            }
        })
    }
}

/// A name with its suffixes, of which the last comes first in `after`.
fn ended(name: &str, after: &[String]) -> String {
    let after: Vec<&str> = after.iter().rev().map(String::as_str).collect();
    format!("{name}{}", after.concat())
}
