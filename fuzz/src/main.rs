//! One binary for all fuzz targets, because each links most of the workspace: the environment says
//! which one runs.
//!
//! `FUZZ_TARGET=native cargo run --release --features libfuzzer -- corpus/native`
#![no_main]

use std::sync::LazyLock;

use reuselens_fuzz::targets::{Run, chosen};

static TARGET: LazyLock<Run> = LazyLock::new(chosen);

libfuzzer_sys::fuzz_target!(
    init: {
        LazyLock::force(&TARGET);
    },
    |bytes: &[u8]| TARGET(bytes)
);
