//! [`ScopeTracker`]: the loops and calls that a thread is in, with the times when they began.

use reuselens_control_flow::{BasicBlock, LoopState, NestTracker, NestedLoop};
use reuselens_profile::{Carrier, ScopeKind};

/// The scope that was active at an earlier time and still is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ActiveScope {
    pub kind: ScopeKind,
    /// The block that it begins with, by the tracker's number; 0 for a thread.
    pub first: u32,
    /// Whether it is a loop that is still in the same iteration.
    pub in_iteration: bool,
    /// The place where the thread is in it.
    pub at: u32,
    /// Whether that place is known to be in it, and not only taken for a part of a loop.
    pub is_certain: bool,
}

impl ActiveScope {
    /// As what carries a reuse, with its number.
    #[inline]
    pub fn carrier(&self, number: u32) -> Carrier {
        if self.in_iteration {
            Carrier::Iteration(number)
        } else {
            Carrier::Scope(number)
        }
    }
}

/// The time. All that a loop remembers is when it was entered, and when its present iteration
/// began.
#[derive(Clone, Copy, Debug)]
struct LoopTimes {
    now: u64,
}

impl LoopState for LoopTimes {
    type Moment = u64;
    type Iteration = u64;
    const GUESSES: bool = true;

    #[inline]
    fn now(&self) -> u64 {
        self.now
    }

    #[inline]
    fn first_iteration(&self, entry: &u64) -> u64 {
        *entry
    }

    #[inline]
    fn iterate(&mut self, _: &u64, iteration: &mut u64) {
        *iteration = self.now;
    }

    #[inline]
    fn leave(&mut self, _: &u64) {}
}

/// The scopes of one thread.
///
/// A loop is known from the first time that it is closed: before, what is in its first iteration
/// counts for the scope around it. See [`NestTracker`].
#[derive(Clone, Debug)]
pub(crate) struct ScopeTracker {
    flow: NestTracker<LoopTimes>,
}

impl ScopeTracker {
    /// A thread that begins at a time.
    pub fn new(now: u64) -> Self {
        ScopeTracker {
            flow: NestTracker::new(LoopTimes { now }),
        }
    }

    /// The thread begins a block at a time.
    #[inline]
    pub fn enter(&mut self, block: &BasicBlock, now: u64) {
        self.flow.state.now = now;
        self.flow.enter(block);
    }

    /// The innermost scope that was active when the access number `time` was made.
    ///
    /// Cost: logarithmic in the calls that the thread is in, linear in the loops of one of them.
    pub fn innermost(&self, time: u64) -> ActiveScope {
        let (index, own) = self.innermost_call(time);
        match own.iter().rev().find(|one| one.entry <= time) {
            Some(found) => self.active_loop(found, index, time),
            None => self.active_call(index),
        }
    }

    /// That scope and those of the same call around it, outwards, up to the first one that the
    /// thread is certain to be in.
    pub fn innermost_certain(&self, time: u64) -> Vec<ActiveScope> {
        let (index, own) = self.innermost_call(time);
        let loops = own.iter().rev().filter(|one| one.entry <= time);
        let loops = loops.map(|one| self.active_loop(one, index, time));
        let mut scopes: Vec<ActiveScope> = loops.chain([self.active_call(index)]).collect();
        if let Some(certain) = scopes.iter().position(|scope| scope.is_certain) {
            scopes.truncate(certain + 1);
        }
        scopes
    }

    /// The index of the innermost call that was active at a time, and its loops.
    #[inline]
    fn innermost_call(&self, time: u64) -> (usize, &[NestedLoop<u64, u64>]) {
        let (calls, loops) = (self.flow.calls(), self.flow.loops());
        // Calls began in the order of the stack. The first one is the thread.
        let after = calls.partition_point(|call| call.state.entry <= time);
        let index = after.saturating_sub(1);
        let end = calls.get(after).map_or(loops.len(), |inner| inner.loops);
        (
            index,
            loops.get(calls[index].loops..end).unwrap_or_default(),
        )
    }

    #[inline]
    fn active_loop(&self, one: &NestedLoop<u64, u64>, call: usize, time: u64) -> ActiveScope {
        let at = self.flow.place_in(call);
        ActiveScope {
            kind: ScopeKind::Loop,
            first: one.header,
            in_iteration: one.iteration <= time,
            at,
            is_certain: self.flow.is_in_loop(one.header, at),
        }
    }

    #[inline]
    fn active_call(&self, index: usize) -> ActiveScope {
        ActiveScope {
            kind: match index {
                0 => ScopeKind::Thread,
                _ => ScopeKind::Function,
            },
            first: self.flow.calls()[index].state.first,
            in_iteration: false,
            at: self.flow.place_in(index),
            is_certain: true,
        }
    }

    /// Whether a place is known to be in the loop that begins at `header`.
    pub fn is_in_loop(&self, header: u32, place: u32) -> bool {
        self.flow.is_in_loop(header, place)
    }

    /// Where a scope begins, and of a loop the address after the branch whose line names it.
    pub fn code(&self, first: u32) -> (u64, u64) {
        self.flow.code(first)
    }

    /// Calls `visit` for each loop and each block that is known to be in it, with the loop's first
    /// block, and the first address of the block and the one after it.
    pub fn for_each_loop_block(&self, visit: impl FnMut(u32, (u64, u64))) {
        self.flow.for_each_loop_block(visit);
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.flow.memory()
    }
}
