//! [`WarpPart`]: what one warp touches in a memory instruction, as bytes. Touches whose numbers are
//! evenly apart take a few bytes together, others one to four each.
//!
//! ```text
//! part = tag  warp  [mask | count lane…]  first  [stride | difference from the lowest…]
//! ```
//!
//! The bytes are made here and read here, and never by another version.

use std::ops::Range;

use reuselens_io::varint::{Cursor, Damage, put, put_bytes, put_signed};
use reuselens_warp::LANES;

/// Numbers are evenly apart, by 0.
const SAME: u8 = 0;
/// By 1.
const NEXT: u8 = 1;
/// By any other stride, which follows.
const EVEN: u8 = 2;
/// They are listed.
const LISTED: u8 = 3;
const KIND: u8 = 3;
/// All 32 lanes touch one item each.
const ALL_LANES: u8 = 4;
/// The lane of each touch follows, since some touch several items.
const SEVERAL: u8 = 8;
/// Bytes of a listed number, less one.
const WIDTH_SHIFT: u8 = 4;

/// The items of a part.
#[derive(Clone, Copy, Debug)]
enum PartItems<'a> {
    Even {
        first: u32,
        stride: u32,
    },
    Listed {
        lowest: u32,
        width: usize,
        bytes: &'a [u8],
    },
}

/// What one warp touches in a memory instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WarpPart<'a> {
    pub(crate) warp: u32,
    /// A bit for each lane that touches anything.
    mask: u32,
    /// The lane of each touch, where any touches several items.
    lanes: Option<&'a [u8]>,
    items: PartItems<'a>,
}

/// Appends a part: the lane and the item of each touch, lanes rising.
pub(crate) fn put_part(out: &mut Vec<u8>, warp: u32, lanes: &[u8], items: &[u32]) {
    let mask = lanes
        .iter()
        .fold(0_u32, |mask, lane| mask | 1 << (lane % 32));
    let has_several = mask.count_ones() as usize != lanes.len();
    let first = items.first().copied().unwrap_or(0);
    // Numbers wrap, so a falling stride is one too; it is kept with its sign.
    let stride = items.get(1).map_or(0, |second| second.wrapping_sub(first));
    let uneven = items.windows(2).fold(0, |uneven, pair| {
        uneven | (pair[1].wrapping_sub(pair[0]) ^ stride)
    });
    let lowest = items.iter().copied().min().unwrap_or(0);
    let highest = items.iter().copied().max().unwrap_or(0);
    let width = (32 - (highest - lowest).leading_zeros()).div_ceil(8).max(1) as u8;
    let mut tag = match (uneven, stride) {
        (0, 0) => SAME,
        (0, 1) => NEXT,
        (0, _) => EVEN,
        _ => LISTED | (width - 1) << WIDTH_SHIFT,
    };
    if has_several {
        tag |= SEVERAL;
    } else if mask == u32::MAX {
        tag |= ALL_LANES;
    }
    out.push(tag);
    put(out, warp.into());
    if has_several {
        put_bytes(out, lanes);
    } else if mask != u32::MAX {
        put(out, mask.into());
    }
    if tag & KIND != LISTED {
        put(out, first.into());
        if tag & KIND == EVEN {
            put_signed(out, (stride as i32 as i64) as u64);
        }
        return;
    }
    put(out, lowest.into());
    for &item in items {
        out.extend_from_slice(&(item - lowest).to_le_bytes()[..usize::from(width)]);
    }
}

impl<'a> WarpPart<'a> {
    /// The next part of some bytes.
    pub(crate) fn read(bytes: &'a [u8], at: &mut usize) -> Result<WarpPart<'a>, Damage> {
        let mut cursor = Cursor::new(bytes, *at);
        let tag = cursor.byte()?;
        let warp = cursor.small()?;
        let (mut mask, mut lanes) = (u32::MAX, None);
        if tag & SEVERAL != 0 {
            let listed = cursor.bytes()?;
            mask = listed.iter().fold(0, |mask, lane| mask | 1 << (lane % 32));
            lanes = Some(listed);
        } else if tag & ALL_LANES == 0 {
            mask = cursor.small()?;
        }
        let first = cursor.small()?;
        let items = match tag & KIND {
            LISTED => {
                let width = usize::from(tag >> WIDTH_SHIFT & 3) + 1;
                let count = lanes.map_or(mask.count_ones() as usize, <[u8]>::len);
                PartItems::Listed {
                    lowest: first,
                    width,
                    bytes: cursor.some(count * width)?,
                }
            }
            kind => PartItems::Even {
                first,
                stride: match kind {
                    SAME => 0,
                    NEXT => 1,
                    _ => cursor.signed()? as u32,
                },
            },
        };
        *at = cursor.at();
        Ok(WarpPart {
            warp,
            mask,
            lanes,
            items,
        })
    }

    /// Touches.
    pub(crate) fn touches(&self) -> usize {
        let several = self.lanes.map(<[u8]>::len);
        several.unwrap_or(self.mask.count_ones() as usize)
    }

    /// Whether it surely touches none of these items.
    #[inline]
    pub(crate) fn misses(&self, range: &Range<u32>) -> bool {
        match self.items {
            PartItems::Listed { lowest, .. } => lowest >= range.end,
            PartItems::Even { first, stride } => {
                let steps = self.touches().saturating_sub(1) as i64;
                let last = i64::from(first) + i64::from(stride as i32) * steps;
                let (low, high) = (last.min(first.into()), last.max(first.into()));
                // From `OUTSIDE`, the largest number, the next step leads on from the smallest.
                let wraps = last > u32::MAX.into();
                !wraps && (high < range.start.into() || low >= range.end.into())
            }
        }
    }

    /// Appends the items, one for each touch.
    #[inline]
    pub(crate) fn items_into(&self, out: &mut Vec<u32>) {
        match self.items {
            PartItems::Even { first, stride } => {
                let item = |at: u32| first.wrapping_add(stride.wrapping_mul(at));
                out.extend((0..self.touches() as u32).map(item));
            }
            PartItems::Listed {
                lowest,
                width,
                bytes,
            } => match width {
                1 => out.extend(bytes.iter().map(|&byte| lowest + u32::from(byte))),
                2 => listed_into::<2>(lowest, bytes, out),
                3 => listed_into::<3>(lowest, bytes, out),
                _ => listed_into::<4>(lowest, bytes, out),
            },
        }
    }

    /// Appends the thread of each touch, rising.
    pub(crate) fn threads_into(&self, out: &mut Vec<u16>) {
        let base = self.warp * LANES as u32;
        if let Some(lanes) = self.lanes {
            out.extend(lanes.iter().map(|&lane| (base + u32::from(lane)) as u16));
            return;
        }
        let mut mask = self.mask;
        while mask != 0 {
            out.push((base + mask.trailing_zeros()) as u16);
            mask &= mask - 1;
        }
    }
}

#[inline]
fn listed_into<const WIDTH: usize>(lowest: u32, bytes: &[u8], out: &mut Vec<u32>) {
    out.extend(bytes.as_chunks::<WIDTH>().0.iter().map(|bytes| {
        let mut word = [0; 4];
        word[..WIDTH].copy_from_slice(bytes);
        lowest + u32::from_le_bytes(word)
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_as_they_were_put() {
        let far = [5, 1 << 30, 7, 1 << 20];
        let cases: [(&[u8], &[u32]); 8] = [
            (&[0, 1, 2], &[7, 8, 9]),
            (&[3, 9, 31], &[9, 7, 5]),
            (&[0, 1], &[4, 4]),
            (&[8], &[u32::MAX >> 1]),
            (&[0, 5, 6], &[100, 0, 90]),
            (&[0, 5, 6, 7], &[70_000, 0, 256, 1]),
            (&[0, 5, 6, 7], &far),
            (&[2, 2, 9, 9], &[4, 5, 4, 5]),
        ];
        let mut bytes = Vec::new();
        for (number, (lanes, items)) in (0..).zip(cases) {
            put_part(&mut bytes, number, lanes, items);
        }
        let all: Vec<u32> = (40..72).collect();
        put_part(
            &mut bytes,
            2047,
            &std::array::from_fn::<u8, 32, _>(|lane| lane as u8),
            &all,
        );
        let mut at = 0;
        for (number, (lanes, expected)) in (0..).zip(cases) {
            let part = WarpPart::read(&bytes, &mut at).unwrap();
            let (mut items, mut threads) = (Vec::new(), Vec::new());
            part.items_into(&mut items);
            part.threads_into(&mut threads);
            assert_eq!((part.warp, &items[..]), (number, expected));
            let thread = |lane: &u8| number as u16 * 32 + u16::from(*lane);
            assert_eq!(threads, lanes.iter().map(thread).collect::<Vec<_>>());
            let (low, high) = (
                expected.iter().min().unwrap(),
                expected.iter().max().unwrap(),
            );
            assert!(!part.misses(&(*low..low + 1)) && !part.misses(&(*high..high + 1)));
            assert!(part.misses(&(0..*low)));
        }
        let part = WarpPart::read(&bytes, &mut at).unwrap();
        assert_eq!((part.touches(), at), (32, bytes.len()));
        assert!(part.misses(&(0..40)) && part.misses(&(72..80)) && !part.misses(&(71..80)));
    }
}
