//! Room for block records: code compiled with the LLVM pass writes its block records straight into
//! its thread's block, and calls `__reuselens_room` here only when there is no room for the next
//! one.
//!
//! The code does not test whether the thread records. A block record that is not recorded is
//! written into a discard area in the thread's state, and overwritten by the next one. If the
//! program is not measured at all, each thread gets a page for that whose end looks like the end of
//! a block, so that the code calls this function once a page.

use core::arch::global_asm;

use reuselens_guest::sys;
use reuselens_wire::{BLOCK_BYTES, BLOCK_RECORD_BYTES_MOST, Slot};

use crate::process;
use crate::quiet;
use crate::segment;
use crate::thread::{make_room, room};
use crate::tls::{ThreadState, Tls, tls};

/// Where a block record goes, and the slot whose cursor the code then advances.
#[repr(C)]
struct RecordPlace {
    at: u64,
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

/// Finds a place for a block record of `bytes` bytes.
unsafe extern "C" fn find(bytes: u64) -> RecordPlace {
    let t = tls();
    // SAFETY: this thread's own state.
    unsafe {
        if (*t).busy == 0 {
            // Checked again after a new block was taken, for a signal handler may have run in
            // between.
            for _ in 0..2 {
                let slot = (*t).slot;
                if room(&*slot) >= bytes as usize {
                    let at = (*slot).cursor.load(core::sync::atomic::Ordering::Relaxed);
                    return RecordPlace { at, slot };
                }
                if !make_room(t) && !use_own_page(t) {
                    break;
                }
            }
        }
        let discard = &raw mut (*t).discard;
        RecordPlace {
            at: (&raw mut (*discard).record) as u64,
            slot: discard.cast(),
        }
    }
}

/// If the program is not measured, makes the thread write into its page, from the start. False if
/// the program is measured, or there is no memory.
///
/// # Safety
/// `t` must be the calling thread's state, and it must not be busy.
pub unsafe fn use_own_page(t: *mut Tls) -> bool {
    // SAFETY: this thread's own state; the page is its own, and is freed when the thread ends.
    unsafe {
        if !segment::is_absent() || !process::is_ready() || (*t).state == ThreadState::Ended {
            return false;
        }
        if (*t).discard.page == 0 {
            (*t).discard.page = new_page();
            (*t).busy += 1;
            process::watch_thread_end(t);
            (*t).busy -= 1;
        }
        let page = (*t).discard.page as *mut Slot;
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
const _: () = assert!(size_of::<Slot>() + BLOCK_RECORD_BYTES_MOST <= PAGE_BYTES);

/// Maps a page that ends at a multiple of the size of a block. 0 if there is no memory, or system
/// calls may not be made.
fn new_page() -> u64 {
    if quiet::is_quiet() {
        return 0;
    }
    let bytes = BLOCK_BYTES + PAGE_BYTES;
    // SAFETY: fresh address space; the rest of it is unmapped again.
    unsafe {
        let Ok(start) = sys::map(0, bytes, sys::PROT_READ_WRITE, 0) else {
            return 0;
        };
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

/// The thread ends: frees its page.
///
/// # Safety
/// `t` must be the calling thread's state.
pub unsafe fn free_page(t: *mut Tls) {
    // SAFETY: by the caller; later block records go to the discard area.
    unsafe {
        let page = (*t).discard.page;
        if page != 0 {
            (*t).slot = &crate::tls::DUMMY;
            (*t).discard.page = 0;
            if !quiet::is_quiet() {
                sys::munmap(page as usize, PAGE_BYTES);
            }
        }
    }
}
