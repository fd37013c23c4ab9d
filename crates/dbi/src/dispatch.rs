//! What happens between blocks: the next one is found or made, buffers are emptied, signals and
//! system calls are dealt with.

use core::sync::atomic::Ordering;

use super::codes::{CODES, Exit, Source};
use super::thread::{BUFFER_BYTES, NO_EXIT, Thread};
use super::x86_64::registers::{RAX, RCX, RSP};
use super::{detach, expand, filter, gate, maps, modules, process, signals, syscalls, watch};

/// The most bytes of code that a block is made of.
const LOOK: u64 = 1024;

/// A block was left by an exit.
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
    on(thread, target, exit)
}

/// Goes on at an address of the program, after signals that wait.
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

/// The code for an address, made if there is none yet.
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
                Some(head) => head,
                None => {
                    drop(codes);
                    return nowhere(thread, target);
                }
            }
        }
    };
    match exit {
        Some(exit) => codes.link(exit, head),
        // Those who come by a table find their registers spilled: they enter before the head.
        None => {
            drop(codes);
            thread.remember(target, head - super::x86_64::ENTRY);
        }
    }
    head
}

/// Translates; `None` if there is no code.
fn make(thread: &mut Thread, pc: u64) -> Option<u64> {
    let (allocator, results) = modules::allocator_at(pc);
    // From here on nobody can be let write to the page between the look at its rights and its
    // translation.
    let mut codes = CODES.lock();
    if let Some(head) = codes.find(pc) {
        return Some(head);
    }
    let (_, mut high, mut writable) = maps::code_around(pc)?;
    // A block may go on into the next mapping, which may be written even if this one is not.
    while high - pc < LOOK
        && let Some((_, further, too)) = maps::code_around(high)
    {
        high = further;
        writable |= too;
    }
    if writable {
        watch::watch(&mut codes, pc);
    }
    let length = (high - pc).min(LOOK) as usize;
    if codes.is_full() {
        drop(codes);
        thread.detached = true;
        return Some(detach::detach_thread(thread, pc));
    }
    // SAFETY: mapped and readable; if another thread unmaps it meanwhile, the program is wrong
    // anyway.
    let code = unsafe { core::slice::from_raw_parts(pc as *const u8, length) };
    Some(codes.add(&Source {
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

/// There is no code at the target: the program gets its signal, or what it meant.
fn nowhere(thread: &mut Thread, target: u64) -> u64 {
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
        && super::sys::peek(stack, &mut back)
    {
        let [a, b, c] = [7, 6, 2].map(|register: usize| thread.registers[register]);
        // SAFETY: the program's own call.
        let result = unsafe { super::sys::call(number, [a, b, c, 0, 0, 0]) };
        thread.registers[usize::from(RAX)] = result as u64;
        thread.registers[usize::from(RSP)] = stack + 8;
        let target = u64::from_le_bytes(back);
        return enter(thread, target, None);
    }
    expand::drain(thread);
    thread.target = target;
    signals::fault(thread, target);
    let target = thread.target;
    on(thread, target, None)
}

/// A system call of the program begins; 0 if it is done already.
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

/// A system call is done.
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

/// A signal came before a system call was made: it comes first, and the call again after it.
pub unsafe extern "C" fn call_interrupted(thread: &mut Thread) -> u64 {
    thread.registers[usize::from(RAX)] = thread.call_number;
    process::rest_if_over(thread);
    let target = thread.call_pc;
    if detach::is_detaching(thread) {
        return detach::with_all(thread, target);
    }
    expand::drain(thread);
    on(thread, target, None)
}

/// A fault has been found to be the program's; its registers are in place.
pub unsafe extern "C" fn deliver(thread: &mut Thread) -> u64 {
    let target = thread.target;
    on(thread, target, None)
}

/// A block ends with what cannot be translated.
pub unsafe extern "C" fn native(thread: &mut Thread) -> u64 {
    let exit = CODES.lock().exit(thread.exit);
    detach::detach_thread(thread, exit.target)
}
