//! What a kernel does to a thread's stack: `alloca` and `stackrestore`.

use super::kernel::Register;

/// A change of the top of the stack.
#[derive(Clone, Copy, Debug)]
pub struct StackOp {
    pub step: StackStep,
    /// The routine that does it; `NONE` is the kernel.
    pub routine: u32,
}

#[derive(Clone, Copy, Debug)]
pub enum StackStep {
    /// Takes bytes, at a multiple of a power of two.
    Take {
        bytes: Register,
        align: u64,
        address: Register,
    },
    /// Frees what was taken since the top was saved.
    Restore { value: Register },
}
