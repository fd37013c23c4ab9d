//! [`BlockFlags`]: whether the flags at the start of a block are dead, that is, written before they
//! are read. Only then may the block's prologue use a comparison, which changes flags, to check for
//! room in the buffer (see `place`). A fault before they are written shows them to the program.

use alloc::vec::Vec;

use iced_x86::{FlowControl, Instruction, Mnemonic, OpKind, RflagsBits};

use super::translate::{Decoded, End};
use crate::image::blocks::{CodePart, OVERFLOW};

const ALL: u32 = RflagsBits::CF
    | RflagsBits::PF
    | RflagsBits::AF
    | RflagsBits::ZF
    | RflagsBits::SF
    | RflagsBits::OF;

/// What a block does with the flags.
pub struct BlockFlags {
    /// Whether they are dead at its start.
    pub are_dead: bool,
    /// For each instruction, the flags that none before it has written, as in `CodePart::stale`.
    pub unwritten: Vec<u8>,
    /// How many of the first instructions have such flags, or write the last of them, and may
    /// fault.
    late: usize,
    /// Whether the block ends with a direct branch to its own start or further back, or with a
    /// branch that is not direct.
    pub goes_back: bool,
}

impl BlockFlags {
    /// Those of a block at `pc`.
    pub fn of(pc: u64, decoded: &Decoded) -> BlockFlags {
        let last = match &decoded.end {
            End::With(last) => Some(last),
            _ => None,
        };
        let instructions = || decoded.instructions.iter().chain(last);
        let (mut unwritten, mut written, mut late) = (Vec::new(), 0, 0);
        for instruction in instructions() {
            let missing = ALL & !written;
            unwritten.push(as_saved(missing));
            late += usize::from(missing != 0 && may_fault(instruction));
            // One that may leave flags as they are most often does not.
            written |= written_by(instruction);
        }
        BlockFlags {
            are_dead: are_dead(instructions()),
            unwritten,
            late,
            goes_back: last.is_some_and(|last| last.near_branch_target() <= pc),
        }
    }

    /// Sets in the block's parts which flags are saved.
    pub fn mark(&self, parts: &mut [CodePart]) {
        for (part, stale) in parts.iter_mut().zip(&self.unwritten) {
            part.stale = *stale;
        }
    }

    /// Whether they are dead at the start, and a fault may come before they are all written.
    pub fn are_late(&self) -> bool {
        self.are_dead && self.late > 0
    }
}

/// A set of flags, as `CodePart::stale` has it.
fn as_saved(flags: u32) -> u8 {
    const PLACES: [(u32, u8); 6] = [
        (RflagsBits::CF, 1),
        (RflagsBits::OF, OVERFLOW),
        (RflagsBits::PF, 1 << 2),
        (RflagsBits::AF, 1 << 4),
        (RflagsBits::ZF, 1 << 6),
        (RflagsBits::SF, 1 << 7),
    ];
    let of = |(flag, place): (u32, u8)| if flags & flag != 0 { place } else { 0 };
    PLACES.into_iter().fold(0, |set, place| set | of(place))
}

/// Whether an instruction may fault: not simple instructions that touch registers only.
fn may_fault(instruction: &Instruction) -> bool {
    use Mnemonic::{
        Add, And, Bsf, Bsr, Bswap, Bt, Cdq, Cdqe, Cmp, Cqo, Cwde, Dec, Endbr64, Imul, Inc, Jmp,
        Lea, Lzcnt, Mov, Movsx, Movsxd, Movzx, Mul, Neg, Nop, Not, Or, Popcnt, Rol, Ror, Sar, Shl,
        Shr, Sub, Test, Tzcnt, Xchg, Xor,
    };
    let is_simple = matches!(
        instruction.mnemonic(),
        Add | And
            | Bsf
            | Bsr
            | Bswap
            | Bt
            | Cdq
            | Cdqe
            | Cmp
            | Cqo
            | Cwde
            | Dec
            | Endbr64
            | Imul
            | Inc
            | Jmp
            | Lea
            | Lzcnt
            | Mov
            | Movsx
            | Movsxd
            | Movzx
            | Mul
            | Neg
            | Nop
            | Not
            | Or
            | Popcnt
            | Rol
            | Ror
            | Sar
            | Shl
            | Shr
            | Sub
            | Test
            | Tzcnt
            | Xchg
            | Xor
    );
    let computes = matches!(instruction.mnemonic(), Lea | Nop);
    let touches = instruction.op_kinds().any(|kind| kind == OpKind::Memory) && !computes;
    // Moves to segment and control registers may fault, too.
    let is_general = (0..instruction.op_count())
        .filter(|op| instruction.op_kind(*op) == OpKind::Register)
        .all(|op| instruction.op_register(op).is_gpr());
    !is_simple || touches || !is_general
}

/// The flags that an instruction writes, or leaves undefined, unless it leaves all as they are.
fn written_by(instruction: &Instruction) -> u32 {
    let written = instruction.rflags_written()
        | instruction.rflags_cleared()
        | instruction.rflags_set()
        | instruction.rflags_undefined();
    written & ALL
}

/// Whether these instructions write every flag before they read it.
fn are_dead<'a>(instructions: impl Iterator<Item = &'a Instruction>) -> bool {
    let mut written = 0;
    for instruction in instructions {
        if instruction.rflags_read() & ALL & !written != 0 {
            return false;
        }
        if !may_leave_flags(instruction) {
            written |= written_by(instruction);
        }
        if written == ALL {
            return true;
        }
        // The code at the branch's target may read flags that are written here later.
        if instruction.flow_control() == FlowControl::ConditionalBranch {
            return false;
        }
    }
    false
}

/// Whether an instruction may leave flags as they are: shifts by a register and repeated string
/// instructions do if their count is zero.
fn may_leave_flags(instruction: &Instruction) -> bool {
    use iced_x86::Mnemonic::{Rcl, Rcr, Rol, Ror, Sal, Sar, Shl, Shld, Shr, Shrd};
    let shift = matches!(
        instruction.mnemonic(),
        Rcl | Rcr | Rol | Ror | Sal | Sar | Shl | Shld | Shr | Shrd
    );
    shift || instruction.has_rep_prefix() || instruction.has_repne_prefix()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use iced_x86::{Decoder, DecoderOptions};

    fn dead(code: &[u8]) -> bool {
        let mut decoder = Decoder::with_ip(64, code, 0x1000, DecoderOptions::NONE);
        let instructions: Vec<Instruction> = decoder.iter().collect();
        assert!(instructions.iter().all(|found| !found.is_invalid()));
        are_dead(instructions.iter())
    }

    const CMP: [u8; 3] = [0x48, 0x39, 0xd8];
    const JB: [u8; 2] = [0x72, 0x10];
    const INC: [u8; 3] = [0x48, 0xff, 0xc0];
    const SHL_CL: [u8; 3] = [0x48, 0xd3, 0xe0];
    const ADC: [u8; 3] = [0x48, 0x11, 0xd8];
    const MOV: [u8; 3] = [0x48, 0x89, 0xd8];
    const JRCXZ: [u8; 2] = [0xe3, 0x10];
    const REPE_CMPSB: [u8; 2] = [0xf3, 0xa6];

    #[test]
    fn flags_written_before_they_are_read_are_dead() {
        assert!(dead(&CMP));
        assert!(dead(&[&MOV[..], &CMP, &JB].concat()));
        assert!(dead(&[&INC[..], &CMP].concat()));
    }

    #[test]
    fn flags_read_first_are_alive() {
        assert!(!dead(&ADC));
        assert!(!dead(&[&JB[..], &CMP].concat()));
        // inc leaves the carry as it was.
        assert!(!dead(&[&INC[..], &ADC].concat()));
    }

    #[test]
    fn flags_that_are_never_written_are_alive() {
        assert!(!dead(&[]));
        assert!(!dead(&MOV));
        assert!(!dead(&INC));
    }

    #[test]
    fn shift_by_a_register_and_repeated_compare_may_leave_flags() {
        assert!(!dead(&[&SHL_CL[..], &JB].concat()));
        assert!(!dead(&[&REPE_CMPSB[..], &JB].concat()));
        assert!(dead(&[&SHL_CL[..], &CMP].concat()));
    }

    #[test]
    fn only_simple_instructions_on_registers_cannot_fault() {
        let faults = |code: &[u8]| {
            let mut decoder = Decoder::with_ip(64, code, 0x1000, DecoderOptions::NONE);
            may_fault(&decoder.decode())
        };
        // cmp, inc, mov, shl; nop and lea with a memory operand
        let simple: [&[u8]; 6] = [
            &CMP,
            &INC,
            &MOV,
            &SHL_CL,
            &[0x0f, 0x1f, 0],
            &[0x48, 0x8d, 3],
        ];
        assert!(simple.iter().all(|code| !faults(code)));
        // mov from memory, push, div, a string, x87, SSE, mov to a segment register, hlt
        let others: [&[u8]; 8] = [
            &[0x48, 0x8b, 3],
            &[0x50],
            &[0xf7, 0xf1],
            &REPE_CMPSB,
            &[0xd9, 0xfa],
            &[0xf3, 0x0f, 0x58, 0xc0],
            &[0x8e, 0xd8],
            &[0xf4],
        ];
        assert!(others.iter().all(|code| faults(code)));
    }

    #[test]
    fn branch_that_reads_no_flags_keeps_them_alive() {
        assert!(!dead(&[&JRCXZ[..], &CMP].concat()));
    }
}
