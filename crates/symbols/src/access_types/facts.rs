//! [`Facts`]: the registers and stack slots that hold a function's variables, by its debug
//! information; and [`Statics`], the static variables of a unit.
//!
//! Source: DWARF 5, sections 2.6 (locations), 3.3.8 (inlined functions) and 4.1 (variables).

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use gimli::{Expression, Operation, UnitOffset};

use super::pointer::{Pointer, register};
use crate::layouts::Layouts;
use crate::unwind::{CfaRow, Unwind};
use crate::variables::{Entry, Reader, Unit, attribute_of, declaration, offset, ranges};

/// Bytes of an address.
const POINTER_BYTES: u64 = 8;
/// The registers of the stack, `%rsp` and `%rbp`.
const STACK: [usize; 2] = [4, 5];
/// The most places of a function's variables that are kept; the rest is left out.
const MAX_FACTS: usize = 1 << 14;
/// The cost of an entry of a list of places, in the budget of a unit.
const PLACE_COST: usize = 16;

/// A register that has an address in some code.
pub(super) struct RegisterFact {
    pub code: Range<u64>,
    pub register: usize,
    pub pointer: Pointer,
}

/// What the place of a stack slot is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SlotBase {
    /// The canonical frame address.
    Frame,
    /// A register, by its number in instructions.
    Register(usize),
}

/// Memory of the stack that is a variable, or holds its address, in some code.
struct StackSlot {
    code: Range<u64>,
    base: SlotBase,
    offset: i64,
    storage: Pointer,
}

/// What is known of a function's variables.
#[derive(Default)]
pub(super) struct Facts {
    /// The function's code.
    pub code: Vec<Range<u64>>,
    pub registers: Vec<RegisterFact>,
    slots: Vec<StackSlot>,
    /// Slots that hold the address of a variable, as with arguments of Fortran. `storage` is the
    /// variable.
    addresses: Vec<StackSlot>,
    /// How the canonical frame address follows from a register, by ranges of code.
    frames: Vec<CfaRow>,
}

impl Facts {
    /// The facts of a function, as far as its entries can be read.
    pub fn of(
        unit: Unit<'_>,
        layouts: &mut Layouts<'_>,
        unwind: &Unwind,
        function: UnitOffset,
    ) -> Facts {
        let mut facts = Facts::default();
        let _ = facts.read(unit, layouts, function);
        for code in &facts.code {
            facts.frames.extend(unwind.rows((code.start, code.end)));
        }
        facts
    }

    fn read(
        &mut self,
        unit: Unit<'_>,
        layouts: &mut Layouts<'_>,
        function: UnitOffset,
    ) -> gimli::Result<()> {
        let root = unit.entry(function)?;
        self.code = ranges(unit, &root);
        let base = frame_base(unit, &root);
        let mut entries = unit.entries_at_offset(function)?;
        let mut depth = None;
        // The depth and the code of the blocks around, the innermost last. Variables of a nested
        // function have no code here: it is read by itself.
        let mut around: Vec<(isize, Rc<[Range<u64>]>)> = Vec::new();
        while let Some(entry) = entries.next_dfs()? {
            let first = *depth.get_or_insert(entry.depth());
            if entry.depth() <= first && entry.offset() != function {
                break;
            }
            while around
                .pop_if(|(outer, _)| *outer >= entry.depth())
                .is_some()
            {}
            let of_outer = around.last().map(|(_, code)| code);
            match entry.tag() {
                gimli::DW_TAG_subprogram if entry.offset() != function => {
                    around.push((entry.depth(), Rc::default()));
                }
                gimli::DW_TAG_subprogram => {
                    around.push((entry.depth(), self.code.as_slice().into()));
                }
                gimli::DW_TAG_inlined_subroutine | gimli::DW_TAG_lexical_block => {
                    let own = ranges(unit, entry);
                    let code = if own.is_empty() {
                        of_outer.cloned().unwrap_or_default()
                    } else {
                        own.into()
                    };
                    around.push((entry.depth(), code));
                }
                gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => {
                    let code: &[Range<u64>] = of_outer.map_or(&[], |code| code);
                    self.variable(unit, layouts, entry, (code, base));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Adds the places of a variable. `code` is the code of the block that declares it.
    fn variable<'a>(
        &mut self,
        unit: Unit<'a>,
        layouts: &mut Layouts<'_>,
        entry: &Entry<'a>,
        (code, base): (&[Range<u64>], Option<SlotBase>),
    ) -> Option<()> {
        let location = entry.attr_value(gimli::DW_AT_location)?;
        let declared = declaration(unit, entry);
        let kind = attribute_of(entry, declared.as_ref(), gimli::DW_AT_type).and_then(offset)?;
        if let Some(expression) = location.exprloc_value() {
            let places = places(unit, expression, base)?;
            for code in code {
                layouts.spend(PLACE_COST)?;
                self.add(layouts, kind, (code, &places));
            }
            return Some(());
        }
        let mut list = unit.attr_locations(location).ok()??;
        while let Ok(Some(entry)) = list.next() {
            layouts.spend(PLACE_COST)?;
            let range = entry.range.begin..entry.range.end;
            if let Some(places) = places(unit, entry.data, base) {
                self.add(layouts, kind, (&range, &places));
            }
        }
        Some(())
    }

    /// Adds the places that a variable of type `kind` has in some code, each with the offset in the
    /// variable of the part that is there.
    fn add(
        &mut self,
        layouts: &mut Layouts<'_>,
        kind: UnitOffset,
        (code, places): (&Range<u64>, &[(u64, VariablePlace)]),
    ) {
        for (at, place) in places {
            if self.is_full() {
                return;
            }
            let code = code.clone();
            match *place {
                VariablePlace::Value { register, plus } => {
                    let pointer = pointee(layouts, kind, *at);
                    self.registers.extend(pointer.map(|pointer| RegisterFact {
                        code,
                        register,
                        pointer: pointer.plus(-plus),
                    }));
                }
                VariablePlace::Address { base, offset } => {
                    let pointer = storage(layouts, kind).filter(|_| *at == 0);
                    self.addresses.extend(pointer.map(|storage| StackSlot {
                        code,
                        base,
                        offset,
                        storage,
                    }));
                }
                VariablePlace::Memory {
                    base: SlotBase::Register(register),
                    offset,
                } if *at == 0 && !STACK.contains(&register) => {
                    let pointer = storage(layouts, kind);
                    self.registers.extend(pointer.map(|pointer| RegisterFact {
                        code,
                        register,
                        pointer: pointer.plus(-offset),
                    }));
                }
                VariablePlace::Memory { base, offset } if *at == 0 => {
                    let storage = storage(layouts, kind);
                    self.slots.extend(storage.map(|storage| StackSlot {
                        code,
                        base,
                        offset,
                        storage,
                    }));
                }
                VariablePlace::Memory { .. } => {}
            }
        }
    }

    /// Whether [`MAX_FACTS`] places are kept.
    fn is_full(&self) -> bool {
        self.registers.len() + self.slots.len() + self.addresses.len() >= MAX_FACTS
    }

    /// The number of stack slots, which are all looked at for each access.
    pub fn slots(&self) -> usize {
        self.slots.len() + self.addresses.len()
    }

    /// The variable on the stack at this distance from a register, at an instruction.
    pub fn slot(&self, address: u64, register: usize, distance: i64) -> Option<Pointer> {
        self.slots.iter().find_map(|slot| {
            let inner = self.within(slot, address, (register, distance))?;
            let is_in = u64::try_from(inner).is_ok_and(|inner| inner < slot.storage.bytes);
            is_in.then(|| slot.storage.plus(inner))
        })
    }

    /// The variable whose address is on the stack at this distance from a register.
    pub fn address_in_slot(&self, at: u64, register: usize, distance: i64) -> Option<Pointer> {
        let is_it = |slot: &&StackSlot| self.within(slot, at, (register, distance)) == Some(0);
        self.addresses.iter().find(is_it).map(|slot| slot.storage)
    }

    /// How far a place is from the begin of a stack slot, at an instruction where there is one.
    fn within(
        &self,
        slot: &StackSlot,
        address: u64,
        (register, distance): (usize, i64),
    ) -> Option<i64> {
        if !slot.code.contains(&address) {
            return None;
        }
        let from = match slot.base {
            SlotBase::Register(number) => (number == register).then_some(distance)?,
            SlotBase::Frame => {
                let mut frames = self.frames.iter();
                let row = frames.find(|row| row.code.contains(&address))?;
                let base = row.register.and_then(|base| self::register(base.0));
                distance
                    .checked_sub(row.offset)
                    .filter(|_| base == Some(register))?
            }
        };
        from.checked_sub(slot.offset)
    }
}

/// Data of a type, by the address of its first byte.
pub(super) fn storage(layouts: &Layouts<'_>, kind: UnitOffset) -> Option<Pointer> {
    let kind = layouts.plain(kind)?;
    Some(Pointer {
        kind,
        bytes: layouts.bytes(kind).filter(|bytes| *bytes > 0)?,
        offset: Some(0),
        is_indexed: false,
        is_strided: false,
    })
}

/// What the pointer at an offset of a type points to.
pub(super) fn pointee(layouts: &mut Layouts<'_>, kind: UnitOffset, at: u64) -> Option<Pointer> {
    let pointee = layouts.pointee_at(kind, at)?;
    storage(layouts, pointee)
}

/// The static variables of a unit, by address.
pub(super) type Statics = BTreeMap<u64, Pointer>;

/// The static variable that an address is in.
pub(super) fn in_statics(statics: &Statics, address: u64) -> Option<Pointer> {
    let (begin, storage) = statics.range(..=address).next_back()?;
    let inner = address - begin;
    (inner < storage.bytes).then(|| storage.plus(inner as i64))
}

/// Where the value of a variable is, or a part of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VariablePlace {
    /// A register plus a number.
    Value { register: usize, plus: i64 },
    /// Memory.
    Memory { base: SlotBase, offset: i64 },
    /// Memory whose address is in this memory.
    Address { base: SlotBase, offset: i64 },
}

/// The places of a variable's parts, each with its offset in the variable. `None` if the
/// expression is not one of those that are known.
fn places<'a>(
    unit: Unit<'a>,
    expression: Expression<Reader<'a>>,
    frame_base: Option<SlotBase>,
) -> Option<Vec<(u64, VariablePlace)>> {
    let mut operations = expression.operations(unit.encoding());
    let mut found = Vec::new();
    let (mut at, mut place): (u64, _) = (0, None);
    while let Some(operation) = operations.next().ok()? {
        let Operation::Piece {
            size_in_bits,
            bit_offset,
        } = operation
        else {
            place = Some(place_after(operation, place, frame_base)?);
            continue;
        };
        let whole = place.take().filter(|_| bit_offset.is_none());
        found.extend(whole.map(|place| (at, place)));
        at = at.checked_add(size_in_bits / 8)?;
    }
    found.extend(place.map(|place| (at, place)));
    Some(found)
}

/// The place that an operation makes of the one so far.
fn place_after(
    operation: Operation<Reader<'_>>,
    place: Option<VariablePlace>,
    frame_base: Option<SlotBase>,
) -> Option<VariablePlace> {
    let memory = match place {
        Some(VariablePlace::Memory { base, offset }) => Some((base, offset)),
        Some(_) => return None,
        None => None,
    };
    Some(match (operation, memory) {
        (Operation::Register { register: number }, None) => VariablePlace::Value {
            register: register(number.0)?,
            plus: 0,
        },
        (
            Operation::RegisterOffset {
                register: number,
                offset,
                ..
            },
            None,
        ) => {
            let base = SlotBase::Register(register(number.0)?);
            VariablePlace::Memory { base, offset }
        }
        (Operation::FrameOffset { offset }, None) => {
            let base = frame_base?;
            VariablePlace::Memory { base, offset }
        }
        (
            Operation::Deref {
                space: false, size, ..
            },
            Some((base, offset)),
        ) if u64::from(size) == POINTER_BYTES => VariablePlace::Address { base, offset },
        (Operation::StackValue, Some((SlotBase::Register(register), plus))) => {
            VariablePlace::Value { register, plus }
        }
        _ => return None,
    })
}

/// What places in a function's frame are relative to.
fn frame_base<'a>(unit: Unit<'a>, entry: &Entry<'a>) -> Option<SlotBase> {
    let expression = entry.attr_value(gimli::DW_AT_frame_base)?.exprloc_value()?;
    let mut operations = expression.operations(unit.encoding());
    let base = match operations.next().ok()?? {
        Operation::CallFrameCFA => SlotBase::Frame,
        Operation::Register { register: number } => SlotBase::Register(register(number.0)?),
        _ => return None,
    };
    operations.next().ok()?.is_none().then_some(base)
}
