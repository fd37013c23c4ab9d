//! Calculations of a warp: 32 lanes side by side in a register, so that an instruction is a loop
//! over a vector. A [`Form`] is such a loop with the types of its operands; the tables of `ops`
//! hold them.

mod isa;
#[macro_use]
mod macros;
mod registers;

pub use isa::{Exec, Isa, LaneOp, Picked, run_warp};
pub use registers::{Lane, Predicate, Registers, Single, Slots};

pub use crate::syntax::types::Type;

/// What an instruction does with its registers, and of which types they are.
#[derive(Clone, Copy)]
pub struct Form {
    /// The loop over the lanes.
    pub exec: Exec,
    /// Type of the result.
    pub result: Type,
    /// Types of the sources, in order.
    pub sources: &'static [Type],
}

/// Lanes of a warp.
pub const WARP: usize = 32;

/// A mask with all lanes.
pub const ALL: u32 = u32::MAX;
