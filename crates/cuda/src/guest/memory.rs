//! Memory of the device, and memory that the program and kernels both access.

use std::ffi::{CStr, c_char, c_void};

use super::blocks::{self, Mirrored, Place, place};
use super::captures;
use super::connection::{ask_number, fatal};
use super::errors::returned;
use super::graph_memory;
use super::modules;
use super::pools;
use crate::protocol::{AllocationKind, Operation};
use crate::status::Status;

/// Rows of `cudaMallocPitch` begin at multiples of it.
const PITCH: usize = 512;

/// Takes memory of the device.
fn allocate(to: *mut usize, bytes: usize, kind: AllocationKind) -> Result<(), Status> {
    let address = match bytes {
        0 => 0,
        _ => blocks::allocate_on_device(bytes as u64, 1, kind)?,
    };
    store(to, address as usize)
}

/// Writes a result where the program wants it.
pub fn store<T>(to: *mut T, value: T) -> Result<(), Status> {
    if to.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: the program passes a place for the result.
    unsafe { to.write(value) };
    Ok(())
}

/// Writes a result where the program wants it, if it does.
pub fn store_if_wanted<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: the program passes a place for the result.
        unsafe { to.write(value) };
    }
}

/// A string of the program; `None` for a null pointer.
///
/// # Safety
/// There is a string at the address, which stays while the reference is used; or it is null.
pub unsafe fn text_at<'a>(at: *const c_char) -> Option<&'a CStr> {
    // SAFETY: the caller's.
    (!at.is_null()).then(|| unsafe { CStr::from_ptr(at) })
}

fn free(address: usize) -> Result<(), Status> {
    fatal()?;
    if address == 0 {
        return Ok(());
    }
    match place(address as u64)? {
        Place::Device if graph_memory::is_of_graph(address as u64) => Ok(()),
        Place::Device => {
            ask_number(Operation::Free, &[address as u64])?;
            pools::freed(address as u64);
            Ok(())
        }
        Place::Host(Some(Mirrored::Managed)) => blocks::free(address, Mirrored::Managed),
        Place::Host(_) => Err(Status::INVALID_VALUE),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMalloc(to: *mut usize, bytes: usize) -> u32 {
    returned(allocate(to, bytes, AllocationKind::Malloc))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFree(address: usize) -> u32 {
    returned(free(address))
}

/// What a stream frees is gone at once.
#[unsafe(no_mangle)]
pub extern "C" fn cudaFreeAsync(address: usize, stream: usize) -> u32 {
    returned(if !captures::is_captured(stream) {
        free(address)
    } else if graph_memory::is_of_graph(address as u64) {
        captures::keep_free(stream);
        Ok(())
    } else {
        Err(Status::INVALID_VALUE)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMallocPitch(
    to: *mut usize,
    pitch: *mut usize,
    width: usize,
    height: usize,
) -> u32 {
    let sizes = width
        .checked_next_multiple_of(PITCH)
        .and_then(|row| Some((row, row.checked_mul(height)?)));
    returned(
        sizes
            .ok_or(Status::MEMORY_ALLOCATION)
            .and_then(|(row, bytes)| {
                store(pitch, row)?;
                allocate(to, bytes, AllocationKind::Pitched)
            }),
    )
}

/// A block of rows, as `cudaMalloc3D` gives it (`cudaPitchedPtr`).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PitchedPointer {
    pub address: usize,
    pub pitch: usize,
    pub width: usize,
    pub height: usize,
}

/// Sizes in three directions, the first in bytes (`cudaExtent`).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CudaExtent {
    pub width: usize,
    pub height: usize,
    pub depth: usize,
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMalloc3D(to: *mut PitchedPointer, extent: CudaExtent) -> u32 {
    let rows = extent.height.checked_mul(extent.depth);
    let sizes = extent
        .width
        .checked_next_multiple_of(PITCH)
        .and_then(|pitch| Some((pitch, pitch.checked_mul(rows?)?)));
    returned(
        sizes
            .ok_or(Status::MEMORY_ALLOCATION)
            .and_then(|(pitch, bytes)| {
                let mut address = 0;
                allocate(&raw mut address, bytes, AllocationKind::Pitched)?;
                let pointer = PitchedPointer {
                    address,
                    pitch,
                    width: extent.width,
                    height: extent.height,
                };
                store(to, pointer)
            }),
    )
}

/// Takes memory that the program and kernels access at one address.
fn allocate_mirrored(to: *mut usize, bytes: usize, kind: Mirrored) -> Result<(), Status> {
    let address = match (bytes, kind) {
        (0, Mirrored::Pinned) => 0,
        _ => blocks::allocate(bytes, kind)?,
    };
    store(to, address)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMallocManaged(to: *mut usize, bytes: usize, _flags: u32) -> u32 {
    returned(allocate_mirrored(to, bytes, Mirrored::Managed))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMallocHost(to: *mut usize, bytes: usize) -> u32 {
    returned(allocate_mirrored(to, bytes, Mirrored::Pinned))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFreeHost(address: usize) -> u32 {
    returned(match address {
        0 => Ok(()),
        _ => blocks::free(address, Mirrored::Pinned),
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaHostGetDevicePointer(to: *mut usize, host: usize, _flags: u32) -> u32 {
    returned(blocks::on_device(host).and_then(|address| store(to, address)))
}

/// Memory of the program that kernels are to access too, by the address that
/// [`cudaHostGetDevicePointer`] gives.
#[unsafe(no_mangle)]
pub extern "C" fn cudaHostRegister(host: usize, bytes: usize, _flags: u32) -> u32 {
    returned(match (host, bytes) {
        (0, _) | (_, 0) => Err(Status::INVALID_VALUE),
        _ => blocks::register(host, bytes),
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaHostUnregister(host: usize) -> u32 {
    returned(blocks::unregister(host))
}

/// Flags of pinned memory are advice; what is asked for is the memory's portability, which it has.
#[unsafe(no_mangle)]
pub extern "C" fn cudaHostGetFlags(to: *mut u32, host: usize) -> u32 {
    const PORTABLE_AND_MAPPED: u32 = 3;
    returned(match place(host as u64) {
        Ok(Place::Host(Some(Mirrored::Pinned | Mirrored::Registered))) => {
            store(to, PORTABLE_AND_MAPPED)
        }
        Ok(_) => Err(Status::INVALID_VALUE),
        Err(status) => Err(status),
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemGetInfo(free: *mut usize, all: *mut usize) -> u32 {
    returned(modules::memory_info().and_then(|(left, limit)| {
        store(free, left as usize)?;
        store(all, limit as usize)
    }))
}

/// What is known of a pointer (`cudaPointerAttributes`). CUDA 13 has reserved words after it, which
/// nobody reads; in programs of CUDA 12 they would be memory of something else.
#[repr(C)]
pub struct PointerAttributes {
    kind: u32,
    device: i32,
    device_pointer: usize,
    host_pointer: usize,
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaPointerGetAttributes(
    to: *mut PointerAttributes,
    pointer: *const c_void,
) -> u32 {
    let address = pointer as usize;
    returned(place(address as u64).and_then(|place| {
        let (kind, device, on_device, on_host) = match place {
            Place::Host(None) => (0, -2, 0, address),
            Place::Host(Some(Mirrored::Pinned | Mirrored::Registered)) => {
                (1, 0, blocks::on_device(address)?, address)
            }
            Place::Device => (2, 0, address, 0),
            Place::Host(Some(Mirrored::Managed)) => (3, 0, address, address),
        };
        store(
            to,
            PointerAttributes {
                kind,
                device,
                device_pointer: on_device,
                host_pointer: on_host,
            },
        )
    }))
}

/// Where managed memory should be is advice; it changes no result.
#[unsafe(no_mangle)]
pub extern "C" fn cudaMemAdvise() -> u32 {
    0
}

/// As [`cudaMemAdvise`].
#[unsafe(no_mangle)]
pub extern "C" fn cudaMemPrefetchAsync() -> u32 {
    returned(fatal())
}
