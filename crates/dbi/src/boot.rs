//! [`start`]: the first code of the image that runs in a program. The crate `capture` has put the
//! image into the program, which has not executed an instruction yet. `start` sets up the memory,
//! the segment, the code cache and the first thread's state, and returns where in the cache the
//! program begins.

use reuselens_guest::sys;
use reuselens_wire::{Bootstrap, IMAGE};

use super::thread::{NO_EXIT, Thread};
use super::x86_64::registers as r;
use super::{codes, dispatch, memory, modules, process, segment, signals, space};

const SET_GS: u64 = 0x1001;

/// Takes the program over. Returns the address in the cache at which it starts.
///
/// # Safety
/// `bootstrap` must be what the analysing side wrote, and nothing of the program may have run.
pub unsafe extern "C" fn start(bootstrap: *const Bootstrap) -> u64 {
    // SAFETY: by the caller.
    let bootstrap = unsafe { &*bootstrap };
    memory::begin(bootstrap.reserved_end);
    space::begin(bootstrap.reserved_end - IMAGE, bootstrap.limits);
    segment::open(&bootstrap.segment);
    if !codes::begin() {
        memory::exhausted();
    }
    let Some(thread) = Thread::create() else {
        memory::exhausted();
    };
    // SAFETY: nothing uses gs yet.
    unsafe { sys::call(sys::ARCH_PRCTL, [SET_GS, thread.own, 0, 0, 0, 0]) };
    registers(thread, bootstrap);
    process::begin(thread, 0);
    modules::look(&mut thread.channel);
    process::announce_thread(thread);
    signals::begin(thread);
    thread.exit = NO_EXIT;
    let target = thread.target;
    dispatch::enter(thread, target, None)
}

fn registers(thread: &mut Thread, bootstrap: &Bootstrap) {
    let from = &bootstrap.registers;
    let pairs = [
        (r::RAX, from.rax),
        (r::RCX, from.rcx),
        (r::RDX, from.rdx),
        (r::RBX, from.rbx),
        (r::RSP, from.rsp),
        (r::RBP, from.rbp),
        (r::RSI, from.rsi),
        (r::RDI, from.rdi),
        (8, from.r8),
        (9, from.r9),
        (10, from.r10),
        (11, from.r11),
        (12, from.r12),
        (13, from.r13),
        (14, from.r14),
        (15, from.r15),
    ];
    for (number, value) in pairs {
        thread.registers[usize::from(number)] = value;
    }
    thread.flags = from.eflags;
    thread.fs_base = from.fs_base;
    thread.target = from.rip;
}
