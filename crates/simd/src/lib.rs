//! Which vector instructions the processor has, and functions that are compiled for them.
//!
//! A hot loop is written once, as an `#[inline(always)]` function, and compiled for several
//! [levels](Level) by [`entry_point!`]; which of these runs is decided when the program runs.
//! Results never depend on the level.
//!
//! | level | processors | instructions beyond those of the level before |
//! |---|---|---|
//! | [`Level::PORTABLE`] | all | |
//! | [`V3`] | Intel from 2013, AMD from 2015 | AVX2, FMA, BMI1, BMI2, LZCNT, POPCNT |
//! | [`V4`] | Intel servers from 2017, AMD from 2022 | AVX-512 F, BW, DQ, VL, CD |
//! | [`Icelake`] | Intel from 2019, AMD from 2022 | AVX-512 VBMI, VBMI2, VPOPCNTDQ |
//!
//! V3 and V4 are named as the x86-64 psABI names them (of V3, F16C and MOVBE are not used). On
//! other architectures every level is portable.
//!
//! A value of [`V3`], [`V4`] or [`Icelake`] is the proof that the processor has these
//! instructions: each comes from a [`Level`], and only [`Level::best`] makes one above portable. So
//! `unsafe` is in this crate, and not where loops are compiled.
//!
//! # How calls are inlined
//! The body of an entry point, and all that is inlined into it, is compiled for its level. Code
//! that is not inlined is compiled for any processor, so everything down to the intrinsics must be
//! `#[inline(always)]`. Closures are not always inlined; write functions in their place. An entry
//! point itself is never inlined into its caller, so call it per block, not per access.
//!
//! For: crates of this workspace with loops that gain from vectors. Not for: the vector code
//! itself, which is where its data are.

mod entry_point;
mod level;

pub use level::{Icelake, Level, V3, V4};
