//! Threads are detached: they leave the cache for good, and run on as they would without us.

use core::sync::atomic::{AtomicU32, Ordering};

use super::segment;
use super::thread::Thread;
use super::x86_64::registers::RAX;
use super::{codes, dispatch, exec, expand, process, signals, sys, watch};

/// Whether all threads are being detached: [`STAY`], [`DETACH`] or [`GO`].
static ALL: AtomicU32 = AtomicU32::new(STAY);
const STAY: u32 = 0;
/// They come to rest in our code.
const DETACH: u32 = 1;
/// The kernel's actions for signals are the program's own again: they go on.
const GO: u32 = 2;

/// Detaches this thread, whose code at `pc` cannot be rewritten. Returns where it goes on.
pub fn detach_thread(thread: &mut Thread, pc: u64) -> u64 {
    expand::drain(thread);
    if let Some(segment) = segment::get() {
        segment.header().detached.fetch_add(1, Ordering::Relaxed);
    }
    thread.channel.end();
    signals::give_back(thread);
    pc
}

/// Detaches the program's only thread at `pc` when recording has stopped. Where there are several
/// threads they stay in the cache, unrecorded: what they share (handlers of signals, protected
/// pages of code) cannot be taken from under the others.
pub fn detach_only_thread(thread: &mut Thread, pc: u64, exit: Option<codes::Exit>) -> u64 {
    let pending = thread.pending.load(Ordering::Relaxed) != 0;
    if thread.borrowed || pending || thread.detached || !process::is_alone() {
        thread.channel.forget();
        return dispatch::on(thread, pc, exit);
    }
    watch::unwatch_all();
    thread.channel.end();
    signals::give_back(thread);
    thread.detached = true;
    pc
}

/// Detaches this thread at a system call that it is about to make.
pub fn detach_at(thread: &mut Thread, pc: u64) {
    thread.target = detach_thread(thread, pc);
    thread.detached = true;
}

/// The program is about to make the system call at `thread.call_pc`, after which the kernel may end
/// it for calls of ours (a filter of system calls): all threads leave the cache before. From then
/// on nothing of ours makes a call in this process, and nothing of ours catches a signal.
///
/// Threads that are in system calls leave when they come back from them. A signal that comes before
/// that is delivered by the kernel itself, on our stack.
pub fn detach_all(thread: &mut Thread) {
    process::rest_if_over(thread);
    thread.registers[usize::from(RAX)] = thread.call_number;
    let pc = thread.call_pc;
    let is_first = thread.borrowed || ALL.swap(DETACH, Ordering::SeqCst) == STAY;
    if !is_first {
        with_all(thread, pc);
        return;
    }
    process::last_drain(thread, end);
    let mut leaving = 1;
    if !thread.borrowed {
        leaving += process::empty_others(thread, end);
    }
    if let Some(segment) = segment::get() {
        let detached = &segment.header().detached_for_filter;
        detached.fetch_add(leaving, Ordering::Relaxed);
    }
    watch::unwatch_all();
    signals::give_back(thread);
    if !thread.borrowed {
        ALL.store(GO, Ordering::SeqCst);
        // A handler of ours may still run elsewhere, and what it caught be delivered.
        sys::nap();
        process::wait_for_others(thread, |other| {
            other.last.load(Ordering::SeqCst) == process::GONE || process::is_in_call(other)
        });
    }
    go(thread, pc);
}

fn end(thread: &mut Thread) {
    thread.channel.end();
}

/// Whether all threads of the process are being detached.
pub fn is_all_detaching() -> bool {
    ALL.load(Ordering::SeqCst) != STAY
}

/// Whether a thread is to be detached with all others; the child of a `vfork` is another process.
pub fn is_detaching(thread: &Thread) -> bool {
    is_all_detaching() && !thread.borrowed
}

/// This thread leaves with all others, to `pc`. No system call is made once others may have gone:
/// the filter is there then.
pub fn with_all(thread: &mut Thread, pc: u64) -> u64 {
    if ALL.load(Ordering::SeqCst) == DETACH {
        process::last_drain(thread, |thread| {
            thread.channel.end();
            signals::give_back_stack(thread);
        });
    }
    // The thread that waits for the others went on without this one: what it had noted is lost.
    let order = Ordering::SeqCst;
    if ALL.load(order) == GO
        && thread
            .last
            .compare_exchange(0, process::EMPTY, order, order)
            .is_ok()
        && let Some(segment) = segment::get()
    {
        segment.header().lost_events.fetch_add(1, order);
    }
    let is_ready = |thread: &Thread| {
        let emptied = thread.last.load(Ordering::SeqCst) >= process::EMPTY;
        emptied && ALL.load(Ordering::SeqCst) == GO
    };
    while !is_ready(thread) {
        core::hint::spin_loop();
    }
    go(thread, pc)
}

/// A system call is done, and all threads leave.
pub fn after_call(thread: &mut Thread) -> u64 {
    if matches!(thread.call_number, sys::EXECVE | sys::EXECVEAT) {
        exec::after(thread);
    }
    // The kernel may have found a page protected by us; it is not any more.
    let failed = thread.registers[usize::from(RAX)] as i64 == sys::EFAULT;
    let target = if failed && watch::is_used() {
        thread.registers[usize::from(RAX)] = thread.call_number;
        thread.call_pc
    } else {
        thread.target
    };
    with_all(thread, target)
}

/// The program's code goes on at `pc` as it lies there, after signals that wait.
fn go(thread: &mut Thread, pc: u64) -> u64 {
    thread.target = pc;
    while thread.pending.load(Ordering::Relaxed) != 0 {
        signals::deliver(thread);
    }
    thread.detached = true;
    thread.last.store(process::GONE, Ordering::SeqCst);
    thread.target
}

/// The child of a fork stays, whatever its parent does.
pub fn in_child() {
    ALL.store(STAY, Ordering::SeqCst);
}
