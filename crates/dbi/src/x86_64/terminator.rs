//! The instruction that ends a block (call, return, jump, system call), as far as it belongs to the
//! block's body: its accesses, the return address that it pushes or pops, and the target of an
//! indirect branch, which goes into the thread's state. The jumps themselves are added by `place`.

use iced_x86::{
    Code, Encoder, FlowControl, Instruction, InstructionInfo, MemoryOperand, Mnemonic, OpKind,
    Register,
};
use reuselens_wire::{Record, WireKind, basic_block_words};

use super::body::{Body, RecordedAddress, WayOut};
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

/// The record of a basic block that begins. How it ends has the numbers of `BlockEnd` of crate
/// `trace`.
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

/// Whether a block only jumps to an address in a table, as the stubs for calls into other libraries
/// do.
pub fn is_stub(decoded: &Decoded) -> bool {
    let End::With(last) = &decoded.end else {
        return false;
    };
    let leads = |i: &Instruction| matches!(i.mnemonic(), Mnemonic::Endbr64 | Mnemonic::Nop);
    last.code() == Code::Jmp_rm64
        && last.is_ip_rel_memory_operand()
        && decoded.instructions.iter().all(leads)
}

/// Whether an instruction ends a block.
pub fn ends_block(instruction: &Instruction) -> bool {
    instruction.flow_control() != FlowControl::Next || instruction.mnemonic() == Mnemonic::Syscall
}

/// Writes a conditional branch in the middle of a block. The block continues with one of its two
/// sides, and is left by the other: it continues where the branch is not taken, or, if the branch
/// goes to the block's start `block`, with one more iteration of that loop.
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

/// What a block records of the results of functions, for allocators.
#[derive(Clone, Copy)]
pub struct Results {
    /// Whether results are recorded.
    pub are_recorded: bool,
    /// Whether the block of memory that the function has stored is recorded, too.
    pub are_stored: bool,
}

/// Writes what belongs to the body of a block's last instruction: its accesses, the return address
/// that it pushes, the target that it reads.
pub fn body(body: &mut Body, last: &Instruction, info: &InstructionInfo, results: Results) {
    match last.flow_control() {
        FlowControl::Call if last.mnemonic() != Mnemonic::Syscall => {
            call(body, last, info);
        }
        FlowControl::IndirectCall if last.code() == Code::Call_rm64 => {
            body.plain(last, info);
            target(body, last);
            store_target(body);
            push_return(body, last);
            enter(body, last, info);
        }
        FlowControl::IndirectBranch if last.code() == Code::Jmp_rm64 => {
            body.plain(last, info);
            target(body, last);
            if !is_fused(body) {
                store_target(body);
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

/// Records a call with the callee's stack pointer, at which the return address is now.
fn enter(body: &mut Body, last: &Instruction, info: &InstructionInfo) {
    body.executed(last, info);
    let (word, moved) = body.word(Some(RSP), None, 1);
    let op = Op::Enter {
        back: last.next_ip(),
    };
    body.access(WireKind::Enter, 0, RecordedAddress::word(word, moved), op);
}

fn leave(body: &mut Body, last: &Instruction, results: Results) {
    let (word, moved) = body.word(Some(RSP), None, 1);
    let place = RecordedAddress::word(word, moved);
    if results.are_recorded {
        let result = body.record_register(RAX);
        let op = Op::Result {
            pointer: word,
            delta: moved as i32,
            stored: results.are_stored.then(|| record_stored_block(body)),
        };
        body.access(WireKind::Alloc, 0, RecordedAddress::word(result, 0), op);
    }
    body.access(WireKind::Load, 8, place, Op::Plain);
    body.access(WireKind::Exit, 0, place, Op::Exit);
    let scratch = body.take_scratch();
    body.emit.load(scratch, RSP, 0);
    if !is_fused(body) {
        store_target(body);
    }
    let more = if last.op_count() > 0 {
        i32::from(last.immediate16())
    } else {
        0
    };
    body.emit.add(RSP, RSP, 8 + more);
}

/// Records the block of memory that a function has stored. Returns the word's number. If the
/// function does not return 0, it may have stored nothing: then a word of the thread's state is
/// read instead. This changes flags, which are dead where a function returns.
fn record_stored_block(body: &mut Body) -> u16 {
    let scratch = body.take_scratch();
    let place = core::mem::offset_of!(Thread, block_place);
    body.emit.load_gs(scratch, place);
    let own = core::mem::offset_of!(Thread, own);
    body.emit.load_gs_unless_zero_result(scratch, own);
    body.emit.load(scratch, scratch, 0);
    body.record_register(scratch)
}

/// Loads the branch's target into the scratch register.
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
            // The program's base of gs is 0; ours is not.
            if last.segment_prefix() == Register::GS {
                Register::None
            } else {
                last.segment_prefix()
            },
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

/// Whether the borrowed registers are those that the look-up of indirect branches uses. Then they
/// need not be restored and spilled again between the body and the look-up.
pub fn is_fused(body: &Body) -> bool {
    (body.scratch, body.pointer) == (RAX, RCX)
}

/// Stores the target, which is in the scratch register, in the thread's state.
fn store_target(body: &mut Body) {
    body.emit
        .store_gs(core::mem::offset_of!(Thread, target), body.scratch);
}
