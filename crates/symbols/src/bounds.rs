//! Where functions begin and end in a file without symbols, from the table that unwinding needs.
//! Functions get names by their file and where they begin, `gzip!fn@4295`.

use gimli::{CieOrFde, EhFrame, UnwindSection};
use object::Object;
use reuselens_attribute::range_of;

use super::exception_frames::ExceptionFrames;
use super::non_utf8_symbols::NonUtf8Symbols;
use super::stubs::Stubs;

/// The functions of a file, in the order of their addresses.
#[derive(Debug, Default)]
pub(super) struct FunctionBounds(Vec<(u64, u64)>);

impl FunctionBounds {
    /// Those that the file's `.eh_frame` describes: all before the first entry that is damaged;
    /// none if there is no such section. Cost: linear in its entries.
    pub(super) fn of(file: &object::File) -> FunctionBounds {
        let Some(frames) = ExceptionFrames::of(file) else {
            return FunctionBounds::default();
        };
        let table = frames.table();
        let mut entries = table.entries(&frames.bases);
        let mut found = Vec::new();
        while let Ok(Some(entry)) = entries.next() {
            let CieOrFde::Fde(partial) = entry else {
                continue;
            };
            let Ok(function) = partial.parse(EhFrame::cie_from_offset) else {
                break;
            };
            let low = function.initial_address();
            if let Some(high) = low.checked_add(function.len()).filter(|high| *high > low) {
                found.push((low, high));
            }
        }
        found.sort_unstable();
        FunctionBounds(found)
    }

    /// The functions, cut where a symbol or another function begins, without those that contain
    /// stubs: the instructions of each have one name. Cost: a pass over the file's symbols.
    pub(super) fn named_alike(
        &self,
        names: &object::File,
        non_utf8: &NonUtf8Symbols,
        stubs: &Stubs,
    ) -> Vec<(u64, u64)> {
        // The symbols in which names are looked up, labels of assembly among them.
        let symbols = names.symbol_map();
        let symbols = symbols.symbols().iter().map(|symbol| symbol.address());
        let symbols = symbols.chain(non_utf8.addresses());
        let mut cuts: Vec<u64> = symbols.chain(self.0.iter().map(|(low, _)| *low)).collect();
        cuts.sort_unstable();
        cuts.dedup();
        let mut ranges = Vec::new();
        for &(low, high) in self
            .0
            .iter()
            .filter(|(low, high)| !stubs.any_in(*low, *high))
        {
            let from = cuts.partition_point(|cut| *cut <= low);
            let inside = cuts[from..].iter().copied().take_while(|cut| *cut < high);
            let mut low = low;
            for cut in inside.chain([high]) {
                ranges.push((low, cut));
                low = cut;
            }
        }
        // Of functions that overlap, each piece is there once.
        ranges.sort_unstable();
        ranges.dedup_by(|next, last| next.0 < last.1);
        ranges
    }

    /// Where the function at an address begins.
    pub(super) fn start_of(&self, address: u64) -> Option<u64> {
        range_of(&self.0, address).map(|(low, _)| low)
    }
}

/// What a function without a symbol is called.
pub(super) fn name(file: &str, start: u64) -> String {
    format!("{file}!fn@{start:x}")
}

#[cfg(test)]
mod tests {
    use object::{ObjectSymbol, SymbolKind};

    use super::*;

    #[test]
    fn functions_of_this_test_contain_their_own_code() {
        let path = std::env::current_exe().unwrap();
        let bytes = std::fs::read(path).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let bounds = FunctionBounds::of(&file);
        let symbols = file.symbols();
        let mut checked = 0;
        for symbol in symbols {
            let named = symbol.name().unwrap_or_default();
            if symbol.kind() == SymbolKind::Text
                && symbol.size() > 1
                && named.contains("FunctionBounds")
            {
                let (low, last) = (symbol.address(), symbol.address() + symbol.size() - 1);
                assert_eq!(bounds.start_of(low), Some(low), "{named}");
                assert_eq!(bounds.start_of(last), Some(low), "{named}");
                checked += 1;
            }
        }
        assert!(checked > 0);
        assert_eq!(bounds.start_of(0), None);
        assert_eq!(bounds.start_of(u64::MAX), None);
    }

    #[test]
    fn gaps_between_functions_belong_to_none() {
        let bounds = FunctionBounds(vec![(0x10, 0x20), (0x30, 0x38)]);
        let starts = [0xf, 0x10, 0x1f, 0x20, 0x30, 0x37, 0x38];
        let found = starts.map(|address| bounds.start_of(address));
        let (first, second) = (Some(0x10), Some(0x30));
        assert_eq!(found, [None, first, first, None, second, second, None]);
        assert_eq!(name("gzip", 0x4295), "gzip!fn@4295");
    }
}
