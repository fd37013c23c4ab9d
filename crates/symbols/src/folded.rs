//! Functions that share their code with others, as gcc's `-fipa-icf` and linkers make those one
//! that have equal code.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use object::{Object, ObjectSymbol, SymbolKind};
use reuselens_io::text_of_bytes;

use super::symbol_names::{demangled, original};

/// Where the code begins that has the symbols of several functions.
pub(super) fn functions(file: &object::File) -> BTreeSet<u64> {
    let mut first: BTreeMap<u64, Cow<'_, str>> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for symbol in file.symbols() {
        if symbol.kind() != SymbolKind::Text || symbol.is_undefined() {
            continue;
        }
        let Ok(name) = symbol.name_bytes() else {
            continue;
        };
        let name = text_of_bytes(name);
        let known = first.entry(symbol.address());
        let known = known.or_insert_with(|| name.clone());
        if original(known) != original(&name) && identity(known) != identity(&name) {
            found.insert(symbol.address());
        }
    }
    found
}

/// What the symbols of one function have in common: a constructor has up to three.
fn identity(symbol: &str) -> String {
    let symbol = original(symbol);
    // rustc's legacy mangling, where demangled names lack types.
    let is_hashed = symbol.starts_with("_ZN") && symbol.contains("17h");
    if is_hashed {
        symbol.to_owned()
    } else {
        demangled(symbol)
    }
}

#[cfg(test)]
mod tests {
    use super::identity;

    #[test]
    fn a_constructor_is_one_function() {
        assert_eq!(identity("_ZN1AC1Ei"), identity("_ZN1AC2Ei"));
        assert_eq!(identity("_Z4makeIdEvi.cold"), identity("_Z4makeIdEvi"));
        assert_ne!(identity("_Z4makeIdEvi"), identity("_Z4makeIlEvi"));
        let hashed = ["0", "1"].map(|end| format!("_ZN5alloc4grow17h012345678abcdef{end}E"));
        assert_ne!(identity(&hashed[0]), identity(&hashed[1]));
    }
}
