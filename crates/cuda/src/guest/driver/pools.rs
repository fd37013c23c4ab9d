//! Memory pools: those of the runtime, whose numbers and structures the driver shares.

use std::ffi::c_void;

use super::super::pools::{self, Location, PoolAccess, PoolProperties};
use super::as_runtime;

as_runtime! {
    cuMemAllocAsync(to: *mut usize, bytes: usize, stream: usize) = pools::cudaMallocAsync;
    cuMemAllocFromPoolAsync(to: *mut usize, bytes: usize, pool: usize, stream: usize) =
        pools::cudaMallocFromPoolAsync;
    cuMemPoolCreate(to: *mut usize, properties: *const PoolProperties) = pools::cudaMemPoolCreate;
    cuMemPoolDestroy(pool: usize) = pools::cudaMemPoolDestroy;
    cuMemPoolTrimTo(pool: usize, kept: usize) = pools::cudaMemPoolTrimTo;
    cuMemPoolGetAttribute(pool: usize, attribute: u32, to: *mut c_void) =
        pools::cudaMemPoolGetAttribute;
    cuMemPoolSetAttribute(pool: usize, attribute: u32, value: *const c_void) =
        pools::cudaMemPoolSetAttribute;
    cuMemPoolGetAccess(to: *mut u32, pool: usize, location: *const Location) =
        pools::cudaMemPoolGetAccess;
    cuMemPoolSetAccess(pool: usize, list: *const PoolAccess, count: usize) =
        pools::cudaMemPoolSetAccess;
    cuDeviceGetDefaultMemPool(to: *mut usize, number: i32) = pools::cudaDeviceGetDefaultMemPool;
    cuDeviceGetMemPool(to: *mut usize, number: i32) = pools::cudaDeviceGetMemPool;
    cuDeviceSetMemPool(number: i32, pool: usize) = pools::cudaDeviceSetMemPool;
    cuMemGetDefaultMemPool(to: *mut usize, location: *const Location, kind: u32) =
        pools::cudaMemGetDefaultMemPool;
    cuMemGetMemPool(to: *mut usize, location: *const Location, kind: u32) =
        pools::cudaMemGetMemPool;
    cuMemSetMemPool(location: *const Location, kind: u32, pool: usize) =
        pools::cudaMemSetMemPool;
}
