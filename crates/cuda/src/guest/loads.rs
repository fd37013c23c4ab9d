//! Libraries that the program loads while it runs (`dlopen`), as Python loads its modules.
//!
//! The loader calls a function of its own, which does nothing, whenever it has mapped or unmapped
//! libraries, for debuggers to stop at (`r_brk`, see `link.h`). This puts a jump to our function
//! there. It runs before the constructors of what was loaded, and looks for libraries of CUDA's:
//!
//! - a runtime, linked in or shared: its functions get jumps to ours;
//! - NVRTC: its machine code becomes PTX ([`give_ptx`]);
//! - nvJitLink: so does its ([`jit_links`]).

use std::ffi::{CStr, c_void};
use std::sync::Mutex;

use super::hook::{self, JUMP_BYTES, REGISTER};
use super::jit_links;
use super::lock;
use super::python;
use super::symbol_tables::{SymbolTable, tables_with};

/// What the loader shows debuggers (`r_debug`).
#[repr(C)]
struct LoaderState {
    version: i32,
    modules: *const c_void,
    /// The function that is called at each change.
    changed: usize,
    /// 0 when no change is going on.
    change: i32,
}

/// Names that only NVRTC, and only nvJitLink has.
const NVRTC: &[u8] = b"\0nvrtcGetCUBIN\0";
const NVJITLINK: &[u8] = b"\0nvJitLinkCreate\0";

/// The files that were mapped at the last change, by path and base, and the handle of this library.
static SEEN: Mutex<(Vec<(Vec<u8>, u64)>, usize)> = Mutex::new((Vec::new(), 0));

/// What the loader shows debuggers. The loader changes it, so it is only read by its address.
fn loader_state() -> Option<*const LoaderState> {
    Some(hook::symbol_of_any(c"_r_debug")?.cast())
}

/// Looks at the libraries of the program, and from now on at those that it loads. `own` is the
/// handle of this library.
pub fn begin(own: *mut c_void) {
    lock(&SEEN).1 = own as usize;
    look();
    let Some(state) = loader_state() else { return };
    // SAFETY: the loader's structure, which is there for as long as the process.
    let to_change = unsafe { (&raw const (*state).changed).read_volatile() };
    if is_empty_function(to_change) {
        let changed = changed as extern "C" fn() as usize;
        hook::jump(&mut [(to_change, changed)]);
    }
}

/// Whether a function does nothing but return, with nothing but fillers after it up to where a jump
/// ends.
fn is_empty_function(address: usize) -> bool {
    const RET: u8 = 0xc3;
    const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
    /// The bytes of `nop` in all its lengths, and of `int3`.
    const FILLERS: [u8; 11] = [
        0x90, 0x66, 0x2e, 0x0f, 0x1f, 0x40, 0x44, 0x80, 0x84, 0x00, 0xcc,
    ];
    if address == 0 || !address.is_multiple_of(16) {
        return false;
    }
    // SAFETY: code of the loader; a page of it has the 16 bytes to the next address of a function.
    let code = unsafe { &*(address as *const [u8; JUMP_BYTES]) };
    let code = code.strip_prefix(&ENDBR64).unwrap_or(code);
    match code {
        [RET, rest @ ..] => rest.iter().all(|byte| FILLERS.contains(byte)),
        _ => false,
    }
}

/// Called by the loader.
extern "C" fn changed() {
    // SAFETY: as above. The loader has written it before this call.
    let change =
        |state: *const LoaderState| unsafe { (&raw const (*state).change).read_volatile() };
    if loader_state().map(change) == Some(0) {
        look();
    }
}

/// Looks at files that are new.
fn look() {
    python::look();
    let files = hook::mapped_files();
    let (before, own) = {
        let mut seen = lock(&SEEN);
        (std::mem::replace(&mut seen.0, files.clone()), seen.1)
    };
    let is_first = before.is_empty();
    for file in files.iter().filter(|file| !before.contains(file)) {
        let tables = tables_with(&file.0, &[REGISTER, NVRTC, NVJITLINK]);
        for table in tables.unwrap_or_default() {
            serve(&table, file.1, own as *mut c_void, is_first);
        }
    }
}

/// Serves a library that was loaded.
fn serve(table: &SymbolTable, base: u64, own: *mut c_void, is_first: bool) {
    let find = |name: &CStr| table.functions().find(|function| function.name == name);
    let is_own = |function: u64| {
        let own = hook::own_function(own, c"__cudaRegisterFatBinary");
        own.is_some_and(|own| own as u64 == base.wrapping_add(function))
    };
    if let Some(register) = find(c"__cudaRegisterFatBinary") {
        // Runtimes that the program is linked with have been redirected already.
        if !is_first && !is_own(register.value) {
            hook::redirect_runtime(table, base, own);
        }
    }
    if find(c"nvrtcGetCUBIN").is_some() {
        give_ptx(table, base);
    }
    if table.is_dynamic && find(c"nvJitLinkCreate").is_some() {
        jit_links::stand_in(table, base);
    }
}

/// Makes the functions of NVRTC that give machine code give the PTX that it was made of, which
/// NVRTC has for each program that it compiles to machine code.
fn give_ptx(table: &SymbolTable, base: u64) {
    const SAME: [(&CStr, &CStr); 2] = [
        (c"nvrtcGetCUBIN", c"nvrtcGetPTX"),
        (c"nvrtcGetCUBINSize", c"nvrtcGetPTXSize"),
    ];
    let address = |name: &CStr| {
        let mut functions = table.functions();
        let function = functions.find(|function| function.name == name)?;
        let has_room = function.bytes >= JUMP_BYTES as u64;
        has_room.then(|| base.wrapping_add(function.value) as usize)
    };
    let both = SAME.map(|(machine_code, ptx)| address(machine_code).zip(address(ptx)));
    // Both or none: a size goes with its text.
    if let [Some(text), Some(size)] = both {
        hook::jump(&mut [text, size]);
    }
}
