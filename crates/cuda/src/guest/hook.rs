//! Programs, and libraries of programs, that the CUDA runtime is linked into. Their calls never
//! look for a library: this puts a jump to our function at the entry of each of theirs, before the
//! program's own code runs.

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

use reuselens_guest::modules;

use super::heap;
use super::loads;
use super::symbol_tables::{FunctionSymbol, SymbolTable, contains, tables_with};

#[link(name = "c")]
unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlopen(name: *const c_char, flags: i32) -> *mut c_void;
    fn dladdr(address: *const c_void, place: *mut DlInfo) -> i32;
    fn mprotect(address: *mut c_void, bytes: usize, protection: i32) -> i32;
}

/// A name that each runtime has, between the zeros of a table of names.
pub const REGISTER: &[u8] = b"\0__cudaRegisterFatBinary\0";
/// Parts of the names of functions that register kernels when a file is loaded: nvcc's, clang's.
const STARTS: [&[u8]; 2] = [b"__sti____cudaRegisterAll", b"__cuda_module_ctor"];
/// Readable, writable, executable.
const ALL_RIGHTS: i32 = 7;
/// Readable, executable.
const CODE_RIGHTS: i32 = 5;
const PAGE: usize = 4096;
/// Flags of `dlopen`: resolve functions at their first call; find what is loaded, and load nothing.
const RTLD_LAZY: i32 = 1;
const RTLD_NOLOAD: i32 = 4;

/// A function that the static runtime of CUDA 12 has, and that of CUDA 13 has not.
const OF_CUDA_12: &CStr = c"cudaGetDeviceProperties_v2";
/// The name of the shared runtime of CUDA 12.
const LIBRARY_OF_CUDA_12: &CStr = c"libcudart.so.12";
/// Whether the program has the runtime of CUDA 12 linked in.
static HAS_CUDA_12: AtomicBool = AtomicBool::new(false);

/// Run by the loader, before the start-up code of the program registers its kernels.
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

extern "C" fn begin() {
    let Some(own) = own_handle() else {
        return;
    };
    redirect(own);
    loads::begin(own);
    heap::begin();
}

/// Redirects the functions of all runtimes that are linked into the program and its libraries.
fn redirect(own: *mut c_void) {
    // The files first: the list of modules is locked while it is looked through.
    for (index, (path, bias)) in mapped_files().into_iter().enumerate() {
        // Without a symbol table there is nothing to be done; the analysing process has said so.
        let tables = tables_with(&path, &[REGISTER]).unwrap_or_default();
        for table in tables.iter().filter(|table| !table.is_dynamic) {
            let starts = redirect_runtime(table, bias, own);
            // Start-up code of libraries has run before this library's, and registered with theirs.
            for start in starts.into_iter().filter(|_| index > 0) {
                // SAFETY: the compiler's function for just that, without arguments.
                unsafe { std::mem::transmute::<usize, extern "C" fn()>(start)() };
            }
        }
    }
}

/// The files of the program, itself first: path, and what to add to an address of the file.
pub fn mapped_files() -> Vec<(Vec<u8>, u64)> {
    let mut files = Vec::new();
    modules::for_each(|module| {
        let path = match module.path {
            // Not its path: the file may have another one by now, or none. By the thread, as in
            // `sys::executable`.
            [] => b"/proc/thread-self/exe",
            path => path,
        };
        files.push((path.to_vec(), module.bias));
        false
    });
    files
}

/// Redirects all functions of a file's runtime that are here; where its functions are that register
/// kernels.
pub fn redirect_runtime(table: &SymbolTable, base: u64, own: *mut c_void) -> Vec<usize> {
    let (mut starts, mut jumps) = (Vec::new(), Vec::new());
    for FunctionSymbol {
        name, value, bytes, ..
    } in table.functions()
    {
        // One that has no room for a jump is none of CUDA's.
        if bytes < JUMP_BYTES as u64 {
            continue;
        }
        let address = base.wrapping_add(value) as usize;
        let is_start = STARTS.iter().any(|start| contains(name.to_bytes(), start));
        starts.extend(is_start.then_some(address));
        jumps.extend(own_function_for(name, own).map(|function| (address, function)));
    }
    jump(&mut jumps);
    starts
}

/// Our function that takes the place of one of CUDA's, if there is one.
fn own_function_for(name: &CStr, own: *mut c_void) -> Option<usize> {
    let is_cuda = [&b"cuda"[..], b"__cuda"];
    let mut begins = is_cuda.iter();
    if !begins.any(|begin| name.to_bytes().starts_with(begin)) {
        return None;
    }
    let function = own_function(own, name)?;
    if name == OF_CUDA_12 {
        HAS_CUDA_12.store(true, Ordering::Relaxed);
    }
    Some(function as usize)
}

/// Puts jumps at functions of one file: where each is, and to where. Code that is near each other
/// is made writable at once, since the system changes rights of a range in about the time of those
/// of a page.
pub fn jump(jumps: &mut [(usize, usize)]) {
    jumps.sort_unstable();
    let is_near = |a: &(usize, usize), b: &(usize, usize)| b.0 - a.0 <= NEAR_BYTES;
    for group in jumps.chunk_by(is_near) {
        // A range with a hole in it is refused.
        if !jump_in_range(group) {
            for one in group {
                jump_in_range(std::slice::from_ref(one));
            }
        }
    }
}

/// Puts jumps at functions, ascending by address, all pages from the first to the last of which are
/// code; false if their rights cannot be changed.
fn jump_in_range(jumps: &[(usize, usize)]) -> bool {
    let (Some((first, _)), Some((last, _))) = (jumps.first(), jumps.last()) else {
        return true;
    };
    let page = first & !(PAGE - 1);
    let bytes = (last + JUMP_BYTES).next_multiple_of(PAGE) - page;
    // SAFETY: these pages are code of the program or a library, which has not begun to run.
    if unsafe { mprotect(page as *mut c_void, bytes, ALL_RIGHTS) } != 0 {
        return false;
    }
    for &(entry, function) in jumps {
        let mut jump = [0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0];
        jump[2..10].copy_from_slice(&(function as u64).to_le_bytes());
        // SAFETY: as above; the function has that many bytes, by its symbol.
        unsafe { std::ptr::copy_nonoverlapping(jump.as_ptr(), entry as *mut u8, JUMP_BYTES) };
    }
    // SAFETY: as above.
    unsafe { mprotect(page as *mut c_void, bytes, CODE_RIGHTS) };
    true
}

/// Gives symbols of a loaded table other values, all of them or none: where each is, and its value.
/// False if a page of theirs cannot be written.
pub fn write_symbols(symbols: &[(usize, u64)]) -> bool {
    let maps = std::fs::read("/proc/self/maps").unwrap_or_default();
    let maps = String::from_utf8_lossy(&maps);
    let mut written = Vec::new();
    for &(symbol, value) in symbols {
        if let Some(before) = write_symbol(&maps, symbol, value) {
            written.push((symbol, before));
            continue;
        }
        for (symbol, before) in written.into_iter().rev() {
            // Its page was written a moment ago.
            let _ = write_symbol(&maps, symbol, before);
        }
        return false;
    }
    true
}

/// Gives a symbol another value; the one before, or `None` if its page cannot be written.
fn write_symbol(maps: &str, symbol: usize, value: u64) -> Option<u64> {
    const VALUE: usize = 8;
    const WRITABLE: i32 = 2;
    let at = symbol + VALUE;
    let page = at & !(PAGE - 1);
    let bytes = (at + size_of::<u64>()).next_multiple_of(PAGE) - page;
    let rights = rights_at(maps, at)?;
    // SAFETY: the table is in pages of a loaded file that the loader only reads. Each keeps its
    // rights meanwhile and afterwards: it may have code too, which other threads run.
    unsafe {
        if mprotect(page as *mut c_void, bytes, rights | WRITABLE) != 0 {
            return None;
        }
        let before = (at as *const u64).read_unaligned();
        (at as *mut u64).write_unaligned(value);
        mprotect(page as *mut c_void, bytes, rights);
        Some(before)
    }
}

/// The rights of the page around an address, as `mprotect` takes them, by the system's list of
/// mapped pages (`/proc/self/maps`).
fn rights_at(maps: &str, address: usize) -> Option<i32> {
    maps.lines().find_map(|line| {
        let mut words = line.split(' ');
        let (begin, end) = words.next()?.split_once('-')?;
        let number = |text| usize::from_str_radix(text, 16).ok();
        let is_around = (number(begin)?..number(end)?).contains(&address);
        let letters = words.next().filter(|_| is_around)?.bytes();
        Some(letters.fold(0, |rights, letter| {
            rights
                | match letter {
                    b'r' => 1,
                    b'w' => 2,
                    b'x' => 4,
                    _ => 0,
                }
        }))
    })
}

/// Whether the program was made for CUDA 12: it has that runtime linked in, or names its library.
pub fn is_cuda_12() -> bool {
    let is_loaded = || {
        // SAFETY: a string. What is found is a library of ours that stays loaded.
        let library = unsafe { dlopen(LIBRARY_OF_CUDA_12.as_ptr(), RTLD_LAZY | RTLD_NOLOAD) };
        !library.is_null()
    };
    HAS_CUDA_12.load(Ordering::Relaxed) || is_loaded()
}

/// `mov rax, address; jmp rax`.
pub const JUMP_BYTES: usize = 12;
/// Functions of a runtime follow each other; between those that are further apart may be other
/// pages than code.
const NEAR_BYTES: usize = 64 << 10;

/// The address of our function of a name.
pub fn own_symbol(name: &CStr) -> Option<usize> {
    Some(own_function(own_handle()?, name)? as usize)
}

/// What the loader, or any library of the program, has by a name.
pub fn symbol_of_any(name: &CStr) -> Option<*mut c_void> {
    /// The handle that stands for all libraries.
    const ALL: *mut c_void = std::ptr::null_mut();
    symbol_in(ALL, name)
}

/// Our function of a name.
pub fn own_function(own: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    symbol_in(own, name)
}

fn symbol_in(library: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a handle of a library that is loaded, or of all, and a string.
    let found = unsafe { dlsym(library, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// The answer of `dladdr` (`Dl_info`).
#[repr(C)]
struct DlInfo {
    file: *const c_char,
    base: *mut c_void,
    symbol: *const c_char,
    address: *mut c_void,
}

/// What the loader knows of an address.
pub struct LoadedPlace {
    pub file: &'static CStr,
    /// The function that it exports nearest before the address.
    pub symbol: Option<&'static CStr>,
}

/// What the loader knows of an address; `None` for code of no file.
pub fn place_of(address: usize) -> Option<LoadedPlace> {
    let mut place = DlInfo {
        file: std::ptr::null(),
        base: std::ptr::null_mut(),
        symbol: std::ptr::null(),
        address: std::ptr::null_mut(),
    };
    // SAFETY: room for the answer.
    if unsafe { dladdr(address as *const c_void, &raw mut place) } == 0 || place.file.is_null() {
        return None;
    }
    // SAFETY: strings of the loader, which stay while the file is loaded.
    let text = |text| unsafe { CStr::from_ptr(text) };
    let symbol = (!place.symbol.is_null()).then_some(place.symbol);
    Some(LoadedPlace {
        file: text(place.file),
        symbol: symbol.map(text),
    })
}

/// The handle of this library, by which its functions are found and no other's of the same name.
fn own_handle() -> Option<*mut c_void> {
    let place = place_of(begin as *const () as usize)?;
    // SAFETY: the name by which the library was loaded.
    let handle = unsafe { dlopen(place.file.as_ptr(), RTLD_LAZY | RTLD_NOLOAD) };
    (!handle.is_null()).then_some(handle)
}
