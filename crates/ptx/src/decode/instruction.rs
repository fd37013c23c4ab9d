//! Decoding of one instruction: by its opcode it goes to the file for its kind, or, if it only
//! calculates, to a table of `ops`. Branches, `cvt` and fences are here.
//!
//! A modifier that no step has taken makes the instruction an error.

use reuselens_warp::InstructionClass;

use super::decoder::KernelDecoder;
use super::instruction_kind::InstructionKind;
use super::kernel::{BranchTable, Code, NONE};
use crate::error::PtxError;
use crate::lanes::{Form, Slots};
use crate::machine::FaultKind;
use crate::ops::{self, Opcode};
use crate::syntax::ast::{Instruction, Operand};
use crate::syntax::types::Type;

impl KernelDecoder<'_> {
    /// Adds the operations of an instruction.
    pub fn instruction(&mut self, instruction: &Instruction) -> Result<(), PtxError> {
        let mut opcode = Opcode::new(&instruction.opcode, instruction.at);
        let operands = &instruction.operands;
        match opcode.base {
            "ld" | "ldu" | "st" => self.load_or_store(&mut opcode, operands)?,
            "atom" | "red" => self.atomic(&mut opcode, operands)?,
            "bra" => self.branch(&mut opcode, operands)?,
            "brx" => self.branch_by_number(&mut opcode, operands)?,
            "call" => {
                opcode.takes("uni");
                self.call(operands)?;
            }
            "ret" => self.end_of_body(&mut opcode)?,
            "exit" => self.emit(Code::Exit, Slots::default())?,
            "trap" | "brkpt" => {
                let what = format!("the kernel executed `{}`", opcode.base);
                self.trap(FaultKind::Trap, what)?;
            }
            "setp" => self.setp(&mut opcode, operands)?,
            "set" => self.set(&mut opcode, operands)?,
            "selp" | "slct" | "testp" => self.choose(&mut opcode, operands)?,
            "bar" | "barrier" | "vote" | "shfl" | "match" | "activemask" | "redux" | "elect" => {
                self.together(&mut opcode, operands)?;
            }
            "cp" => self.copy(&mut opcode, operands)?,
            "mbarrier" => self.mbarrier(&mut opcode, operands)?,
            "ldmatrix" | "stmatrix" | "mma" | "wmma" => self.matrix(&mut opcode, operands)?,
            "tex" | "tld4" | "suld" | "sust" => self.texture(&mut opcode, operands)?,
            "alloca" | "stacksave" | "stackrestore" => self.stack(&mut opcode, operands)?,
            "membar" | "fence" => self.fence(&mut opcode),
            // Nothing to do where memory has no caches and time does not pass.
            "prefetch" | "prefetchu" | "nanosleep" | "discard" | "applypriority"
            | "griddepcontrol" | "setmaxnreg" | "pmevent" => {
                return Ok(());
            }
            "mov" => self.mov(&mut opcode, operands)?,
            "cvta" => self.cvta(&mut opcode, operands)?,
            "isspacep" => self.is_in_space(&mut opcode, operands)?,
            "cvt" => self.conversion(&mut opcode, operands)?,
            "vadd" | "vsub" | "vabsdiff" | "vmin" | "vmax" | "vshl" | "vshr" | "vmad" | "vset" => {
                self.video(&mut opcode, operands)?;
            }
            "lop3" => self.lop3(operands)?,
            "bfi" => self.bfi(&mut opcode, operands)?,
            "prmt" => self.prmt(&mut opcode, operands)?,
            "add" | "addc" | "sub" | "subc" | "mad" | "madc"
                if opcode.has("cc") || opcode.base.ends_with('c') =>
            {
                self.with_carry(&mut opcode, operands)?;
            }
            _ => self.plain(&mut opcode, operands)?,
        }
        opcode.finish()
    }

    /// `ret`: to the code after the call, or the end of the kernel.
    fn end_of_body(&mut self, opcode: &mut Opcode<'_>) -> Result<(), PtxError> {
        opcode.takes("uni");
        let code = match self.frames.last().and_then(|frame| frame.end) {
            Some(target) => Code::Branch { target, meet: NONE },
            None => Code::Exit,
        };
        self.emit(code, Slots::default())
    }

    /// All forms of `cvt`.
    fn conversion(
        &mut self,
        opcode: &mut Opcode<'_>,
        operands: &[Operand],
    ) -> Result<(), PtxError> {
        if opcode.has("pack") {
            self.cvt_packed(opcode, operands)
        } else if opcode.has("e4m3x2") || opcode.has("e5m2x2") {
            let form = ops::pairs(opcode).ok_or_else(|| opcode.refused())?;
            self.chain(&[form], operands, false)
        } else if operands.len() == 3 {
            self.cvt_pair(opcode, operands)
        } else if opcode.has("tf32") {
            self.cvt_short(opcode, operands)
        } else {
            self.cvt(opcode, operands)
        }
    }

    /// An instruction that only calculates.
    fn plain(&mut self, opcode: &mut Opcode<'_>, operands: &[Operand]) -> Result<(), PtxError> {
        let forms = ops::find(opcode).ok_or_else(|| opcode.refused())?;
        self.chain(&forms, operands, false)
    }

    /// Shows the operation to sinks, if it is an arithmetic one.
    fn observe_arithmetic(
        &mut self,
        types: &'static [Type],
        sources: &[u32],
    ) -> Result<(), PtxError> {
        use InstructionClass::{Float16, Float32, Float64, Integer};
        let class = InstructionKind::of(&self.opcode).class;
        let ty = Opcode::new(&self.opcode, self.at).ty();
        // The tables have halves as bits, and whole numbers without signs where that is the same.
        let is_alike = types.iter().all(|source| source.size() == ty.size());
        match class {
            Integer | Float16 if is_alike && ty != Type::Pred => {
                self.observe_alike(ty, &sources[..types.len()])
            }
            Integer | Float16 | Float32 | Float64 => self.observe(types, sources),
            _ => Ok(()),
        }
    }

    /// The forms one after the other, from the operands to the register that comes first.
    fn chain(
        &mut self,
        forms: &[Form],
        operands: &[Operand],
        relaxed: bool,
    ) -> Result<(), PtxError> {
        let first = &forms[0];
        self.count(operands, 1 + first.sources.len())?;
        let mut sources = [0; 3];
        for ((slot, operand), &ty) in sources.iter_mut().zip(&operands[1..]).zip(first.sources) {
            *slot = self.source(operand, ty, relaxed)?;
        }
        self.observe_arithmetic(first.sources, &sources)?;
        let [mut a, b, c] = sources;
        for (index, form) in forms.iter().enumerate() {
            let is_last = index + 1 == forms.len();
            let mut widen = None;
            let d = if !is_last {
                self.fresh_slot(form.result)?
            } else if relaxed {
                let (d, wider) = self.wide_result(&operands[0], form.result)?;
                widen = wider;
                d
            } else {
                self.result(&operands[0], form.result)?
            };
            self.emit_form(*form, Slots { d, a, b, c, p: 0 })?;
            if let Some(wider) = widen {
                self.emit_form(
                    ops::extend(form.result),
                    Slots {
                        d: wider,
                        a: d,
                        ..Slots::default()
                    },
                )?;
            }
            a = d;
        }
        Ok(())
    }

    /// Demands a number of operands.
    pub fn count(&self, operands: &[Operand], wanted: usize) -> Result<(), PtxError> {
        if operands.len() == wanted {
            return Ok(());
        }
        Err(self.error(format!(
            "`{}` takes {wanted} operands, not {}",
            self.opcode,
            operands.len()
        )))
    }

    fn cvt(&mut self, opcode: &mut Opcode<'_>, operands: &[Operand]) -> Result<(), PtxError> {
        let forms = ops::find(opcode).ok_or_else(|| opcode.refused())?;
        self.chain(&forms, operands, true)
    }

    fn cvt_pair(&mut self, opcode: &mut Opcode<'_>, operands: &[Operand]) -> Result<(), PtxError> {
        let forms = ops::pair(opcode).ok_or_else(|| opcode.refused())?;
        self.chain(&forms, operands, false)
    }

    /// `cvt.pack.sat.u8.s32.b32 d, a, b, c`; without `c` it is zero.
    fn cvt_packed(
        &mut self,
        opcode: &mut Opcode<'_>,
        operands: &[Operand],
    ) -> Result<(), PtxError> {
        let has_third = opcode.types.last() == Some(&Type::B32);
        self.count(operands, 3 + usize::from(has_third))?;
        let form = ops::packed(opcode).ok_or_else(|| opcode.refused())?;
        let mut operands = operands.to_vec();
        operands.resize(4, Operand::Integer(0));
        self.chain(&[form], &operands, false)
    }

    /// `cvt.rna.tf32.f32`
    fn cvt_short(&mut self, opcode: &mut Opcode<'_>, operands: &[Operand]) -> Result<(), PtxError> {
        opcode.takes("tf32");
        let away = opcode.takes("rna");
        if !(away || opcode.takes("rn")) || opcode.types != [Type::F32] {
            return Err(opcode.refused());
        }
        self.chain(&[ops::short(away)], operands, false)
    }

    fn branch(&mut self, opcode: &mut Opcode<'_>, operands: &[Operand]) -> Result<(), PtxError> {
        opcode.takes("uni");
        self.count(operands, 1)?;
        let target = self.label(&operands[0])?;
        self.emit(Code::Branch { target, meet: NONE }, Slots::default())
    }

    fn label(&self, operand: &Operand) -> Result<u32, PtxError> {
        let Operand::Name(name, 0) = operand else {
            return Err(self.error(format!("`{}` takes a label", self.opcode)));
        };
        self.scopes()
            .find_map(|scope| scope.label(name))
            .ok_or_else(|| self.error(format!("there is no label {name} here")))
    }

    fn branch_by_number(
        &mut self,
        opcode: &mut Opcode<'_>,
        operands: &[Operand],
    ) -> Result<(), PtxError> {
        opcode.takes("idx");
        opcode.takes("uni");
        self.count(operands, 2)?;
        let a = self.source(&operands[0], Type::U32, false)?;
        let Operand::Name(list, 0) = &operands[1] else {
            return Err(self.error("`brx.idx` takes the label of a list of targets"));
        };
        let names = self
            .scopes()
            .find_map(|scope| scope.targets(list))
            .map(<[String]>::to_vec);
        let names = names
            .ok_or_else(|| self.error(format!("there is no list of targets {list} before this")))?;
        let mut targets = Vec::new();
        for name in names {
            targets.push(self.label(&Operand::Name(name, 0))?);
        }
        let index = self.kernel.tables.len() as u32;
        self.kernel.tables.push(BranchTable {
            targets,
            meet: NONE,
        });
        self.emit(
            Code::Table(index),
            Slots {
                a,
                ..Slots::default()
            },
        )
    }

    /// Ends the kernel with a message.
    pub fn trap(&mut self, kind: FaultKind, message: String) -> Result<(), PtxError> {
        let index = self.kernel.traps.len() as u32;
        self.kernel.traps.push((kind, message));
        self.emit(Code::Trap(index), Slots::default())
    }

    fn fence(&mut self, opcode: &mut Opcode<'_>) {
        let beyond = opcode.has("gl") || opcode.has("sys") || opcode.has("gpu");
        self.kernel.is_ordered |= beyond;
        opcode.takes("gl");
        opcode.takes("sc");
        opcode.takes("proxy");
        opcode.takes("async");
        opcode.takes("mbarrier_init");
        for space in ["global", "shared::cta", "shared::cluster"] {
            opcode.takes(space);
        }
        opcode.takes_hints();
    }
}
