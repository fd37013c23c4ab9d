//! [`translate`]: makes a block of code for the cache from code of the program, in three steps:
//! decode the instructions of the block ([`decode`]), write its body with the stores that record
//! accesses ([`write`]), and lay it out for the cache (`place`).
//!
//! A block ends at the first call, return or indirect jump. It may continue after conditional
//! branches, and go round a loop several times, so that one block record has many accesses. Each
//! block leaves at least two general registers unused, which the added code borrows.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem::offset_of;
use core::num::NonZeroU32;

use iced_x86::{
    Decoder, DecoderError, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory,
    Mnemonic, OpKind, Register,
};

use super::asm;
use super::body::{Body, RecordedAddress, is_atomic};
use super::place::{Placed, place};
use super::registers::{BORROWED, RAX, RCX, RDI, RDX, RSI, RSP, number};
use super::{rewrite, special, terminator};
use crate::image::allocations;
use crate::image::codes::Exits;
use crate::image::descriptor::{BlockAccess, Descriptor, EventSummary, Op};
use crate::image::thread::Thread;

/// What is to be translated.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    pub pc: u64,
    /// The code from `pc` on, up to the end of readable code or of what is looked at.
    pub code: &'a [u8],
    /// The allocator's function that begins here.
    pub allocator: Option<u8>,
    /// Whether functions of this code may return blocks of memory.
    pub results: bool,
    /// Whether an address is in a function that stores its block of memory instead of returning it.
    pub stores: fn(u64) -> bool,
    /// Whether the begin of each block is recorded.
    pub blocks: bool,
    /// Whether the times of atomic instructions are recorded.
    pub ordered: bool,
    /// Whether the program has handlers for faults, which are shown the flags and each instruction.
    pub shows_faults: bool,
    /// Whether the code cannot change, so that a block may continue after a branch.
    pub lasting: bool,
    /// Whether a function of an allocator, or one that is to be recorded, begins at an address: it
    /// must begin a block.
    pub begins: fn(u64) -> bool,
    /// Whether a function that is to be recorded begins here.
    pub function: bool,
    /// Address in the cache at which the block will be.
    pub at: u64,
}

/// A translated block.
pub struct Translated {
    pub placed: Placed,
    /// Head of its block records, if it writes any.
    pub head: Option<NonZeroU32>,
    /// Whether it has an atomic instruction and does not record the time at which that runs.
    pub unordered: bool,
    /// Whether a handler of faults may find other flags than the program's, or miss a jump.
    pub blurs_faults: bool,
    /// Bytes of the program's code that it stands for.
    pub bytes: u64,
}

/// How a block ends.
#[derive(Clone, Copy)]
pub enum End {
    /// With the next block.
    Next,
    /// With this instruction.
    With(Instruction),
    /// With bytes that are no instruction.
    Invalid,
    /// With an instruction of more than 15 bytes.
    TooLong,
    /// With an instruction that cannot be translated: the thread leaves the cache for good.
    Native,
}

impl End {
    /// The end of a block that begins with this code, which is no instruction.
    fn without_instruction(code: &[u8]) -> End {
        if is_too_long(code) {
            End::TooLong
        } else {
            End::Invalid
        }
    }
}

/// The most instructions of a block.
const MOST: usize = 64;
/// The most instructions of a block that goes round a loop.
const MOST_ROUND: usize = 160;

/// Limits on the instructions of a block.
#[derive(Clone, Copy)]
struct Most {
    instructions: usize,
    /// For one that goes round a loop.
    round: usize,
}

/// The most words of a block record before the last instruction, so that it stays within the slack.
const WORDS: u16 = 400;
/// The most branches after which a block continues, those round its loop included.
const BRANCHES: usize = 8;
/// The most words and accesses of a block that continues after a branch: its block records are to
/// be short enough to be sent unchanged.
const WORDS_AFTER_BRANCH: u16 = 48;
const ACCESSES_AFTER_BRANCH: usize = 128;

/// A decoded block.
pub struct Decoded {
    /// In the order in which they run. Among them are conditional branches by which the block can
    /// be left.
    pub instructions: Vec<Instruction>,
    pub end: End,
    /// Address after the last instruction that runs, at which the program continues if that is no
    /// branch.
    pub next: u64,
    /// Address after all of its instructions.
    pub high: u64,
    /// How many of the instructions are branches.
    branches: usize,
    /// How many of these go round the loop that the block is.
    rounds: usize,
    /// Whether jumps to the next instruction are left out.
    leaves_out: bool,
    /// General registers that it uses, a bit each.
    used: u32,
}

/// Translates a block into bytes for the cache. `add` adds a descriptor and returns the head for
/// it. It is called first for the block, then for each branch out of the middle of the block; the
/// descriptor is then a first part of the block's, whose head is the second argument.
pub fn translate(
    input: &Input<'_>,
    exits: &mut Exits,
    mut add: impl FnMut(Descriptor, Option<u32>) -> u32,
) -> Translated {
    let mut most = Most {
        instructions: MOST,
        round: MOST_ROUND,
    };
    loop {
        let decoded = decode(input, most);
        match write(input, &decoded) {
            Ok(mut body) => {
                let bytes = (decoded.high - input.pc).max(1);
                add_heads(input, &decoded, &mut body, &mut add);
                let head = NonZeroU32::new(body.head);
                let placed = place(input, &decoded, body, exits);
                let has_late_flags = placed.has_late_flags;
                return Translated {
                    placed,
                    head,
                    unordered: !input.ordered && decoded.instructions.iter().any(is_atomic),
                    blurs_faults: !input.shows_faults && (has_late_flags || decoded.leaves_out),
                    bytes,
                };
            }
            // A single instruction leaves enough registers, so this ends.
            Err(done) => {
                most = Most {
                    instructions: done.max(1),
                    round: done,
                }
            }
        }
    }
}

/// Decodes a block.
fn decode(input: &Input<'_>, most: Most) -> Decoded {
    let mut decoder = Decoder::with_ip(64, input.code, input.pc, DecoderOptions::NONE);
    let mut factory = InstructionInfoFactory::new();
    let mut decoded = Decoded {
        instructions: Vec::with_capacity(16),
        end: End::Next,
        next: input.pc,
        high: input.pc,
        branches: 0,
        rounds: 0,
        leaves_out: false,
        used: reserved(input),
    };
    while (decoded.instructions.len() < most.instructions || decoded.rounds > 0)
        && decoder.can_decode()
    {
        let instruction = decoder.decode();
        if instruction.is_invalid() {
            if decoded.instructions.is_empty() {
                decoded.end = End::without_instruction(input.code);
            }
            break;
        }
        let used = decoded.used | registers(input, &instruction, &mut factory);
        let free = BORROWED.iter().filter(|r| used >> **r & 1 == 0).count();
        if free < 2 && !decoded.instructions.is_empty() {
            break;
        }
        if sets_gs(&instruction) {
            if decoded.instructions.is_empty() {
                decoded.end = End::Native;
            }
            break;
        }
        decoded.used = used;
        decoded.next = instruction.next_ip();
        decoded.high = decoded.high.max(decoded.next);
        if !terminator::ends_block(&instruction) {
            decoded.instructions.push(instruction);
        } else if let Some(next) = continuation(input, &decoded, &instruction, most.round)
            && decoder.set_position((next - input.pc) as usize).is_ok()
        {
            decoder.set_ip(next);
            decoded.next = next;
            if is_conditional(&instruction) {
                decoded.branches += 1;
                decoded.rounds += usize::from(next == input.pc);
                decoded.instructions.push(instruction);
            } else if input.shows_faults {
                decoded.instructions.push(instruction);
            } else {
                decoded.leaves_out = true;
            }
        } else {
            decoded.end = End::With(instruction);
            break;
        }
    }
    decoded
}

/// The most bytes of an instruction.
const INSTRUCTION_MOST: usize = 15;

/// Whether the instruction at `pc` reaches beyond the end of the code.
pub fn is_cut(pc: u64, code: &[u8]) -> bool {
    code.len() < INSTRUCTION_MOST && ends_early(pc, code) && may_become_valid(pc, code)
}

/// Whether some instruction begins with this code. The decoder asks for more of an invalid one,
/// too, which the processor does not.
fn may_become_valid(pc: u64, code: &[u8]) -> bool {
    // Operands in memory and in registers.
    [0x00, 0xc0].into_iter().any(|rest| {
        let mut padded = [rest; INSTRUCTION_MOST];
        padded[..code.len()].copy_from_slice(code);
        let mut decoder = Decoder::with_ip(64, &padded, pc, DecoderOptions::NONE);
        !decoder.decode().is_invalid()
    })
}

/// Whether the decoder finds the end of the code before that of the instruction at `pc`.
fn ends_early(pc: u64, code: &[u8]) -> bool {
    let mut decoder = Decoder::with_ip(64, code, pc, DecoderOptions::NONE);
    let _ = decoder.decode();
    decoder.last_error() == DecoderError::NoMoreBytes
}

/// By how much the instruction at `pc` moves the stack pointer.
pub fn stack_movement(pc: u64, code: &[u8]) -> i64 {
    let mut decoder = Decoder::with_ip(64, code, pc, DecoderOptions::NONE);
    i64::from(decoder.decode().stack_pointer_increment())
}

/// Whether an invalid instruction is one of which even the most bytes are only a part.
fn is_too_long(code: &[u8]) -> bool {
    code.len() >= INSTRUCTION_MOST && ends_early(0, &code[..INSTRUCTION_MOST - 1])
}

/// General registers that an instruction uses, or the code that records it, a bit each.
fn registers(
    input: &Input<'_>,
    instruction: &Instruction,
    factory: &mut InstructionInfoFactory,
) -> u32 {
    let mut used = special::mark(instruction).map_or(0, special::MarkInstruction::registers);
    for register in factory.info(instruction).used_registers() {
        used |= number(register.register()).map_or(0, |number| 1 << number);
    }
    if input.ordered && is_atomic(instruction) {
        used |= 1 << RAX | 1 << RDX;
    }
    if input.results && instruction.flow_control() == FlowControl::Return {
        used |= 1 << RAX;
    }
    used
}

/// The address at which a block continues after a branch, if it does: the next instruction, the
/// target of a jump, or the start of the block again if the block is a loop.
fn continuation(
    input: &Input<'_>,
    decoded: &Decoded,
    branch: &Instruction,
    most_round: usize,
) -> Option<u64> {
    let target = branch.near_branch_target();
    let (next, may) = match branch.flow_control() {
        FlowControl::ConditionalBranch if !branch.is_jcc_short_or_near() => return None,
        FlowControl::ConditionalBranch if target == input.pc => {
            // Only if there is room for the instructions of one more iteration.
            let after = decoded.instructions.len() + 1;
            let round = after / (decoded.rounds + 1);
            (target, after + round <= most_round)
        }
        FlowControl::ConditionalBranch => (branch.next_ip(), target > branch.ip()),
        // Not as the block's first instruction: a block needs one.
        FlowControl::UnconditionalBranch if branch.is_jmp_short_or_near() => (
            target,
            target > branch.ip() && !decoded.instructions.is_empty(),
        ),
        _ => return None,
    };
    let within = next.wrapping_sub(input.pc) < input.code.len() as u64;
    let may = may && input.lasting && !input.blocks && decoded.branches < BRANCHES;
    (may && within && (next == input.pc || !(input.begins)(next))).then_some(next)
}

fn is_conditional(branch: &Instruction) -> bool {
    branch.flow_control() == FlowControl::ConditionalBranch
}

/// Registers that may not be borrowed whatever the code does, a bit each.
fn reserved(input: &Input<'_>) -> u32 {
    let arguments = 1 << RDI | 1 << RSI | 1 << RDX;
    1 << RSP
        | if input.allocator.is_some() {
            arguments
        } else {
            0
        }
}

/// Whether an instruction sets the base of gs. Before the first one that base is 0, and `rewrite`
/// takes it for that.
fn sets_gs(instruction: &Instruction) -> bool {
    let is_written = instruction.op0_kind() == OpKind::Register
        && instruction.op0_register() == Register::GS
        && instruction.mnemonic() != Mnemonic::Push;
    instruction.mnemonic() == Mnemonic::Wrgsbase || is_written
}

/// The two registers to borrow: the scratch register and the pointer to the block record. rax and
/// rcx if the block ends with an indirect branch and does not use them.
fn borrow(decoded: &Decoded) -> (u8, u8) {
    let is_free = |register: u8| decoded.used >> register & 1 == 0;
    if terminator::is_indirect(&decoded.end) && is_free(RAX) && is_free(RCX) {
        return (RAX, RCX);
    }
    let mut free = BORROWED.into_iter().filter(|register| is_free(*register));
    (free.next().unwrap_or(RAX), free.next().unwrap_or(RCX))
}

/// Writes the body. On failure, returns with how many instructions to try again.
fn write(input: &Input<'_>, decoded: &Decoded) -> Result<Body, usize> {
    let (scratch, pointer) = borrow(decoded);
    let mut body = Body::new(scratch, pointer);
    let mut factory = InstructionInfoFactory::new();
    begin_block(&mut body, input, decoded);
    let mut round = None;
    for (index, instruction) in decoded.instructions.iter().enumerate() {
        let info = factory.info(instruction);
        body.begin(instruction, input.pc);
        if is_conditional(instruction) {
            terminator::leave_by(&mut body, instruction, input.pc);
            if instruction.near_branch_target() == input.pc {
                round = Some(index + 1);
            }
            continue;
        }
        if instruction.flow_control() == FlowControl::UnconditionalBranch {
            // A trap after each instruction (TF) comes after this one, too.
            body.emit.raw(&[0x90]); // nop
            continue;
        }
        if input.ordered && is_atomic(instruction) {
            body.order();
        }
        let after = special::record(&mut body, instruction, info);
        let start = (instruction.ip() - input.pc) as usize;
        let bytes = &input.code[start..start + instruction.len()];
        if special::stores_pointer(instruction) {
            body.call(asm::pointer_address());
        }
        rewrite::append(&mut body, instruction, bytes).map_err(|_| index)?;
        after.record(&mut body);
        body.executed(instruction, info);
        if body.words > WORDS && index + 1 < decoded.instructions.len() {
            return Err(index + 1);
        }
        let many = body.words > WORDS_AFTER_BRANCH || body.accesses.len() > ACCESSES_AFTER_BRANCH;
        if many && !body.ways_out.is_empty() && index + 1 < decoded.instructions.len() {
            // Up to the end of the last iteration of the loop.
            return Err(round.unwrap_or(index + 1));
        }
    }
    if let End::With(last) = &decoded.end {
        body.begin(last, input.pc);
        let info = factory.info(last);
        let results = terminator::Results {
            are_recorded: input.results,
            are_stored: input.results && (input.stores)(last.ip()),
        };
        terminator::body(&mut body, last, info, results);
    }
    Ok(body)
}

/// Records what begins with the block: a basic block, an allocator's function, a function.
fn begin_block(body: &mut Body, input: &Input<'_>, decoded: &Decoded) {
    if input.blocks {
        let block = terminator::basic_block(input.pc, decoded);
        body.constant(block);
    }
    if let Some(function) = input.allocator {
        begin_allocator(body, function);
    }
    if input.function {
        begin_function(body);
    }
}

/// Records the stack pointer of a function that is to be recorded.
fn begin_function(body: &mut Body) {
    let (word, moved) = body.word(Some(RSP), None, 1);
    let place = RecordedAddress::word(word, moved);
    body.access(reuselens_wire::WireKind::Enter, 0, place, Op::Function);
}

/// Records the arguments and the return address of an allocator's function.
fn begin_allocator(body: &mut Body, function: u8) {
    let words = body.leave_words(4);
    for (word, register) in (words..).zip([RDI, RSI, RDX]) {
        body.store_word(word, register);
    }
    if allocations::stores_block(function) {
        body.emit.store_gs(offset_of!(Thread, block_place), RDI);
    }
    let scratch = body.take_scratch();
    body.emit.load(scratch, RSP, 0);
    body.store_word(words + 3, scratch);
    let (word, moved) = body.word(Some(RSP), None, 1);
    let kind = reuselens_wire::WireKind::Alloc;
    body.access(
        kind,
        0,
        RecordedAddress::word(word, moved),
        Op::Allocator { function, words },
    );
}

/// Adds the descriptors of a block and of its ways out, and sets their heads.
fn add_heads(
    input: &Input<'_>,
    decoded: &Decoded,
    body: &mut Body,
    add: &mut impl FnMut(Descriptor, Option<u32>) -> u32,
) {
    if body.accesses.is_empty() {
        return;
    }
    let accesses: &'static [BlockAccess] = Box::leak(Box::from(body.accesses.as_slice()));
    let words = body.length();
    let head = add(describe(input, decoded, accesses, words), None);
    body.head = head;
    let mut last = (accesses.len(), words, head);
    for way in body
        .ways_out
        .iter_mut()
        .rev()
        .filter(|way| way.accesses > 0)
    {
        if (way.accesses, way.words) != (last.0, last.1) {
            let some = describe(input, decoded, &accesses[..way.accesses], way.words);
            last = (way.accesses, way.words, add(some, Some(head)));
        }
        way.head = last.2;
    }
}

fn describe(
    input: &Input<'_>,
    decoded: &Decoded,
    accesses: &'static [BlockAccess],
    words: u16,
) -> Descriptor {
    let first = decoded.instructions.first().map(Instruction::next_ip);
    let plain = accesses.iter().filter(|access| access.op == Op::Plain);
    let hits = plain.count() as u16 - u16::from(input.blocks);
    Descriptor {
        pc: first.unwrap_or(decoded.next),
        words,
        plain: accesses.iter().all(BlockAccess::is_row),
        hits,
        exit: accesses.iter().find(|access| access.op == Op::Exit),
        summary: EventSummary::of(hits, accesses),
        stub: terminator::is_stub(decoded),
        accesses,
    }
}

#[cfg(test)]
mod machine;
#[cfg(test)]
mod tests;
