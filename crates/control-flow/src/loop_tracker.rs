//! [`LoopTracker`]: follows a thread from basic block to basic block, and keeps the loops and calls
//! that it is in.

use crate::blocks::BlockEnd;
use crate::call_stack::{CallReturn, CallStack};
use crate::visited_blocks::VisitedBlocks;
use crate::{BasicBlock, LoopState};

/// Loops that a thread can be in; those further in are not kept.
const MOST_LOOPS: usize = 256;

/// A loop that the thread is in.
#[derive(Clone, Copy, Debug)]
struct ActiveLoop<S: LoopState> {
    /// The block that it begins with.
    header: u32,
    /// When it was entered.
    entry: S::Moment,
    /// What is remembered of its iterations.
    iteration: S::Iteration,
    /// The addresses of its code: first and end.
    low: u64,
    high: u64,
    /// The first loop of its call.
    outermost: usize,
    /// The code that is in it and in all loops of its call around it.
    within: (u64, u64),
}

/// Follows one thread from block to block, and takes loops for ranges of addresses: paths are
/// defined by these. A loop whose way back is not at its end has fewer iterations than it runs, or
/// seems to be several. [`NestTracker`](crate::NestTracker) has those of the control flow, for what
/// carries reuses. This one stays beside it because published results stand on its paths: another
/// definition would change the predictions.
///
/// An edge closes a loop if it goes backwards, to an address before the end of the block that it
/// comes from, in the same call, and it is the taken edge of a conditional branch, or its block is
/// known to, or the code there has run in this call already: the jump at the end of a function to
/// an earlier one does not. A loop that is closed for the first time of all was entered when its
/// first block ran last in this call. From then on the block is remembered, and the loop begins
/// where the thread comes to it. A loop is left when the thread goes on, in the same call, at an
/// address outside of the code from the first block to the last edge that closed it.
///
/// Blocks may overlap. A loop that is entered by falling through begins inside a longer block: it
/// begins when that block runs.
///
/// A call has loops of its own, so that recursion is not taken for iteration. A return finds its
/// call by the address that it goes to, past others if an exception left them; one that no call
/// fits changes nothing. A call whose next block is the one that it returns to called code that is
/// not seen, and is none.
///
/// Cost: per block, one look at a table where the next block is as last time, else a hashed
/// look-up; for a block that is new, the blocks at the nearest addresses. Memory: 60 bytes per
/// block of code, and a moment.
///
/// Source: where loops begin and end, and calls, are our own.
#[derive(Clone, Debug)]
pub struct LoopTracker<S: LoopState> {
    /// What changes while the thread runs.
    pub state: S,
    last: BasicBlock,
    last_number: u32,
    known: VisitedBlocks<S::Moment>,
    loops: Vec<ActiveLoop<S>>,
    calls: CallStack<()>,
}

impl<S: LoopState> LoopTracker<S> {
    /// Before the first block.
    pub fn new(state: S) -> Self {
        LoopTracker {
            state,
            last: BasicBlock::default(),
            last_number: 0,
            known: VisitedBlocks::new(),
            loops: Vec::with_capacity(MOST_LOOPS),
            calls: CallStack::new(()),
        }
    }

    /// The block that was entered last; one at address 0 before any.
    #[inline]
    pub fn last(&self) -> &BasicBlock {
        &self.last
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.known.memory()
            + self.loops.capacity() * size_of::<ActiveLoop<S>>()
            + self.calls.memory()
    }

    /// The thread goes on with this block.
    // Inlined, so that the block's fields are used one by one: a block that is passed by reference
    // is written to memory in small pieces and read in large ones, for which the processor waits.
    #[inline]
    pub fn enter(&mut self, block: &BasicBlock) {
        let number = self.known.find(block, self.last_number);
        // A call of code that is not seen continues after it at once.
        if self.last.end == BlockEnd::Call && block.start != self.last.back() {
            self.calls.call(self.last.back(), self.loops.len(), ());
            self.begin(number);
        } else if self.last.end == BlockEnd::Return && self.returned(block.start) {
            self.begin(number);
        } else {
            self.edge(block.start, number);
        }
        self.begin_inside(number, block);
        (self.known).ran(number, self.calls.activation(), &self.state.now());
        self.last = *block;
        self.last_number = number;
    }

    /// Begins the loops that begin inside the block.
    #[inline]
    fn begin_inside(&mut self, number: u32, block: &BasicBlock) {
        for at in 0..self.known.headers_inside(number).len() {
            let header = self.known.headers_inside(number)[at];
            // The block may have been longer.
            if self.known.start(header) < block.after() {
                self.begin(header);
            }
        }
    }

    /// Leaves the calls that a return to `to` leaves; false if there is none.
    fn returned(&mut self, to: u64) -> bool {
        match self.calls.leave(to) {
            CallReturn::Call(left) => self.leave_loops(left.loops),
            CallReturn::Deeper => {}
            CallReturn::Unknown => return false,
        }
        true
    }

    /// Goes on in the same call, at the block that begins there.
    #[inline]
    fn edge(&mut self, start: u64, number: u32) {
        if self.closes(start, number) {
            return self.close(start, number);
        }
        self.leave_others(self.calls.outermost(), start);
        self.begin(number);
    }

    /// The edge to this block closes a loop.
    fn close(&mut self, start: u64, number: u32) {
        let outermost = self.calls.outermost();
        let entered = self.known.ran_in(number, self.calls.activation()).copied();
        let new = self.known.loops(number, self.last.after());
        let mine = self.loops[outermost..]
            .iter()
            .rposition(|l| l.header == number);
        match mine {
            Some(at) => self.leave_loops(outermost + at + 1),
            None => {
                // Entered from below, as a loop whose condition is at its end: the block that led
                // here is the loop's.
                let before = *self.known.moment(self.last_number);
                let entry = match self.leave_others(outermost, start) {
                    // If a loop was left, its end is the begin of this one.
                    true => self.state.now(),
                    false => before,
                };
                let known = entered.filter(|_| new);
                self.push(number, known.unwrap_or(entry));
            }
        }
        self.iterate(number);
    }

    /// Whether the edge to this block closes a loop.
    #[inline]
    fn closes(&self, start: u64, number: u32) -> bool {
        if start >= self.last.after() {
            return false;
        }
        let taken = start == self.last.taken;
        match self.last.end {
            BlockEnd::Branch if taken => true,
            BlockEnd::Branch => self.last.closes_if_not,
            BlockEnd::Jump | BlockEnd::Indirect => {
                self.last.closes_if_taken
                    || self.is_innermost(number)
                    || self.known.ran_in(number, self.calls.activation()).is_some()
            }
            BlockEnd::Falls | BlockEnd::Call | BlockEnd::Return => false,
        }
    }

    /// Whether the innermost loop of this call begins with this block.
    #[inline]
    fn is_innermost(&self, number: u32) -> bool {
        let mine = self.loops.get(self.calls.outermost()..);
        mine.and_then(<[ActiveLoop<S>]>::last)
            .is_some_and(|l| l.header == number)
    }

    /// An iteration of the innermost loop ended.
    fn iterate(&mut self, header: u32) {
        let (low, high) = self.known.range(header);
        let Some((innermost, around)) = self.loops.split_last_mut() else {
            return;
        };
        if innermost.header != header {
            return; // There was no room for it.
        }
        (innermost.low, innermost.high) = (low, high);
        innermost.within = within(&around[innermost.outermost..], (low, high));
        self.state
            .iterate(&innermost.entry, &mut innermost.iteration);
    }

    /// Begins a loop, if the block is the first one of a loop.
    #[inline]
    fn begin(&mut self, number: u32) {
        let (_, high) = self.known.range(number);
        if high == 0 || self.is_innermost(number) {
            return;
        }
        self.push(number, self.state.now());
    }

    fn push(&mut self, header: u32, entry: S::Moment) {
        let (low, high) = self.known.range(header);
        let outermost = self.calls.outermost();
        if self.loops.len() < MOST_LOOPS {
            self.loops.push(ActiveLoop {
                header,
                entry,
                iteration: self.state.first_iteration(&entry),
                low,
                high,
                outermost,
                within: within(&self.loops[outermost..], (low, high)),
            });
        }
    }

    /// Leaves the loops of this call whose code does not hold an address; whether there are any.
    #[inline]
    fn leave_others(&mut self, outermost: usize, address: u64) -> bool {
        let innermost = self
            .loops
            .get(outermost..)
            .and_then(<[ActiveLoop<S>]>::last);
        let within = innermost.map(|innermost| innermost.within);
        let leaves = within.is_some_and(|(low, high)| !(low..high).contains(&address));
        if leaves {
            self.leave_some(outermost, address);
        }
        leaves
    }

    fn leave_some(&mut self, outermost: usize, address: u64) {
        let inside = |l: &ActiveLoop<S>| (l.low..l.high).contains(&address);
        let stay = self.loops[outermost..]
            .iter()
            .take_while(|l| inside(l))
            .count();
        self.leave_loops(outermost + stay);
    }

    /// Leaves all loops but the outer `stay`.
    fn leave_loops(&mut self, stay: usize) {
        if let Some(outermost) = self.loops.get(stay) {
            self.state.leave(&outermost.entry);
            self.loops.truncate(stay);
        }
    }
}

/// What is in this code and in all loops around it.
fn within<S: LoopState>(around: &[ActiveLoop<S>], (low, high): (u64, u64)) -> (u64, u64) {
    match around.last() {
        Some(outer) => (low.max(outer.within.0), high.min(outer.within.1)),
        None => (low, high),
    }
}
