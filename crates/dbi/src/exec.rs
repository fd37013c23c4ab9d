//! Programs that take the place of this one.

use core::sync::atomic::{AtomicU32, Ordering};

use reuselens_wire::ExecState;

use super::segment;
use super::thread::Thread;
use super::{expand, sys};

/// Another program takes this one's place, if it can: the analysing side is asked to be there then,
/// so that the new program is rewritten too.
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
        // Killed before it could ask: nobody else would ever give its turn away.
        let idle = exec.state.load(Ordering::SeqCst) == ExecState::Idle as u32;
        if idle && owner != 0 && !sys::process_exists(owner) {
            let _ = exec.pid.compare_exchange(owner, 0, ours, free);
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
