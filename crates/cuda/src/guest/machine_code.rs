//! Libraries of machine code (cuBLAS and the like): no kernel of theirs runs here. Their functions
//! return errors of their own because one of CUDA's functions did, so that one's report names them.

use std::ffi::CStr;

use super::call_paths;
use super::hook;

/// What the files of such libraries are called, up to their version.
const LIBRARIES: [&[u8]; 12] = [
    b"libcublas.so",
    b"libcublasLt.so",
    b"libcudnn",
    b"libcufft.so",
    b"libcufftw.so",
    b"libcurand.so",
    b"libcusolver",
    b"libcusparse",
    b"libcutensor",
    b"libnccl.so",
    b"libnpp",
    b"libnvjpeg.so",
];

/// A function that is not provided, with the function of such a library that needs it, if one does.
pub fn with_library(name: &str) -> String {
    match call_paths::return_addresses()
        .into_iter()
        .rev()
        .find_map(of_library)
    {
        Some((function, library)) => {
            format!("{name}, called by {function} of {library}, a library of machine code")
        }
        None => name.to_owned(),
    }
}

/// The function and the library that an address returns to, if it is such a library.
fn of_library(address: u64) -> Option<(String, String)> {
    let place = hook::place_of(address.checked_sub(1)? as usize)?;
    let text = |text: &CStr| String::from_utf8_lossy(text.to_bytes()).into_owned();
    let path = place.file.to_bytes();
    let file = path.rsplit(|byte| *byte == b'/').next()?;
    let is_known = LIBRARIES.iter().any(|library| file.starts_with(library));
    is_known.then(|| {
        let function = place.symbol.map_or_else(|| "a function".to_owned(), text);
        (function, String::from_utf8_lossy(file).into_owned())
    })
}
