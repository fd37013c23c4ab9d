//! Keeps memory of ours out of the program's own limits: `RLIMIT_AS` and `RLIMIT_DATA` that the
//! program sets count only its own memory, and `mlockall` locks only that. `syscalls` asks
//! [`before`] for each system call of the program; everything that maps memory of ours calls
//! [`grow`], and everything that makes private memory of ours writable calls [`grow_data`].
//!
//! Once the program has set a limit, the kernel's limit is the program's plus what is ours
//! ([`OwnLimit`]).

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use reuselens_guest::sys;
use reuselens_wire::{CACHE, IMAGE, Limits, START_BYTES, UNLIMITED, outer_limits};

use super::segment;
use super::{maps, memory};

/// A limit that memory of ours would count towards.
struct OwnLimit {
    /// The number of the resource.
    resource: u64,
    /// Bytes of it that are ours.
    ours: AtomicU64,
    /// The limits that the program has set, soft and hard, if `are_set`.
    limits: [AtomicU64; 2],
    /// Not 0 once the program has set limits, or has started with limits that can be raised.
    are_set: AtomicU32,
}

/// `RLIMIT_AS`
static ADDRESS_SPACE: OwnLimit = OwnLimit::new(9);
/// `RLIMIT_DATA`: private memory that may be written to.
static DATA: OwnLimit = OwnLimit::new(2);

impl OwnLimit {
    const fn new(resource: u64) -> OwnLimit {
        OwnLimit {
            resource,
            ours: AtomicU64::new(0),
            limits: [const { AtomicU64::new(UNLIMITED) }; 2],
            are_set: AtomicU32::new(0),
        }
    }

    /// The limit of this resource.
    fn of(resource: u64) -> Option<&'static OwnLimit> {
        [&ADDRESS_SPACE, &DATA]
            .into_iter()
            .find(|limit| limit.resource == resource)
    }

    /// `bytes` bytes are about to be ours.
    fn grow(&self, bytes: u64) {
        self.ours.fetch_add(bytes, Ordering::Relaxed);
        self.follow();
    }

    /// `bytes` bytes are no longer ours, or could not be.
    fn shrink(&self, bytes: u64) {
        self.ours.fetch_sub(bytes, Ordering::Relaxed);
        self.follow();
    }

    /// Adjusts the kernel's limit to the bytes that are ours.
    fn follow(&self) {
        if self.are_set.load(Ordering::Relaxed) != 0 {
            self.set(self.limits(), true);
        }
    }

    /// `prlimit` of the program: reads new limits from one place and writes the old ones to
    /// another, if there are such places.
    fn change(&self, new: u64, old: u64, keep: bool) -> i64 {
        let mut words = [0_u8; 16];
        if new != 0 && !sys::peek(new, &mut words) {
            return sys::EFAULT;
        }
        let before = self.limits();
        if new != 0 {
            let word =
                |at: usize| u64::from_le_bytes(words[at..at + 8].try_into().unwrap_or_default());
            let result = self.set([word(0), word(8)], keep);
            if result != 0 {
                return result;
            }
        }
        for (bytes, value) in words.chunks_exact_mut(8).zip(before) {
            bytes.copy_from_slice(&value.to_le_bytes());
        }
        // A null pointer is no place for `getrlimit`, and means nothing for `prlimit` with new
        // limits.
        // SAFETY: the address is the program's, which has nothing of ours.
        if (old != 0 || new == 0) && !unsafe { sys::poke(old, &words) } {
            return sys::EFAULT;
        }
        0
    }

    /// The limits that the program sees.
    fn limits(&self) -> [u64; 2] {
        if self.are_set.load(Ordering::Relaxed) == 0 {
            return self.of_kernel();
        }
        [0, 1].map(|index: usize| self.limits[index].load(Ordering::Relaxed))
    }

    fn of_kernel(&self) -> [u64; 2] {
        let mut limits = [UNLIMITED; 2];
        let into = limits.as_mut_ptr() as u64;
        // SAFETY: the kernel writes two words.
        unsafe { sys::call(sys::GETRLIMIT, [self.resource, into, 0, 0, 0, 0]) };
        limits
    }

    /// Sets the program's limits to `wanted`, and remembers them if `keep`. The kernel's limits
    /// become larger than these by the bytes that are ours.
    fn set(&self, wanted: [u64; 2], keep: bool) -> i64 {
        if wanted[0] > wanted[1] {
            return sys::EINVAL;
        }
        let ours = self.ours.load(Ordering::Relaxed);
        let outer = outer_limits(wanted, self.limits()[1], self.of_kernel()[1], ours);
        let from = outer.as_ptr() as u64;
        // SAFETY: the kernel reads two words.
        let result = unsafe { sys::call(sys::SETRLIMIT, [self.resource, from, 0, 0, 0, 0]) };
        if result != 0 {
            return result;
        }
        if keep {
            for (limit, value) in self.limits.iter().zip(wanted) {
                limit.store(value, Ordering::Relaxed);
            }
            self.are_set.store(1, Ordering::Relaxed);
        }
        if outer[0] < wanted[0].saturating_add(ours) {
            report_shortage();
        }
        0
    }
}

/// Maps fresh memory of ours at exactly this address. Protection as for `mmap(2)`.
pub fn map_at(address: u64, bytes: u64, protection: u64) -> bool {
    const FIXED_NOREPLACE: u64 = 0x10_0000;
    let flags = sys::MAP_PRIVATE | sys::MAP_ANONYMOUS | sys::MAP_NORESERVE | FIXED_NOREPLACE;
    grow(bytes);
    grow_data(bytes);
    let a = [address, bytes, protection, flags, u64::MAX, 0];
    // SAFETY: takes only addresses that nobody uses.
    let mapped = unsafe { sys::call(sys::MMAP, a) == address as i64 };
    if !mapped {
        shrink(bytes);
        shrink_data(bytes);
    }
    mapped
}

/// The program starts, with `bytes` bytes of address space of ours in it. It has the limits that
/// the program before it set for itself (`exec`), if that was rewritten. A soft limit from
/// elsewhere is raised by what is ours where there is no hard one; that of data as far as the hard
/// one allows.
pub fn begin(bytes: u64, before: Limits) {
    ADDRESS_SPACE.ours.store(bytes, Ordering::Relaxed);
    let data = CACHE - IMAGE + START_BYTES[0] + START_BYTES[1];
    DATA.ours.store(data, Ordering::Relaxed);
    let [soft_space, hard_space, soft_data, hard_data] = before;
    for (limit, before, least) in [
        (&ADDRESS_SPACE, [soft_space, hard_space], UNLIMITED),
        (&DATA, [soft_data, hard_data], 0),
    ] {
        let limits = limit.of_kernel();
        if before != [UNLIMITED; 2] {
            limit.set(before, true);
        } else if limits[0] != UNLIMITED && limits[1] >= least {
            limit.set(limits, true);
        }
    }
}

/// The limits that the program has set for itself.
pub fn own_limits() -> Limits {
    let of = |limit: &OwnLimit| match limit.are_set.load(Ordering::Relaxed) {
        0 => [UNLIMITED; 2],
        _ => limit.limits(),
    };
    let ([soft_space, hard_space], [soft_data, hard_data]) = (of(&ADDRESS_SPACE), of(&DATA));
    [soft_space, hard_space, soft_data, hard_data]
}

/// Whether the program is under a limit of the address space that memory of ours counts towards.
pub fn is_limited() -> bool {
    ADDRESS_SPACE.are_set.load(Ordering::Relaxed) == 0 && ADDRESS_SPACE.of_kernel()[0] != UNLIMITED
}

/// `bytes` bytes are about to be mapped for us.
pub fn grow(bytes: u64) {
    ADDRESS_SPACE.grow(bytes);
}

/// `bytes` bytes of ours were unmapped, or could not be mapped.
pub fn shrink(bytes: u64) {
    ADDRESS_SPACE.shrink(bytes);
}

/// `bytes` bytes of private memory of ours are about to become writable.
pub fn grow_data(bytes: u64) {
    DATA.grow(bytes);
}

/// `bytes` bytes of ours could not become writable.
pub fn shrink_data(bytes: u64) {
    DATA.shrink(bytes);
}

/// Answers a system call of the program that sets or gets a limit of memory, or locks all memory:
/// returns its result. `None` if the kernel is to be called. The child of a `vfork` (`borrowed`)
/// has limits of its own, but this state is its parent's.
pub fn before(number: u64, arguments: [u64; 4], borrowed: bool) -> Option<i64> {
    let [one, two, three, four] = arguments;
    let is_own = |pid: u64| pid == 0 || pid == u64::from(sys::pid());
    match number {
        sys::SETRLIMIT => Some(OwnLimit::of(one)?.change(two, 0, !borrowed)),
        sys::GETRLIMIT => Some(OwnLimit::of(one)?.change(0, two, !borrowed)),
        sys::PRLIMIT64 if is_own(one) => Some(OwnLimit::of(two)?.change(three, four, !borrowed)),
        sys::MLOCKALL => lock_all(one),
        _ => None,
    }
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
