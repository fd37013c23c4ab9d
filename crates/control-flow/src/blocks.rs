//! [`BasicBlock`]: a basic block of code that a thread is about to run, as the capture reports it
//! to a [`NestTracker`](crate::NestTracker).

/// How a basic block ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BlockEnd {
    /// It goes on with the block after it, or nothing is known.
    #[default]
    Falls,
    /// With a conditional branch.
    Branch,
    /// With a jump to a fixed place.
    Jump,
    /// With a jump to a place that is computed.
    Indirect,
    /// With a call.
    Call,
    /// With a return.
    Return,
}

/// A basic block that a thread is about to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BasicBlock {
    /// Address of its first byte, which identifies it.
    pub start: u64,
    /// Its bytes; 0 if that is not known.
    pub length: u32,
    /// Where it goes on if the conditional branch at its end is taken. Of a call at the end of a
    /// block of unknown length: where it returns to. Else it means nothing.
    pub taken: u64,
    /// How it ends.
    pub end: BlockEnd,
}

impl BasicBlock {
    /// The address after its last byte; after its first one if its length is not known.
    #[inline]
    pub fn after(&self) -> u64 {
        self.start.saturating_add(u64::from(self.length.max(1)))
    }

    /// Where the call at its end returns to.
    #[inline]
    pub fn back(&self) -> u64 {
        match self.length {
            0 => self.taken,
            _ => self.after(),
        }
    }
}
