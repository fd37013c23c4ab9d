//! Decoding of comparisons and choices (`setp`, `set`, `selp`), and of instructions that take
//! several operations: `lop3`, `bfi`, `prmt`, sums with carry.

use super::decoder::KernelDecoder;
use crate::error::PtxError;
use crate::lanes::{Form, Slots};
use crate::ops::{self, Comparison, Opcode};
use crate::syntax::ast::Operand;
use crate::syntax::types::Type;

/// How a comparison is joined with another predicate.
fn junction(name: &str) -> Option<Form> {
    Some(match name {
        "and" => predicates!(|a, b| a & b),
        "or" => predicates!(|a, b| a | b),
        "xor" => predicates!(|a, b| a ^ b),
        _ => return None,
    })
}

impl KernelDecoder<'_> {
    /// `setp.lt.and.s32 %p1|%p2, a, b, !%p3`
    pub fn setp(&mut self, opcode: &mut Opcode<'_>, operands: &[Operand]) -> Result<(), PtxError> {
        let (first, second) = match operands.first() {
            Some(Operand::Pair(first, second)) => (&**first, Some(&**second)),
            Some(first) => (first, None),
            None => return self.count(operands, 3),
        };
        let junction = opcode.take(junction);
        let (form, slots) = self.comparison(opcode, operands, junction.is_some())?;
        let Some(junction) = junction else {
            return self.alone(first, second, form, slots);
        };
        let b = self.source(&operands[3], Type::Pred, false)?;
        let a = self.fresh_slot(Type::Pred)?;
        self.emit_form(form, Slots { d: a, ..slots })?;
        let joined = self.fresh_slot(Type::Pred)?;
        self.emit_form(
            junction,
            Slots {
                d: joined,
                a,
                b,
                ..Slots::default()
            },
        )?;
        if let Some(second) = second {
            self.emit_form(
                predicates!(|a| !a),
                Slots {
                    d: a,
                    a,
                    ..Slots::default()
                },
            )?;
            let d = self.result(second, Type::Pred)?;
            self.emit_form(
                junction,
                Slots {
                    d,
                    a,
                    b,
                    ..Slots::default()
                },
            )?;
        }
        let d = self.result(first, Type::Pred)?;
        self.emit_form(
            predicates!(|a| a),
            Slots {
                d,
                a: joined,
                ..Slots::default()
            },
        )
    }

    /// A comparison that is joined with nothing.
    fn alone(
        &mut self,
        first: &Operand,
        second: Option<&Operand>,
        form: Form,
        slots: Slots,
    ) -> Result<(), PtxError> {
        // The second result first: the first may be the guard.
        if let Some(second) = second {
            let kept = self.fresh_slot(Type::Pred)?;
            self.emit_form(form, Slots { d: kept, ..slots })?;
            let d = self.result(second, Type::Pred)?;
            self.emit_form(
                predicates!(|a| !a),
                Slots {
                    d,
                    a: kept,
                    ..Slots::default()
                },
            )?;
            let d = self.result(first, Type::Pred)?;
            return self.emit_form(
                predicates!(|a| a),
                Slots {
                    d,
                    a: kept,
                    ..Slots::default()
                },
            );
        }
        let d = self.result(first, Type::Pred)?;
        self.emit_form(form, Slots { d, ..slots })
    }

    /// The form of the comparison and its sources, which are the second and third operand.
    fn comparison(
        &mut self,
        opcode: &mut Opcode<'_>,
        operands: &[Operand],
        joined: bool,
    ) -> Result<(Form, Slots), PtxError> {
        self.count(operands, if joined { 4 } else { 3 })?;
        let comparison = opcode
            .take(Comparison::named)
            .ok_or_else(|| opcode.refused())?;
        let ftz = opcode.takes("ftz");
        let ty = opcode.types.last().copied().unwrap_or(Type::B32);
        let form = ops::compare(comparison, ty, ftz).ok_or_else(|| opcode.refused())?;
        let a = self.source(&operands[1], ty, false)?;
        let b = self.source(&operands[2], ty, false)?;
        Ok((
            form,
            Slots {
                a,
                b,
                ..Slots::default()
            },
        ))
    }

    /// `set.lt.f16x2.f16x2`: for each of two halves.
    fn set_pair(
        &mut self,
        opcode: &mut Opcode<'_>,
        operands: &[Operand],
        half: Type,
    ) -> Result<(), PtxError> {
        self.count(operands, 3)?;
        let comparison = opcode
            .take(Comparison::named)
            .ok_or_else(|| opcode.refused())?;
        let yes = match opcode.ty() {
            Type::F16x2 => 0x3c00,
            Type::Bf16x2 => 0x3f80,
            Type::U32 | Type::S32 => 0xffff,
            _ => return Err(opcode.refused()),
        };
        let compare = ops::compare(comparison, half, false).ok_or_else(|| opcode.refused())?;
        let sources = [
            self.source(&operands[1], Type::B32, false)?,
            self.source(&operands[2], Type::B32, false)?,
        ];
        let mut parts = [0; 2];
        for (high, part) in parts.iter_mut().enumerate() {
            *part = self.set_half(compare, sources, high == 1, yes)?;
        }
        let d = self.result(&operands[0], Type::U32)?;
        let [a, b] = parts;
        let joined = lanes!(|a: u32, b: u32| -> u32 { a | b });
        let slots = Slots {
            d,
            a,
            b,
            ..Slots::default()
        };
        self.emit_form(joined, slots)
    }

    /// A register with `yes` in the low or high half where that half of two registers compares so.
    fn set_half(
        &mut self,
        compare: Form,
        sources: [u32; 2],
        high: bool,
        yes: u64,
    ) -> Result<u32, PtxError> {
        let mut halves = [0; 2];
        for (half, &a) in halves.iter_mut().zip(&sources) {
            let d = self.fresh_slot(Type::U16)?;
            *half = d;
            let slots = Slots {
                d,
                a,
                ..Slots::default()
            };
            self.emit_form(ops::half_of(false, high), slots)?;
        }
        let [a, b] = halves;
        let p = self.fresh_slot(Type::Pred)?;
        let slots = Slots {
            d: p,
            a,
            b,
            ..Slots::default()
        };
        self.emit_form(compare, slots)?;
        let a = self.constant(Type::U32, yes << (16 * u32::from(high)))?;
        let b = self.constant(Type::U32, 0)?;
        let d = self.fresh_slot(Type::U32)?;
        let form = lanes!(|a: u32, b: u32; p| -> u32 { if p { a } else { b } });
        self.emit_form(form, Slots { d, a, b, c: 0, p })?;
        Ok(d)
    }

    /// `set.lt.f32.s32`: a number in place of a predicate.
    pub fn set(&mut self, opcode: &mut Opcode<'_>, operands: &[Operand]) -> Result<(), PtxError> {
        match opcode.types.last() {
            Some(Type::F16x2) => return self.set_pair(opcode, operands, Type::F16),
            Some(Type::Bf16x2) => return self.set_pair(opcode, operands, Type::Bf16),
            _ => {}
        }
        let junction = opcode.take(junction);
        let (form, slots) = self.comparison(opcode, operands, junction.is_some())?;
        let mut p = self.fresh_slot(Type::Pred)?;
        self.emit_form(form, Slots { d: p, ..slots })?;
        if let Some(junction) = junction {
            let b = self.source(&operands[3], Type::Pred, false)?;
            let d = self.fresh_slot(Type::Pred)?;
            self.emit_form(
                junction,
                Slots {
                    d,
                    a: p,
                    b,
                    ..Slots::default()
                },
            )?;
            p = d;
        }
        let (yes, ty) = match opcode.ty() {
            Type::F32 => (u64::from(1f32.to_bits()), Type::U32),
            Type::U32 | Type::S32 | Type::B32 => (u64::MAX, Type::U32),
            Type::F16 => (0x3c00, Type::U16),
            Type::Bf16 => (0x3f80, Type::U16),
            _ => return Err(opcode.refused()),
        };
        let a = self.constant(Type::U32, yes)?;
        let b = self.constant(Type::U32, 0)?;
        let d = self.result(&operands[0], ty)?;
        let form = lanes!(|a: u32, b: u32; p| -> u32 { if p { a } else { b } });
        self.emit_form(form, Slots { d, a, b, c: 0, p })
    }

    /// `selp`, `slct`, `testp`.
    pub fn choose(
        &mut self,
        opcode: &mut Opcode<'_>,
        operands: &[Operand],
    ) -> Result<(), PtxError> {
        let form = ops::select(opcode).ok_or_else(|| opcode.refused())?;
        let takes_predicate = opcode.base == "selp";
        self.count(
            operands,
            1 + form.sources.len() + usize::from(takes_predicate),
        )?;
        let mut slots = [0; 3];
        for ((slot, operand), &ty) in slots.iter_mut().zip(&operands[1..]).zip(form.sources) {
            *slot = self.source(operand, ty, false)?;
        }
        let p = if takes_predicate {
            self.source(&operands[3], Type::Pred, false)?
        } else {
            0
        };
        let d = self.result(&operands[0], form.result)?;
        let [a, b, c] = slots;
        self.emit_form(form, Slots { d, a, b, c, p })
    }

    /// Any function of three operands, by its table.
    pub fn lop3(&mut self, operands: &[Operand]) -> Result<(), PtxError> {
        self.count(operands, 5)?;
        let Operand::Integer(table) = operands[4] else {
            return Err(self.unsupported("`lop3` takes a table that is a number, and no predicate"));
        };
        let a = self.source(&operands[1], Type::B32, false)?;
        let b = self.source(&operands[2], Type::B32, false)?;
        let c = self.source(&operands[3], Type::B32, false)?;
        let mut sum = self.constant(Type::B32, 0)?;
        for index in (0..8).filter(|index| table >> index & 1 != 0) {
            let term = self.fresh_slot(Type::B32)?;
            self.emit_form(
                ops::minterm(index),
                Slots {
                    d: term,
                    a,
                    b,
                    c,
                    p: 0,
                },
            )?;
            let d = self.fresh_slot(Type::B32)?;
            let form = lanes!(|a: u32, b: u32| -> u32 { a | b });
            self.emit_form(
                form,
                Slots {
                    d,
                    a: sum,
                    b: term,
                    ..Slots::default()
                },
            )?;
            sum = d;
        }
        let d = self.result(&operands[0], Type::B32)?;
        self.emit_form(
            ops::copy(Type::B32),
            Slots {
                d,
                a: sum,
                ..Slots::default()
            },
        )
    }

    pub fn bfi(&mut self, opcode: &mut Opcode<'_>, operands: &[Operand]) -> Result<(), PtxError> {
        self.count(operands, 5)?;
        let ty = opcode.ty();
        let start = self.source(&operands[3], Type::U32, false)?;
        let length = self.source(&operands[4], Type::U32, false)?;
        let c = self.fresh_slot(Type::U32)?;
        self.emit_form(
            ops::place(),
            Slots {
                d: c,
                a: start,
                b: length,
                ..Slots::default()
            },
        )?;
        let a = self.source(&operands[1], ty, false)?;
        let b = self.source(&operands[2], ty, false)?;
        let d = self.result(&operands[0], ty)?;
        let forms = ops::find(opcode).ok_or_else(|| opcode.refused())?;
        self.emit_form(forms[0], Slots { d, a, b, c, p: 0 })
    }

    pub fn prmt(&mut self, opcode: &mut Opcode<'_>, operands: &[Operand]) -> Result<(), PtxError> {
        self.count(operands, 4)?;
        let form = match opcode.take(ops::permute) {
            Some(form) => form,
            None => ops::find(opcode).ok_or_else(|| opcode.refused())?[0],
        };
        let a = self.source(&operands[1], Type::B32, false)?;
        let b = self.source(&operands[2], Type::B32, false)?;
        let c = self.source(&operands[3], Type::B32, false)?;
        let d = self.result(&operands[0], Type::B32)?;
        self.observe_alike(Type::B32, &[a, b, c])?;
        self.emit_form(form, Slots { d, a, b, c, p: 0 })
    }

    /// Sums with carries in and out.
    pub fn with_carry(
        &mut self,
        opcode: &mut Opcode<'_>,
        operands: &[Operand],
    ) -> Result<(), PtxError> {
        let leaves = ops::makes_carry(opcode);
        let product = opcode.base.starts_with("mad");
        self.count(operands, if product { 4 } else { 3 })?;
        let ty = opcode.ty();
        let (sum, carry) = ops::carrying(opcode).ok_or_else(|| opcode.refused())?;
        let a = self.source(&operands[1], ty, false)?;
        let mut b = self.source(&operands[2], ty, false)?;
        let third = if product {
            Some(self.source(&operands[3], ty, false)?)
        } else {
            None
        };
        let sources = [Some(a), Some(b), third];
        let sources: Vec<u32> = sources.into_iter().flatten().collect();
        self.observe_alike(ty, &sources)?;
        let mut first = a;
        if let Some(third) = third {
            first = self.product(opcode, a, b)?;
            b = third;
        }
        let p = match self.carry {
            Some(slot) => slot,
            None => self.fresh_slot(Type::Pred)?,
        };
        self.carry = Some(p);
        let next = self.fresh_slot(Type::Pred)?;
        let slots = Slots {
            d: next,
            a: first,
            b,
            c: 0,
            p,
        };
        self.emit_form(carry, slots)?;
        let d = self.result(&operands[0], ty)?;
        self.emit_form(sum, Slots { d, ..slots })?;
        if leaves {
            self.emit_form(
                predicates!(|a| a),
                Slots {
                    d: p,
                    a: next,
                    ..Slots::default()
                },
            )?;
        }
        Ok(())
    }
    /// A register with the lower or upper half of a product.
    fn product(&mut self, opcode: &mut Opcode<'_>, a: u32, b: u32) -> Result<u32, PtxError> {
        let ty = opcode.ty();
        let high = opcode.takes("hi");
        opcode.takes("lo");
        let half = if high { "mul.hi." } else { "mul.lo." };
        let name = format!("{half}{}", ty.name());
        let forms = ops::find(&mut Opcode::new(&name, self.at)).ok_or_else(|| opcode.refused())?;
        let d = self.fresh_slot(ty)?;
        let slots = Slots {
            d,
            a,
            b,
            ..Slots::default()
        };
        self.emit_form(forms[0], slots)?;
        Ok(d)
    }
}
