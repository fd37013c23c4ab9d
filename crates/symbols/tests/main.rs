//! Tests of names from programs that compilers made.
//!
//! All files are modules of one binary: CONTRIBUTING.md, "Tests".
//! `cargo test -p reuselens-symbols --test names fields::` runs the tests of `fields.rs`.

mod compiled;

mod access_types;
mod block_types;
mod fields;
mod loader;
mod templates;
