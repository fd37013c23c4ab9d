//! What goes wrong while a kernel runs: a [`Fault`] is found by an instruction, and becomes a
//! [`KernelError`] with block, thread and place in the PTX.

use super::assertion::FailedAssertion;
use crate::error::Position;

/// What is wrong, where it is known which lane did it.
#[derive(Debug)]
pub struct Fault {
    pub kind: FaultKind,
    pub lane: Option<u32>,
    pub what: String,
    /// The address of an access to global memory.
    pub address: Option<u64>,
    pub assertion: Option<FailedAssertion>,
}

/// A sort of error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// An access to what is in no buffer, or beyond a buffer's end.
    OutOfBounds,
    /// An address that is no multiple of the access's size.
    Misaligned,
    /// Threads of a warp at different barriers, or barriers that wait for each other.
    Barrier,
    /// Lanes that an instruction of the warp waits for are on another path.
    Convergence,
    /// Threads of a block access the same bytes without a barrier between.
    Race,
    /// More instructions than allowed.
    TooLong,
    /// The kernel gave up.
    Trap,
    /// What the kernel asserts does not hold.
    Assertion,
    /// A call through a pointer that leads to no function.
    Callee,
    /// Calls inside of each other that take more than the thread's stack.
    Stack,
    /// An operand that makes no sense.
    Operand,
}

impl Fault {
    #[cold]
    pub fn new(kind: FaultKind, lane: Option<u32>, what: impl Into<String>) -> Box<Fault> {
        Box::new(Fault {
            kind,
            lane,
            what: what.into(),
            address: None,
            assertion: None,
        })
    }

    /// The same, of an access to global memory at an address.
    #[cold]
    pub fn at(mut self: Box<Fault>, address: u64) -> Box<Fault> {
        self.address = Some(address);
        self
    }
}

/// A kernel that was stopped, and why.
#[derive(Clone, Debug, thiserror::Error)]
#[error(transparent)]
pub struct KernelError(Box<KernelStop>);

/// What is known of it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("kernel {}, block ({}, {}, {}){}: {}{what}", crate::names::readable(kernel), block[0], block[1], block[2], in_thread(thread), place(*position, file, line))]
pub struct KernelStop {
    pub kind: FaultKind,
    pub kernel: String,
    pub block: [u32; 3],
    pub thread: Option<[u32; 3]>,
    /// `None` if it was no instruction.
    pub position: Option<Position>,
    /// Which of several linked files the position is in.
    pub file: Option<String>,
    pub line: Source,
    pub what: String,
    pub address: Option<u64>,
    pub assertion: Option<String>,
}

impl From<KernelStop> for KernelError {
    fn from(stop: KernelStop) -> KernelError {
        KernelError(Box::new(stop))
    }
}

/// File and line of a kernel's source, where they are known.
pub type Source = Option<(String, u32)>;

impl KernelError {
    /// What sort of error it is.
    pub fn kind(&self) -> FaultKind {
        self.0.kind
    }

    /// The block's place in the grid.
    pub fn block(&self) -> [u32; 3] {
        self.0.block
    }

    /// The thread's place in its block, if it was one.
    pub fn thread(&self) -> Option<[u32; 3]> {
        self.0.thread
    }

    /// The address that was accessed, if it was an access to global memory.
    pub fn address(&self) -> Option<u64> {
        self.0.address
    }

    /// What CUDA prints on standard error if an assertion does not hold: a line for each thread of
    /// the warp for which it does not, `FILE:LINE: FUNCTION: block: [X,Y,Z], thread: [X,Y,Z]
    /// Assertion `CONDITION` failed.`; none for other errors.
    pub fn assertion(&self) -> Option<&str> {
        self.0.assertion.as_deref()
    }

    /// The instruction's place in the PTX; none where the launch was stopped as a whole.
    pub fn position(&self) -> Option<Position> {
        self.0.position
    }
}

fn in_thread(thread: &Option<[u32; 3]>) -> String {
    thread.map_or_else(String::new, |[x, y, z]| format!(", thread ({x}, {y}, {z})"))
}

/// The place, and a colon.
fn place(position: Option<Position>, file: &Option<String>, source: &Source) -> String {
    let Some(position) = position else {
        return String::new();
    };
    let of = file.as_ref().map(|file| format!(" of {file}"));
    let line = format!("PTX line {}{}", position.line, of.unwrap_or_default());
    match source {
        Some((file, number)) => format!("{file}:{number} ({line}): "),
        None => format!("{line}: "),
    }
}
