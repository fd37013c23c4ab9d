//! `presponse`: exact answers about graphs whose edges come and go. [`main`] reads the arguments,
//! runs one command and ends with its exit code.
//!
//! Each command is in the file of its name under `commands/`. What is computed is in the crates
//! `graph` and `incremental`; [`state`] keeps updates over a crash, and [`service`] answers
//! clients.

mod answers;
mod batches;
mod commands;
mod device;
mod differences;
mod exit;
mod input;
mod interrupt;
mod latency;
mod page;
mod peers;
mod progress;
mod say;
mod service;
mod speculation;
mod state;
mod summary;
mod timeline;

use std::process::ExitCode;

fn main() -> ExitCode {
    interrupt::listen();
    match commands::Cli::read() {
        Ok(cli) => exit::code(cli.command.run()),
        Err(error) => exit::usage(&error),
    }
}
