//! [`PathTracker`]: follows a thread from basic block to basic block, and keeps its path, which is
//! the outcomes of its conditional branches, with loops squashed.

use reuselens_locality::Path;

use crate::BasicBlock;
use crate::blocks::BlockEnd;
use crate::visited_blocks::VisitedBlocks;

/// Loops that a thread can be in; those further in are not squashed.
const MOST_LOOPS: usize = 256;
/// Calls that a thread can be in; those further in share the loops of the last one.
const MOST_CALLS: usize = 4096;
/// Callers that a return may leave at one time, as after an exception.
const MOST_LEFT: usize = 64;

/// A loop that the thread is in.
#[derive(Clone, Copy, Debug)]
struct Loop {
    /// The block that it begins with, as [`VisitedBlocks`] numbers it.
    header: u32,
    /// The addresses of its code: first and end.
    low: u64,
    high: u64,
    /// The first loop of its call.
    outermost: usize,
    /// The code that is in it and in all loops of its call around it.
    within: (u64, u64),
    /// Iterations since its outcomes were squashed last.
    iterations: u32,
    /// The path to it.
    entry: Path,
}

/// A call that the thread is in.
#[derive(Clone, Copy, Debug)]
struct ActiveCall {
    /// Where it returns to.
    back: u64,
    /// Loops of its callers.
    loops: usize,
    /// A number of its own.
    activation: u32,
}

/// Follows one thread from block to block.
///
/// The path is the outcomes of conditional branches, newest last, but a loop would flood it. So the
/// path to a loop is kept when it begins; after every `keep` iterations, and when the loop is left,
/// the path becomes that one again.
///
/// An edge closes a loop if it goes backwards, to an address before the end of the block that it
/// comes from, in the same call, and it is the taken edge of a conditional branch, or its block is
/// known to, or the code there has run in this call already: the jump at the end of a function to
/// an earlier one does not. When a loop is closed for the first time of all, the path to it is the
/// one on which its first block ran last in this call. From then on the block is remembered, and
/// the loop begins where the thread comes to it. A loop is left when the thread goes on, in the
/// same call, at an address outside of the code from the first block to the last edge that closed
/// it.
///
/// Blocks may overlap. A loop that is entered by falling through begins inside a longer block: it
/// begins when that block runs, and paths are those that they would be if each instruction were a
/// block of its own.
///
/// A call has loops of its own, so that recursion is not taken for iteration; what was run in it
/// stays in the path, except its loops. A return finds its call by the address that it goes to,
/// past others if an exception left them; one that no call fits changes nothing. A call whose next
/// block is the one that it returns to called code that is not seen, and is none.
///
/// Cost: per block, one look at a table where the next block is as last time, else a hashed
/// look-up; for a block that is new, the blocks at the nearest addresses. Memory: 120 bytes per
/// block of code.
///
/// Source: Fang et al. 2006, section 3.2. Where loops begin and end, and calls, are not in the
/// paper.
#[derive(Clone, Debug)]
pub struct PathTracker {
    /// Iterations whose outcomes are kept.
    keep: u32,
    path: Path,
    last: BasicBlock,
    last_number: u32,
    known: VisitedBlocks,
    loops: Vec<Loop>,
    calls: Vec<ActiveCall>,
    /// Calls that are not in `calls`.
    deeper: u64,
    activations: u32,
}

impl PathTracker {
    /// Begins, keeping the outcomes of up to `keep` iterations of a loop: the number of elements in
    /// a line, which distinguishes reuse within a line from reuse of it. 0 counts as 1.
    pub fn new(keep: u32) -> Self {
        let mut tracker = PathTracker {
            keep: keep.max(1),
            path: Path::default(),
            last: BasicBlock::default(),
            last_number: 0,
            known: VisitedBlocks::new(),
            loops: Vec::with_capacity(MOST_LOOPS),
            calls: Vec::with_capacity(16),
            deeper: 0,
            activations: 0,
        };
        tracker.call(0);
        tracker
    }

    /// The path to the accesses of the block that was entered last.
    #[inline]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The address of the block that was entered last; 0 before any.
    #[inline]
    pub fn block(&self) -> u64 {
        self.last.start
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.known.memory()
            + self.loops.capacity() * size_of::<Loop>()
            + self.calls.capacity() * size_of::<ActiveCall>()
    }

    /// The thread goes on with this block.
    // Inlined, so that the block's fields are used one by one: a block that is passed by reference
    // is written to memory in small pieces and read in large ones, for which the processor waits.
    #[inline]
    pub fn enter(&mut self, block: &BasicBlock) {
        let number = self.known.find(block, self.last_number);
        match self.last.end {
            BlockEnd::Branch => {
                let taken = block.start == self.last.taken;
                self.path.outcomes = self.path.outcomes << 1 | u32::from(taken);
            }
            BlockEnd::Indirect => self.path.trace.go_on(block.start),
            _ => {}
        }
        // A call of code that is not seen continues after it at once.
        if self.last.end == BlockEnd::Call && block.start != self.last.back() {
            self.call(self.last.back());
            self.begin(number);
        } else if self.last.end == BlockEnd::Return && self.returned(block.start) {
            self.begin(number);
        } else {
            self.edge(block.start, number);
        }
        self.begin_inside(number, block);
        self.known.ran(number, self.activation(), &self.path);
        match block.end {
            BlockEnd::Branch => self.path.trace.begin(tag(block)),
            // What comes next is known, and it may as well be the same block.
            BlockEnd::Falls => {}
            _ => self.path.trace.go_on(tag(block)),
        }
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

    /// The first loop of this call.
    #[inline]
    fn outermost(&self) -> usize {
        self.calls.last().map_or(0, |call| call.loops)
    }

    #[inline]
    fn activation(&self) -> u32 {
        self.calls.last().map_or(0, |call| call.activation)
    }

    fn call(&mut self, back: u64) {
        if self.calls.len() >= MOST_CALLS {
            self.deeper += 1;
            return;
        }
        self.activations = self.activations.wrapping_add(1).max(1);
        self.calls.push(ActiveCall {
            back,
            loops: self.loops.len(),
            activation: self.activations,
        });
    }

    /// Leaves the calls that a return to `to` leaves; false if there is none.
    fn returned(&mut self, to: u64) -> bool {
        if self.deeper > 0 {
            self.deeper -= 1;
            return true;
        }
        // The first one is no call: nothing returns from it.
        let calls = self.calls.iter().skip(1).rev().take(MOST_LEFT);
        let Some(index) = calls.map(|call| call.back).position(|back| back == to) else {
            return false;
        };
        let left = self.calls.len() - 1 - index;
        self.leave_loops(self.calls[left].loops);
        self.calls.truncate(left);
        true
    }

    /// Goes on in the same call, at the block that begins there.
    #[inline]
    fn edge(&mut self, start: u64, number: u32) {
        if self.closes(start, number) {
            return self.close(start, number);
        }
        self.leave_others(self.outermost(), start);
        self.begin(number);
    }

    /// The edge to this block closes a loop.
    fn close(&mut self, start: u64, number: u32) {
        let outermost = self.outermost();
        let entered = self.known.ran_in(number, self.activation()).copied();
        let new = self.known.loops(number, self.last.after());
        let mine = self.loops[outermost..]
            .iter()
            .rposition(|l| l.header == number);
        match mine {
            Some(at) => self.leave_loops(outermost + at + 1),
            None => {
                // Entered from below, as a loop whose condition is at its end: the outcome that led
                // here is the loop's.
                let before = *self.known.path(self.last_number);
                let entry = match self.leave_others(outermost, start) {
                    // If a loop was left, its outcomes are no longer in the path to this one.
                    true => self.path,
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
                    || self.known.ran_in(number, self.activation()).is_some()
            }
            BlockEnd::Falls | BlockEnd::Call | BlockEnd::Return => false,
        }
    }

    /// Whether the innermost loop of this call begins with this block.
    #[inline]
    fn is_innermost(&self, number: u32) -> bool {
        let mine = self.loops.get(self.outermost()..);
        mine.and_then(<[Loop]>::last)
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
        innermost.iterations += 1;
        if innermost.iterations >= self.keep {
            innermost.iterations = 0;
            self.path = innermost.entry;
        }
    }

    /// Begins a loop, if the block is the first one of a loop.
    #[inline]
    fn begin(&mut self, number: u32) {
        let (_, high) = self.known.range(number);
        if high == 0 || self.is_innermost(number) {
            return;
        }
        self.push(number, self.path);
    }

    fn push(&mut self, header: u32, entry: Path) {
        let (low, high) = self.known.range(header);
        let outermost = self.outermost();
        if self.loops.len() < MOST_LOOPS {
            self.loops.push(Loop {
                header,
                low,
                high,
                outermost,
                within: within(&self.loops[outermost..], (low, high)),
                iterations: 0,
                entry,
            });
        }
    }

    /// Leaves the loops of this call whose code does not hold an address; whether there are any.
    #[inline]
    fn leave_others(&mut self, outermost: usize, address: u64) -> bool {
        let innermost = self.loops.get(outermost..).and_then(<[Loop]>::last);
        let within = innermost.map(|innermost| innermost.within);
        let leaves = within.is_some_and(|(low, high)| !(low..high).contains(&address));
        if leaves {
            self.leave_some(outermost, address);
        }
        leaves
    }

    fn leave_some(&mut self, outermost: usize, address: u64) {
        let inside = |l: &Loop| (l.low..l.high).contains(&address);
        let stay = self.loops[outermost..]
            .iter()
            .take_while(|l| inside(l))
            .count();
        self.leave_loops(outermost + stay);
    }

    /// Leaves all loops but the outer `stay`: the path is what it was before the outermost of
    /// those.
    fn leave_loops(&mut self, stay: usize) {
        if let Some(outermost) = self.loops.get(stay) {
            self.path = outermost.entry;
            self.loops.truncate(stay);
        }
    }
}

/// What is in this code and in all loops around it.
fn within(around: &[Loop], (low, high): (u64, u64)) -> (u64, u64) {
    match around.last() {
        Some(outer) => (low.max(outer.within.0), high.min(outer.within.1)),
        None => (low, high),
    }
}

/// What a block adds to the trace of blocks: where it ends, which is the same for all blocks that
/// were entered at different places and go on to one branch. Where it begins follows from what led
/// there.
#[inline]
fn tag(block: &BasicBlock) -> u64 {
    block.after()
}
