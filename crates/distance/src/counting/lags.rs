//! Short reuses, found without a table: how many accesses back the same item was, if not far.
//!
//! Everything here compares an access with each of the [`WINDOW`] before it, many accesses at a time, and
//! nothing waits for the result of the access before: a few instructions per access.

/// Accesses that are looked back over.
pub(super) const WINDOW: usize = 16;
/// The lag of an access whose item is not among the last [`WINDOW`] accesses.
pub(super) const FAR: u8 = WINDOW as u8 + 1;
/// Accesses treated together.
pub(super) const BLOCK: usize = 64;

/// Accesses before a block of which the lags are kept.
pub(super) const BACK: usize = WINDOW + 1;

/// Lags of a block, from [`BACK`] on, with those of the accesses before; 0 where there is no access.
pub(super) type Lags = [u8; BACK + BLOCK];

/// The lag of `items[at + i]` for i below the length of `lags`: how many accesses back the same item was
/// accessed last, [`FAR`] if that is more than [`WINDOW`] or never.
#[inline(always)]
pub(super) fn find(items: &[u64], at: usize, lags: &mut [u8]) {
    const LANES: usize = 8;
    if at < WINDOW || !lags.len().is_multiple_of(LANES) {
        return find_slowly(items, at, lags);
    }
    let recent = &items[at - WINDOW..at + lags.len()];
    for (start, lags) in (0..).step_by(LANES).zip(lags.chunks_exact_mut(LANES)) {
        let recent = &recent[start..start + WINDOW + LANES];
        let mine: [u64; LANES] = std::array::from_fn(|lane| recent[WINDOW + lane]);
        let mut found = [u64::from(FAR); LANES];
        for lag in (1..=WINDOW).rev() {
            let there = &recent[WINDOW - lag..WINDOW - lag + LANES];
            for lane in 0..LANES {
                if there[lane] == mine[lane] {
                    found[lane] = lag as u64;
                }
            }
        }
        for (lag, found) in lags.iter_mut().zip(found) {
            *lag = found as u8;
        }
    }
}

/// The same where the beginning is near, or the block short.
#[cold]
fn find_slowly(items: &[u64], at: usize, lags: &mut [u8]) {
    for (index, lag) in (at..).zip(lags) {
        let back = (1..=WINDOW.min(index)).find(|lag| items[index - lag] == items[index]);
        *lag = back.map_or(FAR, |lag| lag as u8);
    }
}

/// Whether most of the last accesses have their item in the window.
#[inline(always)]
pub(super) fn mostly_near(items: &[u64]) -> bool {
    const SAMPLE: usize = 256;
    let sample = SAMPLE.min(items.len());
    let mut lags = [FAR; SAMPLE];
    find(items, items.len() - sample, &mut lags[..sample]);
    lags.iter().filter(|lag| **lag != FAR).count() * 2 > SAMPLE
}

/// For each access of the block: the distinct items between it and the previous access to its item, if that
/// lies in the window, or else in the window.
///
/// Those are the accesses in between that are the first of their item since: whose own lag reaches at least
/// as far back.
#[inline(always)]
pub(super) fn distinct(lags: &Lags) -> [u8; BLOCK] {
    let mine: [u8; BLOCK] = std::array::from_fn(|index| lags[BACK + index]);
    let mut counts = [0; BLOCK];
    for back in 1..FAR {
        let there = &lags[BACK - back as usize..][..BLOCK];
        for index in 0..BLOCK {
            let first = there[index] + back >= mine[index];
            counts[index] += u8::from(first & (back < mine[index]));
        }
    }
    counts
}

/// Bit i is set if access i of the block is far from the previous access to its item.
#[inline(always)]
pub(super) fn far(lags: &Lags) -> u64 {
    mask(&std::array::from_fn(|index| {
        u8::from(lags[BACK + index] == FAR)
    }))
}

/// Bit i is set if the access [`BACK`] before access i of the block leaves the window now: if it is one, and
/// none of the [`WINDOW`] accesses after it renewed it.
#[inline(always)]
pub(super) fn leaving(lags: &Lags) -> u64 {
    let mut leaves: [u8; BLOCK] = std::array::from_fn(|index| u8::from(lags[index] != 0));
    for after in 1..FAR {
        let there = &lags[after as usize..][..BLOCK];
        for index in 0..BLOCK {
            leaves[index] &= u8::from(there[index] != after);
        }
    }
    mask(&leaves)
}

/// For the end: bit i is set if the access i of those [`BACK`] that `lags` begins with was renewed by none of
/// those after it.
pub(super) fn staying(lags: &Lags) -> u64 {
    let renewed =
        |index: usize| (index + 1..BACK).any(|after| usize::from(lags[after]) == after - index);
    (0..BACK)
        .filter(|&index| lags[index] != 0 && !renewed(index))
        .fold(0, |mask, index| mask | 1 << index)
}

#[inline(always)]
fn mask(bits: &[u8; BLOCK]) -> u64 {
    let mut mask = 0;
    for (index, &bit) in bits.iter().enumerate() {
        mask |= u64::from(bit) << index;
    }
    mask
}
