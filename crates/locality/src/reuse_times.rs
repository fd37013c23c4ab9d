//! [`ReuseTimes`]: how many accesses have each reuse time, which counts accesses and not items
//! between two uses; and [`ReuseTimeCounts`], which counts them in one pass.

use reuselens_units::Distance;
use serde::{Deserialize, Serialize};

use crate::FineHistogram;
use crate::gaps::{GapCounts, Gaps};
use crate::histogram::total;

/// Counts the reuse times of one trace, access by access.
///
/// ```
/// use reuselens_locality::ReuseTimeCounts;
///
/// // a b b a: two first accesses, a repetition, and one with two accesses between.
/// let mut counts = ReuseTimeCounts::new();
/// counts.add_column([None, None, Some(0), Some(2)]);
/// // After the last access to b comes one, after that to a none.
/// let times = counts.finish([1, 0]);
/// assert_eq!(times.histogram().iter().collect::<Vec<_>>(), [(0, 0, 1), (2, 2, 1)]);
/// assert_eq!(times.footprint(1), Some(1.0));
/// assert_eq!(times.footprint(4), Some(2.0));
/// ```
#[derive(Clone, Debug, Default)]
pub struct ReuseTimeCounts {
    between: GapCounts,
    around: GapCounts,
    accesses: u64,
    distinct: u64,
}

impl ReuseTimeCounts {
    /// No accesses yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts the next accesses: for each how many came since the last access to its item, the two
    /// not counted; `None` for a first access. Nothing is allocated but up to 16 KiB of bins.
    #[inline]
    pub fn add_column(&mut self, times: impl IntoIterator<Item = Option<u64>>) {
        for time in times {
            match time {
                Some(between) => self.between.add(between),
                None => {
                    self.around.add(self.accesses);
                    self.distinct += 1;
                }
            }
            self.accesses += 1;
        }
    }

    /// The reuse times, at the end of the trace: for every item, how many accesses came after its
    /// last.
    pub fn finish(mut self, after: impl IntoIterator<Item = u64>) -> ReuseTimes {
        for after in after {
            self.around.add(after);
        }
        let run = TraceLength {
            accesses: self.accesses,
            distinct: self.distinct,
        };
        ReuseTimes {
            between: self.between.finish(),
            around: self.around.finish(),
            runs: [run].into_iter().filter(|run| run.accesses > 0).collect(),
        }
    }
}

/// The length of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct TraceLength {
    pub(crate) accesses: u64,
    pub(crate) distinct: u64,
}

/// The reuse times of one or several runs, and what is needed for the footprint of their windows.
///
/// The *reuse time* of an access is the number of accesses since the last access to its item, those
/// two not counted: never smaller than its reuse distance, which counts items. Bins are those of a
/// [`FineHistogram`]. Memory: 32 bytes per bin that holds something, and 16 per run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReuseTimes {
    /// Between two accesses to an item.
    pub(crate) between: Gaps,
    /// Before the first access to each item, and after the last.
    pub(crate) around: Gaps,
    /// Ascending.
    pub(crate) runs: Vec<TraceLength>,
}

impl ReuseTimes {
    /// How many accesses had each reuse time; first accesses are cold.
    pub fn histogram(&self) -> FineHistogram {
        let mut histogram = FineHistogram::new();
        for (bin, count, _) in self.between.iter() {
            histogram.add_to_bin(bin, count);
        }
        let first = self.runs.iter().map(|run| run.distinct);
        histogram.add(Distance::COLD, total(first));
        histogram
    }

    /// The mean reuse time of the accesses that have one, or `None` if none has.
    pub fn mean(&self) -> Option<f64> {
        let (mut accesses, mut sum) = (0_u64, 0_u128);
        for (_, count, lengths) in self.between.iter() {
            accesses = accesses.saturating_add(count);
            sum = sum.saturating_add(lengths);
        }
        (accesses > 0).then(|| sum as f64 / accesses as f64)
    }

    /// Adds other runs. The result does not depend on the order of merging.
    pub fn merge(&mut self, other: &ReuseTimes) {
        self.between.merge(&other.between);
        self.around.merge(&other.around);
        self.runs.extend_from_slice(&other.runs);
        self.runs.sort_unstable();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_forms_that_were_never_written_are_refused() {
        let of = |between: &str| {
            let text = format!(r#"{{"between":{between},"around":[],"runs":[]}}"#);
            serde_json::from_str::<ReuseTimes>(&text)
        };
        assert!(of("[[1,2,2],[40,1,48]]").is_ok());
        for wrong in [
            "[[2,1,2],[1,1,1]]",
            "[[976,1,1]]",
            "[[1,0,0]]",
            "[[1,2,3]]",
            "[[1,1,1],[1,1,1]]",
        ] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn reuse_times_of_no_accesses_are_empty() {
        let none = ReuseTimeCounts::new().finish([]);
        assert_eq!(none, ReuseTimes::default());
        assert_eq!((none.mean(), none.footprint(1)), (None, None));
        assert!(none.histogram().is_empty());
    }
}
