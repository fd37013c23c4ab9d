//! What programs ask of kernels, by their handles in a module (`CUfunction`) and in a library
//! (`CUkernel`), which are the same here.

use std::ffi::c_char;

use super::super::memory::{store, store_if_wanted};
use super::super::{kernels, modules};
use super::contexts::check_device;
use super::{as_runtime, in_context, returned, runtime};
use crate::status::Status;

#[unsafe(no_mangle)]
pub extern "C" fn cuKernelGetFunction(to: *mut usize, kernel: usize) -> u32 {
    in_context(|| modules::kernel(kernel).and_then(|_| store(to, kernel)))
}

/// An attribute of a kernel (`CUfunction_attribute`).
fn attribute(to: *mut i32, attribute: u32, kernel: usize) -> Result<(), Status> {
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
}

#[unsafe(no_mangle)]
pub extern "C" fn cuFuncGetAttribute(to: *mut i32, number: u32, kernel: usize) -> u32 {
    in_context(|| attribute(to, number, kernel))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuKernelGetAttribute(
    to: *mut i32,
    number: u32,
    kernel: usize,
    device: i32,
) -> u32 {
    returned(check_device(device).and_then(|()| attribute(to, number, kernel)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuKernelSetAttribute(number: u32, value: i32, kernel: usize, device: i32) -> u32 {
    returned(
        check_device(device)
            .and_then(|()| runtime(|| kernels::cudaFuncSetAttribute(kernel, number, value))),
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn cuKernelSetCacheConfig(kernel: usize, value: u32, device: i32) -> u32 {
    returned(
        check_device(device)
            .and_then(|()| runtime(|| kernels::cudaFuncSetCacheConfig(kernel, value))),
    )
}

/// The name of a kernel in its device code.
fn name(to: *mut *const c_char, kernel: usize) -> u32 {
    returned(modules::kernel_name(kernel).and_then(|name| store(to, name)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuFuncGetName(to: *mut *const c_char, kernel: usize) -> u32 {
    name(to, kernel)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuKernelGetName(to: *mut *const c_char, kernel: usize) -> u32 {
    name(to, kernel)
}

/// The handle of the module of a kernel.
fn module(to: *mut usize, kernel: usize) -> u32 {
    returned(modules::module_of(kernel).and_then(|module| store(to, module + 1)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuFuncGetModule(to: *mut usize, kernel: usize) -> u32 {
    module(to, kernel)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuKernelGetLibrary(to: *mut usize, kernel: usize) -> u32 {
    module(to, kernel)
}

/// Where a parameter is among those of a kernel, and its bytes.
#[unsafe(no_mangle)]
pub extern "C" fn cuFuncGetParamInfo(
    kernel: usize,
    index: usize,
    offset: *mut usize,
    bytes: *mut usize,
) -> u32 {
    returned(modules::kernel(kernel).and_then(|kernel| {
        let param = kernel.params.get(index).ok_or(Status::INVALID_VALUE)?;
        store(offset, param.0)?;
        store_if_wanted(bytes, param.1);
        Ok(())
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuKernelGetParamInfo(
    kernel: usize,
    index: usize,
    offset: *mut usize,
    bytes: *mut usize,
) -> u32 {
    cuFuncGetParamInfo(kernel, index, offset, bytes)
}

/// Kernels are loaded when they get their handle.
#[unsafe(no_mangle)]
pub extern "C" fn cuFuncIsLoaded(to: *mut u32, kernel: usize) -> u32 {
    const LOADED: u32 = 1;
    returned(modules::kernel(kernel).and_then(|_| store(to, LOADED)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuFuncLoad(kernel: usize) -> u32 {
    returned(modules::kernel(kernel).map(drop))
}

/// What a program computes its shared memory by, from a number of threads.
type SharedBytes = Option<extern "C" fn(i32) -> usize>;

/// The largest block that fits a multiprocessor as often as its threads allow, and the fewest
/// blocks that fill the device.
#[unsafe(no_mangle)]
pub extern "C" fn cuOccupancyMaxPotentialBlockSize(
    blocks: *mut i32,
    threads: *mut i32,
    kernel: usize,
    shared_bytes: SharedBytes,
    bytes: usize,
    limit: i32,
) -> u32 {
    in_context(|| {
        let shared = |threads: i32| shared_bytes.map_or(bytes, |of| of(threads));
        let (most_blocks, most_threads) = kernels::potential_block(kernel, shared, limit)?;
        store(blocks, most_blocks)?;
        store(threads, most_threads)
    })
}

/// Flags are about caches.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "CUDA's")]
pub extern "C" fn cuOccupancyMaxPotentialBlockSizeWithFlags(
    blocks: *mut i32,
    threads: *mut i32,
    kernel: usize,
    shared_bytes: SharedBytes,
    bytes: usize,
    limit: i32,
    _flags: u32,
) -> u32 {
    cuOccupancyMaxPotentialBlockSize(blocks, threads, kernel, shared_bytes, bytes, limit)
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
