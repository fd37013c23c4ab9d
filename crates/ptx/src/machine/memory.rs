//! [`BlockMemory`]: memory as the threads of a block see it, device and shared. Addresses are
//! checked here; what the block writes to the device's memory goes into its overlay.

use std::cell::RefCell;

use crate::decode::kernel::{MemoryOp, NamedSpace};
use crate::lanes::WARP;

use super::access::PlacedSpan;
use super::cooperative::GridBarrier;
use super::device_memory::{DeviceMemory, PAGE};
use super::fault::{Fault, FaultKind};
use super::flow::FlowCell;
use super::heap::Heap;
use super::mbarrier::ArrivalClocks;
use super::overlay::Overlay;
use super::races::Races;
use super::skipped::SkippedLog;
use super::warp::Warp;
use super::windows;

/// All memory that the threads of a block can access, except each thread's local memory, which is
/// in [`Warp`].
#[derive(Debug)]
pub struct BlockMemory<'a> {
    pub device: &'a DeviceMemory,
    pub overlay: Overlay,
    pub shared: Vec<u8>,
    pub params: &'a [u8],
    /// Number of the block.
    pub block: u32,
    /// Other blocks run at the same time, and see what this one writes.
    pub has_neighbours: bool,
    /// The grid barrier of a cooperative launch.
    pub grid: GridBarrier,
    pub races: Option<Box<Races>>,
    /// What is left out where kernels go on after a bad access; none where they are stopped.
    pub skipped: Option<RefCell<SkippedLog>>,
    /// What barriers in shared memory have ordered.
    pub arrivals: ArrivalClocks,
    /// What kernels allocate from.
    pub heap: Heap,
    /// Bytes that calls of the block may still keep: see [`call`](super::call).
    pub call_room: u64,
    /// What `printf` has printed.
    pub printed: Vec<u8>,
    /// Of each of the kernel's probes.
    pub flow: Vec<FlowCell>,
}

impl BlockMemory<'_> {
    /// Loads a value for each lane, whose addresses all are in one buffer.
    #[inline(always)]
    pub fn load_row<const N: usize, T: Copy>(
        &self,
        addresses: &[u64; WARP],
        placed: &PlacedSpan,
        row: &mut [T; WARP],
        from: impl Fn([u8; N]) -> T,
    ) -> bool {
        let base = self.device.bytes();
        if placed.is_run
            && let Some(bytes) = self.overlay.run(base, placed.start, N * WARP)
        {
            for (value, piece) in row.iter_mut().zip(bytes.as_chunks::<N>().0) {
                *value = from(*piece);
            }
            return true;
        }
        if placed.is_one {
            *row = [from(self.overlay.read(base, placed.start)); WARP];
            return true;
        }
        if self.overlay.is_clean() {
            for (value, &address) in row.iter_mut().zip(addresses) {
                let offset = (address - windows::GLOBAL) as usize;
                *value = from(base[offset..offset + N].try_into().unwrap_or([0; N]));
            }
            return true;
        }
        for (value, &address) in row.iter_mut().zip(addresses) {
            *value = from(
                self.overlay
                    .read(base, (address - windows::GLOBAL) as usize),
            );
        }
        true
    }

    /// Stores a value for each lane, the last lane last.
    #[inline(always)]
    pub fn store_row<const N: usize, T: Copy>(
        &mut self,
        addresses: &[u64; WARP],
        placed: &PlacedSpan,
        row: &[T; WARP],
        to: impl Fn(T) -> [u8; N],
    ) -> bool {
        let base = self.device.bytes();
        let within = placed.start % PAGE;
        if placed.is_run && within + N * WARP <= PAGE {
            let page = self.overlay.page(base, placed.start);
            let bytes = &mut page[within..within + N * WARP];
            for (piece, value) in bytes.as_chunks_mut::<N>().0.iter_mut().zip(row) {
                *piece = to(*value);
            }
            return true;
        }
        for (value, &address) in row.iter().zip(addresses) {
            let offset = (address - windows::GLOBAL) as usize;
            let page = self.overlay.page(base, offset);
            page[offset % PAGE..offset % PAGE + N].copy_from_slice(&to(*value));
        }
        true
    }

    /// Whether a lane may do an access: it is aligned and goes to what is there. If not, that is an
    /// error, or, where kernels go on, counted: the access has to be left out.
    #[inline(always)]
    pub fn allows(
        &self,
        space: NamedSpace,
        warp: &Warp,
        address: u64,
        bytes: u64,
        lane: u32,
        what: &str,
    ) -> Result<bool, Box<Fault>> {
        // Vectors have sizes that are powers of two.
        if self.has(space, warp, address, bytes) && address & (bytes - 1) == 0 {
            return Ok(true);
        }
        self.skips(warp, || {
            let mut fault = self.wrong(space, warp, address, bytes, what);
            fault.lane = Some(lane);
            fault
        })
    }

    /// Whether bytes are there.
    #[inline(always)]
    pub fn has(&self, space: NamedSpace, warp: &Warp, address: u64, bytes: u64) -> bool {
        let end = address.wrapping_add(bytes);
        match space {
            NamedSpace::Global | NamedSpace::Const | NamedSpace::Generic => {
                end > address && self.device.span(address, end).is_some()
            }
            NamedSpace::Shared => end > address && end <= self.shared.len() as u64,
            NamedSpace::Local => end > address && warp.has_local(address, end),
            NamedSpace::Param => end > address && end <= self.params.len() as u64,
        }
    }

    /// Counts that the running instruction leaves out a lane's access, where kernels go on: false,
    /// as the access may not be done.
    ///
    /// # Errors
    /// The fault, where they are stopped.
    #[cold]
    pub fn skips(
        &self,
        warp: &Warp,
        fault: impl FnOnce() -> Box<Fault>,
    ) -> Result<bool, Box<Fault>> {
        let Some(log) = &self.skipped else {
            return Err(fault());
        };
        // The warp's next operation is the one after that which is running.
        log.borrow_mut().add(warp.now.pc - 1, warp.id, fault);
        Ok(false)
    }

    fn wrong(
        &self,
        space: NamedSpace,
        warp: &Warp,
        address: u64,
        bytes: u64,
        what: &str,
    ) -> Box<Fault> {
        let (kind, what) = if self.has(space, warp, address, bytes) {
            let what = format!(
                "{} {what} of {bytes} bytes at {address:#x}, which is no multiple of {bytes}",
                article(what)
            );
            (FaultKind::Misaligned, what)
        } else {
            let what = self.beyond(space, warp, address, bytes, what);
            (FaultKind::OutOfBounds, what)
        };
        let fault = Fault::new(kind, None, what);
        match space {
            NamedSpace::Shared | NamedSpace::Local | NamedSpace::Param => fault,
            _ => fault.at(address),
        }
    }

    /// What is said of an access to what is not there.
    fn beyond(
        &self,
        space: NamedSpace,
        warp: &Warp,
        address: u64,
        bytes: u64,
        what: &str,
    ) -> String {
        let place = match space {
            NamedSpace::Shared => format!(
                "the block has {} bytes of shared memory; what the kernel does not declare itself is asked for at the launch (by <<<…, …, BYTES>>>, or --shared BYTES of gpu run)",
                self.shared.len()
            ),
            NamedSpace::Local => {
                let taken = warp.local_bytes - warp.local_low;
                format!(
                    "the thread has {} bytes of local memory",
                    warp.local_end + taken
                )
            }
            NamedSpace::Param => {
                format!("the kernel has {} bytes of parameters", self.params.len())
            }
            _ => self.device.describe(address),
        };
        let space = match space {
            NamedSpace::Shared => "shared",
            NamedSpace::Local => "local",
            NamedSpace::Param => "parameter",
            _ => "global",
        };
        format!(
            "{} {what} of {bytes} bytes at {address:#x} of {space} memory is out of bounds: {place}",
            article(what)
        )
    }

    /// Reads up to eight bytes that have been checked.
    #[inline(always)]
    pub fn read(
        &self,
        space: NamedSpace,
        warp: &Warp,
        address: u64,
        width: u8,
        lane: usize,
    ) -> u64 {
        let at = address as usize;
        match space {
            NamedSpace::Shared => number(&self.shared[at..at + usize::from(width)]),
            NamedSpace::Local => {
                number(&warp.local[warp.local_bytes as usize * lane + at..][..usize::from(width)])
            }
            NamedSpace::Param => number(&self.params[at..at + usize::from(width)]),
            _ => {
                let offset = (address - windows::GLOBAL) as usize;
                let bytes = self
                    .overlay
                    .run(self.device.bytes(), offset, usize::from(width));
                bytes.map_or(0, number)
            }
        }
    }

    /// Writes up to eight bytes that have been checked.
    #[inline(always)]
    pub fn write(
        &mut self,
        space: NamedSpace,
        warp: &mut Warp,
        address: u64,
        width: u8,
        value: u64,
        lane: usize,
    ) {
        let bytes = &value.to_le_bytes()[..usize::from(width)];
        let at = address as usize;
        match space {
            NamedSpace::Shared => self.shared[at..at + bytes.len()].copy_from_slice(bytes),
            NamedSpace::Local => {
                let own = warp.local_bytes as usize * lane;
                warp.local[own + at..][..bytes.len()].copy_from_slice(bytes);
            }
            NamedSpace::Param => {}
            _ => {
                let offset = (address - windows::GLOBAL) as usize;
                self.overlay.write(self.device.bytes(), offset, bytes);
            }
        }
    }

    /// Tells the search for races of an access of a lane to bytes of shared or global memory, which
    /// if it is a store counts as one that changes them.
    pub fn note_bytes(
        &mut self,
        space: NamedSpace,
        warp: &Warp,
        address: u64,
        bytes: u64,
        lane: usize,
        is_store: bool,
    ) -> Result<(), Box<Fault>> {
        let moment = (warp.id, warp.syncs, warp.position);
        match &mut self.races {
            Some(races) if space != NamedSpace::Local => {
                let lane = lane as u32;
                races.access(
                    space, address, bytes, moment, lane, is_store, is_store, None,
                )
            }
            _ => Ok(()),
        }
    }

    /// Tells the search for races of a load or store.
    pub fn note(
        &mut self,
        space: NamedSpace,
        warp: &mut Warp,
        bytes: u64,
        mask: u32,
        op: &MemoryOp,
    ) -> Result<(), Box<Fault>> {
        if space == NamedSpace::Local || space == NamedSpace::Param {
            return Ok(());
        }
        let Some(mut races) = self.races.take() else {
            return Ok(());
        };
        let mut found = Ok(());
        for lane in (0..WARP).filter(|lane| mask >> lane & 1 != 0) {
            let address = warp.addresses[lane];
            let changes = op.is_store && self.changes(space, warp, address, op, lane);
            let clashes = |other: usize| {
                op.is_store
                    && other < lane
                    && mask >> other & 1 != 0
                    && warp.addresses[other] == address
                    && {
                        let register = op.registers[0];
                        super::access::value(&warp.registers, register, other)
                            != super::access::value(&warp.registers, register, lane)
                    }
            };
            let within = (0..WARP).find(|&other| clashes(other));
            found = races.access(
                space,
                address,
                bytes,
                (warp.id, warp.syncs, warp.position),
                lane as u32,
                op.is_store,
                changes,
                within,
            );
            if found.is_err() {
                break;
            }
        }
        self.races = Some(races);
        found
    }

    /// Whether a store writes something else than what is there.
    fn changes(
        &self,
        space: NamedSpace,
        warp: &Warp,
        address: u64,
        op: &MemoryOp,
        lane: usize,
    ) -> bool {
        (0..op.count).any(|index| {
            let place = address + u64::from(index) * u64::from(op.width);
            let value =
                super::access::value(&warp.registers, op.registers[usize::from(index)], lane);
            let unused = 64 - 8 * u32::from(op.width);
            self.read(space, warp, place, op.width, lane) != value << unused >> unused
        })
    }
}

#[inline(always)]
fn number(bytes: &[u8]) -> u64 {
    match *bytes {
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_le_bytes([a, b])),
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        _ => u64::from_le_bytes(bytes.try_into().unwrap_or([0; 8])),
    }
}

/// `a load`, but `an atomic operation`.
fn article(what: &str) -> &'static str {
    if what.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    }
}
