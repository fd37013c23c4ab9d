//! The end of a process, or of our part in it: each thread's buffer is emptied one last time
//! ([`final_drain`]), exactly once, by the thread itself or by the thread that ends the process.
//!
//! [`ends`] is called before the process ends, `detach` uses the other functions when all threads
//! leave the cache. A thread's [`drain_state`](Thread::drain_state) has the progress: 0, then 1
//! while its buffer is being emptied, then [`EMPTY`] or more.

use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering};

use reuselens_guest::sys;

use super::{THREADS, announce_name};
use crate::image::expand;
use crate::image::thread::Thread;

/// Not 0 once the process ends: threads that come to the dispatcher stay there.
static OVER: AtomicU32 = AtomicU32::new(0);
/// How many threads look at the states of all others. They have copied the list of threads, so that
/// a state must not be freed meanwhile ([`may_free`]).
static READERS: AtomicU32 = AtomicU32::new(0);
/// `drain_state` of a thread whose buffer was emptied for the last time. All larger states imply
/// it.
pub const EMPTY: u32 = 2;
/// `drain_state` of the thread that ends the process.
const OWN_END: u32 = 3;
/// `drain_state` of a thread that has ended or has left the cache.
pub const GONE: u32 = 4;
/// How often to check another thread, yielding the processor in between.
const PATIENCE: u32 = 5000;
/// How often to check after that, a millisecond apart: on a busy machine a thread has to wait for
/// a processor.
const NAPS: u32 = 100;

/// The process is about to end: empties the buffers of all its threads.
pub fn ends(thread: &mut Thread) {
    expand::drain(thread);
    if thread.borrowed {
        return thread.channel.end();
    }
    // The first thread that ends the process does so; another that tries rests.
    rest_if_over(thread);
    thread.channel.set_outside(false);
    thread.drain_state.store(OWN_END, Ordering::SeqCst);
    OVER.store(1, Ordering::SeqCst);
    empty_others(thread, clear_outside);
}

/// In the child of a fork, which begins with this thread: it has not ended, whatever its parent was
/// about to do.
pub fn in_child(thread: &mut Thread) {
    OVER.store(0, Ordering::SeqCst);
    READERS.store(0, Ordering::SeqCst);
    thread.drain_state.store(0, Ordering::SeqCst);
}

/// All block records of a thread are in the segment: nothing is lost if it is killed.
fn clear_outside(thread: &mut Thread) {
    thread.channel.set_outside(false);
}

/// Has the buffers of all other threads emptied for the last time, and `then` called for each
/// thread: by the thread itself as soon as it checks its limit, or here if it is in a system call.
/// Returns the number of other threads.
pub fn empty_others(thread: &mut Thread, then: fn(&mut Thread)) -> u32 {
    wait_for_others(thread, |other| {
        other.limit.store(0, Ordering::SeqCst);
        if is_in_call(other) {
            final_drain(other, then);
        }
        other.drain_state.load(Ordering::SeqCst) >= EMPTY
    })
}

/// Whether a thread is in a system call that no signal has interrupted yet.
pub fn is_in_call(thread: &Thread) -> bool {
    let order = Ordering::SeqCst;
    thread.in_call.load(order) != 0 && thread.pending.load(order) == 0
}

/// Waits until `holds` returns true for each other thread of the process, but for each only for a
/// limited time ([`PATIENCE`] and [`NAPS`]). Returns the number of other threads.
pub fn wait_for_others(thread: &mut Thread, mut holds: impl FnMut(&mut Thread) -> bool) -> u32 {
    let others: Vec<u64> = {
        let threads = THREADS.lock();
        READERS.fetch_add(1, Ordering::SeqCst);
        let others = threads.iter().copied();
        others.filter(|other| *other != thread.own).collect()
    };
    let mut count = 0;
    for own in others {
        // SAFETY: the list has the states of threads that lived when it was read, and none of
        // these is freed while there are `READERS`; only the thread that claims one (`final_drain`)
        // writes to it.
        let other = unsafe { &mut *(own as *mut Thread) };
        // The child of a `vfork` is another process.
        if other.borrowed {
            continue;
        }
        count += 1;
        for look in 0..PATIENCE + NAPS {
            if holds(other) {
                break;
            }
            rest_if_over(thread);
            if look < PATIENCE {
                sys::yield_now()
            } else {
                sys::nap()
            }
        }
    }
    READERS.fetch_sub(1, Ordering::SeqCst);
    count
}

/// Whether the state of a thread that is no longer in the list may be freed. Called with the list
/// locked: a thread that begins to read later does not find that state.
pub fn may_free() -> bool {
    READERS.load(Ordering::SeqCst) == 0
}

/// Empties a thread's buffer for the last time and calls `then`, unless another thread does so or
/// has done so. Returns whether it was done here.
pub fn final_drain(thread: &mut Thread, then: fn(&mut Thread)) -> bool {
    let order = Ordering::SeqCst;
    let claimed = thread
        .drain_state
        .compare_exchange(0, 1, order, order)
        .is_ok();
    if claimed {
        expand::drain(thread);
        announce_name(thread);
        then(thread);
        thread.drain_state.store(EMPTY, order);
    }
    claimed
}

/// If the process is ending, empties the calling thread's buffer and waits for the end; does not
/// return then. The child of a `vfork` goes on: it is another process, which may outlive its
/// parent, and sees [`OVER`] only because it shares the parent's memory.
pub fn rest_if_over(thread: &mut Thread) {
    let ends = OVER.load(Ordering::SeqCst) != 0 && !thread.borrowed;
    if ends && thread.drain_state.load(Ordering::SeqCst) != OWN_END {
        final_drain(thread, clear_outside);
        let word = AtomicU32::new(0);
        loop {
            sys::futex_wait(&word, 0);
        }
    }
}
