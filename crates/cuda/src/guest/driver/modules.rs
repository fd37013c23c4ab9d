//! Modules that the program loads, with their kernels and variables. A handle of a module is its
//! number, plus one; that of a kernel is used like an address in the program. A library
//! (`CUlibrary`) is a module that is there in each context.

use std::ffi::{CStr, c_char};
use std::os::unix::ffi::OsStrExt;

use super::super::memory::{store, store_if_wanted, text_at};
use super::super::modules;
use super::contexts::started;
use super::jit_options::JitOptions;
use super::{in_context, returned};
use crate::status::Status;

/// A string of the program.
fn text<'a>(at: *const c_char) -> Result<&'a CStr, Status> {
    // SAFETY: the program passes a string, or null.
    unsafe { text_at(at) }.ok_or(Status::INVALID_VALUE)
}

fn number(module: usize) -> Result<usize, Status> {
    module.checked_sub(1).ok_or(Status::INVALID_HANDLE)
}

/// A module that there is not is an invalid handle here.
fn of_handle<T>(result: Result<T, Status>) -> Result<T, Status> {
    result.map_err(|status| match status {
        Status::INVALID_IMAGE => Status::INVALID_HANDLE,
        Status::INVALID_FUNCTION | Status::INVALID_SYMBOL => Status::NOT_FOUND,
        status => status,
    })
}

/// Loads a module that the program has in memory, at an address.
fn load(to: *mut usize, image: usize) -> Result<(), Status> {
    match image {
        0 => Err(Status::INVALID_VALUE),
        _ => store(to, modules::load_at(image)? + 1),
    }
}

/// The same with the options of a compiler.
fn load_with(to: *mut usize, image: usize, options: &JitOptions) -> Result<(), Status> {
    let loaded = load(to, image);
    options.log(loaded);
    loaded
}

/// Loads a module from a file.
fn load_file(to: *mut usize, path: *const c_char) -> Result<(), Status> {
    let path = std::ffi::OsStr::from_bytes(text(path)?.to_bytes());
    let image = std::fs::read(path).map_err(|_| Status::FILE_NOT_FOUND)?;
    store(to, modules::load_image(image)? + 1)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleLoadData(to: *mut usize, image: usize) -> u32 {
    in_context(|| load(to, image))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleLoadDataEx(
    to: *mut usize,
    image: usize,
    count: u32,
    options: *const u32,
    values: *mut usize,
) -> u32 {
    in_context(|| load_with(to, image, &JitOptions::new(count, options, values)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleLoadFatBinary(to: *mut usize, image: usize) -> u32 {
    in_context(|| load(to, image))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleLoad(to: *mut usize, path: *const c_char) -> u32 {
    in_context(|| load_file(to, path))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleUnload(module: usize) -> u32 {
    in_context(|| of_handle(modules::unload(number(module)?)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleGetFunction(to: *mut usize, module: usize, name: *const c_char) -> u32 {
    in_context(|| kernel(to, module, name))
}

/// The handle of a kernel of a module.
fn kernel(to: *mut usize, module: usize, name: *const c_char) -> Result<(), Status> {
    let name = text(name)?.to_bytes();
    store(
        to,
        of_handle(modules::loaded_kernel(number(module)?, name))?,
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleGetGlobal_v2(
    address: *mut u64,
    bytes: *mut usize,
    module: usize,
    name: *const c_char,
) -> u32 {
    in_context(|| {
        let name = text(name)?.to_bytes();
        let place = of_handle(modules::loaded_variable(number(module)?, name))?;
        store_if_wanted(address, place.0);
        store_if_wanted(bytes, place.1 as usize);
        Ok(())
    })
}

/// All of a module is ready before its first use.
#[unsafe(no_mangle)]
pub extern "C" fn cuModuleGetLoadingMode(to: *mut u32) -> u32 {
    const LAZY: u32 = 2;
    returned(store(to, LAZY))
}

/// Loads a library, for which a program needs no context.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "CUDA's")]
pub extern "C" fn cuLibraryLoadData(
    to: *mut usize,
    image: usize,
    options: *const u32,
    values: *mut usize,
    count: u32,
    _library_options: usize,
    _library_values: usize,
    _library_count: u32,
) -> u32 {
    let options = JitOptions::new(count, options, values);
    returned(started().and_then(|()| load_with(to, image, &options)))
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "CUDA's")]
pub extern "C" fn cuLibraryLoadFromFile(
    to: *mut usize,
    path: *const c_char,
    options: *const u32,
    values: *mut usize,
    count: u32,
    _library_options: usize,
    _library_values: usize,
    _library_count: u32,
) -> u32 {
    let options = JitOptions::new(count, options, values);
    returned(started().and_then(|()| {
        let loaded = load_file(to, path);
        options.log(loaded);
        loaded
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLibraryUnload(library: usize) -> u32 {
    returned(started().and_then(|()| of_handle(modules::unload(number(library)?))))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLibraryGetModule(to: *mut usize, library: usize) -> u32 {
    in_context(|| store(to, library))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLibraryGetKernel(to: *mut usize, library: usize, name: *const c_char) -> u32 {
    returned(started().and_then(|()| kernel(to, library, name)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLibraryGetGlobal(
    address: *mut u64,
    bytes: *mut usize,
    library: usize,
    name: *const c_char,
) -> u32 {
    cuModuleGetGlobal_v2(address, bytes, library, name)
}
