//! The buffer that hooks write into: [`RingControl`] is the variable that names it, and
//! [`read_ring`] makes a stream of warps of its bytes.
//!
//! Records are in the order in which warps reserved room. A warp reserves room for its instructions
//! in the order in which it executes them, so that is the order of each warp; the order of warps
//! and blocks is whatever it was. [`read_ring`] gives them by block, then warp, then position.

use std::collections::BTreeSet;

use reuselens_trace::TraceError;
use reuselens_warp::{Launch, Space, WarpBatch, WarpKind, WarpRow, WarpSource, WarpStep};

use crate::counts::SiteCounts;
use crate::site::{HookKind, HookedSite, Instrumented};

/// Bytes of a record before its addresses.
pub const PLAIN_HEAD: u64 = 16;
/// The same of a generic access, and of a branch.
pub const LONG_HEAD: u64 = 32;

/// Bytes of the variable of a module.
pub const CONTROL_BYTES: usize = 40;

/// The variable of a module with hooks: five numbers of 64 bits, little-endian.
///
/// The host writes it before a launch, as [`RingControl::empty`] is, and reads it after the launch.
/// As it is in the PTX, all are 0: a kernel writes no records then, and counts them as lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RingControl {
    /// Address of the buffer, a multiple of 16.
    pub address: u64,
    /// Bytes of the buffer; hooks never write beyond.
    pub capacity: u64,
    /// Bytes that warps have reserved; more than `capacity` if records were lost.
    pub reserved: u64,
    /// Records for which there was no room.
    pub lost: u64,
    /// Where the first of those would have begun, in bytes from the beginning of the buffer; all
    /// ones if none was lost.
    pub first_lost: u64,
}

impl RingControl {
    /// A buffer without records.
    pub fn empty(address: u64, capacity: u64) -> RingControl {
        RingControl {
            address,
            capacity,
            first_lost: u64::MAX,
            ..RingControl::default()
        }
    }

    /// The bytes of the variable.
    pub fn to_bytes(self) -> [u8; CONTROL_BYTES] {
        let mut bytes = [0; CONTROL_BYTES];
        let numbers = [
            self.address,
            self.capacity,
            self.reserved,
            self.lost,
            self.first_lost,
        ];
        for (place, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// What the bytes of the variable say.
    pub fn from_bytes(bytes: &[u8; CONTROL_BYTES]) -> RingControl {
        let number = |at: usize| u64_at(bytes, at).unwrap_or_default();
        RingControl {
            address: number(0),
            capacity: number(8),
            reserved: number(16),
            lost: number(24),
            first_lost: number(32),
        }
    }

    /// Bytes of the buffer that have records: what was reserved, up to the first record that was
    /// lost.
    pub fn written(self) -> u64 {
        let room = self.capacity.min(self.first_lost);
        self.reserved.min(room)
    }
}

/// A buffer that has what no hook writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "byte {at} of the buffer is no record: {what}; the kernel did not run to its end, wrote there itself, or is not the one with these hooks"
)]
pub struct RingError {
    /// Where the record begins.
    pub at: u64,
    /// What is wrong.
    pub what: &'static str,
}

/// Where a record is, and what orders it.
#[derive(Clone, Copy, Debug)]
pub struct RecordPlace {
    pub block: u32,
    pub warp: u32,
    pub at: usize,
}

/// The records of one launch: a source of a stream of warps.
///
/// Memory: 16 bytes a record beside the buffer.
#[derive(Debug)]
pub struct RingStream<'a> {
    records: RingRecords<'a>,
    launch: Option<Launch>,
    entries: Vec<RecordPlace>,
    next: usize,
    last: LastRecord,
    lost: u64,
    counts: Vec<SiteCounts>,
}

/// Where the record before was in its warp.
#[derive(Clone, Copy, Debug, Default)]
struct LastRecord {
    block: u32,
    warp: u32,
    phase: u32,
    position: u64,
}

/// Reads the buffer of a launch. `bytes` are those of the buffer, from its address on: as many as
/// were reserved, or all. Phases count the barriers of all warps of a block; positions count the
/// memory instructions of a warp in a phase.
///
/// # Errors
/// A buffer that has what no hook writes.
///
/// Cost: two passes over the bytes, and a sort of the records by block and warp.
pub fn read_ring<'a>(
    instrumented: &'a Instrumented,
    launch: Launch,
    control: RingControl,
    bytes: &'a [u8],
) -> Result<RingStream<'a>, RingError> {
    let records = RingRecords::new(instrumented, control, bytes);
    let mut counts = vec![SiteCounts::default(); instrumented.sites.len()];
    let mut entries = Vec::new();
    records.each(&launch, |place, record| {
        records.count(record, launch.block.count(), &mut counts);
        let kind = records.sites[record.site as usize].kind;
        if matches!(kind, HookKind::Access { .. } | HookKind::Barrier) {
            entries.push(place);
        }
    })?;
    // Stable, so each warp's records stay in the order in which it reserved their room.
    entries.sort_by_key(|entry| (entry.block, entry.warp));
    Ok(RingStream {
        records,
        launch: Some(launch),
        entries,
        next: 0,
        last: LastRecord::default(),
        lost: control.lost,
        counts,
    })
}

/// A record as it is in the buffer.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    pub site: u32,
    pub mask: u32,
    pub block: u32,
    pub warp: u32,
    /// Of a generic access the lanes that go to shared memory, and to local memory; of a branch or
    /// guard the lanes that take it, and none.
    pub others: [u32; 2],
    /// Where its addresses begin, or where its lanes go.
    addresses: usize,
    end: usize,
}

/// The records of a buffer.
#[derive(Clone, Copy, Debug)]
pub struct RingRecords<'a> {
    pub sites: &'a [HookedSite],
    bytes: &'a [u8],
}

impl<'a> RingRecords<'a> {
    /// The records that a kernel has written.
    pub fn new(instrumented: &'a Instrumented, control: RingControl, bytes: &'a [u8]) -> Self {
        let end = control.written().min(bytes.len() as u64) as usize;
        RingRecords {
            sites: &instrumented.sites,
            bytes: &bytes[..end],
        }
    }

    /// Shows all records, in the order in which their room was reserved.
    ///
    /// # Errors
    /// A buffer that has what no hook of this launch writes.
    pub fn each(
        &self,
        launch: &Launch,
        mut take: impl FnMut(RecordPlace, &Record),
    ) -> Result<(), RingError> {
        let mut at = 0;
        while at < self.bytes.len() {
            let Some(record) = self.record(at)? else {
                break;
            };
            let Record { block, warp, .. } = record;
            if u64::from(block) >= launch.grid.count() || u64::from(warp) >= launch.warps() {
                let what = "the launch has no such warp";
                return Err(RingError {
                    at: at as u64,
                    what,
                });
            }
            take(RecordPlace { block, warp, at }, &record);
            at = record.end;
        }
        Ok(())
    }

    /// Counts a record; blocks have `threads` threads.
    fn count(&self, record: &Record, threads: u64, counts: &mut [SiteCounts]) {
        let taken = match self.sites[record.site as usize].kind {
            HookKind::Branch | HookKind::IndirectBranch | HookKind::Guard => record.others[0],
            _ => record.mask,
        };
        let is_split = taken != 0 && taken != record.mask;
        let is_mixed = match self.sites[record.site as usize].kind {
            HookKind::Block | HookKind::Barrier => {
                let present = threads.saturating_sub(32 * u64::from(record.warp)).min(32);
                u64::from(record.mask.count_ones()) != present
            }
            HookKind::Branch | HookKind::Guard | HookKind::Access { .. } => is_split,
            HookKind::IndirectBranch => is_split || self.places(record, taken) > 1,
        };
        let count = &mut counts[record.site as usize];
        count.warps += 1;
        count.mixed += u64::from(is_mixed);
        count.threads += u64::from(record.mask.count_ones());
        count.taken += u64::from(taken.count_ones());
    }

    /// How many places the lanes that take an indirect branch or call go to.
    pub fn places(&self, record: &Record, taken: u32) -> usize {
        let lanes = (0..32).filter(|lane| record.mask >> lane & 1 != 0);
        let places = lanes.enumerate().filter_map(|(place, lane)| {
            let goes = taken >> lane & 1 != 0;
            goes.then(|| u64_at(self.bytes, record.addresses + 8 * place))
        });
        places.collect::<BTreeSet<_>>().len()
    }

    /// The record there; none if the bytes end before its end.
    pub fn record(&self, at: usize) -> Result<Option<Record>, RingError> {
        let wrong = |what| RingError {
            at: at as u64,
            what,
        };
        let word = |number: usize| u32_at(self.bytes, at + 4 * number);
        let head = word(0).zip(word(1)).zip(word(2).zip(word(3)));
        let Some(((site, mask), (block, warp))) = head else {
            return Ok(None);
        };
        let Some(known) = self.sites.get(site as usize) else {
            return Err(wrong("there is no such site"));
        };
        let (head, lanes) = match known.kind {
            HookKind::Block | HookKind::Barrier => (PLAIN_HEAD, 0),
            HookKind::Branch | HookKind::Guard => (LONG_HEAD, 0),
            HookKind::IndirectBranch | HookKind::Access { space: None, .. } => {
                (LONG_HEAD, mask.count_ones())
            }
            HookKind::Access { .. } => (PLAIN_HEAD, mask.count_ones()),
        };
        let end = at + head as usize + (8 * lanes as usize).next_multiple_of(16);
        if end > self.bytes.len() {
            return Ok(None);
        }
        // Whoever reserved room has a lane, so this room was never written.
        if mask == 0 {
            return Err(wrong("no lane takes part"));
        }
        let mut others = [0; 2];
        if head == LONG_HEAD {
            others = [word(4), word(5)].map(Option::unwrap_or_default);
        }
        if others[0] & others[1] != 0 || (others[0] | others[1]) & !mask != 0 {
            return Err(wrong("a lane goes to two places"));
        }
        Ok(Some(Record {
            site,
            mask,
            block,
            warp,
            others,
            addresses: at + head as usize,
            end,
        }))
    }

    /// The accesses of a record: one for each space.
    pub fn accesses(&self, record: &Record, mut take: impl FnMut(RingAccess)) {
        let HookKind::Access { space, kind, bytes } = self.sites[record.site as usize].kind else {
            return;
        };
        let [shared, local] = record.others;
        let parts = match space {
            Some(space) => [(space, record.mask), (space, 0), (space, 0)],
            None => [
                (Space::Global, record.mask & !(shared | local)),
                (Space::Shared, shared),
                (Space::Local, local),
            ],
        };
        for (space, mask) in parts {
            if mask != 0 {
                let (addresses, count) = self.addresses(record, space, mask);
                take(RingAccess {
                    space,
                    mask,
                    kind,
                    bytes,
                    addresses,
                    count,
                });
            }
        }
    }

    fn addresses(&self, record: &Record, space: Space, mask: u32) -> ([u64; 32], usize) {
        // Addresses of shared and local memory have 32 bits, whatever register they are in.
        let kept = match space {
            Space::Shared | Space::Local => u64::from(u32::MAX),
            _ => u64::MAX,
        };
        let (mut addresses, mut count) = ([0; 32], 0);
        let lanes = (0..32).filter(|lane| record.mask >> lane & 1 != 0);
        for (place, lane) in lanes.enumerate() {
            if mask >> lane & 1 != 0 {
                let address = u64_at(self.bytes, record.addresses + 8 * place);
                addresses[count] = address.unwrap_or_default() & kept;
                count += 1;
            }
        }
        (addresses, count)
    }
}

/// An access of a warp to one space.
#[derive(Clone, Copy, Debug)]
pub struct RingAccess {
    pub space: Space,
    pub mask: u32,
    pub kind: WarpKind,
    pub bytes: u8,
    addresses: [u64; 32],
    count: usize,
}

impl RingAccess {
    /// The addresses of the lanes of the mask.
    pub fn addresses(&self) -> &[u64] {
        &self.addresses[..self.count]
    }
}

impl RingStream<'_> {
    /// Records that were lost, for the buffer was full.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// What the records come to, for each site. Of a memory instruction, warps of which no thread
    /// accesses anything have no record, and only threads that access something are in one.
    pub fn counts(&self) -> &[SiteCounts] {
        &self.counts
    }

    /// Adds the rows of a record: one for each space. After a barrier a phase begins.
    fn rows(&mut self, record: &Record, batch: &mut WarpBatch) {
        let (block, warp) = (record.block, record.warp);
        let last = &mut self.last;
        if (last.block, last.warp) != (block, warp) {
            *last = LastRecord {
                block,
                warp,
                ..LastRecord::default()
            };
        }
        if self.records.sites[record.site as usize].kind == HookKind::Barrier {
            last.phase += 1;
            last.position = 0;
        }
        self.records.accesses(record, |access| {
            last.position += 1;
            batch.push_row(&WarpRow {
                site: record.site,
                phase: last.phase,
                position: last.position,
                block,
                warp,
                mask: access.mask,
                space: access.space,
                kind: access.kind,
                bytes: access.bytes,
                addresses: access.addresses(),
            });
        });
    }
}

impl WarpSource for RingStream<'_> {
    fn next(&mut self, batch: &mut WarpBatch) -> Result<WarpStep, TraceError> {
        if let Some(launch) = self.launch.take() {
            return Ok(WarpStep::Launch(launch));
        }
        batch.clear();
        while let Some(entry) = self.entries.get(self.next) {
            if batch.is_full() {
                break;
            }
            // It was read once already.
            if let Ok(Some(record)) = self.records.record(entry.at) {
                self.rows(&record, batch);
            }
            self.next += 1;
        }
        Ok(if batch.is_empty() {
            WarpStep::End
        } else {
            WarpStep::Batch
        })
    }

    fn describe(&self) -> String {
        "records of hooks in a kernel".to_owned()
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*bytes))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u64::from_le_bytes(*bytes))
}
