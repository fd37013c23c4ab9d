//! Notes: which addresses a block must write down, and how few words that takes.

use alloc::vec::Vec;

use iced_x86::{
    FlowControl, Instruction, InstructionInfo, MemorySize, Mnemonic, OpAccess, OpKind, Register,
    UsedMemory,
};
use reuselens_wire::{Record, WireKind};

use super::emit::Emit;
use super::registers::{RAX, RDX, RSP, number, register};
use crate::image::blocks::{Part, Spilled};
use crate::image::descriptor::{Access, NO_WORD, Op};
use crate::image::thread::Thread;

/// In place of a register's number: the base of fs.
pub const FS: u8 = 16;

/// A word that was noted: what registers it is the sum of, and how far they have moved since.
struct Key {
    base: Option<u8>,
    index: Option<u8>,
    scale: u8,
    word: u16,
    moved: i64,
}

/// An address as a note tells it: a word of the note, plus what is known when the block is
/// translated.
#[derive(Clone, Copy)]
pub struct NotedAddress {
    /// The word, or [`NO_WORD`].
    pub word: u16,
    pub displacement: u64,
    /// Whether the base of fs is added.
    pub fs: bool,
}

impl NotedAddress {
    /// A word of the note that has `moved` so far since it was noted.
    pub fn word(word: u16, moved: i64) -> NotedAddress {
        NotedAddress {
            word,
            displacement: moved as u64,
            fs: false,
        }
    }
}

/// A branch in a block's body that leads out of it.
pub struct WayOut {
    /// Where in the body its distance is, which is filled in later.
    pub at: usize,
    pub target: u64,
    /// Accesses before it, words of their note, and its head.
    pub accesses: usize,
    pub words: u16,
    pub head: u32,
}

/// The body of a block while it is written.
pub struct Body {
    pub emit: Emit,
    /// The borrowed registers: one for addresses, one that points to the note.
    pub scratch: u8,
    pub pointer: u8,
    pub scratch_used: bool,
    /// The number that the scratch register holds, if it is known.
    pub scratch_value: Option<u64>,
    /// Words noted so far, the head included, and the one before it whether it is used or not.
    pub words: u16,
    /// Whether that one is free.
    first_is_free: bool,
    pub accesses: Vec<Access>,
    /// Head of the notes, once it is known; 0 is none.
    pub head: u32,
    /// Parts, by offset in the body.
    pub parts: Vec<Part>,
    /// In the order of the code.
    pub ways_out: Vec<WayOut>,
    keys: Vec<Key>,
    instruction: u16,
    /// Address after the instruction.
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

    /// The code for an instruction begins.
    pub fn begin(&mut self, instruction: &Instruction, block: u64) {
        self.instruction = self.parts.len() as u16;
        self.next = instruction.next_ip();
        self.parts.push(Part {
            offset: self.emit.len() as u16,
            pc: (instruction.ip() - block) as u16,
            spilled: Spilled::None,
        });
    }

    /// Takes the scratch register: what was in it is gone.
    pub fn take_scratch(&mut self) -> u8 {
        self.scratch_used = true;
        self.scratch_value = None;
        self.scratch
    }

    /// Notes a register as it is; the word's number.
    pub fn note_register(&mut self, register: u8) -> u16 {
        let word = if core::mem::take(&mut self.first_is_free) {
            0
        } else {
            self.leave_words(1)
        };
        self.store_word(word, register);
        word
    }

    /// Stores a register as this word of the note.
    pub fn store_word(&mut self, word: u16, register: u8) {
        self.emit.store(self.pointer, i32::from(word) * 8, register);
    }

    /// Words of the whole note: it is a whole number of records.
    pub fn length(&self) -> u16 {
        self.words.next_multiple_of(2)
    }

    /// Leaves room for words that are stored otherwise; the first one's number.
    pub fn leave_words(&mut self, count: u16) -> u16 {
        let word = self.words;
        self.words += count;
        word
    }

    /// Adds an access.
    pub fn access(&mut self, kind: WireKind, size: u64, address: NotedAddress, op: Op) {
        let NotedAddress {
            word,
            displacement,
            fs,
        } = address;
        self.accesses.push(Access {
            meta: Record::new(kind, size.min(255) as u8, self.next, 0).word1,
            displacement,
            word,
            fs,
            instruction: self.instruction,
            op,
        });
    }

    /// Adds a record that is the same each time.
    pub fn constant(&mut self, record: Record) {
        self.accesses.push(Access {
            meta: record.word1,
            displacement: record.word0,
            word: NO_WORD,
            fs: false,
            instruction: 0,
            op: Op::Plain,
        });
    }

    /// Notes what is needed to know an address.
    pub fn place(&mut self, memory: &UsedMemory) -> NotedAddress {
        let fs = memory.segment() == Register::FS;
        let displacement = memory.displacement();
        let (base, index) = (memory.base(), memory.index());
        if base == Register::RIP || base == Register::EIP {
            return NotedAddress {
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
            return NotedAddress {
                word,
                displacement,
                fs: false,
            };
        }
        if fs && index == Register::None && number(base).is_some_and(|_| base.size() == 8) {
            let (word, moved) = self.thread_local(number(base));
            return NotedAddress {
                word,
                displacement: displacement.wrapping_add_signed(moved),
                fs: false,
            };
        }
        let narrow = |r: Register| r != Register::None && r.size() == 4;
        if narrow(base) || narrow(index) {
            return NotedAddress {
                word: self.narrow(memory),
                displacement: 0,
                fs,
            };
        }
        let scale = memory.scale() as u8;
        let (word, moved) = self.word(number(base), number(index), scale);
        NotedAddress {
            word,
            displacement: displacement.wrapping_add_signed(moved),
            fs,
        }
    }

    /// The word for a sum of registers, noted now or before, and how far the sum has moved since.
    pub fn word(&mut self, base: Option<u8>, index: Option<u8>, scale: u8) -> (u16, i64) {
        let scale = if index.is_some() { scale } else { 1 };
        let same = |key: &&Key| key.base == base && key.index == index && key.scale == scale;
        if let Some(key) = self.keys.iter().find(same) {
            return (key.word, key.moved);
        }
        let word = match (base, index) {
            (Some(base), None) => self.note_register(base),
            (None, Some(index)) if scale == 1 => self.note_register(index),
            _ => {
                let scratch = self.take_scratch();
                self.emit.sum(scratch, base, index, scale);
                self.note_register(scratch)
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

    /// The word for the base of fs, plus a register, and how far that has moved since.
    fn thread_local(&mut self, register: Option<u8>) -> (u16, i64) {
        let same = |key: &&Key| key.base == Some(FS) && key.index == register;
        if let Some(key) = self.keys.iter().find(same) {
            return (key.word, key.moved);
        }
        let scratch = self.take_scratch();
        self.emit
            .load_gs(scratch, core::mem::offset_of!(Thread, fs_base));
        if let Some(register) = register {
            self.emit.sum(scratch, Some(register), Some(scratch), 1);
        }
        let word = self.note_register(scratch);
        self.keys.push(Key {
            base: Some(FS),
            index: register,
            scale: 1,
            word,
            moved: 0,
        });
        (word, 0)
    }

    /// A 32-bit address: computed as the processor does.
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
        self.note_register(scratch)
    }

    /// Notes the plain accesses of an instruction.
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

    /// Notes when an instruction runs because of which other threads can go on, and has the note
    /// handed on soon: what others do then must not be read before. Flags stay as they are; rax and
    /// rdx must not be borrowed.
    pub fn order(&mut self) {
        const HELD: usize = core::mem::offset_of!(Thread, stamped);
        let word = self.leave_words(1);
        let at = i32::from(word) * 8;
        self.emit.store_gs(HELD, RAX);
        self.emit.store_gs(HELD + 8, RDX);
        self.emit.read_stamp();
        self.emit.store_half(self.pointer, at, RAX);
        self.emit.store_half(self.pointer, at + 4, RDX);
        self.emit.load_gs(RAX, HELD);
        self.emit.load_gs(RDX, HELD + 8);
        self.emit.clear_gs(core::mem::offset_of!(Thread, limit));
        self.access(WireKind::Atomic, 0, NotedAddress::word(word, 0), Op::Order);
    }

    /// A register has another value now.
    pub fn changed(&mut self, register: u8) {
        self.keys
            .retain(|key| key.base != Some(register) && key.index != Some(register));
    }

    /// Brings the known sums in line with what an instruction does to its registers.
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

/// Whether a read and write is one step for all processors.
pub fn is_atomic(instruction: &Instruction) -> bool {
    let mut operands = instruction.op_kinds();
    let exchanges = instruction.mnemonic() == Mnemonic::Xchg;
    instruction.has_lock_prefix() || exchanges && operands.any(|kind| kind == OpKind::Memory)
}

/// Bytes of an access.
fn bytes(instruction: &Instruction, memory: &UsedMemory) -> u64 {
    let size = memory.memory_size();
    if size == MemorySize::Unknown || size.size() == 0 {
        let whole = instruction.memory_size().size();
        return if whole == 0 { 8 } else { whole as u64 };
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
        // What is popped into rsp is no move.
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
