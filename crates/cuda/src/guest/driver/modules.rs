//! Modules that the program loads, with their kernels and variables. A handle of a module is its
//! number, plus one; that of a kernel is used like an address in the program.

use std::ffi::{CStr, c_char};
use std::os::unix::ffi::OsStrExt;

use super::super::memory::store;
use super::super::{kernels, modules};
use super::{as_runtime, in_context};
use crate::status::Status;

/// A string of the program.
fn text<'a>(at: *const c_char) -> Result<&'a CStr, Status> {
    match at.is_null() {
        true => Err(Status::INVALID_VALUE),
        // SAFETY: the program passes a string.
        false => Ok(unsafe { CStr::from_ptr(at) }),
    }
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

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleLoadData(to: *mut usize, image: usize) -> u32 {
    in_context(|| load(to, image))
}

/// Options are for the compiler of the driver.
#[unsafe(no_mangle)]
pub extern "C" fn cuModuleLoadDataEx(
    to: *mut usize,
    image: usize,
    _count: u32,
    _options: usize,
    _values: usize,
) -> u32 {
    in_context(|| load(to, image))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleLoadFatBinary(to: *mut usize, image: usize) -> u32 {
    in_context(|| load(to, image))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleLoad(to: *mut usize, path: *const c_char) -> u32 {
    in_context(|| {
        let path = std::ffi::OsStr::from_bytes(text(path)?.to_bytes());
        let image = std::fs::read(path).map_err(|_| Status::FILE_NOT_FOUND)?;
        store(to, modules::load_image(image)? + 1)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleUnload(module: usize) -> u32 {
    in_context(|| of_handle(modules::unload(number(module)?)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleGetFunction(to: *mut usize, module: usize, name: *const c_char) -> u32 {
    in_context(|| {
        let name = text(name)?.to_bytes();
        let kernel = of_handle(modules::loaded_kernel(number(module)?, name))?;
        store(to, kernel)
    })
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
        if !address.is_null() {
            store(address, place.0)?;
        }
        match bytes.is_null() {
            true => Ok(()),
            false => store(bytes, place.1 as usize),
        }
    })
}

/// All of a module is ready before its first use.
#[unsafe(no_mangle)]
pub extern "C" fn cuModuleGetLoadingMode(to: *mut u32) -> u32 {
    const LAZY: u32 = 2;
    super::returned(store(to, LAZY))
}

/// A library is a module that is there in each context.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "CUDA's")]
pub extern "C" fn cuLibraryLoadData(
    to: *mut usize,
    image: usize,
    _options: usize,
    _values: usize,
    _count: u32,
    _library_options: usize,
    _library_values: usize,
    _library_count: u32,
) -> u32 {
    in_context(|| load(to, image))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLibraryUnload(library: usize) -> u32 {
    cuModuleUnload(library)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLibraryGetModule(to: *mut usize, library: usize) -> u32 {
    in_context(|| store(to, library))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLibraryGetKernel(to: *mut usize, library: usize, name: *const c_char) -> u32 {
    cuModuleGetFunction(to, library, name)
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

#[unsafe(no_mangle)]
pub extern "C" fn cuKernelGetFunction(to: *mut usize, kernel: usize) -> u32 {
    in_context(|| store(to, kernel))
}

/// An attribute of a kernel (`CUfunction_attribute`).
#[unsafe(no_mangle)]
pub extern "C" fn cuFuncGetAttribute(to: *mut i32, attribute: u32, kernel: usize) -> u32 {
    in_context(|| {
        let about = kernels::attributes(kernel)?;
        let value = match attribute {
            0 => about.max_threads,
            1 => about.shared_bytes as i32,
            2 => about.constant_bytes as i32,
            3 => about.local_bytes as i32,
            4 => about.registers,
            5 => about.ptx_version,
            6 => about.binary_version,
            7 => about.cache_mode,
            8 => about.max_dynamic_shared_bytes,
            9 => about.carveout,
            10..=15 => 0,
            _ => return Err(Status::INVALID_VALUE),
        };
        store(to, value)
    })
}

as_runtime! {
    cuFuncSetAttribute(kernel: usize, attribute: u32, value: i32) = kernels::cudaFuncSetAttribute;
    cuFuncSetCacheConfig(kernel: usize, value: u32) = kernels::cudaFuncSetCacheConfig;
    cuFuncSetSharedMemConfig(kernel: usize, value: u32) = kernels::cudaFuncSetSharedMemConfig;
    cuOccupancyMaxActiveBlocksPerMultiprocessor(
        to: *mut i32, kernel: usize, threads: i32, dynamic_bytes: usize
    ) = kernels::cudaOccupancyMaxActiveBlocksPerMultiprocessor;
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        to: *mut i32, kernel: usize, threads: i32, dynamic_bytes: usize, flags: u32
    ) = kernels::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags;
    cuOccupancyAvailableDynamicSMemPerBlock(
        to: *mut usize, kernel: usize, blocks: i32, threads: i32
    ) = kernels::cudaOccupancyAvailableDynamicSMemPerBlock;
}
