//! Ways of comparing many numbers at once: for any processor, with AVX2, with AVX-512.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) use avx512::Avx512;

use super::lags::{BACK, BLOCK, FAR, Lags};
use super::line::Line;

/// A way of comparing. Values exist only where the processor has what it takes.
pub(crate) trait Compare: Copy {
    /// Bit i is set if `line.items[i]` is `item`; for an empty place that is so if `item` is 0.
    fn equal(self, line: &Line, item: u64) -> u32;

    /// For each of eight items, `recent[WINDOW..]`, how many places before it in `recent` the nearest equal
    /// one is, if that is from `LEAST` to `LEAST` + 15, else [`FAR`].
    fn nearest<const LEAST: usize, const WINDOW: usize>(self, recent: &[u64]) -> [u64; 8];

    /// For each access of a block, how many of the accesses between it and the one that its lag leads to have
    /// a lag that reaches at least as far back. (There are at most as many as the window is long.)
    fn between(self, lags: &Lags) -> [u8; BLOCK];

    /// Bit i is set if access i of the block has the lag [`FAR`].
    fn far(self, lags: &Lags) -> u64;

    /// Bit i is set if the access [`BACK`] before access i of the block is one (has a lag), and is what none
    /// of the lags of the accesses after it leads to.
    fn leaving(self, lags: &Lags) -> u64;
}

/// One after the other.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

impl Compare for Portable {
    #[inline(always)]
    fn equal(self, line: &Line, item: u64) -> u32 {
        let bits = line.items.iter().zip(0..);
        bits.map(|(there, bit)| u32::from(*there == item) << bit)
            .sum()
    }

    #[inline(always)]
    fn nearest<const LEAST: usize, const WINDOW: usize>(self, recent: &[u64]) -> [u64; 8] {
        let mut found = [FAR.into(); 8];
        for (lane, found) in found.iter_mut().enumerate() {
            for back in (LEAST..LEAST + 16).rev() {
                if recent[WINDOW + lane - back] == recent[WINDOW + lane] {
                    *found = back as u64;
                }
            }
        }
        found
    }

    #[inline(always)]
    fn between(self, lags: &Lags) -> [u8; BLOCK] {
        std::array::from_fn(|index| {
            let (at, mine) = (BACK + index, lags[BACK + index]);
            let between = (1..mine).filter(|back| lags[at - *back as usize] + back >= mine);
            between.count() as u8
        })
    }

    #[inline(always)]
    fn far(self, lags: &Lags) -> u64 {
        let bits = lags[BACK..].iter().zip(0..);
        bits.map(|(lag, bit)| u64::from(*lag == FAR) << bit).sum()
    }

    #[inline(always)]
    fn leaving(self, lags: &Lags) -> u64 {
        let leaves = |index: usize| {
            lags[index] != 0 && (1..FAR).all(|after| lags[index + after as usize] != after)
        };
        let bits = (0..BLOCK).map(|index| u64::from(leaves(index)) << index);
        bits.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(way: impl Compare) {
        let numbers: Vec<u64> = (0..400_u64).map(|i| i * i * 7919 % 41).collect();
        for at in 0..200 {
            let recent = &numbers[at..];
            let nearest = way.nearest::<1, 32>(recent);
            for (lane, found) in nearest.iter().enumerate() {
                let back = (1..=16).find(|back| recent[32 + lane - back] == recent[32 + lane]);
                assert_eq!(*found, back.unwrap_or(FAR.into()) as u64);
            }
            assert_eq!(
                way.nearest::<17, 32>(recent),
                Portable.nearest::<17, 32>(recent)
            );
            let lags: Lags = std::array::from_fn(|i| (recent[i] % u64::from(FAR + 1)) as u8);
            assert_eq!(way.between(&lags), Portable.between(&lags));
            assert_eq!(way.far(&lags), Portable.far(&lags));
            assert_eq!(way.leaving(&lags), Portable.leaving(&lags));
        }
        let line = Line {
            items: [7, u64::MAX, 0, 7, 1 << 63],
            steps: [1, 2, 3, 4, 5, 0],
        };
        for item in [0, 7, u64::MAX, 1 << 63, 5] {
            let by_hand = (0..5).map(|bit| u32::from(line.items[bit] == item) << bit);
            assert_eq!(way.equal(&line, item), by_hand.sum::<u32>());
        }
    }

    /// On a given machine only one of them would ever run.
    #[test]
    fn every_way_of_comparing_agrees() {
        check(Portable);
        #[cfg(target_arch = "x86_64")]
        if let Some(way) = Avx2::new() {
            check(way);
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(way) = Avx512::new() {
            check(way);
        }
        assert_eq!((size_of::<Line>(), align_of::<Line>()), (64, 64));
    }
}
