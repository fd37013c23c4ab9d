//! Instructions by which the lanes of a warp exchange values: votes, shuffles, matches, reductions.
//! A lane that is named and is on another path is an error.

use crate::decode::kernel::{Collective, CollectiveKind};
use crate::lanes::WARP;

use super::atomic::combine;
use super::fault::{Fault, FaultKind};
use super::warp::Warp;

/// Does it for the lanes of the mask.
#[inline(never)]
pub fn run(warp: &mut Warp, op: &Collective, mask: u32) -> Result<(), Box<Fault>> {
    names_itself(warp, op, mask)?;
    let missing = missing(warp, op, mask);
    if let Some((lane, other)) = missing {
        // On GPUs since Volta, the others run meanwhile. Values are exchanged where all are.
        if op.kind == CollectiveKind::Sync {
            return warp.wait_for_lanes(op, mask);
        }
        return Err(not_here(warp, op, lane, other));
    }
    // Groups with masks of their own do the same at the same time; each lane's group is its own
    // mask.
    let members = mask;
    if op.members.is_some() {
        warp.syncs += 1;
    }
    match op.kind {
        CollectiveKind::Sync => {}
        CollectiveKind::ActiveMask => fill(warp, op.result, mask, mask),
        CollectiveKind::VoteAll
        | CollectiveKind::VoteAny
        | CollectiveKind::VoteUniform
        | CollectiveKind::Ballot => vote(warp, op, mask, members),
        CollectiveKind::ShuffleUp
        | CollectiveKind::ShuffleDown
        | CollectiveKind::ShuffleXor
        | CollectiveKind::ShuffleIndex => shuffle(warp, op, mask, members),
        CollectiveKind::MatchAny | CollectiveKind::MatchAll => find_equal(warp, op, mask, members),
        CollectiveKind::Reduce(function, ty) => {
            let row = warp.registers.narrow[op.a as usize].0;
            for_groups(warp, op, mask, |warp, group| {
                let values = lanes(group).map(|lane| u64::from(row[lane]));
                let sum = values.reduce(|sum, value| combine(function, ty, sum, value));
                fill(warp, op.result, sum.unwrap_or(0) as u32, group);
            });
        }
        CollectiveKind::Elect => for_groups(warp, op, mask, |warp, group| {
            let leader = group.trailing_zeros();
            fill(warp, op.result, leader, group);
            truth(warp, op.predicate, 1 << leader, group);
        }),
    }
    Ok(())
}

fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..WARP).filter(move |lane| mask >> lane & 1 != 0)
}

/// Demands that lanes are among those that they name.
fn names_itself(warp: &Warp, op: &Collective, mask: u32) -> Result<(), Box<Fault>> {
    let Some(slot) = op.members else {
        return Ok(());
    };
    let row = &warp.registers.narrow[slot as usize].0;
    let Some(lane) = lanes(mask).find(|&lane| row[lane] >> lane & 1 == 0) else {
        return Ok(());
    };
    let what = format!(
        "the mask {:#010x} does not name the lane {lane} itself",
        row[lane]
    );
    Err(Fault::new(FaultKind::Convergence, Some(lane as u32), what))
}

/// The first lane that names one on another path, and that one.
fn missing(warp: &Warp, op: &Collective, mask: u32) -> Option<(usize, u32)> {
    let row = &warp.registers.narrow[op.members? as usize].0;
    let away = warp.alive & !mask;
    let lane = lanes(mask).find(|&lane| row[lane] & away != 0)?;
    Some((lane, (row[lane] & away).trailing_zeros()))
}

#[cold]
fn not_here(warp: &Warp, op: &Collective, lane: usize, other: u32) -> Box<Fault> {
    let row = op
        .members
        .map(|slot| warp.registers.narrow[slot as usize].0[lane]);
    let what = format!(
        "the mask {:#010x} names lane {other}, which is on another path; call it where all of those lanes are",
        row.unwrap_or_default(),
    );
    Fault::new(FaultKind::Convergence, Some(lane as u32), what)
}

/// The lanes with which a lane takes part.
fn group(warp: &Warp, op: &Collective, lane: usize, here: u32) -> u32 {
    op.members.map_or(here, |slot| {
        warp.registers.narrow[slot as usize].0[lane] & here
    })
}

/// Calls a function for the lanes of each group: those of `mask` whose mask of members is equal.
/// The slot of the masks may be that of the result, so they are read before the first call.
fn for_groups(warp: &mut Warp, op: &Collective, mask: u32, mut each: impl FnMut(&mut Warp, u32)) {
    let groups: [u32; WARP] = std::array::from_fn(|lane| group(warp, op, lane, mask));
    let mut left = mask;
    while left != 0 {
        let first = groups[left.trailing_zeros() as usize];
        let equal = lanes(left).filter(|&lane| groups[lane] == first);
        let group = equal.fold(0, |group, lane| group | 1 << lane);
        each(warp, group);
        left &= !group;
    }
}

fn fill(warp: &mut Warp, slot: u32, value: u32, mask: u32) {
    for lane in lanes(mask) {
        warp.registers.narrow[slot as usize].0[lane] = value;
    }
}

fn truth(warp: &mut Warp, slot: Option<u32>, bits: u32, mask: u32) {
    if let Some(slot) = slot {
        let predicate = &mut warp.registers.predicates[slot as usize];
        *predicate = *predicate & !mask | bits & mask;
    }
}

fn vote(warp: &mut Warp, op: &Collective, mask: u32, here: u32) {
    let source = warp.registers.predicates[op.a as usize];
    let mut bits = 0;
    let mut ballots = [0; WARP];
    for lane in lanes(mask) {
        let group = group(warp, op, lane, here);
        let set = source & group;
        ballots[lane] = set;
        let holds = match op.kind {
            CollectiveKind::VoteAll => set == group,
            CollectiveKind::VoteAny => set != 0,
            _ => set == 0 || set == group,
        };
        bits |= u32::from(holds) << lane;
    }
    if op.kind != CollectiveKind::Ballot {
        return truth(warp, Some(op.result), bits, mask);
    }
    for lane in lanes(mask) {
        warp.registers.narrow[op.result as usize].0[lane] = ballots[lane];
    }
}

/// `shfl`, as the instruction's pseudocode in *PTX ISA* has it.
fn shuffle(warp: &mut Warp, op: &Collective, mask: u32, here: u32) {
    let values = warp.registers.narrow[op.a as usize].0;
    let distances = warp.registers.narrow[op.b as usize].0;
    let limits = warp.registers.narrow[op.c as usize].0;
    let mut bits = 0;
    let mut results = values;
    for lane in lanes(mask) {
        let (distance, limit) = (distances[lane] & 31, limits[lane] & 31);
        let segment = limits[lane] >> 8 & 31;
        let own = lane as u32;
        let last = own & segment | limit & !segment;
        let first = own & segment;
        let (source, inside) = match op.kind {
            CollectiveKind::ShuffleUp => (
                own.wrapping_sub(distance),
                own as i32 - distance as i32 >= last as i32,
            ),
            CollectiveKind::ShuffleDown => (own + distance, own + distance <= last),
            CollectiveKind::ShuffleXor => (own ^ distance, own ^ distance <= last),
            _ => (
                first | distance & !segment,
                (first | distance & !segment) <= last,
            ),
        };
        // A lane that is not here has nothing to give: the value is open, and stays its own.
        let gives = inside && here >> (source & 31) & 1 != 0;
        results[lane] = values[if gives { source as usize & 31 } else { lane }];
        bits |= u32::from(inside) << lane;
    }
    for lane in lanes(mask) {
        warp.registers.narrow[op.result as usize].0[lane] = results[lane];
    }
    truth(warp, op.predicate, bits, mask);
}

fn find_equal(warp: &mut Warp, op: &Collective, mask: u32, here: u32) {
    let values: [u64; WARP] = std::array::from_fn(|lane| {
        if op.wide {
            warp.registers.wide[op.a as usize].0[lane]
        } else {
            u64::from(warp.registers.narrow[op.a as usize].0[lane])
        }
    });
    let mut bits = 0;
    let mut results = [0; WARP];
    for lane in lanes(mask) {
        let group = group(warp, op, lane, here);
        let equal = lanes(group).filter(|&other| values[other] == values[lane]);
        let equal = equal.fold(0, |equal, other| equal | 1 << other);
        let all = equal == group;
        results[lane] = if op.kind == CollectiveKind::MatchAny || all {
            equal
        } else {
            0
        };
        bits |= u32::from(all) << lane;
    }
    for lane in lanes(mask) {
        warp.registers.narrow[op.result as usize].0[lane] = results[lane];
    }
    truth(warp, op.predicate, bits, mask);
}
