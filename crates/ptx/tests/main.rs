//! Tests of the interpreter, with kernels as compilers make them and as written by hand.
//!
//! All files are modules of one binary: CONTRIBUTING.md, "Tests".
//! `cargo test -p reuselens-ptx --test kernels collectives::` runs the tests of `collectives.rs`.

mod common;

mod arithmetic;
mod calls;
mod collectives;
mod conformance;
mod cooperative;
mod copies;
mod cub;
mod errors;
mod flow;
mod halves;
mod kernels;
mod link;
mod matrix;
mod mbarrier;
mod on_fault;
mod printf;
mod runtime;
mod sinks;
mod stack;
mod textures;
mod thesis;
mod warp_sync;
