//! `cuGetProcAddress`: functions by their names without versions.

use std::ffi::{CStr, CString, c_char};

use super::super::hook::own_symbol;
use super::super::memory::store;
use super::returned;
use crate::status::Status;

/// Functions of which there are several, newest first: from which version of CUDA on, and the
/// symbol.
const VERSIONS: &[(&CStr, &[(i32, &CStr)])] = &[
    (
        c"cuCtxCreate",
        &[
            (12_050, c"cuCtxCreate_v4"),
            (11_040, c"cuCtxCreate_v3"),
            (0, c"cuCtxCreate_v2"),
        ],
    ),
    (
        c"cuGetProcAddress",
        &[(12_000, c"cuGetProcAddress_v2"), (0, c"cuGetProcAddress")],
    ),
];

/// The address of a function, as programs of a version of CUDA call it.
fn find(name: &CStr, version: i32) -> Option<usize> {
    let versions = VERSIONS.iter().find(|known| known.0 == name);
    if let Some((_, versions)) = versions {
        let fits = versions.iter().find(|(from, _)| version >= *from);
        return own_symbol(fits?.1);
    }
    // Of all others, the second version has taken the place of the first, and programs that are
    // old enough for that have other sizes of addresses.
    let second = CString::new([name.to_bytes(), b"_v2"].concat()).ok()?;
    own_symbol(&second).or_else(|| own_symbol(name))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGetProcAddress_v2(
    name: *const c_char,
    to: *mut usize,
    version: i32,
    _flags: u64,
    how: *mut u32,
) -> u32 {
    const FOUND: u32 = 0;
    const NOT_FOUND: u32 = 1;
    if name.is_null() || to.is_null() {
        return Status::INVALID_VALUE.0;
    }
    // SAFETY: the program passes a string.
    let name = unsafe { CStr::from_ptr(name) };
    let found = match name.to_bytes().starts_with(b"cu") {
        true => find(name, version),
        false => None,
    };
    if !how.is_null() {
        let _ = store(how, if found.is_some() { FOUND } else { NOT_FOUND });
    }
    returned(store(to, found.unwrap_or(0)).and_then(|()| found.map(drop).ok_or(Status::NOT_FOUND)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGetProcAddress(
    name: *const c_char,
    to: *mut usize,
    version: i32,
    flags: u64,
) -> u32 {
    cuGetProcAddress_v2(name, to, version, flags, std::ptr::null_mut())
}
