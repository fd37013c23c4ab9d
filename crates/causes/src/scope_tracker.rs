//! [`ScopeTracker`]: the loops and calls that a thread is in, with the times when they began.

use reuselens_control_flow::{BasicBlock, LoopState, LoopTracker};
use reuselens_locality::ScopeKind;

/// The time: item accesses of all threads so far.
#[derive(Clone, Debug)]
struct ScopeTime(u64);

impl LoopState for ScopeTime {
    type Moment = u64;
    /// When the present iteration began.
    type Iteration = u64;
    /// When the function was called.
    type Call = u64;

    #[inline]
    fn now(&self) -> u64 {
        self.0
    }

    #[inline]
    fn first_iteration(&self, entry: &u64) -> u64 {
        *entry
    }

    #[inline]
    fn iterate(&mut self, _: &u64, iteration: &mut u64) {
        *iteration = self.0;
    }

    #[inline]
    fn leave(&mut self, _: &u64) {}

    #[inline]
    fn call(&mut self) -> u64 {
        self.0
    }
}

/// The scope that was active at an earlier time and still is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ActiveScope {
    pub kind: ScopeKind,
    /// The block that it begins with, by the tracker's number; 0 for a thread.
    pub first: u32,
    /// Whether it is a loop that is still in the same iteration.
    pub in_iteration: bool,
}

/// The scopes of one thread.
///
/// A loop is known from the first time that it is closed: before, what is in its first iteration
/// counts for the scope around it. See [`LoopTracker`].
#[derive(Clone, Debug)]
pub(crate) struct ScopeTracker {
    flow: LoopTracker<ScopeTime>,
}

impl ScopeTracker {
    /// A thread that begins at a time.
    pub fn new(now: u64) -> Self {
        ScopeTracker {
            flow: LoopTracker::new(ScopeTime(now)),
        }
    }

    /// The thread begins a block at a time.
    #[inline]
    pub fn enter(&mut self, block: &BasicBlock, now: u64) {
        self.flow.state.0 = now;
        self.flow.enter(block);
    }

    /// The innermost scope that was active when the access number `time` was made.
    ///
    /// Cost: logarithmic in the calls that the thread is in, linear in the loops of one of them.
    pub fn innermost(&self, time: u64) -> ActiveScope {
        let (calls, loops) = (self.flow.calls(), self.flow.loops());
        // Calls began in the order of the stack. The first one is the thread.
        let after = calls.partition_point(|call| call.state <= time);
        let index = after.saturating_sub(1);
        let call = &calls[index];
        let end = calls.get(after).map_or(loops.len(), |inner| inner.loops);
        let own = loops.get(call.loops..end).unwrap_or_default();
        if let Some(found) = own.iter().rev().find(|one| one.entry <= time) {
            return ActiveScope {
                kind: ScopeKind::Loop,
                first: found.header,
                in_iteration: found.iteration <= time,
            };
        }
        ActiveScope {
            kind: match index {
                0 => ScopeKind::Thread,
                _ => ScopeKind::Function,
            },
            first: call.first,
            in_iteration: false,
        }
    }

    /// The first address of a block, and that after the last edge so far that closed the loop that
    /// begins there; 0 if none does.
    pub fn code(&self, first: u32) -> (u64, u64) {
        self.flow.code(first)
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.flow.memory()
    }
}
