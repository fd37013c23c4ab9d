//! The end of a process: what all of its threads have noted goes out.

use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering};

use super::{THREADS, announce_name};
use crate::image::thread::Thread;
use crate::image::{expand, sys};

/// Whether the process ends: threads rest where they are.
static OVER: AtomicU32 = AtomicU32::new(0);
/// The mark of a thread whose buffer was emptied for the last time; so have those with larger ones.
pub const EMPTY: u32 = 2;
/// The mark of the thread that ends the process.
const OWN_END: u32 = 3;
/// The mark of a thread that runs on its own.
pub const GONE: u32 = 4;
/// How often to look whether a thread has come to rest.
const PATIENCE: u32 = 5000;
/// How often then, a millisecond apart: on a busy machine a thread has to wait for a processor
/// before it can.
const NAPS: u32 = 100;

/// The process is about to end: what all threads have noted goes out.
pub fn ends(thread: &mut Thread) {
    expand::drain(thread);
    if thread.borrowed {
        return thread.channel.end();
    }
    // The first thread that ends the process does so; another that tries rests.
    rest_if_over(thread);
    thread.channel.set_outside(false);
    thread.last.store(OWN_END, Ordering::SeqCst);
    OVER.store(1, Ordering::SeqCst);
    empty_others(thread, is_told);
}

/// All that a thread has noted is told: nothing is lost if it is killed.
fn is_told(thread: &mut Thread) {
    thread.channel.set_outside(false);
}

/// What all other threads have noted goes out for the last time, and `then` is called for each: by
/// the threads themselves as soon as they look at their limits, or here where they are in system
/// calls. How many they are.
pub fn empty_others(thread: &mut Thread, then: fn(&mut Thread)) -> u32 {
    wait_for_others(thread, |other| {
        other.limit.store(0, Ordering::SeqCst);
        if is_in_call(other) {
            last_drain(other, then);
        }
        other.last.load(Ordering::SeqCst) >= EMPTY
    })
}

/// Whether a thread is in a system call, and stays there for all that is known: one that a signal
/// has interrupted comes back.
pub fn is_in_call(thread: &Thread) -> bool {
    let order = Ordering::SeqCst;
    thread.in_call.load(order) != 0 && thread.pending.load(order) == 0
}

/// Waits until something holds for each other thread of the process, but not without end. How many
/// they are.
pub fn wait_for_others(thread: &mut Thread, mut holds: impl FnMut(&mut Thread) -> bool) -> u32 {
    let others: Vec<u64> = THREADS
        .lock()
        .iter()
        .copied()
        .filter(|t| *t != thread.own)
        .collect();
    let mut count = 0;
    for own in others {
        // SAFETY: the list has the states of threads that live; only who claims one writes to it.
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
            match look < PATIENCE {
                true => sys::yield_now(),
                false => sys::nap(),
            }
        }
    }
    count
}

/// Empties a thread's buffer for the last time and calls `then`, unless somebody does so already.
/// Whether it was done here.
pub fn last_drain(thread: &mut Thread, then: fn(&mut Thread)) -> bool {
    let order = Ordering::SeqCst;
    let claimed = thread.last.compare_exchange(0, 1, order, order).is_ok();
    if claimed {
        expand::drain(thread);
        announce_name(thread);
        then(thread);
        thread.last.store(EMPTY, order);
    }
    claimed
}

/// If the process ends, the calling thread rests: its notes are out.
pub fn rest_if_over(thread: &mut Thread) {
    if OVER.load(Ordering::SeqCst) != 0 && thread.last.load(Ordering::SeqCst) != OWN_END {
        last_drain(thread, is_told);
        let word = AtomicU32::new(0);
        loop {
            sys::futex_wait(&word, 0);
        }
    }
}
