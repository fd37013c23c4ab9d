//! Programs that use CUDA: `profile` and `record` run them on the interpreter, whether there is a
//! GPU or not.

mod applies;
mod driver;
mod names;
mod own_lines;
mod results;
mod selected;
mod variables;

use std::ffi::OsString;

use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};
use std::time::Duration;

use reuselens::available_memory;
use reuselens::capture::{find_program, process_end};
use reuselens::io::{AtomicFile, path_of};
use reuselens::trace::ProcessEnd;
use reuselens::units::{Bytes, counted, shown};
use reuselens_cuda::{
    AdvisedKernels, CudaServer, CudaUse, Device, Interpreter, KernelCount, KernelCounts,
    KernelWatch, LIBRARY_NAME, PythonUse, Refused, command_use, python_use, run,
};
use reuselens_gpu_advisor::{AdvisorOptions, GpuModel, Ledger};
use reuselens_ptx::{CollectorSink, OnFault, Options, SkippedAccess};
use reuselens_report::{GpuRun, HostAccesses, KernelRow, ShownProfile, kernels_text};
use reuselens_warp::file::WarpWriter;

use crate::arithmetic::{ArithmeticFile, WithArithmetic};
use crate::commands::profile::{HostCapture, program_name};
use crate::exit::Outcome;
use crate::interrupt;
use crate::metered::MeteredSink;
use crate::output::{Show, color, numbered, terminal_width};
use crate::program_status::StatusOptions;
use crate::say::{say, tell};
use crate::sources::ProfileOrigin;
pub use applies::refuse_unused;
use names::kernel_names;
pub use results::{GpuResults, named};
pub use selected::{SelectedLaunches, warn_of_selection};

/// Memory of the device, where the machine has as much.
const DEVICE_BYTES: u64 = 8 << 30;
/// Accesses of a launch for which a better order of threads is looked for: enough for some dozens
/// of blocks.
const MAPPED_ACCESSES: u32 = 1 << 16;
/// Ends a program that does not end when asked to.
const SIGKILL: i32 = 9;
/// How long a program's end can go unnoticed.
const PATIENCE: Duration = Duration::from_millis(5);

/// Options of all that runs programs that use CUDA.
#[derive(clap::Args, Clone, Debug)]
pub struct CudaArgs {
    /// Whether the program is one that uses CUDA, whose kernels run without a GPU
    #[arg(
        long,
        value_enum,
        default_value = "auto",
        default_missing_value = "always",
        num_args = 0..=1,
        require_equals = true,
        value_name = "WHEN",
        help_heading = "CUDA programs"
    )]
    cuda: CudaWhen,

    #[command(flatten)]
    pub selected: SelectedLaunches,

    /// Stop a kernel of a CUDA program after this number of instructions of its warps
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1 << 40,
        help_heading = "CUDA programs"
    )]
    pub max_instructions: u64,

    /// When a kernel of a CUDA program accesses memory out of bounds, or not aligned
    #[arg(
        long,
        value_enum,
        default_value = "stop",
        value_name = "WHAT",
        help_heading = "CUDA programs"
    )]
    pub on_fault: OnFaultName,
}

/// When a program is taken for one that uses CUDA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum CudaWhen {
    /// Detect it from the program's files and imports (the default)
    Auto,
    /// In any case
    Always,
    /// Never: only the accesses of its host code are analysed
    Never,
}

/// What happens when a kernel accesses memory out of bounds, or not aligned.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum OnFaultName {
    /// Stop the kernel, as a GPU does
    Stop,
    /// Leave the access out: a load gives 0, a store changes nothing, an atomic operation does both
    Continue,
}

impl From<OnFaultName> for OnFault {
    fn from(name: OnFaultName) -> OnFault {
        match name {
            OnFaultName::Stop => OnFault::Stop,
            OnFaultName::Continue => OnFault::Continue,
        }
    }
}

/// Options of what is analysed of a program that uses CUDA.
#[derive(clap::Args, Clone, Debug)]
pub struct CudaAnalysis {
    #[command(flatten)]
    run: CudaArgs,

    /// Analyse the accesses of a CUDA program's host code too: NAME.host.rlprof, NAME.host.html
    #[arg(long, help_heading = "CUDA programs")]
    pub host: bool,

    #[command(flatten)]
    model: CacheModel,
}

/// The GPU whose caches are modelled.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct CacheModel {
    /// Do not model the caches of a GPU for a CUDA program: no hit rates, and less time
    #[arg(long, help_heading = "CUDA programs")]
    pub no_cache_model: bool,

    /// Measure how far apart lines are reused in caches of a CUDA program's multiprocessors, of any
    /// size: in one of each, with invalidation by others' stores, and in one of all
    #[arg(
        long,
        conflicts_with = "no_cache_model",
        help_heading = "CUDA programs"
    )]
    pub cache_distances: bool,

    /// The GPU whose caches are modelled for a CUDA program: blackwell, hopper, ada, ampere,
    /// pascal, kepler, or sizes as in l1=128K,l2=40M,sms=108
    #[arg(
        long,
        default_value = "hopper",
        value_name = "GPU",
        conflicts_with = "no_cache_model",
        help_heading = "CUDA programs"
    )]
    pub gpu_model: GpuModel,
}

impl CudaAnalysis {
    /// When the program is taken for one that uses CUDA.
    pub fn when(&self) -> CudaWhen {
        self.run.when()
    }
}

impl CudaArgs {
    /// When the program is taken for one that uses CUDA.
    pub fn when(&self) -> CudaWhen {
        self.cuda
    }

    /// How kernels run, with their control flow counted or not.
    fn options(&self, flow: bool) -> Options {
        Options {
            max_instructions: self.max_instructions,
            on_fault: self.on_fault.into(),
            flow,
            ..Options::default()
        }
    }
}

impl CacheModel {
    /// What is analysed of kernels.
    pub fn advisor(&self) -> AdvisorOptions {
        AdvisorOptions {
            caches: !self.no_cache_model,
            bypass: !self.no_cache_model,
            cache_distances: self.cache_distances,
            model: self.gpu_model,
            mapped_accesses: MAPPED_ACCESSES,
            ..AdvisorOptions::default()
        }
    }
}

/// What all ways of running a CUDA program have in common.
pub struct CudaProgram<'a> {
    /// The program and its arguments.
    pub command: &'a [OsString],
    /// Print no table.
    pub quiet: bool,
    /// Which exit code the command has.
    pub status: StatusOptions,
    /// Kernels in the table.
    pub top: usize,
}

/// What a program that has ended leaves, with its device.
struct ServedRun<D> {
    ended: ExitStatus,
    refused: Refused,
    ledger: Ledger,
    device: D,
}

/// What a program leaves that has ended.
struct ProgramRun<W> {
    ended: ExitStatus,
    refused: Refused,
    ledger: Ledger,
    /// Launches that `watch` has not seen.
    unanalysed: u64,
    watch: W,
}

/// Whether a command is a program that uses CUDA, as far as `when` leaves that open. Of a program
/// in Python, it prints why it is taken for one, unless it is to be `quiet`.
///
/// # Errors
/// If it does, and no library can be put in the place of its own.
pub fn is_cuda(command: &[OsString], when: CudaWhen, quiet: bool) -> anyhow::Result<bool> {
    if when == CudaWhen::Never {
        return Ok(false);
    }
    let path = command.first().and_then(|name| find_program(name));
    let arguments = command.get(1..).unwrap_or_default();
    match path
        .as_deref()
        .and_then(|path| command_use(path, arguments))
    {
        None if when == CudaWhen::Always => Ok(true),
        None => {
            let found = path.and_then(|path| python_use(&path, arguments));
            if let Some(PythonUse { file, line, module }) = found.as_ref().filter(|_| !quiet) {
                let file = shown(file);
                tell!(
                    "reuselens: {file}:{line} imports {module}: kernels run without a GPU and are \
                     analysed; for the accesses of Python itself, add --cuda=never"
                );
            }
            Ok(found.is_some())
        }
        Some(CudaUse::Shared | CudaUse::Static) => Ok(true),
        Some(CudaUse::OtherVersion) => {
            let name = program_name(command);
            anyhow::bail!(
                "{name} is linked with a CUDA runtime of a version other than 12 and 13, whose \
                 structures differ; compile it with nvcc 12 or 13"
            )
        }
        Some(CudaUse::Stripped) => {
            let name = program_name(command);
            anyhow::bail!(
                "{name} has the CUDA runtime linked in and its symbols stripped, so its calls cannot \
                 be found; link it without -s, or with nvcc -cudart shared"
            )
        }
    }
}

impl CudaProgram<'_> {
    /// Runs the program, analyses what its kernels do, and shows it.
    pub fn profile(&self, show: &Show, output: Option<&Path>, arguments: &CudaAnalysis) -> Outcome {
        let results = GpuResults::begin(output, &program_name(self.command), show)?;
        let watch = AdvisedKernels::new(arguments.model.advisor());
        let to_error = show.standard_output_is_taken();
        let ran = self.run(watch, &arguments.run, arguments.run.options(true), to_error)?;
        warn(&ran.refused);
        let run = GpuRun {
            unanalysed_launches: ran.unanalysed,
            ..results::named(self.line(), ran.watch.finish(), ran.ledger)
        };
        let ended = ran.ended;
        self.end(results.finish(run, show), process_end(ended))
    }

    /// As [`CudaProgram::profile`], and analyses the accesses of the host's code too, as
    /// `capture` says.
    pub fn profile_with_host(
        &self,
        show: &Show,
        output: Option<&Path>,
        arguments: &CudaAnalysis,
        capture: HostCapture,
    ) -> Outcome {
        let name = program_name(self.command);
        let results = GpuResults::begin(output, &name, show)?;
        let host_results = results.begin_host(show)?;
        let watch = AdvisedKernels::new(arguments.model.advisor());
        let server = {
            let options = arguments.run.options(true);
            CudaServer::start(self.device(watch, &arguments.run, options))?
        };
        let then_stop = capture.stops_program();
        let (profile, ended) = capture.run(server.environment().to_vec())?;
        let codes = profile.warnings.iter().map(|warning| warning.code.as_str());
        let status = self.status.unless_stopped(then_stop, codes);
        let (refused, ledger, device) = server.finish();
        warn(&refused);
        warn_of_selection(device.selection(), device.unseen_skipped());
        let unanalysed_launches = device.selection().left_out();
        let kernels = device.into_watch().inner.finish();
        let rendered = show.render(&ShownProfile::new(&profile), &name, ProfileOrigin::RanHere)?;
        let host_path = host_results.write(&rendered)?;
        show.warn(&profile);
        let host = HostAccesses::new(
            &profile.grouping(),
            show.cache(&profile)?,
            &ledger,
            LIBRARY_NAME,
            host_path.display().to_string(),
        );
        let run = GpuRun {
            host: Some(host),
            unanalysed_launches,
            ..results::named(self.line(), kernels, ledger)
        };
        let this = CudaProgram { status, ..*self };
        this.end(results.finish(run, show), ended)
    }

    /// The command, as one line.
    fn line(&self) -> String {
        let words = self.command.iter().map(|word| word.to_string_lossy());
        shown(&words.collect::<Vec<_>>().join(" ")).into_owned()
    }

    /// Runs the program, and writes the memory instructions of its kernels to a file.
    pub fn record(
        &self,
        output: Option<PathBuf>,
        force: bool,
        arguments: &CudaArgs,
        arithmetic: Option<&Path>,
    ) -> Outcome {
        let name = program_name(self.command);
        let numbered_name = (output.is_none() && !force).then_some(&name);
        let path = output.unwrap_or_else(|| {
            if force {
                path_of(&format!("{name}.rlwarp"))
            } else {
                numbered(&name, &["rlwarp"])
            }
        });
        let file = AtomicFile::create(&path, force)?;
        let description = format!("{name} on the interpreter");
        let records = CollectorSink::new(WarpWriter::new(file, &path, &description)?);
        let watch = WithArithmetic {
            inner: (records, KernelCounts::default()),
            operations: ArithmeticFile::create(arithmetic, force)?,
        };
        let options = Options {
            arithmetic: arithmetic.is_some(),
            ..arguments.options(false)
        };
        let ran = self.run(watch, arguments, options, false)?;
        warn(&ran.refused);
        let WithArithmetic { inner, operations } = ran.watch;
        let (records, counts) = inner;
        warn_of_skipped(counts.skipped());
        let ended = process_end(ran.ended);
        let (path, records) = match write_records(records, numbered_name) {
            Ok((None, records)) => (path, records),
            Ok((Some(path), records)) => (path, records),
            Err(error) => return self.status.failed_beside(error, &name, ended),
        };
        operations.finish(self.quiet)?;
        if !self.quiet {
            let records = counted(records, "memory instruction", "memory instructions");
            say!("{}: {records} of warps", path.display())?;
            let next = format!("reuselens gpu report {}", path.display());
            self.show(counts.kernels(), &next)?;
        }
        Ok(self.code(ended))
    }

    /// The device that runs the kernels. What is analysed
    /// and how far a long kernel is, `watch` sees.
    fn device<W: KernelWatch>(
        &self,
        watch: W,
        arguments: &CudaArgs,
        options: Options,
    ) -> Interpreter<MeteredSink<W>> {
        let watch = MeteredSink::new(watch, self.quiet);
        let bytes = device_bytes(available_memory());
        Interpreter::new(bytes, options, watch).with_selection(arguments.selected.selection())
    }

    fn run<W: KernelWatch + 'static>(
        &self,
        watch: W,
        arguments: &CudaArgs,
        options: Options,
        output_to_error: bool,
    ) -> anyhow::Result<ProgramRun<W>> {
        let device = self.device(watch, arguments, options);
        let ServedRun {
            ended,
            refused,
            ledger,
            device,
        } = self.serve(device, output_to_error)?;
        warn_of_selection(device.selection(), device.unseen_skipped());
        Ok(ProgramRun {
            ended,
            refused,
            ledger,
            unanalysed: device.selection().left_out(),
            watch: device.into_watch().inner,
        })
    }

    /// Runs the program to its end, with a device that answers it.
    fn serve<D: Device + 'static>(
        &self,
        device: D,
        output_to_error: bool,
    ) -> anyhow::Result<ServedRun<D>> {
        let stop = interrupt::graceful();
        let mut running = run(self.command, device, output_to_error)?;
        let mut is_asked_to_end = false;
        let ended = loop {
            if let Some(ended) = running.try_wait()? {
                break ended;
            }
            match stop.heed() {
                Some(_) if is_asked_to_end && stop.insists() => running.signal(SIGKILL),
                Some(signal) if !is_asked_to_end => {
                    is_asked_to_end = true;
                    running.signal(signal);
                }
                _ => {}
            }
            std::thread::sleep(PATIENCE);
        };
        let (refused, ledger, device) = running.finish();
        Ok(ServedRun {
            ended,
            refused,
            ledger,
            device,
        })
    }

    fn show(&self, kernels: &[KernelCount], next: &str) -> anyhow::Result<()> {
        let names = kernel_names(kernels.iter().map(|kernel| kernel.name.as_str()).collect());
        let row = |kernel: &KernelCount| row(kernel, &names[&kernel.name]);
        let rows: Vec<KernelRow> = kernels.iter().map(row).collect();
        if rows.is_empty() {
            say!("no kernel ran to its end")?;
        }
        let text = kernels_text(&rows, self.top, terminal_width(), color());
        crate::output::write_text(Path::new("-"), &text, false)?;
        Ok(say!("Next: {next}")?)
    }

    /// The end of a command that has written its results, or failed to.
    fn end(&self, written: anyhow::Result<()>, ended: ProcessEnd) -> Outcome {
        match written {
            Ok(()) => Ok(self.code(ended)),
            Err(error) => {
                let name = program_name(self.command);
                self.status.failed_beside(error, &name, ended)
            }
        }
    }

    fn code(&self, ended: ProcessEnd) -> ExitCode {
        let name = program_name(self.command);
        self.status.code(&name, ended, !self.quiet)
    }
}

/// Writes the file of these records to its end. With a name that gets numbers, returns the path, on
/// which another run may have made a file meanwhile. Returns the number of records too.
fn write_records(
    records: CollectorSink<WarpWriter<AtomicFile>>,
    numbered_name: Option<&String>,
) -> anyhow::Result<(Option<PathBuf>, u64)> {
    let writer = records.finish()?;
    let records = writer.records();
    let file = writer.finish()?;
    let Some(name) = numbered_name else {
        file.commit()?;
        return Ok((None, records));
    };
    let path = file.commit_or(|| numbered(name, &["rlwarp"]))?;
    Ok((Some(path), records))
}

/// What the program asked for in vain.
fn warn(refused: &Refused) {
    if !refused.was_asked {
        tell!(
            "reuselens: warning: the program never used a device; if it should have, the library \
             that stands in for CUDA did not get into it: is it linked statically, or does TMPDIR \
             forbid programs? For the accesses of its host code, add --cuda=never"
        );
    }
    for message in &refused.messages {
        tell!("reuselens: warning: {}", shown(message));
    }
    if !refused.missing.is_empty() {
        let names: Vec<String> = refused
            .missing
            .iter()
            .map(|(name, calls)| format!("{} ({calls})", shown(name)))
            .collect();
        tell!(
            "reuselens: warning: these functions of CUDA are not provided, and returned \
             cudaErrorNotSupported: {}",
            names.join(", ")
        );
    }
}

/// The accesses that kernels left out.
pub fn warn_of_skipped(skipped: &[SkippedAccess]) {
    for access in skipped {
        tell!("reuselens: warning: {}", shown(&access.to_string()));
    }
}

/// Memory of the device on a machine that has this much left: what a program allocates beyond that
/// is refused by CUDA's error, in place of an end of both for want of memory.
fn device_bytes(available: Option<Bytes>) -> u64 {
    available.map_or(DEVICE_BYTES, |free| free.get().min(DEVICE_BYTES))
}

fn row(kernel: &KernelCount, name: &str) -> KernelRow {
    KernelRow {
        name: name.to_owned(),
        launches: kernel.launches,
        blocks: kernel.stats.blocks,
        warp_instructions: kernel.stats.warp_instructions,
        thread_instructions: kernel.stats.thread_instructions,
        requests: kernel.memory.requests,
        sectors: kernel.memory.sectors,
        accesses: kernel.memory.accesses,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_has_no_more_memory_than_the_machine_has_left() {
        assert_eq!(device_bytes(None), DEVICE_BYTES);
        assert_eq!(device_bytes(Some(Bytes(u64::MAX))), DEVICE_BYTES);
        assert_eq!(device_bytes(Some(Bytes(1 << 30))), 1 << 30);
    }
}
