//! [`StaticSymbols`]: where the static variables of a program's files begin and end.

use std::collections::HashMap;
use std::path::Path;

use object::{Object, ObjectSymbol, ReadCache, SymbolKind};
use reuselens_io::open_regular_file;

/// Files whose symbols are kept.
const MAX_FILES: usize = 256;

/// The static variables of files. Each file is read when it is first asked for; one that cannot be
/// read, or was stripped, has none.
#[derive(Debug, Default)]
pub struct StaticSymbols {
    /// First address and first address after, ascending, by path.
    files: HashMap<String, Vec<(u64, u64)>>,
}

impl StaticSymbols {
    /// First address and bytes of the variable around an address of a file.
    pub fn around(&mut self, path: &str, address: u64) -> Option<(u64, u64)> {
        if self.files.len() >= MAX_FILES && !self.files.contains_key(path) {
            return None;
        }
        let symbols = self
            .files
            .entry(path.to_owned())
            .or_insert_with(|| read(Path::new(path)).unwrap_or_default());
        let after = symbols.partition_point(|symbol| symbol.0 <= address);
        let &(begin, end) = symbols[..after].last()?;
        (address < end).then_some((begin, end - begin))
    }
}

fn read(path: &Path) -> Option<Vec<(u64, u64)>> {
    let (file, _) = open_regular_file(path).ok()?;
    let file = ReadCache::new(file);
    let object = object::File::parse(&file).ok()?;
    let mut symbols: Vec<(u64, u64)> = object
        .symbols()
        .chain(object.dynamic_symbols())
        .filter(|symbol| symbol.kind() == SymbolKind::Data && symbol.is_definition())
        .filter_map(|symbol| {
            let end = symbol.address().checked_add(symbol.size())?;
            (symbol.size() > 0).then_some((symbol.address(), end))
        })
        .collect();
    symbols.sort_unstable();
    symbols.dedup();
    Some(symbols)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[used]
    static ARRAY: [u32; 77] = [7; 77];

    /// The address in this program's file, by that of a symbol with a known name in it.
    #[test]
    fn a_variable_of_this_program_is_found_by_any_address_in_it() {
        let path = std::env::current_exe().unwrap();
        let data = std::fs::read(&path).unwrap();
        let file = object::File::parse(&*data).unwrap();
        let array = file
            .symbols()
            .find(|symbol| {
                symbol.size() == 308 && symbol.name().is_ok_and(|name| name.contains("ARRAY"))
            })
            .unwrap();
        let mut symbols = StaticSymbols::default();
        let path = path.to_str().unwrap();
        let expected = Some((array.address(), 308));
        assert_eq!(symbols.around(path, array.address() + 307), expected);
        assert_ne!(symbols.around(path, array.address() + 308), expected);
        assert_eq!(symbols.around("/nonexistent", 0), None);
        assert_eq!(ARRAY[3], 7);
    }
}
