//! Some consecutive accesses, taken through the stages of the engine together.

use reuselens_units::Distance;

use super::last_access::{LastAccess, NEVER};
use super::live_bits::LiveBits;

/// The accesses of a batch at most: a word of the time axis.
pub(super) const BATCH: usize = 64;

/// A batch between two stages: its items, where the table has them, where their distances go.
pub(super) struct Batch {
    len: usize,
    items: [u64; BATCH],
    homes: [usize; BATCH],
    /// Indices into the caller's block.
    outputs: [usize; BATCH],
    /// The step of the previous access to the item.
    previous: [u64; BATCH],
}

impl Batch {
    pub(super) fn new() -> Self {
        Batch {
            len: 0,
            items: [0; BATCH],
            homes: [0; BATCH],
            outputs: [0; BATCH],
            previous: [0; BATCH],
        }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Stage 1: takes items from `items[from..]` until there are `room` or the block ends, and returns
    /// where it stopped. Immediate repetitions of `last` get their distance of 0 here and go no further.
    #[inline(always)]
    pub(super) fn gather(
        &mut self,
        items: &[u64],
        from: usize,
        room: usize,
        last: &mut u64,
        distances: &mut [Distance],
    ) -> usize {
        let mut len = 0;
        let mut at = from;
        for (&item, distance) in items[from..].iter().zip(&mut distances[from..]) {
            if len == room {
                break;
            }
            *distance = Distance::ZERO;
            self.items[len % BATCH] = item;
            self.outputs[len % BATCH] = at;
            len += usize::from(item != *last);
            *last = item;
            at += 1;
        }
        self.len = len;
        at
    }

    /// Stage 2: finds where the table may have the items. That memory is asked for bit by bit while the
    /// batch before is counted: asking for all of it at once would fill the processor's queue of misses.
    #[inline(always)]
    pub(super) fn locate(&mut self, table: &LastAccess) {
        for (&item, home) in self.items[..self.len].iter().zip(&mut self.homes) {
            *home = table.home(item);
        }
    }

    /// Stage 2 for a batch with none before it: asks for the memory at once.
    #[inline(always)]
    pub(super) fn locate_now(&mut self, table: &LastAccess) {
        self.locate(table);
        for &home in &self.homes[..self.len] {
            table.prefetch(home);
        }
    }

    /// Stage 3: notes and replaces the last step of each item, and asks for the bits there.
    #[inline(always)]
    pub(super) fn look_up(&mut self, table: &mut LastAccess, bits: &LiveBits) {
        let known = self.items[..self.len]
            .iter()
            .zip(&self.homes)
            .zip(&mut self.previous);
        for (step, ((&item, &home), previous)) in (bits.now()..).zip(known) {
            *previous = table.replace(item, home, step);
            bits.prefetch(*previous);
        }
    }

    /// Stage 4: the distances, and the new state of the bits.
    ///
    /// All ranks are taken from the bits as they were before the batch, so that no access waits for
    /// another. What the batch itself changes is put right afterwards: bits that earlier accesses of the
    /// batch cleared behind the previous access (see [`live_between`]), and bits that they set, which
    /// live in one register. Meanwhile the slots of the `next` batch are asked for.
    #[inline(always)]
    pub(super) fn count(
        &self,
        bits: &mut LiveBits,
        distances: &mut [Distance],
        next: &Batch,
        table: &LastAccess,
    ) {
        let now = bits.now();
        let (steps, at, len) = self.older(now);
        let mut base = [0; BATCH];
        if bits.live() <= i32::MAX as u64 {
            live_between::<i32>(bits, &steps[..len], &at, &mut base);
        } else {
            live_between::<i64>(bits, &steps[..len], &at, &mut base);
        }
        let live = self.number(now, &base, distances, next, table);
        bits.clear(&steps[..len]);
        bits.advance(self.len as u64, live);
    }

    /// The previous accesses that are older than the batch, in order: their steps, and the index of the
    /// access of the batch.
    #[inline(always)]
    fn older(&self, now: u64) -> ([u64; BATCH], [u8; BATCH], usize) {
        let (mut steps, mut at, mut len) = ([0; BATCH], [0; BATCH], 0);
        for (index, &step) in self.previous[..self.len].iter().enumerate() {
            steps[len % BATCH] = step;
            at[len % BATCH] = index as u8;
            len += usize::from(step != NEVER && step < now);
        }
        (steps, at, len)
    }

    /// Walks over the batch with its own live bits in one word, writes the distances, returns the word.
    /// `base` has the live steps between the previous access and the batch.
    #[inline(always)]
    fn number(
        &self,
        now: u64,
        base: &[u64; BATCH],
        distances: &mut [Distance],
        next: &Batch,
        table: &LastAccess,
    ) -> u64 {
        let mut live = 0_u64;
        for index in 0..self.len {
            table.prefetch(next.homes[index]);
            let step = self.previous[index];
            let inside = step >= now;
            let bit = if inside {
                1 << (step.wrapping_sub(now) & 63)
            } else {
                0_u64
            };
            // All bits above `bit`; all bits there are if it is 0.
            let above = !(bit | bit.wrapping_sub(u64::from(inside)));
            let distance = base[index] + u64::from((live & above).count_ones());
            live = (live & !bit) | 1 << (index & 63);
            distances[self.outputs[index]] = if step == NEVER {
                Distance::COLD
            } else {
                Distance::new(distance)
            };
        }
        live
    }
}

/// A number that the processor compares many at a time.
trait Lane: Copy + PartialOrd {
    const MAX: Self;
    /// For numbers that fit.
    fn from_u64(number: u64) -> Self;
    fn to_u64(self) -> u64;
}

macro_rules! lane {
    ($type:ty) => {
        impl Lane for $type {
            const MAX: Self = <$type>::MAX;
            #[inline(always)]
            fn from_u64(number: u64) -> Self {
                number as Self
            }
            #[inline(always)]
            fn to_u64(self) -> u64 {
                self as u64
            }
        }
    };
}

lane!(i32);
lane!(i64);

/// For each of the previous accesses `steps`: the steps after it, and before the batch, that are live
/// when the access comes, into `base[at]`. Those are the live ones before the batch, less those that
/// earlier accesses of the batch cleared: the previous accesses before it in `steps` that lie after it.
#[inline(always)]
fn live_between<T: Lane>(
    bits: &LiveBits,
    steps: &[u64],
    at: &[u8; BATCH],
    base: &mut [u64; BATCH],
) {
    let mut after = [T::MAX; BATCH];
    for (after, &step) in after.iter_mut().zip(steps) {
        *after = T::from_u64(bits.live() - 1 - bits.rank(step));
    }
    let cleared = smaller_before(&after, steps.len());
    for ((after, cleared), &at) in after.iter().zip(cleared).zip(&at[..steps.len()]) {
        base[at as usize % BATCH] = after.to_u64() - u64::from(cleared);
    }
}

/// How many of the elements before each of the first `len` are smaller than it. All pairs are compared,
/// eight at a time: for this few, no tree is faster.
#[inline(always)]
fn smaller_before<T: Lane>(numbers: &[T; BATCH], len: usize) -> [u32; BATCH] {
    const WIDTH: usize = 8;
    let mut counts = [0_u32; BATCH];
    for start in (0..len).step_by(WIDTH) {
        let mine: [T; WIDTH] = std::array::from_fn(|lane| numbers[(start + lane) % BATCH]);
        let mut count = [0_u32; WIDTH];
        for &number in &numbers[..start] {
            for lane in 0..WIDTH {
                count[lane] += u32::from(number < mine[lane]);
            }
        }
        for (index, &number) in mine.iter().enumerate() {
            for lane in 0..WIDTH {
                count[lane] += u32::from(number < mine[lane]) & u32::from(index < lane);
            }
        }
        counts[start..start + WIDTH].copy_from_slice(&count);
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smaller_before_counts_pairs() {
        let mut random = 7_u64;
        for len in [0, 1, 7, 8, 9, 33, 63, 64] {
            let wide: [i64; BATCH] = std::array::from_fn(|_| {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (random >> 58) as i64
            });
            let narrow = wide.map(|number| number as i32);
            let expected: Vec<u32> = (0..len)
                .map(|at| {
                    wide[..at]
                        .iter()
                        .filter(|number| **number < wide[at])
                        .count() as u32
                })
                .collect();
            assert_eq!(&smaller_before(&wide, len)[..len], expected);
            assert_eq!(&smaller_before(&narrow, len)[..len], expected);
        }
    }
}
