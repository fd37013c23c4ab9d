//! Tests with whole CUDA programs, compiled and run.
//!
//! All files are modules of one binary: CONTRIBUTING.md, "Tests".
//! `cargo test -p reuselens-cuda --test programs bad_kernels::` runs the tests of `bad_kernels.rs`.

mod common;

mod bad_kernels;
mod barriers;
mod commands;
mod cuda_12;
mod cudarc;
mod driver;
mod hooked;
mod ledger;
mod libraries;
mod nvcc;
mod programs;
mod separate;
