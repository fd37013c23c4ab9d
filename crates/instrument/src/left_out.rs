//! [`LeftOut`]: an instruction that accesses memory, or may, and that has no hook.

use std::fmt;

/// An instruction without a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its line in the PTX that was given, from 1.
    pub line: u32,
    /// The kernel or function that it is in; empty outside of all.
    pub function: String,
    /// The opcode with its modifiers, or the name of a function without a body.
    pub opcode: String,
    /// Why.
    pub reason: LeftOutReason,
}

/// Why an instruction has no hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LeftOutReason {
    /// A copy between memories: `cp.async`, `cp.async.bulk`, `cp.reduce`, `st.async`, `red.async`.
    Copy,
    /// A load or store of a matrix by a warp: `ldmatrix`, `stmatrix`, `wmma`, `tcgen05`.
    Matrix,
    /// A texture or surface.
    Texture,
    /// A barrier in shared memory: `mbarrier`.
    Barrier,
    /// Shared memory of another block: `.shared::cluster`, `mapa`, `multimem`.
    OtherBlocks,
    /// An address that is none of register, variable and number, with an offset.
    Address,
    /// A size or space that is not known.
    Form,
    /// An instruction that is not known: it may access memory.
    Unknown,
    /// A barrier that only some warps of a block take part in, with a number of threads, or that a
    /// warp does not wait at (`arrive`): phases after it are not exact.
    PartialBarrier,
    /// A function that is declared and has no body here, such as `vprintf` and `malloc`.
    NoBody,
}

impl LeftOutReason {
    /// All of them.
    pub const ALL: [LeftOutReason; 10] = [
        LeftOutReason::Copy,
        LeftOutReason::Matrix,
        LeftOutReason::Texture,
        LeftOutReason::Barrier,
        LeftOutReason::OtherBlocks,
        LeftOutReason::Address,
        LeftOutReason::Form,
        LeftOutReason::Unknown,
        LeftOutReason::PartialBarrier,
        LeftOutReason::NoBody,
    ];
}

impl fmt::Display for LeftOutReason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            LeftOutReason::Copy => "asynchronous copies",
            LeftOutReason::Matrix => "loads and stores of matrices",
            LeftOutReason::Texture => "textures and surfaces",
            LeftOutReason::Barrier => "barriers in shared memory",
            LeftOutReason::OtherBlocks => "memory of other blocks",
            LeftOutReason::Address => "addresses of an unknown form",
            LeftOutReason::Form => "unknown sizes or spaces",
            LeftOutReason::Unknown => "unknown instructions",
            LeftOutReason::PartialBarrier => "barriers of some warps",
            LeftOutReason::NoBody => "functions without a body",
        })
    }
}
