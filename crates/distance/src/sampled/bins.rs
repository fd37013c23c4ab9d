//! The bins of the sampler's curves: one per distance below 32, then 16 to an octave.

/// Bins that there are.
pub(super) const BINS: usize = 32 + 59 * 16;

/// The bin of a distance.
#[inline]
pub(super) const fn bin(items: u64) -> usize {
    let shift = (items | 16).ilog2() - 4;
    ((shift << 4) as u64 + (items >> shift)) as usize
}

/// The lowest distance of a bin; of one past the last, the largest number.
pub(super) const fn low(bin: usize) -> u64 {
    if bin < 32 {
        return bin as u64;
    }
    if bin >= BINS {
        return u64::MAX;
    }
    ((bin & 15) as u64 + 16) << ((bin >> 4) - 1)
}

/// Makes `counts[b]` the sum of itself and all after it: accesses by bin become misses by cache
/// size.
pub(super) fn sum_from_above(counts: &mut [f64]) {
    let mut sum = 0.0;
    for count in counts.iter_mut().rev() {
        sum += *count;
        *count = sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_tile_the_distances() {
        for index in 1..BINS {
            assert_eq!((bin(low(index)), bin(low(index) - 1)), (index, index - 1));
        }
        assert_eq!((low(0), bin(u64::MAX), low(BINS)), (0, BINS - 1, u64::MAX));
    }

    #[test]
    fn misses_are_sums_from_above() {
        let mut counts = [1.0, 0.0, 2.0, 4.0];
        sum_from_above(&mut counts);
        assert_eq!(counts, [7.0, 6.0, 6.0, 4.0]);
    }
}
