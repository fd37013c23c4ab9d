//! Counts per exact distance.

use reuselens_units::Distance;

/// How many accesses had each reuse distance: `counts[d]` accesses at distance `d`, and the cold ones
/// apart. The counts sum to the number of accesses; nothing is dropped.
///
/// Memory: 8 bytes per distance up to the largest seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExactHistogram {
    counts: Vec<u64>,
    cold: u64,
}

impl ExactHistogram {
    /// A histogram of no accesses.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a column of distances.
    pub fn add_column(&mut self, distances: &[Distance]) {
        for &distance in distances {
            self.add(distance, 1);
        }
    }

    /// Counts `accesses` accesses at `distance`.
    pub fn add(&mut self, distance: Distance, accesses: u64) {
        let Some(items) = distance.items() else {
            self.cold += accesses;
            return;
        };
        let index = items as usize;
        if index >= self.counts.len() {
            self.counts.resize((index + 1).next_power_of_two(), 0);
        }
        self.counts[index] += accesses;
    }

    /// The number of cold accesses: with an exact engine, the number of distinct items.
    pub fn cold(&self) -> u64 {
        self.cold
    }

    /// The distances that occur, ascending, each with its count.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(|(distance, count)| (distance as u64, *count))
    }
}
