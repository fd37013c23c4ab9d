//! The stubs by which a file calls functions of others: code without symbols, a few instructions
//! each, that jumps to where the dynamic loader has put an address. They are called as
//! disassemblers call them: `memcpy@plt`.
//!
//! Source: System V Application Binary Interface, AMD64 supplement, section 5.2 (procedure linkage
//! table).

use std::collections::BTreeMap;

use object::{
    Architecture, Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationTarget,
};
use reuselens_attribute::Function;
use reuselens_io::text_of_bytes;

use super::symbol_names::demangled;

/// Sections of stubs.
const SECTIONS: [&str; 3] = [".plt", ".plt.sec", ".plt.got"];
/// The most bytes of a stub.
const MOST: u64 = 16;
/// A jump to an address in memory, relative to its end: the offset of four bytes follows.
const JUMP: [u8; 2] = [0xff, 0x25];
/// Bytes of the jump with its offset.
const JUMP_BYTES: usize = 6;
/// What a stub may begin with: `endbr64`.
const LANDING: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
/// What may come next: its number into a register (`mov $n, %r11d`), as mold's stubs do.
const NUMBER: [u8; 2] = [0x41, 0xbb];
/// Bytes of that with the number.
const NUMBER_BYTES: usize = 6;
/// A prefix of the jump.
const PREFIX: u8 = 0xf2;

/// Stubs by where they begin: where they end, and their names. Cost: a pass over the relocations of
/// a file.
#[derive(Debug, Default)]
pub(super) struct Stubs(BTreeMap<u64, (u64, String)>);

impl Stubs {
    /// Those of a file; none if it is not for x86-64.
    pub(super) fn of(file: &object::File) -> Stubs {
        if file.architecture() != Architecture::X86_64 {
            return Stubs::default();
        }
        let names = names(file);
        let sections = SECTIONS
            .iter()
            .filter_map(|name| file.section_by_name(name));
        let stubs = sections.flat_map(|section| {
            let code = section.data().unwrap_or_default();
            let jumps: Vec<(u64, u64)> = jumps(code, section.address()).collect();
            let end = section.address().saturating_add(code.len() as u64);
            named(&jumps, end, &names)
        });
        Stubs(stubs.collect())
    }

    /// Whether a stub begins in a range.
    pub(super) fn any_in(&self, low: u64, high: u64) -> bool {
        self.0.range(low..high).next().is_some()
    }

    /// The stub that an address is in: where it begins, and its name.
    pub(super) fn at(&self, address: u64) -> Option<(u64, &str)> {
        let (start, (end, name)) = self.0.range(..=address).next_back()?;
        (address < *end).then_some((*start, name.as_str()))
    }
}

/// The stubs of a section that have names. Each ends where the next begins, whether that has one or
/// not.
fn named(
    jumps: &[(u64, u64)],
    section_end: u64,
    names: &BTreeMap<u64, String>,
) -> Vec<(u64, (u64, String))> {
    let nexts = jumps.iter().skip(1).map(|next| next.0).chain([section_end]);
    let stubs = jumps.iter().zip(nexts);
    let stubs = stubs.filter_map(|((start, slot), next)| {
        let end = next.min(start.saturating_add(MOST));
        Some((*start, (end, names.get(slot)?.clone())))
    });
    stubs.collect()
}

/// The names of functions by where the loader puts their addresses.
fn names(file: &object::File) -> BTreeMap<u64, String> {
    let mut names = BTreeMap::new();
    let (Some(relocations), Some(symbols)) =
        (file.dynamic_relocations(), file.dynamic_symbol_table())
    else {
        return names;
    };
    for (slot, relocation) in relocations {
        let RelocationTarget::Symbol(index) = relocation.target() else {
            continue;
        };
        let symbol = symbols.symbol_by_index(index).ok();
        let name = symbol.as_ref().and_then(|symbol| symbol.name_bytes().ok());
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            let name = demangled(&text_of_bytes(name));
            names.insert(slot, format!("{name}{}", Function::STUB));
        }
    }
    names
}

/// The jumps in code at an address: where each stub begins, and where its jump finds its goal.
fn jumps(code: &[u8], address: u64) -> impl Iterator<Item = (u64, u64)> {
    let places = (0..code.len()).filter(|&at| code[at..].starts_with(&JUMP));
    places.filter_map(move |at| {
        let offset = code
            .get(at + JUMP.len()..at + JUMP_BYTES)?
            .first_chunk::<4>()?;
        let offset = i64::from(i32::from_le_bytes(*offset));
        let start = beginning(&code[..at]);
        let slot = address.wrapping_add((at + JUMP_BYTES) as u64);
        Some((
            address.wrapping_add(start as u64),
            slot.wrapping_add_signed(offset),
        ))
    })
}

/// Where a stub begins that has its jump behind this code.
fn beginning(code: &[u8]) -> usize {
    let mut before = code.strip_suffix(&[PREFIX]).unwrap_or(code);
    let number = before.len().checked_sub(NUMBER_BYTES);
    if let Some(number) = number.filter(|&number| before[number..].starts_with(&NUMBER)) {
        before = &before[..number];
    }
    before.strip_suffix(&LANDING).unwrap_or(before).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stubs_begin_before_their_jumps() {
        // push; jmp *0x10(%rip); nop …; endbr64; bnd jmp *-0x20(%rip); and a jump that is cut off.
        let code = [
            &[0x68, 1, 0, 0, 0][..],
            &[0xff, 0x25, 0x10, 0, 0, 0, 0x90],
            &[
                0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0xe0, 0xff, 0xff, 0xff,
            ],
            &[0xff, 0x25, 1],
        ]
        .concat();
        let found: Vec<_> = jumps(&code, 0x1000).collect();
        assert_eq!(found, [(0x1005, 0x101b), (0x100c, 0xff7)]);
        let names = BTreeMap::from([(0x101b, "f@plt".to_owned()), (0xff7, "g@plt".to_owned())]);
        let end = 0x1000 + code.len() as u64;
        let stubs = |names| Stubs(named(&found, end, names).into_iter().collect());
        let all = stubs(&names);
        assert_eq!(all.at(0x1006), Some((0x1005, "f@plt")));
        assert_eq!(all.at(0x100b), Some((0x1005, "f@plt")));
        assert_eq!(all.at(0x100c), Some((0x100c, "g@plt")));
        assert_eq!((all.at(0x1004), all.at(end)), (None, None));
        // One without a name ends the one before all the same.
        let first = stubs(&BTreeMap::from([(0x101b, "f@plt".to_owned())]));
        assert_eq!((first.at(0x100b).is_some(), first.at(0x100c)), (true, None));
    }

    #[test]
    fn molds_stubs_begin_with_their_number() {
        let stub = |number: u8, offset: u8| {
            let jump = [0xff, 0x25, offset, 0, 0, 0];
            [
                &[0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0xbb, number, 0, 0, 0][..],
                &jump,
            ]
            .concat()
        };
        let code = [stub(0, 0x40), stub(1, 0x38)].concat();
        let found: Vec<_> = jumps(&code, 0x1000).collect();
        assert_eq!(found, [(0x1000, 0x1050), (0x1010, 0x1058)]);
    }
}
