//! The dispatcher: what runs between blocks of the code cache. It finds or translates the next
//! block and links the exit that led to it, empties the thread's buffer, delivers pending signals,
//! and handles system calls before and after the kernel.
//!
//! The functions with `extern "C"` are called by the assembly in `x86_64/asm.rs`, with the
//! program's registers saved in the thread's state. They return the address at which the thread
//! continues: in the cache, or, once the thread is detached, in the program.

use core::sync::atomic::Ordering;

use reuselens_guest::sys;

use super::codes::{CODES, Exit, Source};
use super::thread::{BUFFER_BYTES, NO_EXIT, Thread};
use super::x86_64::registers::{RAX, RCX, RSP};
use super::x86_64::translate::{is_cut, stack_movement};
use super::{
    detach, expand, filter, gate, maps, memory, modules, process, signals, syscalls, watch,
};

/// The most bytes of code that a block is made of.
const LOOK: u64 = 1024;

/// A block was left by an exit, or by an indirect branch whose target is not in the look-up table.
pub unsafe extern "C" fn dispatch(thread: &mut Thread) -> u64 {
    let mut exit = None;
    if thread.exit != NO_EXIT {
        let taken = CODES.lock().exit(thread.exit);
        thread.target = taken.target;
        exit = Some(taken);
    }
    if thread.cursor > thread.buffer + BUFFER_BYTES || thread.limit.load(Ordering::Relaxed) == 0 {
        process::rest_if_over(thread);
        if detach::is_detaching(thread) {
            let target = thread.target;
            return detach::with_all(thread, target);
        }
        expand::drain(thread);
        if gate::is_stopped() {
            let target = thread.target;
            return detach::detach_only_thread(thread, target, exit);
        }
    }
    let target = thread.target;
    let next = on(thread, target, exit);
    thread.branch = NO_EXIT;
    next
}

/// Continues at address `target` of the program, after delivering pending signals.
pub fn on(thread: &mut Thread, target: u64, exit: Option<Exit>) -> u64 {
    if thread.detached {
        return target;
    }
    if thread.pending.load(Ordering::Relaxed) == 0 {
        return enter(thread, target, exit);
    }
    thread.target = target;
    while thread.pending.load(Ordering::Relaxed) != 0 {
        signals::deliver(thread);
    }
    let target = thread.target;
    enter(thread, target, None)
}

/// The block for an address of the program, translated if necessary. Links `exit` to it; without
/// an exit, enters it into the look-up table of indirect branches.
pub fn enter(thread: &mut Thread, target: u64, exit: Option<Exit>) -> u64 {
    let mut codes = CODES.lock();
    let head = match codes.find(target) {
        Some(head) => head,
        None => {
            drop(codes);
            let made = make(thread, target);
            if thread.detached {
                return target;
            }
            codes = CODES.lock();
            match made {
                Ok(head) => head,
                Err(at) => {
                    drop(codes);
                    return nowhere(thread, target, at);
                }
            }
        }
    };
    match exit {
        Some(exit) => codes.link(exit, head),
        // Indirect branches arrive with two registers spilled: they enter before the head, where
        // code restores these.
        None => {
            drop(codes);
            thread.remember(target, head - super::x86_64::ENTRY);
        }
    }
    head
}

/// Translates the block at `pc`. If the instruction there cannot be fetched, returns the address of
/// the page that is the reason: `pc` itself, or the next page, into which the instruction reaches.
fn make(thread: &mut Thread, pc: u64) -> Result<u64, u64> {
    let (allocator, results) = modules::allocator_at(pc);
    // Locked from here on, so that no thread lets the page be written between the check of its
    // rights and the translation.
    let mut codes = CODES.lock();
    if let Some(head) = codes.find(pc) {
        return Ok(head);
    }
    let maps::CodeMapping {
        mut high,
        changes: mut writable,
        mut readable,
    } = maps::code_around(pc).ok_or(pc)?;
    // A block may go on into the next mapping, which may be written even if this one is not.
    while high - pc < LOOK
        && let Some(next) = maps::code_around(high)
    {
        high = next.high;
        writable |= next.changes;
        readable &= next.readable;
    }
    let watched = !writable || watch::watch(&mut codes, pc);
    let length = (high - pc).min(LOOK) as usize;
    if !watched || codes.is_full() || !memory::prepare() {
        drop(codes);
        thread.detached = true;
        return Ok(detach::detach_thread(thread, pc));
    }
    let mut copy = [0; LOOK as usize];
    let code = if readable {
        // SAFETY: mapped and readable; if another thread unmaps it meanwhile, the program is wrong
        // anyway.
        unsafe { core::slice::from_raw_parts(pc as *const u8, length) }
    } else {
        let read = maps::read_code(pc, &mut copy[..length]);
        if read == 0 {
            return Err(pc);
        }
        &copy[..read]
    };
    if is_cut(pc, code) {
        return Err(high);
    }
    Ok(codes.add(&Source {
        pc,
        code,
        allocator,
        results,
        function: modules::function_at(pc),
        lasting: !writable,
        begins: modules::begins_at,
        stores: modules::is_storing,
    }))
}

/// The instruction at the target cannot be fetched, because of what is at address `at`. If the
/// target is one of the three calls of the old vsyscall page, makes that call for the program; else
/// the program gets a fault.
fn nowhere(thread: &mut Thread, target: u64, at: u64) -> u64 {
    const VSYSCALL: u64 = 0xffff_ffff_ff60_0000;
    let call = match target {
        VSYSCALL => Some(96),                              // gettimeofday
        number if number == VSYSCALL + 0x400 => Some(201), // time
        number if number == VSYSCALL + 0x800 => Some(309), // getcpu
        _ => None,
    };
    let mut back = [0; 8];
    let stack = thread.registers[usize::from(RSP)];
    if let Some(number) = call
        && sys::peek(stack, &mut back)
    {
        let [a, b, c] = [7, 6, 2].map(|register: usize| thread.registers[register]);
        // SAFETY: the program's own call.
        let result = unsafe { sys::call(number, [a, b, c, 0, 0, 0]) };
        thread.registers[usize::from(RAX)] = result as u64;
        thread.registers[usize::from(RSP)] = stack + 8;
        let target = u64::from_le_bytes(back);
        return enter(thread, target, None);
    }
    expand::drain(thread);
    thread.target = target;
    if signals::fetch_fault(thread, at) && thread.branch != NO_EXIT {
        let branch = CODES.lock().exit(thread.branch).target;
        take_back(thread, branch);
    }
    let target = thread.target;
    on(thread, target, None)
}

/// The processor does not execute a branch to an address that is none (that is not canonical), but
/// faults at the branch: takes back what the branch at `pc` has done.
fn take_back(thread: &mut Thread, pc: u64) {
    let mut code = [0; 16];
    // What follows the branch may not be readable.
    let readable = (1..=16)
        .rev()
        .find(|bytes| sys::peek(pc, &mut code[..*bytes]));
    let moved = stack_movement(pc, &code[..readable.unwrap_or(0)]);
    let pointer = &mut thread.registers[usize::from(RSP)];
    *pointer = pointer.wrapping_add_signed(-moved);
    thread.target = pc;
}

/// The program is about to make a system call. Returns 0 if its result is known already and the
/// kernel is not to be called.
pub unsafe extern "C" fn before_call(thread: &mut Thread) -> u32 {
    thread.call_pc = thread.target;
    thread.call_number = thread.registers[usize::from(RAX)];
    thread.target = thread.call_pc + 2;
    thread.registers[usize::from(RCX)] = thread.target;
    thread.registers[11] = thread.flags;
    if filter::restricts(thread.call_number, syscalls::arguments(thread)) {
        detach::detach_all(thread);
        return 0;
    }
    u32::from(syscalls::before(thread))
}

/// A system call of the program has returned.
pub unsafe extern "C" fn after_call(thread: &mut Thread) -> u64 {
    const TRAP: u64 = 1 << 8;
    if thread.detached {
        return thread.target;
    }
    if detach::is_detaching(thread) {
        return detach::after_call(thread);
    }
    let called = thread.limit.load(Ordering::Relaxed) == 0;
    if called {
        process::rest_if_over(thread);
    }
    syscalls::after(thread);
    thread.returned = thread.flags & TRAP != 0;
    if called {
        expand::drain(thread);
    }
    let target = thread.target;
    on(thread, target, None)
}

/// A signal arrived before a system call was made: delivers it. The program makes the call after
/// that.
pub unsafe extern "C" fn call_interrupted(thread: &mut Thread) -> u64 {
    thread.registers[usize::from(RAX)] = thread.call_number;
    syscalls::interrupted(thread);
    process::rest_if_over(thread);
    let target = thread.call_pc;
    if detach::is_detaching(thread) {
        return detach::with_all(thread, target);
    }
    expand::drain(thread);
    on(thread, target, None)
}

/// A fault is the program's own; its registers are in the thread's state.
pub unsafe extern "C" fn deliver(thread: &mut Thread) -> u64 {
    let target = thread.target;
    on(thread, target, None)
}

/// A block ends with an instruction that cannot be translated.
pub unsafe extern "C" fn native(thread: &mut Thread) -> u64 {
    let exit = CODES.lock().exit(thread.exit);
    detach::detach_thread(thread, exit.target)
}
