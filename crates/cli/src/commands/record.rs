//! `reuselens record`: runs a program and writes the trace of its accesses.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use reuselens::capture::{Launch, carries_basic_blocks};
use reuselens::io::{AtomicFile, FileError, path_of};
use reuselens::trace::ProcessEnd;
use reuselens::units::{Bytes, counted};
use reuselens::{Recorded, RecordingError, RecordingOptions};

use super::profile::{not_instrumented, program_name};
use crate::control::{Control, refuse_gaps};
use crate::cuda::{CudaArgs, CudaProgram, is_cuda, refuse_unused};
use crate::exit::{Outcome, Usage, without_force};
use crate::interrupt;
use crate::options::{CaptureWay, Data};
use crate::output::first_free;
use crate::program_status::StatusOptions;
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

    #[command(flatten)]
    status: StatusOptions,

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

    /// Write each arithmetic operation of each warp of a CUDA program with its operands to this
    /// file, as text; takes many times as long
    #[arg(long, value_name = "FILE", help_heading = "CUDA programs")]
    arithmetic: Option<PathBuf>,

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
        let is_cuda = is_cuda(&self.command, self.cuda.when(), self.quiet)?;
        refuse_unused(&self.typed, &self.command, is_cuda)?;
        if is_cuda {
            self.run_cuda()
        } else {
            self.run_host()
        }
    }

    /// Runs a program that uses CUDA, and records its kernels.
    fn run_cuda(self) -> Outcome {
        let program = CudaProgram {
            command: &self.command,
            quiet: self.quiet,
            status: self.status,
            top: KERNELS,
        };
        let operations = self.arithmetic.as_deref();
        program.record(self.output, self.force, &self.cuda, operations)
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
        let control = self.control.options(self.max_size.is_some())?;
        refuse_gaps(&control, self.basic_blocks)?;
        let (file, path) = self
            .begin(&name)
            .map_err(|error| without_force(error.into(), &self.command))?;
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
            max_size: self.max_size,
            data: self.data.into(),
        };
        let recorded = match reuselens::record_program(&launch, file, &options) {
            Ok(recorded) => recorded,
            Err(failed) => return self.failed(failed, &name),
        };
        let Some(recorded) = recorded else {
            anyhow::bail!(not_instrumented(&self.command))
        };
        self.finish(&recorded, &path, &name)
    }

    /// Shows what was recorded; the exit code.
    fn finish(&self, recorded: &Recorded, path: &Path, name: &str) -> Outcome {
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
        let codes = recorded.notes.iter().map(|note| note.code.as_str());
        let status = self.status.unless_stopped(self.control.then_stop, codes);
        Ok(status.code(name, ended, !self.quiet))
    }

    /// The trace file and its path. Without a name of its own it gets a number where the name is
    /// taken, also by a recording that runs now.
    fn begin(&self, name: &str) -> Result<(AtomicFile, PathBuf), FileError> {
        let create = |path: PathBuf| {
            let mut file = AtomicFile::create(&path, self.force)?;
            file.name_partial()?;
            Ok((file, path))
        };
        match &self.output {
            Some(path) => create(path.clone()),
            None if self.force => create(path_of(&format!("{name}.rltrace"))),
            None => first_free(name, &["rltrace", "rltrace.partial"], create),
        }
    }

    /// The end of a command whose recording failed.
    fn failed(&self, failed: RecordingError, name: &str) -> Outcome {
        let error = what_is_left(*failed.error, failed.partial);
        match failed.ended {
            Some(ended) => self.status.failed_beside(error, name, ended),
            None => Err(error),
        }
    }
}

/// Adds to an error the partial file that has the trace up to then.
fn what_is_left(error: reuselens::Error, partial: Option<PathBuf>) -> anyhow::Error {
    let Some(partial) = partial else {
        return error.into();
    };
    let partial = partial.display();
    let text = format!(
        "{error}; what was recorded before that is in {partial}: reuselens analyze {partial}"
    );
    anyhow::Error::from(error).context(text)
}
