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
