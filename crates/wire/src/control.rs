//! What is to be recorded: written by the analysing side before the program starts, read by those
//! who record.
//!
//! Three things decide about an access. *Where its thread is*: within a region, within a function.
//! *What time it is*: the analysing side opens the recording, and stops it. *Which access it is*:
//! accesses that pass the first two are numbered over all threads ([`Control::claim`]), and a
//! schedule over these numbers skips the start and takes bursts. What is left out is counted by who
//! leaves it out.

use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

/// The marks of instructions that do nothing but say that a region begins or ends: the displacement
/// of `nop dword ptr [rax + mark]`. A name is in rdi; its length in rsi, or 0 if a zero byte ends
/// it.
pub const MARK_BEGIN: u32 = u32::from_le_bytes(*b"rlrB");
/// The end of a region.
pub const MARK_END: u32 = u32::from_le_bytes(*b"rlrE");
/// By which the run time asks whether the program is rewritten: that sets rax to 1, and then it is
/// silent.
pub const MARK_ASK: u32 = u32::from_le_bytes(*b"rlr?");
/// Bytes of a region's name that are compared.
pub const REGION_BYTES: usize = 64;
/// Functions that can be named at one time: copies that compilers make of one count one by one.
pub const FUNCTIONS: usize = 16;
/// The most accesses that a thread claims at once: so far its numbers may run ahead of what it
/// does.
const CLAIM: u64 = 4096;

/// Whether anything is recorded.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recording {
    /// All that the rest of [`Control`] lets pass.
    Open = 0,
    /// Not yet.
    Waiting = 1,
    /// Not any more: the program goes on unrecorded.
    Stopped = 2,
}

/// A function in a file: `low` and `high` as in its table of symbols.
#[repr(C)]
pub struct Function {
    /// The file's device.
    pub device: AtomicU64,
    /// The file's number on it.
    pub inode: AtomicU64,
    /// The function's first address.
    pub low: AtomicU64,
    /// The first address behind it.
    pub high: AtomicU64,
}

/// What is to be recorded. All zero: everything.
#[repr(C)]
pub struct Control {
    /// Not 0 if threads have to look at the rest at all.
    pub active: AtomicU32,
    /// A [`Recording`].
    pub state: AtomicU32,
    /// Not 0: only within regions.
    pub regions: AtomicU32,
    /// Bytes of the name that regions must have; 0 = any.
    pub region_bytes: AtomicU32,
    /// That name.
    pub region: [AtomicU8; REGION_BYTES],
    /// How many entries of `function` count; if not 0, only within these.
    pub functions: AtomicU32,
    /// How often a region or function that counts was entered.
    pub entered: AtomicU32,
    /// The functions.
    pub function: [Function; FUNCTIONS],
    /// Accesses to skip at the start.
    pub after: AtomicU64,
    /// Accesses of a burst; 0 = no bursts.
    pub on: AtomicU64,
    /// Accesses between bursts.
    pub off: AtomicU64,
    /// Accesses that were claimed so far.
    pub position: AtomicU64,
    /// Accesses that were seen and not recorded.
    pub left_out: AtomicU64,
}

impl Control {
    /// Everything is recorded.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Control {
            active: AtomicU32::new(0),
            state: AtomicU32::new(0),
            regions: AtomicU32::new(0),
            region_bytes: AtomicU32::new(0),
            region: [const { AtomicU8::new(0) }; REGION_BYTES],
            functions: AtomicU32::new(0),
            entered: AtomicU32::new(0),
            function: [const {
                Function {
                    device: AtomicU64::new(0),
                    inode: AtomicU64::new(0),
                    low: AtomicU64::new(0),
                    high: AtomicU64::new(0),
                }
            }; FUNCTIONS],
            after: AtomicU64::new(0),
            on: AtomicU64::new(0),
            off: AtomicU64::new(0),
            position: AtomicU64::new(0),
            left_out: AtomicU64::new(0),
        }
    }

    /// Whether recording has been stopped for good.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.state.load(Ordering::Relaxed) == Recording::Stopped as u32
    }

    /// Whether all accesses that may be recorded are: nothing needs to be numbered (any more).
    #[inline]
    pub fn is_unmetered(&self) -> bool {
        self.on.load(Ordering::Relaxed) == 0
            && self.position.load(Ordering::Relaxed) >= self.after.load(Ordering::Relaxed)
    }

    /// The next numbers, all recorded or all not: whether they are, and how many.
    pub fn claim(&self) -> (bool, u64) {
        let mut at = self.position.load(Ordering::Relaxed);
        loop {
            let (recorded, until) = self.phase(at);
            // At the last number there is none after it, and yet those who claim must go on.
            let count = until.saturating_sub(at).clamp(1, CLAIM);
            let next = at.saturating_add(count);
            let (done, seen) = (Ordering::Relaxed, Ordering::Relaxed);
            match self.position.compare_exchange_weak(at, next, done, seen) {
                Ok(_) => return (recorded, count),
                Err(now) => at = now,
            }
        }
    }

    /// Whether access number `at` is recorded, and the number of the first for which that differs.
    fn phase(&self, at: u64) -> (bool, u64) {
        let after = self.after.load(Ordering::Relaxed);
        if at < after {
            return (false, after);
        }
        let (on, off) = (
            self.on.load(Ordering::Relaxed),
            self.off.load(Ordering::Relaxed),
        );
        if on == 0 || off == 0 {
            return (true, u64::MAX);
        }
        let whole = on.saturating_add(off);
        let within = (at - after) % whole;
        let recorded = within < on;
        let left = if recorded { on } else { whole } - within;
        (recorded, at.saturating_add(left))
    }

    /// Whether a region with this name counts.
    pub fn wants_region(&self, name: &[u8]) -> bool {
        let length = self.region_bytes.load(Ordering::Relaxed) as usize;
        let wanted = &self.region[..length.min(REGION_BYTES)];
        let same = |(a, b): (&AtomicU8, &u8)| a.load(Ordering::Relaxed) == *b;
        length == 0
            || (name.len().min(REGION_BYTES) == wanted.len() && wanted.iter().zip(name).all(same))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::vec::Vec;

    #[test]
    fn the_start_is_skipped_and_bursts_follow() {
        let control = Control::new();
        control.after.store(5, Ordering::Relaxed);
        control.on.store(3, Ordering::Relaxed);
        control.off.store(2, Ordering::Relaxed);
        let claims: Vec<_> = (0..5).map(|_| control.claim()).collect();
        assert_eq!(
            claims,
            [(false, 5), (true, 3), (false, 2), (true, 3), (false, 2)]
        );
        assert!(!control.is_unmetered());
    }

    #[test]
    fn claims_are_not_long() {
        let control = Control::new();
        control.after.store(CLAIM + 1, Ordering::Relaxed);
        assert_eq!(control.claim(), (false, CLAIM));
        assert_eq!(control.claim(), (false, 1));
        assert!(control.is_unmetered());
        assert_eq!(control.claim(), (true, CLAIM));
    }

    #[test]
    fn last_number_is_claimed_too() {
        let control = Control::new();
        for word in [&control.position, &control.after, &control.on, &control.off] {
            word.store(u64::MAX, Ordering::Relaxed);
        }
        assert_eq!(control.claim().1, 1);
    }

    #[test]
    fn names_of_regions() {
        let control = Control::new();
        assert!(control.wants_region(b"any"));
        control.region_bytes.store(2, Ordering::Relaxed);
        control.region[0].store(b'a', Ordering::Relaxed);
        control.region[1].store(b'b', Ordering::Relaxed);
        assert!(control.wants_region(b"ab"));
        assert!(!control.wants_region(b"abc") && !control.wants_region(b"a"));
    }
}
