//! Types as DWARF describes them: their bytes, and their fields with those of nested structures.
//!
//! [`Layouts`] belongs to a unit of the debug information, and reads each type once. A field is a
//! range of bytes with the name that the source has for it:
//!
//! - A member that is a structure becomes its members, `position.x`, unless it is a type of a
//!   standard library: what is in a `std::string` is that library's business.
//! - Members of base classes and of anonymous members have no prefix.
//! - Members that share bytes (of unions, bit fields, variants of Rust's enumerations) become one
//!   field, `number/text`, so that each byte is in one field at most.
//! - A member that is an array is one field.
//!
//! Debug information is input: types may contain themselves, or nest as deep as they like. Each
//! unit has a budget in proportion to its bytes, and a type beyond it has no layout.
//!
//! Source: DWARF 5, sections 5.7 (structures, inheritance, variants), 5.12 and 5.5 (types).

mod flatten;
mod members;
mod pointers;
mod type_names;

use std::collections::BTreeMap;
use std::sync::Arc;

use gimli::UnitOffset;
use reuselens_profile::DataLayout;

use super::types::{self, is_structure};
use super::variables::{MAX_STEPS, Unit, offset};
use members::Member;
use type_names::Scopes;

/// What a unit may cost, by byte of its debug information: entries read, and bytes of names made.
const BUDGET_PER_BYTE: u64 = 64;

/// The layouts of the types of a unit.
pub(super) struct Layouts<'a> {
    unit: Unit<'a>,
    memory: LayoutMemory,
}

/// What was read of the types of a unit, to be kept while the unit is not.
#[derive(Default)]
pub(super) struct LayoutMemory {
    /// By the offset of a type: that of its element.
    known: BTreeMap<UnitOffset, Option<Arc<DataLayout>>>,
    /// The members of structures, as they are declared.
    members: BTreeMap<UnitOffset, Arc<[Member]>>,
    /// What structures are in: built where names need it.
    scopes: Option<Scopes>,
    /// What may still be spent, once something was; see [`BUDGET_PER_BYTE`].
    budget: Option<u64>,
}

impl<'a> Layouts<'a> {
    /// The layouts of a unit, of which none is read yet.
    pub fn new(unit: Unit<'a>) -> Self {
        Layouts::with(unit, LayoutMemory::default())
    }

    /// The layouts of a unit, of which these are read.
    pub fn with(unit: Unit<'a>, memory: LayoutMemory) -> Self {
        Layouts { unit, memory }
    }

    /// What was read.
    pub fn into_memory(self) -> LayoutMemory {
        self.memory
    }

    /// The layout of a type, or that of the innermost element if the type is an array. `None` if
    /// its size is unknown.
    pub fn of_element(&mut self, kind: UnitOffset) -> Option<Arc<DataLayout>> {
        if let Some(known) = self.memory.known.get(&kind) {
            return known.clone();
        }
        let layout = self.read(kind).map(Arc::new);
        self.memory.known.insert(kind, layout.clone());
        layout
    }

    fn read(&mut self, kind: UnitOffset) -> Option<DataLayout> {
        let (element, alias) = self.element(kind)?;
        let bytes = types::size(self.unit, element)?.bytes();
        if bytes == 0 {
            return None;
        }
        let name = match alias {
            Some(alias) => alias,
            None => self.type_name(element),
        };
        let fields = if self.is_structure(element) {
            self.fields(element, bytes)?
        } else {
            Vec::new()
        };
        Some(DataLayout {
            name,
            bytes,
            fields,
        })
    }

    /// The innermost element of a type, and the name that a typedef gives it.
    fn element(&mut self, kind: UnitOffset) -> Option<(UnitOffset, Option<String>)> {
        let (mut kind, mut alias) = (kind, None);
        for _ in 0..MAX_STEPS {
            let entry = self.unit.entry(kind).ok()?;
            match entry.tag() {
                gimli::DW_TAG_array_type => alias = None,
                gimli::DW_TAG_typedef => alias = alias.or_else(|| self.own_name(&entry)),
                tag if is_qualifier(tag) => {}
                _ => return Some((kind, alias)),
            }
            kind = offset(entry.attr_value(gimli::DW_AT_type)?)?;
        }
        None
    }

    /// Follows a type through its names and qualifiers.
    fn resolved(&self, kind: UnitOffset) -> Option<(UnitOffset, gimli::DwTag)> {
        let mut kind = kind;
        for _ in 0..MAX_STEPS {
            let entry = self.unit.entry(kind).ok()?;
            let tag = entry.tag();
            if tag != gimli::DW_TAG_typedef && !is_qualifier(tag) {
                return Some((kind, tag));
            }
            kind = offset(entry.attr_value(gimli::DW_AT_type)?)?;
        }
        None
    }

    fn is_structure(&self, kind: UnitOffset) -> bool {
        let entry = self.unit.entry(kind);
        entry.is_ok_and(|entry| is_structure(entry.tag()))
    }

    /// Takes a cost off the budget; `None` if that is spent.
    pub fn spend(&mut self, cost: usize) -> Option<()> {
        let bytes = || self.unit.header.length_including_self() as u64;
        let all = || bytes().saturating_mul(BUDGET_PER_BYTE);
        let left = self.memory.budget.get_or_insert_with(all);
        *left = left.checked_sub(cost as u64)?;
        Some(())
    }
}

/// Whether entries of this kind qualify a type and have no name.
fn is_qualifier(tag: gimli::DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_restrict_type
            | gimli::DW_TAG_atomic_type
    )
}
