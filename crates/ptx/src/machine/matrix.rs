//! Instructions on matrices that are spread over the registers of a warp.
//!
//! Products and sums are calculated in doubles and rounded once, so they are more exact than those
//! of a GPU, which rounds between. What only has integers, or sums that singles hold, is the same.

use half::{bf16, f16};

use crate::decode::kernel::{
    Fragment, FragmentAccess, MatrixElement, MatrixOp, MatrixRows, Multiply, NamedSpace, Register,
};
use crate::lanes::{ALL, Registers, WARP};
use crate::ops::Half;
use crate::sink::{BlockSink, WarpKind};

use super::access::{addresses, put, value};
use super::delivery::{AccessRecord, deliver, in_each_space};
use super::fault::{Fault, FaultKind};
use super::memory::BlockMemory;
use super::warp::Warp;
use super::windows;

/// Bytes of a row of the matrices of `ldmatrix`.
const ROW_BYTES: u64 = 16;

/// Does it, for all lanes.
#[inline(never)]
pub fn run<B: BlockSink>(
    memory: &mut BlockMemory<'_>,
    warp: &mut Warp,
    sink: &mut B,
    op: &MatrixOp,
    mask: u32,
) -> Result<(), Box<Fault>> {
    if mask != ALL {
        let what = format!(
            "an instruction on matrices is executed by {} lanes of the warp; it takes all 32",
            mask.count_ones()
        );
        let lane = Some(mask.trailing_zeros());
        return Err(Fault::new(FaultKind::Convergence, lane, what));
    }
    match op {
        MatrixOp::Rows(op) => rows(memory, warp, sink, op),
        MatrixOp::Access(op) => access(memory, warp, sink, op),
        MatrixOp::Multiply(op) => {
            multiply(&mut warp.registers, op);
            Ok(())
        }
    }
}

/// `ldmatrix` and `stmatrix`: eight lanes for each matrix have the addresses of its rows.
fn rows<B: BlockSink>(
    memory: &mut BlockMemory<'_>,
    warp: &mut Warp,
    sink: &mut B,
    op: &MatrixRows,
) -> Result<(), Box<Fault>> {
    addresses(&warp.registers, &op.address, op.space, &mut warp.addresses);
    let count = op.registers.len();
    let mask = u32::MAX >> (WARP - 8 * count);
    if op.space == NamedSpace::Generic {
        // An address of another space is then out of bounds.
        for address in warp.addresses.iter_mut() {
            *address = address.wrapping_sub(windows::SHARED);
        }
    }
    let space = NamedSpace::Shared;
    let mut done = mask;
    for lane in 0..8 * count {
        let (address, what) = (warp.addresses[lane], "row of a matrix");
        if memory.allows(space, warp, address, ROW_BYTES, lane as u32, what)? {
            memory.note_bytes(space, warp, address, ROW_BYTES, lane, op.is_store)?;
        } else {
            done &= !(1 << lane);
        }
    }
    for (matrix, &register) in op.registers.iter().enumerate() {
        for lane in 0..WARP {
            // A lane has two neighbours of a row, or of a column.
            for half in 0..2 {
                let (row, column) = if op.transposed {
                    (lane % 4 * 2 + half, lane / 4)
                } else {
                    (lane / 4, lane % 4 * 2 + half)
                };
                let row = 8 * matrix + row;
                let is_done = done >> row & 1 != 0;
                let address = warp.addresses[row].wrapping_add(2 * column as u64);
                let shift = 16 * half;
                let cell = warp.registers.narrow[register as usize].0[lane];
                if op.is_store && is_done {
                    let bits = u64::from(cell >> shift & 0xffff);
                    memory.write(space, warp, address, 2, bits, lane);
                } else if !op.is_store {
                    let bits = if is_done {
                        memory.read(space, warp, address, 2, lane) as u32
                    } else {
                        0
                    };
                    warp.registers.narrow[register as usize].0[lane] =
                        cell & !(0xffff << shift) | bits << shift;
                }
            }
        }
    }
    let record = record(memory, op.site, op.is_store, ROW_BYTES as u8);
    deliver(warp, sink, record, space, done);
    Ok(())
}

fn record(memory: &BlockMemory<'_>, site: u32, is_store: bool, bytes: u8) -> AccessRecord {
    let kind = if is_store {
        WarpKind::Store
    } else {
        WarpKind::Load
    };
    AccessRecord {
        site,
        block: memory.block,
        kind,
        bytes,
    }
}

/// `wmma.load` and `wmma.store`: each lane accesses its elements, as many together as are one after
/// the other in memory.
fn access<B: BlockSink>(
    memory: &mut BlockMemory<'_>,
    warp: &mut Warp,
    sink: &mut B,
    op: &FragmentAccess,
) -> Result<(), Box<Fault>> {
    let mut base = [0; WARP];
    addresses(&warp.registers, &op.address, op.space, &mut base);
    let stride = warp.registers.narrow[op.stride as usize].0;
    let own = op.fragment.own();
    let bytes = op.fragment.element.bytes();
    for first in (0..own).step_by(op.together) {
        for lane in 0..WARP {
            let element = usize::from(op.fragment.map[lane * own + first]);
            let (row, column) = (element / op.columns, element % op.columns);
            let (major, minor) = if op.by_rows {
                (row, column)
            } else {
                (column, row)
            };
            let distance = major as u64 * u64::from(stride[lane]) + minor as u64;
            warp.addresses[lane] = base[lane].wrapping_add(distance * bytes as u64);
        }
        let part = (first, op.together);
        if op.space == NamedSpace::Generic {
            in_each_space(warp, ALL, |warp, space, lanes| {
                access_part(memory, warp, sink, op, part, (space, lanes))
            })?;
        } else {
            access_part(memory, warp, sink, op, part, (op.space, ALL))?;
        }
    }
    Ok(())
}

fn access_part<B: BlockSink>(
    memory: &mut BlockMemory<'_>,
    warp: &mut Warp,
    sink: &mut B,
    op: &FragmentAccess,
    (first, count): (usize, usize),
    (space, lanes): (NamedSpace, u32),
) -> Result<(), Box<Fault>> {
    let width = op.fragment.element.bytes();
    let bytes = (width * count) as u64;
    let what = if op.is_store { "store" } else { "load" };
    let mut done = lanes;
    for lane in (0..WARP).filter(|lane| lanes >> lane & 1 != 0) {
        let address = warp.addresses[lane];
        let is_done = memory.allows(space, warp, address, bytes, lane as u32, what)?;
        if is_done {
            memory.note_bytes(space, warp, address, bytes, lane, op.is_store)?;
        } else {
            done &= !(1 << lane);
        }
        for index in 0..count {
            let place = address.wrapping_add((index * width) as u64);
            if !is_done {
                if !op.is_store {
                    op.fragment.set(&mut warp.registers, lane, first + index, 0);
                }
            } else if op.is_store {
                let bits = op.fragment.get(&warp.registers, lane, first + index);
                memory.write(space, warp, place, width as u8, bits, lane);
            } else {
                let bits = memory.read(space, warp, place, width as u8, lane);
                op.fragment
                    .set(&mut warp.registers, lane, first + index, bits);
            }
        }
    }
    let record = record(memory, op.site, op.is_store, bytes as u8);
    deliver(warp, sink, record, space, done);
    Ok(())
}

impl Fragment {
    /// Elements of a lane.
    fn own(&self) -> usize {
        self.map.len() / WARP
    }

    /// The register that an element of a lane is in, and how far it is from the lowest bit.
    fn register(&self, index: usize) -> (Register, usize) {
        let count = self.element.per_register();
        let register = Register {
            slot: self.registers[index / count],
            wide: self.element == MatrixElement::F64,
        };
        (register, index % count * 8 * self.element.bytes())
    }

    fn get(&self, registers: &Registers, lane: usize, index: usize) -> u64 {
        let (register, shift) = self.register(index);
        let unused = 64 - 8 * self.element.bytes();
        value(registers, register, lane) >> shift << unused >> unused
    }

    fn set(&self, registers: &mut Registers, lane: usize, index: usize, bits: u64) {
        let (register, shift) = self.register(index);
        let own = u64::MAX >> (64 - 8 * self.element.bytes()) << shift;
        let before = value(registers, register, lane);
        put(
            registers,
            register,
            lane,
            before & !own | bits << shift & own,
        );
    }

    /// All elements of a matrix, by rows.
    fn gather(&self, registers: &Registers, count: usize) -> Vec<f64> {
        let mut matrix = vec![0.0; count];
        let own = self.own();
        for (place, &element) in self.map.iter().enumerate() {
            let bits = self.get(registers, place / own, place % own);
            matrix[usize::from(element)] = self.element.number(bits);
        }
        matrix
    }

    fn scatter(&self, registers: &mut Registers, matrix: &[f64], saturates: bool) {
        let own = self.own();
        for (place, &element) in self.map.iter().enumerate() {
            let bits = self.element.bits(matrix[usize::from(element)], saturates);
            self.set(registers, place / own, place % own, bits);
        }
    }
}

impl MatrixElement {
    /// The number that bits are. Doubles hold all of them exactly.
    fn number(self, bits: u64) -> f64 {
        match self {
            MatrixElement::F16 => f16::from_bits(bits as u16).to_f64(),
            MatrixElement::Bf16 => bf16::from_bits(bits as u16).to_f64(),
            // The low 13 bits are not looked at.
            MatrixElement::Tf32 => f64::from(f32::from_bits(bits as u32 & !0x1fff)),
            MatrixElement::F32 => f64::from(f32::from_bits(bits as u32)),
            MatrixElement::F64 => f64::from_bits(bits),
            MatrixElement::S8 => f64::from(bits as u8 as i8),
            MatrixElement::U8 => f64::from(bits as u8),
            MatrixElement::Float8(format) => f16::from_bits(format.widened(bits as u8)).to_f64(),
            MatrixElement::S32 => f64::from(bits as u32 as i32),
        }
    }

    /// The bits of a result.
    fn bits(self, number: f64, saturates: bool) -> u64 {
        match self {
            MatrixElement::F16 if number.is_nan() => 0x7fff,
            MatrixElement::F16 => u64::from(f16::nearest(number)),
            MatrixElement::Bf16 => u64::from(bf16::nearest(number)),
            MatrixElement::F32 | MatrixElement::Tf32 if number.is_nan() => 0x7fff_ffff,
            MatrixElement::F32 | MatrixElement::Tf32 => u64::from((number as f32).to_bits()),
            MatrixElement::F64 => number.to_bits(),
            // Only factors have so few bits.
            MatrixElement::S8 | MatrixElement::U8 | MatrixElement::Float8(_) => {
                u64::from(number as i64 as u8)
            }
            // Sums of products of bytes, which doubles hold exactly.
            MatrixElement::S32 if saturates => u64::from(number as i32 as u32),
            MatrixElement::S32 => u64::from(number as i64 as u32),
        }
    }
}

fn multiply(registers: &mut Registers, op: &Multiply) {
    let (m, n, k) = op.shape;
    let a = op.a.gather(registers, m * k);
    let b = op.b.gather(registers, k * n);
    let mut sum = op.sum.gather(registers, m * n);
    for row in 0..m {
        for column in 0..n {
            let products = (0..k).map(|at| (a[row * k + at], b[at * n + column]));
            let start = sum[row * n + column];
            sum[row * n + column] = products.fold(start, |sum, (a, b)| a.mul_add(b, sum));
        }
    }
    op.result.scatter(registers, &sum, op.saturates);
}
