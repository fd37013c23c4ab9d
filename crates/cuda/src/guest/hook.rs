//! Programs that the CUDA runtime is linked into. Their calls never look for a library: this puts a
//! jump to our function at the entry of each of theirs, before the program's own code runs.

use std::ffi::{CStr, c_char, c_void};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};

use super::heap;
use crate::little_endian::{u16_at, u32_at, u64_at};

#[link(name = "c")]
unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlopen(name: *const c_char, flags: i32) -> *mut c_void;
    fn dladdr(address: *const c_void, place: *mut Where) -> i32;
    fn getauxval(kind: u64) -> u64;
    fn mprotect(address: *mut c_void, bytes: usize, protection: i32) -> i32;
}

/// The auxiliary vector's entry for the program's headers.
const AT_PHDR: u64 = 3;
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
    // Without a symbol table there is nothing to be done; the analysing process has said so.
    let _ = redirect();
    heap::begin();
}

/// Redirects all functions of the program that are here; how many.
fn redirect() -> Option<usize> {
    let own = own_handle()?;
    let file = std::fs::File::open("/proc/self/exe").ok()?;
    let read = |at: u64, bytes: u64| {
        let mut room = vec![
            0;
            usize::try_from(bytes)
                .ok()
                .filter(|&bytes| bytes < 1 << 30)?
        ];
        file.read_exact_at(&mut room, at).ok()?;
        Some(room)
    };
    let head = read(0, 64)?;
    let (phoff, shoff) = (u64_at(&head, 32)?, u64_at(&head, 40)?);
    let sections = read(shoff, u64::from(u16_at(&head, 60)?) * 64)?;
    // SAFETY: asks for a number.
    let base = (unsafe { getauxval(AT_PHDR) }).wrapping_sub(header_address(&read, phoff, &head)?);
    let mut redirected = 0;
    for section in sections.chunks_exact(64) {
        const SHT_SYMTAB: u32 = 2;
        if u32_at(section, 4)? != SHT_SYMTAB {
            continue;
        }
        let names = u32_at(section, 40)? as usize;
        let names = sections.get(64 * names..)?;
        let names = read(u64_at(names, 24)?, u64_at(names, 32)?)?;
        let symbols = read(u64_at(section, 24)?, u64_at(section, 32)?)?;
        for symbol in symbols.chunks_exact(24) {
            redirected += usize::from(redirect_one(symbol, &names, base, own).is_some());
        }
    }
    Some(redirected)
}

/// The address that the program's headers were linked for.
fn header_address(
    read: &impl Fn(u64, u64) -> Option<Vec<u8>>,
    phoff: u64,
    head: &[u8],
) -> Option<u64> {
    const PT_LOAD: u32 = 1;
    let headers = read(phoff, u64::from(u16_at(head, 56)?) * 56)?;
    headers.chunks_exact(56).find_map(|header| {
        let (offset, address) = (u64_at(header, 8)?, u64_at(header, 16)?);
        let holds = offset <= phoff && phoff < offset + u64_at(header, 32)?;
        (u32_at(header, 0)? == PT_LOAD && holds).then(|| address + phoff - offset)
    })
}

fn redirect_one(symbol: &[u8], names: &[u8], base: u64, own: *mut c_void) -> Option<()> {
    const STT_FUNC: u8 = 2;
    let value = u64_at(symbol, 8)?;
    let is_function = symbol[4] & 15 == STT_FUNC && u16_at(symbol, 6)? != 0 && value != 0;
    if !is_function || u64_at(symbol, 16)? < JUMP_BYTES as u64 {
        return None;
    }
    let name = CStr::from_bytes_until_nul(names.get(u32_at(symbol, 0)? as usize..)?).ok()?;
    let is_cuda = [&b"cuda"[..], b"__cuda"];
    if !is_cuda
        .iter()
        .any(|begin| name.to_bytes().starts_with(begin))
    {
        return None;
    }
    let function = own_function(own, name)?;
    if name == OF_CUDA_12 {
        HAS_CUDA_12.store(true, Ordering::Relaxed);
    }
    let entry = base.wrapping_add(value) as usize;
    let page = entry & !(PAGE - 1);
    let bytes = (entry + JUMP_BYTES).next_multiple_of(PAGE) - page;
    // SAFETY: these pages are code of the program, which has not begun to run.
    if unsafe { mprotect(page as *mut c_void, bytes, ALL_RIGHTS) } != 0 {
        return None;
    }
    let mut jump = [0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0];
    jump[2..10].copy_from_slice(&(function as u64).to_le_bytes());
    // SAFETY: as above; the function has that many bytes, by its symbol.
    unsafe { std::ptr::copy_nonoverlapping(jump.as_ptr(), entry as *mut u8, JUMP_BYTES) };
    // SAFETY: as above.
    unsafe { mprotect(page as *mut c_void, bytes, CODE_RIGHTS) };
    Some(())
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
const JUMP_BYTES: usize = 12;

/// The address of our function of a name.
pub fn own_symbol(name: &CStr) -> Option<usize> {
    Some(own_function(own_handle()?, name)? as usize)
}

/// Our function of a name.
fn own_function(own: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a handle of a library that is loaded, and a string.
    let found = unsafe { dlsym(own, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// The answer of `dladdr`.
#[repr(C)]
struct Where {
    file: *const c_char,
    base: *mut c_void,
    symbol: *const c_char,
    address: *mut c_void,
}

/// The handle of this library, by which its functions are found and no other's of the same name.
fn own_handle() -> Option<*mut c_void> {
    let mut place = Where {
        file: std::ptr::null(),
        base: std::ptr::null_mut(),
        symbol: std::ptr::null(),
        address: std::ptr::null_mut(),
    };
    // SAFETY: an address in this library, and room for the answer.
    if unsafe { dladdr(begin as *const c_void, &raw mut place) } == 0 || place.file.is_null() {
        return None;
    }
    // SAFETY: the name by which the library was loaded.
    let handle = unsafe { dlopen(place.file, RTLD_LAZY | RTLD_NOLOAD) };
    (!handle.is_null()).then_some(handle)
}
