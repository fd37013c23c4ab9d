//! From code of the program to code in the cache, a block at a time.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::num::NonZeroU32;

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, Register,
};

use super::notes::Body;
use super::place::{Placed, place};
use super::registers::{BORROWED, RAX, RCX, RDI, RSI, RSP, number};
use super::{rewrite, special, terminator};
use crate::image::codes::Exits;
use crate::image::descriptor::{Access, Descriptor, Op};

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
    /// Whether it is noted that the block began.
    pub blocks: bool,
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

/// The most instructions of a block.
const MOST: usize = 48;
/// Words that a block may note, so that it stays within the slack.
const WORDS: u16 = 400;

/// A block as it was decoded.
pub struct Decoded {
    pub instructions: Vec<Instruction>,
    pub end: End,
    /// Address behind the block.
    pub next: u64,
    /// General registers that it uses, a bit each.
    used: u32,
}

/// Translates a block into bytes for the cache; `add` gives its notes their head.
pub fn translate(
    input: &Input<'_>,
    exits: &mut Exits,
    add: impl FnOnce(Descriptor) -> u32,
) -> Translated {
    let mut most = MOST;
    loop {
        let decoded = decode(input, most);
        match write(input, &decoded) {
            Ok(mut body) => {
                let descriptor = describe(input, &decoded, &body);
                let bytes = descriptor.bytes;
                if !body.accesses.is_empty() {
                    body.head = add(descriptor);
                }
                let head = NonZeroU32::new(body.head);
                let placed = place(input, &decoded, body, exits);
                return Translated {
                    placed,
                    head,
                    bytes,
                };
            }
            // An instruction alone leaves enough registers.
            Err(done) => most = done.max(1),
        }
    }
}

fn decode(input: &Input<'_>, most: usize) -> Decoded {
    let mut decoder = Decoder::with_ip(64, input.code, input.pc, DecoderOptions::NONE);
    let mut factory = InstructionInfoFactory::new();
    let mut decoded = Decoded {
        instructions: Vec::with_capacity(16),
        end: End::Next,
        next: input.pc,
        used: reserved(input),
    };
    while decoded.instructions.len() < most && decoder.can_decode() {
        let instruction = decoder.decode();
        if instruction.is_invalid() {
            if decoded.instructions.is_empty() {
                decoded.end = End::Invalid;
            }
            break;
        }
        let ends = ends_block(&instruction);
        let mut used = decoded.used;
        for register in factory.info(&instruction).used_registers() {
            used |= number(register.register()).map_or(0, |number| 1 << number);
        }
        used |= special::mark(&instruction).map_or(0, special::Mark::registers);
        if ends && input.results && instruction.flow_control() == FlowControl::Return {
            used |= 1 << RAX;
        }
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
        if ends {
            decoded.end = End::With(instruction);
            break;
        }
        decoded.instructions.push(instruction);
    }
    decoded
}

/// Registers that may not be borrowed whatever the code does.
fn reserved(input: &Input<'_>) -> u32 {
    let arguments = 1 << RDI | 1 << RSI;
    1 << RSP
        | if input.allocator.is_some() {
            arguments
        } else {
            0
        }
}

fn ends_block(instruction: &Instruction) -> bool {
    instruction.flow_control() != FlowControl::Next || instruction.mnemonic() == Mnemonic::Syscall
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
    for (index, instruction) in decoded.instructions.iter().enumerate() {
        let info = factory.info(instruction);
        body.begin(instruction, input.pc);
        let after = special::note(&mut body, instruction, info);
        let start = (instruction.ip() - input.pc) as usize;
        let bytes = &input.code[start..start + instruction.len()];
        rewrite::append(&mut body, instruction, bytes).map_err(|_| index)?;
        after.note(&mut body);
        body.executed(instruction, info);
        if body.words > WORDS && index + 1 < decoded.instructions.len() {
            return Err(index + 1);
        }
    }
    if let End::With(last) = &decoded.end {
        body.begin(last, input.pc);
        let info = factory.info(last);
        terminator::body(&mut body, last, info, input.results);
    }
    Ok(body)
}

/// Notes the stack pointer of a function that is to be recorded.
fn begin_function(body: &mut Body) {
    let (word, moved) = body.word(Some(RSP), None, 1);
    let place = (word, moved as u64, false);
    body.access(reuselens_wire::WireKind::Enter, 0, place, Op::Function);
}

/// Notes an allocator's arguments and where it returns.
fn begin_allocator(body: &mut Body, function: u8) {
    let words = body.leave_words(3);
    body.store_word(words, RDI);
    body.store_word(words + 1, RSI);
    let scratch = body.take_scratch();
    body.emit.load(scratch, RSP, 0);
    body.store_word(words + 2, scratch);
    let (word, moved) = body.word(Some(RSP), None, 1);
    let kind = reuselens_wire::WireKind::Alloc;
    body.access(
        kind,
        0,
        (word, moved as u64, false),
        Op::Allocator { function, words },
    );
}

fn describe(input: &Input<'_>, decoded: &Decoded, body: &Body) -> Descriptor {
    let first = decoded.instructions.first().map(Instruction::next_ip);
    Descriptor {
        pc: first.unwrap_or(decoded.next),
        bytes: (decoded.next - input.pc).max(1),
        words: body.length(),
        plain: body.accesses.iter().all(Access::is_row),
        hits: body
            .accesses
            .iter()
            .filter(|access| access.op == Op::Plain)
            .count() as u16
            - u16::from(input.blocks),
        exits: body.accesses.iter().any(|access| access.op == Op::Exit),
        stub: terminator::is_stub(decoded),
        accesses: Box::from(body.accesses.as_slice()),
    }
}
