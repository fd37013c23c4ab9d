//! The first bytes of compressed files and of text in UTF-16, for the message that refuses them.
//!
//! Used by `lib.rs`, when it looks for the format of a file.

/// Name of the packing and the command that undoes it, if `head` begins a packed file.
///
/// Those that are unpacked on the way are here too: for what is packed twice.
pub(super) fn packed_with(head: &[u8]) -> Option<(&'static str, &'static str)> {
    const PACKINGS: &[(&[u8], &str, &str)] = &[
        (&[0x1f, 0x8b, 8], "gzip", "gzip -dc"),
        (&[0x28, 0xb5, 0x2f, 0xfd], "zstd", "zstd -dc"),
        (&[0xfd, b'7', b'z', b'X', b'Z', 0], "xz", "xz -dc"),
        (b"BZh", "bzip2", "bzip2 -dc"),
        (&[0x04, 0x22, 0x4d, 0x18], "lz4", "lz4 -dc"),
        (b"PK\x03\x04", "zip", "unzip -p"),
    ];
    let found = PACKINGS
        .iter()
        .find(|(magic, _, _)| head.starts_with(magic));
    found.map(|&(_, how, command)| (how, command))
}

/// Whether `head` begins text of two bytes a letter, as some systems export it.
pub(super) fn is_utf16(head: &[u8]) -> bool {
    // Which byte of a Latin letter is 0 says the order.
    let zero = match head {
        [0xff, 0xfe, ..] => 1,
        [0xfe, 0xff, ..] => 0,
        _ => return false,
    };
    let letters = head[2..].chunks_exact(2).take(8);
    letters.len() > 0 && letters.into_iter().all(|pair| pair[zero] == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf16_is_detected_and_numbers_are_not() {
        assert!(is_utf16(b"\xff\xfea\0,\0"));
        assert!(is_utf16(b"\xfe\xff\0a\0,"));
        assert!(!is_utf16(b"\xff\xfe"));
        assert!(!is_utf16(b"\xff\xfea\0,b"));
        assert!(!is_utf16(b"a\0,\0"));
    }
}
