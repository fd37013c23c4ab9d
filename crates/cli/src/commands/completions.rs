//! `reuselens completions`: prints the script by which a shell completes our command line.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use super::Cli;
use crate::exit::Outcome;
use crate::say;

/// Print completions for a shell
///
/// For instance: reuselens completions bash > ~/.local/share/bash-completion/completions/reuselens
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The shell
    shell: Shell,
}

impl Args {
    /// Prints them.
    pub fn run(self) -> Outcome {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "reuselens", &mut text);
        say::bytes(&text)?;
        Ok(ExitCode::SUCCESS)
    }
}
