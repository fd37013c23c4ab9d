//! Notes: code that the LLVM pass has seen writes straight into its thread's block, and comes here
//! only when there is no room for its next note.
//!
//! The code has no test for whether anybody listens: a note that is not recorded goes aside, into
//! the thread's own state. As long as nobody listens at all, that is a page of the thread, and its
//! end is the end of a block, so that a program that runs alone comes here once a page.

use core::arch::global_asm;

use reuselens_wire::{BLOCK_BYTES, NOTE_BYTES_MOST, Slot};

use crate::segment;
use crate::thread::{make_room, room};
use crate::tls::{State, Tls, tls};
use crate::{process, sys};

/// Where a note goes, and the slot whose cursor is then moved on.
#[repr(C)]
struct Place {
    note: u64,
    slot: *const Slot,
}

// Called with the convention "preserve most": of the general registers only the results and r11 may
// change, so that the code around the call, which hardly ever runs, keeps its values where they
// are.
global_asm!(
    ".globl __reuselens_room",
    ".type __reuselens_room,@function",
    "__reuselens_room:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "push rcx",
    "push rsi",
    "push rdi",
    "push r8",
    "push r9",
    "push r10",
    "and rsp, -16",
    "call {find}",
    "lea rsp, [rbp - 48]",
    "pop r10",
    "pop r9",
    "pop r8",
    "pop rdi",
    "pop rsi",
    "pop rcx",
    "pop rbp",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    find = sym find,
);

/// A place for a note of `bytes` bytes.
unsafe extern "C" fn find(bytes: u64) -> Place {
    let t = tls();
    // SAFETY: this thread's own state.
    unsafe {
        if (*t).busy == 0 {
            // Once more after a new block was taken, for a handler may have run in between.
            for _ in 0..2 {
                let slot = (*t).slot;
                if room(&*slot) >= bytes as usize {
                    let note = (*slot).cursor.load(core::sync::atomic::Ordering::Relaxed);
                    return Place { note, slot };
                }
                if !make_room(t) && !rest(t) {
                    break;
                }
            }
        }
        let aside = &raw mut (*t).aside;
        Place {
            note: (&raw mut (*aside).note) as u64,
            slot: aside.cast(),
        }
    }
}

/// Nobody listens: gives the thread its page, from the start. False if somebody does, or there is
/// no memory.
///
/// # Safety
/// `t` must be the calling thread's state, and it must not be busy.
pub unsafe fn rest(t: *mut Tls) -> bool {
    // SAFETY: this thread's own state; the page is its own and lasts until its end.
    unsafe {
        if !segment::is_absent() || !process::is_ready() || (*t).state == State::Ended {
            return false;
        }
        if (*t).aside.page == 0 {
            (*t).aside.page = new_page();
            (*t).busy += 1;
            process::watch_thread_end(t);
            (*t).busy -= 1;
        }
        let page = (*t).aside.page as *mut Slot;
        if page.is_null() {
            return false;
        }
        // The page begins with a slot, of which only the cursor is used.
        (*page).cursor.store(
            page as u64 + size_of::<Slot>() as u64,
            core::sync::atomic::Ordering::Relaxed,
        );
        (*t).slot = page;
    }
    true
}

const PAGE_BYTES: usize = 4096;
const _: () = assert!(size_of::<Slot>() + NOTE_BYTES_MOST <= PAGE_BYTES);

/// The last page in front of an address at which a block could end; 0 if there is no memory, or
/// none may be asked for.
fn new_page() -> u64 {
    if sys::is_quiet() {
        return 0;
    }
    const READ_WRITE: i32 = 3;
    const PRIVATE_ANONYMOUS: i32 = 0x22;
    let bytes = BLOCK_BYTES + PAGE_BYTES;
    // SAFETY: fresh address space; what is not used of it is given back.
    unsafe {
        let start = sys::mmap(0, bytes, READ_WRITE, PRIVATE_ANONYMOUS, -1, 0);
        if start < 0 {
            return 0;
        }
        let start = start as usize;
        let end = (start + PAGE_BYTES).next_multiple_of(BLOCK_BYTES);
        let page = end - PAGE_BYTES;
        if page > start {
            sys::munmap(start, page - start);
        }
        if start + bytes > end {
            sys::munmap(end, start + bytes - end);
        }
        page as u64
    }
}

/// The thread ends: its page goes.
///
/// # Safety
/// `t` must be the calling thread's state.
pub unsafe fn end(t: *mut Tls) {
    // SAFETY: by the caller; what is written from here on goes aside.
    unsafe {
        let page = (*t).aside.page;
        if page != 0 {
            (*t).slot = &crate::tls::DUMMY;
            (*t).aside.page = 0;
            if !sys::is_quiet() {
                sys::munmap(page as usize, PAGE_BYTES);
            }
        }
    }
}
