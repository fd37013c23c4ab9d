//! [`Races`]: finds accesses of two threads of a block to the same bytes that nothing orders. In
//! use only if [`Options::check_races`](crate::Options::check_races) is set.
//!
//! Two accesses of different threads are a race if one of them writes, not both are atomic, and
//! there is neither a barrier of the block between them nor, within a warp, a synchronisation of
//! the warp. A store of the value that memory already holds is no race.

use std::collections::HashMap;

use crate::decode::kernel::NamedSpace;

use super::fault::{Fault, FaultKind};

/// Who accessed a byte.
#[derive(Clone, Copy, Debug)]
struct ByteAccess {
    warp: u32,
    lane: u32,
    /// Barriers of the block before it, and synchronisations of its warp.
    interval: u32,
    syncs: u32,
    /// Which memory instruction of its warp: lanes that do it together are compared by their
    /// values.
    position: u64,
    is_atomic: bool,
}

/// A warp where it is: its number, how often its lanes have waited for each other, and its memory
/// instructions so far.
pub type Moment = (u32, u32, u64);

/// What is known of a byte: the last write, and reads by up to two threads.
#[derive(Clone, Copy, Debug, Default)]
struct ByteHistory {
    write: Option<ByteAccess>,
    reads: [Option<ByteAccess>; 2],
}

/// Bytes of shared and global memory that a block has accessed.
#[derive(Debug, Default)]
pub struct Races {
    cells: HashMap<(bool, u64), ByteHistory>,
    interval: u32,
}

impl Races {
    /// All warps have met, or as many as a barrier in shared memory waits for: what comes later is
    /// no race with what came before. In the second case, races with other warps may be missed.
    pub fn barrier(&mut self) {
        self.interval += 1;
    }

    /// A new block.
    pub fn clear(&mut self) {
        self.cells.clear();
        self.interval = 0;
    }

    /// Notes an access. `within` is another lane that writes something else there with the same
    /// instruction.
    #[allow(
        clippy::too_many_arguments,
        reason = "an access has as many properties"
    )]
    pub fn access(
        &mut self,
        space: NamedSpace,
        address: u64,
        bytes: u64,
        (warp, syncs, position): Moment,
        lane: u32,
        is_store: bool,
        changes: bool,
        within: Option<usize>,
    ) -> Result<(), Box<Fault>> {
        if let Some(other) = within {
            let what = format!(
                "a race: lanes {other} and {lane} of the warp write different values to {address:#x}"
            );
            return Err(Fault::new(FaultKind::Race, Some(lane), what));
        }
        if is_store && !changes {
            return Ok(());
        }
        let access = ByteAccess {
            warp,
            lane,
            interval: self.interval,
            syncs,
            position,
            is_atomic: false,
        };
        self.note(space, address, bytes, access, is_store)
    }

    /// Notes an atomic operation.
    pub fn atomic(
        &mut self,
        space: NamedSpace,
        address: u64,
        bytes: u64,
        warp: Moment,
        lane: u32,
    ) -> Result<(), Box<Fault>> {
        let access = ByteAccess {
            warp: warp.0,
            lane,
            interval: self.interval,
            syncs: warp.1,
            position: warp.2,
            is_atomic: true,
        };
        self.note(space, address, bytes, access, true)
    }

    fn note(
        &mut self,
        space: NamedSpace,
        address: u64,
        bytes: u64,
        access: ByteAccess,
        writes: bool,
    ) -> Result<(), Box<Fault>> {
        for byte in address..address + bytes {
            let cell = self
                .cells
                .entry((space == NamedSpace::Shared, byte))
                .or_default();
            let mut others = cell
                .write
                .into_iter()
                .chain(cell.reads.into_iter().flatten().filter(|_| writes));
            if let Some(other) = others.find(|other| is_race(other, &access)) {
                return Err(race(space, byte, &other, &access));
            }
            if writes {
                cell.write = Some(access);
                cell.reads = [None; 2];
            } else {
                remember(&mut cell.reads, access);
            }
        }
        Ok(())
    }
}

/// Keeps the newest read of up to two threads: if there is any third one, two of them are not of
/// the writer.
fn remember(reads: &mut [Option<ByteAccess>; 2], access: ByteAccess) {
    let same = |read: &Option<ByteAccess>| {
        read.is_none_or(|read| {
            (read.warp, read.lane) == (access.warp, access.lane) || read.interval != access.interval
        })
    };
    match reads.iter().position(same) {
        Some(index) => reads[index] = Some(access),
        None => reads[1] = Some(access),
    }
}

fn is_race(before: &ByteAccess, now: &ByteAccess) -> bool {
    let same_warp = before.warp == now.warp;
    before.interval == now.interval
        && !(same_warp
            && (before.lane == now.lane
                || before.syncs != now.syncs
                || before.position == now.position))
        && !(before.is_atomic && now.is_atomic)
}

#[cold]
fn race(space: NamedSpace, byte: u64, before: &ByteAccess, now: &ByteAccess) -> Box<Fault> {
    let memory = if space == NamedSpace::Shared {
        "shared"
    } else {
        "global"
    };
    let what = format!(
        "a race: the byte at {byte:#x} of {memory} memory was accessed by lane {} of warp {}, and nothing orders that and this access (lane {} of warp {}); put a barrier between",
        before.lane, before.warp, now.lane, now.warp
    );
    Fault::new(FaultKind::Race, Some(now.lane), what)
}
