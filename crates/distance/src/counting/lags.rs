//! Short reuses, found without a table: how many accesses back the same item was, if not far.
//!
//! Everything here compares an access with each of the [`WINDOW`] before it, many accesses at a time, and
//! nothing waits for the result of the access before: a few instructions per access.

use super::compare::Compare;

/// Accesses that are looked back over.
pub(crate) const WINDOW: usize = 32;
/// The lag of an access whose item is not among the last [`WINDOW`] accesses.
pub(crate) const FAR: u8 = WINDOW as u8 + 1;
/// Accesses treated together.
pub(crate) const BLOCK: usize = 64;

/// Accesses before a block of which the lags are kept.
pub(crate) const BACK: usize = WINDOW + 1;

/// Lags of a block, from [`BACK`] on, with those of the accesses before; 0 where there is no access.
pub(crate) type Lags = [u8; BACK + BLOCK];

/// The lag of `items[at + i]` for i below the length of `lags`: how many accesses back the same item was
/// accessed last, [`FAR`] if that is more than [`WINDOW`] or never.
#[inline(always)]
pub(crate) fn find(compare: impl Compare, items: &[u64], at: usize, lags: &mut [u8]) {
    const LANES: usize = 8;
    if at < WINDOW || !lags.len().is_multiple_of(LANES) {
        return find_slowly(items, at, lags);
    }
    let recent = &items[at - WINDOW..at + lags.len()];
    for (start, lags) in (0..).step_by(LANES).zip(lags.chunks_exact_mut(LANES)) {
        let recent = &recent[start..start + WINDOW + LANES];
        let mut found = compare.nearest::<1, WINDOW>(recent);
        if found.iter().any(|lag| *lag == u64::from(FAR)) {
            let further = compare.nearest::<17, WINDOW>(recent);
            for (lag, further) in found.iter_mut().zip(further) {
                *lag = further.min(*lag);
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
pub(crate) fn mostly_near(compare: impl Compare, items: &[u64]) -> bool {
    const SAMPLE: usize = 256;
    let sample = SAMPLE.min(items.len());
    let mut lags = [FAR; SAMPLE];
    find(compare, items, items.len() - sample, &mut lags[..sample]);
    lags.iter().filter(|lag| **lag != FAR).count() * 2 > sample
}

/// For the end: bit i is set if the access i of those [`BACK`] that `lags` begins with was renewed by none of
/// those after it.
pub(crate) fn staying(lags: &Lags) -> u64 {
    let renewed =
        |index: usize| (index + 1..BACK).any(|after| usize::from(lags[after]) == after - index);
    (0..BACK)
        .filter(|&index| lags[index] != 0 && !renewed(index))
        .fold(0, |mask, index| mask | 1 << index)
}
