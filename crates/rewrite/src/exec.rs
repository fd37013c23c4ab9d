//! Programs that take the place of this one.

use core::sync::atomic::Ordering;

use reuselens_wire::ExecState;

use super::segment::Segment;
use super::thread::Thread;
use super::{expand, sys};

/// Another program takes this one's place, if it can: the analysing side is asked to be there then, so
/// that the new program is rewritten too.
pub fn before(thread: &mut Thread) {
    expand::drain(thread);
    thread.channel.publish(true);
    thread.channel.set_outside(false);
    let Some(segment) = Segment::get() else {
        return;
    };
    let header = segment.header();
    let (exec, pid) = (&header.exec, sys::pid());
    let gone = || {
        header.consumer_gone.load(Ordering::Relaxed) != 0
            || !sys::process_exists(header.consumer_pid.load(Ordering::Relaxed))
    };
    let (free, ours) = (Ordering::Relaxed, Ordering::AcqRel);
    while exec.pid.compare_exchange(0, pid, ours, free).is_err() {
        if gone() {
            return;
        }
        sys::yield_now();
    }
    exec.tid.store(sys::tid(), Ordering::SeqCst);
    exec.state.store(ExecState::Asked as u32, Ordering::SeqCst);
    while exec.state.load(Ordering::SeqCst) == ExecState::Asked as u32 && !gone() {
        sys::futex_wait(&exec.state, ExecState::Asked as u32);
    }
}

/// It could not.
pub fn after(thread: &Thread) {
    thread.channel.set_outside(true);
    let Some(segment) = Segment::get() else {
        return;
    };
    let exec = &segment.header().exec;
    if exec.pid.load(Ordering::SeqCst) == sys::pid() {
        let (watched, failed) = (ExecState::Watched as u32, ExecState::Failed as u32);
        let order = Ordering::SeqCst;
        let _ = exec.state.compare_exchange(watched, failed, order, order);
    }
}
