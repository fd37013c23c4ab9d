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

use super::exact_names::{self, own_name};
use super::frames::Debug;
use super::symbol_names::demangled;
use super::types::is_structure;
use super::variables::{Entry, MAX_STEPS, Unit, for_each_entry, ranges};

/// An entry of a file's debug information: the number of its unit, and its place there.
pub(super) type EntryPlace = (usize, UnitOffset);

/// Stands for no entry around another.
const NONE: u32 = u32::MAX;

/// What declares names: a function, a class, a namespace.
#[derive(Clone, Copy, Debug)]
struct NameScope {
    /// Its offset in its unit.
    place: u32,
    /// The index of the one around it.
    around: u32,
    tag: gimli::DwTag,
}

/// The functions of a unit, and what they are declared in.
#[derive(Debug, Default)]
struct UnitFunctions {
    /// Those with code, in the order of the addresses.
    code: Vec<(Range<u64>, UnitOffset)>,
    /// In the order of the offsets.
    scopes: Vec<NameScope>,
}

impl UnitFunctions {
    /// The index of a scope.
    fn find(&self, place: UnitOffset) -> Option<usize> {
        let place = u32::try_from(place.0).ok()?;
        let found = self.scopes.binary_search_by_key(&place, |it| it.place);
        found.ok()
    }

    /// The scope around another.
    fn around(&self, index: usize) -> Option<usize> {
        let outer = self.scopes[index].around;
        (outer != NONE).then_some(outer as usize)
    }
}

/// The functions of a file, by unit, as far as units were asked for.
#[derive(Debug, Default)]
pub(super) struct TypeParameters {
    units: BTreeMap<usize, UnitFunctions>,
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
        walk: (&Debug, &mut usize),
        address: u64,
        frame: (usize, &str),
        parameter: &str,
    ) -> Option<EntryPlace> {
        let debug = walk.0;
        let (function, _) = self.function(walk, address, frame.0)?;
        generic(debug, function, frame.1, parameter)
    }

    /// The entry of the function that a frame is of: as for [`TypeParameters::find`]. `None` within
    /// if the code is that of another function as well, or if debug information has another there.
    pub fn function_of_frame(
        &mut self,
        walk: (&Debug, &mut usize),
        address: u64,
        frame: (usize, &str),
    ) -> Option<Option<EntryPlace>> {
        let debug = walk.0;
        let (function, is_only) = self.function(walk, address, frame.0)?;
        let is_it = is_only
            && own_names(debug, function)
                .iter()
                .any(|name| name == frame.1);
        Some(is_it.then_some(function))
    }

    /// The entry of a function around an instruction, and whether its code is of no other.
    fn function(
        &mut self,
        walk: (&Debug, &mut usize),
        address: u64,
        frame: usize,
    ) -> Option<(EntryPlace, bool)> {
        let debug = walk.0;
        let number = debug.unit_at(address)?;
        let known = &self.unit(walk, number).code;
        let after = known.partition_point(|(code, _)| code.start <= address);
        let (code, function) = known[..after].last()?;
        // Parts of a function that rarely run are elsewhere.
        let mut parts = known.iter().filter(|(_, other)| other == function);
        let others = known[..after - 1].iter().rev();
        let mut others = others.take_while(|(other, _)| other.start == code.start);
        let is_only = others.all(|(_, other)| other == function)
            && parts.all(|(part, _)| debug.is_of_one_function(part.start));
        let around = debug.with_unit(number, |unit| around(unit, *function, address))?;
        let wanted = *around.get(frame).filter(|_| code.contains(&address))?;
        Some(((number, wanted), is_only))
    }

    /// The function or class that an entry of one is declared in; `None` within if it is in none.
    pub fn around(
        &mut self,
        walk: (&Debug, &mut usize),
        entry: EntryPlace,
    ) -> Option<Option<EntryPlace>> {
        let unit = self.unit(walk, entry.0);
        let outer = unit.around(unit.find(entry.1)?).map(|at| unit.scopes[at]);
        let outer = outer.filter(|outer| outer.tag != gimli::DW_TAG_namespace);
        Some(outer.map(|outer| (entry.0, UnitOffset(outer.place as usize))))
    }

    /// The namespaces that an entry is declared in, the outermost first. `None` if a function or a
    /// class is among what is around it.
    pub fn namespaces(
        &mut self,
        walk: (&Debug, &mut usize),
        entry: EntryPlace,
    ) -> Option<Vec<EntryPlace>> {
        let unit = self.unit(walk, entry.0);
        let mut found = Vec::new();
        let mut next = unit.around(unit.find(entry.1)?);
        while let Some(at) = next {
            let scope = unit.scopes[at];
            if scope.tag != gimli::DW_TAG_namespace {
                return None;
            }
            found.push((entry.0, UnitOffset(scope.place as usize)));
            next = unit.around(at);
        }
        found.reverse();
        Some(found)
    }

    /// The entries of a unit that are of some kinds: of classes, functions or namespaces.
    pub fn scopes(
        &mut self,
        walk: (&Debug, &mut usize),
        number: usize,
        is_wanted: fn(gimli::DwTag) -> bool,
    ) -> Vec<EntryPlace> {
        let scopes = self.unit(walk, number).scopes.iter();
        let wanted = scopes.filter(|scope| is_wanted(scope.tag));
        let place = |scope: &NameScope| (number, UnitOffset(scope.place as usize));
        wanted.map(place).collect()
    }

    fn unit(&mut self, (debug, left): (&Debug, &mut usize), number: usize) -> &UnitFunctions {
        let known = self.units.entry(number);
        known.or_insert_with(|| {
            let functions = debug.with_unit(number, |unit| functions(unit, left));
            functions.unwrap_or_default()
        })
    }
}

/// The functions of a unit, and what they are declared in.
fn functions(unit: Unit<'_>, left: &mut usize) -> UnitFunctions {
    let mut found = UnitFunctions::default();
    let bytes = unit.header.length_including_self();
    let Some(rest) = left.checked_sub(bytes).filter(|_| bytes < NONE as usize) else {
        return found;
    };
    *left = rest;
    // Depth and index of the scopes around, the innermost last.
    let mut around: Vec<(isize, u32)> = Vec::new();
    // A part that cannot be read ends the walk: what was found stays.
    let _ = for_each_entry(unit, |place, depth, abbreviation| {
        let tag = abbreviation.tag();
        let is_function = tag == gimli::DW_TAG_subprogram;
        if !is_function && !is_structure(tag) && tag != gimli::DW_TAG_namespace {
            return Ok(());
        }
        while around.pop_if(|(outer, _)| *outer >= depth).is_some() {}
        let outer = around.last().map_or(NONE, |(_, index)| *index);
        around.push((depth, found.scopes.len() as u32));
        found.scopes.push(NameScope {
            place: place.0 as u32,
            around: outer,
            tag,
        });
        let has = |name| abbreviation.attributes().iter().any(|it| it.name() == name);
        let has_code = has(gimli::DW_AT_low_pc) || has(gimli::DW_AT_ranges);
        if is_function && has_code {
            let code = ranges(unit, &unit.entry(place)?);
            let code = code.into_iter().map(|code| (code, place));
            found.code.extend(code);
        }
        Ok(())
    });
    let order = |(code, place): &(Range<u64>, UnitOffset)| (code.start, code.end, place.0);
    found.code.sort_unstable_by_key(order);
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
    let (mut symbol_name, mut found) = (None, None);
    for (number, place) in origins(debug, entry) {
        debug.with_unit(number, |unit| {
            let entry = unit.entry(place).ok()?;
            symbol_name = symbol_name.take().or_else(|| linkage_name(unit, &entry));
            let kind = || Reference::of(&argument(unit, place, parameter)?, gimli::DW_AT_type);
            found = found.or_else(|| resolved(debug, number, kind()?));
            Some(())
        });
    }
    found.filter(|_| symbol_name.is_some_and(|own| own == name))
}

/// An entry and those that it refers to: from what is inlined to its function, and from there to
/// its declaration.
pub(super) fn origins(debug: &Debug, entry: EntryPlace) -> Vec<EntryPlace> {
    let mut found = vec![entry];
    while found.len() < MAX_STEPS {
        let (number, place) = found[found.len() - 1];
        let reference = debug.with_unit(number, |unit| {
            let entry = unit.entry(place).ok()?;
            Reference::of(&entry, gimli::DW_AT_abstract_origin)
                .or_else(|| Reference::of(&entry, gimli::DW_AT_specification))
        });
        let next = reference.flatten();
        match next.and_then(|reference| resolved(debug, number, reference)) {
            Some(next) => found.push(next),
            None => break,
        }
    }
    found
}

/// The names that frames may have for a function: that of its symbol, and its own.
fn own_names(debug: &Debug, entry: EntryPlace) -> Vec<String> {
    let mut found = Vec::new();
    for (number, place) in origins(debug, entry) {
        debug.with_unit(number, |unit| {
            let entry = unit.entry(place).ok()?;
            found.extend(linkage_name(unit, &entry));
            found.extend(own_name(unit, &entry));
            Some(())
        });
    }
    found
}

/// The name of a function's symbol, demangled, if the entry itself has it.
fn linkage_name<'a>(unit: Unit<'a>, entry: &Entry<'a>) -> Option<String> {
    symbol(unit, entry).map(|symbol| demangled(&symbol))
}

/// The name of a function's symbol, if the entry itself has it.
pub(super) fn symbol<'a>(unit: Unit<'a>, entry: &Entry<'a>) -> Option<String> {
    let names = [gimli::DW_AT_linkage_name, gimli::DW_AT_MIPS_linkage_name];
    let name = names.iter().find_map(|name| entry.attr_value(*name))?;
    exact_names::string(unit, name)
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
        if own_name(unit, entry).is_some_and(|name| name == parameter) {
            return Some(entry.clone());
        }
    }
    None
}

/// A reference to another entry.
pub(super) enum Reference {
    /// One of the same unit.
    Here(UnitOffset),
    /// One of any unit: link-time optimisation inlines functions of other units.
    Anywhere(DebugInfoOffset),
}

impl Reference {
    pub(super) fn of(entry: &Entry<'_>, attribute: gimli::DwAt) -> Option<Reference> {
        match entry.attr_value(attribute)? {
            AttributeValue::UnitRef(place) => Some(Reference::Here(place)),
            AttributeValue::DebugInfoRef(place) => Some(Reference::Anywhere(place)),
            _ => None,
        }
    }
}

/// The entry that one of a unit refers to.
pub(super) fn resolved(debug: &Debug, number: usize, reference: Reference) -> Option<EntryPlace> {
    match reference {
        Reference::Here(place) => Some((number, place)),
        Reference::Anywhere(place) => {
            let number = debug.unit_of(place)?;
            let place = debug.with_unit(number, |unit| place.to_unit_offset(&unit.header));
            Some((number, place.flatten()?))
        }
    }
}
