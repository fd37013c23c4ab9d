//! Tables of symbols in the files of the program and its libraries.

use std::ffi::{CStr, OsStr, c_void};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;

use crate::little_endian::{u16_at, u32_at, u64_at};

#[link(name = "c")]
unsafe extern "C" {
    fn memmem(
        all: *const c_void,
        bytes: usize,
        part: *const c_void,
        part_bytes: usize,
    ) -> *mut c_void;
}

/// Bytes of a section's head in a file.
const SECTION_BYTES: usize = 64;
/// Bytes of a symbol.
pub const SYMBOL_BYTES: usize = 24;
/// Larger tables are passed over.
const MAX_BYTES: u64 = 1 << 30;

/// A table of symbols.
pub struct SymbolTable {
    /// Whether the loader finds symbols by it (`.dynsym`), or debuggers only (`.symtab`).
    pub is_dynamic: bool,
    /// Where the table is in memory, less the file's base; 0 for a table that is not there.
    pub address: u64,
    names: Vec<u8>,
    symbols: Vec<u8>,
}

/// A function that a table names.
pub struct FunctionSymbol<'a> {
    pub name: &'a CStr,
    /// Its number in the table.
    pub index: usize,
    /// Its address, less the file's base.
    pub value: u64,
    pub bytes: u64,
}

/// The tables of a file that have one of some names, each with a zero before and after it; `None`
/// if the file cannot be read.
pub fn tables_with(path: &[u8], wanted: &[&[u8]]) -> Option<Vec<SymbolTable>> {
    let file = File::open(OsStr::from_bytes(path)).ok()?;
    let head = read(&file, 0, 64)?;
    let bytes = u64::from(u16_at(&head, 60)?) * SECTION_BYTES as u64;
    let sections = read(&file, u64_at(&head, 40)?, bytes)?;
    let tables = sections.chunks_exact(SECTION_BYTES);
    let tables = tables.filter_map(|section| table_in(&file, &sections, section, wanted));
    Some(tables.collect())
}

/// The table in a section; `None` if it is no table of symbols, has none of the names, or is too
/// large or broken.
fn table_in(file: &File, sections: &[u8], section: &[u8], wanted: &[&[u8]]) -> Option<SymbolTable> {
    const SYMBOLS: u32 = 2;
    const DYNAMIC_SYMBOLS: u32 = 11;
    let kind = u32_at(section, 4)?;
    if !matches!(kind, SYMBOLS | DYNAMIC_SYMBOLS) {
        return None;
    }
    let names = u32_at(section, 40)? as usize;
    let names = sections.get(SECTION_BYTES * names..)?;
    let names = read(file, u64_at(names, 24)?, u64_at(names, 32)?)?;
    let has_wanted = wanted.iter().any(|name| contains(&names, name));
    has_wanted.then_some(())?;
    Some(SymbolTable {
        is_dynamic: kind == DYNAMIC_SYMBOLS,
        address: u64_at(section, 16)?,
        names,
        symbols: read(file, u64_at(section, 24)?, u64_at(section, 32)?)?,
    })
}

fn read(file: &File, at: u64, bytes: u64) -> Option<Vec<u8>> {
    let bytes = usize::try_from(bytes).ok().filter(|_| bytes < MAX_BYTES)?;
    let mut room = vec![0; bytes];
    file.read_exact_at(&mut room, at).ok()?;
    Some(room)
}

/// Whether a text has a part. Tables of names have up to hundreds of megabytes, which the C
/// library's function looks through at several bytes a cycle.
pub fn contains(all: &[u8], part: &[u8]) -> bool {
    // SAFETY: both are as long as said, and the answer is only compared with null.
    !unsafe {
        memmem(
            all.as_ptr().cast(),
            all.len(),
            part.as_ptr().cast(),
            part.len(),
        )
    }
    .is_null()
}

impl SymbolTable {
    /// The functions that the file itself has.
    pub fn functions(&self) -> impl Iterator<Item = FunctionSymbol<'_>> {
        let symbols = self.symbols.chunks_exact(SYMBOL_BYTES).enumerate();
        symbols.filter_map(|(index, symbol)| self.function(index, symbol))
    }

    fn function(&self, index: usize, symbol: &[u8]) -> Option<FunctionSymbol<'_>> {
        const STT_FUNC: u8 = 2;
        let value = u64_at(symbol, 8)?;
        if symbol[4] & 15 != STT_FUNC || u16_at(symbol, 6)? == 0 || value == 0 {
            return None;
        }
        let name = self.names.get(u32_at(symbol, 0)? as usize..)?;
        Some(FunctionSymbol {
            name: CStr::from_bytes_until_nul(name).ok()?,
            index,
            value,
            bytes: u64_at(symbol, 16)?,
        })
    }
}
