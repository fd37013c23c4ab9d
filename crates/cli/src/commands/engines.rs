//! `reuselens engines`: what it can run.

use std::io::Write;
use std::process::ExitCode;

use reuselens::distance::ENGINES;

use crate::exit::Outcome;

/// List the engines
#[derive(clap::Args, Debug)]
pub struct Args {}

impl Args {
    /// Prints the list.
    pub fn run(self) -> Outcome {
        let mut out = std::io::stdout().lock();
        for engine in ENGINES {
            let exact = if engine.exact { "exact" } else { "approximate" };
            writeln!(out, "{:10} {exact:12} {}", engine.name, engine.summary)?;
            writeln!(out, "{:23} {}", "", engine.source)?;
        }
        writeln!(out, "\nNext: reuselens profile --engine NAME -- PROGRAM")?;
        Ok(ExitCode::SUCCESS)
    }
}
