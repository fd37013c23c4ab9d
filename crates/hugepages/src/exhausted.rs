//! What happens where the system refuses memory.
//!
//! A large table is a mapping of its own ([`Huge`](crate::Huge)). If the system refuses one, the
//! work that needs it ends: [`refused`] unwinds, and [`catch`] hands the cause to whoever can still
//! report what was found before. All else is allocated through [`Allocator`](crate::Allocator),
//! whose reserve lets such allocations succeed until the work is ended in order.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Memory that the system refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// Bytes that were asked for.
    pub bytes: usize,
}

/// Bytes of the first allocation that the system refused; 0 before that.
static REFUSED: AtomicUsize = AtomicUsize::new(0);

/// Notes that the system refused an allocation.
pub(crate) fn note(bytes: usize) {
    // Only the first is the cause.
    let _ = REFUSED.compare_exchange(0, bytes.max(1), Ordering::Relaxed, Ordering::Relaxed);
}

/// The first allocation of a process with [`Allocator`](crate::Allocator) that the system refused,
/// if one was: time to end in order. Cost: a load.
pub fn out_of_memory() -> Option<OutOfMemory> {
    match REFUSED.load(Ordering::Relaxed) {
        0 => None,
        bytes => Some(OutOfMemory { bytes }),
    }
}

/// Ends the work that needs memory which the system has refused, up to the next [`catch`].
#[cold]
pub(crate) fn refused(bytes: usize) -> ! {
    // Not a panic: nothing is wrong with the program, so nothing is printed.
    resume_unwind(Box::new(OutOfMemory { bytes }))
}

/// Does this work. Other panics than that of refused memory go on.
///
/// # Errors
/// The memory that the system refused. What the work has changed is in no known state then: only
/// what it had finished before may be read.
pub fn catch<T>(work: impl FnOnce() -> T) -> Result<T, OutOfMemory> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| match payload.downcast() {
        Ok(refused) => *refused,
        Err(other) => resume_unwind(other),
    })
}
