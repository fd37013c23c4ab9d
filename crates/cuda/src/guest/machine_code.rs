//! Libraries of machine code (cuBLAS and the like): no kernel of theirs runs here. Their functions
//! return errors of their own because one of CUDA's functions did, so that one's report names them.

use std::ffi::CStr;

use super::call_paths;
use super::hook::{self, LoadedPlace};

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
    let place = place_before(address)?;
    let text = |text: &CStr| String::from_utf8_lossy(text.to_bytes()).into_owned();
    let file = file_name(&place);
    is_library(file).then(|| {
        let function = place.symbol.map_or_else(|| "a function".to_owned(), text);
        (function, String::from_utf8_lossy(file).into_owned())
    })
}

/// Whether a file of a name is such a library.
pub fn is_library(file: &[u8]) -> bool {
    LIBRARIES.iter().any(|library| file.starts_with(library))
}

/// The name of the file whose code called a function of this library.
pub fn caller() -> Option<String> {
    let own = hook::place_of(caller as *const () as usize)?;
    let addresses = call_paths::return_addresses().into_iter();
    let mut places = addresses.filter_map(place_before);
    let place = places.find(|place| place.file != own.file)?;
    Some(String::from_utf8_lossy(file_name(&place)).into_owned())
}

/// What the loader knows of the call that an address returns from.
fn place_before(address: u64) -> Option<LoadedPlace> {
    hook::place_of(address.checked_sub(1)? as usize)
}

fn file_name(place: &LoadedPlace) -> &'static [u8] {
    let mut parts = place.file.to_bytes().rsplit(|byte| *byte == b'/');
    parts.next().unwrap_or_default()
}
