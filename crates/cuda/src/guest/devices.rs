//! Devices: there is one, number 0.

use std::sync::Mutex;

use super::arrays;
use super::blocks;
use super::connection::{ask_number, device};
use super::errors::returned;
use super::graph_memory;
use super::hook;
use super::lock;
use super::memory::store;
use super::pools;
use super::textures;
use super::work::wait;
use crate::protocol::Operation;
use crate::status::Status;

/// The version of the driver. PTX of all versions is read; compilers that a program loads warn of a
/// driver that is older than they are, and this is the newest of them.
const DRIVER_VERSION: i32 = 13_050;
/// The version of the runtime of programs of CUDA 13: none that they were built with is newer.
const VERSION: i32 = DRIVER_VERSION;
/// The version of the runtime of programs of CUDA 12.
const VERSION_12: i32 = 12_090;

fn only(device: i32) -> Result<(), Status> {
    match device {
        0 => Ok(()),
        _ => Err(Status::INVALID_DEVICE),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetDeviceCount(to: *mut i32) -> u32 {
    returned(device().and_then(|_| store(to, 1)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetDevice(to: *mut i32) -> u32 {
    returned(store(to, 0))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaSetDevice(number: i32) -> u32 {
    returned(only(number).and_then(|()| device().map(drop)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaSetDeviceFlags(_flags: u32) -> u32 {
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetDeviceFlags(to: *mut u32) -> u32 {
    returned(store(to, 0))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaChooseDevice(to: *mut i32, _properties: usize) -> u32 {
    returned(store(to, 0))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceSynchronize() -> u32 {
    returned(wait())
}

/// Frees all memory of the program. An error that ended its work stays.
#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceReset() -> u32 {
    returned(wait().and_then(|()| {
        blocks::clear();
        pools::clear();
        graph_memory::clear();
        arrays::clear();
        textures::clear();
        ask_number(Operation::Reset, &[]).map(drop)
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaRuntimeGetVersion(to: *mut i32) -> u32 {
    let version = if hook::is_cuda_12() {
        VERSION_12
    } else {
        VERSION
    };
    returned(store(to, version))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDriverGetVersion(to: *mut i32) -> u32 {
    returned(store(to, DRIVER_VERSION))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceGetStreamPriorityRange(least: *mut i32, greatest: *mut i32) -> u32 {
    returned(store(least, 0).and_then(|()| store(greatest, -5)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceCanAccessPeer(to: *mut i32, number: i32, peer: i32) -> u32 {
    returned(only(number).and(only(peer)).and_then(|()| store(to, 0)))
}

/// The limits of stacks and heaps (`cudaLimit`), by number: of a thread's stack, of the buffer of
/// `printf`, of the heap of kernels, and those of launches from kernels and of the L2 cache. They
/// are kept, and bound nothing but the stack and the heap.
static LIMITS: Mutex<[usize; 7]> = Mutex::new([1 << 10, 1 << 20, 8 << 20, 2, 2048, 128, 0]);

/// Bytes of a thread's stack.
pub fn stack_bytes() -> u64 {
    lock(&LIMITS)[0] as u64
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceSetLimit(limit: u32, value: usize) -> u32 {
    const HEAP: u32 = 2;
    let set = || {
        let known = lock(&LIMITS).len();
        if limit as usize >= known {
            return Err(Status::INVALID_VALUE);
        }
        if limit == HEAP {
            wait()?;
            ask_number(Operation::SetHeap, &[value as u64])?;
        }
        lock(&LIMITS)[limit as usize] = value;
        Ok(())
    };
    returned(set())
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceGetLimit(to: *mut usize, limit: u32) -> u32 {
    let known = lock(&LIMITS).get(limit as usize).copied();
    returned(
        known
            .ok_or(Status::INVALID_VALUE)
            .and_then(|known| store(to, known)),
    )
}

/// Advice.
#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceSetCacheConfig(_configuration: u32) -> u32 {
    0
}

/// Advice.
#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceSetSharedMemConfig(_configuration: u32) -> u32 {
    0
}

/// What profilers are to look at; this one looks at everything.
#[unsafe(no_mangle)]
pub extern "C" fn cudaProfilerStart() -> u32 {
    0
}

/// As [`cudaProfilerStart`].
#[unsafe(no_mangle)]
pub extern "C" fn cudaProfilerStop() -> u32 {
    0
}

/// The bus address of a device that is on no bus.
const BUS: &[u8] = b"0000:00:00.0\0";

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceGetPCIBusId(to: *mut u8, bytes: i32, number: i32) -> u32 {
    returned(only(number).and_then(|()| {
        if to.is_null() || !usize::try_from(bytes).is_ok_and(|bytes| bytes >= BUS.len()) {
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: the program passes a place of that many bytes.
        unsafe { std::ptr::copy_nonoverlapping(BUS.as_ptr(), to, BUS.len()) };
        Ok(())
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceGetByPCIBusId(to: *mut i32, bus: *const std::ffi::c_char) -> u32 {
    if bus.is_null() {
        return returned(Err(Status::INVALID_VALUE));
    }
    // SAFETY: the program passes a string.
    let bus = unsafe { std::ffi::CStr::from_ptr(bus) };
    returned(if bus.to_bytes_with_nul() == BUS {
        store(to, 0)
    } else {
        Err(Status::INVALID_DEVICE)
    })
}
