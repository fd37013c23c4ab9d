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
const CLOCK_KHZ: i32 = 1_980_000;
const MEMORY_CLOCK_KHZ: i32 = 2_619_000;

/// The name of the device.
pub const NAME: &[u8] = b"reuselens interpreter (no GPU)";

/// A property of the device (`cudaDeviceProp`): where CUDA 12 and CUDA 13 have it, and its value.
/// The name is at 0, so 0 is where a version does not have it.
struct Property {
    in_12: usize,
    in_13: usize,
    value: Value,
}

enum Value {
    Int(i32),
    Size(usize),
    AllMemory,
}

const fn int(in_12: usize, in_13: usize, value: i32) -> Property {
    Property {
        in_12,
        in_13,
        value: Value::Int(value),
    }
}

const fn size(in_12: usize, in_13: usize, value: usize) -> Property {
    Property {
        in_12,
        in_13,
        value: Value::Size(value),
    }
}

/// Bytes of the structure of CUDA 12, and of that of CUDA 13.
const BYTES_IN_12: usize = 1032;
const BYTES_IN_13: usize = 1008;

/// All that is not 0. The offsets are those of `offsetof` with the headers of CUDA 12.9 and 13.0.
const PROPERTIES: &[Property] = &[
    Property {
        in_12: 288,
        in_13: 288,
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
    int(348, 0, CLOCK_KHZ),              // clockRate
    size(352, 352, 64 << 10),            // totalConstMem
    int(360, 360, CAPABILITY[0]),        // major
    int(364, 364, CAPABILITY[1]),        // minor
    size(368, 368, 512),                 // textureAlignment
    size(376, 376, 32),                  // texturePitchAlignment
    int(384, 0, 1),                      // deviceOverlap
    int(388, 384, MULTIPROCESSORS),      // multiProcessorCount
    int(400, 392, 1),                    // canMapHostMemory
    int(576, 560, 1),                    // concurrentKernels
    int(600, 584, 3),                    // asyncEngineCount
    int(604, 588, 1),                    // unifiedAddressing
    int(608, 0, MEMORY_CLOCK_KHZ),       // memoryClockRate
    int(612, 592, 5120),                 // memoryBusWidth
    int(616, 596, L2_BYTES),             // l2CacheSize
    int(624, 604, THREADS_OF_SM as i32), // maxThreadsPerMultiProcessor
    int(628, 608, 1),                    // streamPrioritiesSupported
    int(632, 612, 1),                    // globalL1CacheSupported
    int(636, 616, 1),                    // localL1CacheSupported
    size(640, 624, SHARED_OF_SM),        // sharedMemPerMultiprocessor
    int(648, 632, REGISTERS),            // regsPerMultiprocessor
    int(652, 636, 1),                    // managedMemory
    int(688, 668, 1),                    // cooperativeLaunch
    size(696, 672, MAX_SHARED_OPTIN),    // sharedMemPerBlockOptin
    int(744, 720, 1),                    // memoryPoolsSupported
    int(712, 688, BLOCKS_OF_SM as i32),  // maxBlocksPerMultiProcessor
    size(720, 696, 1 << 10),             // reservedSharedMemPerBlock
];

/// Writes the structure of a version, of that many bytes.
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
        if at == 0 {
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

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetDeviceProperties(to: *mut u8, device: i32) -> u32 {
    returned(fill(to, BYTES_IN_13, |property| property.in_13, device))
}

/// The function of that name in programs of CUDA 12.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetDeviceProperties_v2(to: *mut u8, device: i32) -> u32 {
    returned(fill(to, BYTES_IN_12, |property| property.in_12, device))
}

/// The last attribute that CUDA 13.0 has.
const LAST_ATTRIBUTE: u32 = 147;

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
    (13, CLOCK_KHZ),
    (14, 512),
    (15, 1),
    (16, MULTIPROCESSORS),
    (19, 1),
    (31, 1),
    (36, MEMORY_CLOCK_KHZ),
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
    (115, 1),
];

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceGetAttribute(to: *mut i32, attribute: u32, device: i32) -> u32 {
    if device != 0 {
        return returned(Err(Status::INVALID_DEVICE));
    }
    if !(1..=LAST_ATTRIBUTE).contains(&attribute) {
        return returned(Err(Status::INVALID_VALUE));
    }
    let known = ATTRIBUTES.iter().find(|known| known.0 == attribute);
    returned(store(to, known.map_or(0, |known| known.1)))
}
