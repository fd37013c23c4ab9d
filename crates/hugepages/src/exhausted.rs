//! How work ends when the system refuses memory.
//!
//! Large tables are mappings of their own ([`Huge`](crate::Huge)). If the system refuses one,
//! [`refused`] unwinds the work that needs it, and [`catch`] returns the cause to a caller that can
//! still report what was found before. All other memory is allocated through
//! [`Allocator`](crate::Allocator), whose reserve lets allocations succeed until the work has ended
//! in order; [`out_of_memory`] is to be checked for that.

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

/// Keeps that the system has refused an allocation of `bytes` bytes.
pub(crate) fn set_refused(bytes: usize) {
    // Only the first is the cause.
    let _ = REFUSED.compare_exchange(0, bytes.max(1), Ordering::Relaxed, Ordering::Relaxed);
}

/// The first allocation by [`Allocator`](crate::Allocator) that the system has refused, if any: the
/// process should end in order then. Cost: a load.
pub fn out_of_memory() -> Option<OutOfMemory> {
    match REFUSED.load(Ordering::Relaxed) {
        0 => None,
        bytes => Some(OutOfMemory { bytes }),
    }
}

/// Ends the work that needs memory which the system has refused, up to the next [`catch`].
#[cold]
pub(crate) fn refused(bytes: usize) -> ! {
    // Not by a panic, which would print a message: the program has no bug.
    resume_unwind(Box::new(OutOfMemory { bytes }))
}

/// Does this work. Other panics than that of refused memory are not caught.
///
/// # Errors
/// The memory that the system refused. Values that the work was changing may then be in any state:
/// only what it had finished before may be read.
pub fn catch<T>(work: impl FnOnce() -> T) -> Result<T, OutOfMemory> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| match payload.downcast() {
        Ok(refused) => *refused,
        Err(other) => resume_unwind(other),
    })
}
