//! Tests with programs that run to their end while they are captured.
//!
//! All files are modules of one binary: CONTRIBUTING.md, "Tests".
//! `cargo test -p reuselens-capture --test programs mirror::` runs the tests of `mirror.rs`.

mod common;

mod basic_blocks;
mod flags_and_faults;
mod limits;
mod mirror;
mod names;
mod order;
mod restrictions;
mod rewriting;
mod targets;
mod thread_names;
mod trust;
