//! Keeps the shared segment out of the program's own limits: `RLIMIT_AS` that the program sets
//! counts only its own memory, and `mlockall` does not bring the segment in. For this, libc's
//! `setrlimit`, `getrlimit`, `prlimit` and `mlockall` are replaced; otherwise the replacements do
//! the same as libc's.

use core::ffi::{c_int, c_uint};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use reuselens_guest::errno::reported;
use reuselens_guest::sys;
use reuselens_wire::{BLOCK_BYTES, SEGMENT_BYTES, UNLIMITED, outer_limits};

use crate::segment;

const ADDRESS_SPACE: c_uint = 9;

/// The limits that the program has set, soft and hard, if [`ARE_SET`].
static LIMITS: [AtomicU64; 2] = [const { AtomicU64::new(UNLIMITED) }; 2];
static ARE_SET: AtomicU32 = AtomicU32::new(0);

/// Bytes of the address space that the segment takes; see `segment::map`.
fn ours() -> u64 {
    if segment::is_mapped() {
        (SEGMENT_BYTES + BLOCK_BYTES) as u64
    } else {
        0
    }
}

unsafe fn kernel(pid: c_int, resource: c_uint, new: *const u64, old: *mut u64) -> i64 {
    let a = [pid as u64, resource.into(), new as u64, old as u64, 0, 0];
    // SAFETY: by the caller; the kernel checks the pointers.
    unsafe { sys::call(sys::PRLIMIT64, a) }
}

/// `prlimit` of the program. `new` and `old` point to the soft and the hard limit, or are null.
/// Returns the result of the system call.
unsafe fn change(pid: c_int, resource: c_uint, new: *const u64, old: *mut u64) -> i64 {
    let ours = ours();
    if resource != ADDRESS_SPACE || pid != 0 || ours == 0 {
        // SAFETY: the program's own request.
        return unsafe { kernel(pid, resource, new, old) };
    }
    // SAFETY: the program's pointers, used as the function uses them.
    unsafe {
        let mut actual = [UNLIMITED; 2];
        kernel(0, resource, core::ptr::null(), actual.as_mut_ptr());
        let known = match ARE_SET.load(Ordering::Relaxed) {
            0 => actual,
            _ => [0, 1].map(|index: usize| LIMITS[index].load(Ordering::Relaxed)),
        };
        if !new.is_null() {
            let wanted = [*new, *new.add(1)];
            let outer = outer_limits(wanted, known[1], actual[1], ours);
            let asked = if wanted[0] > wanted[1] { wanted } else { outer };
            let result = kernel(0, resource, asked.as_ptr(), core::ptr::null_mut());
            if result != 0 {
                return result;
            }
            LIMITS[0].store(wanted[0], Ordering::Relaxed);
            LIMITS[1].store(wanted[1], Ordering::Relaxed);
            ARE_SET.store(1, Ordering::Relaxed);
            if outer[0] < wanted[0].saturating_add(ours)
                && let Some(segment) = segment::get()
            {
                let header = segment.header();
                header.short_of_space.store(1, Ordering::Relaxed);
            }
        }
        if !old.is_null() {
            *old = known[0];
            *old.add(1) = known[1];
        }
    }
    0
}

/// Defines weak functions: definitions of the program's own replace them.
macro_rules! weak {
    ($($function:ident: $($name:literal),+;)+) => { $(
        core::arch::global_asm!(
            $(concat!(".weak ", $name, "\n.type ", $name, ",@function\n", $name, ":"),)+
            "jmp {function}",
            function = sym $function,
        );
    )+ };
}

weak! {
    set: "setrlimit", "setrlimit64";
    get: "getrlimit", "getrlimit64";
    both: "prlimit", "prlimit64";
    lock_all: "mlockall";
}

unsafe extern "C" fn set(resource: c_uint, new: *const u64) -> c_int {
    // SAFETY: the program's own request, passed on; so below.
    reported(unsafe { change(0, resource, new, core::ptr::null_mut()) }) as c_int
}

unsafe extern "C" fn get(resource: c_uint, old: *mut u64) -> c_int {
    // SAFETY: as above.
    reported(unsafe { change(0, resource, core::ptr::null(), old) }) as c_int
}

unsafe extern "C" fn both(pid: c_int, resource: c_uint, new: *const u64, old: *mut u64) -> c_int {
    // SAFETY: as above.
    reported(unsafe { change(pid, resource, new, old) }) as c_int
}

/// `mlockall`. If the segment is mapped, current memory is locked when it is first used, and not
/// brought in at once.
unsafe extern "C" fn lock_all(flags: c_int) -> c_int {
    const CURRENT: c_int = 1;
    const ON_FAULT: c_int = 4;
    let lazily = flags & CURRENT != 0 && ours() != 0;
    let flags = if lazily { flags | ON_FAULT } else { flags };
    // SAFETY: as above.
    reported(unsafe { sys::call(sys::MLOCKALL, [flags as u64, 0, 0, 0, 0, 0]) }) as c_int
}
