//! Symbols whose names are not UTF-8, which `addr2line` leaves out: without them, their code would
//! have the name of a symbol before it.

use std::collections::BTreeMap;

use object::{Object, ObjectSymbol, ObjectSymbolTable, SymbolKind};
use reuselens_io::text_of_bytes;

/// The symbols of a file's code whose names are not UTF-8: by their addresses, their bytes (0 where
/// they are unknown) and their names as [`text_of_bytes`] has them. Empty for nearly all files.
#[derive(Debug, Default)]
pub(super) struct NonUtf8Symbols(BTreeMap<u64, (u64, String)>);

/// A symbol at or before an instruction.
pub(super) struct FoundSymbol<'a> {
    pub name: &'a str,
    pub address: u64,
}

impl NonUtf8Symbols {
    /// Those of a file. Cost: a pass over its symbols.
    pub(super) fn of(file: &object::File) -> NonUtf8Symbols {
        let mut found: BTreeMap<u64, (u64, String)> = BTreeMap::new();
        let table = file.symbol_table();
        let table = table.or_else(|| file.dynamic_symbol_table());
        for symbol in table.iter().flat_map(|table| table.symbols()) {
            let is_code = matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Unknown);
            let name = symbol.name_bytes().unwrap_or_default();
            if !is_code || !symbol.is_definition() || std::str::from_utf8(name).is_ok() {
                continue;
            }
            let symbol_of = || (symbol.size(), text_of_bytes(name).into_owned());
            let known = found.entry(symbol.address()).or_insert_with(symbol_of);
            // Of several names, one with a size is that of a function.
            if known.0 == 0 && symbol.size() > 0 {
                *known = symbol_of();
            }
        }
        NonUtf8Symbols(found)
    }

    /// Where they begin.
    pub(super) fn addresses(&self) -> impl Iterator<Item = u64> {
        self.0.keys().copied()
    }

    /// The symbol that contains an address: the last one at or before it, of all symbols.
    pub(super) fn find<'a>(
        &'a self,
        code: &'a addr2line::Loader,
        address: u64,
    ) -> Option<FoundSymbol<'a>> {
        let other = code.find_symbol_info(address).map(|symbol| FoundSymbol {
            name: symbol.name(),
            address: symbol.address(),
        });
        let found = self.0.range(..=address).next_back();
        let found = found.filter(|(start, (size, _))| *size == 0 || address - **start < *size);
        let found = found.map(|(start, (_, name))| FoundSymbol {
            name,
            address: *start,
        });
        let is_nearer = |found: &FoundSymbol<'_>| {
            other
                .as_ref()
                .is_none_or(|other| found.address > other.address)
        };
        found.filter(is_nearer).or(other)
    }
}
