//! The heads of a fat binary and of its images: how long they are. Both sides need them, and the
//! library in the program has only the standard library.

use crate::little_endian::{u16_at, u32_at, u64_at};

/// The first bytes of a container.
pub const MAGIC: u32 = 0xBA55_ED50;
/// The first bytes of a file of machine code.
pub const ELF: &[u8; 4] = b"\x7fELF";
/// Bytes of a container's head that say how long it is.
pub const HEAD_BYTES: usize = 16;

/// How many bytes a container has, head included; `None` if this is the head of none.
pub fn container_bytes(head: &[u8; HEAD_BYTES]) -> Option<u64> {
    if u32_at(head, 0)? != MAGIC {
        return None;
    }
    u64_at(head, 8)?.checked_add(u64::from(u16_at(head, 6)?))
}

/// Bytes of an image's head.
pub const IMAGE_HEAD_BYTES: usize = 64;
/// The kind of an image that is PTX, as text.
pub const PTX: u16 = 1;
/// The kind of an image that is a part of a link: PTX, as text, or a container. All parts are
/// linked with each other. Only links by the library in the program have it; to CUDA it is nothing.
pub const LINKED_PART: u16 = 0x5250;

/// A container of images that are not packed: kind, architecture, and bytes of each. PTX gets the
/// zero that ends it.
pub fn container(images: &[(u16, u32, &[u8])]) -> Vec<u8> {
    const VERSION: u16 = 1;
    const IMAGE_VERSION: u16 = 0x101;
    const ALIGNMENT: usize = 8;
    let mut all = Vec::new();
    for &(kind, architecture, payload) in images {
        let ended = payload.len() + usize::from(kind == PTX);
        let bytes = ended.next_multiple_of(ALIGNMENT);
        let mut head = [0; IMAGE_HEAD_BYTES];
        head[..2].copy_from_slice(&kind.to_le_bytes());
        head[2..4].copy_from_slice(&IMAGE_VERSION.to_le_bytes());
        head[4..8].copy_from_slice(&(IMAGE_HEAD_BYTES as u32).to_le_bytes());
        head[8..16].copy_from_slice(&(bytes as u64).to_le_bytes());
        head[28..32].copy_from_slice(&architecture.to_le_bytes());
        all.extend(head);
        all.extend(payload);
        all.resize(all.len() + bytes - payload.len(), 0);
    }
    let mut container = MAGIC.to_le_bytes().to_vec();
    container.extend(VERSION.to_le_bytes());
    container.extend((HEAD_BYTES as u16).to_le_bytes());
    container.extend((all.len() as u64).to_le_bytes());
    container.extend(all);
    container
}
