//! What runs inside the program. See the crate's documentation.

mod entry;
mod heap;
mod mappings;
mod plan;
mod policy;
mod sites;
mod smaps;
mod start;
mod symbols;
mod verify;
mod wrappers;

use crate::layout::object;

/// Whether an object of the plan is a symbol.
fn is_static(number: usize) -> bool {
    plan::get(plan::of_object(number, object::IS_STATIC)) != 0
}

// Parts of Rust's core refer to it, for panics that unwind; ours do not. It is hidden: a program
// may have one of its own.
core::arch::global_asm!(
    ".hidden rust_eh_personality",
    ".globl rust_eh_personality",
    "rust_eh_personality:",
    "ud2",
);

/// A panic is a bug of ours; nobody can be told, so the program ends by SIGILL.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: nothing runs after it.
    unsafe { core::arch::asm!("ud2", options(noreturn)) }
}
