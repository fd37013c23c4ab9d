//! The types of data by the instructions that access them.
//!
//! Debug information says which variables are pointers to structures, and in which registers and
//! stack slots they are at each instruction. [`flow`] follows these addresses through the code: a
//! pointer that is loaded from `p->next`, one that a loop advances, `&a[i]`. So the instruction
//! `mov 8(%rax),%rdx` accesses the field at offset 8 of the structure that `%rax` points to.
//!
//! A function is read once, when the first of its instructions is asked for.
//!
//! Programs that are compiled for tracing have no such types: their accesses are recorded with
//! other instructions than those that access memory.

mod facts;
mod flow;
mod pointer;
mod step;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gimli::UnitOffset;
use reuselens_attribute::AccessedType;
use reuselens_profile::DataLayout;

use super::code_sections::CodeSections;
use super::frames::Debug;
use super::layouts::{LayoutMemory, Layouts};
use super::variables::{Unit, address, attribute_of, declaration, for_each_entry, offset, ranges};
use crate::checked_file::CheckedFile;
use facts::{Facts, Statics, storage};
use flow::{Accessed, PointerAccess};

/// A function with more bytes of code is not read.
const MAX_CODE: u64 = 1 << 18;
/// Bytes of units that are walked over for a file at most: a few seconds.
const MAX_WALKED: usize = 256 << 20;

/// What the instructions of a file access.
pub(super) struct AccessTypes {
    code: CodeSections,
    /// By number of a unit, those that instructions were asked of.
    units: BTreeMap<usize, UnitAccesses>,
    /// Bytes of units that may still be walked over.
    left: usize,
}

/// What the instructions of a unit access.
#[derive(Default)]
struct UnitAccesses {
    /// Functions: first address, first address after, entry; in the order of the addresses.
    functions: Vec<(u64, u64, UnitOffset)>,
    /// The functions that were read.
    read: BTreeSet<UnitOffset>,
    statics: Statics,
    layouts: LayoutMemory,
    accessed: Accessed,
}

impl AccessTypes {
    /// Those of a file with code. `None` if it cannot be read, or is for another processor.
    pub fn of(file: CheckedFile) -> Option<AccessTypes> {
        Some(AccessTypes {
            code: CodeSections::of(file)?,
            units: BTreeMap::new(),
            left: MAX_WALKED,
        })
    }

    /// What the loads of an instruction are to; with `writes`, what its stores are to. `None` if
    /// that is not known.
    pub fn of_access(&mut self, debug: &Debug, address: u64, writes: bool) -> Option<AccessedType> {
        let number = debug.unit_at(address)?;
        let mut known = match self.units.remove(&number) {
            Some(known) => known,
            None => {
                let known = debug.with_unit(number, |unit| self.read_unit(unit));
                known.unwrap_or_default()
            }
        };
        let found = debug.with_unit(number, |unit| {
            self.read_function(unit, debug, &mut known, address);
            let access = known.accessed.get(&(address, writes)).copied()?;
            let mut layouts = Layouts::with(unit, std::mem::take(&mut known.layouts));
            let kind = access.pointer.kind;
            let (layout, has_tail) = (layouts.of_element(kind), layouts.has_tail(kind));
            known.layouts = layouts.into_memory();
            accessed_type(access, layout?, has_tail)
        });
        self.units.insert(number, known);
        found.flatten()
    }

    /// Finds the functions and the static variables of a unit.
    fn read_unit(&mut self, unit: Unit<'_>) -> UnitAccesses {
        let mut found = UnitAccesses::default();
        let Some(left) = self.left.checked_sub(unit.header.length_including_self()) else {
            return found;
        };
        self.left = left;
        // A part that cannot be read ends the walk: what was found stays.
        let _ = walk(unit, &mut found);
        found
            .functions
            .sort_unstable_by_key(|(low, high, _)| (*low, *high));
        found
    }

    /// Reads the function around an instruction, unless it was read.
    fn read_function(
        &self,
        unit: Unit<'_>,
        debug: &Debug,
        known: &mut UnitAccesses,
        address: u64,
    ) -> Option<()> {
        let after = known.functions.partition_point(|(low, ..)| *low <= address);
        let &(_, high, function) = known.functions[..after].last()?;
        if address >= high || !known.read.insert(function) {
            return None;
        }
        let mut layouts = Layouts::with(unit, std::mem::take(&mut known.layouts));
        let facts = Facts::of(unit, &mut layouts, debug.unwind(), function);
        let code: Option<Vec<(u64, Vec<u8>)>> = facts
            .code
            .iter()
            .map(|it| self.code.code(it, MAX_CODE))
            .collect();
        if let Some(code) = code {
            let found = flow::accessed(&mut layouts, &facts, &known.statics, &code);
            known.accessed.extend(found);
        }
        known.layouts = layouts.into_memory();
        Some(())
    }
}

/// Finds the functions and the static variables of a unit.
fn walk(unit: Unit<'_>, found: &mut UnitAccesses) -> gimli::Result<()> {
    let layouts = Layouts::new(unit);
    for_each_entry(unit, |place, _, abbreviation| {
        let has = |name| abbreviation.attributes().iter().any(|it| it.name() == name);
        match abbreviation.tag() {
            gimli::DW_TAG_subprogram if has(gimli::DW_AT_low_pc) || has(gimli::DW_AT_ranges) => {
                let entry = unit.entry(place)?;
                let code = ranges(unit, &entry).into_iter();
                found
                    .functions
                    .extend(code.map(|range| (range.start, range.end, place)));
            }
            gimli::DW_TAG_variable if has(gimli::DW_AT_location) => {
                let entry = unit.entry(place)?;
                let declared = declaration(unit, &entry);
                let kind = attribute_of(&entry, declared.as_ref(), gimli::DW_AT_type);
                let of_kind = |kind| storage(&layouts, kind);
                let storage = kind.and_then(offset).and_then(of_kind);
                found.statics.extend(address(unit, &entry).zip(storage));
            }
            _ => {}
        }
        Ok(())
    })
}

/// What an access by a pointer shows of the data. Nothing (`None`) if its address is outside the
/// data that the pointer is to: before them, as with a pointer to a member of larger data, or after
/// them, as with a pointer to a head that other data follow.
fn accessed_type(
    access: PointerAccess,
    layout: Arc<DataLayout>,
    has_tail: bool,
) -> Option<AccessedType> {
    let pointer = access.pointer;
    // Of an array of structures, the offset is one in the array.
    let all = i64::try_from(pointer.bytes).ok()?;
    let bytes = i64::try_from(layout.bytes).ok()?;
    let is_outside = |offset: i64| offset < 0 || offset >= all;
    if pointer.offset.is_some_and(is_outside) && !pointer.is_indexed {
        return None;
    }
    let within = pointer.offset.map(|offset| offset.rem_euclid(bytes));
    // Pointers to bytes are used for data of all types.
    (layout.bytes > 1).then_some(AccessedType {
        layout,
        offset: within.and_then(|within| u32::try_from(within).ok()),
        is_indexed: pointer.is_indexed,
        bytes: u32::try_from(access.bytes).unwrap_or(0),
        has_tail,
    })
}
