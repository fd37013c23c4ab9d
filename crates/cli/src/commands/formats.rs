//! `reuselens formats`: lists the trace formats.

use std::io::Write;
use std::process::ExitCode;

use reuselens::formats::FORMATS;

use crate::exit::Outcome;
use crate::say::stdout;

/// List the trace formats that can be read and written
#[derive(clap::Args, Debug)]
pub struct Args {}

impl Args {
    /// Prints the list.
    pub fn run(self) -> Outcome {
        let mut out = stdout();
        let does = |flag: bool, verb: &'static str| if flag { verb } else { "" };
        for format in FORMATS {
            writeln!(
                out,
                "{:10} {:5} {:6} {}",
                format.name,
                does(format.reads, "read"),
                does(format.writes, "write"),
                format.summary
            )?;
        }
        writeln!(
            out,
            "\nNext: reuselens analyze TRACE [--format NAME], or reuselens convert IN OUT --to NAME"
        )?;
        Ok(ExitCode::SUCCESS)
    }
}
