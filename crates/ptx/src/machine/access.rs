//! Loads and stores of a warp. If all 32 lanes take part, are aligned and stay in one buffer, they
//! are done together; else lane by lane, with all checks. Both ways give the same result.

use crate::decode::kernel::{Address, MemoryOp, NamedSpace, Register};
use crate::lanes::{ALL, Registers, WARP};
use crate::sink::{BlockSink, WarpKind};

use super::delivery::{AccessRecord, deliver, in_each_space};
use super::fault::{Fault, FaultKind};
use super::memory::BlockMemory;
use super::warp::Warp;

/// The addresses of an access, of all lanes. Those of shared and local memory have 32 bits,
/// whatever register they are in, so `p[~i]` with an unsigned `i`, which clang adds in 64 bits,
/// wraps as it does on a GPU.
#[inline(always)]
pub fn addresses(
    registers: &Registers,
    address: &Address,
    space: NamedSpace,
    out: &mut [u64; WARP],
) {
    let offset = address.offset as u64;
    let kept = match space {
        NamedSpace::Shared | NamedSpace::Local => u64::from(u32::MAX),
        _ => u64::MAX,
    };
    match address.base {
        Some(Register { slot, wide: true }) => {
            let row = &registers.wide[slot as usize].0;
            for lane in 0..WARP {
                out[lane] = row[lane].wrapping_add(offset) & kept;
            }
        }
        Some(Register { slot, wide: false }) => {
            let row = &registers.narrow[slot as usize].0;
            for lane in 0..WARP {
                out[lane] = u64::from(row[lane].wrapping_add(offset as u32));
            }
        }
        None => *out = [offset & kept; WARP],
    }
}

/// What the addresses of all 32 lanes have in common.
struct AddressSpan {
    low: u64,
    high: u64,
    /// One after the other, without gaps.
    is_run: bool,
    /// Of the low bits, those that any address has, so that misaligned ones show.
    bits: u64,
}

/// Most accesses are runs, or all of one address. Two sums of differing bits find that, without
/// the minimum and maximum of 64-bit numbers, for which AVX2 has no instruction.
#[inline(always)]
fn shape(addresses: &[u64; WARP], bytes: u64) -> AddressSpan {
    let first = addresses[0];
    let (mut apart, mut uneven) = (0, 0);
    for (lane, &address) in addresses.iter().enumerate() {
        apart |= address ^ first;
        uneven |= address ^ first.wrapping_add(lane as u64 * bytes);
    }
    let length = if uneven == 0 {
        (WARP as u64 - 1) * bytes
    } else {
        0
    };
    // A run whose end is beyond the last address is none.
    if let Some(high) = first.checked_add(length)
        && (apart == 0 || uneven == 0)
    {
        return AddressSpan {
            low: first,
            high,
            is_run: uneven == 0,
            bits: first,
        };
    }
    scattered(addresses)
}

#[inline(always)]
fn scattered(addresses: &[u64; WARP]) -> AddressSpan {
    let first = addresses[0];
    let (mut low, mut high, mut bits) = (first, first, 0);
    for &address in addresses {
        low = low.min(address);
        high = high.max(address);
        bits |= address;
    }
    AddressSpan {
        low,
        high,
        is_run: false,
        bits,
    }
}

/// Does a load or store for the lanes of the mask.
#[inline(always)]
pub fn memory<B: BlockSink>(
    memory: &mut BlockMemory<'_>,
    warp: &mut Warp,
    sink: &mut B,
    op: &MemoryOp,
    mask: u32,
) -> Result<(), Box<Fault>> {
    addresses(&warp.registers, &op.address, op.space, &mut warp.addresses);
    match op.space {
        NamedSpace::Param => parameters(memory, warp, sink, op, mask),
        NamedSpace::Generic => generic(memory, warp, sink, op, mask),
        space => in_space(memory, warp, sink, op, space, mask),
    }
}

#[inline(always)]
fn in_space<B: BlockSink>(
    memory: &mut BlockMemory<'_>,
    warp: &mut Warp,
    sink: &mut B,
    op: &MemoryOp,
    space: NamedSpace,
    mask: u32,
) -> Result<(), Box<Fault>> {
    let done = mask == ALL
        && op.count == 1
        && memory.races.is_none()
        && whole_warp(memory, warp, op, space);
    let lanes = if done {
        mask
    } else {
        each_lane(memory, warp, op, space, mask)?
    };
    deliver(warp, sink, record(memory, op), space, lanes);
    Ok(())
}

#[inline(always)]
fn record(memory: &BlockMemory<'_>, op: &MemoryOp) -> AccessRecord {
    AccessRecord {
        site: op.site,
        block: memory.block,
        kind: if op.is_store {
            WarpKind::Store
        } else {
            WarpKind::Load
        },
        bytes: op.width * op.count,
    }
}

/// All lanes at once, where elements have four or eight bytes and everything is as it should be.
/// Whether that was so; if not, nothing has been done.
#[inline(always)]
fn whole_warp(
    memory: &mut BlockMemory<'_>,
    warp: &mut Warp,
    op: &MemoryOp,
    space: NamedSpace,
) -> bool {
    let register = op.registers[0];
    let slot = register.slot as usize;
    match (op.width, register.wide) {
        (4, false) => {
            let row = &mut warp.registers.narrow[slot].0;
            whole_row::<4, u32>(
                memory,
                &warp.addresses,
                op.is_store,
                space,
                row,
                u32::from_le_bytes,
                u32::to_le_bytes,
            )
        }
        (8, true) => {
            let row = &mut warp.registers.wide[slot].0;
            whole_row::<8, u64>(
                memory,
                &warp.addresses,
                op.is_store,
                space,
                row,
                u64::from_le_bytes,
                u64::to_le_bytes,
            )
        }
        _ => false,
    }
}

#[inline(always)]
fn whole_row<const N: usize, T: Copy>(
    memory: &mut BlockMemory<'_>,
    addresses: &[u64; WARP],
    is_store: bool,
    space: NamedSpace,
    row: &mut [T; WARP],
    from: impl Fn([u8; N]) -> T,
    to: impl Fn(T) -> [u8; N],
) -> bool {
    let shape = shape(addresses, N as u64);
    if !shape.bits.is_multiple_of(N as u64) {
        return false;
    }
    // An access beyond the last address is found lane by lane, which gives the error its lane.
    let end = shape.high.saturating_add(N as u64);
    match space {
        NamedSpace::Global | NamedSpace::Const => {
            let Some(start) = memory.device.span(shape.low, end) else {
                return false;
            };
            if is_store {
                return memory.store_row(addresses, &shape_of(&shape, start), row, to);
            }
            memory.load_row(addresses, &shape_of(&shape, start), row, from)
        }
        NamedSpace::Shared => {
            if end > memory.shared.len() as u64 {
                return false;
            }
            shared_row(
                &mut memory.shared,
                addresses,
                &shape,
                is_store,
                row,
                from,
                to,
            );
            true
        }
        _ => false,
    }
}

/// A shape with a place in memory.
pub struct PlacedSpan {
    pub start: usize,
    pub is_run: bool,
    pub is_one: bool,
}

#[inline(always)]
fn shape_of(shape: &AddressSpan, start: usize) -> PlacedSpan {
    PlacedSpan {
        start,
        is_run: shape.is_run,
        is_one: shape.low == shape.high,
    }
}

#[inline(always)]
fn shared_row<const N: usize, T: Copy>(
    shared: &mut [u8],
    addresses: &[u64; WARP],
    shape: &AddressSpan,
    is_store: bool,
    row: &mut [T; WARP],
    from: impl Fn([u8; N]) -> T,
    to: impl Fn(T) -> [u8; N],
) {
    if shape.is_run {
        let bytes = &mut shared[shape.low as usize..][..N * WARP];
        for (piece, value) in bytes.as_chunks_mut::<N>().0.iter_mut().zip(row) {
            if is_store {
                *piece = to(*value);
            } else {
                *value = from(*piece);
            }
        }
        return;
    }
    for (&address, value) in addresses.iter().zip(row) {
        let bytes = &mut shared[address as usize..][..N];
        if is_store {
            bytes.copy_from_slice(&to(*value));
        } else {
            *value = from(bytes.try_into().unwrap_or([0; N]));
        }
    }
}

/// Lane after lane, with all checks. Returns the lanes whose accesses are done, not left out.
#[inline(never)]
fn each_lane(
    memory: &mut BlockMemory<'_>,
    warp: &mut Warp,
    op: &MemoryOp,
    space: NamedSpace,
    mask: u32,
) -> Result<u32, Box<Fault>> {
    let bytes = u64::from(op.width) * u64::from(op.count);
    let what = if op.is_store { "store" } else { "load" };
    let mut done = mask;
    for lane in (0..WARP).filter(|lane| mask >> lane & 1 != 0) {
        let address = warp.addresses[lane];
        if !memory.allows(space, warp, address, bytes, lane as u32, what)? {
            done &= !(1 << lane);
        }
    }
    if memory.races.is_some() {
        memory.note(space, warp, bytes, done, op)?;
    }
    for lane in (0..WARP).filter(|lane| done >> lane & 1 != 0) {
        for (place, register) in elements(op, warp.addresses[lane]) {
            if op.is_store {
                let value = value(&warp.registers, register, lane);
                memory.write(space, warp, place, op.width, value, lane);
            } else {
                let value = memory.read(space, warp, place, op.width, lane);
                let value = widened(value, op.width, op.signed);
                put(&mut warp.registers, register, lane, value);
            }
        }
    }
    give_zeros(warp, op, mask & !done);
    Ok(done)
}

/// What lanes get whose loads are left out.
fn give_zeros(warp: &mut Warp, op: &MemoryOp, lanes: u32) {
    if lanes == 0 || op.is_store {
        return;
    }
    for lane in (0..WARP).filter(|lane| lanes >> lane & 1 != 0) {
        for &register in &op.registers[..usize::from(op.count)] {
            put(&mut warp.registers, register, lane, 0);
        }
    }
}

/// The address of each of a lane's elements, and its register.
#[inline(always)]
fn elements(op: &MemoryOp, address: u64) -> impl Iterator<Item = (u64, Register)> {
    let (width, registers) = (u64::from(op.width), op.registers);
    (0..op.count).map(move |index| {
        let place = address + u64::from(index) * width;
        (place, registers[usize::from(index)])
    })
}

/// A lane of a register.
#[inline(always)]
pub fn value(registers: &Registers, register: Register, lane: usize) -> u64 {
    if register.wide {
        registers.wide[register.slot as usize].0[lane]
    } else {
        u64::from(registers.narrow[register.slot as usize].0[lane])
    }
}

/// Writes a lane of a register.
#[inline(always)]
pub fn put(registers: &mut Registers, register: Register, lane: usize, value: u64) {
    if register.wide {
        registers.wide[register.slot as usize].0[lane] = value;
    } else {
        registers.narrow[register.slot as usize].0[lane] = value as u32;
    }
}

#[inline(always)]
fn widened(value: u64, width: u8, signed: bool) -> u64 {
    let unused = 64 - 8 * u32::from(width.min(8));
    if signed {
        ((value << unused) as i64 >> unused) as u64
    } else {
        value
    }
}

/// A kernel's parameters, which are the same for all.
#[inline(never)]
fn parameters<B: BlockSink>(
    memory: &mut BlockMemory<'_>,
    warp: &mut Warp,
    sink: &mut B,
    op: &MemoryOp,
    mask: u32,
) -> Result<(), Box<Fault>> {
    let mut done = mask;
    for lane in (0..WARP).filter(|lane| mask >> lane & 1 != 0) {
        let bytes = u64::from(op.width) * u64::from(op.count);
        let address = warp.addresses[lane];
        let is_done = if op.is_store {
            memory.skips(warp, || {
                let what = "a store to the kernel's parameters, which cannot be written";
                Fault::new(FaultKind::OutOfBounds, Some(lane as u32), what)
            })?
        } else {
            memory.allows(NamedSpace::Param, warp, address, bytes, lane as u32, "load")?
        };
        if !is_done {
            done &= !(1 << lane);
            give_zeros(warp, op, 1 << lane);
            continue;
        }
        for (place, register) in elements(op, address) {
            let value = memory.read(NamedSpace::Param, warp, place, op.width, lane);
            let value = widened(value, op.width, op.signed);
            put(&mut warp.registers, register, lane, value);
        }
    }
    deliver(warp, sink, record(memory, op), NamedSpace::Param, done);
    Ok(())
}

#[inline(never)]
fn generic<B: BlockSink>(
    memory: &mut BlockMemory<'_>,
    warp: &mut Warp,
    sink: &mut B,
    op: &MemoryOp,
    mask: u32,
) -> Result<(), Box<Fault>> {
    in_each_space(warp, mask, |warp, space, lanes| match space {
        NamedSpace::Param => parameters(memory, warp, sink, op, lanes),
        space => in_space(memory, warp, sink, op, space, lanes),
    })
}
