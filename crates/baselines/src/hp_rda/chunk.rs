//! Step 3 of HP-RDA, the analysis of one chunk: distances within the chunk, which are exact, and a
//! [`Summary`] for each of its items.

use reuselens_simd::entry_point;
use reuselens_units::Distance;

use super::numbers::Numbers;

/// What is known of an item of a chunk. Its `first`, the distinct items before its first access, is
/// its number: summaries are in the order of first accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) item: u64,
    /// Where its first access is, from the beginning of the chunk.
    pub(super) at: u32,
    /// The distinct items after its last access. (During the analysis: where that is.)
    pub(super) latest: u32,
}

/// The memory to analyse one chunk after the other.
#[derive(Default)]
pub(super) struct Chunk {
    numbers: Numbers,
    /// A bit per reference, set while it is the last to its item.
    flags: Vec<u64>,
}

impl Chunk {
    /// Writes the distances inside the chunk, cold for each first access, and appends a summary per
    /// distinct item.
    #[inline(always)]
    pub(super) fn process_here(
        &mut self,
        items: &[u64],
        distances: &mut [Distance],
        summaries: &mut Vec<Summary>,
    ) {
        let start = summaries.len();
        self.numbers.clear(items.len());
        self.flags.clear();
        self.flags.resize(items.len().div_ceil(64), 0);
        let flags = self.flags.as_mut_slice();
        for (now, (&item, distance)) in (0_u32..).zip(items.iter().zip(distances)) {
            let seen = &mut summaries[start..];
            let slot = self.numbers.slot(item, |number| seen[number].item == item);
            if let Some(number) = slot.checked_sub(1) {
                let last = std::mem::replace(&mut seen[number as usize].latest, now);
                *distance = Distance::new(between(flags, seen.len() as u32, last, now).into());
                flags[last as usize / 64] &= !(1 << (last % 64));
            } else {
                *slot = seen.len() as u32 + 1;
                *distance = Distance::COLD;
                let (at, latest) = (now, now);
                summaries.push(Summary { item, at, latest });
            }
            flags[now as usize / 64] |= 1 << (now % 64);
        }
        self.count_later(&mut summaries[start..]);
    }

    /// Makes `latest` of the places of last accesses.
    #[inline(always)]
    fn count_later(&mut self, summaries: &mut [Summary]) {
        // Each word's flags, then the number of those after the word.
        let words = self.flags.len();
        self.flags.resize(2 * words, 0);
        let (flags, later) = self.flags.split_at_mut(words);
        let mut sum = 0;
        for (word, later) in flags.iter().zip(later.iter_mut()).rev() {
            *later = sum;
            sum += u64::from(word.count_ones());
        }
        for summary in summaries {
            let (word, bit) = (summary.latest as usize / 64, summary.latest % 64);
            let in_word = (flags[word] >> bit >> 1).count_ones();
            summary.latest = later[word] as u32 + in_word;
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.numbers.bytes() + self.flags.capacity() * size_of::<u64>()
    }
}

entry_point! {
    /// [`Chunk::process_here`] with the instructions of `level`: it counts bits.
    pub(super) fn process_chunk(
        level,
        chunk: &mut Chunk,
        items: &[u64],
        distances: &mut [Distance],
        summaries: &mut Vec<Summary>,
    ) {
        Icelake(_) => chunk.process_here(items, distances, summaries),
        V3(_) => chunk.process_here(items, distances, summaries),
        _ => chunk.process_here(items, distances, summaries),
    }
}

/// The flags that are set between the places `last`, whose flag is set, and `now`, from where on
/// none is; of `all` that are set. Counted from the end that is nearer.
#[inline(always)]
fn between(flags: &[u64], all: u32, last: u32, now: u32) -> u32 {
    let (low, high) = (last as usize / 64, now as usize / 64);
    let count = |words: &[u64]| words.iter().map(|word| word.count_ones()).sum::<u32>();
    let from_last = flags[low] >> (last % 64);
    if high - low <= low {
        from_last.count_ones() - 1 + count(&flags[low + 1..=high])
    } else {
        let up_to_last = flags[low] << (63 - last % 64);
        all - count(&flags[..low]) - up_to_last.count_ones()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An item with its `first` and `latest`.
    type Seen = (char, usize, u32);

    fn analyse(text: &str) -> (Vec<Option<u64>>, Vec<Seen>) {
        let items: Vec<u64> = text.bytes().map(u64::from).collect();
        let mut distances = vec![Distance::ZERO; items.len()];
        let mut summaries = Vec::new();
        Chunk::default().process_here(&items, &mut distances, &mut summaries);
        let of = |(first, summary): (usize, &Summary)| {
            let item = char::from(summary.item as u8);
            (item, first, summary.latest)
        };
        let summaries = summaries.iter().enumerate().map(of).collect();
        (distances.iter().map(|d| d.items()).collect(), summaries)
    }

    /// Figure 6 of the publication: (first, latest) of every item, count.
    #[test]
    fn chunk_summaries_equal_the_worked_example() {
        let (distances, summaries) = analyse("dacbcg");
        assert_eq!(distances, [None, None, None, None, Some(1), None]);
        let expected = [
            ('d', 0, 4),
            ('a', 1, 3),
            ('c', 2, 1),
            ('b', 3, 2),
            ('g', 4, 0),
        ];
        assert_eq!(summaries, expected);
        let (_, summaries) = analyse("efafba");
        assert_eq!(
            summaries,
            [('e', 0, 3), ('f', 1, 2), ('a', 2, 0), ('b', 3, 1)]
        );
        let (_, summaries) = analyse("baga");
        assert_eq!(summaries, [('b', 0, 2), ('a', 1, 0), ('g', 2, 1)]);
    }

    /// Every pair of places over four words, from either end.
    #[test]
    fn flags_between_two_places_are_counted_from_either_end() {
        for last in 0..255_u32 {
            let mut flags = [0_u64; 5];
            let set: Vec<u32> = (0..255)
                .filter(|at| at * at % 7 < 3 || *at == last)
                .collect();
            for now in last + 1..256 {
                flags.fill(0);
                let set = set.iter().filter(|at| **at < now);
                for at in set.clone() {
                    flags[*at as usize / 64] |= 1 << (at % 64);
                }
                let all = set.clone().count() as u32;
                let expected = set.filter(|at| **at > last).count() as u32;
                assert_eq!(between(&flags, all, last, now), expected, "{last} {now}");
            }
        }
    }
}
