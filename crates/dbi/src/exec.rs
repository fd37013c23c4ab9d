//! `exec` of the program: the process becomes another program, in which nothing of ours is left.
//! [`before`] asks the analysing side to attach itself to this process, so that it can put the
//! rewriter into the new program; [`after`] takes that back if the call has failed. They
//! communicate through the segment's [`Exec`](reuselens_wire::Exec), one process at a time.

use core::sync::atomic::{AtomicU32, Ordering};

use reuselens_wire::ExecState;

use super::segment;
use super::thread::Thread;
use super::{expand, space, sys};

/// The thread is about to call `exec`: waits for its turn, asks the analysing side to attach, and
/// waits for the answer. Returns at once if the analysing side is gone.
pub fn before(thread: &mut Thread) {
    expand::drain(thread);
    thread.channel.publish(true);
    thread.channel.set_outside(false);
    let Some(segment) = segment::get() else {
        return;
    };
    let header = segment.header();
    let (exec, pid) = (&header.exec, sys::pid());
    let gone = || {
        header.consumer_gone.load(Ordering::Relaxed) != 0
            || !sys::process_exists(header.consumer_pid.load(Ordering::Relaxed))
    };
    let (free, ours) = (Ordering::Relaxed, Ordering::AcqRel);
    while let Err(owner) = exec.pid.compare_exchange(0, pid, ours, free) {
        if gone() {
            return;
        }
        // The process with the turn was killed before it could ask: no one else would end its turn.
        let idle = exec.state.load(Ordering::SeqCst) == ExecState::Idle as u32;
        if idle && owner != 0 && !sys::process_exists(owner) {
            let _ = exec.pid.compare_exchange(owner, 0, ours, free);
        }
        sys::yield_now();
    }
    for (to, limit) in exec.limits.iter().zip(space::own_limits()) {
        to.store(limit, Ordering::SeqCst);
    }
    exec.tid.store(sys::tid(), Ordering::SeqCst);
    exec.state.store(ExecState::Asked as u32, Ordering::SeqCst);
    while exec.state.load(Ordering::SeqCst) == ExecState::Asked as u32 && !gone() {
        sys::futex_wait(&exec.state, ExecState::Asked as u32);
    }
}

/// The call has failed: tells the analysing side, if it is attached for this thread.
pub fn after(thread: &Thread) {
    thread.channel.set_outside(true);
    let Some(segment) = segment::get() else {
        return;
    };
    let exec = &segment.header().exec;
    let own = |own: u32, of: &AtomicU32| of.load(Ordering::SeqCst) == own;
    if own(sys::pid(), &exec.pid) && own(sys::tid(), &exec.tid) {
        let (watched, failed) = (ExecState::Watched as u32, ExecState::Failed as u32);
        let order = Ordering::SeqCst;
        let _ = exec.state.compare_exchange(watched, failed, order, order);
    }
}
