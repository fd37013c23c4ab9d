//! Keeps memory of ours out of the program's own limits: `RLIMIT_AS` that the program sets counts
//! only its own memory, and `mlockall` locks only that. `syscalls` asks [`before`] for each system
//! call of the program; everything that maps memory of ours calls [`grow`].
//!
//! Once the program has set a limit, the kernel's limit is the program's plus [`OURS`].

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use reuselens_wire::{IMAGE, UNLIMITED, outer_limits};

use super::segment;
use super::{maps, memory, sys};

/// `RLIMIT_AS`
const ADDRESS_SPACE: u64 = 9;
/// Bytes of address space that are ours.
static OURS: AtomicU64 = AtomicU64::new(0);
/// The limits that the program has set, soft and hard, if [`ARE_SET`].
static LIMITS: [AtomicU64; 2] = [const { AtomicU64::new(UNLIMITED) }; 2];
/// Not 0 once the program has set limits, or has started with a soft limit and no hard one.
static ARE_SET: AtomicU32 = AtomicU32::new(0);

/// The program starts, with `bytes` bytes of ours in it. If it has a soft limit and no hard one,
/// raises the soft limit by them.
pub fn begin(bytes: u64) {
    OURS.store(bytes, Ordering::Relaxed);
    let limits = kernel_limits();
    if limits[0] != UNLIMITED && limits[1] == UNLIMITED {
        set(limits, true);
    }
}

/// Whether the program is under a limit that memory of ours counts towards. (After `exec`, a
/// program inherits a limit that is larger by the memory of ours in the program before.)
pub fn is_limited() -> bool {
    ARE_SET.load(Ordering::Relaxed) == 0 && kernel_limits()[0] != UNLIMITED
}

/// `bytes` bytes are about to be mapped for us.
pub fn grow(bytes: u64) {
    OURS.fetch_add(bytes, Ordering::Relaxed);
    follow();
}

/// `bytes` bytes of ours were unmapped, or could not be mapped.
pub fn shrink(bytes: u64) {
    OURS.fetch_sub(bytes, Ordering::Relaxed);
    follow();
}

/// Adjusts the kernel's limit to the bytes that are ours.
fn follow() {
    if ARE_SET.load(Ordering::Relaxed) != 0 {
        set(limits(), true);
    }
}

/// Answers a system call of the program that sets or gets the limit of the address space, or locks
/// all memory: returns its result. `None` if the kernel is to be called. The child of a `vfork`
/// (`borrowed`) has limits of its own, but this state is its parent's.
pub fn before(number: u64, arguments: [u64; 4], borrowed: bool) -> Option<i64> {
    let [one, two, three, four] = arguments;
    let is_own = |pid: u64| pid == 0 || pid == u64::from(sys::pid());
    match number {
        sys::SETRLIMIT if one == ADDRESS_SPACE => Some(change(two, 0, !borrowed)),
        sys::GETRLIMIT if one == ADDRESS_SPACE => Some(change(0, two, !borrowed)),
        sys::PRLIMIT64 if two == ADDRESS_SPACE && is_own(one) => {
            Some(change(three, four, !borrowed))
        }
        sys::MLOCKALL => lock_all(one),
        _ => None,
    }
}

/// `prlimit` of the program: reads new limits from one place and writes the old ones to another, if
/// there are such places.
fn change(new: u64, old: u64, keep: bool) -> i64 {
    let mut words = [0_u8; 16];
    if new != 0 && !sys::peek(new, &mut words) {
        return sys::EFAULT;
    }
    let before = limits();
    if new != 0 {
        let word = |at: usize| u64::from_le_bytes(words[at..at + 8].try_into().unwrap_or_default());
        let result = set([word(0), word(8)], keep);
        if result != 0 {
            return result;
        }
    }
    for (bytes, value) in words.chunks_exact_mut(8).zip(before) {
        bytes.copy_from_slice(&value.to_le_bytes());
    }
    // A null pointer is no place for `getrlimit`, and means nothing for `prlimit` with new limits.
    if (old != 0 || new == 0) && !sys::poke(old, &words) {
        return sys::EFAULT;
    }
    0
}

/// The limits that the program sees.
fn limits() -> [u64; 2] {
    if ARE_SET.load(Ordering::Relaxed) == 0 {
        return kernel_limits();
    }
    [0, 1].map(|index: usize| LIMITS[index].load(Ordering::Relaxed))
}

fn kernel_limits() -> [u64; 2] {
    let mut limits = [UNLIMITED; 2];
    let into = limits.as_mut_ptr() as u64;
    // SAFETY: the kernel writes two words.
    unsafe { sys::call(sys::GETRLIMIT, [ADDRESS_SPACE, into, 0, 0, 0, 0]) };
    limits
}

/// Sets the program's limits to `wanted`, and remembers them if `keep`. The kernel's limits become
/// larger than these by the bytes that are ours.
fn set(wanted: [u64; 2], keep: bool) -> i64 {
    if wanted[0] > wanted[1] {
        return sys::EINVAL;
    }
    let ours = OURS.load(Ordering::Relaxed);
    let outer = outer_limits(wanted, limits()[1], kernel_limits()[1], ours);
    let from = outer.as_ptr() as u64;
    // SAFETY: the kernel reads two words.
    let result = unsafe { sys::call(sys::SETRLIMIT, [ADDRESS_SPACE, from, 0, 0, 0, 0]) };
    if result != 0 {
        return result;
    }
    if keep {
        for (limit, value) in LIMITS.iter().zip(wanted) {
            limit.store(value, Ordering::Relaxed);
        }
        ARE_SET.store(1, Ordering::Relaxed);
    }
    if outer[0] < wanted[0].saturating_add(ours) {
        report_shortage();
    }
    0
}

/// Reports to the analysing side that memory of ours counts towards a limit of the program.
pub fn report_shortage() {
    if let Some(segment) = segment::ever() {
        let header = segment.header();
        header.short_of_space.store(1, Ordering::Relaxed);
    }
}

/// `mlockall` of the program: locks its own mappings one by one, and returns the result. `None` if
/// the kernel is to be called.
fn lock_all(flags: u64) -> Option<i64> {
    const CURRENT: u64 = 1;
    const ON_FAULT: u64 = 4;
    if flags & CURRENT == 0 || flags > 7 {
        return None;
    }
    let later = flags & !CURRENT;
    let lock = |flags: u64| {
        // SAFETY: the program's own call, as far as the kernel can tell its memory from ours.
        unsafe { sys::call(sys::MLOCKALL, [flags, 0, 0, 0, 0, 0]) }
    };
    let Some(all) = maps::all() else {
        // Locked as it is used; ours too.
        return Some(lock(flags | ON_FAULT));
    };
    let on_fault = u64::from(flags & ON_FAULT != 0);
    let ours = IMAGE..memory::end();
    for mapping in all.iter().filter(|mapping| !ours.contains(&mapping.low)) {
        let bytes = mapping.high - mapping.low;
        // SAFETY: the program's own memory; nothing in it changes.
        let result = unsafe { sys::call(sys::MLOCK2, [mapping.low, bytes, on_fault, 0, 0, 0]) };
        // Unreadable memory cannot be brought in; `mlockall` ignores that.
        if result != 0 && mapping.readable {
            return Some(result);
        }
    }
    Some(if later & !ON_FAULT != 0 {
        lock(later)
    } else {
        0
    })
}
