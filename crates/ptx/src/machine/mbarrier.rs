//! `mbarrier`: barriers in shared memory. Threads arrive, and ask later whether the phase that they
//! arrived in has ended; bytes of bulk copies can be awaited, too.
//!
//! What a barrier knows is in its eight bytes, as on a GPU, so a kernel may copy states, use a
//! barrier again, or have as many as fit.
//!
//! Source: NVIDIA, *Parallel Thread Execution ISA* 8.7, section 9.7.13.15 (phases, counts).

use std::collections::HashMap;

use crate::decode::kernel::{Mbarrier, MbarrierOp, NamedSpace};
use crate::lanes::WARP;
use crate::sink::{BlockSink, WarpKind};

use super::access::addresses;
use super::copy;
use super::delivery::{AccessRecord, deliver};
use super::fault::{Fault, FaultKind};
use super::memory::BlockMemory;
use super::warp::Warp;
use super::windows;

/// Bytes of a barrier.
const BYTES: u8 = 8;
/// Arrivals that a phase can wait for, and bytes.
const MOST: u32 = (1 << 20) - 1;

/// A barrier's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MbarrierState {
    /// Arrivals that the phase still waits for.
    pending: u32,
    /// Arrivals that each later phase waits for.
    expected: u32,
    /// Bytes of copies that the phase waits for; below zero if copies were done before they were
    /// expected.
    bytes: i32,
    /// Of the phase: whether an odd number of phases has ended.
    is_odd: bool,
}

impl MbarrierState {
    /// Bits 0 to 19 are `pending`, 20 to 39 `expected`, 40 to 61 `bytes`, and 63 is the phase.
    fn read(word: u64) -> MbarrierState {
        MbarrierState {
            pending: word as u32 & MOST,
            expected: (word >> 20) as u32 & MOST,
            bytes: ((word << 2) as i64 >> 42) as i32,
            is_odd: word >> 63 != 0,
        }
    }

    fn word(self) -> u64 {
        u64::from(self.pending)
            | u64::from(self.expected) << 20
            | (self.bytes as u64 & 0x3f_ffff) << 40
            | u64::from(self.is_odd) << 63
    }

    /// A new barrier, whose phases wait for `count` arrivals.
    fn begin(&mut self, count: u32) -> Result<(), String> {
        if count == 0 || count > MOST {
            return Err(format!("a barrier of {count} arrivals; from 1 to {MOST}"));
        }
        *self = MbarrierState {
            pending: count,
            expected: count,
            bytes: 0,
            is_odd: false,
        };
        Ok(())
    }

    /// More or fewer bytes are awaited.
    fn expect(&mut self, bytes: i64) -> Result<(), String> {
        let sum = i64::from(self.bytes) + bytes;
        if sum.unsigned_abs() > u64::from(MOST) {
            return Err(format!(
                "a barrier that waits for {sum} bytes; {MOST} at most"
            ));
        }
        self.bytes = sum as i32;
        Ok(())
    }

    /// `count` threads arrive, and are not awaited by later phases if they drop out.
    fn arrive(&mut self, count: u32, drops: bool) -> Result<(), String> {
        if count == 0 || count > self.pending {
            return Err(format!(
                "{count} arrivals at a barrier in memory that waits for {}; was it initialised?",
                self.pending
            ));
        }
        self.pending -= count;
        if drops {
            self.expected -= count.min(self.expected);
        }
        Ok(())
    }

    /// Begins the next phase if this one waits for nothing more. Whether it does.
    fn ends_phase(&mut self) -> bool {
        let ends = self.pending == 0 && self.bytes == 0;
        if ends {
            self.pending = self.expected;
            self.is_odd = !self.is_odd;
        }
        ends
    }
}

/// What barriers of a block order, by their addresses: phases of warps, as of other barriers (see
/// `phase_after` in [`block`](super::block)).
#[derive(Debug, Default)]
pub struct ArrivalClocks(HashMap<u64, ArrivalClock>);

#[derive(Clone, Copy, Debug, Default)]
struct ArrivalClock {
    /// The latest phase of a warp that has arrived since the barrier's last phase ended.
    arrived: u32,
    /// The phase of warps that have seen that end.
    passed: u32,
}

/// Does an instruction for the lanes of the mask, one after the other.
#[inline(never)]
pub fn run<B: BlockSink>(
    memory: &mut BlockMemory<'_>,
    warp: &mut Warp,
    sink: &mut B,
    op: &MbarrierOp,
    mask: u32,
) -> Result<(), Box<Fault>> {
    addresses(&warp.registers, &op.address, op.space, &mut warp.addresses);
    if op.space == NamedSpace::Generic {
        // An address of another space is then out of bounds.
        for address in warp.addresses.iter_mut() {
            *address = address.wrapping_sub(windows::SHARED);
        }
    }
    let mut done = mask;
    for lane in (0..WARP).filter(|lane| mask >> lane & 1 != 0) {
        if let Mbarrier::AfterCopies { .. } = op.step {
            copy::finish(memory, warp, 1 << lane, None)?;
        }
        if !one_lane(memory, warp, op, lane)? {
            done &= !(1 << lane);
        }
    }
    let record = AccessRecord {
        site: op.site,
        block: memory.block,
        kind: match op.step {
            Mbarrier::Init { .. } | Mbarrier::Invalidate => WarpKind::Store,
            Mbarrier::Test { .. } | Mbarrier::TestParity { .. } => WarpKind::Load,
            _ => WarpKind::Atomic,
        },
        bytes: BYTES,
    };
    deliver(warp, sink, record, NamedSpace::Shared, done);
    Ok(())
}

/// Whether the lane's access is one that may be done.
fn one_lane(
    memory: &mut BlockMemory<'_>,
    warp: &mut Warp,
    op: &MbarrierOp,
    lane: usize,
) -> Result<bool, Box<Fault>> {
    let place = (warp.addresses[lane], lane);
    let number = |slot: u32| warp.registers.narrow[slot as usize].0[lane];
    match op.step {
        Mbarrier::Test { state, result } => {
            let was_odd = warp.registers.wide[state as usize].0[lane] >> 63 != 0;
            test(memory, warp, place, was_odd, result)
        }
        Mbarrier::TestParity { parity, result } => {
            let was_odd = number(parity) & 1 != 0;
            test(memory, warp, place, was_odd, result)
        }
        Mbarrier::Arrive {
            count,
            bytes,
            drops,
            state,
        } => {
            let bytes = bytes.map_or(0, |slot| i64::from(number(slot)));
            arrive(memory, warp, place, (number(count), bytes, drops), state)
        }
        step => {
            // What the step is given, as far as it is given something.
            let given = match step {
                Mbarrier::Init { count: slot }
                | Mbarrier::Expect { bytes: slot }
                | Mbarrier::Complete { bytes: slot } => number(slot),
                _ => 0,
            };
            let changed = change(memory, warp, place, |barrier| match step {
                Mbarrier::Init { .. } => barrier.begin(given),
                Mbarrier::Expect { .. } => barrier.expect(i64::from(given)),
                Mbarrier::Complete { .. } => barrier.expect(-i64::from(given)),
                // Its copies are done. An arrival that the barrier would have waited for besides
                // has come, too.
                Mbarrier::AfterCopies { counts: true } => barrier.arrive(1, false),
                Mbarrier::Invalidate => {
                    // What is left waits for a byte that never comes.
                    *barrier = MbarrierState::read(0);
                    barrier.expect(1)
                }
                _ => Ok(()),
            });
            changed.map(|before| before.is_some())
        }
    }
}

/// `count` threads arrive, after the phase is made to wait for `bytes` more. What the barrier was
/// goes to the register `state`. Whether the access may be done.
fn arrive(
    memory: &mut BlockMemory<'_>,
    warp: &mut Warp,
    place: (u64, usize),
    (count, bytes, drops): (u32, i64, bool),
    state: u32,
) -> Result<bool, Box<Fault>> {
    let before = change(memory, warp, place, |barrier| {
        barrier.expect(bytes)?;
        barrier.arrive(count, drops)
    })?;
    if let Some(before) = before {
        warp.registers.wide[state as usize].0[place.1] = before.word();
    }
    Ok(before.is_some())
}

/// Changes a barrier, which may end its phase. Returns what it was; none if the access is left out.
fn change(
    memory: &mut BlockMemory<'_>,
    warp: &mut Warp,
    (address, lane): (u64, usize),
    step: impl FnOnce(&mut MbarrierState) -> Result<(), String>,
) -> Result<Option<MbarrierState>, Box<Fault>> {
    let (space, lane_number) = (NamedSpace::Shared, lane as u32);
    if !memory.allows(
        space,
        warp,
        address,
        u64::from(BYTES),
        lane_number,
        "barrier",
    )? {
        return Ok(None);
    }
    if let Some(races) = &mut memory.races {
        let moment = (warp.id, warp.syncs, warp.position);
        races.atomic(space, address, u64::from(BYTES), moment, lane_number)?;
    }
    let before = MbarrierState::read(memory.read(space, warp, address, BYTES, lane));
    let mut state = before;
    step(&mut state).map_err(|what| Fault::new(FaultKind::Barrier, Some(lane_number), what))?;
    let clock = memory.arrivals.0.entry(address).or_default();
    clock.arrived = clock.arrived.max(warp.phase);
    if state.ends_phase() {
        *clock = ArrivalClock {
            arrived: 0,
            passed: clock.arrived.saturating_add(1),
        };
        // For all warps, also those that did not arrive: races may be missed, and none is invented.
        if let Some(races) = &mut memory.races {
            races.barrier();
        }
    }
    memory.write(space, warp, address, BYTES, state.word(), lane);
    Ok(Some(before))
}

/// Bytes of a bulk copy have arrived for a barrier.
pub fn complete(
    memory: &mut BlockMemory<'_>,
    warp: &mut Warp,
    place: (u64, usize),
    bytes: u32,
) -> Result<(), Box<Fault>> {
    change(memory, warp, place, |state| state.expect(-i64::from(bytes))).map(drop)
}

/// Asks whether the phase of that parity has ended: it is no longer the running one.
fn test(
    memory: &mut BlockMemory<'_>,
    warp: &mut Warp,
    (address, lane): (u64, usize),
    was_odd: bool,
    result: u32,
) -> Result<bool, Box<Fault>> {
    let (space, lane_number) = (NamedSpace::Shared, lane as u32);
    let is_there = memory.allows(
        space,
        warp,
        address,
        u64::from(BYTES),
        lane_number,
        "barrier",
    )?;
    // A barrier out of bounds does not hold up the kernel for ever.
    let has_ended = !is_there
        || MbarrierState::read(memory.read(space, warp, address, BYTES, lane)).is_odd != was_odd;
    let predicate = &mut warp.registers.predicates[result as usize];
    *predicate = *predicate & !(1 << lane) | u32::from(has_ended) << lane;
    if has_ended && let Some(clock) = memory.arrivals.0.get(&address) {
        warp.enter_phase(clock.passed);
    }
    Ok(is_there)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn states_are_read_back(
            pending in 0..=MOST, expected in 0..=MOST, bytes in -(MOST as i32)..=MOST as i32,
            is_odd in any::<bool>(),
        ) {
            let state = MbarrierState { pending, expected, bytes, is_odd };
            prop_assert_eq!(MbarrierState::read(state.word()), state);
        }
    }
}
