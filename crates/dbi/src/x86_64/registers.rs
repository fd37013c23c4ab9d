//! Numbers of the general registers, as instructions encode them, and the order in which blocks
//! borrow registers.

use iced_x86::Register;

pub const RAX: u8 = 0;
pub const RCX: u8 = 1;
pub const RDX: u8 = 2;
pub const RBX: u8 = 3;
pub const RSP: u8 = 4;
pub const RBP: u8 = 5;
pub const RSI: u8 = 6;
pub const RDI: u8 = 7;

/// The order in which registers are borrowed: short encodings first.
pub const BORROWED: [u8; 15] = [1, 2, 6, 7, 0, 3, 5, 8, 9, 10, 11, 12, 13, 14, 15];

/// Number of the general register that this one is part of.
pub fn number(register: Register) -> Option<u8> {
    let full = register.full_register();
    full.is_gpr64().then(|| full.number() as u8)
}

/// The register with this number.
pub fn register(number: u8) -> Register {
    const ALL: [Register; 16] = [
        Register::RAX,
        Register::RCX,
        Register::RDX,
        Register::RBX,
        Register::RSP,
        Register::RBP,
        Register::RSI,
        Register::RDI,
        Register::R8,
        Register::R9,
        Register::R10,
        Register::R11,
        Register::R12,
        Register::R13,
        Register::R14,
        Register::R15,
    ];
    ALL[usize::from(number & 15)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn register_and_number_are_inverse() {
        for of in 0..16 {
            assert_eq!(number(register(of)), Some(of));
        }
        assert_eq!(number(Register::AL), Some(RAX));
        assert_eq!(number(Register::R9D), Some(9));
        assert_eq!(number(Register::XMM0), None);
        assert_eq!(number(Register::None), None);
    }

    #[test]
    fn borrowed_has_each_register_but_the_stack_pointer_once() {
        let mut borrowed = BORROWED;
        borrowed.sort_unstable();
        let expected = (0..16).filter(|of| *of != RSP);
        assert!(borrowed.into_iter().eq(expected));
    }
}
