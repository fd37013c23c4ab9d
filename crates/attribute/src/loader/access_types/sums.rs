//! Registers that are sums of two others: `lea (%r8,%rdx),%rax`.
//!
//! Optimised code accesses what it carves from a buffer of bytes by the buffer and an index, though
//! debug information has the pointer in another register: both are the same address.

use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};

use super::pointer::{Pointer, RegisterStates};

/// What an address is the sum of, but for a number. Of two registers that are added as they are,
/// the first comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AddressParts {
    base: Register,
    index: Register,
    scale: u32,
}

impl AddressParts {
    /// Those of an instruction's operand in memory, if that has two registers.
    fn of(instruction: &Instruction) -> Option<AddressParts> {
        let (base, index) = (instruction.memory_base(), instruction.memory_index());
        let is_in_segment = matches!(instruction.segment_prefix(), Register::FS | Register::GS);
        if !base.is_gpr64() || !index.is_gpr64() || is_in_segment {
            return None;
        }
        let scale = instruction.memory_index_scale();
        let (base, index) = match scale {
            1 => (base.min(index), base.max(index)),
            _ => (base, index),
        };
        Some(AddressParts { base, index, scale })
    }
}

/// The registers that are sums of two others, from the begin of a block to an instruction of it.
#[derive(Debug)]
pub(super) struct RegisterSums {
    /// The register, what it is the sum of, and the number that is added.
    known: Vec<(Register, AddressParts, i64)>,
    info: InstructionInfoFactory,
}

impl RegisterSums {
    /// At the begin of a block: none.
    pub fn new() -> RegisterSums {
        RegisterSums {
            known: Vec::new(),
            info: InstructionInfoFactory::new(),
        }
    }

    /// Forgets all, at the begin of another block.
    pub fn clear(&mut self) {
        self.known.clear();
    }

    /// The data that an instruction's operand in memory is in, by a register that is the same sum.
    pub fn operand(&self, instruction: &Instruction, state: &RegisterStates) -> Option<Pointer> {
        let parts = AddressParts::of(instruction)?;
        let moved = instruction.memory_displacement64() as i64;
        self.known
            .iter()
            .filter(|(_, known, _)| *known == parts)
            .find_map(|(register, _, known)| {
                let pointer = state[register.number()].pointer()?;
                Some(pointer.plus(moved.checked_sub(*known)?))
            })
    }

    /// Applies an instruction.
    pub fn step(&mut self, instruction: &Instruction) {
        // A called function may change most of them.
        if instruction.mnemonic() == Mnemonic::Call {
            self.known.clear();
        }
        for used in self.info.info(instruction).used_registers() {
            if matches!(used.access(), OpAccess::Read | OpAccess::CondRead) {
                continue;
            }
            let written = used.register().full_register();
            self.known.retain(|(register, parts, _)| {
                ![*register, parts.base, parts.index].contains(&written)
            });
        }
        if instruction.mnemonic() == Mnemonic::Lea && instruction.op0_kind() == OpKind::Register {
            let to = instruction.op0_register();
            let parts = AddressParts::of(instruction);
            let parts = parts.filter(|it| to.is_gpr64() && to != it.base && to != it.index);
            let moved = instruction.memory_displacement64() as i64;
            self.known.extend(parts.map(|parts| (to, parts, moved)));
        }
    }
}

#[cfg(test)]
mod tests {
    use gimli::UnitOffset;
    use iced_x86::{Decoder, DecoderOptions};

    use super::super::pointer::{REGISTERS, RegisterValue};
    use super::*;

    /// How far the operand of the last instruction is from where `%rax` points to, which is known
    /// to be data; `None` if that is not known.
    fn offset(code: &[u8]) -> Option<i64> {
        let mut state = [RegisterValue::Unknown; REGISTERS];
        state[0] = RegisterValue::Pointer(Pointer {
            kind: UnitOffset(7),
            bytes: 24,
            offset: Some(0),
            is_indexed: false,
            is_strided: false,
        });
        let mut sums = RegisterSums::new();
        let instructions: Vec<Instruction> =
            Decoder::with_ip(64, code, 0x1000, DecoderOptions::NONE)
                .into_iter()
                .collect();
        let (last, before) = instructions.split_last().unwrap();
        for instruction in before {
            sums.step(instruction);
        }
        sums.operand(last, &state)?.offset
    }

    #[test]
    fn equal_sums_are_one_address() {
        const LEA: [u8; 5] = [0x49, 0x8d, 0x44, 0x10, 0x10]; // lea 0x10(%r8,%rdx),%rax
        const STORE: [u8; 5] = [0x49, 0x89, 0x74, 0x10, 0x18]; // mov %rsi,0x18(%r8,%rdx)
        const SWAPPED: [u8; 5] = [0x4a, 0x89, 0x74, 0x02, 0x18]; // mov %rsi,0x18(%rdx,%r8)
        const SCALED: [u8; 5] = [0x49, 0x89, 0x74, 0xd0, 0x18]; // mov %rsi,0x18(%r8,%rdx,8)
        let with = |between: &[u8], last: &[u8]| offset(&[&LEA[..], between, last].concat());
        assert_eq!(with(&[], &STORE), Some(8));
        assert_eq!(with(&[], &SWAPPED), Some(8));
        assert_eq!(with(&[], &SCALED), None);
        assert_eq!(offset(&STORE), None);
        // add $1,%rsi; then registers of the sum: inc %edx, mov %rsi,%r8, xor %eax,%eax, a call.
        assert_eq!(with(&[0x48, 0x83, 0xc6, 0x01], &STORE), Some(8));
        assert_eq!(with(&[0xff, 0xc2], &STORE), None);
        assert_eq!(with(&[0x49, 0x89, 0xf0], &STORE), None);
        assert_eq!(with(&[0x31, 0xc0], &STORE), None);
        assert_eq!(with(&[0xe8, 0, 0, 0, 0], &STORE), None);
        // lea (%rax,%rdx),%rax: not the sum of what is in registers after it.
        let own = [0x48, 0x8d, 0x04, 0x10, 0x48, 0x89, 0x34, 0x10];
        assert_eq!(offset(&own), None);
    }
}
