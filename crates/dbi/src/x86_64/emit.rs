//! [`Emit`]: an assembler for the few instructions that the translator adds to a program's code. A
//! method appends one instruction or a short sequence, and changes no flags unless its comment says
//! "changes flags".

use alloc::vec::Vec;

use super::registers::RSP;

/// Machine code that is being written.
#[derive(Default)]
pub struct Emit {
    pub bytes: Vec<u8>,
}

impl Emit {
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// An instruction whose operands are a register and gs:[offset].
    fn with_gs(&mut self, opcode: &[u8], register: u8, offset: u64) {
        let rex = 0x48 | (register >> 3) << 2;
        self.raw(&[0x65, rex]);
        self.raw(opcode);
        self.raw(&[4 | (register & 7) << 3, 0x25]);
        self.raw(&(offset as u32).to_le_bytes());
    }

    /// mov gs:[offset], register
    pub fn store_gs(&mut self, offset: usize, register: u8) {
        self.with_gs(&[0x89], register, offset as u64);
    }

    /// mov word gs:[offset], the lowest 16 bits of rax, rcx, rdx or rbx
    pub fn store_word_gs(&mut self, offset: usize, register: u8) {
        self.raw(&[0x66, 0x65, 0x89, 4 | (register & 3) << 3, 0x25]);
        self.raw(&(offset as u32).to_le_bytes());
    }

    /// mov register, gs:[offset]
    pub fn load_gs(&mut self, register: u8, offset: usize) {
        self.with_gs(&[0x8b], register, offset as u64);
    }

    /// mov qword gs:[offset], 0
    pub fn clear_gs(&mut self, offset: usize) {
        self.raw(&[0x65, 0x48, 0xc7, 0x04, 0x25]);
        self.raw(&(offset as u32).to_le_bytes());
        self.raw(&[0; 4]);
    }

    /// Reads the time-stamp counter into edx and eax, once all instructions before are done.
    pub fn read_stamp(&mut self) {
        self.raw(&[0x0f, 0xae, 0xe8, 0x0f, 0x31]); // lfence; rdtsc
    }

    /// mov [base + displacement], the lower half of rax or rdx
    pub fn store_half(&mut self, base: u8, displacement: i32, register: u8) {
        if base >= 8 {
            self.raw(&[0x41]);
        }
        self.raw(&[0x89]);
        self.operand(register, base, displacement);
    }

    /// cmp register, gs:[offset]: changes flags
    pub fn compare_gs(&mut self, register: u8, offset: usize) {
        self.with_gs(&[0x3b], register, offset as u64);
    }

    /// test eax, eax; cmovne register, gs:[offset]: changes flags
    pub fn load_gs_unless_zero_result(&mut self, register: u8, offset: usize) {
        self.raw(&[0x85, 0xc0]);
        self.with_gs(&[0x0f, 0x45], register, offset as u64);
    }

    /// mov dword gs:[offset], number
    pub fn store_number_gs(&mut self, offset: usize, number: u32) {
        self.raw(&[0x65, 0xc7, 0x04, 0x25]);
        self.raw(&(offset as u32).to_le_bytes());
        self.raw(&number.to_le_bytes());
    }

    /// mov register, number
    pub fn set(&mut self, register: u8, number: u64) {
        if let Ok(small) = u32::try_from(number) {
            if register >= 8 {
                self.raw(&[0x41]);
            }
            self.raw(&[0xb8 | register & 7]);
            self.raw(&small.to_le_bytes());
        } else {
            self.raw(&[0x48 | register >> 3, 0xb8 | register & 7]);
            self.raw(&number.to_le_bytes());
        }
    }

    /// The bytes that encode [base + displacement] together with a register or the extension of an
    /// opcode.
    pub fn operand(&mut self, register: u8, base: u8, displacement: i32) {
        let short = i8::try_from(displacement);
        let mode = if short.is_ok() { 0x40 } else { 0x80 };
        self.raw(&[mode | (register & 7) << 3 | base & 7]);
        if base & 7 == RSP {
            self.raw(&[0x24]);
        }
        match short {
            Ok(short) => self.raw(&[short as u8]),
            Err(_) => self.raw(&displacement.to_le_bytes()),
        }
    }

    fn with_memory(&mut self, opcode: u8, register: u8, base: u8, displacement: i32) {
        self.raw(&[0x48 | (register >> 3) << 2 | base >> 3, opcode]);
        self.operand(register, base, displacement);
    }

    /// mov [base + displacement], register
    pub fn store(&mut self, base: u8, displacement: i32, register: u8) {
        self.with_memory(0x89, register, base, displacement);
    }

    /// mov register, [base + displacement]
    pub fn load(&mut self, register: u8, base: u8, displacement: i32) {
        self.with_memory(0x8b, register, base, displacement);
    }

    /// lea register, [base + displacement]
    pub fn add(&mut self, register: u8, base: u8, displacement: i32) {
        self.with_memory(0x8d, register, base, displacement);
    }

    /// mov to, from
    pub fn copy(&mut self, to: u8, from: u8) {
        let rex = 0x48 | (from >> 3) << 2 | to >> 3;
        self.raw(&[rex, 0x89, 0xc0 | (from & 7) << 3 | to & 7]);
    }

    /// mov qword [base + displacement], number
    pub fn store_number(&mut self, base: u8, displacement: i32, number: u32) {
        self.raw(&[0x48 | base >> 3, 0xc7]);
        self.operand(0, base, displacement);
        self.raw(&number.to_le_bytes());
    }

    /// lea register, [base + index * scale]; either of the two may be left out
    pub fn sum(&mut self, register: u8, base: Option<u8>, index: Option<u8>, scale: u8) {
        let (x, b) = (index.unwrap_or(RSP), base.unwrap_or(5));
        let rex = 0x48 | (register >> 3) << 2 | (x >> 3) << 1 | b >> 3;
        let mode = if base.is_some() { 0x40 } else { 0 };
        self.raw(&[rex, 0x8d, mode | (register & 7) << 3 | 4]);
        let scale = scale.trailing_zeros() as u8;
        self.raw(&[scale << 6 | (x & 7) << 3 | b & 7]);
        self.raw(if base.is_some() { &[0] } else { &[0; 4] });
    }

    /// push register
    pub fn push(&mut self, register: u8) {
        if register >= 8 {
            self.raw(&[0x41]);
        }
        self.raw(&[0x50 | register & 7]);
    }

    /// Stores the address of the next instruction in gs:[back], and jumps to `address`, by way of a
    /// register.
    pub fn call(&mut self, register: u8, back: usize, address: u64) {
        let mut rest = Emit::default();
        rest.store_gs(back, register);
        rest.set(register, address);
        if register >= 8 {
            rest.raw(&[0x41]);
        }
        rest.raw(&[0xff, 0xe0 | register & 7]); // jmp register
        // lea register, [rip + rest]
        self.raw(&[0x48 | (register >> 3) << 2, 0x8d, 5 | (register & 7) << 3]);
        self.raw(&(rest.len() as u32).to_le_bytes());
        self.raw(&rest.bytes);
    }

    /// A jump with this opcode to an absolute address within 2 GiB, in code that begins at `start`.
    pub fn jump(&mut self, opcode: &[u8], start: u64, target: u64) {
        self.raw(opcode);
        let next = start + self.len() as u64 + 4;
        self.raw(&(target.wrapping_sub(next) as u32).to_le_bytes());
    }

    /// A jump whose distance is filled in later. Returns the offset of the distance: four bytes in
    /// one cache line, so that they can be changed while other threads run the code.
    pub fn open_jump(&mut self, opcode: &[u8], start: u64) -> usize {
        while (start as usize + self.len() + opcode.len()) & 63 > 60 {
            self.raw(&[0x90]);
        }
        self.raw(opcode);
        self.raw(&[0; 4]);
        self.len() - 4
    }

    /// Makes the open jump whose distance is at `at` go to the current end of the code.
    pub fn close_jump(&mut self, at: usize) {
        let distance = (self.len() - at - 4) as u32;
        self.bytes[at..at + 4].copy_from_slice(&distance.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::x86_64::registers::register;
    use alloc::string::String;
    use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, Register};

    /// The one instruction that was written.
    fn only(write: impl FnOnce(&mut Emit)) -> Instruction {
        let mut emit = Emit::default();
        write(&mut emit);
        let mut decoder = Decoder::with_ip(64, &emit.bytes, 0, DecoderOptions::NONE);
        let found = decoder.decode();
        assert!(!found.is_invalid() && !decoder.can_decode(), "{found:?}");
        found
    }

    /// What an instruction does, as a text that does not depend on how it is encoded.
    fn description(of: &Instruction) -> String {
        let memory = (of.memory_base(), of.memory_index(), of.memory_index_scale());
        alloc::format!(
            "{:?} {:?} {:?} {:?} {memory:?} {:#x}",
            of.mnemonic(),
            of.op0_register(),
            of.op1_register(),
            of.segment_prefix(),
            of.memory_displacement64()
        )
    }

    #[test]
    fn moves_encode_all_registers() {
        for number in 0..16 {
            let name = register(number);
            let stored = only(|emit| emit.store_gs(0x1234, number));
            assert_eq!(stored.op1_register(), name);
            assert_eq!(stored.segment_prefix(), Register::GS);
            assert_eq!(stored.memory_displacement64(), 0x1234);
            let loaded = only(|emit| emit.load_gs(number, 0x1234));
            assert_eq!(loaded.op0_register(), name);
            let compared = only(|emit| emit.compare_gs(number, 8));
            let seen = (compared.mnemonic(), compared.op0_register());
            assert_eq!(seen, (Mnemonic::Cmp, name));
            assert_eq!(only(|emit| emit.push(number)).op0_register(), name);
            for value in [0, 7, u64::from(u32::MAX), 1 << 40, u64::MAX] {
                let set = only(|emit| emit.set(number, value));
                assert_eq!(set.op0_register().full_register(), name);
                assert_eq!(set.immediate(1), value);
            }
        }
    }

    #[test]
    fn memory_operands_encode_all_bases_and_displacements() {
        for (base, other) in (0..16).flat_map(|base| (0..16).map(move |other| (base, other))) {
            for displacement in [0, 8, -128, 127, 128, -4096, i32::MAX] {
                let store = only(|emit| emit.store(base, displacement, other));
                let load = only(|emit| emit.load(other, base, displacement));
                let add = only(|emit| emit.add(other, base, displacement));
                let number = only(|emit| emit.store_number(base, displacement, 77));
                for found in [&store, &load, &add, &number] {
                    assert_eq!(
                        found.memory_base(),
                        register(base),
                        "{}",
                        description(found)
                    );
                    assert_eq!(
                        found.memory_index(),
                        Register::None,
                        "{}",
                        description(found)
                    );
                    let at = found.memory_displacement64() as i64;
                    assert_eq!(at, i64::from(displacement), "{}", description(found));
                }
                assert_eq!(store.op1_register(), register(other));
                assert_eq!(load.op0_register(), register(other));
                let seen = (add.mnemonic(), add.op0_register());
                assert_eq!(seen, (Mnemonic::Lea, register(other)));
                assert_eq!(number.immediate(1), 77);
            }
        }
    }

    #[test]
    fn sums_and_copies_encode_both_registers() {
        for (one, other) in (0..16).flat_map(|one| (0..16).map(move |other| (one, other))) {
            let copy = only(|emit| emit.copy(one, other));
            let seen = (copy.op0_register(), copy.op1_register());
            assert_eq!(seen, (register(one), register(other)));
            // The stack pointer cannot be an index.
            if other == RSP {
                continue;
            }
            for scale in [1, 2, 4, 8] {
                let sum = only(|emit| emit.sum(3, Some(one), Some(other), scale));
                assert_eq!(sum.memory_base(), register(one));
                assert_eq!(sum.memory_index(), register(other));
                assert_eq!(sum.memory_index_scale(), u32::from(scale));
                let scaled = only(|emit| emit.sum(3, None, Some(other), scale));
                assert_eq!(scaled.memory_base(), Register::None);
                assert_eq!(scaled.memory_index(), register(other));
            }
        }
    }

    #[test]
    fn jumps_reach_their_targets() {
        let jump = only(|emit| emit.jump(&[0xe9], 0, 0x1234_5678));
        assert_eq!(jump.near_branch_target(), 0x1234_5678);
        let mut emit = Emit::default();
        emit.push(0);
        let at = emit.open_jump(&[0x0f, 0x87], 0);
        emit.push(1);
        emit.close_jump(at);
        let mut decoder = Decoder::with_ip(64, &emit.bytes, 0, DecoderOptions::NONE);
        let found = decoder.iter().nth(1).unwrap();
        assert_eq!(found.near_branch_target(), emit.len() as u64);
    }
}
