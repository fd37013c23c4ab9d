//! `reuselens record`: runs a program and writes the trace of its accesses.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use reuselens::RecordingOptions;
use reuselens::capture::{Launch, carries_basic_blocks};
use reuselens::io::FileError;
use reuselens::trace::{ProcessEnd, TraceError};
use reuselens::units::{Bytes, counted};

use super::profile::{not_instrumented, program_name, status};
use crate::control::{Control, refuse_gaps};
use crate::cuda::{CudaArgs, CudaProgram, is_cuda, refuse_unused};
use crate::exit::{Outcome, Usage, without_force};
use crate::interrupt;
use crate::options::{CaptureWay, Data};
use crate::output::numbered;
use crate::say::say;
use crate::typed::TypedOptions;
use crate::warnings;

/// Kernels of a CUDA program that are named.
const KERNELS: usize = 10;

/// Run a program and keep the trace of its accesses (NAME.rltrace)
#[derive(clap::Args, Debug)]
#[command(override_usage = "reuselens record [OPTIONS] -- PROGRAM [ARGUMENTS]")]
pub struct Args {
    #[command(flatten)]
    typed: TypedOptions,

    /// The program and its arguments, after `--`
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    command: Vec<OsString>,

    /// The trace file [default: NAME.rltrace]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Overwrite the trace file
    #[arg(short, long)]
    force: bool,

    /// Say nothing but errors, and that nothing was recorded
    #[arg(short, long)]
    quiet: bool,

    /// End with the program's exit status
    #[arg(long)]
    pass_status: bool,

    /// Leave the randomisation of addresses on
    #[arg(long)]
    randomise: bool,

    /// How the program's accesses are seen
    #[arg(long, value_enum, default_value = "auto", value_name = "WAY")]
    capture: CaptureWay,

    /// Keep the basic blocks too: the path that the program takes. Seen by rewriting
    #[arg(long)]
    basic_blocks: bool,

    #[command(flatten)]
    control: Control,
    #[command(flatten)]
    cuda: CudaArgs,

    /// Stop recording before the next part of the trace file would make it so large (2GiB)
    #[arg(long, value_name = "SIZE", help_heading = "What is recorded")]
    max_size: Option<Bytes>,

    /// Record only accesses to these data
    #[arg(
        long,
        value_enum,
        default_value = "all",
        help_heading = "What is recorded"
    )]
    data: Data,
}

impl Args {
    /// Runs and records.
    pub fn run(self) -> Outcome {
        let is_cuda = is_cuda(&self.command)?;
        refuse_unused(&self.typed, &self.command, is_cuda)?;
        match is_cuda {
            true => self.run_cuda(),
            false => self.run_host(),
        }
    }

    /// Runs a program that uses CUDA, and records its kernels.
    fn run_cuda(self) -> Outcome {
        let program = CudaProgram {
            command: &self.command,
            quiet: self.quiet,
            pass_status: self.pass_status,
            top: KERNELS,
        };
        program.record(self.output, self.force, &self.cuda)
    }

    /// Runs any other program, and records its accesses.
    fn run_host(self) -> Outcome {
        if self.basic_blocks
            && matches!(self.capture, CaptureWay::CompiledIn)
            && !self
                .command
                .first()
                .is_some_and(|program| carries_basic_blocks(program))
        {
            return Err(Usage(
                "--basic-blocks needs --capture rewriting, or a program built with `reuselens cc --llvm=blocks`: the \
                 compiler's hooks do not see basic blocks"
                    .to_owned(),
            )
            .into());
        }
        let name = program_name(&self.command);
        let path = self.output.unwrap_or_else(|| match self.force {
            true => PathBuf::from(format!("{name}.rltrace")),
            false => numbered(&name, &["rltrace", "rltrace.partial"]),
        });
        let control = self.control.options(self.max_size.is_some())?;
        refuse_gaps(&control, self.basic_blocks)?;
        let launch = Launch {
            command: self.command.clone(),
            randomise: self.randomise,
            capture: self.capture.into(),
            basic_blocks: self.basic_blocks,
            control,
            stop: interrupt::graceful(),
            ..Launch::default()
        };
        let options = RecordingOptions {
            force: self.force,
            max_size: self.max_size,
            data: self.data.into(),
        };
        let recorded = reuselens::record_program(&launch, &path, &options)
            .map_err(|error| without_force(what_is_left(error, &path), &self.command))?;
        let Some(recorded) = recorded else {
            anyhow::bail!(not_instrumented(&self.command))
        };
        if !self.quiet {
            let bytes = std::fs::metadata(&recorded.path).map_or(0, |about| about.len());
            say!(
                "{}: {} in {}, {}",
                path.display(),
                counted(recorded.rows, "row", "rows"),
                counted(recorded.blocks, "block", "blocks"),
                reuselens::units::Bytes(bytes)
            )?;
            for note in &recorded.notes {
                say!("{}", note.message)?;
            }
            say!("Next: reuselens analyze {}", path.display())?;
        } else {
            warnings::of_nothing(&recorded.notes);
        }
        let ended = recorded.ended.unwrap_or(ProcessEnd::Unknown);
        Ok(status(&name, ended, self.pass_status, !self.quiet))
    }
}

/// Adds to an error the partial file that has the trace up to then.
fn what_is_left(error: reuselens::Error, path: &Path) -> anyhow::Error {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    let writing = matches!(
        &error,
        reuselens::Error::Trace(TraceError::File(FileError::Io {
            action: "write",
            ..
        }))
    );
    if !writing || !partial.exists() {
        return error.into();
    }
    let partial = partial.display();
    anyhow::anyhow!(
        "{error}; what was recorded before that is in {partial}: reuselens analyze {partial}"
    )
}
