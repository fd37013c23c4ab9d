//! [`Sparse`]: the form in which histograms are stored, which is only the keys that occur, as
//! steps.

use serde::{Deserialize, Serialize, Serializer};

/// Ascending keys with their counts, each key as its step from the one before: small numbers that
/// compress well, and equal for equal values whatever the capacity of a vector was.
#[derive(Deserialize)]
pub(crate) struct Sparse {
    /// `(step, count)`: the first step is the first key.
    steps: Vec<(u64, u64)>,
    cold: u64,
}

/// The form in which a histogram is written, which [`Sparse`] reads.
#[derive(Serialize)]
#[serde(rename = "Sparse", bound = "")]
pub(crate) struct SparseSteps<I: Iterator<Item = (u64, u64)> + Clone> {
    steps: Ascending<I>,
    cold: u64,
}

/// Ascending keys with counts above zero.
struct Ascending<I>(I);

impl<I: Iterator<Item = (u64, u64)> + Clone> SparseSteps<I> {
    /// From ascending keys with counts above zero.
    pub(crate) fn new(pairs: I, cold: u64) -> Self {
        SparseSteps {
            steps: Ascending(pairs),
            cold,
        }
    }
}

impl<I: Iterator<Item = (u64, u64)> + Clone> Serialize for Ascending<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut last = 0;
        serializer.collect_seq(self.0.clone().map(|(key, count)| {
            let step = key - last;
            last = key;
            (step, count)
        }))
    }
}

impl Sparse {
    /// The number of cold accesses.
    pub(crate) fn cold(&self) -> u64 {
        self.cold
    }

    /// The keys and counts.
    ///
    /// # Errors
    /// What is wrong, if the keys do not ascend or reach `limit`, a count is zero, or the counts
    /// exceed 64 bits together: then no histogram can have written this.
    pub(crate) fn decode(&self, limit: u64) -> Result<Vec<(u64, u64)>, &'static str> {
        let mut key = 0_u64;
        let mut sum = self.cold;
        let mut pairs = Vec::with_capacity(self.steps.len());
        for (index, &(step, count)) in self.steps.iter().enumerate() {
            if index > 0 && step == 0 {
                return Err("the distances of a histogram do not ascend");
            }
            if count == 0 {
                return Err("a count of a histogram is zero");
            }
            key = key
                .checked_add(step)
                .filter(|key| *key < limit)
                .ok_or("a distance is too large")?;
            sum = sum
                .checked_add(count)
                .ok_or("the counts of a histogram exceed 64 bits")?;
            pairs.push((key, count));
        }
        Ok(pairs)
    }
}
