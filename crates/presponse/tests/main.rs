//! Tests of the commands: the program as its users run it.
//!
//! `cargo test -p reuselens-presponse --test commands serve::` runs the tests of `serve.rs`.

mod bad_input;
mod common;

mod compare;
mod devices;
mod export;
mod interrupted;
mod kills;
mod run;
mod serve;
mod serve_ahead;
mod speculate;
