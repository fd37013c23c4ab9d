//! [`are_dead`]: whether the flags at the start of a block are dead, that is, written before they
//! are read. Only then may the block's prologue use a comparison, which changes flags, to check for
//! room in the buffer (see `place`).

use iced_x86::{FlowControl, Instruction, RflagsBits};

const ALL: u32 = RflagsBits::CF
    | RflagsBits::PF
    | RflagsBits::AF
    | RflagsBits::ZF
    | RflagsBits::SF
    | RflagsBits::OF;

/// Whether these instructions write every flag before they read it. (The handler of a fault before
/// that may see flags that are not the program's; it returns to code that does not read them.)
pub fn are_dead<'a>(instructions: impl Iterator<Item = &'a Instruction>) -> bool {
    let mut written = 0;
    for instruction in instructions {
        if instruction.rflags_read() & ALL & !written != 0 {
            return false;
        }
        // Written or undefined in every case; counts of shifts may be zero.
        let sure = instruction.rflags_written()
            | instruction.rflags_cleared()
            | instruction.rflags_set()
            | instruction.rflags_undefined();
        if !may_leave_flags(instruction) {
            written |= sure & ALL;
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
    fn branch_that_reads_no_flags_keeps_them_alive() {
        assert!(!dead(&[&JRCXZ[..], &CMP].concat()));
    }
}
