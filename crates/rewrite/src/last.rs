//! The end of a process: what all of its threads have noted goes out.

use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering};

use super::{THREADS, announce_name};
use crate::image::thread::Thread;
use crate::image::{expand, sys};

/// Whether the process ends: threads rest where they are.
static OVER: AtomicU32 = AtomicU32::new(0);
/// The mark of the thread that ends the process.
const OWN_END: u32 = 3;
/// How often to look whether a thread has come to rest.
const PATIENCE: u32 = 5000;
/// How often then, a millisecond apart: on a busy machine a thread has to wait for a processor before it can.
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
    let others: Vec<u64> = THREADS
        .lock()
        .iter()
        .copied()
        .filter(|t| *t != thread.own)
        .collect();
    for own in others {
        // SAFETY: the list has the states of threads that live; only who claims one writes to it.
        let other = unsafe { &mut *(own as *mut Thread) };
        for look in 0..PATIENCE + NAPS {
            other.limit.store(0, Ordering::SeqCst);
            if other.in_call.load(Ordering::SeqCst) != 0 {
                last_drain(other);
            }
            if other.last.load(Ordering::SeqCst) == 2 {
                break;
            }
            match look < PATIENCE {
                true => sys::yield_now(),
                false => sys::nap(),
            }
        }
    }
}

/// Empties a thread's buffer for the last time, unless somebody does so already.
fn last_drain(thread: &mut Thread) {
    let order = Ordering::SeqCst;
    if thread.last.compare_exchange(0, 1, order, order).is_ok() {
        expand::drain(thread);
        announce_name(thread);
        thread.channel.set_outside(false);
        thread.last.store(2, order);
    }
}

/// If the process ends, the calling thread rests: its notes are out.
pub fn rest_if_over(thread: &mut Thread) {
    if OVER.load(Ordering::SeqCst) != 0 && thread.last.load(Ordering::SeqCst) != OWN_END {
        last_drain(thread);
        let word = AtomicU32::new(0);
        loop {
            sys::futex_wait(&word, 0);
        }
    }
}
