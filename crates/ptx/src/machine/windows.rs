//! Generic addresses: the range of each state space in them, and the space that an address belongs
//! to.

use crate::decode::kernel::NamedSpace;

/// Where global memory begins.
pub const GLOBAL: u64 = 0x10_0000_0000;
/// Where each thread sees its block's memory.
pub const SHARED: u64 = 0x7e00_0000_0000;
/// Where each thread sees its own memory.
pub const LOCAL: u64 = 0x7d00_0000_0000;
/// Where a kernel sees its parameters.
pub const PARAM: u64 = 0x7c00_0000_0000;
/// Where functions have their addresses, which are those of no memory.
pub const CODE: u64 = 0x7b00_0000_0000;
/// Bytes of each of the last three spaces.
pub const SIZE: u64 = 1 << 32;

/// What is added to an address of a space to make it generic; none for what is generic.
pub fn base(space: NamedSpace) -> Option<u64> {
    match space {
        NamedSpace::Generic => None,
        NamedSpace::Global | NamedSpace::Const => Some(0),
        NamedSpace::Shared => Some(SHARED),
        NamedSpace::Local => Some(LOCAL),
        NamedSpace::Param => Some(PARAM),
    }
}

/// The space of a generic address.
#[inline(always)]
pub fn of(address: u64) -> NamedSpace {
    if address.wrapping_sub(SHARED) < SIZE {
        NamedSpace::Shared
    } else if address.wrapping_sub(LOCAL) < SIZE {
        NamedSpace::Local
    } else if address.wrapping_sub(PARAM) < SIZE {
        NamedSpace::Param
    } else {
        NamedSpace::Global
    }
}
