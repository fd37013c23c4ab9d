//! `exec` of the program: the process becomes another program, in which nothing of ours is left.
//! [`before`] asks the analysing side to attach itself to this process, so that it can put the
//! rewriter into the new program; [`after`] takes that back if the call has failed, and
//! [`interrupted`] if a signal has to be handled before the call is made. They communicate through
//! the segment's [`Exec`](reuselens_wire::Exec), one process at a time.

use core::sync::atomic::{AtomicU32, Ordering};

use reuselens_guest::sys;
use reuselens_wire::{Exec, ExecState};

use super::segment;
use super::thread::Thread;
use super::{expand, space};

/// How many times in a row a request is taken back because of a signal. After that it is kept, so
/// that a program that gets signals faster than requests are answered comes to its call at last.
const MOST_INTERRUPTIONS: u32 = 8;

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
    if has_answer(thread) {
        return;
    }
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

/// Whether the analysing side is attached for this thread, since a request that was kept.
fn has_answer(thread: &Thread) -> bool {
    thread.exec_interruptions > MOST_INTERRUPTIONS
        && own_request()
            .is_some_and(|exec| exec.state.load(Ordering::SeqCst) == ExecState::Watched as u32)
}

/// The request, if the one that has the turn is the calling thread's.
fn own_request() -> Option<&'static Exec> {
    let exec = &segment::get()?.header().exec;
    let own = |own: u32, of: &AtomicU32| of.load(Ordering::SeqCst) == own;
    (own(sys::pid(), &exec.pid) && own(sys::tid(), &exec.tid)).then_some(exec)
}

/// The call has failed: tells the analysing side, if it is attached for this thread.
pub fn after(thread: &mut Thread) {
    thread.exec_interruptions = 0;
    take_back(thread);
}

/// A signal has arrived before the call was made. The program handles it and makes the call again,
/// or never does: the request is taken back, for other processes wait for their turn.
pub fn interrupted(thread: &mut Thread) {
    thread.exec_interruptions += 1;
    if thread.exec_interruptions <= MOST_INTERRUPTIONS {
        take_back(thread);
    }
}

/// Takes the thread's request back.
fn take_back(thread: &Thread) {
    thread.channel.set_outside(true);
    if let Some(exec) = own_request() {
        let (watched, failed) = (ExecState::Watched as u32, ExecState::Failed as u32);
        let order = Ordering::SeqCst;
        let _ = exec.state.compare_exchange(watched, failed, order, order);
    }
}
