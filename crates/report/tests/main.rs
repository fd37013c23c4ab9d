//! Tests of what is reported of a profile, in every format.
//!
//! All files are modules of one binary: CONTRIBUTING.md, "Tests".
//! `cargo test -p reuselens-report --test reports advice::` runs the tests of `advice.rs`.

mod common;

mod advice;
mod causes;
mod conflicts;
mod diff_findings;
mod exports;
mod fields;
mod html;
mod lines;
mod placement;
mod text;
mod times;
mod viewers;
