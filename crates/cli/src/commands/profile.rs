//! `reuselens profile`: runs a program and analyses it meanwhile.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use reuselens::AnalysisOptions;
use reuselens::capture::{Launch, Running};
use reuselens::io::text_of;
use reuselens::profile::{Outcome, Profile, Warning, signal_name};
use reuselens::trace::ProcessEnd;
use reuselens_cuda::python_name;
use reuselens_cuda_driver::DriverDevice;
use reuselens_report::ShownProfile;

use crate::control::{Control, refuse_gaps};
use crate::cuda::{CudaAnalysis, CudaProgram, is_cuda, refuse_unused};
use crate::exit;
use crate::interrupt;
use crate::options::{Analysis, CaptureWay, KernelDevice};
use crate::output::{Results, Show};
use crate::program_status::StatusOptions;
use crate::progress::Meter;
use crate::say::tell;
use crate::sources::ProfileOrigin;
use crate::typed::TypedOptions;

/// Run a program and analyse while it runs: summary, NAME.rlprof, NAME.html
#[derive(clap::Args, Debug)]
#[command(override_usage = "reuselens profile [OPTIONS] -- PROGRAM [ARGUMENTS]")]
pub struct Args {
    #[command(flatten)]
    typed: TypedOptions,

    /// The program and its arguments, after `--`
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    command: Vec<OsString>,

    /// Call the outputs FILE.rlprof and FILE.html
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,

    #[command(flatten)]
    status: StatusOptions,

    /// Leave the randomisation of addresses on (runs then differ a little)
    #[arg(long)]
    randomise: bool,

    /// How the program's accesses are seen
    #[arg(long, value_enum, default_value = "auto", value_name = "WAY")]
    capture: CaptureWay,

    /// A quick look: record the beginning and then a burst now and again, a twenty-fifth of a long
    /// run, and estimate the rest from them, with a bound on the error
    #[arg(
        long,
        help_heading = "What is recorded",
        conflicts_with_all = ["regions", "region", "function", "after", "burst"]
    )]
    quick: bool,

    #[command(flatten)]
    control: Control,
    #[command(flatten)]
    cuda: CudaAnalysis,
    #[command(flatten)]
    analysis: Analysis,
    #[command(flatten)]
    show: Show,
}

impl Args {
    /// Runs and analyses.
    pub fn run(self) -> exit::Outcome {
        let is_cuda = is_cuda(&self.command, self.cuda.when(), self.show.quiet)?;
        refuse_unused(&self.typed, &self.command, is_cuda)?;
        if is_cuda {
            self.run_cuda()
        } else {
            self.run_host()
        }
    }

    /// A program that does not use CUDA.
    fn run_host(self) -> exit::Outcome {
        let way = self.host_capture()?;
        let name = program_name(&self.command);
        let results = Results::begin(self.output.as_deref(), &name, self.show.force)
            .map_err(|error| exit::without_force(error, &self.command))?;
        let (profile, ended) = way.run(Vec::new())?;
        let codes = profile.warnings.iter().map(|warning| warning.code.as_str());
        let status = self.status.unless_stopped(self.control.then_stop, codes);
        let shown = ShownProfile::new(&profile);
        let rendered = self.show.render(&shown, &name, ProfileOrigin::RanHere)?;
        let again = "change something, profile again";
        match results.finish(&shown, &rendered, &self.show, again) {
            Ok(()) => Ok(status.code(&name, ended, false)),
            Err(error) => status.failed_beside(error, &name, ended),
        }
    }

    /// A program that uses CUDA: what its kernels do is analysed.
    fn run_cuda(mut self) -> exit::Outcome {
        let gpu = self.gpu()?;
        // It is said of the program's kernels, and of an engine only if that has kernels too.
        if !self.analysis.has_kernels() {
            self.analysis.device = None;
        }
        let program = CudaProgram {
            command: &self.command,
            quiet: self.show.quiet,
            status: self.status,
            top: self.show.top,
        };
        let output = self.output.as_deref();
        if let Some(gpu) = gpu {
            return program.profile_on(gpu, &self.show, output, &self.cuda);
        }
        if self.cuda.host {
            let way = self.host_capture()?;
            program.profile_with_host(&self.show, output, &self.cuda, way)
        } else {
            program.profile(&self.show, output, &self.cuda)
        }
    }

    /// The GPU that runs the kernels of a CUDA program; none if the interpreter does.
    ///
    /// # Errors
    /// If a GPU is asked for and there is none, or with what a GPU cannot do.
    fn gpu(&self) -> anyhow::Result<Option<DriverDevice>> {
        /// What only the interpreter does.
        const INTERPRETED: [&str; 3] = ["host", "max_instructions", "on_fault"];
        let device = self.analysis.device.unwrap_or(KernelDevice::Interpreter);
        let is_gpu = !matches!(device, KernelDevice::Interpreter);
        if let Some(option) = self.typed.first_of(&INTERPRETED).filter(|_| is_gpu) {
            return Err(exit::Usage(format!(
                "{option} is for kernels on the interpreter, and --device asks for a GPU; leave one \
                 of them out"
            ))
            .into());
        }
        match device {
            KernelDevice::Interpreter => Ok(None),
            KernelDevice::Auto => match DriverDevice::open(0) {
                Ok(gpu) => Ok(Some(gpu)),
                Err(why) => {
                    if !self.show.quiet {
                        tell!("reuselens: the interpreter runs the kernels: {why}");
                    }
                    Ok(None)
                }
            },
            KernelDevice::Cuda => match DriverDevice::open(0) {
                Ok(gpu) => Ok(Some(gpu)),
                Err(why) => anyhow::bail!(
                    "{why}; without --device the interpreter runs the kernels, on the processor"
                ),
            },
        }
    }

    /// How accesses of the host's code are seen and analysed.
    fn host_capture(&self) -> anyhow::Result<HostCapture> {
        let mut options = self.analysis.options(&self.show.by)?;
        let mut control = self.control.options(false)?;
        if self.quick {
            options.bursts = true;
            reuselens::check(&options)?;
            control.strata = Some(options.seed);
        }
        refuse_gaps(&control, options.paths)?;
        self.show.check()?;
        self.show.check_cache(true, &options)?;
        let mut launch = Launch {
            command: self.command.clone(),
            environment: Vec::new(),
            randomise: self.randomise,
            output_to_error: self.show.standard_output_is_taken(),
            capture: self.capture.into(),
            control,
            basic_blocks: options.paths,
            stop: interrupt::graceful(),
        };
        // Without basic blocks, all causes are counted except what carries reuses.
        launch.basic_blocks |= options.needs_scopes() && launch.can_see_basic_blocks();
        Ok(HostCapture {
            launch,
            options,
            quiet: self.show.quiet,
        })
    }
}

/// A program that is to run, with the analysis of the accesses of its host code.
pub struct HostCapture {
    launch: Launch,
    options: AnalysisOptions,
    quiet: bool,
}

impl HostCapture {
    /// Whether a limit on the recording ends the program too.
    pub fn stops_program(&self) -> bool {
        self.launch.control.then_stop
    }

    /// Runs the program to its end with these variables in its environment, and analyses it.
    pub fn run(
        self,
        environment: Vec<(&'static str, OsString)>,
    ) -> anyhow::Result<(Profile, ProcessEnd)> {
        let launch = Launch {
            environment,
            ..self.launch
        };
        let mut running = Running::start(&launch)?;
        let mut meter = Meter::new("analysing", self.quiet);
        let words = launch.command.iter();
        let words = words.map(text_of);
        let (words, options) = (words.collect(), &self.options);
        let analyzed = reuselens::analyze(&mut running, words, options, &mut |progress| {
            meter.tick(progress)
        });
        meter.finish();
        let mut profile = match analyzed {
            Ok(profile) => profile,
            Err(error) => {
                // The program has a terminal, and files that others wait for.
                running.wait();
                return Err(error.into());
            }
        };
        running.check_seen()?;
        if !running.saw_run_time() {
            anyhow::bail!(not_instrumented(&launch.command));
        }
        let ended = running.wait();
        profile.warnings.extend(went_on(&profile, ended));
        Ok((profile, ended))
    }
}

/// How a program ended whose analysis had stopped before, if that was not well.
fn went_on(profile: &Profile, ended: ProcessEnd) -> Option<Warning> {
    let Outcome::Incomplete(why) = &profile.outcome else {
        return None;
    };
    let end = match ended {
        ProcessEnd::Exit(0) => return None,
        ProcessEnd::Exit(status) => format!("exited with status {status}"),
        ProcessEnd::Signal(signal) => format!("was ended by {}", signal_name(signal)),
        ProcessEnd::Unknown => "ended".to_owned(),
    };
    Some(Warning {
        code: "went-on".to_owned(),
        message: format!("{why}; the program went on unseen after that, and {end}"),
        hint: String::new(),
    })
}

/// The message about a program without our run time in it.
pub fn not_instrumented(command: &[OsString]) -> String {
    let program = command
        .first()
        .map(|word| word.to_string_lossy().into_owned())
        .unwrap_or_default();
    format!(
        "{program} was not built with reuselens, so none of its accesses were seen; build it with \
         `reuselens cc` (or c++, fortran) in place of the compiler, for instance: \
         make clean && make CC=\"reuselens cc\""
    )
}

/// The file name of the program, or of the script or module that a Python runs, as [`text_of`] has
/// it, to call its outputs by.
pub fn program_name(command: &[OsString]) -> String {
    let Some((program, arguments)) = command.split_first() else {
        return "program".to_owned();
    };
    let program = Path::new(program);
    let script = python_name(program, arguments);
    let name = script.as_deref().or(program.file_name());
    name.map_or_else(|| "program".to_owned(), text_of)
}
