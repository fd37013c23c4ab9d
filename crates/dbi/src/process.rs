//! Threads and processes of the program: how they begin and end. This has the rewriter's side of
//! `clone`, `fork`, `vfork` and `exit`, announces processes and threads to the analysing side, and
//! keeps the list of all threads' states ([`THREADS`]).
//!
//! How the buffers are emptied at the end of a process is in `final_drain`.

mod final_drain;

use alloc::vec::Vec;
use core::arch::asm;
use core::sync::atomic::{AtomicU32, Ordering};

use reuselens_guest::sys;
use reuselens_guest::thread_name::ThreadName;
use reuselens_wire::{Record, WireKind};

use super::channel::Channel;
use super::lock::Lock;
use super::segment;
use super::thread::Thread;
use super::x86_64::asm::thread_address;
use super::x86_64::registers::{RAX, RDI, RDX, RSI, RSP};
use super::{codes, detach, dispatch, expand, gate, maps, modules, signals, space, watch};
pub use final_drain::{
    EMPTY, GONE, empty_others, ends, final_drain, is_in_call, rest_if_over, wait_for_others,
};

const CLONE_VM: u64 = 0x100;
const CLONE_VFORK: u64 = 0x4000;
const CLONE_THREAD: u64 = 0x10000;
const CLONE_SETTLS: u64 = 0x80000;

/// 1 + the number of this process; 0 if there is no segment.
static NUMBER: AtomicU32 = AtomicU32::new(0);
/// The id of the process whose memory this is. A child of `vfork`, which shares it, has another.
static OWNER: AtomicU32 = AtomicU32::new(0);
/// Addresses of the states of all threads that have not ended.
static THREADS: Lock<Vec<u64>> = Lock::new(Vec::new());
/// Threads that have ended: id, and address of the state, which is freed once the kernel has no
/// such thread any more.
static ENDED: Lock<Vec<(u32, u64)>> = Lock::new(Vec::new());

/// The process and its first thread begin. `parent` is 1 + the number of the process that this one
/// was forked from, or 0.
pub fn begin(thread: &mut Thread, parent: u64) {
    let number = segment::get().map(|segment| {
        let next = &segment.header().next_process;
        next.fetch_add(1, Ordering::Relaxed)
    });
    if number == Some(0) && space::is_limited() {
        space::report_shortage();
    }
    NUMBER.store(number.map_or(0, |number| number + 1), Ordering::Relaxed);
    OWNER.store(sys::pid(), Ordering::Relaxed);
    open_channel(thread);
    let mut path = [0_u8; 4096];
    let length = sys::executable(&mut path);
    // By this the analysing side knows that the process is rewritten; see `WireKind::Process`.
    const REWRITTEN: u64 = 2;
    let operands = [parent, REWRITTEN, length as u64];
    let event = Record::new(WireKind::Process, 0, 0, u64::from(sys::pid()));
    thread.channel.announce(event, &operands, &path[..length]);
}

/// Gives a thread its channel and adds it to the list. Returns the bounds of its stack.
fn open_channel(thread: &mut Thread) -> (u64, u64) {
    thread.tid = sys::tid();
    let bounds = stack_bounds(thread);
    let number = NUMBER.load(Ordering::Relaxed);
    thread.channel = match number.checked_sub(1) {
        Some(number) => Channel::claim(number, bounds.1),
        None => Channel::default(),
    };
    gate::begin(thread);
    let mut threads = THREADS.lock();
    if !threads.contains(&thread.own) {
        threads.push(thread.own);
    }
    bounds
}

/// Announces a thread, after its process and modules, and publishes that at once.
pub fn announce_thread(thread: &mut Thread) {
    let (low, high) = stack_bounds(thread);
    let event = Record::new(WireKind::Thread, 0, 0, u64::from(thread.tid));
    let name = ThreadName::of(thread.tid).unwrap_or_default();
    let operands = [low, high, name.text().len() as u64];
    thread.channel.announce(event, &operands, name.text());
    thread.channel.publish(true);
}

/// Announces the name that a thread has now.
pub fn announce_name(thread: &mut Thread) {
    let Some(name) = ThreadName::of(thread.tid) else {
        return; // The name announced before stays.
    };
    let event = Record::new(WireKind::ThreadName, 0, 0, 0);
    let operands = [name.text().len() as u64];
    thread.channel.announce(event, &operands, name.text());
}

/// Lowest address of a thread's stack and the first above it.
fn stack_bounds(thread: &Thread) -> (u64, u64) {
    let pointer = thread.registers[usize::from(RSP)];
    let Some(mapping) = maps::around(pointer) else {
        return (0, 0);
    };
    if mapping.path == b"[stack]" {
        return (
            mapping.high.saturating_sub(sys::stack_limit()),
            mapping.high,
        );
    }
    (mapping.low, mapping.high)
}

/// `fork`, `vfork`, `clone` and `clone3` of the program. Returns the call's result.
pub fn clone(thread: &mut Thread) -> i64 {
    let arguments = [RDI, RSI, RDX, 10, 8].map(|register| thread.registers[usize::from(register)]);
    let mut new = New {
        flags: match thread.call_number {
            sys::FORK => 17,
            sys::VFORK => CLONE_VM | CLONE_VFORK | 17,
            _ => arguments[0],
        },
        stack: arguments[1],
        rest: [arguments[2], arguments[3], arguments[4]],
        tls: arguments[4],
        form: None,
    };
    match thread.call_number {
        sys::FORK | sys::VFORK => (new.stack, new.rest) = (0, [0; 3]),
        sys::CLONE3 => {
            let mut form = [0_u64; 11];
            let bytes = (arguments[1].min(88)) as usize;
            // SAFETY: numbers seen as bytes.
            let view = unsafe { core::slice::from_raw_parts_mut(form.as_mut_ptr().cast(), bytes) };
            if bytes < 64 || !sys::peek(arguments[0], view) {
                return sys::EINVAL;
            }
            new.flags = form[0];
            new.stack = if form[5] == 0 { 0 } else { form[5] + form[6] };
            new.tls = form[7];
            new.form = Some((form, bytes as u64));
        }
        _ => {}
    }
    expand::drain(thread);
    thread.channel.publish(true);
    if new.flags & CLONE_VM == 0 {
        fork(thread, &new)
    } else {
        if new.flags & CLONE_THREAD != 0 {
            codes::CODES.lock().become_threaded();
        }
        start_thread(thread, &mut new)
    }
}

/// What a clone asks for.
struct New {
    flags: u64,
    /// Top of the stack, or 0 for the same.
    stack: u64,
    /// The arguments of `clone` after the stack.
    rest: [u64; 3],
    tls: u64,
    /// The form of `clone3` and its bytes.
    form: Option<([u64; 11], u64)>,
}

/// A process of its own, in a copy of the memory.
fn fork(thread: &mut Thread, new: &New) -> i64 {
    // A signal that arrived now would be copied into the child, which was not sent it.
    signals::set_mask(!0);
    let held = thread.signals.held();
    // Nobody else may hold a lock: their threads are not in the child.
    let result = {
        let _held = (
            codes::CODES.lock(),
            watch::hold(),
            maps::hold(),
            modules::hold(),
            signals::hold(),
        );
        let threads = THREADS.lock();
        let ended = ENDED.lock();
        let _memory = super::memory::hold();
        // SAFETY: the child goes on here, on its copy of this stack.
        let result = unsafe {
            match &new.form {
                Some((form, bytes)) => {
                    let mut form = *form;
                    (form[5], form[6]) = (0, 0);
                    sys::call(sys::CLONE3, [form.as_ptr() as u64, *bytes, 0, 0, 0, 0])
                }
                None => {
                    let [ptid, ctid, tls] = new.rest;
                    sys::call(sys::CLONE, [new.flags, 0, ptid, ctid, tls, 0])
                }
            }
        };
        drop((threads, ended));
        result
    };
    if result == 0 {
        if new.flags & CLONE_SETTLS != 0 {
            thread.fs_base = new.tls;
        }
        if new.stack != 0 {
            thread.registers[usize::from(RSP)] = new.stack;
        }
        signals::in_child(thread, held);
        in_child(thread);
    }
    signals::unblock(thread);
    result
}

/// The child is a new process with one thread: announces it. What the parent's threads were about
/// to do together (end the process, leave the cache) is not the child's.
fn in_child(thread: &mut Thread) {
    let parent = NUMBER.load(Ordering::Relaxed);
    THREADS.lock().clear();
    ENDED.lock().clear();
    // The child of a `vfork` that forks has a child with memory of its own.
    thread.borrowed = false;
    final_drain::in_child(thread);
    detach::in_child();
    thread.channel.forget();
    gate::fork(thread);
    begin(thread, u64::from(parent));
    modules::announce_all(&mut thread.channel);
    announce_thread(thread);
}

/// A thread, or the child of a `vfork`, in the same memory.
fn start_thread(thread: &mut Thread, new: &mut New) -> i64 {
    free_ended_threads();
    let Some(child) = Thread::create() else {
        return sys::ENOMEM;
    };
    child.registers = thread.registers;
    child.registers[usize::from(RAX)] = 0;
    if new.stack != 0 {
        child.registers[usize::from(RSP)] = new.stack;
    }
    child.flags = thread.flags;
    child.vectors = thread.vectors;
    child.target = thread.target;
    child.fs_base = if new.flags & CLONE_SETTLS != 0 {
        new.tls
    } else {
        thread.fs_base
    };
    child.signals.mask = thread.signals.mask;
    child.signals.trap = thread.signals.trap;
    child.signals.stack = if new.flags & CLONE_VFORK != 0 {
        thread.signals.stack
    } else {
        signals::AlternateStack::DISABLED
    };
    child.borrowed = new.flags & CLONE_THREAD == 0;
    let own = child.own;
    // In the list before it runs: a thread that detaches all threads must wait for it.
    THREADS.lock().push(own);
    // The child's own stack, with its state's address on top.
    let stack = child.stack - 64;
    // SAFETY: the top of a stack that nobody uses yet.
    unsafe { *(stack as *mut u64) = own };
    signals::set_mask(!0);
    let result = spawn(new, stack);
    signals::unblock(thread);
    let is_vfork = new.flags & CLONE_VFORK != 0;
    if result < 0 || is_vfork {
        // The child of a vfork is gone from this memory once we go on.
        THREADS.lock().retain(|known| *known != own);
        ENDED.lock().push((result.max(0) as u32, own));
        free_ended_threads();
    }
    if result == 0 { sys::ENOMEM } else { result }
}

/// Makes the call. Returns its result in the parent; the child starts at `rl_thread`.
fn spawn(new: &mut New, stack: u64) -> i64 {
    let result: i64;
    let begin = thread_address();
    let [ptid, ctid, tls] = new.rest;
    let (number, one, two) = match &mut new.form {
        Some((form, bytes)) => {
            // The kernel adds the two up.
            (form[5], form[6]) = (stack - 4096, 4096);
            (sys::CLONE3, form.as_ptr() as u64, *bytes)
        }
        None => (sys::CLONE, new.flags, stack),
    };
    // SAFETY: the child begins on its own stack, with nothing of this one.
    unsafe {
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "jmp {begin}",
            "2:",
            begin = in(reg) begin,
            inlateout("rax") number => result,
            in("rdi") one, in("rsi") two, in("rdx") ptid, in("r10") ctid, in("r8") tls,
            out("rcx") _, out("r11") _,
        );
    }
    result
}

/// A new thread begins. Returns the address at which it continues.
pub unsafe extern "C" fn thread_begins(thread: &mut Thread) -> u64 {
    signals::thread_begin(thread);
    open_channel(thread);
    announce_thread(thread);
    signals::unblock(thread);
    let target = thread.target;
    if detach::is_detaching(thread) {
        return detach::with_all(thread, target);
    }
    dispatch::on(thread, target, None)
}

/// Frees the states of threads that the kernel has ended.
fn free_ended_threads() {
    let _threads = THREADS.lock();
    if !final_drain::may_free() {
        return;
    }
    let mut ended = ENDED.lock();
    let pid = u64::from(sys::pid());
    ended.retain(|(tid, own)| {
        // SAFETY: signal 0 only asks.
        let there = unsafe { sys::call(sys::TGKILL, [pid, u64::from(*tid), 0, 0, 0, 0]) } == 0;
        if !there {
            // SAFETY: its thread is gone.
            unsafe { Thread::destroy(*own) };
        }
        there
    });
}

/// `exit` of the program: a thread ends, and with the last one the process.
pub fn thread_ends(thread: &mut Thread) -> i64 {
    expand::drain(thread);
    let own = thread.own;
    // No thread has to wait for it any more.
    thread.drain_state.store(GONE, Ordering::SeqCst);
    THREADS.lock().retain(|known| *known != own);
    announce_name(thread);
    thread.channel.end();
    signals::set_mask(!0);
    if !thread.borrowed {
        ENDED.lock().push((thread.tid, own));
    }
    // SAFETY: ends this thread.
    unsafe {
        sys::call(
            sys::EXIT,
            [thread.registers[usize::from(RDI)], 0, 0, 0, 0, 0],
        )
    }
}

/// A signal ends the process.
pub fn die_of(thread: &mut Thread, signal: u32) -> ! {
    ends(thread);
    end_by(signal)
}

/// Ends the process by a signal, without taking a lock.
pub fn end_by(signal: u32) -> ! {
    let default = signals::Action::default();
    let a = [u64::from(signal), &raw const default as u64, 0, 8, 0, 0];
    let (pid, tid) = (u64::from(sys::pid()), u64::from(sys::tid()));
    let none = 0_u64;
    // SAFETY: the default action ends the process; nothing after it runs.
    unsafe {
        sys::call(sys::RT_SIGACTION, a);
        sys::call(sys::TGKILL, [pid, tid, u64::from(signal), 0, 0, 0]);
        sys::call(sys::RT_SIGPROCMASK, [2, &raw const none as u64, 0, 8, 0, 0]);
    }
    sys::die(128 + u64::from(signal))
}

/// The calling thread waits for a lock. Ends the process if it is the child of a `vfork` whose
/// parent was killed: the lock may be a dead thread's, and what it guards half changed.
pub fn end_if_abandoned() {
    let owner = OWNER.load(Ordering::Relaxed);
    if owner != 0 && owner != sys::pid() && !sys::process_exists(owner) {
        end_by(9);
    }
}

/// Whether the process has no other thread.
pub fn is_alone() -> bool {
    THREADS.lock().len() == 1
}
