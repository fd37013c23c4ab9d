//! `reuselens man`: prints the manual page.

use std::process::ExitCode;

use clap::CommandFactory;

use super::Cli;
use crate::exit::Outcome;
use crate::say;

/// Print the manual page
///
/// For instance: reuselens man | man -l -, or reuselens man profile | man -l -
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The command to describe; without it, all of reuselens
    command: Option<String>,
}

impl Args {
    /// Prints it.
    pub fn run(self) -> Outcome {
        let mut cli = Cli::command();
        cli.build();
        let page = match &self.command {
            None => clap_mangen::Man::new(cli),
            Some(name) => match cli.find_subcommand(name) {
                Some(command) => clap_mangen::Man::new(command.clone()),
                None => anyhow::bail!("there is no command '{name}'; `reuselens help` lists them"),
            },
        };
        let mut text = Vec::new();
        page.render(&mut text)?;
        say::bytes(&text)?;
        Ok(ExitCode::SUCCESS)
    }
}
