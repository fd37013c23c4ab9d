//! Decoding of `alloca`, `stacksave` and `stackrestore`: memory that a function takes while it
//! runs. Each lane has the top of its stack in a register; memory is taken downwards from the end
//! of the thread's local memory, as frames of routines grow upwards from its beginning.

use super::decoder::KernelDecoder;
use super::kernel::{Code, NONE, Register, StackOp, StackStep};
use crate::error::PtxError;
use crate::lanes::Slots;
use crate::ops::{self, Opcode};
use crate::syntax::ast::{FunctionAst, Operand, Statement};
use crate::syntax::types::Type;

/// What an address is a multiple of if `alloca` does not say.
const DEFAULT_ALIGN: u64 = 8;

impl KernelDecoder<'_> {
    /// `alloca.u64 address, bytes, align`, `stacksave.u64 d` and `stackrestore.u64 a`.
    pub fn stack(&mut self, opcode: &mut Opcode<'_>, operands: &[Operand]) -> Result<(), PtxError> {
        let ty = opcode.ty();
        if !matches!(ty, Type::U32 | Type::U64) {
            return Err(opcode.refused());
        }
        match opcode.base {
            "alloca" => self.take_from_stack(operands, ty),
            "stacksave" => self.save_stack(operands, ty),
            _ => {
                self.count(operands, 1)?;
                let value = self.register_of(&operands[0], ty)?;
                self.stack_op(StackStep::Restore { value })
            }
        }
    }

    fn take_from_stack(&mut self, operands: &[Operand], ty: Type) -> Result<(), PtxError> {
        self.count(operands, operands.len().clamp(2, 3))?;
        let align = match operands.get(2) {
            // clang writes 0 where nothing is asked for.
            None | Some(&Operand::Integer(0)) => DEFAULT_ALIGN,
            Some(&Operand::Integer(align)) => align,
            Some(_) => return Err(self.error("the alignment of `alloca` has to be a number")),
        };
        const MOST_ALIGN: u64 = 1 << 23;
        if !align.is_power_of_two() || align > MOST_ALIGN {
            return Err(self.error(format!(
                "the alignment of `alloca` is {align}; powers of two up to {MOST_ALIGN} are possible"
            )));
        }
        let bytes = self.register_of(&operands[1], ty)?;
        let slot = self.result(&operands[0], ty)?;
        let address = Register {
            slot,
            wide: ty.size() == 8,
        };
        self.stack_op(StackStep::Take {
            bytes,
            align,
            address,
        })
    }

    fn save_stack(&mut self, operands: &[Operand], ty: Type) -> Result<(), PtxError> {
        self.count(operands, 1)?;
        let a = self.stack_top()?;
        let d = self.result(&operands[0], ty)?;
        let form = if ty.size() == 8 {
            ops::copy(ty)
        } else {
            ops::truncate()
        };
        self.emit_form(
            form,
            Slots {
                d,
                a,
                ..Slots::default()
            },
        )
    }

    fn register_of(&mut self, operand: &Operand, ty: Type) -> Result<Register, PtxError> {
        Ok(Register {
            slot: self.source(operand, ty, false)?,
            wide: ty.size() == 8,
        })
    }

    fn stack_op(&mut self, step: StackStep) -> Result<(), PtxError> {
        self.stack_top()?;
        let routine = self.routine;
        self.kernel.stack_ops.push(StackOp { step, routine });
        let index = self.kernel.stack_ops.len() as u32 - 1;
        self.emit(Code::Stack(index), Slots::default())
    }

    /// The register with each lane's top of the stack.
    fn stack_top(&mut self) -> Result<u32, PtxError> {
        if self.kernel.stack_top == NONE {
            self.kernel.stack_top = self.fresh_slot(Type::B64)?;
        }
        Ok(self.kernel.stack_top)
    }

    /// Before the body of a function that is put in the place of its call: keeps the top of the
    /// stack, if the function changes it. All lanes that come to the call do this, those too that
    /// go around the body. Gives the register that has it then.
    pub fn keep_stack(&mut self, function: &FunctionAst) -> Result<Option<u32>, PtxError> {
        if !takes_memory(function) {
            return Ok(None);
        }
        let top = self.stack_top()?;
        let kept = self.fresh_slot(Type::B64)?;
        self.copy_top(kept, top)?;
        Ok(Some(kept))
    }

    /// After the body: what the function took is free again.
    pub fn give_back(&mut self, kept: u32) -> Result<(), PtxError> {
        let top = self.stack_top()?;
        self.copy_top(top, kept)
    }

    fn copy_top(&mut self, d: u32, a: u32) -> Result<(), PtxError> {
        let guard = std::mem::replace(&mut self.guard, (NONE, false));
        let done = self.emit_form(
            ops::copy(Type::B64),
            Slots {
                d,
                a,
                ..Slots::default()
            },
        );
        self.guard = guard;
        done
    }
}

/// Whether a function changes the top of the stack itself.
fn takes_memory(function: &FunctionAst) -> bool {
    let mut statements = function.body.iter().flatten();
    statements.any(|statement| match statement {
        Statement::Instruction(instruction) => {
            let base = instruction.opcode.split('.').next();
            matches!(base, Some("alloca" | "stackrestore"))
        }
        _ => false,
    })
}
