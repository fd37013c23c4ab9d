//! [`cuda_use`]: whether, and how, a program reaches CUDA.

use std::io::Read;
use std::path::Path;

use object::{Object, ObjectSection, ObjectSymbol, ReadCache, ReadRef};
use reuselens_io::open_regular_file;

/// How a program reaches CUDA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CudaUse {
    /// By a shared library: the runtime's, or the driver's.
    Shared,
    /// The runtime is linked into it, and its functions can be found.
    Static,
    /// The runtime is linked into it, and its symbols were stripped.
    Stripped,
    /// By a runtime of another version than 12 or 13, whose structures differ.
    OtherVersion,
}

/// Bytes of files that are read at once.
const READ_AT_ONCE: u64 = 64 << 20;

/// A function of the runtimes before version 12 only.
const OF_OLDER_RUNTIMES: &str = "cudaBindTexture";
/// The libraries of versions 12 and 13.
const LIBRARIES: [&[u8]; 2] = [b"libcudart.so.12\0", b"libcudart.so.13\0"];

/// A name in each program that the CUDA runtime is linked into.
const REGISTER: &str = "__cudaRegisterFatBinary";
/// A section of each program that carries device code.
const SECTIONS: [&str; 2] = [".nvFatBinSegment", ".nv_fatbin"];
/// A function that each program calls that uses the driver's library.
const START: &str = "cuInit";
/// What programs have among their texts that load the driver's library while they run.
const DRIVER_NAMES: [&str; 3] = ["cuInit", "cuLaunchKernel", "cuModuleLoadData"];
/// Bytes of texts that are searched for these.
const MAX_TEXTS: u64 = 16 << 20;

/// How the program at `path` reaches CUDA; `None` if it does not, or is no program that can be
/// read. Cost: files up to 64 MiB are read whole; of larger ones sections' headers
/// and symbols, and the constants of programs that can load libraries.
pub fn cuda_use(path: &Path) -> Option<CudaUse> {
    let (mut file, length) = open_regular_file(path).ok()?;
    if length > READ_AT_ONCE {
        let file = ReadCache::new(file);
        return use_of_file(&object::File::parse(&file).ok()?);
    }
    // At once: names of symbols, one by one, would be two calls of the system each.
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    use_of_file(&object::File::parse(&*bytes).ok()?)
}

fn use_of_file<'a, R: ReadRef<'a>>(object: &object::File<'a, R>) -> Option<CudaUse> {
    let mut imported = object.dynamic_symbols();
    if imported.any(|symbol| symbol.is_undefined() && symbol.name() == Ok(REGISTER)) {
        // The names of the libraries that it needs are among the names of its dynamic symbols.
        let names = object.section_by_name(".dynstr");
        let names = names.and_then(|names| names.data().ok());
        let mut names = names.unwrap_or_default().windows(LIBRARIES[0].len());
        return Some(if names.any(|name| LIBRARIES.contains(&name)) {
            CudaUse::Shared
        } else {
            CudaUse::OtherVersion
        });
    }
    let mut imported = object.dynamic_symbols();
    if imported.any(|symbol| symbol.is_undefined() && symbol.name() == Ok(START)) {
        return Some(CudaUse::Shared);
    }
    let mut defines = false;
    for symbol in object.symbols() {
        match symbol.name() {
            Ok(OF_OLDER_RUNTIMES) => return Some(CudaUse::OtherVersion),
            Ok(REGISTER) => defines |= symbol.is_definition(),
            _ => {}
        }
    }
    let mut sections = SECTIONS.iter();
    let mut carries = || sections.any(|name| object.section_by_name(name).is_some());
    if defines {
        Some(CudaUse::Static)
    } else if carries() {
        Some(CudaUse::Stripped)
    } else {
        loads_driver(object).then_some(CudaUse::Shared)
    }
}

/// How a library with device code reaches CUDA; `None` if it has none, or cannot be served: its
/// program may do without it.
pub fn library_use(path: &Path) -> Option<CudaUse> {
    let (file, _) = open_regular_file(path).ok()?;
    let file = ReadCache::new(file);
    let object = object::File::parse(&file).ok()?;
    SECTIONS
        .iter()
        .find_map(|name| object.section_by_name(name))?;
    // Most libraries have none, and are not read; the symbols of one are read at once.
    let found = cuda_use(path);
    found.filter(|found| matches!(found, CudaUse::Shared | CudaUse::Static))
}

/// Whether a program loads the driver's library while it runs, as far as its texts tell.
fn loads_driver<'a>(object: &impl Object<'a>) -> bool {
    let mut imported = object.dynamic_symbols();
    if !imported.any(|symbol| symbol.is_undefined() && symbol.name() == Ok("dlsym")) {
        return false;
    }
    let texts = object.section_by_name(".rodata");
    let texts = texts.filter(|section| section.size() <= MAX_TEXTS);
    let texts = texts.and_then(|section| section.data().ok());
    let texts = texts.unwrap_or_default();
    DRIVER_NAMES.iter().all(|name| {
        let mut places = texts.windows(name.len());
        places.any(|place| place == name.as_bytes())
    })
}
