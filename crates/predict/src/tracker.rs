//! [`PathTracker`]: follows a thread from basic block to basic block, and keeps its path, which is
//! the outcomes of its conditional branches, with loops squashed.

use reuselens_control_flow::{BasicBlock, BlockEnd, LoopState, NestTracker};
use reuselens_locality::Path;

/// The path of a thread.
#[derive(Clone, Debug)]
struct PathState {
    /// Iterations whose outcomes are kept.
    keep: u32,
    path: Path,
}

impl LoopState for PathState {
    type Moment = Path;
    /// Iterations since the loop's outcomes were squashed last.
    type Iteration = u32;
    /// The graph of what ran says which loops there are, and nothing else: no path depends on where
    /// a compiler puts code.
    const GUESSES: bool = false;

    #[inline]
    fn now(&self) -> Path {
        self.path
    }

    #[inline]
    fn first_iteration(&self, _: &Path) -> u32 {
        0
    }

    #[inline]
    fn iterate(&mut self, entry: &Path, iterations: &mut u32) {
        *iterations += 1;
        if *iterations >= self.keep {
            *iterations = 0;
            self.path = *entry;
        }
    }

    #[inline]
    fn leave(&mut self, entry: &Path) {
        self.path = *entry;
    }
}

/// Follows one thread from block to block.
///
/// The path is the outcomes of conditional branches, newest last, but a loop would flood it. So the
/// path to a loop is kept when it begins; after every `keep` iterations, and when the loop is left,
/// the path becomes that one again. [`NestTracker`] says where loops and calls begin and end. What
/// was run in a call stays in the path, except its loops.
///
/// All instructions from one that a branch, jump, call or return leads to, up to the next such
/// instruction, have the path of the first one: a loop that is iterated in between, because its
/// body falls through to its first instruction, changes the path after them. So a block has one
/// path, and paths are those that they would be if each instruction were a block of its own.
///
/// Cost: that of a [`NestTracker`], and two copies of a path. Memory: 290 to 510 bytes per block of
/// code.
///
/// Source: Fang et al. 2006, section 3.2. Where loops begin and end, and calls, are not in the
/// paper.
#[derive(Clone, Debug)]
pub struct PathTracker {
    flow: NestTracker<PathState>,
    /// The path to the block that was entered last, and that block.
    path: Path,
    last: BasicBlock,
}

impl PathTracker {
    /// Begins, keeping the outcomes of up to `keep` iterations of a loop: the number of elements in
    /// a line, which distinguishes reuse within a line from reuse of it. 0 counts as 1.
    pub fn new(keep: u32) -> Self {
        PathTracker {
            flow: NestTracker::new(PathState {
                keep: keep.max(1),
                path: Path::default(),
            }),
            path: Path::default(),
            last: BasicBlock::default(),
        }
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
        self.flow.memory()
    }

    /// The thread goes on with this block.
    #[inline]
    pub fn enter(&mut self, block: &BasicBlock) {
        let path = &mut self.flow.state.path;
        match self.last.end {
            BlockEnd::Branch => {
                let taken = block.start == self.last.taken;
                path.outcomes = path.outcomes << 1 | u32::from(taken);
            }
            BlockEnd::Indirect => path.trace.go_on(block.start),
            _ => {}
        }
        self.flow.begin(block);
        if self.last.end != BlockEnd::Falls {
            self.path = self.flow.state.path;
        }
        // What begins or is iterated inside the block counts for what follows it.
        self.flow.run_on(block);
        for path in [&mut self.flow.state.path, &mut self.path] {
            match block.end {
                BlockEnd::Branch => path.trace.begin(tag(block)),
                // What comes next is known, and it may as well be the same block.
                BlockEnd::Falls => {}
                _ => path.trace.go_on(tag(block)),
            }
        }
        self.last = *block;
    }
}

/// What a block adds to the trace of blocks: where it ends, which is the same for all blocks that
/// were entered at different places and go on to one branch. Where it begins follows from what led
/// there.
#[inline]
fn tag(block: &BasicBlock) -> u64 {
    block.after()
}
