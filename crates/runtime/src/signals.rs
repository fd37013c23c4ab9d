//! Records what a program's signal handlers do. A handler can interrupt a hook between its load and
//! its store of the cursor, so a thread's handlers write through a second slot. `sigaction` and
//! `signal` are replaced: they install our handler ([`handle`]), which switches slots around a call
//! of the program's.
//!
//! A handler that is left by `siglongjmp` leaves its thread on the second slot until the next
//! signal, which knows by its stack pointer that the handler is gone (unless one of them runs on a
//! stack of its own). Handlers that interrupt handlers, or the start of a thread's recording, are
//! not recorded; their events count as lost.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use reuselens_wire::Slot;

use crate::publish::open_slot;
use crate::segment;
use crate::thread::quietly;
use crate::tls::{DUMMY, ThreadState, tls};
use crate::{process, stage, thread};

const SIGNALS: usize = 65;
const SA_SIGINFO: c_int = 4;
const SA_RESTART: c_int = 0x1000_0000;
const SIG_IGN: usize = 1;
const SIG_ERR: usize = usize::MAX;

/// The program's handlers; 0 and 1 are the default action and ignoring.
static HANDLERS: [AtomicUsize; SIGNALS] = [const { AtomicUsize::new(0) }; SIGNALS];

/// glibc's `struct sigaction`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Action {
    handler: usize,
    mask: [u64; 16],
    flags: c_int,
    restorer: usize,
}

unsafe extern "C" {
    fn __sigaction(signal: c_int, new: *const Action, old: *mut Action) -> c_int;
}

unsafe extern "C" fn handle(signal: c_int, info: *mut c_void, context: *mut c_void) {
    let here = 0_u8;
    let pointer = &raw const here as u64;
    let t = tls();
    // SAFETY: this thread's own state, put back before the interrupted code goes on.
    unsafe {
        if (*t).signal_depth > 0 && pointer >= (*t).signal_pointer {
            // The handler that we seem to be in was left by a jump.
            (*t).signal_depth = 0;
            (*t).slot = thread::current_slot(t);
        }
        let saved = ((*t).slot, (*t).busy, (*t).signal_pointer);
        let forks = process::forks();
        (*t).slot = slot_for_handler();
        // While a thread's recording begins, or in a nested handler, the hooks stay silent.
        (*t).busy = u64::from(core::ptr::eq((*t).slot, &DUMMY));
        (*t).signal_pointer = pointer;
        (*t).signal_depth += 1;
        let handler = HANDLERS[signal as usize % SIGNALS].load(Ordering::Relaxed);
        if handler > SIG_IGN {
            let handler: unsafe extern "C" fn(c_int, *mut c_void, *mut c_void) =
                core::mem::transmute(handler);
            handler(signal, info, context);
        }
        if process::forks() != forks {
            // A child that was forked in the handler: the slots are its parent's.
            return;
        }
        (*t).signal_depth -= 1;
        ((*t).slot, (*t).busy, (*t).signal_pointer) = saved;
    }
}

/// The slot for the handler that begins now; the dummy if there is none.
unsafe fn slot_for_handler() -> *const Slot {
    let t = tls();
    // SAFETY: this thread's own state.
    unsafe {
        if (*t).signal_depth > 0 || (*t).state != ThreadState::Live {
            thread::count_lost();
            return &DUMMY;
        }
        if stage::is_staged(t) {
            // A handler may interrupt the sorting, so what it does cannot be sorted.
            if !(*t).stage.is_null() && (*(*t).stage).gate.was_recorded() {
                thread::count_lost();
            }
            return &DUMMY;
        }
        if (*t).signal_slot.is_null()
            && let Some((slot, index)) = signal_slot(&*(*t).slot)
        {
            (*t).signal_slot = slot;
            (*t).signal_slot_index = index;
        }
        if (*t).signal_slot.is_null() {
            &DUMMY
        } else {
            (*t).signal_slot
        }
    }
}

/// A second slot for this thread, for its signal handlers: same thread number, own block.
fn signal_slot(of: &Slot) -> Option<(&'static Slot, u64)> {
    let segment = segment::get()?;
    let index = segment.claim_slot()?;
    let slot = segment.slot(index);
    open_slot(segment, slot, &of.owner()).then_some((slot, index as u64))
}

/// `sigaction(2)`, with our handler in front of the program's.
///
/// # Safety
/// As `sigaction(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn sigaction(signal: c_int, new: *const Action, old: *mut Action) -> c_int {
    let known = usize::try_from(signal).is_ok_and(|number| (1..SIGNALS).contains(&number));
    if !known || !process::is_ready() {
        // SAFETY: passed on.
        return unsafe { __sigaction(signal, new, old) };
    }
    // SAFETY: the program's pointers, passed on.
    quietly(|| unsafe { replace(signal, new, old) })
}

/// Puts our handler in front of the program's. Not inlined, so that none of it moves out of
/// `quietly`.
#[inline(never)]
unsafe fn replace(signal: c_int, new: *const Action, old: *mut Action) -> c_int {
    let saved = &HANDLERS[signal as usize];
    let before = saved.load(Ordering::Relaxed);
    // SAFETY: the program's pointers, used as `sigaction` uses them.
    unsafe {
        let mut ours = if new.is_null() { None } else { Some(*new) };
        if let Some(action) = &mut ours
            && action.handler > SIG_IGN
        {
            saved.store(action.handler, Ordering::Relaxed);
            action.handler = handle as *const () as usize;
            action.flags |= SA_SIGINFO;
        }
        let mut previous = core::mem::zeroed::<Action>();
        let pointer = ours.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
        let result = __sigaction(signal, pointer, &raw mut previous);
        if result != 0 {
            saved.store(before, Ordering::Relaxed);
        } else if !old.is_null() {
            if previous.handler == handle as *const () as usize {
                previous.handler = before;
            }
            *old = previous;
        }
        result
    }
}

/// `signal` as System V has it: once, and not blocking itself.
///
/// # Safety
/// As `signal(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __sysv_signal(number: c_int, handler: usize) -> usize {
    const ONCE_UNBLOCKED: c_int = 0x8000_0000_u32 as c_int | 0x4000_0000;
    // SAFETY: the handler is the program's own.
    quietly(|| unsafe { install(number, handler, ONCE_UNBLOCKED) })
}

/// `signal(2)` as BSD and glibc have it: handlers stay and calls are restarted.
///
/// # Safety
/// As `signal(2)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn signal(number: c_int, handler: usize) -> usize {
    // SAFETY: the handler is the program's own.
    quietly(|| unsafe { install(number, handler, SA_RESTART) })
}

#[inline(never)]
unsafe fn install(number: c_int, handler: usize, flags: c_int) -> usize {
    // SAFETY: both structures are ours; the handler is the program's own.
    unsafe {
        let mut action = core::mem::zeroed::<Action>();
        action.handler = handler;
        action.flags = flags;
        let mut old = core::mem::zeroed::<Action>();
        if sigaction(number, &raw const action, &raw mut old) == 0 {
            old.handler
        } else {
            SIG_ERR
        }
    }
}
