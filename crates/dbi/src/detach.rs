//! Detaching: a thread leaves the code cache for good, and runs the program's own code from then
//! on, unrecorded.
//!
//! A single thread is detached if its code cannot be rewritten, or, as the program's only thread,
//! when recording has stopped. All threads are detached together before the program installs a
//! filter of system calls ([`detach_all`]): once the filter is there, code of ours must make no
//! system call and catch no signal in this process.

use core::sync::atomic::{AtomicU32, Ordering};

use reuselens_guest::sys;

use super::segment;
use super::thread::Thread;
use super::x86_64::asm::leave_address;
use super::x86_64::registers::RAX;
use super::{codes, dispatch, exec, expand, process, signals, watch};

/// Whether all threads are being detached: [`STAY`], [`DETACH`] or [`GO`].
static ALL: AtomicU32 = AtomicU32::new(STAY);
/// No.
const STAY: u32 = 0;
/// Yes: each thread waits in our code.
const DETACH: u32 = 1;
/// Yes: the kernel's actions for signals are the program's own again, and the threads may leave.
const GO: u32 = 2;

/// Detaches this thread, whose code at `pc` cannot be rewritten. Returns the address at which it
/// continues: `pc`.
pub fn detach_thread(thread: &mut Thread, pc: u64) -> u64 {
    expand::drain(thread);
    if let Some(segment) = segment::get() {
        segment.header().detached.fetch_add(1, Ordering::Relaxed);
    }
    thread.channel.end();
    signals::give_back(thread);
    pc
}

/// Detaches the program's only thread at `pc` when recording has stopped. Returns the address at
/// which it continues. If there are several threads, this one stays in the cache, unrecorded: what
/// threads share (handlers of signals, protected pages of code) cannot be given up for one of them.
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
    leave_for(thread, pc)
}

/// Leaves the cache for `pc`, with the program's own base of gs. Only where nothing of ours can run
/// in this thread afterwards. Returns the address at which the thread continues.
fn leave_for(thread: &mut Thread, pc: u64) -> u64 {
    thread.back = pc;
    leave_address()
}

/// Detaches this thread at a system call that it is about to make.
pub fn detach_at(thread: &mut Thread, pc: u64) {
    thread.target = detach_thread(thread, pc);
    thread.detached = true;
}

/// Detaches all threads. The program is about to make the system call at `thread.call_pc`, after
/// which the kernel may end it for calls of ours (a filter of system calls). After this, code of
/// ours makes no system call in this process and catches no signal.
///
/// Threads that are in system calls leave the cache when they return from them. A signal that
/// arrives before that is delivered by the kernel itself, on our stack.
pub fn detach_all(thread: &mut Thread) {
    process::rest_if_over(thread);
    thread.registers[usize::from(RAX)] = thread.call_number;
    let pc = thread.call_pc;
    let is_first = thread.borrowed || ALL.swap(DETACH, Ordering::SeqCst) == STAY;
    if !is_first {
        with_all(thread, pc);
        return;
    }
    process::final_drain(thread, end);
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
        // A handler of ours may still run in another thread, and its signal must be delivered.
        sys::nap();
        process::wait_for_others(thread, |other| {
            other.drain_state.load(Ordering::SeqCst) == process::GONE || process::is_in_call(other)
        });
    }
    go(thread, pc);
}

fn end(thread: &mut Thread) {
    thread.channel.end();
}

/// Whether all threads of the process are being detached.
fn is_all_detaching() -> bool {
    ALL.load(Ordering::SeqCst) != STAY
}

/// Whether this thread is being detached with all others. The child of a `vfork` is not: it is
/// another process.
pub fn is_detaching(thread: &Thread) -> bool {
    is_all_detaching() && !thread.borrowed
}

/// Detaches this thread together with all others, to continue at `pc`. Makes no system call once
/// others may have left: the filter may be installed then.
pub fn with_all(thread: &mut Thread, pc: u64) -> u64 {
    if ALL.load(Ordering::SeqCst) == DETACH {
        process::final_drain(thread, |thread| {
            thread.channel.end();
            signals::give_back_stack(thread);
        });
    }
    // The thread that waits for the others went on without this one: its block records are lost.
    let order = Ordering::SeqCst;
    if ALL.load(order) == GO
        && thread
            .drain_state
            .compare_exchange(0, process::EMPTY, order, order)
            .is_ok()
        && let Some(segment) = segment::get()
    {
        segment.header().lost_events.fetch_add(1, order);
    }
    let is_ready = |thread: &Thread| {
        let emptied = thread.drain_state.load(Ordering::SeqCst) >= process::EMPTY;
        emptied && ALL.load(Ordering::SeqCst) == GO
    };
    while !is_ready(thread) {
        core::hint::spin_loop();
    }
    go(thread, pc)
}

/// A system call of this thread has returned while all threads are being detached. Returns the
/// address at which it continues.
pub fn after_call(thread: &mut Thread) -> u64 {
    if matches!(thread.call_number, sys::EXECVE | sys::EXECVEAT) {
        exec::after(thread);
    }
    // The call may have failed because of a page that we had protected. None is any more, so the
    // program makes the call again.
    let failed = thread.registers[usize::from(RAX)] as i64 == sys::EFAULT;
    let target = if failed && watch::is_used() {
        thread.registers[usize::from(RAX)] = thread.call_number;
        thread.call_pc
    } else {
        thread.target
    };
    with_all(thread, target)
}

/// Lets the thread leave the cache for `pc`, after delivering pending signals. Returns the address
/// at which it continues.
fn go(thread: &mut Thread, pc: u64) -> u64 {
    thread.target = pc;
    while thread.pending.load(Ordering::Relaxed) != 0 {
        signals::deliver(thread);
    }
    thread.detached = true;
    thread.drain_state.store(process::GONE, Ordering::SeqCst);
    let pc = thread.target;
    thread.target = leave_for(thread, pc);
    thread.target
}

/// In the child of a fork: its thread is not detached, whatever its parent does. The parent may
/// have given the kernel the program's own actions for signals already: the child's become ours.
pub fn in_child() {
    if ALL.swap(STAY, Ordering::SeqCst) != STAY {
        signals::take_back();
    }
}
