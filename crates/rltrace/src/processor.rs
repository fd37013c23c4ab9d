//! The hot loops, compiled for any processor and for those since about 2020, which gather the bits
//! of a number in one instruction.

use crate::decode_rows::{Rows, Sink, Streams};
use crate::decode_templates::items::{Eight, FEW_WORDS, completed};
use crate::decode_templates::{Notes, ShapeDecoder};
use crate::row_classifier::Touching;
use reuselens_io::varint::{Damage, Portable, Squeeze, pack_here};
#[cfg(target_arch = "x86_64")]
use reuselens_io::varint::{ENDS, several};
use reuselens_trace::{Columns, Repeats};

#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod varint;

/// What the hot loops ask of a processor: numbers of variable length, and several rows at once.
pub(super) trait Processor: Squeeze {
    /// Bit i is set if byte i has one of these bits.
    #[inline(always)]
    fn bits(self, bytes: &[u8; 64], of: u8) -> u64 {
        let rows = (0..).zip(bytes);
        rows.fold(0, |all, (row, byte)| all | u64::from(byte & of != 0) << row)
    }

    /// Bit i is set if `sizes[i]` bytes from `addrs[i]` on are not all in one item; `mask` are the
    /// bits of an address below its item's.
    #[inline(always)]
    fn over(self, addrs: &[u64; 64], sizes: &[u8; 64], mask: u64) -> u64 {
        let rows = (0..).zip(addrs.iter().zip(sizes));
        rows.fold(0, |all, (row, (addr, size))| {
            all | u64::from((addr & mask) + u64::from(*size) > mask + 1) << row
        })
    }

    /// Puts those numbers together whose bit is set; how many they are. What is behind them is
    /// anything.
    #[inline(always)]
    fn compress(self, numbers: &[u64; 64], which: u64, into: &mut [u64; 64]) -> usize {
        let mut count = 0;
        for (row, number) in numbers.iter().enumerate() {
            into[count % 64] = *number;
            count += (which >> row & 1) as usize;
        }
        count
    }

    /// Adds a step to each address.
    #[inline(always)]
    fn step(self, addrs: &mut [u64], steps: &[u64]) {
        for (addr, step) in addrs.iter_mut().zip(steps) {
            *addr = addr.wrapping_add(*step);
        }
    }

    /// Copies addresses. Whether none of them has more bytes than are left in its item; of an item
    /// `mask` are the bits below it.
    #[inline(always)]
    fn copy(self, addrs: &[u64], sizes: &[u64], mask: u64, into: &mut [u64]) -> bool {
        let mut over = 0;
        for ((addr, size), into) in addrs.iter().zip(sizes).zip(into) {
            *into = *addr;
            over |= u64::from((addr & mask) + size > mask + 1);
        }
        over == 0
    }

    /// [`completed`]. All words are among these.
    #[inline(always)]
    fn complete(
        self,
        of: &Eight,
        words: &[u64; FEW_WORDS],
        mask: u64,
        into: &mut [u64; 8],
    ) -> bool {
        completed(of, words, mask, into)
    }
}

impl Processor for Portable {}

/// On one that has the extensions that [`newer`] is compiled for.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
struct Newer(());

#[cfg(target_arch = "x86_64")]
impl Newer {
    /// `None` if the processor lacks one of them.
    fn new() -> Option<Newer> {
        // Those that have `vaes` gather bits in one step; older ones of AMD take hundreds.
        let seen = is_x86_feature_detected!("vaes")
            && is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        seen.then_some(Newer(()))
    }
}

#[cfg(target_arch = "x86_64")]
impl Squeeze for Newer {
    #[inline(always)]
    fn squeeze(self, word: u64) -> u64 {
        // SAFETY: there is a `Newer` only where the extension was seen.
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

#[cfg(target_arch = "x86_64")]
impl Processor for Newer {}

/// On one that has the extensions that [`newest`] is compiled for besides: it takes eight numbers
/// at once.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
struct Widest(Newer);

#[cfg(target_arch = "x86_64")]
impl Widest {
    /// `None` if the processor lacks one of them.
    fn new() -> Option<Widest> {
        let newer = Newer::new()?;
        let seen = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vbmi2");
        seen.then_some(Widest(newer))
    }
}

/// For tests: `None` if the processor lacks an extension.
#[cfg(all(test, target_arch = "x86_64"))]
pub(super) fn widest() -> Option<impl Processor> {
    Widest::new()
}

#[cfg(target_arch = "x86_64")]
impl Squeeze for Widest {
    #[inline(always)]
    fn squeeze(self, word: u64) -> u64 {
        self.0.squeeze(word)
    }

    #[inline(always)]
    fn spread(self, number: u64) -> u64 {
        self.0.spread(number)
    }

    #[inline(always)]
    fn several(self, bytes: &[u8], into: &mut [u64]) -> (usize, usize) {
        // SAFETY: as in `bits`.
        match unsafe { varint::unpack(bytes, into) } {
            (0, _) => several(self, bytes, into),
            some => some,
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl Processor for Widest {
    #[inline(always)]
    fn bits(self, bytes: &[u8; 64], of: u8) -> u64 {
        // SAFETY: there is a `Widest` only where all was seen that the function is compiled for.
        unsafe { avx512::bits(bytes, of) }
    }

    #[inline(always)]
    fn over(self, addrs: &[u64; 64], sizes: &[u8; 64], mask: u64) -> u64 {
        // SAFETY: as in `bits`.
        unsafe { avx512::over(addrs, sizes, mask) }
    }

    #[inline(always)]
    fn compress(self, numbers: &[u64; 64], which: u64, into: &mut [u64; 64]) -> usize {
        // SAFETY: as in `bits`.
        unsafe { avx512::compress(numbers, which, into) }
    }

    #[inline(always)]
    fn step(self, addrs: &mut [u64], steps: &[u64]) {
        // SAFETY: as in `bits`.
        unsafe { avx512::step(addrs, steps) }
    }

    #[inline(always)]
    fn copy(self, addrs: &[u64], sizes: &[u64], mask: u64, into: &mut [u64]) -> bool {
        // SAFETY: as in `bits`.
        unsafe { avx512::copy(addrs, sizes, mask, into) }
    }

    #[inline(always)]
    fn complete(
        self,
        of: &Eight,
        words: &[u64; FEW_WORDS],
        mask: u64,
        into: &mut [u64; 8],
    ) -> bool {
        // SAFETY: as in `bits`.
        unsafe { avx512::complete(of, words, mask, into) }
    }
}

/// [`Rows::block_here`] for the processor at hand.
pub(super) fn block(
    rows: &mut Rows,
    streams: &mut Streams<'_>,
    count: usize,
    sink: &mut impl Sink,
) -> Result<(), Damage> {
    #[cfg(target_arch = "x86_64")]
    if let Some(processor) = Widest::new() {
        // SAFETY: as below.
        return unsafe { newest(rows, processor, streams, count, sink) };
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(processor) = Newer::new() {
        // SAFETY: the function demands a processor with the extensions that it is compiled for, and
        // there is a `Newer` only where each of them was seen.
        return unsafe { newer(rows, processor, streams, count, sink) };
    }
    rows.block_here(Portable, streams, count, sink)
}

/// Bytes that [`pack`] needs besides the longest that its numbers can take.
pub(super) const ROOM: usize = 64;

/// [`pack_here`] for the processor at hand; there are [`ROOM`] bytes more than it asks for.
pub(super) fn pack<const SIGNED: bool>(numbers: &[u64], bytes: &mut [u8]) -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        if let Some(written) = varint::pack::<SIGNED>(numbers, bytes) {
            return written;
        }
        if let Some(processor) = Newer::new() {
            // SAFETY: as in [`block`].
            return unsafe { newer_pack::<SIGNED>(processor, numbers, bytes) };
        }
    }
    pack_here::<SIGNED>(Portable, numbers, bytes)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn newer_pack<const SIGNED: bool>(processor: Newer, numbers: &[u64], bytes: &mut [u8]) -> usize {
    pack_here::<SIGNED>(processor, numbers, bytes)
}

/// What is done with the notes of a block, for the processor at hand.
macro_rules! of_shapes {
    ($(#[$doc:meta])* $name:ident, $newer:ident, $newest:ident = $here:ident($to:ty) -> $result:ty) => {
        $(#[$doc])*
        pub(super) fn $name(
            shapes: &mut ShapeDecoder,
            streams: &mut Streams<'_>,
            notes: Notes,
            to: $to,
        ) -> Result<$result, Damage> {
            #[cfg(target_arch = "x86_64")]
            if let Some(processor) = Widest::new() {
                // SAFETY: as in [`block`].
                return unsafe { $newest(shapes, processor, streams, notes, to) };
            }
            #[cfg(target_arch = "x86_64")]
            if let Some(processor) = Newer::new() {
                // SAFETY: as in [`block`].
                return unsafe { $newer(shapes, processor, streams, notes, to) };
            }
            shapes.$here(Portable, streams, notes, to)
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        fn $newer(
            shapes: &mut ShapeDecoder,
            processor: Newer,
            streams: &mut Streams<'_>,
            notes: Notes,
            to: $to,
        ) -> Result<$result, Damage> {
            shapes.$here(processor, streams, notes, to)
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(
            enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt"
        )]
        fn $newest(
            shapes: &mut ShapeDecoder,
            processor: Widest,
            streams: &mut Streams<'_>,
            notes: Notes,
            to: $to,
        ) -> Result<$result, Damage> {
            shapes.$here(processor, streams, notes, to)
        }
    };
}

of_shapes! {
    /// [`ShapeDecoder::block_here`] for the processor at hand.
    shaped, newer_shaped, newest_shaped = block_here(&mut Columns<'_>) -> ()
}

of_shapes! {
    /// [`ShapeDecoder::fold_here`] for the processor at hand.
    folded, newer_folded, newest_folded = fold_here((&mut Columns<'_>, &mut Repeats)) -> usize
}

of_shapes! {
    /// [`ShapeDecoder::touch_here`] for the processor at hand.
    touch, newer_touch, newest_touch = touch_here(&mut Touching<'_, false>) -> ()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn newer(
    rows: &mut Rows,
    processor: Newer,
    streams: &mut Streams<'_>,
    count: usize,
    sink: &mut impl Sink,
) -> Result<(), Damage> {
    rows.block_here(processor, streams, count, sink)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt"
)]
fn newest(
    rows: &mut Rows,
    processor: Widest,
    streams: &mut Streams<'_>,
    count: usize,
    sink: &mut impl Sink,
) -> Result<(), Damage> {
    rows.block_here(processor, streams, count, sink)
}
