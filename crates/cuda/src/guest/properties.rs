//! What the device says of itself. There is no GPU; programs choose block sizes and buffers by
//! these numbers, so they are those of a large one (compute capability 9.0, an H100 with 132
//! multiprocessors), and its name says what it is.

use super::connection::device;
use super::errors::returned;
use super::memory::store;
use crate::status::Status;

/// Threads of a warp.
pub const WARP: usize = 32;
/// Threads that a multiprocessor has at one time.
pub const THREADS_OF_SM: usize = 2048;
/// Blocks that it has at one time.
pub const BLOCKS_OF_SM: usize = 32;
/// Its shared memory.
pub const SHARED_OF_SM: usize = 228 << 10;
/// Shared memory of a block that asks for the most.
pub const MAX_SHARED_OPTIN: usize = 227 << 10;
/// Shared memory of a block that does not.
pub const MAX_SHARED: usize = 48 << 10;
/// Major and minor compute capability.
const CAPABILITY: [i32; 2] = [9, 0];
const MULTIPROCESSORS: i32 = 132;
const REGISTERS: i32 = 65536;
const L2_BYTES: i32 = 50 << 20;

const NAME: &[u8] = b"reuselens interpreter (no GPU)";

/// A property of `cudaDeviceProp`: where it is in CUDA 13 and in CUDA 12, and its value.
struct Property {
    offset_13: usize,
    offset_12: usize,
    value: Value,
}

enum Value {
    Int(i32),
    Size(usize),
    AllMemory,
}

const fn int(offset_13: usize, offset_12: usize, value: i32) -> Property {
    Property {
        offset_13,
        offset_12,
        value: Value::Int(value),
    }
}

const fn size(offset_13: usize, offset_12: usize, value: usize) -> Property {
    Property {
        offset_13,
        offset_12,
        value: Value::Size(value),
    }
}

/// Bytes of the structure.
const BYTES_13: usize = 1008;
const BYTES_12: usize = 1032;

/// Where a property has no place.
const NOWHERE: usize = usize::MAX;

/// All that is not 0. The offsets are those of `offsetof` with the headers of CUDA 13.0 and 12.9.
const PROPERTIES: &[Property] = &[
    Property {
        offset_13: 288,
        offset_12: 288,
        value: Value::AllMemory,
    },
    size(296, 296, MAX_SHARED),  // sharedMemPerBlock
    int(304, 304, REGISTERS),    // regsPerBlock
    int(308, 308, WARP as i32),  // warpSize
    size(312, 312, 0x7fff_ffff), // memPitch
    int(320, 320, 1024),         // maxThreadsPerBlock
    int(324, 324, 1024),         // maxThreadsDim
    int(328, 328, 1024),
    int(332, 332, 64),
    int(336, 336, 0x7fff_ffff), // maxGridSize
    int(340, 340, 65535),
    int(344, 344, 65535),
    int(NOWHERE, 348, 1_980_000),        // clockRate, kHz
    size(352, 352, 64 << 10),            // totalConstMem
    int(360, 360, CAPABILITY[0]),        // major
    int(364, 364, CAPABILITY[1]),        // minor
    size(368, 368, 512),                 // textureAlignment
    size(376, 376, 32),                  // texturePitchAlignment
    int(384, 388, MULTIPROCESSORS),      // multiProcessorCount
    int(392, 400, 1),                    // canMapHostMemory
    int(560, 576, 1),                    // concurrentKernels
    int(584, 600, 3),                    // asyncEngineCount
    int(588, 604, 1),                    // unifiedAddressing
    int(NOWHERE, 608, 2_619_000),        // memoryClockRate, kHz
    int(592, 612, 5120),                 // memoryBusWidth
    int(596, 616, L2_BYTES),             // l2CacheSize
    int(604, 624, THREADS_OF_SM as i32), // maxThreadsPerMultiProcessor
    int(608, 628, 1),                    // streamPrioritiesSupported
    int(612, 632, 1),                    // globalL1CacheSupported
    int(616, 636, 1),                    // localL1CacheSupported
    size(624, 640, SHARED_OF_SM),        // sharedMemPerMultiprocessor
    int(632, 648, REGISTERS),            // regsPerMultiprocessor
    int(636, 652, 1),                    // managedMemory
    size(672, 696, MAX_SHARED_OPTIN),    // sharedMemPerBlockOptin
    int(688, 712, BLOCKS_OF_SM as i32),  // maxBlocksPerMultiProcessor
    size(696, 720, 1 << 10),             // reservedSharedMemPerBlock
];

fn fill(
    to: *mut u8,
    bytes: usize,
    offset: impl Fn(&Property) -> usize,
    number: i32,
) -> Result<(), Status> {
    if to.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    if number != 0 {
        return Err(Status::INVALID_DEVICE);
    }
    let [all, ..] = device()?;
    let mut properties = vec![0; bytes];
    properties[..NAME.len()].copy_from_slice(NAME);
    for property in PROPERTIES {
        let at = offset(property);
        if at == NOWHERE {
            continue;
        }
        match property.value {
            Value::Int(value) => properties[at..at + 4].copy_from_slice(&value.to_le_bytes()),
            Value::Size(value) => properties[at..at + 8].copy_from_slice(&value.to_le_bytes()),
            Value::AllMemory => properties[at..at + 8].copy_from_slice(&all.to_le_bytes()),
        }
    }
    // SAFETY: the program passes a place of that many bytes.
    unsafe { std::ptr::copy_nonoverlapping(properties.as_ptr(), to, bytes) };
    Ok(())
}

/// CUDA 13's.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetDeviceProperties(to: *mut u8, device: i32) -> u32 {
    returned(fill(to, BYTES_13, |property| property.offset_13, device))
}

/// CUDA 12's.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetDeviceProperties_v2(to: *mut u8, device: i32) -> u32 {
    returned(fill(to, BYTES_12, |property| property.offset_12, device))
}

/// The value of an attribute (`cudaDeviceAttr`), by number. Attributes that are not here are 0:
/// what the device does not have.
const ATTRIBUTES: &[(u32, i32)] = &[
    (1, 1024),
    (2, 1024),
    (3, 1024),
    (4, 64),
    (5, 0x7fff_ffff),
    (6, 65535),
    (7, 65535),
    (8, MAX_SHARED as i32),
    (9, 64 << 10),
    (10, WARP as i32),
    (11, 0x7fff_ffff),
    (12, REGISTERS),
    (13, 1_980_000),
    (14, 512),
    (15, 1),
    (16, MULTIPROCESSORS),
    (19, 1),
    (31, 1),
    (36, 2_619_000),
    (37, 5120),
    (38, L2_BYTES),
    (39, THREADS_OF_SM as i32),
    (40, 3),
    (41, 1),
    (51, 32),
    (75, CAPABILITY[0]),
    (76, CAPABILITY[1]),
    (78, 1),
    (79, 1),
    (80, 1),
    (81, SHARED_OF_SM as i32),
    (82, REGISTERS),
    (83, 1),
    (97, MAX_SHARED_OPTIN as i32),
    (106, BLOCKS_OF_SM as i32),
    (111, 1 << 10),
];

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceGetAttribute(to: *mut i32, attribute: u32, device: i32) -> u32 {
    if device != 0 {
        return returned(Err(Status::INVALID_DEVICE));
    }
    let known = ATTRIBUTES.iter().find(|known| known.0 == attribute);
    returned(store(to, known.map_or(0, |known| known.1)))
}
