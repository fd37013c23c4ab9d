//! Where an item is looked for in the tables that answer exactly.

/// A bijection of 64-bit numbers in which every bit of the input reaches every high bit of the output, so that
/// no stride of real addresses crowds one part of a table. The constants and shifts are those of MurmurHash3's
/// finaliser (public domain).
#[inline(always)]
pub(crate) fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    (number ^ (number >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53)
}
