//! [`GapCounts`] and [`Gaps`]: how many gaps between accesses have each length. Reuse times are
//! made of them.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::FineHistogram;

/// Counts and summed lengths of gaps, in the bins of a [`FineHistogram`], while they are filled.
#[derive(Clone, Debug, Default)]
pub(crate) struct GapCounts {
    bins: Vec<(u64, u128)>,
}

impl GapCounts {
    #[inline]
    pub(crate) fn add(&mut self, length: u64) {
        let bin = FineHistogram::bin(length);
        match self.bins.get_mut(bin) {
            Some((count, sum)) => {
                *count += 1;
                *sum += u128::from(length);
            }
            None => self.add_beyond(bin, length),
        }
    }

    #[cold]
    fn add_beyond(&mut self, bin: usize, length: u64) {
        self.bins.resize((bin + 1).next_multiple_of(16), (0, 0));
        self.bins[bin] = (1, u128::from(length));
    }

    pub(crate) fn finish(self) -> Gaps {
        let bins = (0_u16..).zip(self.bins);
        let used = bins.filter(|(_, (count, _))| *count > 0);
        Gaps {
            bins: used.map(|(bin, (count, sum))| (bin, count, sum)).collect(),
        }
    }
}

/// The same as a value: bins that hold something, ascending, each with count and summed length.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct Gaps {
    bins: Vec<(u16, u64, u128)>,
}

impl Gaps {
    /// Adds others. Sums saturate.
    pub(crate) fn merge(&mut self, other: &Gaps) {
        for &(bin, count, sum) in &other.bins {
            match self.bins.binary_search_by_key(&bin, |entry| entry.0) {
                Ok(at) => {
                    let mine = &mut self.bins[at];
                    *mine = (
                        bin,
                        mine.1.saturating_add(count),
                        mine.2.saturating_add(sum),
                    );
                }
                Err(at) => self.bins.insert(at, (bin, count, sum)),
            }
        }
    }

    /// The bins, ascending: number, gaps, summed length.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (u16, u64, u128)> + '_ {
        self.bins.iter().copied()
    }
}

impl<'de> Deserialize<'de> for Gaps {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bins = Vec::<(u16, u64, u128)>::deserialize(deserializer)?;
        if !bins.is_sorted_by(|a, b| a.0 < b.0) {
            return Err(D::Error::custom("the bins of reuse times do not ascend"));
        }
        for &(bin, count, sum) in &bins {
            if usize::from(bin) >= FineHistogram::BINS || count == 0 {
                return Err(D::Error::custom(
                    "a bin of reuse times is empty or too large",
                ));
            }
            let (low, high) = FineHistogram::range(usize::from(bin));
            let count = u128::from(count);
            if !(count * u128::from(low)..=count * u128::from(high)).contains(&sum) {
                return Err(D::Error::custom("a sum of reuse times is not of its bin"));
            }
        }
        Ok(Gaps { bins })
    }
}
