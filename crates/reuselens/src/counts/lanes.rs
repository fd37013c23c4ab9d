//! Which program thread is which: numbers for those that live.

use std::collections::{BTreeMap, VecDeque};

use reuselens_trace::{ProcessId, ThreadId};

/// Blocks after which nothing more comes of a thread that has ended. What its signal handlers did
/// comes in blocks of their own, just behind its end.
const LATE: u64 = 128;

/// A program thread. The process goes with it: what it touches is that process's.
type Who = (ThreadId, ProcessId);

/// The program threads so far, numbered as they turn up. One whose end is past has no number any
/// more, and what a trace has of it then is of a new thread.
#[derive(Default)]
pub(super) struct Lanes {
    numbers: BTreeMap<Who, u32>,
    /// How many there have been.
    begun: u32,
    /// Blocks so far.
    blocks: u64,
    /// Threads that ended, and when, in that order.
    ended: VecDeque<(u64, ThreadId)>,
}

impl Lanes {
    /// The number of the thread of the next block, and whether it is new.
    pub(super) fn number(&mut self, process: ProcessId, thread: ThreadId) -> (u32, bool) {
        self.blocks += 1;
        let next = self.begun;
        let number = *self.numbers.entry((thread, process)).or_insert(next);
        let is_new = number == next;
        self.begun += u32::from(is_new);
        (number, is_new)
    }

    /// How many threads there have been.
    pub(super) fn begun(&self) -> u64 {
        self.begun.into()
    }

    /// A thread has ended.
    pub(super) fn end(&mut self, thread: ThreadId) {
        self.ended.push_back((self.blocks, thread));
    }

    /// The number of a thread of which nothing more comes, and which is not known any more.
    pub(super) fn over(&mut self) -> Option<u32> {
        while let Some(&(since, thread)) = self.ended.front() {
            if self.blocks - since < LATE {
                break;
            }
            let all = (thread, ProcessId(0))..=(thread, ProcessId(u16::MAX));
            if let Some((&who, &number)) = self.numbers.range(all).next() {
                self.numbers.remove(&who);
                return Some(number);
            }
            self.ended.pop_front();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_told_apart_by_process_too() {
        let mut lanes = Lanes::default();
        assert_eq!(lanes.number(ProcessId(0), ThreadId(7)), (0, true));
        assert_eq!(lanes.number(ProcessId(1), ThreadId(7)), (1, true));
        assert_eq!(lanes.number(ProcessId(0), ThreadId(3)), (2, true));
        assert_eq!(lanes.number(ProcessId(0), ThreadId(7)), (0, false));
        assert_eq!(lanes.over(), None);
    }

    #[test]
    fn a_thread_is_over_some_time_after_its_end() {
        let mut lanes = Lanes::default();
        let (first, other) = (ThreadId(1), ThreadId(2));
        assert_eq!(lanes.number(ProcessId(0), first), (0, true));
        assert_eq!(lanes.number(ProcessId(3), first), (1, true));
        lanes.end(first);
        lanes.end(ThreadId(99));
        assert_eq!(lanes.number(ProcessId(0), first), (0, false), "late");
        for _ in 1..LATE {
            assert_eq!(lanes.over(), None);
            lanes.number(ProcessId(0), other);
        }
        assert_eq!((lanes.over(), lanes.over()), (Some(0), Some(1)));
        assert_eq!(lanes.over(), None);
        assert_eq!(lanes.number(ProcessId(0), first), (3, true));
    }

    #[test]
    fn ends_of_threads_that_did_nothing_may_be_many() {
        let mut lanes = Lanes::default();
        (0..1_000_000).for_each(|thread| lanes.end(ThreadId(thread)));
        for _ in 0..LATE {
            lanes.number(ProcessId(0), ThreadId(1_000_000));
        }
        assert_eq!(lanes.over(), None);
        assert!(lanes.ended.is_empty());
    }
}
