//! Decoding of instructions on matrices that are spread over the registers of a warp: `ldmatrix`,
//! `stmatrix`, `mma` and `wmma`.
//!
//! A [`Fragment`] is a lane's part of a matrix. Where an element of `mma` is, *PTX ISA* says in
//! "Matrix multiply-accumulate operation using mma instruction"; for `wmma` it leaves that open,
//! and here each lane has elements that are one after the other in memory.

use super::decoder::KernelDecoder;
use super::kernel::{
    Code, Fragment, FragmentAccess, MatrixElement, MatrixOp, MatrixRows, Multiply, NamedSpace,
};
use crate::error::PtxError;
use crate::lanes::{Slots, WARP};
use crate::ops::{Float8, Opcode};
use crate::syntax::ast::Operand;
use crate::syntax::types::Type;

/// Rows, columns, and the length of the sums.
type Shape = (usize, usize, usize);

/// Bytes that a lane accesses at once, at most.
const MOST_BYTES: usize = 16;

impl KernelDecoder<'_> {
    /// An instruction on matrices.
    pub fn matrix(
        &mut self,
        opcode: &mut Opcode<'_>,
        operands: &[Operand],
    ) -> Result<(), PtxError> {
        let op = match (opcode.base, opcode.takes("mma")) {
            ("ldmatrix" | "stmatrix", _) => self.matrix_rows(opcode, operands)?,
            ("mma", _) => self.multiply(opcode, operands)?,
            (_, true) => self.multiply_fragments(opcode, operands)?,
            (_, false) => self.fragment_access(opcode, operands)?,
        };
        self.kernel.matrices.push(op);
        let index = self.kernel.matrices.len() as u32 - 1;
        self.emit(Code::Matrix(index), Slots::default())
    }

    /// `ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {a, b, c, d}, [p]`
    fn matrix_rows(
        &mut self,
        opcode: &mut Opcode<'_>,
        operands: &[Operand],
    ) -> Result<MatrixOp, PtxError> {
        self.count(operands, 2)?;
        let is_store = opcode.base == "stmatrix";
        if !opcode.takes("sync") || !opcode.takes("aligned") || !opcode.takes("m8n8") {
            return Err(opcode.refused());
        }
        let count = opcode.take(|word| match word {
            "x1" => Some(1),
            "x2" => Some(2),
            "x4" => Some(4),
            _ => None,
        });
        let transposed = opcode.takes("trans");
        let space = self.space(opcode)?;
        let is_whole = opcode.ty() == Type::B16 && count.is_some();
        if !is_whole || !matches!(space, NamedSpace::Shared | NamedSpace::Generic) {
            return Err(opcode.refused());
        }
        let (value, place) = if is_store { (1, 0) } else { (0, 1) };
        let registers = self.parts(&operands[value], Type::B32, !is_store)?;
        if Some(registers.len()) != count {
            return Err(self.error(format!(
                "`{}` has the wrong number of registers",
                self.opcode
            )));
        }
        let (address, _) = self.address(&operands[place])?;
        Ok(MatrixOp::Rows(MatrixRows {
            space,
            address,
            is_store,
            transposed,
            registers,
            site: self.site(),
        }))
    }

    /// Registers of one operand.
    pub fn parts(
        &mut self,
        operand: &Operand,
        ty: Type,
        is_result: bool,
    ) -> Result<Vec<u32>, PtxError> {
        let parts = match operand {
            Operand::Vector(parts) => &parts[..],
            one => std::slice::from_ref(one),
        };
        let slot = |part: &Operand| {
            if is_result {
                self.result(part, ty)
            } else {
                self.source(part, ty, false)
            }
        };
        parts.iter().map(slot).collect()
    }

    /// `mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 d, a, b, c`
    fn multiply(
        &mut self,
        opcode: &mut Opcode<'_>,
        operands: &[Operand],
    ) -> Result<MatrixOp, PtxError> {
        self.count(operands, 4)?;
        let (m, n, k) = self.shape(opcode)?;
        let types = elements(opcode);
        let is_known = opcode.takes("row") && opcode.takes("col");
        let [result, a, b, sum] = types[..] else {
            return Err(opcode.refused());
        };
        let word = a.per_register();
        let fits = n == 8
            && matches!(m, 8 | 16)
            && k % (4 * word) == 0
            && k <= 8 * word
            && a.is_like(b)
            // Halves of eight rows are spread in another way, over quarters of a warp.
            && (m, a) != (8, MatrixElement::F16)
            && fit(a, sum, result);
        if !is_known || !fits {
            return Err(opcode.refused());
        }
        let saturates = opcode.takes("satfinite");
        opcode.takes("rn");
        let halves = m / 8;
        let rows_of_a = |lane: usize, index: usize| {
            let register = index / word;
            let column = lane % 4 * word + index % word + register / halves * 4 * word;
            (lane / 4 + 8 * (register % halves)) * k + column
        };
        let rows_of_b = |lane: usize, index: usize| {
            let row = lane % 4 * word + index % word + index / word * 4 * word;
            row * n + lane / 4
        };
        let rows_of_sum =
            |lane: usize, index: usize| (lane / 4 + 8 * (index / 2)) * n + lane % 4 * 2 + index % 2;
        Ok(MatrixOp::Multiply(Multiply {
            shape: (m, n, k),
            result: self.fragment(&operands[0], result, m * n, true, rows_of_sum)?,
            a: self.fragment(&operands[1], a, m * k, false, rows_of_a)?,
            b: self.fragment(&operands[2], b, k * n, false, rows_of_b)?,
            sum: self.fragment(&operands[3], sum, m * n, false, rows_of_sum)?,
            saturates,
        }))
    }

    /// `wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 d, a, b, c`
    fn multiply_fragments(
        &mut self,
        opcode: &mut Opcode<'_>,
        operands: &[Operand],
    ) -> Result<MatrixOp, PtxError> {
        self.count(operands, 4)?;
        let (a_rows, b_rows) = (opcode.take(is_row), opcode.take(is_row));
        let (m, n, k) = self.shape(opcode)?;
        let types = elements(opcode);
        let (result, a, b, sum) = match types[..] {
            // Halves are meant if the factors are not named.
            [result, sum] => (result, MatrixElement::F16, MatrixElement::F16, sum),
            [result, a, b, sum] => (result, a, b, sum),
            _ => return Err(opcode.refused()),
        };
        let (Some(a_rows), Some(b_rows), true) = (a_rows, b_rows, fit(a, sum, result)) else {
            return Err(opcode.refused());
        };
        let saturates = opcode.takes("satfinite");
        opcode.takes("rn");
        let own = |operand, element: MatrixElement| length(operand) * element.per_register();
        let (own_a, own_b) = (own(&operands[1], a), own(&operands[2], b));
        let of_a = |lane, index| match (lane * own_a + index) % (m * k) {
            number if a_rows => number,
            number => turned(number, m, k),
        };
        let of_b = |lane, index| match (lane * own_b + index) % (k * n) {
            number if b_rows => number,
            number => turned(number, k, n),
        };
        let of_sum = |lane, index| lane * (m * n / WARP) + index;
        Ok(MatrixOp::Multiply(Multiply {
            shape: (m, n, k),
            result: self.fragment(&operands[0], result, m * n, true, of_sum)?,
            a: self.fragment(&operands[1], a, m * k, false, of_a)?,
            b: self.fragment(&operands[2], b, k * n, false, of_b)?,
            sum: self.fragment(&operands[3], sum, m * n, false, of_sum)?,
            saturates,
        }))
    }

    /// `wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {...}, [p], stride`, or `store.d`.
    fn fragment_access(
        &mut self,
        opcode: &mut Opcode<'_>,
        operands: &[Operand],
    ) -> Result<MatrixOp, PtxError> {
        let is_store = opcode.takes("store");
        let (value, place) = if is_store { (1, 0) } else { (0, 1) };
        if !(is_store || opcode.takes("load")) || operands.len() < 2 {
            return Err(opcode.refused());
        }
        let shape = self.shape(opcode)?;
        let part = FragmentPart::of(opcode, shape).ok_or_else(|| opcode.refused())?;
        let space = self.space(opcode)?;
        if matches!(
            space,
            NamedSpace::Const | NamedSpace::Local | NamedSpace::Param
        ) {
            return Err(opcode.refused());
        }
        let own = length(&operands[value]) * part.element.per_register();
        let count = part.rows * part.columns;
        let map = |lane, index| part.place((lane * own + index) % count);
        let fragment = self.fragment(&operands[value], part.element, count, !is_store, map)?;
        let stride = match operands.get(2) {
            Some(stride) => self.source(stride, Type::U32, false)?,
            None => self.constant(Type::U32, part.minor() as u64)?,
        };
        let (address, _) = self.address(&operands[place])?;
        Ok(MatrixOp::Access(FragmentAccess {
            space,
            address,
            is_store,
            by_rows: part.by_rows,
            columns: part.columns,
            stride,
            together: part.together(own),
            fragment,
            site: self.site(),
        }))
    }

    /// `.m16n8k16`
    fn shape(&mut self, opcode: &mut Opcode<'_>) -> Result<Shape, PtxError> {
        if !opcode.takes("sync") || !opcode.takes("aligned") {
            return Err(opcode.refused());
        }
        let shape = opcode.take(|word| {
            let (m, rest) = word.strip_prefix('m')?.split_once('n')?;
            let (n, k) = rest.split_once('k')?;
            let size = |text: &str| {
                text.parse()
                    .ok()
                    .filter(|size| matches!(size, 4 | 8 | 16 | 32))
            };
            Some((size(m)?, size(n)?, size(k)?))
        });
        shape.ok_or_else(|| opcode.refused())
    }

    /// A lane's part of a matrix of `count` elements. `map` says which element the index of a lane
    /// is, by rows.
    fn fragment(
        &mut self,
        operand: &Operand,
        element: MatrixElement,
        count: usize,
        is_result: bool,
        map: impl Fn(usize, usize) -> usize,
    ) -> Result<Fragment, PtxError> {
        let ty = match element {
            MatrixElement::F64 => Type::B64,
            _ => Type::B32,
        };
        let registers = self.parts(operand, ty, is_result)?;
        let own = registers.len() * element.per_register();
        // Factors may be there more than once.
        if own == 0 || !(own * WARP).is_multiple_of(count) || own > 64 {
            return Err(self.error(format!(
                "`{}` has the wrong number of registers",
                self.opcode
            )));
        }
        let places = (0..WARP).flat_map(|lane| (0..own).map(move |index| (lane, index)));
        let map: Vec<u16> = places
            .map(|(lane, index)| map(lane, index) as u16)
            .collect();
        if map.iter().any(|&place| usize::from(place) >= count) {
            return Err(self.error(format!(
                "`{}` has the wrong number of registers",
                self.opcode
            )));
        }
        Ok(Fragment {
            registers,
            element,
            map,
        })
    }
}

/// What `wmma.load` and `wmma.store` access.
#[derive(Clone, Copy)]
struct FragmentPart {
    rows: usize,
    columns: usize,
    element: MatrixElement,
    /// A factor; else a sum.
    is_factor: bool,
    /// Rows are one after the other in memory; else columns.
    by_rows: bool,
}

impl FragmentPart {
    fn of(opcode: &mut Opcode<'_>, (m, n, k): Shape) -> Option<FragmentPart> {
        let (rows, columns, is_factor) = opcode.take(|word| match word {
            "a" => Some((m, k, true)),
            "b" => Some((k, n, true)),
            "c" | "d" => Some((m, n, false)),
            _ => None,
        })?;
        let by_rows = opcode.take(is_row)?;
        let [element] = elements(opcode)[..] else {
            return None;
        };
        Some(FragmentPart {
            rows,
            columns,
            element,
            is_factor,
            by_rows,
        })
    }

    /// Which element, counted by rows, the one of that number is. Lanes have elements in the order
    /// of memory; but those of sums in the order of rows, since a sum may be loaded by rows and
    /// stored by columns.
    fn place(self, number: usize) -> usize {
        if self.by_rows || !self.is_factor {
            number
        } else {
            turned(number, self.rows, self.columns)
        }
    }

    /// Elements that are one after the other in memory.
    fn minor(self) -> usize {
        if self.by_rows {
            self.columns
        } else {
            self.rows
        }
    }

    /// Elements that a lane with `own` of them accesses together: a power of two of which both its
    /// elements and a row or column have a multiple.
    fn together(self, own: usize) -> usize {
        let most = MOST_BYTES / self.element.bytes();
        if self.by_rows || self.is_factor {
            1 << (most | own | self.minor()).trailing_zeros()
        } else {
            1
        }
    }
}

/// `.row` or `.col`.
fn is_row(word: &str) -> Option<bool> {
    match word {
        "row" => Some(true),
        "col" => Some(false),
        _ => None,
    }
}

/// The number by rows of an element that has a number by columns.
fn turned(number: usize, rows: usize, columns: usize) -> usize {
    number % rows * columns + number / rows
}

/// Registers of an operand.
fn length(operand: &Operand) -> usize {
    match operand {
        Operand::Vector(parts) => parts.len(),
        _ => 1,
    }
}

/// The types of the matrices, as far as they are known.
fn elements(opcode: &mut Opcode<'_>) -> Vec<MatrixElement> {
    let mut found: Vec<MatrixElement> = opcode.types.iter().map_while(|ty| element(*ty)).collect();
    let known = found.len() == opcode.types.len();
    // These are no types of registers; they stand between the types of the sums, or alone.
    let factor = |word: &str| match word {
        "tf32" => Some(MatrixElement::Tf32),
        _ => Float8::named(word).map(MatrixElement::Float8),
    };
    let factors: Vec<_> = std::iter::from_fn(|| opcode.take(factor)).collect();
    let place = found.len().min(1);
    found.splice(place..place, factors);
    if known { found } else { Vec::new() }
}

fn element(ty: Type) -> Option<MatrixElement> {
    Some(match ty {
        Type::F16 => MatrixElement::F16,
        Type::Bf16 => MatrixElement::Bf16,
        Type::F32 => MatrixElement::F32,
        Type::F64 => MatrixElement::F64,
        Type::S8 => MatrixElement::S8,
        Type::U8 => MatrixElement::U8,
        Type::S32 => MatrixElement::S32,
        _ => return None,
    })
}

/// Whether products of a type are added up in another.
fn fit(factor: MatrixElement, sum: MatrixElement, result: MatrixElement) -> bool {
    use MatrixElement::{Bf16, F16, F32, F64, S8, S32, Tf32, U8};
    match factor {
        F16 | MatrixElement::Float8(_) => matches!((sum, result), (F16 | F32, F16 | F32)),
        Bf16 | Tf32 => (sum, result) == (F32, F32),
        S8 | U8 => (sum, result) == (S32, S32),
        F64 => (sum, result) == (F64, F64),
        F32 | S32 => false,
    }
}
