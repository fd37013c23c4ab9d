//! [`record`]: what a block records of the accesses of one instruction. Plain accesses need an
//! address only ([`Body::plain`]); here are the instructions whose accesses depend on more: string
//! instructions, masked accesses, gathers, saved processor state, and the instructions by which
//! programs mark regions.

use iced_x86::{
    Code, Encoder, Instruction, InstructionInfo, MemoryOperand, Mnemonic, OpAccess, OpKind,
    Register, UsedMemory,
};
use reuselens_wire::{MARK_ASK, MARK_BEGIN, MARK_END, WireKind};

use super::body::{Body, RecordedAddress};
use super::registers::{RAX, RBX, RDI, RSI, register};
use crate::image::descriptor::{Gather, NO_WORD, Op};
use crate::image::gate;

/// What is recorded after a string instruction: the registers with the addresses at which it ended,
/// and the words for them.
#[derive(Clone, Copy, Default)]
pub struct After {
    ends: [Option<(u8, u16)>; 2],
}

impl After {
    /// Stores the ends.
    pub fn record(self, body: &mut Body) {
        for (register, word) in self.ends.into_iter().flatten() {
            body.store_word(word, register);
        }
    }
}

/// Records what an instruction is about to access. Returns what must be recorded after it.
pub fn record(body: &mut Body, instruction: &Instruction, info: &InstructionInfo) -> After {
    if is_repeated(instruction) {
        return strings(body, instruction);
    }
    if let Some(mark) = mark(instruction) {
        marked(body, mark);
        return After::default();
    }
    let memory = info.used_memory().iter().find(|memory| {
        memory.access() != OpAccess::NoMemAccess && memory.access() != OpAccess::None
    });
    let Some(memory) = memory else {
        return After::default();
    };
    if memory.index().is_vector_register() || instruction.is_vsib() {
        gather(body, instruction, memory);
    } else if let Some(kind) = state(instruction) {
        let place = body.place(memory);
        let mask = body.record_register(RAX);
        body.access(kind, 0, place, Op::State { mask });
    } else if let Some(op) = mask(body, instruction) {
        let place = body.place(memory);
        let size = instruction.memory_size().element_size() as u64;
        body.access(kind_of(memory), size, place, op);
    } else if instruction.mnemonic() == Mnemonic::Xlatb {
        let scratch = body.take_scratch();
        // movzx scratch, al
        body.emit.raw(&[
            0x40 | (scratch >> 3) << 2,
            0x0f,
            0xb6,
            0xc0 | (scratch & 7) << 3,
        ]);
        body.emit.sum(scratch, Some(RBX), Some(scratch), 1);
        let word = body.record_register(scratch);
        body.access(WireKind::Load, 1, RecordedAddress::word(word, 0), Op::Plain);
    } else {
        body.plain(instruction, info);
    }
    After::default()
}

/// An instruction without effect by which a program tells the rewriter something.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum MarkInstruction {
    /// A region begins.
    Begin,
    /// A region ends.
    End,
    /// The program asks whether it is rewritten.
    Ask,
}

impl MarkInstruction {
    /// The registers with its arguments or its answer, a bit each.
    pub fn registers(self) -> u32 {
        match self {
            MarkInstruction::Begin | MarkInstruction::End => 1 << RDI | 1 << RSI,
            MarkInstruction::Ask => 1 << RAX,
        }
    }
}

/// Which [`MarkInstruction`] an instruction is, if it is one.
pub fn mark(instruction: &Instruction) -> Option<MarkInstruction> {
    if instruction.code() != Code::Nop_rm32 || instruction.memory_base() != Register::RAX {
        return None;
    }
    match instruction.memory_displacement64() as u32 {
        MARK_BEGIN => Some(MarkInstruction::Begin),
        MARK_END => Some(MarkInstruction::End),
        MARK_ASK => Some(MarkInstruction::Ask),
        _ => None,
    }
}

/// Answers the program's question; or records where the name of a region is, if only accesses
/// within regions are wanted.
fn marked(body: &mut Body, mark: MarkInstruction) {
    let begins = mark == MarkInstruction::Begin;
    if mark == MarkInstruction::Ask {
        // mov eax, 1
        body.emit.raw(&[0xb8, 1, 0, 0, 0]);
        body.changed(RAX);
    } else if gate::wants_regions() {
        let words = body.leave_words(2);
        body.store_word(words, RDI);
        body.store_word(words + 1, RSI);
        let op = Op::Region { begins, words };
        body.access(
            WireKind::Statement,
            0,
            RecordedAddress::word(NO_WORD, 0),
            op,
        );
    }
}

/// Whether an instruction is a string instruction with a count.
fn is_repeated(instruction: &Instruction) -> bool {
    instruction.is_string_instruction()
        && (instruction.has_rep_prefix() || instruction.has_repne_prefix())
}

fn kind_of(memory: &UsedMemory) -> WireKind {
    match memory.access() {
        OpAccess::Write | OpAccess::CondWrite => WireKind::Store,
        _ => WireKind::Load,
    }
}

fn strings(body: &mut Body, instruction: &Instruction) -> After {
    let size = instruction.memory_size().size() as u64;
    let (source, target) = match instruction.op_kinds().fold((false, None), |found, kind| {
        let reads = matches!(kind, OpKind::MemorySegRSI | OpKind::MemorySegESI);
        let other = matches!(kind, OpKind::MemoryESRDI | OpKind::MemoryESEDI);
        (found.0 | reads, if other { Some(()) } else { found.1 })
    }) {
        (source, None) => (source, None),
        (source, Some(())) => (source, Some(writes_target(instruction))),
    };
    let mut after = After::default();
    let mut one = |body: &mut Body, slot: usize, register: u8, kind: WireKind| {
        let start = body.record_register(register);
        let end = body.leave_words(1);
        body.access(
            kind,
            size,
            RecordedAddress::word(start, 0),
            Op::Range { end },
        );
        after.ends[slot] = Some((register, end));
    };
    if source {
        one(body, 0, RSI, WireKind::Load);
    }
    if let Some(writes) = target {
        let kind = if writes {
            WireKind::Store
        } else {
            WireKind::Load
        };
        one(body, 1, RDI, kind);
    }
    after
}

/// Whether a string instruction writes where rdi points: all but comparisons.
fn writes_target(instruction: &Instruction) -> bool {
    use Mnemonic::{Cmpsb, Cmpsd, Cmpsq, Cmpsw, Scasb, Scasd, Scasq, Scasw};
    !matches!(
        instruction.mnemonic(),
        Cmpsb | Cmpsd | Cmpsq | Cmpsw | Scasb | Scasd | Scasq | Scasw
    )
}

/// The kind of an instruction that saves or restores the processor's extended state.
fn state(instruction: &Instruction) -> Option<WireKind> {
    use Mnemonic::{
        Xrstor, Xrstor64, Xrstors, Xrstors64, Xsave, Xsave64, Xsavec, Xsavec64, Xsaveopt,
        Xsaveopt64, Xsaves, Xsaves64,
    };
    match instruction.mnemonic() {
        Xsave | Xsave64 | Xsavec | Xsavec64 | Xsaveopt | Xsaveopt64 | Xsaves | Xsaves64 => {
            Some(WireKind::Store)
        }
        Xrstor | Xrstor64 | Xrstors | Xrstors64 => Some(WireKind::Load),
        _ => None,
    }
}

/// Whether an instruction stores the address of the last instruction of the x87 unit.
pub fn stores_pointer(instruction: &Instruction) -> bool {
    use Mnemonic::{Fnsave, Fnstenv, Fxsave, Fxsave64};
    let saves = state(instruction) == Some(WireKind::Store);
    saves || matches!(instruction.mnemonic(), Fnsave | Fnstenv | Fxsave | Fxsave64)
}

/// Records the mask of a masked access; `None` if the instruction has no mask.
fn mask(body: &mut Body, instruction: &Instruction) -> Option<Op> {
    use Mnemonic::{Maskmovdqu, Vmaskmovdqu, Vmaskmovpd, Vmaskmovps, Vpmaskmovd, Vpmaskmovq};
    let size = instruction.memory_size();
    let lanes = size.element_count().min(64) as u8;
    match instruction.mnemonic() {
        Vmaskmovpd | Vmaskmovps | Vpmaskmovd | Vpmaskmovq => {
            let mask = record_vector(body, instruction.op1_register());
            Some(Op::Signed { mask, lanes })
        }
        Maskmovdqu | Vmaskmovdqu => {
            let mask = record_vector(body, instruction.op2_register());
            Some(Op::Signed { mask, lanes })
        }
        _ if instruction.has_op_mask() && !instruction.is_broadcast() => {
            let mask = record_mask(body, instruction.op_mask());
            Some(Op::Masked { mask, lanes })
        }
        _ => None,
    }
}

fn gather(body: &mut Body, instruction: &Instruction, memory: &UsedMemory) {
    use Mnemonic::{
        Vgatherqpd, Vgatherqps, Vpgatherqd, Vpgatherqq, Vpscatterqd, Vpscatterqq, Vscatterqpd,
        Vscatterqps,
    };
    let wide = matches!(
        instruction.mnemonic(),
        Vgatherqpd
            | Vgatherqps
            | Vpgatherqd
            | Vpgatherqq
            | Vpscatterqd
            | Vpscatterqq
            | Vscatterqpd
            | Vscatterqps
    );
    let index = instruction.memory_index();
    let size = instruction.memory_size().element_size().max(4);
    let data = (0..instruction.op_count())
        .filter(|op| instruction.op_kind(*op) == OpKind::Register)
        .map(|op| instruction.op_register(op).size())
        .max();
    let data_lanes = data.unwrap_or(16) / size;
    let lanes = (index.size() / if wide { 8 } else { 4 }).min(data_lanes) as u8;
    let indices = record_vector(body, index);
    let signed = !instruction.has_op_mask();
    let mask = if signed {
        record_vector(body, instruction.op2_register())
    } else {
        record_mask(body, instruction.op_mask())
    };
    let gather = Gather {
        indices,
        mask,
        lanes,
        wide,
        scale: instruction.memory_index_scale() as u8,
        signed,
    };
    let base = super::registers::number(instruction.memory_base());
    let (word, moved) = base.map_or((NO_WORD, 0), |base| body.word(Some(base), None, 1));
    let displacement = instruction
        .memory_displacement64()
        .wrapping_add_signed(moved);
    let address = RecordedAddress {
        word,
        displacement,
        fs: instruction.memory_segment() == Register::FS,
    };
    body.access(kind_of(memory), size as u64, address, Op::Gather(gather));
}

/// Records a mask register. Returns the word's number.
fn record_mask(body: &mut Body, mask: Register) -> u16 {
    let scratch = body.take_scratch();
    encode(
        body,
        Instruction::with2(Code::VEX_Kmovq_r64_kr, register(scratch), mask),
    );
    body.record_register(scratch)
}

/// Records a vector register. Returns the number of its first word.
fn record_vector(body: &mut Body, vector: Register) -> u16 {
    let word = body.leave_words((vector.size() / 8) as u16);
    let to = MemoryOperand::with_base_displ_size(register(body.pointer), i64::from(word) * 8, 8);
    let high = vector.number() >= 16;
    let code = match (vector.size(), high) {
        (16, false) => Code::VEX_Vmovdqu_xmmm128_xmm,
        (32, false) => Code::VEX_Vmovdqu_ymmm256_ymm,
        (16, true) => Code::EVEX_Vmovdqu64_xmmm128_k1z_xmm,
        (32, true) => Code::EVEX_Vmovdqu64_ymmm256_k1z_ymm,
        _ => Code::EVEX_Vmovdqu64_zmmm512_k1z_zmm,
    };
    encode(body, Instruction::with2(code, to, vector));
    word
}

fn encode(body: &mut Body, instruction: Result<Instruction, iced_x86::IcedError>) {
    let mut encoder = Encoder::new(64);
    if let Ok(instruction) = instruction
        && encoder.encode(&instruction, 0).is_ok()
    {
        body.emit.raw(&encoder.take_buffer());
    }
}
