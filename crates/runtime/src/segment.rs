//! The shared segment in this process: [`get`] maps it at the first call, if the environment names
//! one and the process may be recorded. The segment is never unmapped, so references into it stay
//! valid, but after [`abandon`] nothing is recorded into it.

use core::ffi::{CStr, c_char};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use reuselens_guest::sys::{self, File};
use reuselens_wire::{
    BLOCK_BYTES, HEADER_BYTES, Header, MAGIC, MappedSegment, SEGMENT_BYTES, VERSION,
};

use crate::quiet;

static BASE: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());
/// 0 = not tried, 1 = being tried, 2 = mapped, 3 = none or abandoned: record nothing.
static STATE: AtomicU32 = AtomicU32::new(0);
const TRYING: u32 = 1;
const MAPPED: u32 = 2;
const NONE: u32 = 3;

unsafe extern "C" {
    static environ: *const *const c_char;
}

/// The segment of this process, mapped at the first call; `None` if the process is not recorded, or
/// not any more.
pub fn get() -> Option<MappedSegment> {
    loop {
        match STATE.load(Ordering::Acquire) {
            MAPPED => return mapped(),
            NONE => return None,
            TRYING => quiet::yield_now(),
            _ => try_map(),
        }
    }
}

/// Whether it is known that the process is not recorded (any more); one load.
#[inline]
pub fn is_absent() -> bool {
    STATE.load(Ordering::Relaxed) == NONE
}

/// Whether the segment is mapped and recording was not given up.
pub fn is_mapped() -> bool {
    STATE.load(Ordering::Relaxed) == MAPPED
}

/// The segment if it is mapped and recording was not given up; two loads.
#[inline]
pub fn mapped() -> Option<MappedSegment> {
    if STATE.load(Ordering::Acquire) != MAPPED {
        return None;
    }
    let base = NonNull::new(BASE.load(Ordering::Relaxed))?;
    // SAFETY: `map` has mapped a segment there, for as long as the process lives.
    Some(unsafe { MappedSegment::new(base) })
}

/// Records nothing from now on: the analysing side is gone.
pub fn abandon() {
    STATE.store(NONE, Ordering::Release);
}

fn try_map() {
    // SAFETY: libc's `environ`; null until libc is set up, then a null-terminated list.
    let list = unsafe { environ };
    if list.is_null()
        || STATE
            .compare_exchange(0, TRYING, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
    {
        if list.is_null() {
            STATE.store(0, Ordering::Relaxed);
        }
        return;
    }
    let path = find_path(list).filter(|_| !is_secure() && !is_rewritten());
    let base = path.map_or(core::ptr::null_mut(), map);
    BASE.store(base, Ordering::Relaxed);
    STATE.store(
        if base.is_null() { NONE } else { MAPPED },
        Ordering::Release,
    );
}

/// Whether this program has more rights than the user who started it: setuid, setgid, or
/// capabilities of its file. Then the environment must not be trusted. A process that can write to
/// the segment that is named there controls to which addresses this program writes.
fn is_secure() -> bool {
    const AT_SECURE: u64 = 23;
    unsafe extern "C" {
        fn getauxval(kind: u64) -> u64;
    }
    // SAFETY: libc's function; it reads what the kernel has given to the process.
    unsafe { getauxval(AT_SECURE) != 0 }
}

/// Whether this program is rewritten while it runs: then the rewriter records its accesses.
fn is_rewritten() -> bool {
    let answer: u64;
    // SAFETY: an instruction without effect; the rewriter adds one that sets rax.
    unsafe {
        core::arch::asm!(
            "xor eax, eax",
            ".byte 0x0f, 0x1f, 0x80",
            ".long {ask}",
            ask = const reuselens_wire::MARK_ASK,
            out("rax") answer,
            options(nomem, nostack)
        );
    }
    answer != 0
}

/// Whether libc has set up the environment, without which nothing can be decided.
pub fn environment_is_ready() -> bool {
    // SAFETY: as in `try_map`.
    unsafe { !environ.is_null() }
}

fn find_path<'a>(mut list: *const *const c_char) -> Option<&'a CStr> {
    let name = reuselens_wire::ENVIRONMENT.as_bytes();
    loop {
        // SAFETY: walks the null-terminated list of zero-terminated strings.
        let entry = unsafe { *list };
        if entry.is_null() {
            return None;
        }
        // SAFETY: as above.
        let text = unsafe { CStr::from_ptr(entry) }.to_bytes();
        if text.len() > name.len() && text.starts_with(name) && text[name.len()] == b'=' {
            // SAFETY: within the string.
            return Some(unsafe { CStr::from_ptr(entry.add(name.len() + 1)) });
        }
        // SAFETY: not yet at the end of the list.
        list = unsafe { list.add(1) };
    }
}

/// Maps the file so that blocks are aligned to their size; null if it is not a segment of ours.
fn map(path: &CStr) -> *mut u8 {
    let Some(file) = File::open(path, sys::O_RDWR) else {
        return core::ptr::null_mut();
    };
    let room = SEGMENT_BYTES + BLOCK_BYTES;
    // SAFETY: reserves fresh address space, then maps the file over the aligned part of it.
    let base = unsafe {
        let Ok(reserved) = sys::map(0, room, sys::PROT_NONE, sys::MAP_NORESERVE) else {
            report_no_room(&file);
            return core::ptr::null_mut();
        };
        let aligned = reserved.next_multiple_of(BLOCK_BYTES);
        let (rights, flags) = (sys::PROT_READ_WRITE, sys::MAP_SHARED | sys::MAP_FIXED);
        sys::mmap(aligned, SEGMENT_BYTES, rights, flags, file.descriptor(), 0)
    };
    drop(file);
    if base < 0 {
        return core::ptr::null_mut();
    }
    let base = base as *mut u8;
    // SAFETY: just mapped, and never unmapped; a file of the right kind is as long as the
    // mapping.
    let segment = NonNull::new(base).map(|base| unsafe { MappedSegment::new(base) });
    let Some(segment) = segment.filter(|segment| segment.is_ours()) else {
        return core::ptr::null_mut();
    };
    // A program that became this one by `exec` has restricted itself; that holds on.
    if quiet::filters() > segment.header().filters.load(Ordering::Relaxed) {
        quiet::be_quiet(false);
    }
    base
}

/// A limit of the address space leaves no room for the segment: reports to the analysing side that
/// a thread is not recorded, and why. For that, the segment's header is mapped for a moment.
fn report_no_room(file: &File) {
    let Some(base) = file.map(HEADER_BYTES) else {
        return;
    };
    // SAFETY: fresh address space, given back before the end; all fields of a header are atomic.
    unsafe {
        let header = &*(base as *const Header);
        if header.magic.load(Ordering::Acquire) == MAGIC
            && header.version.load(Ordering::Relaxed) == VERSION
        {
            header.short_of_space.store(1, Ordering::Relaxed);
            header.unrecorded_threads.fetch_add(1, Ordering::Relaxed);
        }
        sys::munmap(base, HEADER_BYTES);
    }
}
