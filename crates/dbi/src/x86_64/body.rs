//! [`Body`]: the code of a translated block while it is written, without its prologue and exits;
//! and the block record that it will write. This decides which words a block record has: an access
//! needs a word for the sum of its registers, but not if an earlier word has the same sum, or the
//! same sum up to a known distance.
//!
//! `translate` fills it instruction by instruction, with `special`, `terminator` and `rewrite`;
//! `place` puts it into a block.
//!
//! Invariant of the methods that record something: they change no register but the scratch
//! register, and no flags.

use alloc::vec::Vec;
use core::mem::offset_of;

use iced_x86::{
    FlowControl, Instruction, InstructionInfo, MemorySize, Mnemonic, OpAccess, OpKind, Register,
    UsedMemory,
};
use reuselens_wire::{Record, WireKind};

use super::emit::Emit;
use super::registers::{RAX, RDX, RSP, number, register};
use crate::image::blocks::{CodePart, Spilled};
use crate::image::descriptor::{BlockAccess, NO_WORD, Op};
use crate::image::thread::Thread;

/// In place of a register's number: the base of fs.
pub const FS: u8 = 16;

/// A word of the block record: the registers that it is the sum of, and how far the sum has moved
/// since it was stored. In place of `base`, [`FS`] means the base of fs.
struct Key {
    base: Option<u8>,
    index: Option<u8>,
    scale: u8,
    word: u16,
    moved: i64,
}

/// An address as a block record has it: a word of the record plus a number that is known when the
/// block is translated.
#[derive(Clone, Copy)]
pub struct RecordedAddress {
    /// The word, or [`NO_WORD`].
    pub word: u16,
    pub displacement: u64,
    /// Whether the base of fs is added.
    pub fs: bool,
}

impl RecordedAddress {
    /// The sum in a word of the block record, which has moved by `moved` since it was stored.
    pub fn word(word: u16, moved: i64) -> RecordedAddress {
        RecordedAddress {
            word,
            displacement: moved as u64,
            fs: false,
        }
    }
}

/// A branch in a block's body that leads out of it.
pub struct WayOut {
    /// Where in the body the branch's distance is, which is filled in later.
    pub at: usize,
    /// Where the branch goes in the program.
    pub target: u64,
    /// How many accesses are before it, and the length and the head of their block record.
    pub accesses: usize,
    pub words: u16,
    pub head: u32,
}

/// The body of a block while it is written.
pub struct Body {
    pub emit: Emit,
    /// The borrowed registers: one for sums and other values, one that points to the block record.
    pub scratch: u8,
    pub pointer: u8,
    pub scratch_used: bool,
    /// The number that the scratch register holds, if it is known.
    pub scratch_value: Option<u64>,
    /// Words of the block record so far. Word 0 and word 1, which is the head, are always counted.
    pub words: u16,
    /// Whether word 0 is not used yet.
    first_is_free: bool,
    pub accesses: Vec<BlockAccess>,
    /// Head of the block's records, once it is known; 0 is none.
    pub head: u32,
    /// Parts, with their offsets in the body.
    pub parts: Vec<CodePart>,
    /// In the order of the code.
    pub ways_out: Vec<WayOut>,
    /// The words that later accesses may use.
    keys: Vec<Key>,
    /// Number of the current instruction.
    instruction: u16,
    /// Address after the current instruction.
    next: u64,
}

impl Body {
    pub fn new(scratch: u8, pointer: u8) -> Self {
        Body {
            emit: Emit::default(),
            scratch,
            pointer,
            scratch_used: false,
            scratch_value: None,
            words: 2,
            first_is_free: true,
            accesses: Vec::new(),
            head: 0,
            parts: Vec::new(),
            ways_out: Vec::new(),
            keys: Vec::new(),
            instruction: 0,
            next: 0,
        }
    }

    /// The code for an instruction of the block at address `block` begins.
    pub fn begin(&mut self, instruction: &Instruction, block: u64) {
        self.instruction = self.parts.len() as u16;
        self.next = instruction.next_ip();
        self.parts.push(CodePart {
            offset: self.emit.len() as u16,
            pc: (instruction.ip() - block) as u16,
            spilled: Spilled::None,
            stale: 0,
        });
    }

    /// Returns the scratch register for a new value.
    pub fn take_scratch(&mut self) -> u8 {
        self.scratch_used = true;
        self.scratch_value = None;
        self.scratch
    }

    /// Stores a register in a new word of the block record. Returns the word's number.
    pub fn record_register(&mut self, register: u8) -> u16 {
        let word = if core::mem::take(&mut self.first_is_free) {
            0
        } else {
            self.leave_words(1)
        };
        self.store_word(word, register);
        word
    }

    /// Stores a register in this word of the block record.
    pub fn store_word(&mut self, word: u16, register: u8) {
        self.emit.store(self.pointer, i32::from(word) * 8, register);
    }

    /// Calls our code at `address`, which returns to the next instruction of the body with all
    /// registers and flags as they are.
    pub fn call(&mut self, address: u64) {
        let scratch = self.take_scratch();
        self.emit.call(scratch, offset_of!(Thread, back), address);
    }

    /// Words of the block record, rounded up to records.
    pub fn length(&self) -> u16 {
        self.words.next_multiple_of(2)
    }

    /// Adds words that the caller stores itself. Returns the first one's number.
    pub fn leave_words(&mut self, count: u16) -> u16 {
        let word = self.words;
        self.words += count;
        word
    }

    /// Adds an access by the current instruction.
    pub fn access(&mut self, kind: WireKind, size: u64, address: RecordedAddress, op: Op) {
        let RecordedAddress {
            word,
            displacement,
            fs,
        } = address;
        self.accesses.push(BlockAccess {
            meta: Record::new(kind, size.min(255) as u8, self.next, 0).word1,
            displacement,
            word,
            fs,
            instruction: self.instruction,
            op,
        });
    }

    /// Adds a record that is the same at each execution.
    pub fn constant(&mut self, record: Record) {
        self.accesses.push(BlockAccess {
            meta: record.word1,
            displacement: record.word0,
            word: NO_WORD,
            fs: false,
            instruction: 0,
            op: Op::Plain,
        });
    }

    /// Stores what is needed to know the address of a memory operand.
    pub fn place(&mut self, memory: &UsedMemory) -> RecordedAddress {
        let fs = memory.segment() == Register::FS;
        let displacement = memory.displacement();
        let (base, index) = (memory.base(), memory.index());
        if base == Register::RIP || base == Register::EIP {
            return RecordedAddress {
                word: NO_WORD,
                displacement,
                fs,
            };
        }
        if base == Register::None && index == Register::None {
            let word = if fs {
                self.thread_local(None).0
            } else {
                NO_WORD
            };
            return RecordedAddress {
                word,
                displacement,
                fs: false,
            };
        }
        if fs && index == Register::None && number(base).is_some_and(|_| base.size() == 8) {
            let (word, moved) = self.thread_local(number(base));
            return RecordedAddress {
                word,
                displacement: displacement.wrapping_add_signed(moved),
                fs: false,
            };
        }
        let narrow = |r: Register| r != Register::None && r.size() == 4;
        if narrow(base) || narrow(index) {
            return RecordedAddress {
                word: self.narrow(memory),
                displacement: 0,
                fs,
            };
        }
        let scale = memory.scale() as u8;
        let (word, moved) = self.word(number(base), number(index), scale);
        RecordedAddress {
            word,
            displacement: displacement.wrapping_add_signed(moved),
            fs,
        }
    }

    /// The word with a sum of registers, which is stored now unless it was before, and how far the
    /// sum has moved since.
    pub fn word(&mut self, base: Option<u8>, index: Option<u8>, scale: u8) -> (u16, i64) {
        let scale = if index.is_some() { scale } else { 1 };
        let same = |key: &&Key| key.base == base && key.index == index && key.scale == scale;
        if let Some(key) = self.keys.iter().find(same) {
            return (key.word, key.moved);
        }
        let word = match (base, index) {
            (Some(base), None) => self.record_register(base),
            (None, Some(index)) if scale == 1 => self.record_register(index),
            _ => {
                let scratch = self.take_scratch();
                self.emit.sum(scratch, base, index, scale);
                self.record_register(scratch)
            }
        };
        self.keys.push(Key {
            base,
            index,
            scale,
            word,
            moved: 0,
        });
        (word, 0)
    }

    /// The word with the base of fs plus a register, and how far that has moved since it was
    /// stored.
    fn thread_local(&mut self, register: Option<u8>) -> (u16, i64) {
        let same = |key: &&Key| key.base == Some(FS) && key.index == register;
        if let Some(key) = self.keys.iter().find(same) {
            return (key.word, key.moved);
        }
        let scratch = self.take_scratch();
        self.emit.load_gs(scratch, offset_of!(Thread, fs_base));
        if let Some(register) = register {
            self.emit.sum(scratch, Some(register), Some(scratch), 1);
        }
        let word = self.record_register(scratch);
        self.keys.push(Key {
            base: Some(FS),
            index: register,
            scale: 1,
            word,
            moved: 0,
        });
        (word, 0)
    }

    /// Stores a 32-bit address, computed as the processor does. Returns the word's number.
    fn narrow(&mut self, memory: &UsedMemory) -> u16 {
        use iced_x86::{Code, Encoder, MemoryOperand};
        let scratch = self.take_scratch();
        let operand = MemoryOperand::new(
            memory.base(),
            memory.index(),
            memory.scale(),
            memory.displacement() as i32 as i64,
            4,
            false,
            Register::None,
        );
        let to = register(scratch).full_register32();
        let mut encoder = Encoder::new(64);
        if let Ok(lea) = Instruction::with2(Code::Lea_r32_m, to, operand)
            && encoder.encode(&lea, 0).is_ok()
        {
            self.emit.raw(&encoder.take_buffer());
        }
        self.record_register(scratch)
    }

    /// Records the plain accesses of an instruction.
    pub fn plain(&mut self, instruction: &Instruction, info: &InstructionInfo) {
        for memory in info.used_memory() {
            let (reads, writes) = match memory.access() {
                OpAccess::Read | OpAccess::CondRead => (true, false),
                OpAccess::Write | OpAccess::CondWrite => (false, true),
                OpAccess::ReadWrite | OpAccess::ReadCondWrite => (true, true),
                _ => continue,
            };
            let size = bytes(instruction, memory);
            let place = self.place(memory);
            let op = if size > 255 {
                Op::State { mask: NO_WORD }
            } else {
                Op::Plain
            };
            let atomic = reads && writes && is_atomic(instruction);
            if atomic {
                self.access(WireKind::Atomic, size, place, op);
                continue;
            }
            if reads {
                self.access(WireKind::Load, size, place, op);
            }
            if writes {
                self.access(WireKind::Store, size, place, op);
            }
        }
    }

    /// Records the time before an instruction by which other threads may go on (an atomic one), and
    /// sets the limit to 0, so that the buffer is emptied soon: the accesses before it must be read
    /// before what the other threads do. Flags do not change; rax and rdx must not be borrowed.
    pub fn order(&mut self) {
        const HELD: usize = offset_of!(Thread, stamped);
        let word = self.leave_words(1);
        let at = i32::from(word) * 8;
        self.emit.store_gs(HELD, RAX);
        self.emit.store_gs(HELD + 8, RDX);
        self.emit.read_stamp();
        self.emit.store_half(self.pointer, at, RAX);
        self.emit.store_half(self.pointer, at + 4, RDX);
        self.emit.load_gs(RAX, HELD);
        self.emit.load_gs(RDX, HELD + 8);
        self.emit.clear_gs(offset_of!(Thread, limit));
        self.access(
            WireKind::Atomic,
            0,
            RecordedAddress::word(word, 0),
            Op::Order,
        );
    }

    /// A register has an unknown value now: words with it cannot be used for later accesses.
    pub fn changed(&mut self, register: u8) {
        self.keys
            .retain(|key| key.base != Some(register) && key.index != Some(register));
    }

    /// Updates the words that later accesses may use, after an instruction has changed registers.
    pub fn executed(&mut self, instruction: &Instruction, info: &InstructionInfo) {
        let moved = moves(instruction);
        for used in info.used_registers() {
            let writes = matches!(
                used.access(),
                OpAccess::Write
                    | OpAccess::ReadWrite
                    | OpAccess::CondWrite
                    | OpAccess::ReadCondWrite
            );
            let Some(changed) = number(used.register()).filter(|_| writes) else {
                continue;
            };
            match moved.filter(|(register, _)| *register == changed) {
                Some((_, by)) => {
                    for key in &mut self.keys {
                        let base = i64::from(key.base == Some(changed));
                        let index = i64::from(key.index == Some(changed)) * i64::from(key.scale);
                        key.moved = key.moved.wrapping_add(by.wrapping_mul(base + index));
                    }
                }
                None => self.changed(changed),
            }
        }
    }
}

/// Whether an instruction's read and write of memory are one atomic step.
pub fn is_atomic(instruction: &Instruction) -> bool {
    let mut operands = instruction.op_kinds();
    let exchanges = instruction.mnemonic() == Mnemonic::Xchg;
    instruction.has_lock_prefix() || exchanges && operands.any(|kind| kind == OpKind::Memory)
}

/// Bytes of an access.
fn bytes(instruction: &Instruction, memory: &UsedMemory) -> u64 {
    let size = memory.memory_size();
    if size == MemorySize::Unknown || size.size() == 0 {
        let bytes = instruction.memory_size().size();
        return if bytes == 0 { 8 } else { bytes as u64 };
    }
    size.size() as u64
}

/// The register that an instruction moves by a known number, and that number.
fn moves(instruction: &Instruction) -> Option<(u8, i64)> {
    let first = || {
        let register = instruction.op0_register();
        (instruction.op0_kind() == OpKind::Register && register.is_gpr64())
            .then(|| register.number() as u8)
    };
    let immediate = || {
        instruction
            .try_immediate(1)
            .ok()
            .map(|number| number as i64)
    };
    let stack = i64::from(instruction.stack_pointer_increment());
    match instruction.mnemonic() {
        Mnemonic::Add => Some((first()?, immediate()?)),
        Mnemonic::Sub => Some((first()?, immediate()?.checked_neg()?)),
        Mnemonic::Inc => Some((first()?, 1)),
        Mnemonic::Dec => Some((first()?, -1)),
        Mnemonic::Lea => {
            let to = instruction.op0_register();
            let plain = to == instruction.memory_base()
                && to.is_gpr64()
                && instruction.memory_index() == Register::None;
            plain.then(|| {
                (
                    to.number() as u8,
                    instruction.memory_displacement64() as i64,
                )
            })
        }
        Mnemonic::Push | Mnemonic::Pushfq | Mnemonic::Popfq => Some((RSP, stack)),
        // A value popped into rsp is unknown.
        Mnemonic::Pop if instruction.op0_register() != Register::RSP => Some((RSP, stack)),
        _ if matches!(
            instruction.flow_control(),
            FlowControl::Call | FlowControl::IndirectCall
        ) =>
        {
            Some((RSP, -8))
        }
        _ => None,
    }
}
