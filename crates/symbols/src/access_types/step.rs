//! What an instruction does to what is known of registers, and which data it accesses.

use iced_x86::{Code, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};

use super::facts::{Facts, Statics, in_statics, pointee};
use super::pointer::{Pointer, RegisterStates, RegisterValue};
use crate::layouts::Layouts;

/// The general-purpose registers that a called function may change.
///
/// Source: System V ABI for AMD64, section 3.2.1.
const CALL_CLOBBERED: [Register; 9] = [
    Register::RAX,
    Register::RCX,
    Register::RDX,
    Register::RSI,
    Register::RDI,
    Register::R8,
    Register::R9,
    Register::R10,
    Register::R11,
];

/// Follows addresses through the instructions of a function.
pub(super) struct Stepper<'s, 'a> {
    pub layouts: &'s mut Layouts<'a>,
    pub facts: &'s Facts,
    pub statics: &'s Statics,
    info: InstructionInfoFactory,
}

/// The number of a general-purpose register of 64 bits; `None` for others.
fn number(register: Register) -> Option<usize> {
    register.is_gpr64().then(|| register.number())
}

/// The number of the general-purpose register that a register is a part of.
fn full_number(register: Register) -> Option<usize> {
    number(register.full_register())
}

impl<'s, 'a> Stepper<'s, 'a> {
    pub fn new(layouts: &'s mut Layouts<'a>, facts: &'s Facts, statics: &'s Statics) -> Self {
        Stepper {
            layouts,
            facts,
            statics,
            info: InstructionInfoFactory::new(),
        }
    }

    /// The data that an instruction accesses by its operand in memory, or whose address it takes.
    pub fn operand(&self, instruction: &Instruction, state: &RegisterStates) -> Option<Pointer> {
        let segments = [Register::FS, Register::GS];
        if segments.contains(&instruction.segment_prefix()) {
            return None;
        }
        let (base, index) = (instruction.memory_base(), instruction.memory_index());
        let moved = instruction.memory_displacement64() as i64;
        let has_index = index != Register::None;
        let found = match base {
            Register::RIP => in_statics(self.statics, instruction.memory_displacement64()),
            Register::None => in_statics(self.statics, instruction.memory_displacement64()),
            _ => {
                let number = number(base)?;
                let slot = self.facts.slot(instruction.ip(), number, moved);
                slot.or_else(|| Some(state[number].pointer()?.plus(moved)))
            }
        };
        let is_single = has_index && instruction.memory_index_scale() == 1;
        let by_index = || {
            let pointer = state[number(index).filter(|_| is_single)?].pointer()?;
            Some(pointer.plus(moved))
        };
        let found = match found {
            None if base != Register::RIP => by_index()?,
            found => found?,
        };
        Some(if has_index { found.indexed() } else { found })
    }

    /// Applies an instruction to what is known of registers.
    pub fn step(&mut self, instruction: &Instruction, state: &mut RegisterStates) {
        let written = self.written(instruction, state);
        let info = self.info.info(instruction);
        for used in info.used_registers() {
            let is_read = matches!(used.access(), OpAccess::Read | OpAccess::CondRead);
            if let Some(register) = full_number(used.register()).filter(|_| !is_read) {
                state[register] = RegisterValue::Unknown;
            }
        }
        if instruction.mnemonic() == Mnemonic::Call {
            for register in CALL_CLOBBERED {
                state[register.number()] = RegisterValue::Unknown;
            }
        }
        if let Some((register, value)) = written {
            state[register] = value;
        }
        self.stored(instruction, state);
    }

    /// An unknown register that is stored to a variable gets the variable's type: what is stored to
    /// a pointer to nodes points to nodes.
    fn stored(&mut self, instruction: &Instruction, state: &mut RegisterStates) -> Option<()> {
        let is_store = instruction.mnemonic() == Mnemonic::Mov
            && instruction.op0_kind() == OpKind::Memory
            && instruction.op1_kind() == OpKind::Register;
        let from = number(instruction.op1_register()).filter(|_| is_store)?;
        let is_unknown = state[from].pointer().is_none();
        let base = number(instruction.memory_base()).filter(|_| is_unknown)?;
        if let Some(address) = self.address_in_slot(instruction) {
            state[from] = RegisterValue::Pointer(address);
            return Some(());
        }
        let moved = instruction.memory_displacement64() as i64;
        let storage = self.facts.slot(instruction.ip(), base, moved)?;
        let at = u64::try_from(storage.offset?).ok()?;
        state[from] = RegisterValue::of(pointee(self.layouts, storage.kind, at));
        Some(())
    }

    /// The register of 64 bits that an instruction writes an address to.
    fn written(
        &mut self,
        instruction: &Instruction,
        state: &RegisterStates,
    ) -> Option<(usize, RegisterValue)> {
        let to = match instruction.op_count() {
            0 => return None,
            _ if instruction.op0_kind() == OpKind::Register => number(instruction.op0_register())?,
            _ => return None,
        };
        let pointer = match instruction.mnemonic() {
            Mnemonic::Mov => self.source(instruction, state),
            Mnemonic::Lea => self.operand(instruction, state),
            Mnemonic::Add => self.sum(instruction, state, to),
            Mnemonic::Sub => {
                let bytes = immediate(instruction)?;
                Some(state[to].pointer()?.plus(bytes.checked_neg()?))
            }
            Mnemonic::Inc => Some(state[to].pointer()?.plus(1)),
            mnemonic if is_conditional_move(mnemonic) => {
                let moved = RegisterValue::of(self.source(instruction, state));
                return Some((to, state[to].or(moved)));
            }
            _ => return None,
        };
        Some((to, RegisterValue::of(pointer)))
    }

    /// The second operand of an instruction, if it is an address.
    fn source(&mut self, instruction: &Instruction, state: &RegisterStates) -> Option<Pointer> {
        match instruction.op1_kind() {
            OpKind::Register => state[number(instruction.op1_register())?].pointer(),
            OpKind::Memory => {
                let address = self.address_in_slot(instruction);
                if address.is_some() {
                    return address;
                }
                let storage = self.operand(instruction, state)?;
                let at = u64::try_from(storage.offset?).ok()? % storage.bytes;
                pointee(self.layouts, storage.kind, at)
            }
            OpKind::Immediate32to64 | OpKind::Immediate64 => {
                in_statics(self.statics, immediate(instruction)? as u64)
            }
            _ => None,
        }
    }

    /// The variable whose address is in the stack slot that an instruction accesses.
    fn address_in_slot(&self, instruction: &Instruction) -> Option<Pointer> {
        let base = number(instruction.memory_base())?;
        let moved = instruction.memory_displacement64() as i64;
        let is_slot = instruction.memory_index() == Register::None;
        let found = self.facts.address_in_slot(instruction.ip(), base, moved);
        found.filter(|_| is_slot)
    }

    /// The sum of a register, `to`, and the second operand, if one of them is an address.
    fn sum(
        &mut self,
        instruction: &Instruction,
        state: &RegisterStates,
        to: usize,
    ) -> Option<Pointer> {
        let own = state[to].pointer();
        if let Some(bytes) = immediate(instruction) {
            return Some(own?.plus(bytes));
        }
        let other = self.source(instruction, state);
        match (own, other) {
            (Some(pointer), None) | (None, Some(pointer)) => Some(pointer.indexed()),
            _ => None,
        }
    }
}

/// The number that the second operand of an instruction is.
fn immediate(instruction: &Instruction) -> Option<i64> {
    let is_immediate = matches!(
        instruction.op1_kind(),
        OpKind::Immediate8to64 | OpKind::Immediate32to64 | OpKind::Immediate64
    );
    is_immediate.then(|| instruction.immediate(1) as i64)
}

fn is_conditional_move(mnemonic: Mnemonic) -> bool {
    use Mnemonic::{
        Cmova, Cmovae, Cmovb, Cmovbe, Cmove, Cmovg, Cmovge, Cmovl, Cmovle, Cmovne, Cmovno, Cmovnp,
        Cmovns, Cmovo, Cmovp, Cmovs,
    };
    let all = [
        Cmova, Cmovae, Cmovb, Cmovbe, Cmove, Cmovg, Cmovge, Cmovl, Cmovle, Cmovne, Cmovno, Cmovnp,
        Cmovns, Cmovo, Cmovp, Cmovs,
    ];
    all.contains(&mnemonic)
}

/// Which of its accesses an instruction makes by its operand in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Accesses {
    /// All of them.
    All,
    /// Those that read, or those that write: the others are to the stack.
    Only { writes: bool },
}

/// Which accesses an instruction makes by its operand in memory; `None` if it has none.
pub(super) fn accesses(instruction: &Instruction) -> Option<Accesses> {
    let kinds = (0..instruction.op_count()).map(|operand| instruction.op_kind(operand));
    let operands = kinds.filter(|kind| *kind == OpKind::Memory).count();
    let is_access = !matches!(instruction.mnemonic(), Mnemonic::Lea | Mnemonic::Nop);
    match instruction.mnemonic() {
        _ if operands != 1 || !is_access => None,
        Mnemonic::Push | Mnemonic::Call => Some(Accesses::Only { writes: false }),
        Mnemonic::Pop => Some(Accesses::Only { writes: true }),
        _ => Some(Accesses::All),
    }
}

/// The registers with the addresses that an instruction for strings reads from and writes to.
pub(super) fn string_operands(instruction: &Instruction) -> [Option<usize>; 2] {
    let kinds = (0..instruction.op_count()).map(|operand| instruction.op_kind(operand));
    let mut found = [None; 2];
    for kind in kinds {
        match kind {
            OpKind::MemorySegRSI => found[0] = Some(Register::RSI.number()),
            OpKind::MemoryESRDI if instruction.code() != Code::INVALID => {
                found[1] = Some(Register::RDI.number());
            }
            _ => {}
        }
    }
    found
}
