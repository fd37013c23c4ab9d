//! How generic addresses tell spaces apart.

use crate::decode::kernel::Space;

/// Where global memory begins.
pub const GLOBAL: u64 = 0x10_0000_0000;
/// Where each thread sees its block's memory.
pub const SHARED: u64 = 0x7e00_0000_0000;
/// Where each thread sees its own memory.
pub const LOCAL: u64 = 0x7d00_0000_0000;
/// Where a kernel sees its parameters.
pub const PARAM: u64 = 0x7c00_0000_0000;
/// Bytes of each of the last three.
pub const SIZE: u64 = 1 << 32;

/// What is added to an address of a space to make it generic; none for what is generic.
pub fn base(space: Space) -> Option<u64> {
    match space {
        Space::Generic => None,
        Space::Global | Space::Const => Some(0),
        Space::Shared => Some(SHARED),
        Space::Local => Some(LOCAL),
        Space::Param => Some(PARAM),
    }
}

/// The space of a generic address.
#[inline(always)]
pub fn of(address: u64) -> Space {
    if address.wrapping_sub(SHARED) < SIZE {
        Space::Shared
    } else if address.wrapping_sub(LOCAL) < SIZE {
        Space::Local
    } else if address.wrapping_sub(PARAM) < SIZE {
        Space::Param
    } else {
        Space::Global
    }
}
