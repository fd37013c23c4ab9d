//! [`place`]: makes a block's bytes for the cache from its body: adds the entry, the prologue with
//! the check for room, the epilogue, the branch and the exits.
//!
//! ```text
//!         restore rax, rcx           entry for indirect branches, which arrive with these spilled
//! head:   spill two registers; load the buffer's cursor; compare it with the limit; store the head
//!         the program's instructions, with stores to the block record in between (the body)
//!         advance the cursor; restore the registers
//!         the branch; for each of its targets a stub that calls the dispatcher, until it is linked
//! ```
//!
//! The check is left out if the flags are alive at the block's start. Such a block relies on the
//! guard after the buffer. A loop without a block record checks the limit, too, for signals. If the
//! program handles faults, a block whose check overwrites flags that a handler could be shown saves
//! them before.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem::offset_of;

use iced_x86::{Code, ConditionCode, FlowControl, Instruction, Mnemonic};

use super::asm;
use super::body::{Body, WayOut};
use super::emit::Emit;
use super::flags::BlockFlags;
use super::registers::{RAX, RCX};
use super::terminator::{is_fused, is_indirect};
use super::translate::{Decoded, End, Input};
use crate::image::blocks::{CodePart, Spilled};
use crate::image::codes::Exits;
use crate::image::descriptor::NO_WORD;
use crate::image::thread::{CODES, KEYS, Thread};

/// A block's bytes for the cache.
pub struct Placed {
    pub bytes: Vec<u8>,
    /// Where in them the head is; its address is a multiple of 16.
    pub head: usize,
    pub parts: Box<[CodePart]>,
    /// Whether the check overwrites flags that the program must find at a fault in the block.
    pub has_late_flags: bool,
}

/// A jump whose target is not known in the cache yet.
struct Open {
    /// Where the jump's distance is, in bytes of the block.
    at: usize,
    target: u64,
}

struct Placing<'a> {
    emit: Emit,
    start: u64,
    open: Vec<Open>,
    /// The open jump of an indirect branch whose target is not in the look-up table, and the
    /// branch's address.
    missed: Option<Open>,
    exits: &'a mut Exits,
}

const SPILL: [usize; 3] = [
    offset_of!(Thread, spill),
    offset_of!(Thread, spill) + 8,
    offset_of!(Thread, spill) + 16,
];
/// Offset of the head in a block record.
const HEAD: i32 = NO_WORD as i32 * 8;
/// Bytes of the entry for indirect branches.
pub const ENTRY: usize = 18;

/// Lays a block out.
pub fn place(input: &Input<'_>, decoded: &Decoded, body: Body, exits: &mut Exits) -> Placed {
    let mut placing = Placing {
        emit: Emit::default(),
        start: input.at,
        open: Vec::new(),
        missed: None,
        exits,
    };
    while !(input.at as usize + placing.emit.len() + ENTRY).is_multiple_of(16) {
        placing.emit.raw(&[0xcc]);
    }
    placing.emit.load_gs(RCX, SPILL[1]);
    placing.emit.load_gs(RAX, SPILL[0]);
    let head = placing.emit.len();
    let has_record = !body.accesses.is_empty();
    let spills = has_record || body.scratch_used;
    let flags = BlockFlags::of(input.pc, decoded);
    let has_late_flags = has_record && flags.are_late();
    let saves_flags = has_late_flags && input.shows_faults;
    let check = placing.prologue(&body, &flags, saves_flags);
    let mut parts = shifted(&body, placing.emit.len() - head);
    if saves_flags {
        flags.mark(&mut parts);
    }
    let start = placing.emit.len();
    placing.emit.raw(&body.emit.bytes);
    let fused = is_indirect(&decoded.end) && is_fused(&body) && spills;
    placing.epilogue(&body, has_record, fused);
    let (pc, stale) = parts.last().map_or((0, 0), |part| (part.pc, part.stale));
    let offset = (placing.emit.len() - head) as u16;
    let spilled = if fused {
        Spilled::Branch(RAX, RCX)
    } else {
        Spilled::None
    };
    parts.push(CodePart {
        offset,
        pc,
        spilled,
        stale,
    });
    placing.branch(input, decoded, fused);
    if let Some(check) = check {
        placing.slow(input, &body, check);
    }
    for way in &body.ways_out {
        placing.way_out(&body, way, start + way.at);
    }
    if let Some(missed) = placing.missed.take() {
        placing.miss(&missed);
    }
    placing.stubs();
    Placed {
        bytes: placing.emit.bytes,
        head,
        parts: parts.into_boxed_slice(),
        has_late_flags,
    }
}

/// The parts of a body that begins `by` bytes after the head.
fn shifted(body: &Body, by: usize) -> Vec<CodePart> {
    let mut parts = body.parts.clone();
    let first = if body.scratch_used {
        body.scratch
    } else {
        body.pointer
    };
    for part in &mut parts {
        part.offset += by as u16;
        if body.scratch_used || !body.accesses.is_empty() {
            part.spilled = Spilled::Two(first, body.pointer);
        }
    }
    // The prologue belongs to the first instruction: its store of the head may fault at the guard.
    if let Some(first) = parts.first_mut() {
        first.offset = 0;
    }
    parts
}

impl Placing<'_> {
    /// Spills registers, saves flags, checks for room, stores the head. Returns the open jump of
    /// the check.
    fn prologue(&mut self, body: &Body, flags: &BlockFlags, saves_flags: bool) -> Option<usize> {
        if body.accesses.is_empty() {
            self.emit.raw(&[0x0f, 0x1f, 0x44, 0x00, 0x00]); // nop, so that a jump can replace it
            if body.scratch_used {
                self.emit.store_gs(SPILL[0], body.scratch);
                self.emit.store_gs(SPILL[1], body.pointer);
            }
            return flags.goes_back.then(|| self.poll());
        }
        self.emit.store_gs(SPILL[1], body.pointer);
        if body.scratch_used {
            self.emit.store_gs(SPILL[0], body.scratch);
        }
        let pointer = body.pointer;
        if saves_flags {
            let is_free = pointer == RAX || (body.scratch_used && body.scratch == RAX);
            self.save_flags(is_free);
        }
        self.emit.load_gs(pointer, offset_of!(Thread, cursor));
        let check = flags.are_dead.then(|| {
            self.emit.compare_gs(pointer, offset_of!(Thread, limit));
            self.emit.open_jump(&[0x0f, 0x87], self.start) // ja
        });
        self.emit.store_number(pointer, HEAD, body.head);
        check
    }

    /// Saves the flags, by way of rax, which is spilled already if it `is_free`.
    fn save_flags(&mut self, is_free: bool) {
        if !is_free {
            self.emit.store_gs(SPILL[2], RAX);
        }
        self.emit.raw(&[0x9f, 0x0f, 0x90, 0xc0]); // lahf; seto al
        self.emit
            .store_word_gs(offset_of!(Thread, saved_flags), RAX);
        if !is_free {
            self.emit.load_gs(RAX, SPILL[2]);
        }
    }

    /// The check for signals in a loop without a block record. Returns its open jump. Flags do not
    /// change.
    fn poll(&mut self) -> usize {
        let limit = offset_of!(Thread, limit) as u32;
        self.emit.store_gs(SPILL[2], RAX);
        self.emit.raw(&[0x9f, 0x0f, 0x90, 0xc0]); // lahf; seto al
        self.emit.raw(&[0x65, 0x48, 0x83, 0x3c, 0x25]); // cmp qword gs:[limit], 0
        self.emit.raw(&limit.to_le_bytes());
        self.emit.raw(&[0]);
        let over = self.emit.open_jump(&[0x0f, 0x85], self.start); // jne
        self.restore_flags();
        let slow = self.emit.open_jump(&[0xe9], self.start);
        self.emit.close_jump(over);
        self.restore_flags();
        slow
    }

    fn restore_flags(&mut self) {
        self.emit.raw(&[0x04, 0x7f, 0x9e]); // add al, 127; sahf
        self.emit.load_gs(RAX, SPILL[2]);
    }

    /// Advances the cursor and restores the registers.
    fn epilogue(&mut self, body: &Body, has_record: bool, fused: bool) {
        if has_record {
            self.advance(body.pointer, body.length());
        }
        if !fused {
            self.put_back(body);
        }
    }

    fn advance(&mut self, pointer: u8, words: u16) {
        self.emit.add(pointer, pointer, i32::from(words) * 8);
        self.emit.store_gs(offset_of!(Thread, cursor), pointer);
    }

    /// Restores the borrowed registers.
    fn put_back(&mut self, body: &Body) {
        if !body.accesses.is_empty() {
            self.emit.load_gs(body.pointer, SPILL[1]);
        }
        if body.scratch_used {
            self.emit.load_gs(body.scratch, SPILL[0]);
        }
    }

    /// The code after a branch out of the middle of a block, whose distance is at `at`: makes the
    /// block record that of the accesses so far. This cannot fault at the buffer's guard, for the
    /// head was stored before.
    fn way_out(&mut self, body: &Body, way: &WayOut, at: usize) {
        self.emit.close_jump(at);
        if way.accesses > 0 {
            self.emit.store_number(body.pointer, HEAD, way.head);
            self.advance(body.pointer, way.words);
        }
        self.put_back(body);
        self.jump_to(&[0xe9], way.target);
    }

    /// The check has failed: there is no room, or a signal waits. Calls the dispatcher, with this
    /// block as the next one.
    fn slow(&mut self, input: &Input<'_>, body: &Body, check: usize) {
        self.emit.close_jump(check);
        self.put_back(body);
        let exit = self.exits.add(input.pc, 0);
        self.leave(exit, asm::dispatch_address());
    }

    /// Leaves the cache by an exit.
    fn leave(&mut self, exit: u32, to: u64) {
        self.emit.store_number_gs(offset_of!(Thread, exit), exit);
        self.emit.jump(&[0xe9], self.start, to);
    }

    fn jump_to(&mut self, opcode: &[u8], target: u64) {
        let at = self.emit.open_jump(opcode, self.start);
        self.open.push(Open { at, target });
    }

    fn branch(&mut self, input: &Input<'_>, decoded: &Decoded, fused: bool) {
        let last = match &decoded.end {
            End::Next => return self.jump_to(&[0xe9], decoded.next),
            End::Invalid => return self.emit.raw(&[0x0f, 0x0b]), // ud2
            // The processor's answer is that to an instruction that only the system may execute.
            End::TooLong => return self.emit.raw(&[0xf4]), // hlt
            End::Native => {
                let exit = self.exits.add(input.pc, 0);
                return self.leave(exit, asm::native_address());
            }
            End::With(last) => last,
        };
        if is_indirect(&decoded.end) {
            return self.indirect(last, fused);
        }
        if last.mnemonic() == Mnemonic::Syscall {
            self.emit.set(RCX, last.ip());
            self.emit.store_gs(offset_of!(Thread, target), RCX);
            return self
                .emit
                .jump(&[0xe9], self.start, asm::system_call_address());
        }
        match last.flow_control() {
            FlowControl::ConditionalBranch => self.conditional(input, last),
            FlowControl::UnconditionalBranch | FlowControl::Call
                if last.is_jmp_short_or_near() || last.code() == Code::Call_rel32_64 =>
            {
                self.jump_to(&[0xe9], last.near_branch_target());
            }
            FlowControl::Exception | FlowControl::Interrupt if !is_old_call(last) => {
                let start = (last.ip() - input.pc) as usize;
                self.emit.raw(&input.code[start..start + last.len()]);
                self.jump_to(&[0xe9], last.next_ip());
            }
            _ => {
                let exit = self.exits.add(last.ip(), 0);
                self.leave(exit, asm::native_address());
            }
        }
    }

    fn conditional(&mut self, input: &Input<'_>, last: &Instruction) {
        let taken = last.near_branch_target();
        if last.condition_code() != ConditionCode::None && last.is_jcc_short_or_near() {
            let condition = last.condition_code() as u8 - 1;
            self.jump_to(&[0x0f, 0x80 | condition], taken);
        } else {
            // loop, jrcxz and the like have distances of one byte: made to jump over the other
            // jump.
            let start = (last.ip() - input.pc) as usize;
            let bytes = &input.code[start..start + last.len()];
            self.emit.raw(&bytes[..bytes.len() - 1]);
            self.emit.raw(&[0]);
            let after = self.emit.len();
            self.jump_to(&[0xe9], last.next_ip());
            self.emit.bytes[after - 1] = (self.emit.len() - after) as u8;
            return self.jump_to(&[0xe9], taken);
        }
        self.jump_to(&[0xe9], last.next_ip());
    }

    /// The code of an indirect branch whose target is not in the look-up table: calls the
    /// dispatcher, which finds the branch by an exit of its own.
    fn miss(&mut self, missed: &Open) {
        self.emit.close_jump(missed.at);
        let branch = self.exits.add(missed.target, 0);
        let place = offset_of!(Thread, branch);
        self.emit.store_number_gs(place, branch);
        self.emit.jump(&[0xe9], self.start, asm::missed_address());
    }

    /// Jumps to the target by the look-up table. Keys are negated targets: their sum is zero if
    /// they are equal, which is tested without changing flags.
    fn indirect(&mut self, last: &Instruction, fused: bool) {
        if !fused {
            self.emit.store_gs(SPILL[0], RAX);
            self.emit.store_gs(SPILL[1], RCX);
        }
        if !fused || last.code() == Code::Call_rm64 {
            self.emit.load_gs(RAX, offset_of!(Thread, target));
        }
        self.emit.raw(&[0x0f, 0xb7, 0xc8]); // movzx ecx, ax
        self.emit.raw(&[0x65, 0x48, 0x8b, 0x0c, 0xcd]); // mov rcx, gs:[rcx * 8 + keys]
        self.emit.raw(&(KEYS as u32).to_le_bytes());
        self.emit.raw(&[0x48, 0x8d, 0x0c, 0x01]); // lea rcx, [rcx + rax]
        self.emit.raw(&[0xe3, 5]); // jrcxz over the jump
        self.emit.raw(&[0xe9, 0, 0, 0, 0]);
        self.missed = Some(Open {
            at: self.emit.len() - 4,
            target: last.ip(),
        });
        self.emit.raw(&[0x0f, 0xb7, 0xc8]);
        self.emit.raw(&[0x65, 0xff, 0x24, 0xcd]); // jmp gs:[rcx * 8 + codes]
        self.emit.raw(&(CODES as u32).to_le_bytes());
    }

    /// For each open jump, code that calls the dispatcher for its target.
    fn stubs(&mut self) {
        for open in core::mem::take(&mut self.open) {
            self.emit.close_jump(open.at);
            let exit = self.exits.add(open.target, self.start + open.at as u64);
            self.leave(exit, asm::dispatch_address());
        }
    }
}

/// Whether an instruction is `int`, by which 32-bit programs make system calls.
fn is_old_call(last: &Instruction) -> bool {
    last.mnemonic() == Mnemonic::Int
}
