//! The files that the loader has mapped with code: where they are, and what they export.
//!
//! By `dl_iterate_phdr`: it takes a lock of the loader, and needs no system call. The crate `dbi`
//! is there before the loader, and in programs without one; it reads `/proc` (its `maps`).

use core::ffi::{c_int, c_void};

/// `dl_phdr_info`, as far as it is used.
#[repr(C)]
struct Info {
    bias: u64,
    name: *const u8,
    headers: *const SegmentHeader,
    count: u16,
    /// Modules that were mapped and unmapped since the start.
    adds: u64,
    subs: u64,
}

/// `Elf64_Phdr`.
#[repr(C)]
struct SegmentHeader {
    kind: u32,
    flags: u32,
    offset: u64,
    address: u64,
    physical: u64,
    file_bytes: u64,
    bytes: u64,
    align: u64,
}

const LOAD: u32 = 1;
const DYNAMIC: u32 = 2;
const NOTE: u32 = 4;
const EH_FRAME: u32 = 0x6474_e550;

unsafe extern "C" {
    fn dl_iterate_phdr(
        each: unsafe extern "C" fn(*const Info, usize, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
}

/// A module.
pub struct MappedModule<'a> {
    /// What to add to an address of its file.
    pub bias: u64,
    /// Its path; empty for the program itself.
    pub path: &'a [u8],
    headers: &'a [SegmentHeader],
}

/// The segment of code around an address, and the frame information of its module.
#[derive(Clone, Copy)]
pub(crate) struct FrameTable {
    /// The head of the frame information.
    pub frames: u64,
    /// The first address after the frame information.
    pub frames_end: u64,
    /// First address after the module's segment with the frame information.
    pub end: u64,
}

/// The numbers of modules that were mapped and unmapped since the start; `None` if the loader does
/// not count them.
pub fn changes() -> Option<(u64, u64)> {
    unsafe extern "C" fn visit(info: *const Info, bytes: usize, data: *mut c_void) -> c_int {
        if bytes >= size_of::<Info>() {
            // SAFETY: the loader passes a description of this size, and what `changes` gave it.
            unsafe { *data.cast() = Some(((*info).adds, (*info).subs)) };
        }
        1
    }
    let mut found: Option<(u64, u64)> = None;
    // SAFETY: the function gets what it expects.
    unsafe { dl_iterate_phdr(visit, (&raw mut found).cast()) };
    found
}

/// Calls `each` with every module until it returns true.
pub fn for_each<F: FnMut(&MappedModule<'_>) -> bool>(mut each: F) {
    unsafe extern "C" fn visit<F: FnMut(&MappedModule<'_>) -> bool>(
        info: *const Info,
        _: usize,
        data: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes a valid description, whose tables are mapped during the call,
        // and what `for_each` gave it.
        let (info, each) = unsafe { (&*info, &mut *data.cast::<F>()) };
        // SAFETY: as above.
        let headers = unsafe { core::slice::from_raw_parts(info.headers, info.count.into()) };
        let path = if info.name.is_null() {
            &[][..]
        } else {
            // SAFETY: a name ends with a zero byte.
            unsafe { core::ffi::CStr::from_ptr(info.name.cast()) }.to_bytes()
        };
        let module = MappedModule {
            bias: info.bias,
            path,
            headers,
        };
        each(&module).into()
    }
    let data = (&raw mut each).cast();
    // SAFETY: `visit` gets the closure that it is made for, which outlives the call.
    unsafe { dl_iterate_phdr(visit::<F>, data) };
}

/// The code around an address.
pub(crate) fn code_at(address: u64) -> Option<FrameTable> {
    let mut found = None;
    for_each(|module| {
        let is_around = module.segment_at(address).is_some();
        if is_around {
            found = module.code();
        }
        is_around
    });
    found
}

impl MappedModule<'_> {
    /// The segment around an address in memory, as first address and first after.
    fn segment_at(&self, address: u64) -> Option<(u64, u64)> {
        let loads = self.headers.iter().filter(|header| header.kind == LOAD);
        let mut ranges = loads.map(|header| {
            let low = self.bias.wrapping_add(header.address);
            (low, low.wrapping_add(header.bytes))
        });
        ranges.find(|(low, high)| (*low..*high).contains(&address))
    }

    fn code(&self) -> Option<FrameTable> {
        let header = self.headers.iter().find(|header| header.kind == EH_FRAME)?;
        let frames = self.bias.wrapping_add(header.address);
        let (_, end) = self.segment_at(frames)?;
        Some(FrameTable {
            frames,
            frames_end: frames + header.bytes,
            end,
        })
    }

    /// The first address of its memory, and the first after it; there may be gaps.
    pub fn extent(&self) -> (u64, u64) {
        let (mut low, mut high) = (u64::MAX, 0);
        for header in self.headers.iter().filter(|header| header.kind == LOAD) {
            low = low.min(header.address);
            high = high.max(header.address.wrapping_add(header.bytes));
        }
        let at = |address: u64| self.bias.wrapping_add(address);
        (at(low.min(high)), at(high))
    }

    /// Whether an address is in its memory.
    pub fn holds(&self, address: u64) -> bool {
        self.segment_at(address).is_some()
    }

    /// The symbols that it exports; `None` if it has no hash table of GNU's form.
    pub fn symbols(&self) -> Option<ExportedSymbols> {
        const STRINGS: u64 = 5;
        const SYMBOLS: u64 = 6;
        const GNU_HASH: u64 = 0x6fff_fef5;
        let header = self.headers.iter().find(|header| header.kind == DYNAMIC)?;
        let entries = self.bias.wrapping_add(header.address);
        self.segment_at(entries)?;
        let [mut strings, mut symbols, mut hashes] = [None; 3];
        for entry in 0..header.bytes / 16 {
            // SAFETY: the entries are within a mapped segment.
            let [tag, value] = unsafe { *(entries as *const [u64; 2]).add(entry as usize) };
            let into = match tag {
                0 => break,
                STRINGS => &mut strings,
                SYMBOLS => &mut symbols,
                GNU_HASH => &mut hashes,
                _ => continue,
            };
            // Loaders write the address in memory over that in the file, or leave it.
            let places = [value, self.bias.wrapping_add(value)];
            *into = places.into_iter().find(|at| self.holds(*at));
        }
        Some(ExportedSymbols {
            strings: strings?,
            symbols: symbols?,
            hashes: hashes?,
        })
    }

    /// The GNU build id; empty if it has none.
    pub fn build_id(&self) -> &[u8] {
        let mut notes = self.headers.iter().filter(|header| header.kind == NOTE);
        notes
            .find_map(|header| self.build_in(header))
            .unwrap_or(&[])
    }

    fn build_in(&self, notes: &SegmentHeader) -> Option<&[u8]> {
        let at = self.bias.wrapping_add(notes.address);
        let (_, end) = self.segment_at(at)?;
        let bytes = notes.bytes.min(end - at) as usize;
        // SAFETY: the notes are within a mapped segment.
        let mut rest = unsafe { core::slice::from_raw_parts(at as *const u8, bytes) };
        let align = if notes.align == 8 { 8 } else { 4_usize };
        loop {
            let (head, behind) = rest.split_at_checked(12)?;
            let word = |at: usize| {
                u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]])
            };
            let (name, bytes) = (word(0) as usize, word(4) as usize);
            let at = name.checked_next_multiple_of(align.min(4))?;
            let data = behind.get(at..at.checked_add(bytes)?)?;
            if word(8) == 3 && behind.get(..name) == Some(b"GNU\0") {
                return Some(data);
            }
            rest = behind.get(at + bytes.checked_next_multiple_of(align)?..)?;
        }
    }
}

/// The symbols that a module exports, as addresses of its tables.
pub struct ExportedSymbols {
    strings: u64,
    symbols: u64,
    hashes: u64,
}

/// `Elf64_Sym`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: u64,
    bytes: u64,
}

impl ExportedSymbols {
    /// A function that is defined here: its address in the file, and its bytes.
    ///
    /// Source: `DT_GNU_HASH` as GNU's linker writes it: number of buckets, first symbol, words and
    /// shift of the filter; then the filter, the buckets, and the hashes in chains.
    pub fn function(&self, name: &core::ffi::CStr) -> Option<(u64, u64)> {
        let step = |hash: u32, byte: &u8| hash.wrapping_mul(33).wrapping_add((*byte).into());
        let hash = name.to_bytes().iter().fold(5381, step);
        // SAFETY: the loader reads the same tables of the mapped module in the same way.
        unsafe {
            let [buckets, first, words, shift] = *(self.hashes as *const [u32; 4]);
            if buckets == 0 || words == 0 {
                return None;
            }
            let filter = (self.hashes + 16) as *const u64;
            let word = *filter.add((hash / 64 % words) as usize);
            if word >> (hash % 64) & word >> ((hash >> (shift % 32)) % 64) & 1 == 0 {
                return None;
            }
            let table = filter.add(words as usize).cast::<u32>();
            let chains = table.add(buckets as usize);
            let mut index = *table.add((hash % buckets) as usize);
            if index < first {
                return None;
            }
            loop {
                let there = *chains.add((index - first) as usize);
                let symbol = self.symbol(index);
                if there | 1 == hash | 1 && self.name(symbol) == name {
                    const FUNCTION: u8 = 2;
                    let is_function = symbol.info & 0xf == FUNCTION && symbol.section != 0;
                    return is_function.then_some((symbol.value, symbol.bytes));
                }
                if there & 1 != 0 {
                    return None;
                }
                index += 1;
            }
        }
    }

    /// Whether the module uses a symbol of this name of another one. Symbols that are not defined
    /// are before those in the hash table.
    pub fn uses(&self, name: &core::ffi::CStr) -> bool {
        // SAFETY: as in `function`.
        let [_, first, ..] = unsafe { *(self.hashes as *const [u32; 4]) };
        // SAFETY: these indices are in the table.
        let mut symbols = (1..first).map(|index| unsafe { self.symbol(index) });
        // SAFETY: the names of symbols are in the table of strings.
        symbols.any(|symbol| symbol.section == 0 && unsafe { self.name(symbol) } == name)
    }

    /// # Safety
    /// The index must be in the table.
    unsafe fn symbol(&self, index: u32) -> Symbol {
        // SAFETY: the caller's.
        unsafe { *(self.symbols as *const Symbol).add(index as usize) }
    }

    /// # Safety
    /// The symbol must be one of the table.
    unsafe fn name(&self, symbol: Symbol) -> &core::ffi::CStr {
        let at = (self.strings + u64::from(symbol.name)) as *const core::ffi::c_char;
        // SAFETY: names end with a zero byte.
        unsafe { core::ffi::CStr::from_ptr(at) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls `with` with the module around an address.
    fn around<T>(address: u64, with: impl Fn(&MappedModule<'_>) -> T) -> Option<T> {
        let mut found = None;
        for_each(|module| {
            if module.holds(address) {
                found = Some(with(module));
            }
            found.is_some()
        });
        found
    }

    #[test]
    fn the_program_is_a_module_without_a_path() {
        let here = code_at as *const () as u64;
        let (is_unnamed, (low, high)) =
            around(here, |module| (module.path.is_empty(), module.extent())).expect("is mapped");
        assert!(is_unnamed && (low..high).contains(&here));
        let code = code_at(here).expect("has frame information");
        assert!(code.frames < code.frames_end && code.frames_end <= code.end);
        assert!((low..=high).contains(&code.end));
        assert!(around(1, |_| ()).is_none() && code_at(1).is_none());
        let (adds, subs) = changes().expect("this loader counts");
        assert!(adds > subs);
    }

    #[test]
    fn exported_functions_are_found_where_calls_go() {
        unsafe extern "C" {
            fn qsort();
        }
        let at = qsort as *const () as u64;
        let (bias, function) = around(at, |module| {
            let symbols = module.symbols().expect("has a table");
            assert!(symbols.function(c"no such function").is_none());
            (module.bias, symbols.function(c"qsort"))
        })
        .expect("the C library is mapped");
        let (address, bytes) = function.expect("is exported");
        assert_eq!(bias + address, at);
        assert!(bytes > 0);
        let here = code_at as *const () as u64;
        let is_used = around(here, |module| {
            module
                .symbols()
                .is_some_and(|symbols| symbols.uses(c"qsort"))
        });
        assert_eq!(is_used, Some(true));
    }
}
