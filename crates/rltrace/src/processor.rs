//! What the hot loops of this crate ask of a processor, and the types that answer.
//!
//! A hot loop (`decode_rows`, `decode_templates`, `encode_templates`) takes an `impl` [`Processor`]
//! and is compiled three times by `entry_point!` (crate `simd`): with [`Avx512`], with [`Avx2`] and
//! with `Portable`. The entry points are beside the loops; this module knows no loop. All three
//! types give the same results, which the tests of [`avx512`] and [`varint`] check.
//!
//! | type | instructions that matter | measured |
//! |---|---|---|
//! | [`Avx512`] | eight numbers at once | r.lua 5.68 → 4.60 ns a row |
//! | [`Avx2`] | bits of a number gathered in one step | 5 to 16 % where numbers are long |
//!
//! Methods here are `#[inline(always)]`, so that they are compiled for the level of the loop that
//! calls them.

use reuselens_io::varint::{Portable, Squeeze};
use reuselens_simd::Level;
#[cfg(target_arch = "x86_64")]
use {
    reuselens_io::varint::{ENDS, LONGEST, pack_here, several},
    reuselens_simd::{Icelake, V3},
};

use crate::access_group::{AccessGroup, FEW_OPERANDS, GROUP_ACCESSES, completed};

#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod varint;

/// Bytes that must be free after the longest that packed numbers can take (`LONGEST` each): packing
/// eight at once writes 64 bytes, of which some are then overwritten.
pub(super) const PACK_SLACK: usize = 64;

/// The level to pass to this crate's entry points. Call it per block: it takes a few loads.
pub(super) fn level() -> Level {
    Level::best_with_fast_pext()
}

/// Numbers of variable length ([`Squeeze`]), and several rows or accesses at once.
///
/// Masks have a bit for each of 64 rows, the lowest for the first. The `mask` of items has the bits
/// of an address below its item's number.
pub(super) trait Processor: Squeeze {
    /// The rows whose class byte has one of the bits `of`.
    fn rows_with(self, classes: &[u8; 64], of: u8) -> u64;

    /// The rows whose `sizes[i]` bytes from `addrs[i]` on are in more than one item.
    fn rows_over(self, addrs: &[u64; 64], sizes: &[u8; 64], mask: u64) -> u64;

    /// Copies the numbers of the rows `which` to the beginning of `into`, and returns how many they
    /// are. The rest of `into` is arbitrary.
    fn compress(self, numbers: &[u64; 64], which: u64, into: &mut [u64; 64]) -> usize;

    /// Adds to each address its step.
    fn add_steps(self, addrs: &mut [u64], steps: &[u64]);

    /// Copies addresses. Returns whether each access of `sizes[i]` bytes is within one item; the
    /// addresses are copied in any case.
    fn copy_if_in_items(self, addrs: &[u64], sizes: &[u64], mask: u64, into: &mut [u64]) -> bool;

    /// As [`completed`]. All operands of the group must be among these
    /// ([`AccessGroup::few_operands`]).
    fn complete(
        self,
        group: &AccessGroup,
        operands: &[u64; FEW_OPERANDS],
        mask: u64,
        into: &mut [u64; GROUP_ACCESSES],
    ) -> bool;
}

/// A processor type for which the compiler vectorises plain loops, if at all.
trait PlainLoops: Squeeze {}

impl PlainLoops for Portable {}

#[cfg(target_arch = "x86_64")]
impl PlainLoops for Avx2 {}

impl<P: PlainLoops> Processor for P {
    #[inline(always)]
    fn rows_with(self, classes: &[u8; 64], of: u8) -> u64 {
        let rows = (0..).zip(classes);
        rows.fold(0, |all, (row, class)| {
            all | u64::from(class & of != 0) << row
        })
    }

    #[inline(always)]
    fn rows_over(self, addrs: &[u64; 64], sizes: &[u8; 64], mask: u64) -> u64 {
        let rows = (0..).zip(addrs.iter().zip(sizes));
        rows.fold(0, |all, (row, (addr, size))| {
            all | u64::from((addr & mask) + u64::from(*size) > mask + 1) << row
        })
    }

    #[inline(always)]
    fn compress(self, numbers: &[u64; 64], which: u64, into: &mut [u64; 64]) -> usize {
        let mut count = 0;
        for (row, number) in numbers.iter().enumerate() {
            // Written in any case, and kept if its bit is set: a branch would be mispredicted.
            into[count % 64] = *number;
            count += (which >> row & 1) as usize;
        }
        count
    }

    #[inline(always)]
    fn add_steps(self, addrs: &mut [u64], steps: &[u64]) {
        for (addr, step) in addrs.iter_mut().zip(steps) {
            *addr = addr.wrapping_add(*step);
        }
    }

    #[inline(always)]
    fn copy_if_in_items(self, addrs: &[u64], sizes: &[u64], mask: u64, into: &mut [u64]) -> bool {
        let mut is_over = 0;
        for ((addr, size), into) in addrs.iter().zip(sizes).zip(into) {
            *into = *addr;
            is_over |= u64::from((addr & mask) + size > mask + 1);
        }
        is_over == 0
    }

    #[inline(always)]
    fn complete(
        self,
        group: &AccessGroup,
        operands: &[u64; FEW_OPERANDS],
        mask: u64,
        into: &mut [u64; GROUP_ACCESSES],
    ) -> bool {
        completed(group, operands, mask, into)
    }
}

/// Vectors of 256 bits, and the bits of a number gathered in one step.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(super) struct Avx2(V3);

#[cfg(target_arch = "x86_64")]
impl Avx2 {
    #[inline(always)]
    pub(super) fn with(proof: V3) -> Avx2 {
        Avx2(proof)
    }
}

#[cfg(target_arch = "x86_64")]
impl Squeeze for Avx2 {
    #[inline(always)]
    fn squeeze(self, word: u64) -> u64 {
        // SAFETY: a value of this type has the proof that the processor has BMI2.
        unsafe { std::arch::x86_64::_pext_u64(word, !ENDS) }
    }

    #[inline(always)]
    fn spread(self, number: u64) -> u64 {
        // SAFETY: as in `squeeze`.
        unsafe { std::arch::x86_64::_pdep_u64(number, !ENDS) }
    }

    #[inline(always)]
    fn several(self, bytes: &[u8], into: &mut [u64]) -> (usize, usize) {
        several(self, bytes, into)
    }
}

/// Vectors of 512 bits, which take eight numbers at once.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(super) struct Avx512(Icelake);

#[cfg(target_arch = "x86_64")]
impl Avx512 {
    #[inline(always)]
    pub(super) fn with(proof: Icelake) -> Avx512 {
        Avx512(proof)
    }

    /// As [`pack_here`], eight numbers at once. `bytes` should have [`PACK_SLACK`] more than
    /// `LONGEST` for each number; with fewer, the numbers are packed one by one.
    #[inline(always)]
    pub(super) fn pack<const SIGNED: bool>(self, numbers: &[u64], bytes: &mut [u8]) -> usize {
        if bytes.len() < numbers.len() * LONGEST + PACK_SLACK {
            return pack_here::<SIGNED>(self, numbers, bytes);
        }
        // SAFETY: a value of this type has the proof that the processor has the instructions.
        unsafe { varint::pack::<SIGNED>(numbers, bytes) }
    }
}

#[cfg(target_arch = "x86_64")]
impl Squeeze for Avx512 {
    #[inline(always)]
    fn squeeze(self, word: u64) -> u64 {
        // SAFETY: as in `pack`.
        unsafe { std::arch::x86_64::_pext_u64(word, !ENDS) }
    }

    #[inline(always)]
    fn spread(self, number: u64) -> u64 {
        // SAFETY: as in `pack`.
        unsafe { std::arch::x86_64::_pdep_u64(number, !ENDS) }
    }

    #[inline(always)]
    fn several(self, bytes: &[u8], into: &mut [u64]) -> (usize, usize) {
        // SAFETY: as in `pack`.
        match unsafe { varint::unpack(bytes, into) } {
            (0, _) => several(self, bytes, into),
            some => some,
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl Processor for Avx512 {
    #[inline(always)]
    fn rows_with(self, classes: &[u8; 64], of: u8) -> u64 {
        // SAFETY: as in `pack`.
        unsafe { avx512::rows_with(classes, of) }
    }

    #[inline(always)]
    fn rows_over(self, addrs: &[u64; 64], sizes: &[u8; 64], mask: u64) -> u64 {
        // SAFETY: as in `pack`.
        unsafe { avx512::rows_over(addrs, sizes, mask) }
    }

    #[inline(always)]
    fn compress(self, numbers: &[u64; 64], which: u64, into: &mut [u64; 64]) -> usize {
        // SAFETY: as in `pack`.
        unsafe { avx512::compress(numbers, which, into) }
    }

    #[inline(always)]
    fn add_steps(self, addrs: &mut [u64], steps: &[u64]) {
        // SAFETY: as in `pack`.
        unsafe { avx512::add_steps(addrs, steps) }
    }

    #[inline(always)]
    fn copy_if_in_items(self, addrs: &[u64], sizes: &[u64], mask: u64, into: &mut [u64]) -> bool {
        // SAFETY: as in `pack`.
        unsafe { avx512::copy_if_in_items(addrs, sizes, mask, into) }
    }

    #[inline(always)]
    fn complete(
        self,
        group: &AccessGroup,
        operands: &[u64; FEW_OPERANDS],
        mask: u64,
        into: &mut [u64; GROUP_ACCESSES],
    ) -> bool {
        // SAFETY: as in `pack`.
        unsafe { avx512::complete(group, operands, mask, into) }
    }
}
