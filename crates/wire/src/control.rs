//! [`Control`]: which accesses of the measured program are to be recorded. It is a part of the
//! segment's header. The analysing side writes it before the program starts, and later only its
//! `state`; the measured program's threads read it through their [`Gate`](crate::Gate).
//!
//! Three conditions decide whether an access is recorded:
//! - its thread is in a wanted region and in a wanted function;
//! - `state` is [`Recording::Open`];
//! - the schedule takes the access's number. Accesses that pass the first two conditions are
//!   numbered over all threads ([`Control::claim`]); the schedule skips the first `after` numbers
//!   and then takes `on` of each `on + off`, or it takes a burst of each [`Stratum`].
//!
//! An access that is not recorded is counted in `left_out`.

use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use crate::strata::Stratum;

/// Displacement in `nop dword ptr [rax + MARK_BEGIN]`, an instruction without effect by which the
/// rewriter recognises the begin of a region. rdi points to the region's name; rsi is the name's
/// length, or 0 if a zero byte ends it.
pub const MARK_BEGIN: u32 = u32::from_le_bytes(*b"rlrB");
/// The same for the end of a region, which has no name.
pub const MARK_END: u32 = u32::from_le_bytes(*b"rlrE");
/// The same for the run time's question whether the program is rewritten. The rewriter answers by
/// setting rax to 1; the run time then records nothing.
pub const MARK_ASK: u32 = u32::from_le_bytes(*b"rlr?");
/// Bytes of a region's name that are compared.
pub const REGION_BYTES: usize = 64;
/// The most functions that can be wanted. Each copy that a compiler makes of a function counts.
pub const FUNCTIONS: usize = 16;
/// The most access numbers that a thread claims at once, and so the most that it may hold without
/// having made the accesses.
const CLAIM: u64 = 4096;

/// Whether anything is recorded now.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recording {
    /// Yes: all accesses that the other fields of [`Control`] let pass.
    Open = 0,
    /// Not yet.
    Waiting = 1,
    /// Never again: the program goes on unrecorded.
    Stopped = 2,
}

/// A function in a file: `low` and `high` as in the file's symbol table.
#[repr(C)]
pub struct Function {
    /// The file's device.
    pub device: AtomicU64,
    /// The file's inode number on that device.
    pub inode: AtomicU64,
    /// The function's first address.
    pub low: AtomicU64,
    /// The first address after the function.
    pub high: AtomicU64,
}

/// Access numbers that a thread has claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Whether the schedule records these accesses: all or none.
    pub recorded: bool,
    /// How many they are: 1 to 4096.
    pub count: u64,
    /// The first number of the part of a stratum's burst that they are in, its filling or its
    /// measured one; 0 if they are in none.
    pub part: u64,
}

/// What the schedule says from an access number on.
struct Scheduled {
    recorded: bool,
    /// The first later number for which that changes.
    until: u64,
    /// As in [`Claim`].
    part: u64,
}

/// What is to be recorded. If all bytes are zero: everything.
#[repr(C)]
pub struct Control {
    /// 0 if everything is recorded from start to end: threads then ignore the other fields.
    pub active: AtomicU32,
    /// A [`Recording`].
    pub state: AtomicU32,
    /// Not 0: only accesses within regions are recorded.
    pub regions: AtomicU32,
    /// Bytes of the name that wanted regions have; 0 = regions of any name are wanted.
    pub region_bytes: AtomicU32,
    /// The name that wanted regions have.
    pub region: [AtomicU8; REGION_BYTES],
    /// How many entries of `function` are used. If not 0, only accesses within these functions
    /// are recorded.
    pub functions: AtomicU32,
    /// How often a wanted region or function was entered.
    pub entered: AtomicU32,
    /// The wanted functions.
    pub function: [Function; FUNCTIONS],
    /// Accesses to skip at the start.
    pub after: AtomicU64,
    /// Accesses of a burst; 0 = no bursts.
    pub on: AtomicU64,
    /// Accesses between bursts.
    pub off: AtomicU64,
    /// Not 0: a burst of each [`Stratum`] is recorded.
    pub strata: AtomicU32,
    /// What the places of these bursts come from.
    pub seed: AtomicU64,
    /// Access numbers claimed so far, by all threads.
    pub position: AtomicU64,
    /// Accesses that were made and not recorded.
    pub left_out: AtomicU64,
}

impl Control {
    /// A control by which everything is recorded.
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
            strata: AtomicU32::new(0),
            seed: AtomicU64::new(0),
            position: AtomicU64::new(0),
            left_out: AtomicU64::new(0),
        }
    }

    /// Whether recording has been stopped for good.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.state.load(Ordering::Relaxed) == Recording::Stopped as u32
    }

    /// Whether the schedule takes all accesses from here on, so that none needs a number.
    #[inline]
    pub fn is_unmetered(&self) -> bool {
        self.on.load(Ordering::Relaxed) == 0
            && self.strata.load(Ordering::Relaxed) == 0
            && self.position.load(Ordering::Relaxed) >= self.after.load(Ordering::Relaxed)
    }

    /// Claims the next access numbers for the calling thread.
    pub fn claim(&self) -> Claim {
        let mut at = self.position.load(Ordering::Relaxed);
        loop {
            let Scheduled {
                recorded,
                until,
                part,
            } = self.scheduled(at);
            // At least 1: at u64::MAX there is no number left, and yet the claimer must go on.
            let count = until.saturating_sub(at).clamp(1, CLAIM);
            let next = at.saturating_add(count);
            let (done, seen) = (Ordering::Relaxed, Ordering::Relaxed);
            match self.position.compare_exchange_weak(at, next, done, seen) {
                Ok(_) => {
                    return Claim {
                        recorded,
                        count,
                        part,
                    };
                }
                Err(now) => at = now,
            }
        }
    }

    /// What the schedule says of access number `at`.
    fn scheduled(&self, at: u64) -> Scheduled {
        let plain = |recorded, until| Scheduled {
            recorded,
            until,
            part: 0,
        };
        if self.strata.load(Ordering::Relaxed) != 0 {
            let Some(stratum) = Stratum::of(at) else {
                return plain(true, Stratum::BEGINNING);
            };
            let burst = stratum.burst(self.seed.load(Ordering::Relaxed));
            let parts = [(burst.begin, burst.measured), (burst.measured, burst.end)];
            let part = parts
                .into_iter()
                .find(|(from, to)| (*from..*to).contains(&at));
            return match part {
                Some((part, until)) => Scheduled {
                    part,
                    ..plain(true, until)
                },
                None if at < burst.begin => plain(false, burst.begin),
                None => plain(false, stratum.end()),
            };
        }
        let after = self.after.load(Ordering::Relaxed);
        if at < after {
            return plain(false, after);
        }
        let (on, off) = (
            self.on.load(Ordering::Relaxed),
            self.off.load(Ordering::Relaxed),
        );
        if on == 0 || off == 0 {
            return plain(true, u64::MAX);
        }
        let period = on.saturating_add(off);
        let within = (at - after) % period;
        let recorded = within < on;
        let left = if recorded { on } else { period } - within;
        plain(recorded, at.saturating_add(left))
    }

    /// Whether a region with this name is wanted.
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

    fn claimed(control: &Control) -> (bool, u64) {
        let claim = control.claim();
        (claim.recorded, claim.count)
    }

    #[test]
    fn claims_take_the_beginning_and_the_bursts_of_strata() {
        let control = Control::new();
        control.strata.store(1, Ordering::Relaxed);
        control.seed.store(3, Ordering::Relaxed);
        assert!(!control.is_unmetered());
        let mut recorded = Vec::new();
        while control.position.load(Ordering::Relaxed) < 1 << 22 {
            let from = control.position.load(Ordering::Relaxed);
            let claim = control.claim();
            if claim.recorded {
                recorded.push((from, claim.count, claim.part));
            }
        }
        let sum = |part: u64| {
            let of = recorded.iter().filter(|claim| claim.2 == part);
            of.map(|claim| claim.1).sum::<u64>()
        };
        assert_eq!(sum(0), Stratum::BEGINNING);
        for stratum in (8..16).map(|number| Stratum::of(number << 18).unwrap()) {
            let burst = stratum.burst(3);
            assert_eq!(sum(burst.begin), burst.measured - burst.begin);
            assert_eq!(sum(burst.measured), burst.end - burst.measured);
        }
    }

    #[test]
    fn claims_skip_the_start_and_alternate_bursts() {
        let control = Control::new();
        control.after.store(5, Ordering::Relaxed);
        control.on.store(3, Ordering::Relaxed);
        control.off.store(2, Ordering::Relaxed);
        let claims: Vec<_> = (0..5).map(|_| claimed(&control)).collect();
        assert_eq!(
            claims,
            [(false, 5), (true, 3), (false, 2), (true, 3), (false, 2)]
        );
        assert!(!control.is_unmetered());
    }

    #[test]
    fn claim_is_cut_at_the_limit() {
        let control = Control::new();
        control.after.store(CLAIM + 1, Ordering::Relaxed);
        assert_eq!(claimed(&control), (false, CLAIM));
        assert_eq!(claimed(&control), (false, 1));
        assert!(control.is_unmetered());
        assert_eq!(claimed(&control), (true, CLAIM));
    }

    #[test]
    fn claim_at_the_last_number_returns_one() {
        let control = Control::new();
        for word in [&control.position, &control.after, &control.on, &control.off] {
            word.store(u64::MAX, Ordering::Relaxed);
        }
        assert_eq!(control.claim().count, 1);
    }

    #[test]
    fn region_matches_the_exact_name_only() {
        let control = Control::new();
        assert!(control.wants_region(b"any"));
        control.region_bytes.store(2, Ordering::Relaxed);
        control.region[0].store(b'a', Ordering::Relaxed);
        control.region[1].store(b'b', Ordering::Relaxed);
        assert!(control.wants_region(b"ab"));
        assert!(!control.wants_region(b"abc") && !control.wants_region(b"a"));
    }
}
