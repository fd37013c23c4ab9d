//! Tests of the readers and writers of all formats, as modules of one binary, which links once.
//! `cargo test -p reuselens-formats --test traces convert::` runs the tests of `convert.rs`.

#[path = "common/binary.rs"]
mod binary;

mod archive_segments;
mod binary_formats;
mod binary_fuzz;
mod block_requests;
mod borders;
mod compressed;
mod convert;
mod folder;
mod formats;
mod mini_fuzz;
mod record_segments;
mod row_segments;
mod selection;
mod text_formats;
