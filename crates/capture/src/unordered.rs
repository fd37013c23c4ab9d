//! [`Unordered`]: computes within how many accesses the order between threads is uncertain, for a
//! remark in the report.
//!
//! Intervals of different threads that overlap in time are delivered one after the other, though
//! their accesses may have alternated. So a distance in one of them may be wrong by the number of
//! accesses that the others made meanwhile.
//!
//! Rows are counted, not accesses: function entries, allocations and frees are rows, too, and a
//! copy of memory is one row for each side, whatever its length.

use std::collections::VecDeque;

/// One of this many rows may be more uncertain than what is reported, so that a single thread that
/// is stopped between a mark and what it marks does not change the figure.
const ROWS_PER_EXCEPTION: u64 = 1000;
/// How many intervals are kept to be compared with later ones. More than these end during one
/// interval of another thread only if hundreds of threads synchronise all the time.
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
    /// About how many of the rows were made in a part of the interval's time, at an even rate.
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
    /// How many rows are uncertain within a number of rows, by that number's binary digits.
    rows: Vec<u64>,
}

impl Unordered {
    /// Adds rows that a thread made between two time stamps; stamps of 0 are unknown.
    ///
    /// Cost: the intervals of other threads that ended in that time.
    pub fn add(&mut self, thread: u32, begin: u64, end: u64, rows: u64) {
        let interval = &mut self.interval;
        if (interval.thread, interval.begin, interval.end) != (thread, begin, end) {
            self.close_interval();
            self.interval = Interval {
                thread,
                begin,
                end,
                rows: 0,
            };
        }
        self.interval.rows += rows;
    }

    /// Ends the current interval: compares it with those before it.
    fn close_interval(&mut self) {
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
        let uncertain = match others {
            0 => 0,
            others => others + interval.rows_in(last - first),
        };
        let digits = (u64::BITS - uncertain.leading_zeros()) as usize;
        self.rows.resize(self.rows.len().max(digits + 1), 0);
        self.rows[digits] += interval.rows;
        if self.recent.len() == INTERVALS_MOST {
            self.recent.pop_front();
        }
        self.recent.push_back(interval);
    }

    /// A power of two: for all but one in a thousand rows, the order between threads is uncertain
    /// within fewer rows than that. `None` if for all these rows it is certain.
    pub fn within(&mut self) -> Option<u64> {
        self.close_interval();
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
    fn concurrent_rows_of_both_threads_are_uncertain() {
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
