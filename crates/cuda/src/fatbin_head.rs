//! The head of a fat binary: how long it is. Both sides read it, and the library in the program has
//! only the standard library.

/// The first bytes of a container.
pub const MAGIC: u32 = 0xBA55_ED50;
/// Bytes of a container's head that say how long it is.
pub const HEAD_BYTES: usize = 16;

/// How many bytes a container has, head included; `None` if this is the head of none.
pub fn container_bytes(head: &[u8; HEAD_BYTES]) -> Option<u64> {
    let [m0, m1, m2, m3, _, _, h0, h1, body @ ..] = *head;
    let head_bytes = u16::from_le_bytes([h0, h1]);
    (u32::from_le_bytes([m0, m1, m2, m3]) == MAGIC)
        .then(|| u64::from_le_bytes(body).checked_add(u64::from(head_bytes)))
        .flatten()
}
