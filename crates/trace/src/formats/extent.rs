//! How far a range operation that a text tells may reach: what costs time and memory later on.

/// The most bytes of one access: 1 TiB, more than any program copies at once, and little enough to go
/// through item by item.
const MOST: u64 = 1 << 40;

/// Whether a trace may have an access of `size` bytes at `addr`. Those of less than 256 bytes are all
/// fine: they are rows as any others, and cost no more.
#[inline(always)]
pub(super) fn fits(addr: u64, size: u64) -> bool {
    size < 256 || (size <= MOST && addr.checked_add(size - 1).is_some())
}

/// What is wrong with an access that does not fit; `column` is that of its size, from 1.
#[cold]
pub(super) fn wrong(addr: u64, size: u64, column: usize) -> String {
    if size > MOST {
        return format!(
            "the size in column {column} is {size} bytes, and no access has more than {MOST}: is it \
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
    fn ranges_are_bounded_and_end_in_the_address_space() {
        for (addr, size, expected) in [
            (0, 1 << 40, true),
            (0, (1 << 40) + 1, false),
            (u64::MAX - 255, 256, true),
            (u64::MAX - 254, 256, false),
            (u64::MAX, 8, true),
            (5, u64::MAX, false),
        ] {
            assert_eq!(fits(addr, size), expected, "{addr} {size}");
        }
    }
}
