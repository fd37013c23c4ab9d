//! Compressed traces, which are not cut into pieces.
//!
//! What is compressed is unpacked on the way in, on a thread that runs ahead; how far it is in the file when
//! a block comes out is chance, and pieces cut there would not fit.

/// What a file that begins with `head` is packed with, and how to unpack it: what the readers of traces
/// unpack on the way in. They look at more than the magic, since raw numbers can begin like one.
pub(super) fn packing(head: &[u8]) -> Option<(&'static str, &'static str)> {
    const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
    let zstd = Some(("zstd", "zstd -d"));
    match head {
        // Deflate, no reserved flag; level and system of those that exist.
        [0x1f, 0x8b, 8, flags, rest @ ..] if flags & 0xe0 == 0 => {
            let level = rest.get(4).is_none_or(|&level| matches!(level, 0 | 2 | 4));
            let system = rest.get(5).is_none_or(|&from| from <= 13 || from == 255);
            (level && system).then_some(("gzip", "gunzip -k"))
        }
        [0x1f, 0x8b] | [0x1f, 0x8b, 8] => Some(("gzip", "gunzip -k")),
        [a, b, c, d, ..] if [*a, *b, *c, *d] == ZSTD => zstd,
        // A frame to skip, with which parallel packers begin; then its length.
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, a, b, c, d, rest @ ..] => {
            let length = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
            let next = rest.get(length..).unwrap_or_default();
            zstd.filter(|_| next.starts_with(&ZSTD))
        }
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(("xz", "xz -dk")),
        [b'P', b'K', 3, 4, 0..=99, 0, _, _, 0..=99, 0, ..] => Some(("zip", "unzip")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::packing;

    #[test]
    fn what_is_packed_is_known_by_its_beginning() {
        let skipped = [
            0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 9, 0x28, 0xb5, 0x2f, 0xfd,
        ];
        for (head, name) in [
            (&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3][..], "gzip"),
            (&[0x28, 0xb5, 0x2f, 0xfd, 0], "zstd"),
            (&skipped, "zstd"),
            (b"\xfd7zXZ\0", "xz"),
            (b"PK\x03\x04\x14\0\0\0\x08\0", "zip"),
        ] {
            assert_eq!(packing(head).map(|found| found.0), Some(name));
        }
        let numbers: [&[u8]; 4] = [b"", b"a b c", &[0x1f, 0x8b, 9, 0], &skipped[..9]];
        for head in numbers {
            assert_eq!(packing(head), None, "{head:?}");
        }
    }
}
