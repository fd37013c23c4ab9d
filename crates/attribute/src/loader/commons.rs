//! Members of Fortran's COMMON blocks: a block is one symbol, and its members are what programs
//! work on.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use gimli::AttributeValue;

use super::FORTRAN;
use super::variables::{Entry, Unit, address, for_each_unit};
use crate::symbols::StaticSymbol;

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
pub(super) fn split(path: &Path, symbols: &mut Vec<StaticSymbol>) {
    if !symbols.iter().any(may_be_block) {
        return;
    }
    let mut blocks = Blocks::new();
    // A part that cannot be read ends the walk: what was found stays.
    let _ = for_each_unit(path, |unit| {
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
    let mut entries = unit.entries();
    // Other languages have no such blocks, and large programs much of other languages.
    if !entries.next_dfs()?.is_some_and(is_fortran) {
        return Ok(());
    }
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
                if let (Some(address), Some(name)) = (address(unit, entry), name(unit, entry)) {
                    members.insert(address, name);
                }
            }
            _ => {}
        }
    }
    keep(current, blocks);
    Ok(())
}

/// Whether this entry of a unit says that the unit is of Fortran.
fn is_fortran(unit: &Entry<'_>) -> bool {
    let language = unit.attr_value(gimli::DW_AT_language);
    matches!(language, Some(AttributeValue::Language(language)) if FORTRAN.contains(&language))
}

fn keep(block: Option<(isize, String, Members)>, blocks: &mut Blocks) {
    if let Some((_, name, members)) = block
        && let Some((&first, _)) = members.first_key_value()
    {
        blocks.entry(first).or_default().insert((name, members));
    }
}

fn name<'a>(unit: Unit<'a>, entry: &Entry<'a>) -> Option<String> {
    let name = unit
        .attr_string(entry.attr_value(gimli::DW_AT_name)?)
        .ok()?;
    Some(name.to_string_lossy().into_owned())
}

/// A block's name between the slashes of its declaration: none for blank COMMON.
fn block_name<'a>(unit: Unit<'a>, entry: &Entry<'a>) -> String {
    let name = name(unit, entry).unwrap_or_default();
    if name == BLANK { String::new() } else { name }
}
