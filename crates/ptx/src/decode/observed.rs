//! What is counted of a kernel's control flow ([`Probe`], [`CountedInstruction`]), and the
//! calculations that sinks are shown ([`ObservedCalculation`]).

use std::sync::Arc;

use super::kernel::KernelPlace;
use crate::syntax::types::Type;

/// A place of a kernel at which the lanes that come there are counted.
#[derive(Clone, Debug)]
pub struct Probe {
    pub kind: ProbeKind,
    /// Index into `places`.
    pub place: u32,
    /// Which basic block it is in: index among the probes of blocks.
    pub block: u32,
    /// Instructions of the block, if it is the probe of a block.
    pub instructions: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProbeKind {
    /// The beginning of a basic block.
    Block,
    /// A branch, or an exit, under a guard.
    Branch,
    /// A branch by a table. The operation has the index as `a`, the table's number as `b`.
    Table,
    /// A call through a pointer. The operation has the register with the address as `a`.
    Call,
    /// An instruction under a guard that does not end its block.
    Predicated,
    /// What follows a call in its block: lanes that have ended in the routine are missing.
    Resume,
}

/// An instruction whose executions follow from what its probes count.
#[derive(Clone, Copy, Debug)]
pub struct CountedInstruction {
    /// Index into `places`, `kinds` and `texts`.
    pub place: u32,
    /// Index of the probe of the lanes that come to it.
    pub probe: u32,
    /// Index of the probe of its guard; `NONE` if it has none.
    pub guard: u32,
}

/// An arithmetic operation that sinks are shown.
#[derive(Clone, Debug)]
pub struct ObservedCalculation {
    /// Where it is.
    pub place: KernelPlace,
    /// The instruction as PTX writes it.
    pub text: Arc<str>,
    /// The types of its sources, in order.
    pub types: &'static [Type],
    /// The registers of these, each in the file of its type.
    pub(crate) registers: Vec<u32>,
}
