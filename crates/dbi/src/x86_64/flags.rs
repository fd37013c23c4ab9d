//! Whether flags are dead where a block begins: if so, it may compare.

use iced_x86::{FlowControl, Instruction, RflagsBits};

const ALL: u32 = RflagsBits::CF
    | RflagsBits::PF
    | RflagsBits::AF
    | RflagsBits::ZF
    | RflagsBits::SF
    | RflagsBits::OF;

/// Whether these instructions write every flag before they read it. A handler of a fault in between
/// may see flags that are not the program's; when it returns they are written before they are read.
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
        // The other way may read what this one writes.
        if instruction.flow_control() == FlowControl::ConditionalBranch {
            return false;
        }
    }
    false
}

/// Shifts by a register leave flags alone if the count is zero; so do repeated string instructions.
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
