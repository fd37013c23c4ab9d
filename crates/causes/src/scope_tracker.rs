//! [`ScopeTracker`]: the loops and calls that a thread is in, with the times when they began.

use reuselens_control_flow::{BasicBlock, NestTracker};
use reuselens_locality::ScopeKind;

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
/// counts for the scope around it. See [`NestTracker`].
#[derive(Clone, Debug)]
pub(crate) struct ScopeTracker {
    flow: NestTracker,
}

impl ScopeTracker {
    /// A thread that begins at a time.
    pub fn new(now: u64) -> Self {
        ScopeTracker {
            flow: NestTracker::new(now),
        }
    }

    /// The thread begins a block at a time.
    #[inline]
    pub fn enter(&mut self, block: &BasicBlock, now: u64) {
        self.flow.enter(block, now);
    }

    /// The innermost scope that was active when the access number `time` was made.
    ///
    /// Cost: logarithmic in the calls that the thread is in, linear in the loops of one of them.
    pub fn innermost(&self, time: u64) -> ActiveScope {
        let (calls, loops) = (self.flow.calls(), self.flow.loops());
        // Calls began in the order of the stack. The first one is the thread.
        let after = calls.partition_point(|call| call.state.entry <= time);
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
            first: call.state.first,
            in_iteration: false,
        }
    }

    /// Where a scope begins, and of a loop the address after the branch whose line names it.
    pub fn code(&self, first: u32) -> (u64, u64) {
        self.flow.code(first)
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.flow.memory()
    }
}
