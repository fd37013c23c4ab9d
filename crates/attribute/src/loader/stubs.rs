//! The stubs by which a file calls functions of others: code without symbols, a few instructions each, that jumps to where the dynamic
//! loader has put an address. They are called as disassemblers call them: `memcpy@plt`.
//!
//! Source: System V Application Binary Interface, AMD64 supplement, section 5.2 (procedure linkage table).

use std::collections::BTreeMap;

use object::{
    Architecture, Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationTarget,
};

use super::demangled;

/// Sections of stubs.
const SECTIONS: [&str; 3] = [".plt", ".plt.sec", ".plt.got"];
/// The most bytes of a stub.
const MOST: u64 = 16;
/// A jump to an address in memory, relative to its end: the offset of four bytes follows.
const JUMP: [u8; 2] = [0xff, 0x25];
/// Bytes of the jump with its offset.
const JUMP_BYTES: usize = 6;
/// What a stub may have before its jump: `endbr64`, and a prefix of the jump.
const BEFORE: [&[u8]; 3] = [
    &[0xf3, 0x0f, 0x1e, 0xfa, 0xf2],
    &[0xf3, 0x0f, 0x1e, 0xfa],
    &[0xf2],
];

/// Stubs by where they begin. Cost: a pass over the relocations of a file.
#[derive(Debug, Default)]
pub(super) struct Stubs(BTreeMap<u64, String>);

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
            let jumps = jumps(code, section.address());
            let stubs = jumps.filter_map(|(start, slot)| Some((start, names.get(&slot)?.clone())));
            stubs.collect::<Vec<_>>()
        });
        Stubs(stubs.collect())
    }

    /// The stub that an address lies in: where it begins, and its name.
    pub(super) fn at(&self, address: u64) -> Option<(u64, &str)> {
        let (start, name) = self.0.range(..=address).next_back()?;
        (address - start < MOST).then_some((*start, name.as_str()))
    }
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
        let name = symbol.as_ref().and_then(|symbol| symbol.name().ok());
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            names.insert(slot, format!("{}@plt", demangled(name)));
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
        let before = BEFORE.iter().find(|before| code[..at].ends_with(before));
        let start = at - before.map_or(0, |before| before.len());
        let slot = address.wrapping_add((at + JUMP_BYTES) as u64);
        Some((
            address.wrapping_add(start as u64),
            slot.wrapping_add_signed(offset),
        ))
    })
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
        let stubs = Stubs(
            found
                .into_iter()
                .map(|(start, _)| (start, "f@plt".to_owned()))
                .collect(),
        );
        assert_eq!(stubs.at(0x1006), Some((0x1005, "f@plt")));
        assert_eq!(stubs.at(0x101b).map(|stub| stub.0), Some(0x100c));
        assert_eq!((stubs.at(0x1004), stubs.at(0x101c)), (None, None));
    }
}
