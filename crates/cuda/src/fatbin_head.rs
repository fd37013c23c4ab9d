//! The head of a fat binary: how long it is. Both sides read it, and the library in the program has
//! only the standard library.

use crate::little_endian::{u16_at, u32_at, u64_at};

/// The first bytes of a container.
pub const MAGIC: u32 = 0xBA55_ED50;
/// Bytes of a container's head that say how long it is.
pub const HEAD_BYTES: usize = 16;

/// How many bytes a container has, head included; `None` if this is the head of none.
pub fn container_bytes(head: &[u8; HEAD_BYTES]) -> Option<u64> {
    if u32_at(head, 0)? != MAGIC {
        return None;
    }
    u64_at(head, 8)?.checked_add(u64::from(u16_at(head, 6)?))
}
