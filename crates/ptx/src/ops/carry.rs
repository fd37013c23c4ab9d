//! Forms of sums that are wider than a register: instructions that leave a carry (`.cc`) and that
//! take one (`addc`, `subc`, `madc`).

use super::opcode::Opcode;
use super::typed;
use crate::lanes::Form;

/// Whether an instruction writes the carry (`.cc`).
pub fn makes_carry(opcode: &mut Opcode<'_>) -> bool {
    opcode.takes("cc")
}

/// The result and the new carry of `add.cc`, `addc`, `sub.cc`, `subc` and the sums of `mad.cc`,
/// `madc` (whose product the decoder has made before). The carry comes in as a predicate; `borrow`
/// and `carry` are the same bit here: it is set when a subtraction borrows.
pub fn carrying(opcode: &Opcode<'_>) -> Option<(Form, Form)> {
    let ty = opcode.ty();
    match opcode.base {
        "add" | "mad" => typed!(ty; U32 | S32 | B32 => u32, U64 | S64 | B64 => u64; (
            lanes!(|a: T, b: T| -> T { a.wrapping_add(b) }),
            test!(|a: T, b: T| a.overflowing_add(b).1),
        )),
        "addc" | "madc" => typed!(ty; U32 | S32 | B32 => u32, U64 | S64 | B64 => u64; (
            lanes!(|a: T, b: T; p| -> T { a.wrapping_add(b).wrapping_add(T::from(p)) }),
            test!(|a: T, b: T; p| a.overflowing_add(b).1 | a.wrapping_add(b).overflowing_add(T::from(p)).1),
        )),
        "sub" => typed!(ty; U32 | S32 | B32 => u32, U64 | S64 | B64 => u64; (
            lanes!(|a: T, b: T| -> T { a.wrapping_sub(b) }),
            test!(|a: T, b: T| a < b),
        )),
        "subc" => typed!(ty; U32 | S32 | B32 => u32, U64 | S64 | B64 => u64; (
            lanes!(|a: T, b: T; p| -> T { a.wrapping_sub(b).wrapping_sub(T::from(p)) }),
            test!(|a: T, b: T; p| a.overflowing_sub(b).1 | a.wrapping_sub(b).overflowing_sub(T::from(p)).1),
        )),
        _ => None,
    }
}
