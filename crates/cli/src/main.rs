//! `reuselens`: the command line. [`main`] reads the arguments, runs one command and ends with its
//! exit code.
//!
//! Each command is in the file of its name under `commands/`. None of them computes anything
//! itself: they call the libraries.

mod arithmetic;
mod charts;
mod commands;
mod control;
mod cuda;
mod demos;
mod exit;
mod files;
mod given;
mod holdings;
mod interrupt;
mod limits;
mod memory_machines;
mod metered;
mod options;
mod output;
mod part;
mod program_status;
mod progress;
mod ranking;
mod refused;
mod results;
mod say;
mod shell_words;
mod sources;
mod typed;
mod wanted_size;
mod warnings;
mod watched;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};
use reuselens::hugepages::Allocator;
use reuselens::io::AtomicFile;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

fn main() -> ExitCode {
    Allocator::prepare(AtomicFile::remove_unfinished_unless_busy);
    if let Some(compiler) = commands::cc::asked_for(std::env::args_os()) {
        return exit::code(compiler.run());
    }
    if let Some(compiler) = commands::nvcc::asked_for(std::env::args_os()) {
        return exit::code(compiler.run());
    }
    // First of all: from here on a signal ends with a message.
    interrupt::listen();
    let mut command = commands::Cli::command();
    let matches = match command.try_get_matches_from_mut(std::env::args_os()) {
        Ok(matches) => matches,
        Err(error) => return exit::usage(error),
    };
    let cli = match commands::Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => return exit::usage(error.format(&mut command)),
    };
    if let Err(usage) = given::look(&matches) {
        return exit::code(Err(usage.into()));
    }
    reuselens::capture::report_size_limits();
    let advice = cli.command.advice();
    exit::code(refused::guarded(advice, || cli.command.run()))
}
