//! Members of Fortran's COMMON blocks: a block is one symbol, but programs access its members.

use std::collections::{BTreeMap, BTreeSet};

use gimli::{EndianSlice, LittleEndian, Reader, SectionId};
use object::{Object, ObjectSection};
use reuselens_attribute::StaticSymbol;

use super::exact_names::own_name;
use super::types;
use super::variables::{Entry, Unit, address, for_each_unit};

/// What compilers call the block without a name.
const BLANK: &str = "__BLNK__";

/// The members of a block, by address, as one program unit declares them.
type Members = BTreeMap<u64, String>;
/// By the address of a block's first member: the block's names and the members that it has, each
/// once.
type Blocks = BTreeMap<u64, BTreeSet<(String, Members)>>;

/// Whether a symbol may be a COMMON block: `work_` is one by what compilers call it. Files without
/// such symbols, which most are, need not have their debug information read.
fn may_be_block(symbol: &StaticSymbol) -> bool {
    let name = symbol.name.as_str();
    let is_in_name = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
    name == BLANK || name.ends_with('_') && name.bytes().all(is_in_name)
}

/// Replaces COMMON blocks among the symbols by their members, where all program units that declare
/// a block have the same members in it. Where they differ it has no names that hold everywhere, and
/// it stays one.
///
/// Cost: for a file that may have blocks, a look at the abbreviations of its debug information; if
/// it has any, a walk over its units of Fortran.
pub(super) fn split(file: &object::File, symbols: &mut Vec<StaticSymbol>) {
    if !symbols.iter().any(may_be_block) || !declares_blocks(file) {
        return;
    }
    let mut blocks = Blocks::new();
    // A part that cannot be read ends the walk: what was found stays.
    let _ = for_each_unit(file, |unit| {
        let _ = walk_unit(unit, &mut blocks);
    });
    let split = |symbol: StaticSymbol| match blocks.get(&symbol.low) {
        Some(layouts) if layouts.len() == 1 => layouts
            .iter()
            .flat_map(|layout| members(&symbol, layout))
            .collect(),
        _ => vec![symbol],
    };
    *symbols = std::mem::take(symbols)
        .into_iter()
        .flat_map(split)
        .collect();
}

/// Whether any unit of a file may declare a block: whether that kind of entry is among the
/// abbreviations. Libraries in C have symbols that could be blocks too, and walking over the units
/// of one takes longer than a short program runs.
fn declares_blocks(file: &object::File) -> bool {
    let section = file.section_by_name(SectionId::DebugAbbrev.name());
    let data = section.and_then(|section| section.uncompressed_data().ok());
    has_block(&data.unwrap_or_default())
}

/// Whether a block is among abbreviations, before the first that is damaged.
fn has_block(abbreviations: &[u8]) -> bool {
    let mut rest = EndianSlice::new(abbreviations, LittleEndian);
    while !rest.is_empty() {
        match abbreviation(&mut rest) {
            Ok(Some(gimli::DW_TAG_common_block)) => return true,
            Ok(_) => {}
            Err(_) => return false,
        }
    }
    false
}

/// Reads an abbreviation (DWARF 5, section 7.5.3): its tag, or `None` at the end of a unit's.
fn abbreviation(data: &mut impl Reader) -> gimli::Result<Option<gimli::DwTag>> {
    if data.read_uleb128()? == 0 {
        return Ok(None);
    }
    let tag = gimli::DwTag(data.read_uleb128_u16()?);
    data.read_u8()?; // whether it has children
    loop {
        let (name, form) = (data.read_uleb128()?, data.read_uleb128_u16()?);
        if gimli::DwForm(form) == gimli::DW_FORM_implicit_const {
            data.read_sleb128()?;
        }
        if name == 0 && form == 0 {
            return Ok(Some(tag));
        }
    }
}

/// Symbols of the members that begin in a block; each ends where the next begins.
fn members(block: &StaticSymbol, (name, members): &(String, Members)) -> Vec<StaticSymbol> {
    let inside: Vec<_> = members.range(block.low..block.high).collect();
    let ends = inside
        .iter()
        .skip(1)
        .map(|(low, _)| **low)
        .chain([block.high]);
    let member = |((low, member), high): (&(&u64, &String), u64)| StaticSymbol {
        low: **low,
        high,
        name: format!("/{name}/ {member}"),
    };
    inside.iter().zip(ends).map(member).collect()
}

/// The blocks that a unit declares, by the address of their first member: their names and members.
fn walk_unit(unit: Unit<'_>, blocks: &mut Blocks) -> gimli::Result<()> {
    // Other languages have no such blocks, and large programs much of other languages.
    if !types::is_fortran(unit) {
        return Ok(());
    }
    let mut entries = unit.entries();
    // The block whose members are being read, and its depth.
    let mut current: Option<(isize, String, Members)> = None;
    while let Some(entry) = entries.next_dfs()? {
        let depth = entry.depth();
        if current.as_ref().is_some_and(|(block, ..)| depth <= *block) {
            keep(current.take(), blocks);
        }
        match (entry.tag(), &mut current) {
            (gimli::DW_TAG_common_block, _) => {
                current = Some((depth, block_name(unit, entry), Members::new()));
            }
            (gimli::DW_TAG_variable, Some((_, _, members))) => {
                if let (Some(address), Some(name)) = (address(unit, entry), own_name(unit, entry)) {
                    members.insert(address, name);
                }
            }
            _ => {}
        }
    }
    keep(current, blocks);
    Ok(())
}

fn keep(block: Option<(isize, String, Members)>, blocks: &mut Blocks) {
    if let Some((_, name, members)) = block
        && let Some((&first, _)) = members.first_key_value()
    {
        blocks.entry(first).or_default().insert((name, members));
    }
}

/// A block's name between the slashes of its declaration: none for blank COMMON.
fn block_name<'a>(unit: Unit<'a>, entry: &Entry<'a>) -> String {
    let name = own_name(unit, entry).unwrap_or_default();
    if name == BLANK { String::new() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_found_among_the_abbreviations_of_all_units() {
        // Code, tag, whether it has children, attributes with their forms.
        let variable = [1, 0x34, 0, 0x03, 0x08, 0x3b, 0x21, 0x9a, 0x7f, 0, 0];
        let block = [2, 0x1a, 1, 0x03, 0x08, 0, 0];
        let end = [0];
        let first = [&variable[..], &end].concat();
        let second = [&variable[..], &block, &end].concat();
        assert!(!has_block(&first));
        assert!(has_block(&second));
        assert!(has_block(&[&first[..], &second].concat()));
        // An implicit constant is no attribute: 0x1a is that of this line.
        assert!(!has_block(&[1, 0x34, 0, 0x3b, 0x21, 0x1a, 0, 0, 0]));
        for length in 0..first.len() {
            assert!(!has_block(&first[..length]));
        }
    }
}
