//! From code of the program to code in the cache, a block at a time.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem::offset_of;
use core::num::NonZeroU32;

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, Register,
};

use super::body::{Body, NotedAddress, is_atomic};
use super::place::{Placed, place};
use super::registers::{BORROWED, RAX, RCX, RDI, RDX, RSI, RSP, number};
use super::{rewrite, special, terminator};
use crate::image::allocations;
use crate::image::codes::Exits;
use crate::image::descriptor::{Access, Descriptor, Op};
use crate::image::thread::Thread;

/// What is to be translated.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    pub pc: u64,
    /// The code from there on, as far as it can be read or is looked at.
    pub code: &'a [u8],
    /// The allocator's function that begins here.
    pub allocator: Option<u8>,
    /// Whether functions of this code may return blocks of memory.
    pub results: bool,
    /// Whether an address is in a function that stores its block of memory instead of returning it.
    pub stores: fn(u64) -> bool,
    /// Whether it is noted that the block began.
    pub blocks: bool,
    /// Whether it is noted when instructions run that synchronise threads.
    pub ordered: bool,
    /// Whether the code stays as it is, so that a block may go on behind a branch.
    pub lasting: bool,
    /// Whether a function that is treated in its own way begins at an address.
    pub begins: fn(u64) -> bool,
    /// Whether a function begins here that is to be recorded.
    pub function: bool,
    /// Where in the cache there is room.
    pub at: u64,
}

/// A translated block.
pub struct Translated {
    pub placed: Placed,
    /// Head of its notes, if it notes anything.
    pub head: Option<NonZeroU32>,
    /// Whether other threads can go on because of it, and it does not note when.
    pub unordered: bool,
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
    /// With an instruction that this thread has to leave the cache for, for good.
    Native,
}

/// The most instructions of a block, and of one that goes round a loop.
const MOST: usize = 64;
const MOST_ROUND: usize = 160;

/// Limits on the instructions of a block.
#[derive(Clone, Copy)]
struct Most {
    instructions: usize,
    /// For one that goes round a loop.
    round: usize,
}

/// Words that a block may note, so that it stays within the slack.
const WORDS: u16 = 400;
/// The most branches that a block goes on behind, and how often it goes round a loop.
const BRANCHES: usize = 8;
/// Words and accesses that a block has at most which goes on behind a branch: its notes are to be
/// handed on as they are.
const WORDS_BEHIND: u16 = 48;
const ACCESSES_BEHIND: usize = 128;

/// A block as it was decoded.
pub struct Decoded {
    /// In the order in which they run; among them branches that lead out of the block the other
    /// way.
    pub instructions: Vec<Instruction>,
    pub end: End,
    /// Where the program goes on behind the block, if that is not up to its last instruction.
    pub next: u64,
    /// Address behind all of its instructions.
    pub high: u64,
    /// Branches among the instructions, and those of them that go round the loop that the block is.
    branches: usize,
    rounds: usize,
    /// General registers that it uses, a bit each.
    used: u32,
}

/// Translates a block into bytes for the cache; `add` gives its notes their head, and if it is left
/// by a branch in between the notes of what has run, which begin as those of the whole with the
/// given head.
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
                return Translated {
                    placed,
                    head,
                    unordered: !input.ordered && decoded.instructions.iter().any(is_atomic),
                    bytes,
                };
            }
            // An instruction alone leaves enough registers.
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
        used: reserved(input),
    };
    while (decoded.instructions.len() < most.instructions || decoded.rounds > 0)
        && decoder.can_decode()
    {
        let instruction = decoder.decode();
        if instruction.is_invalid() {
            if decoded.instructions.is_empty() {
                decoded.end = End::Invalid;
            }
            break;
        }
        let used = decoded.used | registers(input, &instruction, &mut factory);
        let free = BORROWED.iter().filter(|r| used >> **r & 1 == 0).count();
        if free < 2 && !decoded.instructions.is_empty() {
            break;
        }
        if uses_gs(&instruction) {
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
        } else if let Some(next) = behind(input, &decoded, &instruction, most.round)
            && decoder.set_position((next - input.pc) as usize).is_ok()
        {
            decoder.set_ip(next);
            decoded.next = next;
            if is_conditional(&instruction) {
                decoded.branches += 1;
                decoded.rounds += usize::from(next == input.pc);
                decoded.instructions.push(instruction);
            }
        } else {
            decoded.end = End::With(instruction);
            break;
        }
    }
    decoded
}

/// General registers that an instruction uses, or what we note of it, a bit each.
fn registers(
    input: &Input<'_>,
    instruction: &Instruction,
    factory: &mut InstructionInfoFactory,
) -> u32 {
    let mut used = special::mark(instruction).map_or(0, special::Mark::registers);
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

/// Where a block goes on behind a branch, if it does: straight ahead, or round the loop that it is.
fn behind(
    input: &Input<'_>,
    decoded: &Decoded,
    branch: &Instruction,
    most_round: usize,
) -> Option<u64> {
    let target = branch.near_branch_target();
    let (next, may) = match branch.flow_control() {
        FlowControl::ConditionalBranch if !branch.is_jcc_short_or_near() => return None,
        FlowControl::ConditionalBranch if target == input.pc => {
            // A whole round more, or none.
            let after = decoded.instructions.len() + 1;
            let round = after / (decoded.rounds + 1);
            (target, after + round <= most_round)
        }
        FlowControl::ConditionalBranch => (branch.next_ip(), target > branch.ip()),
        // The first instruction stays in any case.
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

/// Registers that may not be borrowed whatever the code does.
fn reserved(input: &Input<'_>) -> u32 {
    let arguments = 1 << RDI | 1 << RSI | 1 << RDX;
    1 << RSP
        | if input.allocator.is_some() {
            arguments
        } else {
            0
        }
}

fn uses_gs(instruction: &Instruction) -> bool {
    let named = instruction.segment_prefix() == Register::GS
        || (instruction.memory_segment() == Register::GS
            && instruction.mnemonic() != Mnemonic::Lea);
    named
        || matches!(
            instruction.mnemonic(),
            Mnemonic::Wrgsbase | Mnemonic::Rdgsbase | Mnemonic::Swapgs
        )
}

/// The two registers to borrow, and whether they are those that indirect branches need.
fn borrow(decoded: &Decoded) -> (u8, u8) {
    let is_free = |register: u8| decoded.used >> register & 1 == 0;
    if terminator::is_indirect(&decoded.end) && is_free(RAX) && is_free(RCX) {
        return (RAX, RCX);
    }
    let mut free = BORROWED.into_iter().filter(|register| is_free(*register));
    (free.next().unwrap_or(RAX), free.next().unwrap_or(RCX))
}

/// Writes the body; on failure, how many instructions went well.
fn write(input: &Input<'_>, decoded: &Decoded) -> Result<Body, usize> {
    let (scratch, pointer) = borrow(decoded);
    let mut body = Body::new(scratch, pointer);
    let mut factory = InstructionInfoFactory::new();
    if input.blocks {
        let block = terminator::basic_block(input.pc, decoded);
        body.constant(block);
    }
    if let Some(function) = input.allocator {
        begin_allocator(&mut body, function);
    }
    if input.function {
        begin_function(&mut body);
    }
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
        if input.ordered && is_atomic(instruction) {
            body.order();
        }
        let after = special::note(&mut body, instruction, info);
        let start = (instruction.ip() - input.pc) as usize;
        let bytes = &input.code[start..start + instruction.len()];
        rewrite::append(&mut body, instruction, bytes).map_err(|_| index)?;
        after.note(&mut body);
        body.executed(instruction, info);
        if body.words > WORDS && index + 1 < decoded.instructions.len() {
            return Err(index + 1);
        }
        let many = body.words > WORDS_BEHIND || body.accesses.len() > ACCESSES_BEHIND;
        if many && !body.ways_out.is_empty() && index + 1 < decoded.instructions.len() {
            // Whole rounds of a loop.
            return Err(round.unwrap_or(index + 1));
        }
    }
    if let End::With(last) = &decoded.end {
        body.begin(last, input.pc);
        let info = factory.info(last);
        let results = terminator::Results {
            are_noted: input.results,
            are_stored: input.results && (input.stores)(last.ip()),
        };
        terminator::body(&mut body, last, info, results);
    }
    Ok(body)
}

/// Notes the stack pointer of a function that is to be recorded.
fn begin_function(body: &mut Body) {
    let (word, moved) = body.word(Some(RSP), None, 1);
    let place = NotedAddress::word(word, moved);
    body.access(reuselens_wire::WireKind::Enter, 0, place, Op::Function);
}

/// Notes an allocator's arguments and where it returns.
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
        NotedAddress::word(word, moved),
        Op::Allocator { function, words },
    );
}

/// Gives the notes of a block their head, and those of its ways out.
fn add_heads(
    input: &Input<'_>,
    decoded: &Decoded,
    body: &mut Body,
    add: &mut impl FnMut(Descriptor, Option<u32>) -> u32,
) {
    if body.accesses.is_empty() {
        return;
    }
    let accesses: &'static [Access] = Box::leak(Box::from(body.accesses.as_slice()));
    let words = body.length();
    let whole = add(describe(input, decoded, accesses, words), None);
    body.head = whole;
    let mut last = (accesses.len(), words, whole);
    for way in body
        .ways_out
        .iter_mut()
        .rev()
        .filter(|way| way.accesses > 0)
    {
        if (way.accesses, way.words) != (last.0, last.1) {
            let some = describe(input, decoded, &accesses[..way.accesses], way.words);
            last = (way.accesses, way.words, add(some, Some(whole)));
        }
        way.head = last.2;
    }
}

fn describe(
    input: &Input<'_>,
    decoded: &Decoded,
    accesses: &'static [Access],
    words: u16,
) -> Descriptor {
    let first = decoded.instructions.first().map(Instruction::next_ip);
    let hits = accesses.iter().filter(|access| access.op == Op::Plain);
    Descriptor {
        pc: first.unwrap_or(decoded.next),
        words,
        plain: accesses.iter().all(Access::is_row),
        hits: hits.count() as u16 - u16::from(input.blocks),
        exits: accesses.iter().any(|access| access.op == Op::Exit),
        stub: terminator::is_stub(decoded),
        accesses,
    }
}

#[cfg(test)]
mod machine;
#[cfg(test)]
mod tests;
