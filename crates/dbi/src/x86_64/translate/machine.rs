//! [`Machine`]: an interpreter of the few x86-64 instructions that the tests use and the translator
//! adds. The tests run a program's code and its translation on it, and compare what they do.

use std::collections::BTreeMap;
use std::vec::Vec;

use iced_x86::{
    Code, ConditionCode, Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register,
};

use crate::image::x86_64::registers::{RSP, number};

/// An access to memory: whether it stores, its size, its address, and the address after its
/// instruction.
pub type Access = (bool, u8, u64, u64);

#[derive(Clone, Default)]
pub struct Machine {
    pub registers: [u64; 16],
    /// Memory, byte by byte; what was not written yet is made of its address.
    pub memory: BTreeMap<u64, u8>,
    /// The thread's state, by offset from gs.
    pub thread: BTreeMap<u64, u8>,
    pub accesses: Vec<Access>,
    pub rip: u64,
    zero: bool,
    carry: bool,
    sign: bool,
    overflow: bool,
}

impl Machine {
    /// The flags that conditions look at.
    pub fn flags(&self) -> [bool; 4] {
        [self.zero, self.carry, self.sign, self.overflow]
    }

    /// Runs one instruction of `code`, which begins at address `start`. Returns false, and does
    /// nothing, if the next instruction is not within `code`.
    pub fn step(&mut self, code: &[u8], start: u64) -> bool {
        let Some(rest) = code.get(self.rip.wrapping_sub(start) as usize..) else {
            return false;
        };
        if rest.is_empty() {
            return false;
        }
        let mut decoder = Decoder::with_ip(64, rest, self.rip, DecoderOptions::NONE);
        let instruction = decoder.decode();
        assert!(!instruction.is_invalid(), "at {:#x}", self.rip);
        self.rip = instruction.next_ip();
        self.run(&instruction);
        true
    }

    fn run(&mut self, of: &Instruction) {
        match of.mnemonic() {
            Mnemonic::Nop => {}
            Mnemonic::Mov | Mnemonic::Movzx => {
                let value = self.read(of, 1);
                self.write(of, value);
            }
            Mnemonic::Lea => {
                let address = self.address(of);
                self.write(of, address);
            }
            Mnemonic::Add => {
                let (one, other) = (self.read(of, 0), self.read(of, 1));
                let sum = one.wrapping_add(other);
                // At the operands' own width: their highest bits are moved to the top.
                let unused = 64 - 8 * of.op0_register().size().clamp(1, 8);
                let width = if of.op0_kind() == OpKind::Register {
                    unused
                } else {
                    0
                };
                let top = [one << width, other << width, sum << width];
                self.carry = top[2] < top[0];
                self.overflow = ((top[0] ^ top[2]) & (top[1] ^ top[2])) >> 63 != 0;
                self.result(top[2]);
                self.write(of, sum);
            }
            Mnemonic::Sub | Mnemonic::Cmp => {
                let (one, other) = (self.read(of, 0), self.read(of, 1));
                let difference = one.wrapping_sub(other);
                self.carry = one < other;
                self.overflow = ((one ^ other) & (one ^ difference)) >> 63 != 0;
                self.result(difference);
                if of.mnemonic() == Mnemonic::Sub {
                    self.write(of, difference);
                }
            }
            Mnemonic::Xor => {
                let value = self.read(of, 0) ^ self.read(of, 1);
                (self.carry, self.overflow) = (false, false);
                self.result(value);
                self.write(of, value);
            }
            Mnemonic::Lahf => {
                let flags = u64::from(self.sign) << 7
                    | u64::from(self.zero) << 6
                    | 2
                    | u64::from(self.carry);
                self.registers[0] = self.registers[0] & !0xff00 | flags << 8;
            }
            Mnemonic::Sahf => {
                let flags = self.registers[0] >> 8;
                self.sign = flags >> 7 & 1 != 0;
                self.zero = flags >> 6 & 1 != 0;
                self.carry = flags & 1 != 0;
            }
            Mnemonic::Seto => self.write(of, u64::from(self.overflow)),
            Mnemonic::Push => {
                let value = self.read(of, 0);
                self.push(value, of.next_ip());
            }
            Mnemonic::Pop => {
                let value = self.pop(of.next_ip());
                self.write(of, value);
            }
            Mnemonic::Jmp if of.code() == Code::Jmp_rm64 => self.rip = self.read(of, 0),
            Mnemonic::Jmp => self.rip = of.near_branch_target(),
            Mnemonic::Jrcxz if self.registers[1] != 0 => {}
            Mnemonic::Jrcxz => self.rip = of.near_branch_target(),
            Mnemonic::Call => {
                self.push(of.next_ip(), of.next_ip());
                self.rip = of.near_branch_target();
            }
            Mnemonic::Ret => self.rip = self.pop(of.next_ip()),
            _ if of.is_jcc_short_or_near() => {
                if self.holds(of.condition_code()) {
                    self.rip = of.near_branch_target();
                }
            }
            other => panic!("this machine does not know {other:?}"),
        }
    }

    fn result(&mut self, value: u64) {
        (self.zero, self.sign) = (value == 0, value >> 63 != 0);
    }

    fn holds(&self, condition: ConditionCode) -> bool {
        match condition {
            ConditionCode::e => self.zero,
            ConditionCode::ne => !self.zero,
            ConditionCode::b => self.carry,
            ConditionCode::ae => !self.carry,
            ConditionCode::a => !self.carry && !self.zero,
            ConditionCode::l => self.sign != self.overflow,
            ConditionCode::ge => self.sign == self.overflow,
            other => panic!("this machine does not know {other:?}"),
        }
    }

    fn push(&mut self, value: u64, pc: u64) {
        let top = self.registers[usize::from(RSP)].wrapping_sub(8);
        self.registers[usize::from(RSP)] = top;
        self.accesses.push((true, 8, top, pc));
        put(&mut self.memory, top, value, 8);
    }

    fn pop(&mut self, pc: u64) -> u64 {
        let top = self.registers[usize::from(RSP)];
        self.registers[usize::from(RSP)] = top.wrapping_add(8);
        self.accesses.push((false, 8, top, pc));
        get(&self.memory, top, 8)
    }

    fn address(&self, of: &Instruction) -> u64 {
        let register =
            |name: Register| number(name).map_or(0, |number| self.registers[usize::from(number)]);
        let index = register(of.memory_index()).wrapping_mul(u64::from(of.memory_index_scale()));
        // For addresses relative to the instruction iced has the sum already.
        register(of.memory_base())
            .wrapping_add(index)
            .wrapping_add(of.memory_displacement64())
    }

    fn read(&mut self, of: &Instruction, operand: u32) -> u64 {
        match of.op_kind(operand) {
            OpKind::Register => {
                let name = of.op_register(operand);
                let value = self.registers[usize::from(number(name).unwrap())];
                value & (u64::MAX >> (64 - 8 * name.size()))
            }
            OpKind::Memory => {
                let (address, size) = (self.address(of), of.memory_size().size() as u8);
                if of.segment_prefix() == Register::GS {
                    return get(&self.thread, address, size);
                }
                self.accesses.push((false, size, address, of.next_ip()));
                get(&self.memory, address, size)
            }
            _ => of.immediate(operand),
        }
    }

    fn write(&mut self, of: &Instruction, value: u64) {
        if of.op0_kind() == OpKind::Register {
            let name = of.op0_register();
            let written = value & (u64::MAX >> (64 - 8 * name.size()));
            let register = &mut self.registers[usize::from(number(name).unwrap())];
            *register = match name.size() {
                // Writing the lower half of a register clears the upper.
                4 | 8 => written,
                _ => *register & !0xff | written,
            };
            return;
        }
        let (address, size) = (self.address(of), of.memory_size().size() as u8);
        if of.segment_prefix() == Register::GS {
            return put(&mut self.thread, address, value, size);
        }
        self.accesses.push((true, size, address, of.next_ip()));
        put(&mut self.memory, address, value, size);
    }
}

/// A number in memory. What was never written is made of its address.
pub fn get(memory: &BTreeMap<u64, u8>, address: u64, size: u8) -> u64 {
    let byte = |at: u64| {
        let unwritten = (at.wrapping_mul(0x9e37_79b9) >> 13) as u8;
        u64::from(memory.get(&at).copied().unwrap_or(unwritten))
    };
    (0..u64::from(size))
        .map(|index| byte(address.wrapping_add(index)) << (8 * index))
        .sum()
}

/// Writes a number to memory.
pub fn put(memory: &mut BTreeMap<u64, u8>, address: u64, value: u64, size: u8) {
    for (index, byte) in value.to_le_bytes().into_iter().enumerate() {
        if index < usize::from(size) {
            memory.insert(address.wrapping_add(index as u64), byte);
        }
    }
}
