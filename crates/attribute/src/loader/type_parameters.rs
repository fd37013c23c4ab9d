//! The types that generic functions are compiled for, as debug information has them.
//!
//! The symbol of `Vec::<Node>::push` has the type only where its mangling keeps type arguments.
//! rustc's legacy mangling (`_ZN…17h…E`) keeps the name of the parameter: what is left of it is
//! `alloc::vec::Vec<T>::push`. Debug information has what `T` stands for, whatever the mangling.
//!
//! Source: DWARF 5, sections 2.23 (template parameters) and 3.3.8 (inlined functions).

use std::collections::BTreeMap;
use std::ops::Range;

use gimli::{AttributeValue, DebugInfoOffset, UnitOffset};

use super::frames::Debug;
use super::symbol_names::demangled;
use super::variables::{Entry, MAX_STEPS, Unit, for_each_entry, ranges};

/// An entry of a file's debug information: the number of its unit, and its place there.
pub(super) type EntryPlace = (usize, UnitOffset);

/// The functions of a file with code, by unit, as far as units were asked for.
#[derive(Debug, Default)]
pub(super) struct TypeParameters {
    units: BTreeMap<usize, Vec<(Range<u64>, UnitOffset)>>,
}

impl TypeParameters {
    /// The type that a parameter of a generic function stands for. `frame` says which of the
    /// functions around the instruction it is: its number, from 0 for the innermost inlined one,
    /// and its name. `None` if debug information has another function there.
    ///
    /// Cost: one walk over the function that was compiled; for the first question about a unit, one
    /// over the unit, whose bytes are taken from `left`. `None` if that has less.
    pub fn find(
        &mut self,
        (debug, left): (&Debug, &mut usize),
        address: u64,
        frame: (usize, &str),
        parameter: &str,
    ) -> Option<EntryPlace> {
        let number = debug.unit_at(address)?;
        let mut list = || debug.with_unit(number, |unit| functions(unit, left));
        let known = self.units.entry(number);
        let known = known.or_insert_with(|| list().unwrap_or_default());
        let after = known.partition_point(|(code, _)| code.start <= address);
        let (code, function) = known[..after].last()?;
        let place = (number, *function);
        let around = debug.with_unit(number, |unit| around(unit, place.1, address))?;
        let wanted = *around.get(frame.0).filter(|_| code.contains(&address))?;
        generic(debug, (number, wanted), frame.1, parameter)
    }
}

/// The functions of a unit that have code, in the order of the addresses.
fn functions(unit: Unit<'_>, left: &mut usize) -> Vec<(Range<u64>, UnitOffset)> {
    let mut found = Vec::new();
    let Some(rest) = left.checked_sub(unit.header.length_including_self()) else {
        return found;
    };
    *left = rest;
    // A part that cannot be read ends the walk: what was found stays.
    let _ = for_each_entry(unit, |place, _, abbreviation| {
        let has = |name| abbreviation.attributes().iter().any(|it| it.name() == name);
        let has_code = has(gimli::DW_AT_low_pc) || has(gimli::DW_AT_ranges);
        if abbreviation.tag() == gimli::DW_TAG_subprogram && has_code {
            let code = ranges(unit, &unit.entry(place)?);
            found.extend(code.into_iter().map(|code| (code, place)));
        }
        Ok(())
    });
    found.sort_unstable_by_key(|(code, _)| (code.start, code.end));
    found
}

/// The functions that an instruction of a function is in: the innermost inlined one first, the
/// function itself last.
fn around(unit: Unit<'_>, function: UnitOffset, address: u64) -> Vec<UnitOffset> {
    let mut found = vec![function];
    let mut add = || -> gimli::Result<()> {
        let mut entries = unit.entries_at_offset(function)?;
        let mut depth = None;
        while let Some(entry) = entries.next_dfs()? {
            let first = *depth.get_or_insert(entry.depth());
            if entry.depth() <= first && entry.offset() != function {
                break;
            }
            let is_inlined = entry.tag() == gimli::DW_TAG_inlined_subroutine;
            if is_inlined && ranges(unit, entry).iter().any(|it| it.contains(&address)) {
                found.push(entry.offset());
            }
        }
        Ok(())
    };
    // A part that cannot be read ends the walk: the names of functions are then checked.
    let _ = add();
    found.reverse();
    found
}

/// What a parameter of a function stands for, if the function has this name.
fn generic(debug: &Debug, entry: EntryPlace, name: &str, parameter: &str) -> Option<EntryPlace> {
    let (mut own_name, mut found) = (None, None);
    let mut next = Some(entry);
    // From what is inlined to its function, and from there to its declaration.
    for _ in 0..MAX_STEPS {
        let Some((number, place)) = next else { break };
        let reference = debug.with_unit(number, |unit| {
            let entry = unit.entry(place).ok()?;
            own_name = own_name.take().or_else(|| linkage_name(unit, &entry));
            let kind = || Reference::of(&argument(unit, place, parameter)?, gimli::DW_AT_type);
            found = found.or_else(|| resolved(debug, number, kind()?));
            Reference::of(&entry, gimli::DW_AT_abstract_origin)
                .or_else(|| Reference::of(&entry, gimli::DW_AT_specification))
        });
        next = reference
            .flatten()
            .and_then(|reference| resolved(debug, number, reference));
    }
    found.filter(|_| own_name.is_some_and(|own| own == name))
}

/// The name of a function's symbol, demangled, if the entry itself has it.
fn linkage_name<'a>(unit: Unit<'a>, entry: &Entry<'a>) -> Option<String> {
    let names = [gimli::DW_AT_linkage_name, gimli::DW_AT_MIPS_linkage_name];
    let name = names.iter().find_map(|name| entry.attr_value(*name))?;
    let name = unit.attr_string(name).ok()?;
    Some(demangled(&name.to_string_lossy()))
}

/// The entry of a function's type parameter of this name.
fn argument<'a>(unit: Unit<'a>, function: UnitOffset, parameter: &str) -> Option<Entry<'a>> {
    let mut tree = unit.entries_tree(Some(function)).ok()?;
    let mut children = tree.root().ok()?.children();
    while let Some(child) = children.next().ok()? {
        let entry = child.entry();
        if entry.tag() != gimli::DW_TAG_template_type_parameter {
            continue;
        }
        let name = entry.attr_value(gimli::DW_AT_name);
        let name = name.and_then(|name| unit.attr_string(name).ok());
        if name.is_some_and(|name| name.to_string_lossy() == parameter) {
            return Some(entry.clone());
        }
    }
    None
}

/// A reference to another entry.
enum Reference {
    /// One of the same unit.
    Here(UnitOffset),
    /// One of any unit: link-time optimisation inlines functions of other units.
    Anywhere(DebugInfoOffset),
}

impl Reference {
    fn of(entry: &Entry<'_>, attribute: gimli::DwAt) -> Option<Reference> {
        match entry.attr_value(attribute)? {
            AttributeValue::UnitRef(place) => Some(Reference::Here(place)),
            AttributeValue::DebugInfoRef(place) => Some(Reference::Anywhere(place)),
            _ => None,
        }
    }
}

/// The entry that one of a unit refers to.
fn resolved(debug: &Debug, number: usize, reference: Reference) -> Option<EntryPlace> {
    match reference {
        Reference::Here(place) => Some((number, place)),
        Reference::Anywhere(place) => {
            let number = debug.unit_of(place)?;
            let place = debug.with_unit(number, |unit| place.to_unit_offset(&unit.header));
            Some((number, place.flatten()?))
        }
    }
}
