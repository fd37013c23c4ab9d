//! `cuGetProcAddress`: functions by their names without versions.

use std::ffi::{CStr, CString, c_char};

use super::super::hook::own_symbol;
use super::super::machine_code;
use super::super::memory::{store, store_if_wanted};
use super::super::modules::report_missing;
use super::returned;
use crate::status::Status;

/// Functions whose later versions take other arguments than the earlier ones: name, and from which
/// version of CUDA on which ending of it. The version that a program asks for decides, for it
/// passes the arguments of that one. Where the ending is not here, the function is not provided.
///
/// Source: `cudaTypedefs.h` of CUDA 13.0.
const VERSIONS: &[(&str, &[(i32, &str)])] = &[
    (
        "cuCtxCreate",
        &[(12_050, "_v4"), (11_040, "_v3"), (0, "_v2")],
    ),
    ("cuCtxGetDevice", &[(13_000, "_v2"), (0, "")]),
    ("cuCtxSynchronize", &[(13_000, "_v2"), (0, "")]),
    ("cuGetProcAddress", &[(12_000, "_v2"), (0, "")]),
    ("cuGraphAddDependencies", &[(12_030, "_v2"), (0, "")]),
    ("cuGraphAddKernelNode", &[(12_000, "_v2"), (0, "")]),
    ("cuGraphAddNode", &[(12_030, "_v2"), (0, "")]),
    (
        "cuGraphExecKernelNodeSetParams",
        &[(12_000, "_v2"), (0, "")],
    ),
    ("cuGraphExecUpdate", &[(12_000, "_v2"), (0, "")]),
    ("cuGraphGetEdges", &[(12_030, "_v2"), (0, "")]),
    // Before CUDA 12, it had no flags but places for an error.
    (
        "cuGraphInstantiate",
        &[(12_000, "WithFlags"), (11_000, "_v2"), (0, "")],
    ),
    ("cuGraphKernelNodeGetParams", &[(12_000, "_v2"), (0, "")]),
    ("cuGraphKernelNodeSetParams", &[(12_000, "_v2"), (0, "")]),
    ("cuGraphNodeGetDependencies", &[(12_030, "_v2"), (0, "")]),
    ("cuGraphNodeGetDependentNodes", &[(12_030, "_v2"), (0, "")]),
    ("cuGraphRemoveDependencies", &[(12_030, "_v2"), (0, "")]),
    ("cuMemAdvise", &[(12_020, "_v2"), (0, "")]),
    ("cuMemPrefetchAsync", &[(12_020, "_v2"), (0, "")]),
    ("cuMemcpy3DBatchAsync", &[(13_000, "_v2"), (0, "")]),
    ("cuMemcpyBatchAsync", &[(13_000, "_v2"), (0, "")]),
    ("cuStreamBatchMemOp", &[(11_070, "_v2"), (0, "")]),
    (
        "cuStreamGetCaptureInfo",
        &[(12_030, "_v3"), (11_030, "_v2"), (0, "")],
    ),
    ("cuStreamGetCtx", &[(12_050, "_v2"), (0, "")]),
    (
        "cuStreamUpdateCaptureDependencies",
        &[(12_030, "_v2"), (0, "")],
    ),
];

/// The address of a function, as programs of a version of CUDA call it.
fn find(name: &CStr, version: i32) -> Option<usize> {
    let ending = |ending: &str| {
        let bytes = [name.to_bytes(), ending.as_bytes()].concat();
        own_symbol(&CString::new(bytes).ok()?)
    };
    let versions = VERSIONS
        .iter()
        .find(|known| known.0.as_bytes() == name.to_bytes());
    if let Some((_, versions)) = versions {
        let fits = versions.iter().find(|(from, _)| version >= *from);
        return ending(fits?.1);
    }
    // Of all others, the second version has taken the place of the first: it takes the same
    // arguments, or the first is of programs that are old enough for other sizes of addresses.
    ending("_v2").or_else(|| own_symbol(name))
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
    let found = if name.to_bytes().starts_with(b"cu") {
        find(name, version)
    } else {
        None
    };
    store_if_wanted(how, if found.is_some() { FOUND } else { NOT_FOUND });
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

/// Tables of functions without names, which the driver has for CUDA's own libraries. Compilers
/// among these do without; a runtime does not, and the report says whose runtime it is.
#[unsafe(no_mangle)]
pub extern "C" fn cuGetExportTable(to: *mut usize, _which: usize) -> u32 {
    let _ = store(to, 0);
    match machine_code::caller() {
        Some(caller) if COMPILERS.iter().any(|name| caller.starts_with(name)) => {}
        Some(caller) if !machine_code::is_library(caller.as_bytes()) => report_missing(&format!(
            "cuGetExportTable, called by a runtime of CUDA in {caller} whose symbols are stripped"
        )),
        _ => report_missing("cuGetExportTable"),
    }
    Status::NOT_SUPPORTED.0
}

/// What the files of libraries are called that compile and link device code.
const COMPILERS: [&str; 3] = ["libnvJitLink", "libnvrtc", "libnvvm"];
