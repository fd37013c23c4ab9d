//! Decoding of operands: the register that holds a source, the register that a result goes to, and
//! the address of an access. Numbers become registers that hold constants.

use super::decoder::KernelDecoder;
use super::kernel::{Address, NONE, NamedSpace, Register};
use super::scope::Binding;
use crate::error::PtxError;
use crate::lanes::Slots;
use crate::names;
use crate::ops;
use crate::syntax::ast::Operand;
use crate::syntax::types::Type;

impl KernelDecoder<'_> {
    /// A register that holds an operand. `relaxed` takes registers that are wider than the type, as
    /// loads, stores and conversions do.
    pub fn source(&mut self, operand: &Operand, ty: Type, relaxed: bool) -> Result<u32, PtxError> {
        match operand {
            Operand::Name(name, 0) if ty == Type::Pred => self.predicate_named(name),
            Operand::Not(inner) if ty == Type::Pred => {
                let a = self.source(inner, ty, relaxed)?;
                let d = self.fresh_slot(Type::Pred)?;
                let form = predicates!(|a| !a);
                self.emit_form(
                    form,
                    Slots {
                        d,
                        a,
                        ..Slots::default()
                    },
                )?;
                Ok(d)
            }
            Operand::Name(name, offset) => self.value_named(name, *offset, ty, relaxed),
            Operand::Integer(bits) => self.constant(ty, converted(*bits, ty)),
            Operand::Single(bits) => {
                let bits = if ty == Type::F64 {
                    f64::from(f32::from_bits(*bits)).to_bits()
                } else {
                    u64::from(*bits)
                };
                self.constant(ty, bits)
            }
            Operand::Double(bits) => {
                let narrow = if ty.size() <= 4 {
                    u64::from((f64::from_bits(*bits) as f32).to_bits())
                } else {
                    *bits
                };
                self.constant(ty, narrow)
            }
            _ => Err(self.error(format!(
                "this operand of `{}` has to be a register or a number",
                self.opcode
            ))),
        }
    }

    fn predicate_named(&mut self, name: &str) -> Result<u32, PtxError> {
        match self.lookup(name)? {
            Some(Binding::Register {
                ty: Type::Pred,
                slot,
            }) => Ok(slot),
            Some(_) => Err(self.error(format!("{name} is no predicate"))),
            None => Err(self.undeclared(name)),
        }
    }

    fn undeclared(&self, name: &str) -> PtxError {
        let mut functions = self.ast.functions.iter();
        if let Some(function) = functions.find(|function| function.name == name) {
            let name = names::readable(name);
            // Only those who launch a kernel need its address.
            return if function.is_entry {
                self.unsupported(format!(
                    "kernels cannot launch kernels here, and this launches {name}; launch it from \
                     the host"
                ))
            } else {
                self.error(format!(
                    "{name} is a function, and its address is no operand here"
                ))
            };
        }
        if name.starts_with('%')
            && name.len() > 1
            && name.as_bytes()[1].is_ascii_lowercase()
            && !name.ends_with(|c: char| c.is_ascii_digit())
        {
            return self.unsupported(format!(
                "the special register {name} is not supported, or not declared"
            ));
        }
        self.error(format!("{name} is not declared"))
    }

    fn value_named(
        &mut self,
        name: &str,
        offset: i64,
        ty: Type,
        relaxed: bool,
    ) -> Result<u32, PtxError> {
        let Some(binding) = self.lookup(name)? else {
            return match self.special(name)? {
                // Special registers have 32 bits, and go into whatever asks for them.
                Some(slot) => self.resized(slot, Type::U32, ty),
                None => match self.symbols.functions.get(name) {
                    Some(&address) if ty.size() == 8 && offset == 0 => self.constant(ty, address),
                    _ => Err(self.undeclared(name)),
                },
            };
        };
        match binding {
            Binding::Register { ty: own, slot } => {
                let fits = own.size() == ty.size() || own.size() > ty.size() && relaxed;
                if own == Type::Pred || ty == Type::Pred || !fits {
                    let what = format!(
                        "{name} has type .{}, but `{}` takes .{} here",
                        own.name(),
                        self.opcode,
                        ty.name()
                    );
                    return Err(self.error(what));
                }
                self.resized(slot, own, ty)
            }
            Binding::Variable {
                space: NamedSpace::Local,
                address,
                ..
            } if self.routine != NONE => {
                self.frame_address(ty, address.wrapping_add_signed(offset))
            }
            Binding::Variable { address, .. } => {
                self.constant(ty, address.wrapping_add_signed(offset))
            }
            Binding::Dynamic => self.dynamic_address(ty, offset),
        }
    }

    /// A register of the file that a type is in.
    fn resized(&mut self, slot: u32, from: Type, to: Type) -> Result<u32, PtxError> {
        let form = match (from.size() == 8, to.size() == 8) {
            (true, false) => ops::truncate(),
            (false, true) => ops::extend(from),
            _ => return Ok(slot),
        };
        let d = self.fresh_slot(to)?;
        self.emit_form(
            form,
            Slots {
                d,
                a: slot,
                ..Slots::default()
            },
        )?;
        Ok(d)
    }

    /// The address of a variable in the frame of the routine being decoded.
    fn frame_address(&mut self, ty: Type, offset: u64) -> Result<u32, PtxError> {
        let a = self.frame_register()?;
        let b = self.constant(Type::U64, offset)?;
        let d = self.fresh_slot(Type::U64)?;
        let form = lanes!(|a: u64, b: u64| -> u64 { a.wrapping_add(b) });
        self.emit_form(
            form,
            Slots {
                d,
                a,
                b,
                ..Slots::default()
            },
        )?;
        self.resized(d, Type::U64, ty)
    }

    /// A constant whose value is known when all other shared memory is placed.
    fn dynamic_address(&mut self, ty: Type, offset: i64) -> Result<u32, PtxError> {
        let wide = ty.size() == 8;
        let known = self
            .dynamic
            .iter()
            .find(|known| (known.0, known.2) == (wide, offset));
        if let Some(known) = known {
            return Ok(known.1);
        }
        let slot = self.fresh_slot(if wide { Type::B64 } else { Type::B32 })?;
        self.dynamic.push((wide, slot, offset));
        Ok(slot)
    }

    /// The register that an instruction writes, of its own type.
    pub fn destination(&mut self, operand: &Operand) -> Result<(u32, Type), PtxError> {
        let Operand::Name(name, 0) = operand else {
            return Err(self.error(format!("`{}` has to write a register", self.opcode)));
        };
        match self.lookup(name)? {
            Some(Binding::Register { ty, slot }) => Ok((slot, ty)),
            Some(_) => Err(self.error(format!(
                "`{}` cannot write {name}, which is no register",
                self.opcode
            ))),
            None => Err(self.undeclared(name)),
        }
    }

    /// The register for a result of type `ty`; for `_`, one that is never read.
    pub fn result(&mut self, operand: &Operand, ty: Type) -> Result<u32, PtxError> {
        if *operand == Operand::Name("_".to_owned(), 0) {
            return self.fresh_slot(ty);
        }
        let (slot, own) = self.destination(operand)?;
        let same = own.size() == ty.size() && (own == Type::Pred) == (ty == Type::Pred);
        if !same {
            let what = format!(
                "`{}` gives .{}, which does not go into a register of type .{}",
                self.opcode,
                ty.name(),
                own.name()
            );
            return Err(self.error(what));
        }
        Ok(slot)
    }

    /// The register for a result that may go into a wider one, and what makes it wider.
    pub fn wide_result(
        &mut self,
        operand: &Operand,
        ty: Type,
    ) -> Result<(u32, Option<u32>), PtxError> {
        if *operand == Operand::Name("_".to_owned(), 0) {
            return Ok((self.fresh_slot(ty)?, None));
        }
        let (slot, own) = self.destination(operand)?;
        if own == Type::Pred || own.size() < ty.size() {
            let what = format!(
                "`{}` gives .{}, which does not go into a register of type .{}",
                self.opcode,
                ty.name(),
                own.name()
            );
            return Err(self.error(what));
        }
        if own.size() == 8 && ty.size() < 8 {
            return Ok((self.fresh_slot(ty)?, Some(slot)));
        }
        Ok((slot, None))
    }

    /// A register for an element of a load or store.
    pub fn element(
        &mut self,
        operand: &Operand,
        ty: Type,
        is_store: bool,
    ) -> Result<Register, PtxError> {
        if is_store {
            if let Operand::Name(name, 0) = operand
                && let Some(Binding::Register { ty: own, slot }) = self.lookup(name)?
                && own != Type::Pred
                && own.size() >= ty.size()
            {
                return Ok(Register {
                    slot,
                    wide: own.size() == 8,
                });
            }
            let slot = self.source(operand, ty, true)?;
            return Ok(Register {
                slot,
                wide: ty.size() == 8,
            });
        }
        if *operand == Operand::Name("_".to_owned(), 0) {
            return Ok(Register {
                slot: self.fresh_slot(ty)?,
                wide: ty.size() == 8,
            });
        }
        let (slot, own) = self.destination(operand)?;
        if own == Type::Pred || own.size() < ty.size() {
            return Err(self.error(format!(
                "a register of type .{} has no room for .{}",
                own.name(),
                ty.name()
            )));
        }
        Ok(Register {
            slot,
            wide: own.size() == 8,
        })
    }

    /// The address of a variable.
    fn address_in(&self, space: NamedSpace, at: u64) -> Address {
        match space {
            NamedSpace::Local => self.local_address(at),
            _ => Address {
                base: None,
                offset: at as i64,
            },
        }
    }

    /// Where an access goes, and in which space if its name says that.
    pub fn address(
        &mut self,
        operand: &Operand,
    ) -> Result<(Address, Option<NamedSpace>), PtxError> {
        let Operand::Address(base, offset) = operand else {
            return Err(self.error(format!(
                "`{}` takes an address in brackets here",
                self.opcode
            )));
        };
        let offset = *offset;
        match &**base {
            Operand::Integer(address) => Ok((
                Address {
                    base: None,
                    offset: offset.wrapping_add(*address as i64),
                },
                None,
            )),
            Operand::Name(name, _) => match self.lookup(name)? {
                Some(Binding::Register { ty, slot }) if ty.size() >= 4 => {
                    let base = Some(Register {
                        slot,
                        wide: ty.size() == 8,
                    });
                    Ok((Address { base, offset }, None))
                }
                Some(Binding::Register { .. }) => {
                    Err(self.error(format!("{name} is too narrow for an address")))
                }
                Some(Binding::Variable { space, address, .. }) => {
                    let at = address.wrapping_add_signed(offset);
                    Ok((self.address_in(space, at), Some(space)))
                }
                Some(Binding::Dynamic) => {
                    let slot = self.dynamic_address(Type::B64, 0)?;
                    Ok((
                        Address {
                            base: Some(Register { slot, wide: true }),
                            offset,
                        },
                        Some(NamedSpace::Shared),
                    ))
                }
                None => Err(self.undeclared(name)),
            },
            _ => {
                Err(self
                    .error("an address is a register, a variable or a number, and bytes behind it"))
            }
        }
    }
}

/// The bits of an integer as an operand of that type.
fn converted(bits: u64, ty: Type) -> u64 {
    match ty {
        Type::F32 => u64::from((bits as i64 as f32).to_bits()),
        Type::F64 => (bits as i64 as f64).to_bits(),
        _ => bits,
    }
}
