//! Memory that the program maps itself (`mmap`): its pages are advised where they are.

use core::sync::atomic::{AtomicUsize, Ordering};

use reuselens_guest::lock::Lock;
use reuselens_guest::unwind::CallCursor;

use super::{heap, plan, policy, sites, verify};
use crate::layout::object;

/// Mappings whose end is noticed, at most; the bytes of others count to the end.
const KNOWN: usize = 256;

struct KnownMapping {
    at: AtomicUsize,
    bytes: AtomicUsize,
    tier: AtomicUsize,
    /// The bytes that count against the tier's capacity.
    charge: AtomicUsize,
}

static MAPPINGS: [KnownMapping; KNOWN] = [const {
    KnownMapping {
        at: AtomicUsize::new(0),
        bytes: AtomicUsize::new(0),
        tier: AtomicUsize::new(0),
        charge: AtomicUsize::new(0),
    }
}; KNOWN];
static COUNT: AtomicUsize = AtomicUsize::new(0);
pub static LOCK: Lock = Lock::new();

/// The program mapped memory without a file.
pub fn mapped(at: usize, bytes: usize, from: CallCursor) {
    let Some(number) = sites::object(from) else {
        return;
    };
    let tier = plan::get(plan::of_object(number, object::TIER)) as usize;
    let charge = policy::placed_bytes(number, at, bytes);
    if !heap::charge(tier, charge) {
        plan::count_no_room(number, bytes);
        return;
    }
    plan::count_placed(number, bytes);
    policy::apply_to_parts(number, at, bytes);
    verify::add(number, at, bytes);
    let _held = LOCK.hold();
    let free = MAPPINGS
        .iter()
        .find(|known| known.at.load(Ordering::Relaxed) == 0);
    if let Some(free) = free {
        free.at.store(at, Ordering::Relaxed);
        free.bytes.store(bytes, Ordering::Relaxed);
        free.tier.store(tier, Ordering::Relaxed);
        free.charge.store(charge as usize, Ordering::Relaxed);
        COUNT.fetch_add(1, Ordering::Relaxed);
    }
}

/// The program is about to unmap memory. Only whole mappings are noticed.
#[inline]
pub fn unmapped(at: usize, bytes: usize) {
    if COUNT.load(Ordering::Relaxed) > 0 {
        end(at, bytes);
    }
}

#[cold]
fn end(at: usize, bytes: usize) {
    let mut found = None;
    {
        let _held = LOCK.hold();
        for known in &MAPPINGS {
            let range = known.at.load(Ordering::Relaxed);
            if range == at && known.bytes.load(Ordering::Relaxed) <= bytes && at != 0 {
                known.at.store(0, Ordering::Relaxed);
                COUNT.fetch_sub(1, Ordering::Relaxed);
                let (tier, charge) = (&known.tier, &known.charge);
                found = Some((tier.load(Ordering::Relaxed), charge.load(Ordering::Relaxed)));
                break;
            }
        }
    }
    if let Some((tier, charge)) = found {
        verify::remove(at);
        heap::discharge(tier, charge as u64);
    }
}
