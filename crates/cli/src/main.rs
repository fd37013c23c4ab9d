//! `reuselens`: see how far apart a program reuses its data, why it misses in its caches, and what to
//! do about it.
//!
//! The whole program on one screen: arguments, one command, an exit code. What each command does is in
//! the file of its name under `commands/`; none of them computes anything itself.

mod charts;
mod commands;
mod control;
mod demos;
mod exit;
mod files;
mod holdings;
mod interrupt;
mod options;
mod output;
mod part;
mod progress;
mod ranking;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    if let Some(compiler) = commands::cc::asked_for(std::env::args_os()) {
        return exit::code(compiler.run());
    }
    let cli = match commands::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return exit::usage(error),
    };
    reuselens::capture::report_size_limits();
    interrupt::listen();
    exit::code(cli.command.run())
}
