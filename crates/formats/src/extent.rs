//! The largest size of an access that a text may state, and the messages for larger ones.
//!
//! A reader adds each item that an access covers, which takes time, and memory for items that are
//! new: so one damaged number must not make an access of 2^60 bytes. Used by lackey, msr and csv.

/// The most bytes of one instruction's access: 64 KiB. `xsave` stores the most, 11 KiB with all
/// registers that processors have today.
pub(super) const INSTRUCTION: u64 = 1 << 16;
/// The most bytes of one request to a disk or a store: 1 GiB, 16 million lines of 64 bytes.
pub(super) const REQUEST: u64 = 1 << 30;

/// The most bytes of an object in a cache: 1 TiB. The sizes of 16 million of these still have a sum
/// of 64 bits.
pub(super) const OBJECT: u64 = 1 << 40;

/// Whether a trace may have an access of `size` bytes at `addr` if none has more than `most`. Those
/// of less than 256 bytes are all fine: they are rows as any others, and cost no more.
#[inline(always)]
pub(super) fn fits(addr: u64, size: u64, most: u64) -> bool {
    size < 256 || (size <= most && addr.checked_add(size - 1).is_some())
}

/// What is wrong with an access that does not fit; `column` is that of its size, from 1.
#[cold]
pub(super) fn wrong(addr: u64, size: u64, most: u64, column: usize) -> String {
    if size > most {
        return format!(
            "the size in column {column} is {size} bytes, and no access has more than {most}: is it \
             the column of sizes?"
        );
    }
    format!(
        "the size in column {column}, {size} bytes from address {addr:#x} on, reaches beyond the end of \
         the address space"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_large_or_wrapping_extents_are_refused() {
        for (addr, size, expected) in [
            (0, 1 << 30, true),
            (0, (1 << 30) + 1, false),
            (u64::MAX - 255, 256, true),
            (u64::MAX - 254, 256, false),
            (u64::MAX, 8, true),
            (5, u64::MAX, false),
        ] {
            assert_eq!(fits(addr, size, REQUEST), expected, "{addr} {size}");
        }
    }
}
