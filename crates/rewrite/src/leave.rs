//! Threads that leave the cache for good, and run on as they would without us.

use core::sync::atomic::Ordering;

use super::segment::Segment;
use super::thread::Thread;
use super::{codes, dispatch, expand, process, signals, watch};

/// This thread runs on its own from `pc` on, where its code lies; for what cannot be rewritten.
pub fn leave_for_good(thread: &mut Thread, pc: u64) -> u64 {
    expand::drain(thread);
    if let Some(segment) = Segment::get() {
        segment.header().left.fetch_add(1, Ordering::Relaxed);
    }
    thread.channel.end();
    signals::give_back(thread);
    pc
}

/// Recording has stopped: the program's only thread runs on its own from `pc` on, as it would have without
/// us. Where there are several they stay in the cache, unrecorded: what is shared (handlers of signals,
/// protected pages of code) cannot be taken from under the others.
pub fn go_on_alone(thread: &mut Thread, pc: u64, exit: Option<codes::Exit>) -> u64 {
    let pending = thread.pending.load(Ordering::Relaxed) != 0;
    if thread.borrowed || pending || thread.left || !process::is_alone() {
        thread.channel.forget();
        return dispatch::on(thread, pc, exit);
    }
    watch::unwatch_all();
    thread.channel.end();
    signals::give_back(thread);
    thread.left = true;
    pc
}

/// The same, when a system call is to be made so.
pub fn leave_at(thread: &mut Thread, pc: u64) {
    thread.target = leave_for_good(thread, pc);
    thread.left = true;
}
