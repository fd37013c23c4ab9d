//! [`Compare`]: the operations of the counting tree that compare many numbers at once. There are
//! three implementations with the same results: for any processor ([`Portable`]), with AVX2 and
//! with AVX-512.

/// Does something for each number of accesses back in the window, the farthest first, without a
/// loop: the numbers become constants in vectors, and nothing waits for a counter.
#[cfg(target_arch = "x86_64")]
macro_rules! for_each_back {
    ($back:ident => $work:block) => {
        for_each_back!(@ $back $work
            32 31 30 29 28 27 26 25 24 23 22 21 20 19 18 17 16 15 14 13 12 11 10 9 8 7 6 5 4 3 2 1)
    };
    (@ $back:ident $work:block $($number:literal)*) => {
        $({
            const $back: usize = $number;
            $work
        })*
    };
}

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) use avx512::Avx512;

use super::line::TableLine;
use super::window_layout::{
    BACK, BLOCK, FAR, Kept, Keys, LEAVES, Lags, Pieces, Reach, Todo, WINDOW,
};

/// A way of comparing. Values exist only where the processor has what it takes.
pub(crate) trait Compare: Copy {
    /// Bit i is set if `line.items[i]` is `item`; for an empty place that is so if `item` is 0.
    fn equal(self, line: &TableLine, item: u64) -> u32;

    /// How many accesses back from each access of a block the nearest with the same key is, [`FAR`]
    /// if there is none among the [`WINDOW`] before.
    fn nearest(self, keys: Keys<&[u8]>) -> [u8; BLOCK];

    /// Whether the accesses that the lags of a block lead to are to the same items; `recent` begins
    /// [`WINDOW`] before the block. Lags are those of [`nearest`](Self::nearest).
    #[inline(always)]
    fn lead_to_same(self, recent: &[u64; WINDOW + BLOCK], lags: &[u8; BLOCK]) -> bool {
        let mut places = [0_u8; BLOCK];
        for (mine, (place, lag)) in (WINDOW as u8..).zip(places.iter_mut().zip(lags)) {
            *place = mine - if *lag == FAR { 0 } else { *lag };
        }
        let mut different = 0;
        for (place, mine) in places.iter().zip(&recent[WINDOW..]) {
            different |= recent[usize::from(*place)] ^ mine;
        }
        different == 0
    }

    /// How many of the [`WINDOW`] accesses before each access of a block reach at least as far
    /// back: to a place that is not after the one that the access itself reaches.
    fn reaching(self, reach: &Reach) -> [u8; BLOCK];

    /// Writes those accesses of a block, which begins with the second of `items`, that are not to
    /// the same item as the one before. Bit i of what it returns is set if access i was written.
    /// `start` is the number of the first: without it no numbers are. There must be room for
    /// sixteen more than a block.
    #[inline(always)]
    fn keep(self, items: &[u64; BLOCK + 1], start: Option<usize>, (to, numbers): Kept<'_>) -> u64 {
        let (mut kept, mut len) = (0, 0);
        let start = start.unwrap_or(0);
        for (index, pair) in items.windows(2).enumerate() {
            // Written in any case, and kept only if it is so.
            (to[len], numbers[len]) = (pair[1], (start + index) as u32);
            let is_kept = pair[0] != pair[1];
            len += usize::from(is_kept);
            kept |= u64::from(is_kept) << index;
        }
        kept
    }

    /// The reverse: what is known of the accesses that were kept, in the places of these; 0 in all
    /// others.
    #[inline(always)]
    fn spread(self, from: &[u8; BLOCK], kept: u64) -> [u8; BLOCK] {
        let mut at = 0;
        std::array::from_fn(|index| {
            let is_kept = kept >> index & 1;
            let number = from[at % BLOCK] * is_kept as u8;
            at += is_kept as usize;
            number
        })
    }

    /// Writes what a block of accesses leaves to be done, in order of time: at each access the item
    /// that leaves, if one does, then that of the access itself, if it is a far one. Returns how
    /// many. There must be room for sixteen more.
    #[inline(always)]
    fn pieces(self, todo: Todo<'_>, (items, accesses): Pieces<'_>) -> usize {
        let (mut both, mut len) = (todo.far | todo.leaving, 0);
        while both != 0 {
            let index = both.trailing_zeros() as usize;
            both &= both - 1;
            // Both are written, and kept only as far as they are so.
            (items[len], accesses[len]) = (todo.items[index], LEAVES);
            len += (todo.leaving >> index & 1) as usize;
            (items[len], accesses[len]) = (todo.items[BACK + index], todo.numbers[index]);
            len += (todo.far >> index & 1) as usize;
        }
        len
    }

    /// Adds to `counts` how many of the numbers `from` there are of each, of those whose bit is
    /// set: these are less than [`WINDOW`].
    #[inline(always)]
    fn tally(self, from: &[u8; BLOCK], which: u64, counts: &mut [u64; WINDOW]) {
        for (index, number) in from.iter().enumerate() {
            counts[usize::from(*number) % WINDOW] += which >> index & 1;
        }
    }

    /// Bit i is set if access i of the block has the lag [`FAR`].
    fn far(self, lags: &Lags) -> u64;

    /// Bit i is set if the access [`BACK`] before access i of the block is one (has a lag), and is
    /// what none of the lags of the accesses after it leads to.
    fn leaving(self, lags: &Lags) -> u64;
}

/// One after the other.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

impl Compare for Portable {
    #[inline(always)]
    fn equal(self, line: &TableLine, item: u64) -> u32 {
        let bits = line.items.iter().zip(0..);
        bits.map(|(there, bit)| u32::from(*there == item) << bit)
            .sum()
    }

    #[inline(always)]
    fn nearest(self, keys: Keys<&[u8]>) -> [u8; BLOCK] {
        let (low, high) = (block(keys.low, WINDOW), block(keys.high, WINDOW));
        let mut nearest = [FAR; BLOCK];
        for back in (1..=WINDOW).rev() {
            let low_there = block(keys.low, WINDOW - back);
            let high_there = block(keys.high, WINDOW - back);
            for lane in 0..BLOCK {
                let equal = (low[lane] == low_there[lane]) & (high[lane] == high_there[lane]);
                nearest[lane] = if equal { back as u8 } else { nearest[lane] };
            }
        }
        nearest
    }

    #[inline(always)]
    fn reaching(self, reach: &Reach) -> [u8; BLOCK] {
        let mine = block(reach, BACK);
        let mut reaching = [0; BLOCK];
        for back in 1..=WINDOW {
            let there = block(reach, BACK - back);
            for lane in 0..BLOCK {
                reaching[lane] += u8::from(there[lane] <= mine[lane]);
            }
        }
        reaching
    }

    #[inline(always)]
    fn far(self, lags: &Lags) -> u64 {
        let bits = lags[BACK..].iter().zip(0..);
        bits.map(|(lag, bit)| u64::from(*lag == FAR) << bit).sum()
    }

    #[inline(always)]
    fn leaving(self, lags: &Lags) -> u64 {
        let mine = block(lags, 0);
        let mut leaves = mine.map(|lag| u8::from(lag != 0));
        for after in 1..FAR {
            let there = block(lags, after.into());
            for lane in 0..BLOCK {
                leaves[lane] &= u8::from(there[lane] != after);
            }
        }
        let bits = leaves.iter().zip(0..);
        bits.map(|(leaves, bit)| u64::from(*leaves) << bit).sum()
    }
}

/// A block from `at` on. As an array, of which the compiler knows the length: it makes vectors of
/// loops over such.
#[inline(always)]
fn block(bytes: &[u8], at: usize) -> &[u8; BLOCK] {
    match bytes[at..].first_chunk() {
        Some(block) => block,
        None => unreachable!("whole blocks are there"),
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "x86_64")]
    use reuselens_simd::{Icelake, Level, V3};

    use super::*;

    fn check(way: impl Compare) {
        let numbers: Vec<u64> = (0..400_u64).map(|i| i * i * 7919 % 41).collect();
        let mix = 0x9e37_79b9_7f4a_7c15;
        // Miri takes half a minute for each.
        let starts = if cfg!(miri) { 1 } else { 200 };
        for at in 0..starts {
            let recent = &numbers[at..];
            let keys = recent[..WINDOW + BLOCK].iter();
            let (low, high): (Vec<u8>, Vec<u8>) =
                keys.map(|item| (*item as u8, (*item >> 3) as u8)).unzip();
            let keys = Keys {
                low: &low[..],
                high: &high[..],
            };
            for (lane, found) in way.nearest(keys).iter().enumerate() {
                let mine = recent[WINDOW + lane];
                let back = (1..=WINDOW).find(|back| recent[WINDOW + lane - back] == mine);
                assert_eq!(*found, back.map_or(FAR, |back| back as u8));
            }
            let lags: Lags = std::array::from_fn(|i| (recent[i] % u64::from(FAR + 1)) as u8);
            let all = recent[..WINDOW + BLOCK].first_chunk().unwrap();
            let mut nearest = way.nearest(Keys {
                low: keys.low,
                high: keys.high,
            });
            assert!(way.lead_to_same(all, &nearest));
            // In each lane every lag that leads to another item.
            for (lane, back) in
                (0..BLOCK).flat_map(|lane| (1..=WINDOW).map(move |back| (lane, back)))
            {
                let mine = WINDOW + lane;
                if recent[mine] != recent[mine - back] {
                    let right = std::mem::replace(&mut nearest[lane], back as u8);
                    assert!(!way.lead_to_same(all, &nearest), "{lane}, {back} back");
                    nearest[lane] = right;
                }
            }
            let reach: Reach = std::array::from_fn(|i| (i as u8).saturating_sub(lags[i]));
            let reaching = way.reaching(&reach);
            for (lane, found) in (BACK..).zip(reaching) {
                let before = &reach[lane - WINDOW..lane];
                let by_hand = before.iter().filter(|there| **there <= reach[lane]);
                assert_eq!(usize::from(found), by_hand.count());
            }
            let (far, leaving) = (way.far(&lags), way.leaving(&lags));
            let numbers: [u32; BLOCK] = std::array::from_fn(|i| 1000 + 3 * i as u32);
            let todo = Todo {
                items: recent.first_chunk().unwrap(),
                numbers: &numbers,
                far,
                leaving,
            };
            let both = [true, false].map(|own| {
                let (mut items, mut accesses) = ([0; 2 * BLOCK + 16], [0; 2 * BLOCK + 16]);
                let to = (&mut items[..], &mut accesses[..]);
                let len = if own {
                    way.pieces(todo, to)
                } else {
                    Portable.pieces(todo, to)
                };
                (items[..len].to_vec(), accesses[..len].to_vec())
            });
            assert_eq!(both[0], both[1]);
            let bytes: [u8; BLOCK] = std::array::from_fn(|i| recent[i] as u8 % WINDOW as u8);
            let (which, mut counts) = (recent[0].wrapping_mul(mix) ^ far, [5; WINDOW]);
            way.tally(&bytes, which, &mut counts);
            for (number, count) in (0..).zip(counts) {
                let set = (0..BLOCK).filter(|i| which >> i & 1 == 1 && bytes[*i] == number);
                assert_eq!(count, 5 + set.count() as u64);
            }
            check_runs(way, recent.first_chunk().unwrap());
            assert_eq!(way.far(&lags), Portable.far(&lags));
            assert_eq!(way.leaving(&lags), Portable.leaving(&lags));
        }
        let line = TableLine {
            items: [7, u64::MAX, 0, 7, 1 << 63],
            steps: [1, 2, 3, 4, 5, 0],
        };
        for item in [0, 7, u64::MAX, 1 << 63, 5] {
            let by_hand = (0..5).map(|bit| u32::from(line.items[bit] == item) << bit);
            assert_eq!(way.equal(&line, item), by_hand.sum::<u32>());
        }
    }

    /// Runs of three, and others of any length: what is kept, and the way back.
    fn check_runs(way: impl Compare, numbers: &[u64; BLOCK + 1]) {
        for most in [0, 20, 40] {
            let mut items = *numbers;
            for at in 1..items.len() {
                if numbers[at] < most {
                    items[at] = items[at - 1];
                }
            }
            let (mut to, mut places) = ([0; BLOCK + 8], [0; BLOCK + 16]);
            let kept = way.keep(&items, Some(500), (&mut to, &mut places));
            let mut unnumbered = [0; BLOCK + 8];
            let same = way.keep(&items, None, (&mut unnumbered, &mut [7; BLOCK + 16]));
            assert_eq!(same, kept);
            let len = kept.count_ones() as usize;
            assert_eq!(unnumbered[..len], to[..len]);
            let changes: Vec<usize> = (0..BLOCK).filter(|i| items[i + 1] != items[*i]).collect();
            let expected = changes.iter().fold(0, |mask, index| mask | 1_u64 << index);
            assert_eq!(kept, expected);
            for (nth, index) in changes.iter().enumerate() {
                assert_eq!(
                    (to[nth], places[nth]),
                    (items[index + 1], 500 + *index as u32)
                );
            }
            let bytes: [u8; BLOCK] = std::array::from_fn(|i| 100 + i as u8);
            let spread = way.spread(&bytes, kept);
            for (index, byte) in spread.iter().enumerate() {
                let nth = changes.iter().position(|change| *change == index);
                assert_eq!(*byte, nth.map_or(0, |nth| bytes[nth]));
            }
        }
    }

    /// On a given machine only one of them would ever run.
    #[test]
    fn every_way_of_comparing_agrees() {
        check(Portable);
        #[cfg(target_arch = "x86_64")]
        if let Some(proof) = V3::of(Level::best()) {
            check(Avx2::with(proof));
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(proof) = Icelake::of(Level::best()) {
            check(Avx512::with(proof));
        }
        assert_eq!((size_of::<TableLine>(), align_of::<TableLine>()), (64, 64));
    }
}
