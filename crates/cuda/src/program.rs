//! [`cuda_use`]: whether, and how, a program reaches CUDA.

use std::path::Path;

use object::{Object, ObjectSection, ObjectSymbol};

/// How a program reaches CUDA's runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CudaUse {
    /// By a shared library.
    Shared,
    /// The runtime is linked into it, and its functions can be found.
    Static,
    /// The runtime is linked into it, and its symbols were stripped.
    Stripped,
    /// By a runtime of another version than 13, whose structures differ.
    OtherVersion,
}

/// A function of the runtimes before version 13 only.
const OF_OLDER_RUNTIMES: &str = "cudaGetDeviceProperties_v2";
/// The library of version 13.
const LIBRARY: &[u8] = b"libcudart.so.13\0";

/// A name in each program that the CUDA runtime is linked into.
const REGISTER: &str = "__cudaRegisterFatBinary";
/// A section of each program that carries device code.
const SECTIONS: [&str; 2] = [".nvFatBinSegment", ".nv_fatbin"];
/// How the program at `path` reaches CUDA; `None` if it does not, or is no program that can be
/// read. Cost: the file is mapped or read once.
pub fn cuda_use(path: &Path) -> Option<CudaUse> {
    let (_, bytes) = reuselens_io::read_object_file(path).ok()?;
    let object = object::File::parse(&*bytes).ok()?;
    let carries = SECTIONS
        .iter()
        .any(|name| object.section_by_name(name).is_some());
    let has = |symbol: object::Symbol<'_, '_>| symbol.name() == Ok(REGISTER);
    let is_imported = |symbol: object::Symbol<'_, '_>| symbol.is_undefined() && has(symbol);
    if object.dynamic_symbols().any(is_imported) {
        // The names of the libraries that it needs are among the names of its dynamic symbols.
        let names = object.section_by_name(".dynstr");
        let names = names
            .and_then(|names| names.data().ok())
            .unwrap_or_default();
        let is_13 = names.windows(LIBRARY.len()).any(|name| name == LIBRARY);
        return Some(match is_13 {
            true => CudaUse::Shared,
            false => CudaUse::OtherVersion,
        });
    }
    let is_older = |symbol: object::Symbol<'_, '_>| symbol.name() == Ok(OF_OLDER_RUNTIMES);
    if object.symbols().any(is_older) {
        return Some(CudaUse::OtherVersion);
    }
    let is_defined = |symbol: object::Symbol<'_, '_>| symbol.is_definition() && has(symbol);
    let defines = object.symbols().any(is_defined);
    match (defines, carries) {
        (true, _) => Some(CudaUse::Static),
        (false, true) => Some(CudaUse::Stripped),
        (false, false) => None,
    }
}
