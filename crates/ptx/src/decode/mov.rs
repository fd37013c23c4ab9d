//! Decoding of copies: `mov` between registers, of a register from its parts and to its parts, and
//! `cvta` and `isspacep` for addresses of one space and generic ones.

use super::decoder::KernelDecoder;
use super::kernel::Code;
use crate::error::PtxError;
use crate::lanes::Slots;
use crate::machine::windows;
use crate::ops::{self, Opcode};
use crate::syntax::ast::Operand;
use crate::syntax::types::Type;

impl KernelDecoder<'_> {
    pub fn mov(&mut self, opcode: &mut Opcode<'_>, operands: &[Operand]) -> Result<(), PtxError> {
        self.count(operands, 2)?;
        let ty = opcode.ty();
        match (&operands[0], &operands[1]) {
            (Operand::Vector(parts), whole) => self.unpack(parts, whole, ty),
            (whole, Operand::Vector(parts)) => self.pack(whole, parts, ty),
            (to, Operand::Name(name, 0))
                if matches!(
                    name.as_str(),
                    "%clock" | "%clock_hi" | "%clock64" | "%globaltimer" | "%globaltimer_lo"
                ) =>
            {
                let d = self.result(to, ty)?;
                self.emit(
                    Code::Clock {
                        wide: ty.size() == 8,
                    },
                    Slots {
                        d,
                        ..Slots::default()
                    },
                )
            }
            (to, Operand::Integer(bits)) if ty == Type::Pred => {
                let d = self.result(to, ty)?;
                self.set_predicate(d, *bits != 0)
            }
            _ => {
                let relaxed =
                    matches!(&operands[1], Operand::Name(name, _) if name.starts_with('%'));
                let a = self.source(&operands[1], ty, relaxed)?;
                let d = self.result(&operands[0], ty)?;
                self.emit_form(
                    ops::copy(ty),
                    Slots {
                        d,
                        a,
                        ..Slots::default()
                    },
                )
            }
        }
    }

    /// `mov.b64 %rd1, {%r1, %r2}` and the like.
    fn pack(&mut self, whole: &Operand, parts: &[Operand], ty: Type) -> Result<(), PtxError> {
        let wide = ty.size() == 8;
        let d = self.result(whole, ty)?;
        let mut slots = Vec::new();
        let part = if wide && parts.len() == 2 {
            Type::B32
        } else {
            Type::B16
        };
        for operand in parts {
            slots.push(self.source(operand, part, false)?);
        }
        match slots[..] {
            [a, b] if ty.size() >= 4 => self.emit_form(
                ops::pack(wide),
                Slots {
                    d,
                    a,
                    b,
                    ..Slots::default()
                },
            ),
            [a, b, c, e] if wide => {
                let (low, high) = (self.fresh_slot(Type::B32)?, self.fresh_slot(Type::B32)?);
                self.emit_form(
                    ops::pack(false),
                    Slots {
                        d: low,
                        a,
                        b,
                        ..Slots::default()
                    },
                )?;
                self.emit_form(
                    ops::pack(false),
                    Slots {
                        d: high,
                        a: c,
                        b: e,
                        ..Slots::default()
                    },
                )?;
                self.emit_form(
                    ops::pack(true),
                    Slots {
                        d,
                        a: low,
                        b: high,
                        ..Slots::default()
                    },
                )
            }
            _ => Err(self.unsupported("`mov` of this number of parts is not supported")),
        }
    }

    fn unpack(&mut self, parts: &[Operand], whole: &Operand, ty: Type) -> Result<(), PtxError> {
        let wide = ty.size() == 8;
        let mut a = self.source(whole, ty, false)?;
        let part = if wide && parts.len() == 2 {
            Type::B32
        } else {
            Type::B16
        };
        if parts.len() == 2 && ty.size() >= 4 || parts.len() == 4 && wide {
            // The register of the first part may be the one that is unpacked.
            let copy = self.fresh_slot(ty)?;
            self.emit_form(
                ops::copy(ty),
                Slots {
                    d: copy,
                    a,
                    ..Slots::default()
                },
            )?;
            a = copy;
        } else {
            return Err(self.unsupported("`mov` to this number of parts is not supported"));
        }
        for (index, operand) in parts.iter().enumerate() {
            let d = self.result(operand, part)?;
            if parts.len() == 2 {
                self.emit_form(
                    ops::half_of(wide, index == 1),
                    Slots {
                        d,
                        a,
                        ..Slots::default()
                    },
                )?;
            } else {
                let half = self.fresh_slot(Type::B32)?;
                self.emit_form(
                    ops::half_of(true, index >= 2),
                    Slots {
                        d: half,
                        a,
                        ..Slots::default()
                    },
                )?;
                self.emit_form(
                    ops::half_of(false, index % 2 == 1),
                    Slots {
                        d,
                        a: half,
                        ..Slots::default()
                    },
                )?;
            }
        }
        Ok(())
    }

    /// Between addresses of a space and generic ones.
    pub fn cvta(&mut self, opcode: &mut Opcode<'_>, operands: &[Operand]) -> Result<(), PtxError> {
        self.count(operands, 2)?;
        let to_space = opcode.takes("to");
        let space = self.space(opcode)?;
        let window = windows::base(space).ok_or_else(|| opcode.refused())?;
        let Operand::Name(..) = &operands[1] else {
            return Err(self.error("`cvta` takes a register or a variable"));
        };
        let a = self.source(&operands[1], Type::U64, false)?;
        let d = self.result(&operands[0], Type::U64)?;
        if window == 0 {
            return self.emit_form(
                ops::copy(Type::B64),
                Slots {
                    d,
                    a,
                    ..Slots::default()
                },
            );
        }
        let distance = if to_space {
            window.wrapping_neg()
        } else {
            window
        };
        let b = self.constant(Type::U64, distance)?;
        let form = lanes!(|a: u64, b: u64| -> u64 { a.wrapping_add(b) });
        self.emit_form(
            form,
            Slots {
                d,
                a,
                b,
                ..Slots::default()
            },
        )
    }

    pub fn is_in_space(
        &mut self,
        opcode: &mut Opcode<'_>,
        operands: &[Operand],
    ) -> Result<(), PtxError> {
        self.count(operands, 2)?;
        let space = self.space(opcode)?;
        let window = windows::base(space).ok_or_else(|| opcode.refused())?;
        let a = self.source(&operands[1], Type::U64, false)?;
        let d = self.result(&operands[0], Type::Pred)?;
        let b = self.constant(Type::U64, window)?;
        let form = if window == 0 {
            test!(|a: u64| windows::of(a) == crate::decode::kernel::NamedSpace::Global)
        } else {
            test!(|a: u64, b: u64| a.wrapping_sub(b) < windows::SIZE)
        };
        self.emit_form(
            form,
            Slots {
                d,
                a,
                b,
                ..Slots::default()
            },
        )
    }
}
