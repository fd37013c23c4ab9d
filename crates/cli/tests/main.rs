//! Tests of the commands: the tool as its users run it.
//!
//! All files are modules of one binary: it links once, and the tests of one file run while those of
//! another wait for a program. No test may change what the whole process shares (its environment,
//! current folder, limits or signals): what a test needs, it gives to the process that it starts.
//! `cargo test -p reuselens-cli --test commands place::` runs the tests of `place.rs`.

mod common;

mod advice_programs;
mod advise;
mod allocators;
mod analyze;
mod carried;
mod cc;
mod check;
mod ci_jobs;
mod completions;
mod control;
mod convert;
mod cuda;
mod cuda_programs;
mod demo;
mod diff;
mod doubling;
mod driver_device;
mod engines;
mod escapes;
mod explain;
mod formats;
mod full_disk;
mod given;
mod gpu;
mod gpu_analyses;
mod handover;
mod hmbench;
mod hostile;
mod info;
mod interrupted;
mod kill;
mod llvm;
mod locals;
mod man;
mod memory;
mod merge;
mod messages;
mod nvcc;
mod on_gpu;
mod openmp;
mod paths;
mod place;
mod place_predicted;
mod placement_data;
mod predict;
mod profile;
mod quick;
mod record;
mod reorder;
mod report;
mod run;
mod run_programs;
mod shard;
mod simulation;
mod survivors;
mod types;
mod vector_instructions;
mod weigh;
mod why;
