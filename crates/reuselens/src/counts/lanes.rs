//! Numbers for the threads of the program, by which an engine or a cache is found for each. A
//! thread that has ended gives its number up.

use std::collections::{BTreeMap, VecDeque};

use reuselens_trace::{ProcessId, ThreadId};

/// Blocks after the end of a thread for which the thread keeps its number. The accesses of its
/// signal handlers come in blocks of their own, just after its end.
const LATE: u64 = 128;

/// A program thread in a process. Blocks of one thread id and two processes are taken as of two
/// threads, since processes share no items.
type ThreadKey = (ThreadId, ProcessId);

/// The program threads, numbered as they turn up. No number is given twice.
///
/// A thread that ended keeps its number until [`Self::over`] returns it, [`LATE`] blocks later at
/// the earliest: blocks of the same ids count for it until then. Blocks after that are of a new
/// thread.
#[derive(Default)]
pub(super) struct Lanes {
    /// The numbers of the threads that have one.
    numbers: BTreeMap<ThreadKey, u32>,
    /// Threads so far, ended ones included: the next number.
    begun: u32,
    /// Blocks so far.
    blocks: u64,
    /// The blocks before the end of each thread that ended, and the thread, in the order of the
    /// ends. [`Self::over`] removes them.
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

    /// The number of threads so far, ended ones included.
    pub(super) fn begun(&self) -> u64 {
        self.begun.into()
    }

    /// Records that a thread has ended, in whichever processes it had blocks.
    pub(super) fn end(&mut self, thread: ThreadId) {
        self.ended.push_back((self.blocks, thread));
    }

    /// Takes the number from a thread that ended at least [`LATE`] blocks ago, and returns it.
    /// `None` if there is no such thread; callers repeat the call until then.
    pub(super) fn over(&mut self) -> Option<u32> {
        while let Some(&(since, thread)) = self.ended.front() {
            if self.blocks - since < LATE {
                break;
            }
            let all = (thread, ProcessId(0))..=(thread, ProcessId(u16::MAX));
            if let Some((&key, &number)) = self.numbers.range(all).next() {
                self.numbers.remove(&key);
                return Some(number);
            }
            // No number of this thread is left, or it never had one.
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
