//! Tests of whose an access is, by traces made by hand and by programs that compilers made.
//!
//! All files are modules of one binary: CONTRIBUTING.md, "Tests".
//! `cargo test -p reuselens-attribute --test attribution locals::` runs the tests of `locals.rs`.

mod common;
mod compiled;

mod access_types;
mod ballots;
mod block_types;
mod elements;
mod fields;
mod folding;
mod inlined;
mod item_batches;
mod items;
mod loader;
mod locals;
mod marks;
mod merging;
mod named;
mod objects;
mod offsets;
mod placement;
mod properties;
mod repeats;
mod repeats_by_hand;
mod templates;
