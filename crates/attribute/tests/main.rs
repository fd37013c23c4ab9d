//! Tests of whose an access is, by traces made by hand.
//!
//! All files are modules of one binary: CONTRIBUTING.md, "Tests".
//! `cargo test -p reuselens-attribute --test attribution locals::` runs the tests of `locals.rs`.

mod common;

mod ballots;
mod elements;
mod folding;
mod inlined;
mod item_batches;
mod items;
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
