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
pub const CAPABILITY: [i32; 2] = [9, 0];
/// Multiprocessors.
pub const MULTIPROCESSORS: i32 = 132;
const REGISTERS: i32 = 65536;
const L2_BYTES: i32 = 50 << 20;

/// The name of the device.
pub const NAME: &[u8] = b"reuselens interpreter (no GPU)";

/// A property of CUDA 13's `cudaDeviceProp`: where it is, and its value.
struct Property {
    offset: usize,
    value: Value,
}

enum Value {
    Int(i32),
    Size(usize),
    AllMemory,
}

const fn int(offset: usize, value: i32) -> Property {
    Property {
        offset,
        value: Value::Int(value),
    }
}

const fn size(offset: usize, value: usize) -> Property {
    Property {
        offset,
        value: Value::Size(value),
    }
}

/// Bytes of the structure.
const BYTES: usize = 1008;

/// All that is not 0. The offsets are those of `offsetof` with the headers of CUDA 13.0.
const PROPERTIES: &[Property] = &[
    Property {
        offset: 288,
        value: Value::AllMemory,
    },
    size(296, MAX_SHARED),  // sharedMemPerBlock
    int(304, REGISTERS),    // regsPerBlock
    int(308, WARP as i32),  // warpSize
    size(312, 0x7fff_ffff), // memPitch
    int(320, 1024),         // maxThreadsPerBlock
    int(324, 1024),         // maxThreadsDim
    int(328, 1024),
    int(332, 64),
    int(336, 0x7fff_ffff), // maxGridSize
    int(340, 65535),
    int(344, 65535),
    size(352, 64 << 10),            // totalConstMem
    int(360, CAPABILITY[0]),        // major
    int(364, CAPABILITY[1]),        // minor
    size(368, 512),                 // textureAlignment
    size(376, 32),                  // texturePitchAlignment
    int(384, MULTIPROCESSORS),      // multiProcessorCount
    int(392, 1),                    // canMapHostMemory
    int(560, 1),                    // concurrentKernels
    int(584, 3),                    // asyncEngineCount
    int(588, 1),                    // unifiedAddressing
    int(592, 5120),                 // memoryBusWidth
    int(596, L2_BYTES),             // l2CacheSize
    int(604, THREADS_OF_SM as i32), // maxThreadsPerMultiProcessor
    int(608, 1),                    // streamPrioritiesSupported
    int(612, 1),                    // globalL1CacheSupported
    int(616, 1),                    // localL1CacheSupported
    size(624, SHARED_OF_SM),        // sharedMemPerMultiprocessor
    int(632, REGISTERS),            // regsPerMultiprocessor
    int(636, 1),                    // managedMemory
    int(668, 1),                    // cooperativeLaunch
    size(672, MAX_SHARED_OPTIN),    // sharedMemPerBlockOptin
    int(688, BLOCKS_OF_SM as i32),  // maxBlocksPerMultiProcessor
    size(696, 1 << 10),             // reservedSharedMemPerBlock
];

fn fill(to: *mut u8, number: i32) -> Result<(), Status> {
    if to.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    if number != 0 {
        return Err(Status::INVALID_DEVICE);
    }
    let [all, ..] = device()?;
    let mut properties = vec![0; BYTES];
    properties[..NAME.len()].copy_from_slice(NAME);
    for property in PROPERTIES {
        let at = property.offset;
        match property.value {
            Value::Int(value) => properties[at..at + 4].copy_from_slice(&value.to_le_bytes()),
            Value::Size(value) => properties[at..at + 8].copy_from_slice(&value.to_le_bytes()),
            Value::AllMemory => properties[at..at + 8].copy_from_slice(&all.to_le_bytes()),
        }
    }
    // SAFETY: the program passes a place of that many bytes.
    unsafe { std::ptr::copy_nonoverlapping(properties.as_ptr(), to, BYTES) };
    Ok(())
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetDeviceProperties(to: *mut u8, device: i32) -> u32 {
    returned(fill(to, device))
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
    (95, 1),
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
