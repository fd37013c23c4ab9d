//! Decoding of loads, stores and atomic operations. Those with which blocks can see each other's
//! work mark the kernel as ordered, so that its blocks run one after the other.

use super::decoder::KernelDecoder;
use super::kernel::{Atomic, AtomicOp, Code, MemoryOp, NamedSpace, Register};
use crate::error::PtxError;
use crate::lanes::Slots;
use crate::ops::Opcode;
use crate::syntax::ast::Operand;
use crate::syntax::types::{StateSpace, Type};

/// Modifiers with which blocks see what others do.
const ORDERS: [&str; 5] = ["volatile", "relaxed", "acquire", "release", "acq_rel"];

impl KernelDecoder<'_> {
    /// The space that a modifier names.
    pub fn space(&mut self, opcode: &mut Opcode<'_>) -> Result<NamedSpace, PtxError> {
        let cluster = opcode.has("shared::cluster");
        if cluster {
            return Err(
                self.unsupported("shared memory of other blocks (clusters) is not supported")
            );
        }
        let in_function = self.frames.last().is_some_and(|frame| frame.end.is_some());
        Ok(match opcode.take(StateSpace::named) {
            None => NamedSpace::Generic,
            Some(StateSpace::Global) => NamedSpace::Global,
            Some(StateSpace::Const) => NamedSpace::Const,
            Some(StateSpace::Shared) => NamedSpace::Shared,
            Some(StateSpace::Local) => NamedSpace::Local,
            // A function's parameters are in local memory, beside its variables.
            Some(StateSpace::Param) if in_function => NamedSpace::Local,
            Some(StateSpace::Param) => NamedSpace::Param,
        })
    }

    /// `ld` and `st`, of one element or a vector.
    pub fn load_or_store(
        &mut self,
        opcode: &mut Opcode<'_>,
        operands: &[Operand],
    ) -> Result<(), PtxError> {
        self.count(operands, 2)?;
        let is_store = opcode.base == "st";
        let named = self.space(opcode)?;
        let lanes = opcode.take(|word| match word {
            "v2" => Some(2),
            "v4" => Some(4),
            _ => None,
        });
        let is_visible = ORDERS.iter().any(|order| opcode.has(order)) && !opcode.has("cta");
        opcode.takes_hints();
        let ty = opcode
            .types
            .last()
            .copied()
            .ok_or_else(|| opcode.refused())?;
        let (place, value) = if is_store { (0, 1) } else { (1, 0) };
        let (address, found) = self.address(&operands[place])?;
        let space = match (named, found) {
            (NamedSpace::Param | NamedSpace::Generic | NamedSpace::Local, Some(found)) => found,
            _ => named,
        };
        let is_visible = is_visible && matches!(space, NamedSpace::Global | NamedSpace::Generic);
        self.kernel.is_ordered |= is_visible;
        if is_store && matches!(space, NamedSpace::Const | NamedSpace::Param) {
            return Err(self.error("constants and parameters of a kernel cannot be written"));
        }
        let parts = match &operands[value] {
            Operand::Vector(parts) => &parts[..],
            one => std::slice::from_ref(one),
        };
        if parts.len() != lanes.unwrap_or(1) || ty == Type::Pred {
            return Err(self.error(format!(
                "`{}` has the wrong number of registers",
                self.opcode
            )));
        }
        let registers = self.elements(parts, ty, is_store)?;
        let site = self.site();
        self.kernel.memory.push(MemoryOp {
            space,
            is_store,
            address,
            width: ty.size(),
            signed: ty.is_signed(),
            registers,
            count: parts.len() as u8,
            site,
        });
        let index = self.kernel.memory.len() as u32 - 1;
        self.emit(Code::Memory(index), Slots::default())?;
        if is_visible && !is_store {
            self.emit(Code::Yield, Slots::default())?;
        }
        Ok(())
    }

    fn elements(
        &mut self,
        parts: &[Operand],
        ty: Type,
        is_store: bool,
    ) -> Result<[Register; 4], PtxError> {
        let mut registers = [Register::default(); 4];
        for (register, part) in registers.iter_mut().zip(parts) {
            *register = self.element(part, ty, is_store)?;
        }
        Ok(registers)
    }

    /// `atom` and `red`.
    pub fn atomic(
        &mut self,
        opcode: &mut Opcode<'_>,
        operands: &[Operand],
    ) -> Result<(), PtxError> {
        let returns = opcode.base == "atom";
        let named = self.space(opcode)?;
        let function = opcode.take(atomic_named).ok_or_else(|| opcode.refused())?;
        opcode.takes_hints();
        opcode.takes("noftz");
        let ty = opcode.ty();
        if !is_supported(function, ty) {
            return Err(opcode.refused());
        }
        let swaps = function == Atomic::CompareAndSwap;
        self.count(operands, 2 + usize::from(returns) + usize::from(swaps))?;
        let rest = &operands[usize::from(returns)..];
        let (address, found) = self.address(&rest[0])?;
        let space = match (named, found) {
            (NamedSpace::Generic, Some(found)) => found,
            _ => named,
        };
        if !space.has_atomics() {
            return Err(self.error("atomic operations work on global and shared memory only"));
        }
        self.kernel.is_ordered |= space != NamedSpace::Shared;
        let wide = ty.size() == 8;
        let value = Register {
            slot: self.source(&rest[1], ty, false)?,
            wide,
        };
        let replacement = match rest.get(2) {
            Some(operand) => Some(Register {
                slot: self.source(operand, ty, false)?,
                wide,
            }),
            None => None,
        };
        let mut result = None;
        if returns {
            let slot = self.result(&operands[0], ty)?;
            result = Some(Register { slot, wide });
        }
        let site = self.site();
        self.kernel.atomics.push(AtomicOp {
            space,
            address,
            function,
            ty,
            result,
            value,
            replacement,
            site,
        });
        self.emit(
            Code::Atomic(self.kernel.atomics.len() as u32 - 1),
            Slots::default(),
        )
    }
}

/// The function of a modifier.
pub fn atomic_named(name: &str) -> Option<Atomic> {
    Some(match name {
        "add" => Atomic::Add,
        "min" => Atomic::Min,
        "max" => Atomic::Max,
        "inc" => Atomic::Inc,
        "dec" => Atomic::Dec,
        "and" => Atomic::And,
        "or" => Atomic::Or,
        "xor" => Atomic::Xor,
        "exch" => Atomic::Exchange,
        "cas" => Atomic::CompareAndSwap,
        _ => return None,
    })
}

fn is_supported(function: Atomic, ty: Type) -> bool {
    use Type::{B16, B32, B64, Bf16, Bf16x2, F16, F16x2, F32, F64, S32, S64, U32, U64};
    match function {
        Atomic::Add => matches!(
            ty,
            U32 | S32 | U64 | S64 | F16 | F16x2 | Bf16 | Bf16x2 | F32 | F64
        ),
        Atomic::Min | Atomic::Max => matches!(ty, U32 | S32 | U64 | S64),
        Atomic::Inc | Atomic::Dec => ty == U32,
        Atomic::And | Atomic::Or | Atomic::Xor => matches!(ty, B32 | B64 | U32 | S32 | U64 | S64),
        Atomic::Exchange => matches!(ty, B32 | B64 | U32 | S32 | U64 | S64 | F32),
        Atomic::CompareAndSwap => matches!(ty, B16 | B32 | B64 | U32 | S32 | U64 | S64),
    }
}
