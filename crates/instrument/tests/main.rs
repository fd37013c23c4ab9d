//! Kernels with hooks do what they do without, and their records are those of the interpreter.
//!
//! The tests of the interpreter (`crates/ptx/tests`) run here once more: their module `common` is
//! another one, which runs each kernel with and without hooks.

mod common;

mod assembler;
mod bypass;
mod flow;
mod generated;
mod ring;

#[path = "../../ptx/tests/kernels.rs"]
mod kernels;
#[path = "../../ptx/tests/stack.rs"]
mod stack;
#[path = "../../ptx/tests/thesis.rs"]
mod thesis;
