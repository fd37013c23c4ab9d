//! Within how many accesses the order between threads is a guess.
//!
//! Intervals of what threads did that overlap in time are delivered one after the other, though
//! their accesses may have alternated. So a distance that one of them has may be wrong by as many
//! accesses as the others did meanwhile.
//!
//! Rows are counted, not accesses: function entries, allocations and frees are rows too, and a copy
//! of memory is one row for each side, however long it is.

use std::collections::VecDeque;

/// Of a thousand rows, one may be in larger doubt than what is reported: a thread that is stopped
/// between a mark and what it marks does not make the others' order
/// less certain.
const ROWS_PER_EXCEPTION: u64 = 1000;
/// How many intervals are remembered to be compared with later ones: more than end while one of
/// another thread goes on, but for hundreds of threads that synchronise all the time.
const INTERVALS_MOST: usize = 1024;

/// What a thread did between two moments.
#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    thread: u32,
    begin: u64,
    end: u64,
    rows: u64,
}

impl Interval {
    /// About how many rows were done in a part of the interval's time, if it went on evenly.
    fn rows_in(&self, ticks: u64) -> u64 {
        let all = self.end.saturating_sub(self.begin).max(1);
        let rows = u128::from(self.rows) * u128::from(ticks.min(all)) / u128::from(all);
        u64::try_from(rows).unwrap_or(self.rows)
    }
}

/// Compares the intervals of all threads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unordered {
    /// The interval that is being delivered.
    interval: Interval,
    /// Those before it, the last one last.
    recent: VecDeque<Interval>,
    /// Rows by the number of binary digits of the rows that they are in doubt with.
    rows: Vec<u64>,
}

impl Unordered {
    /// Takes in rows of a thread that it did between two time stamps; stamps of 0 are unknown.
    ///
    /// Cost: the intervals of other threads that ended in that time.
    pub fn add(&mut self, thread: u32, begin: u64, end: u64, rows: u64) {
        let interval = &mut self.interval;
        if (interval.thread, interval.begin, interval.end) != (thread, begin, end) {
            self.settle();
            self.interval = Interval {
                thread,
                begin,
                end,
                rows: 0,
            };
        }
        self.interval.rows += rows;
    }

    /// Compares the interval with those before it.
    fn settle(&mut self) {
        let interval = std::mem::take(&mut self.interval);
        if interval.rows == 0 {
            return;
        }
        let (mut others, mut first, mut last) = (0, u64::MAX, 0);
        for other in self.recent.iter().rev() {
            if other.end <= interval.begin {
                break;
            }
            let from = other.begin.max(interval.begin);
            let to = other.end.min(interval.end);
            if other.thread != interval.thread && to > from {
                others += other.rows_in(to - from);
                (first, last) = (first.min(from), last.max(to));
            }
        }
        let doubt = match others {
            0 => 0,
            others => others + interval.rows_in(last - first),
        };
        let digits = (u64::BITS - doubt.leading_zeros()) as usize;
        self.rows.resize(self.rows.len().max(digits + 1), 0);
        self.rows[digits] += interval.rows;
        if self.recent.len() == INTERVALS_MOST {
            self.recent.pop_front();
        }
        self.recent.push_back(interval);
    }

    /// A power of two: within fewer rows than that the order between threads is a guess, but for
    /// one in a thousand rows. `None` if it is known for all others.
    pub fn within(&mut self) -> Option<u64> {
        self.settle();
        let all: u64 = self.rows.iter().sum();
        let mut larger = 0;
        for (digits, rows) in self.rows.iter().enumerate().skip(1).rev() {
            larger += rows;
            if larger > all / ROWS_PER_EXCEPTION {
                return Some(1_u64.checked_shl(digits as u32).unwrap_or(u64::MAX));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Intervals: thread, begin, end, rows.
    fn within(intervals: &[(u32, u64, u64, u64)]) -> Option<u64> {
        let mut unordered = Unordered::default();
        for &(thread, begin, end, rows) in intervals {
            unordered.add(thread, begin, end, rows);
        }
        unordered.within()
    }

    #[test]
    fn threads_that_take_turns_are_in_order() {
        let turns: Vec<_> = (1..100)
            .map(|turn| ((turn % 2) as u32, turn * 10, turn * 10 + 10, 1000))
            .collect();
        assert_eq!(within(&turns), None);
        assert_eq!(within(&[(3, 10, 90, 5000), (3, 90, 170, 5000)]), None);
    }

    #[test]
    fn concurrent_rows_of_both_threads_are_in_doubt() {
        assert_eq!(
            within(&[(0, 100, 200, 4000), (1, 100, 201, 4000)]),
            Some(8192)
        );
        // In a quarter of their times.
        let quarter = [(0, 100, 200, 4000), (1, 175, 275, 4000)];
        assert_eq!(within(&quarter), Some(2048));
    }

    #[test]
    fn blocks_of_one_interval_count_as_one() {
        let blocks = [(0, 100, 200, 50), (0, 100, 200, 50), (1, 100, 201, 100)];
        assert_eq!(within(&blocks), Some(256));
    }

    #[test]
    fn long_interval_is_compared_with_all_that_ended_meanwhile() {
        let mut intervals: Vec<_> = (0..10)
            .map(|turn| (0, turn * 10 + 1, turn * 10 + 11, 100))
            .collect();
        intervals.push((1, 1, 102, 20));
        assert_eq!(within(&intervals), Some(1024));
    }

    #[test]
    fn figure_covers_all_but_one_row_in_a_thousand() {
        let mut intervals: Vec<_> = (0..1000)
            .map(|turn| {
                (
                    turn % 2,
                    u64::from(turn) * 10 + 1,
                    u64::from(turn) * 10 + 11,
                    1000,
                )
            })
            .collect();
        intervals.push((2, 9_995, 10_005, 900));
        assert_eq!(within(&intervals), None);
    }

    #[test]
    fn blocks_without_stamps_give_no_figure() {
        assert_eq!(within(&[(0, 0, 0, 4000), (1, 0, 0, 4000)]), None);
    }
}
