//! nvJitLink, the library that links device code while a program runs (Numba and cuda.core use it).
//!
//! The library stays and does all of its work; only the machine code that it makes is of no use
//! here. So each of its links keeps the PTX that goes in, and gives that in place of machine code.
//! Code for link-time optimisation becomes PTX by the library itself (its option `-ptx`).
//!
//! The loader finds functions of the library by its table of symbols. There, ours take the place of
//! seven of the library's, whose own addresses are kept to be called.
//!
//! Source: NVIDIA, *nvJitLink* 13.0.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::sync::Mutex;

use super::hook::write_symbols;
use super::linking::{LinkedPart, is_device_runtime, linked_image};
use super::lock;
use super::memory::text_at;
use super::modules::report_missing;
use super::symbol_tables::{SYMBOL_BYTES, SymbolTable};

/// Libraries that can be loaded at the same time: of two versions of CUDA, for instance.
const MAX_LIBRARIES: usize = 4;

/// The result of a function that did what it should.
const SUCCESS: u32 = 0;

/// What goes into a link (`nvJitLinkInputType`).
const MACHINE_CODE: u32 = 1;
const PTX: u32 = 2;
const FAT_BINARY: u32 = 4;
const LIBRARY: u32 = 6;
const ANY: u32 = 10;

/// The functions that ours take the place of.
const NAMES: [&str; 7] = [
    "nvJitLinkCreate",
    "nvJitLinkDestroy",
    "nvJitLinkAddData",
    "nvJitLinkAddFile",
    "nvJitLinkComplete",
    "nvJitLinkGetLinkedCubinSize",
    "nvJitLinkGetLinkedCubin",
];
/// Functions that are called besides.
const PTX_SIZE: &str = "nvJitLinkGetLinkedPtxSize";
const PTX_TEXT: &str = "nvJitLinkGetLinkedPtx";

type Create = extern "C" fn(*mut usize, u32, *const *const c_char) -> u32;
type Handle = extern "C" fn(*mut usize) -> u32;
type AddData = extern "C" fn(usize, u32, *const u8, usize, *const c_char) -> u32;
type AddFile = extern "C" fn(usize, u32, *const c_char) -> u32;
type Complete = extern "C" fn(usize) -> u32;
type Size = extern "C" fn(usize, *mut usize) -> u32;
type Bytes = extern "C" fn(usize, *mut u8) -> u32;

/// The library's own functions, by name.
type Originals = BTreeMap<&'static str, usize>;

/// A link that the program has begun.
#[derive(Default)]
struct JitLink {
    /// Whether it optimises: the library has made PTX of code for that.
    optimises: bool,
    parts: Vec<LinkedPart>,
    image: Vec<u8>,
}

/// A library that is loaded, and its links by their handles.
struct Library {
    base: u64,
    originals: Originals,
    links: BTreeMap<usize, JitLink>,
}

static LIBRARIES: Mutex<Vec<Library>> = Mutex::new(Vec::new());

/// Functions of ours, in the order of [`NAMES`], for the library of a number.
fn functions<const L: usize>() -> [usize; NAMES.len()] {
    [
        create::<L> as Create as usize,
        destroy::<L> as Handle as usize,
        add_data::<L> as AddData as usize,
        add_file::<L> as AddFile as usize,
        complete::<L> as Complete as usize,
        size::<L> as Size as usize,
        image::<L> as Bytes as usize,
    ]
}

/// The name without the version that headers add: `nvJitLinkCreate` of `__nvJitLinkCreate_13_0`.
fn plain_name(name: &CStr) -> Option<&str> {
    let name = name.to_str().ok()?;
    match name.strip_prefix("__") {
        Some(versioned) => versioned.split('_').next(),
        None => Some(name),
    }
}

/// Takes the place of the library that is at a base, and has these symbols.
pub fn stand_in(table: &SymbolTable, base: u64) {
    let mut libraries = lock(&LIBRARIES);
    // One that was unmapped leaves its place to the next at the same addresses.
    let known = libraries.iter().position(|known| known.base == base);
    let number = known.unwrap_or(libraries.len());
    let ours = match number {
        0 => functions::<0>(),
        1 => functions::<1>(),
        2 => functions::<2>(),
        3 => functions::<3>(),
        _ => return,
    };
    const { assert!(MAX_LIBRARIES == 4) };
    let mut library = Library {
        base,
        originals: Originals::new(),
        links: BTreeMap::new(),
    };
    let mut symbols = Vec::new();
    for function in table.functions() {
        let Some(plain) = plain_name(function.name) else {
            continue;
        };
        let all = NAMES.iter().chain([&PTX_SIZE, &PTX_TEXT]);
        let Some(name) = all.copied().find(|name| *name == plain) else {
            continue;
        };
        let original = base.wrapping_add(function.value) as usize;
        // A name with a version may call that without.
        let is_plain = function.name.to_bytes() == name.as_bytes();
        if is_plain || !library.originals.contains_key(name) {
            library.originals.insert(name, original);
        }
        if let Some(index) = NAMES.iter().position(|known| *known == name) {
            let symbol = base.wrapping_add(table.address) as usize + function.index * SYMBOL_BYTES;
            symbols.push((symbol, (ours[index] as u64).wrapping_sub(base)));
        }
    }
    if library.originals.len() != NAMES.len() + 2 || !write_symbols(&symbols) {
        return;
    }
    // A call of ours waits for the lock until the library is known.
    match known {
        Some(number) => libraries[number] = library,
        None => libraries.push(library),
    }
}

/// The library's own function of a name.
fn original<const L: usize>(name: &str) -> usize {
    let libraries = lock(&LIBRARIES);
    // Our functions of a number are found by the symbols of that library only.
    libraries[L].originals[name]
}

/// Calls the library's own function of a name, of a type, with arguments.
macro_rules! call {
    ($library:ident $name:literal as $type:ty: $($argument:expr),*) => {
        ({
            // SAFETY: the library's function of that name has that type.
            unsafe { std::mem::transmute::<usize, $type>(original::<$library>($name)) }
        })($($argument),*)
    };
}

/// Uses a link, if there is one of that handle.
fn with_link<const L: usize, R>(handle: usize, work: impl FnOnce(&mut JitLink) -> R) -> Option<R> {
    let mut libraries = lock(&LIBRARIES);
    libraries[L].links.get_mut(&handle).map(work)
}

extern "C" fn create<const L: usize>(
    to: *mut usize,
    count: u32,
    options: *const *const c_char,
) -> u32 {
    let mut all = Vec::new();
    for index in 0..count as usize {
        // SAFETY: the program passes that many strings.
        all.push(unsafe { *options.add(index) });
    }
    let has = |wanted: &CStr| {
        let mut options = all.iter().filter(|option| !option.is_null());
        // SAFETY: as above.
        options.any(|option| unsafe { CStr::from_ptr(*option) } == wanted)
    };
    let optimises = has(c"-lto");
    if optimises && !has(c"-ptx") {
        all.push(c"-ptx".as_ptr());
    }
    let status = call!(L "nvJitLinkCreate" as Create: to, all.len() as u32, all.as_ptr());
    if status == SUCCESS {
        let link = JitLink {
            optimises,
            ..JitLink::default()
        };
        // SAFETY: the library has stored the handle there.
        lock(&LIBRARIES)[L].links.insert(unsafe { *to }, link);
    }
    status
}

extern "C" fn destroy<const L: usize>(handle: *mut usize) -> u32 {
    // SAFETY: the program passes the place of a handle, or null.
    if let Some(handle) = unsafe { handle.as_ref() } {
        lock(&LIBRARIES)[L].links.remove(handle);
    }
    call!(L "nvJitLinkDestroy" as Handle: handle)
}

extern "C" fn add_data<const L: usize>(
    handle: usize,
    kind: u32,
    data: *const u8,
    bytes: usize,
    name: *const c_char,
) -> u32 {
    let add = |kind, data: &[u8]| call!(L "nvJitLinkAddData" as AddData: handle, kind, data.as_ptr(), data.len(), name);
    if data.is_null() {
        return add(kind, &[]);
    }
    // SAFETY: the program passes that many bytes.
    let data = unsafe { std::slice::from_raw_parts(data, bytes) };
    // SAFETY: the program passes a string, or null.
    let name_text = unsafe { text_at(name) }.unwrap_or_default();
    let is_device_runtime = kind == LIBRARY && is_device_runtime(name_text.to_bytes());
    let parts = if is_device_runtime {
        vec![LinkedPart::device_runtime()]
    } else {
        LinkedPart::all_of(data)
    };
    // A link that gives PTX takes nothing but code to be optimised.
    let optimises = with_link::<L, _>(handle, |link| link.optimises) == Some(true);
    let is_kept_back = |part: &LinkedPart| optimises && matches!(part, LinkedPart::Ptx(_));
    // What was given as machine code earlier is PTX, or several pieces.
    let is_mapped = matches!(kind, MACHINE_CODE | FAT_BINARY | ANY);
    for part in parts.iter().filter(|part| !is_kept_back(part)) {
        let status = match part {
            // As text, whose zero is a part of it.
            LinkedPart::Ptx(text) if is_mapped => add(PTX, &[text, &b"\0"[..]].concat()),
            LinkedPart::FatBinary(all) if is_mapped => add(FAT_BINARY, all),
            _ => add(kind, data),
        };
        if status != SUCCESS {
            return status;
        }
    }
    if parts.is_empty() {
        return add(kind, data);
    }
    // What the library took is in the PTX that it makes when it optimises.
    let kept = parts
        .into_iter()
        .filter(|part| !optimises || is_kept_back(part));
    with_link::<L, _>(handle, |link| link.parts.extend(kept));
    SUCCESS
}

extern "C" fn add_file<const L: usize>(handle: usize, kind: u32, path: *const c_char) -> u32 {
    let add = || call!(L "nvJitLinkAddFile" as AddFile: handle, kind, path);
    // SAFETY: the program passes a string, or null.
    let Some(name) = (unsafe { text_at(path) }) else {
        return add();
    };
    let file = std::ffi::OsStr::from_bytes(name.to_bytes());
    match std::fs::read(file) {
        Ok(data) if is_device_runtime(name.to_bytes()) || !LinkedPart::all_of(&data).is_empty() => {
            add_data::<L>(handle, kind, data.as_ptr(), data.len(), path)
        }
        _ => add(),
    }
}

/// Links as the library does, so that all of its errors and messages are its own.
extern "C" fn complete<const L: usize>(handle: usize) -> u32 {
    let status = call!(L "nvJitLinkComplete" as Complete: handle);
    let optimises = with_link::<L, _>(handle, |link| link.optimises);
    if status != SUCCESS {
        return status;
    }
    let mut optimised = Vec::new();
    if optimises == Some(true) {
        let mut bytes = 0;
        if call!(L "nvJitLinkGetLinkedPtxSize" as Size: handle, &raw mut bytes) == SUCCESS {
            optimised.resize(bytes, 0);
            call!(L "nvJitLinkGetLinkedPtx" as Bytes: handle, optimised.as_mut_ptr());
        }
    }
    let made = with_link::<L, _>(handle, |link| {
        let mut parts = LinkedPart::all_of(&optimised);
        parts.append(&mut link.parts);
        link.image = linked_image(&parts);
    });
    if made.is_none() {
        report_missing("nvJitLink of a handle that it did not make");
    }
    status
}

extern "C" fn size<const L: usize>(handle: usize, to: *mut usize) -> u32 {
    match with_link::<L, _>(handle, |link| link.image.len()) {
        Some(bytes) if !to.is_null() && bytes > 0 => {
            // SAFETY: the program passes a place for it.
            unsafe { *to = bytes };
            SUCCESS
        }
        _ => call!(L "nvJitLinkGetLinkedCubinSize" as Size: handle, to),
    }
}

extern "C" fn image<const L: usize>(handle: usize, to: *mut u8) -> u32 {
    let image = with_link::<L, _>(handle, |link| link.image.clone());
    match image {
        Some(image) if !to.is_null() && !image.is_empty() => {
            // SAFETY: the program passes a place of as many bytes as `size` said.
            unsafe { std::ptr::copy_nonoverlapping(image.as_ptr(), to, image.len()) };
            SUCCESS
        }
        _ => call!(L "nvJitLinkGetLinkedCubin" as Bytes: handle, to),
    }
}
