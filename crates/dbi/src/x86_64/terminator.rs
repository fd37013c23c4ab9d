//! The instruction that ends a block: calls, returns, jumps.

use iced_x86::{
    Code, Encoder, FlowControl, Instruction, InstructionInfo, MemoryOperand, Mnemonic, OpKind,
    Register,
};
use reuselens_wire::{Record, WireKind, basic_block_words};

use super::body::{Body, NotedAddress, WayOut};
use super::registers::{RAX, RCX, RSP, number, register};
use super::translate::{Decoded, End};
use crate::image::descriptor::Op;
use crate::image::thread::Thread;

/// Whether a block ends with a branch whose target is known only when it runs.
pub fn is_indirect(end: &End) -> bool {
    let End::With(last) = end else {
        return false;
    };
    matches!(
        last.code(),
        Code::Retnq | Code::Retnq_imm16 | Code::Jmp_rm64 | Code::Call_rm64
    )
}

/// The record that says that a block began. Its end has the numbers of the trace crate's
/// `BlockEnd`.
pub fn basic_block(pc: u64, decoded: &Decoded) -> Record {
    let bytes = decoded.next.wrapping_sub(pc);
    let End::With(last) = &decoded.end else {
        return basic_block_words(pc, 0, 0, bytes);
    };
    let (end, taken) = match last.flow_control() {
        FlowControl::ConditionalBranch => (1, last.near_branch_target()),
        FlowControl::UnconditionalBranch => (2, last.near_branch_target()),
        FlowControl::IndirectBranch => (3, 0),
        FlowControl::Call if last.mnemonic() != Mnemonic::Syscall => (4, last.near_branch_target()),
        FlowControl::IndirectCall => (4, 0),
        FlowControl::Return => (5, 0),
        _ => (0, 0),
    };
    basic_block_words(pc, end, taken, bytes)
}

/// Whether a block is but a jump through a table, as calls into other libraries go.
pub fn is_stub(decoded: &Decoded) -> bool {
    let End::With(last) = &decoded.end else {
        return false;
    };
    let leads = |i: &Instruction| matches!(i.mnemonic(), Mnemonic::Endbr64 | Mnemonic::Nop);
    last.code() == Code::Jmp_rm64
        && last.is_ip_rel_memory_operand()
        && decoded.instructions.iter().all(leads)
}

/// Whether a block ends with an instruction.
pub fn ends_block(instruction: &Instruction) -> bool {
    instruction.flow_control() != FlowControl::Next || instruction.mnemonic() == Mnemonic::Syscall
}

/// Writes a branch in the middle of a block: the block goes on where it is not taken, or round the
/// loop that begins at `block`, and is left the other way.
pub fn leave_by(body: &mut Body, branch: &Instruction, block: u64) {
    let taken = branch.near_branch_target();
    let mut condition = branch.condition_code() as u8 - 1;
    let mut target = taken;
    if taken == block {
        // The opposite condition.
        condition ^= 1;
        target = branch.next_ip();
    }
    body.emit.raw(&[0x0f, 0x80 | condition, 0, 0, 0, 0]);
    let way = WayOut {
        at: body.emit.len() - 4,
        target,
        accesses: body.accesses.len(),
        words: body.length(),
        head: 0,
    };
    body.ways_out.push(way);
}

/// What is noted of what functions return.
#[derive(Clone, Copy)]
pub struct Results {
    pub are_noted: bool,
    /// Whether the block that was stored is noted too.
    pub are_stored: bool,
}

/// What of the last instruction belongs to the block's body: its accesses, the return address that
/// it pushes, the target that it reads.
pub fn body(body: &mut Body, last: &Instruction, info: &InstructionInfo, results: Results) {
    match last.flow_control() {
        FlowControl::Call if last.mnemonic() != Mnemonic::Syscall => {
            call(body, last, info);
        }
        FlowControl::IndirectCall if last.code() == Code::Call_rm64 => {
            body.plain(last, info);
            target(body, last);
            hand_over(body);
            push_return(body, last);
            enter(body, last, info);
        }
        FlowControl::IndirectBranch if last.code() == Code::Jmp_rm64 => {
            body.plain(last, info);
            target(body, last);
            if !is_fused(body) {
                hand_over(body);
            }
        }
        FlowControl::Return if matches!(last.code(), Code::Retnq | Code::Retnq_imm16) => {
            leave(body, last, results);
        }
        _ => {}
    }
}

fn call(body: &mut Body, last: &Instruction, info: &InstructionInfo) {
    if last.code() == Code::Call_rel32_64 {
        body.plain(last, info);
        push_return(body, last);
        enter(body, last, info);
    }
}

fn push_return(body: &mut Body, last: &Instruction) {
    let scratch = body.take_scratch();
    body.emit.set(scratch, last.next_ip());
    body.emit.push(scratch);
}

/// The callee's stack pointer: where the return address lies now.
fn enter(body: &mut Body, last: &Instruction, info: &InstructionInfo) {
    body.executed(last, info);
    let (word, moved) = body.word(Some(RSP), None, 1);
    let op = Op::Enter {
        back: last.next_ip(),
    };
    body.access(WireKind::Enter, 0, NotedAddress::word(word, moved), op);
}

fn leave(body: &mut Body, last: &Instruction, results: Results) {
    let (word, moved) = body.word(Some(RSP), None, 1);
    let place = NotedAddress::word(word, moved);
    if results.are_noted {
        let result = body.note_register(RAX);
        let op = Op::Result {
            pointer: word,
            delta: moved as i32,
            stored: results.are_stored.then(|| note_stored_block(body)),
        };
        body.access(WireKind::Alloc, 0, NotedAddress::word(result, 0), op);
    }
    body.access(WireKind::Load, 8, place, Op::Plain);
    body.access(WireKind::Exit, 0, place, Op::Exit);
    let scratch = body.take_scratch();
    body.emit.load(scratch, RSP, 0);
    if !is_fused(body) {
        hand_over(body);
    }
    let more = if last.op_count() > 0 {
        i32::from(last.immediate16())
    } else {
        0
    };
    body.emit.add(RSP, RSP, 8 + more);
}

/// Notes the block that a function has stored before it returns 0; the word's number. Where it
/// returns another number nothing may be there: a word of the thread's state is read instead. Flags
/// are free where a function returns.
fn note_stored_block(body: &mut Body) -> u16 {
    let scratch = body.take_scratch();
    let place = core::mem::offset_of!(Thread, block_place);
    body.emit.load_gs(scratch, place);
    let own = core::mem::offset_of!(Thread, own);
    body.emit.load_gs_unless_zero_result(scratch, own);
    body.emit.load(scratch, scratch, 0);
    body.note_register(scratch)
}

/// The branch's target goes into the scratch register.
fn target(body: &mut Body, last: &Instruction) {
    let scratch = body.take_scratch();
    if last.op0_kind() == OpKind::Register {
        body.emit
            .copy(scratch, number(last.op0_register()).unwrap_or(0));
    } else if last.is_ip_rel_memory_operand() {
        body.emit.set(scratch, last.ip_rel_memory_address());
        body.emit.load(scratch, scratch, 0);
    } else {
        let absolute = last.memory_base() == Register::None;
        let memory = MemoryOperand::new(
            last.memory_base(),
            last.memory_index(),
            last.memory_index_scale(),
            last.memory_displacement64() as i64,
            if absolute {
                8
            } else {
                last.memory_displ_size()
            },
            false,
            last.segment_prefix(),
        );
        let mut encoder = Encoder::new(64);
        let load = Instruction::with2(Code::Mov_r64_rm64, register(scratch), memory);
        if let Ok(load) = load
            && encoder.encode(&load, 0).is_ok()
        {
            body.emit.raw(&encoder.take_buffer());
        }
    }
}

/// Whether the borrowed registers are those that the look-up of indirect branches uses: then
/// nothing is put back in between.
pub fn is_fused(body: &Body) -> bool {
    (body.scratch, body.pointer) == (RAX, RCX)
}

fn hand_over(body: &mut Body) {
    body.emit
        .store_gs(core::mem::offset_of!(Thread, target), body.scratch);
}
