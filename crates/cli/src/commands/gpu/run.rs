//! `reuselens gpu run`: runs a CUDA kernel without a GPU.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use reuselens::io::AtomicFile;
use reuselens::units::{Bytes, counted, grouped};
use reuselens_gpu_advisor::{ClassCounts, GpuModel, InstructionMix, LaunchConfiguration};
use reuselens_instrument::BypassWarps;
use reuselens_ptx::plan::{Done, Plan, PlanError, PlannedLaunch, Preprocessor, Session};
use reuselens_ptx::{CollectorSink, Count, LaunchSink, Options, launch_record};
use reuselens_report::{configuration_text, mix_text};
use reuselens_warp::file::WarpWriter;

use super::bypassed_run::{BestWarps, BypassChoice, advisor, rewritten};
use crate::arithmetic::{ArithmeticFile, WithArithmetic};
use crate::cuda::{OnFaultName, warn_of_skipped};
use crate::exit::{Outcome, Usage};
use crate::files::{refuse_source, unreadable};
use crate::metered::MeteredSink;
use crate::say::{self, say};

/// Run a CUDA kernel without a GPU
#[derive(clap::Args, Debug)]
pub struct Args {
    /// PTX, CUDA C++ (.cu), or a description of several launches (.toml)
    kernel: PathBuf,
    /// The kernel's name in the source or in the PTX, or a part of it that no other has
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// Blocks
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = sizes)]
    grid: Option<[u32; 3]>,
    /// Threads of a block
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = sizes)]
    block: Option<[u32; 3]>,
    /// Shared memory that the kernel does not declare itself
    #[arg(long, value_name = "SIZE")]
    shared: Option<Bytes>,
    /// An argument, once for each: a number, [NAME=]zeros:TYPE:COUNT, ramp:…, random:…, npy:FILE,
    /// raw:FILE, &NAME
    #[arg(long = "arg", value_name = "ARG", allow_hyphen_values = true)]
    arg: Vec<String>,
    /// Look for included files of CUDA C++ in FOLDER too; several allowed
    #[arg(short = 'I', long, value_name = "FOLDER")]
    include: Vec<PathBuf>,
    /// Define a macro of CUDA C++; several allowed
    #[arg(short = 'D', long, value_name = "NAME[=VALUE]")]
    define: Vec<String>,
    /// Where the files of a description's buffers lie, if not beside it
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// Write a buffer to a file afterwards (.npy, or else its bytes); several allowed
    #[arg(long, value_name = "NAME=FILE")]
    out: Vec<String>,
    /// Write the stream of memory instructions to this file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Threads to work on; one for each processor without it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
    /// Run blocks and warps in a random order, the same for the same number
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Stop a launch after this number of instructions of its warps
    #[arg(long, value_name = "N", default_value_t = 1 << 40)]
    max_instructions: u64,
    /// When a kernel accesses memory out of bounds, or not aligned
    #[arg(long, value_enum, default_value = "stop", value_name = "WHAT")]
    on_fault: OnFaultName,
    /// Write each arithmetic operation of each warp with its operands, as text; takes many times as
    /// long
    #[arg(long, value_name = "FILE")]
    arithmetic: Option<PathBuf>,
    /// Count instructions by class, and operations on floats; takes somewhat longer
    #[arg(long)]
    mix: bool,
    /// Let the loads of all but the first N warps of each block pass the L1 by; best: as many as
    /// the model of caches finds best for --gpu-model, which takes another run
    #[arg(long, value_name = "N|best")]
    bypass: Option<BypassChoice>,
    /// Look for races between the threads of a block
    #[arg(long)]
    check_races: bool,
    /// The most memory of the device
    #[arg(long, value_name = "SIZE", default_value = "8G")]
    memory_limit: Bytes,
    /// The GPU whose occupancy is shown, and whose caches --bypass best is for: blackwell, hopper,
    /// ada, ampere, pascal, kepler, or sizes
    #[arg(long, default_value = "hopper", value_name = "GPU")]
    gpu_model: GpuModel,
    /// Overwrite outputs
    #[arg(short, long)]
    force: bool,
    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

fn sizes(text: &str) -> Result<[u32; 3], String> {
    let mut sizes = [1; 3];
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > 3 {
        return Err("there are three directions at most".to_owned());
    }
    for (size, part) in sizes.iter_mut().zip(parts) {
        *size = part
            .trim()
            .parse()
            .map_err(|_| format!("'{part}' is no number"))?;
    }
    Ok(sizes)
}

impl Args {
    /// How kernels run.
    fn options(&self) -> Options {
        let defaults = Options::default();
        Options {
            threads: self.threads.map_or(defaults.threads, usize::from),
            seed: self.seed,
            max_instructions: self.max_instructions,
            on_fault: self.on_fault.into(),
            check_races: self.check_races,
            flow: self.mix,
            arithmetic: self.arithmetic.is_some(),
            ..defaults
        }
    }

    /// Runs the kernels.
    pub fn run(self) -> Outcome {
        let plan = self.plan()?;
        let outs = self.outs()?;
        let options = self.options();
        let mut session = self.prepare(&plan, &options)?;
        for (name, _) in &outs {
            session.bytes(name)?;
        }
        // What cannot be written is known before the work.
        let files = outs
            .iter()
            .map(|(_, path)| AtomicFile::create(path, self.force))
            .collect::<Result<Vec<AtomicFile>, _>>()?;
        let operations = ArithmeticFile::create(self.arithmetic.as_deref(), self.force)?;
        match &self.output {
            Some(path) => self.write_stream(path, &plan, &mut session, &options, operations)?,
            None => {
                let inner = Count::default();
                let watched = WithArithmetic { inner, operations };
                let mut watched = MeteredSink::new(watched, self.quiet);
                self.steps(
                    &plan,
                    &mut session,
                    &options,
                    &mut watched,
                    |watched, kernel, launch| Ok(watched.launch(kernel, launch)?),
                )?;
                let count = watched.inner.inner;
                watched.inner.operations.finish(self.quiet)?;
                if !self.quiet {
                    say!(
                        "{} of warps, {}, {}",
                        counted(
                            count.instructions,
                            "memory instruction",
                            "memory instructions"
                        ),
                        counted(count.accesses, "access", "accesses"),
                        counted(count.bytes, "byte", "bytes")
                    )?;
                }
            }
        }
        for ((name, path), mut file) in outs.iter().zip(files) {
            let bytes = session.file(name, path)?;
            file.write_all(&bytes)
                .with_context(|| path.display().to_string())?;
            file.commit()?;
        }
        if !self.quiet {
            say!("Next: {}", self.next(&outs))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The device with the plan's buffers and kernels, whose loads go by warps with `--bypass`.
    fn prepare(&self, plan: &Plan, options: &Options) -> anyhow::Result<Session> {
        let warps = match self.bypass {
            None => return self.prepare_with(plan, options, &|text| text),
            Some(BypassChoice::Warps(warps)) => BypassWarps::All(warps),
            Some(BypassChoice::Best) => self.best_warps(plan)?,
        };
        self.prepare_with(plan, options, &|text| rewritten(text, &warps))
    }

    fn prepare_with(
        &self,
        plan: &Plan,
        options: &Options,
        rewrite: &dyn Fn(String) -> String,
    ) -> anyhow::Result<Session> {
        plan.prepare_rewritten(self.memory_limit.get(), options, rewrite)
            .map_err(|error| self.where_buffers_are(error))
    }

    /// Runs the kernels as they are, and shows what the model of caches finds best for each.
    fn best_warps(&self, plan: &Plan) -> anyhow::Result<BypassWarps> {
        let options = Options {
            flow: false,
            arithmetic: false,
            check_races: false,
            ..self.options()
        };
        let mut session = self.prepare_with(plan, &options, &|text| text)?;
        let inner = CollectorSink::new(advisor(self.gpu_model));
        let mut sink = MeteredSink::new(inner, self.quiet);
        for index in 0..plan.steps.len() {
            let done = session.step(
                plan,
                index,
                &options,
                &mut sink,
                &mut |sink, kernel, launch| {
                    sink.show(&reuselens_ptx::readable(kernel.name()), launch);
                    Ok(sink.inner.launch(kernel, launch)?)
                },
            );
            sink.hide();
            // What kernels print and leave out is shown by the run that counts.
            session.take_printed();
            session.take_skipped();
            done?;
        }
        let best = BestWarps::of(sink.inner.finish()?.finish());
        if !self.quiet {
            for kernel in &best {
                say!("{kernel}")?;
            }
        }
        Ok(BestWarps::numbers(&best))
    }

    /// Fails at a file that is no kernel, before options that it would need are missed.
    fn check_kernel(&self) -> anyhow::Result<()> {
        const KERNELS: &str = "PTX, CUDA C++ (.cu) or a description (.toml)";
        let path = &self.kernel;
        let about = std::fs::metadata(path)
            .map_err(|error| unreadable(path, &error, &format!("name {KERNELS}")))?;
        if about.is_dir() {
            let next = format!("name {KERNELS} in it");
            return Err(unreadable(path, &ErrorKind::IsADirectory.into(), &next));
        }
        if about.is_file() && about.len() == 0 {
            anyhow::bail!(
                "{} is empty and no kernel; name {KERNELS}, or write it again",
                path.display()
            );
        }
        refuse_source(path, "no kernel")
    }

    fn plan(&self) -> anyhow::Result<Plan> {
        self.check_kernel()?;
        if self
            .kernel
            .extension()
            .is_some_and(|ending| ending == "toml")
        {
            if self.entry.is_some()
                || self.grid.is_some()
                || self.block.is_some()
                || !self.arg.is_empty()
                || self.shared.is_some()
            {
                let what = "a description says itself what is launched; leave out --entry, --grid, --block, --shared and --arg";
                return Err(Usage(what.to_owned()).into());
            }
            let mut plan = Plan::read(&self.kernel, self.data.as_deref())?;
            plan.preprocessor.include.extend_from_slice(&self.include);
            plan.preprocessor.define.extend_from_slice(&self.define);
            return Ok(plan);
        }
        if self.data.is_some() {
            let what = "--data says where a description's buffers lie; a kernel's arguments name their files themselves";
            return Err(Usage(what.to_owned()).into());
        }
        let (Some(entry), Some(grid), Some(block)) = (&self.entry, self.grid, self.block) else {
            return Err(self.misses_options().into());
        };
        let mut plan = Plan {
            preprocessor: Preprocessor {
                include: self.include.clone(),
                define: self.define.clone(),
            },
            ..Plan::default()
        };
        let mut arguments = Vec::new();
        for (index, text) in self.arg.iter().enumerate() {
            let given = plan.argument(text, index + 1);
            arguments.push(given.map_err(|error| Usage(error.to_string()))?);
        }
        plan.steps.push(PlannedLaunch {
            kernel: self.kernel.clone(),
            entry: entry.clone(),
            grid,
            block,
            shared: self.shared.map_or(0, Bytes::get),
            arguments,
            repeat: 1,
            zero: Vec::new(),
            while_set: None,
        });
        Ok(plan)
    }

    /// What a kernel without a description needs and was not given.
    fn misses_options(&self) -> Usage {
        let needs = [
            ("--entry NAME", self.entry.is_none()),
            ("--grid BLOCKS", self.grid.is_none()),
            ("--block THREADS", self.block.is_none()),
        ];
        let missing: Vec<&str> = needs
            .iter()
            .filter(|need| need.1)
            .map(|need| need.0)
            .collect();
        Usage(format!("a kernel needs {}", missing.join(" and ")))
    }

    /// Files of a description's buffers are made by its user: adds what to type if they are
    /// missing.
    fn where_buffers_are(&self, error: PlanError) -> anyhow::Error {
        let missing = matches!(
            &error,
            PlanError::File { path, error, .. }
                if error.kind() == std::io::ErrorKind::NotFound && path.extension().is_some_and(|ending| ending != "ptx" && ending != "cu")
        );
        let described = self
            .kernel
            .extension()
            .is_some_and(|ending| ending == "toml");
        if !missing || !described {
            return error.into();
        }
        let readme = self.kernel.with_file_name("README.md");
        let made = if readme.exists() {
            format!("; {} says how they are made", readme.display())
        } else {
            String::new()
        };
        anyhow::anyhow!(
            "{error}; say with --data FOLDER where the files of the description's buffers are{made}"
        )
    }

    fn outs(&self) -> Result<Vec<(String, PathBuf)>, Usage> {
        let out = |text: &String| {
            let parts = text
                .split_once('=')
                .filter(|(name, path)| !name.is_empty() && !path.is_empty());
            let (name, path) = parts.ok_or_else(|| {
                Usage(format!(
                    "--out '{text}': write NAME=FILE, e.g. arg1=result.npy"
                ))
            })?;
            Ok((name.to_owned(), PathBuf::from(path)))
        };
        self.out.iter().map(out).collect()
    }

    fn steps<S: LaunchSink + Send>(
        &self,
        plan: &Plan,
        session: &mut Session,
        options: &Options,
        sink: &mut MeteredSink<S>,
        mut before: impl FnMut(
            &mut S,
            &reuselens_ptx::Kernel,
            &reuselens_ptx::LaunchConfig,
        ) -> Result<(), PlanError>,
    ) -> anyhow::Result<()> {
        for index in 0..plan.steps.len() {
            let mut configuration = None;
            let done = session.step(plan, index, options, sink, &mut |sink, kernel, launch| {
                let record = launch_record(kernel, launch);
                configuration = Some(LaunchConfiguration::of(&record));
                sink.show(&reuselens_ptx::readable(kernel.name()), launch);
                before(&mut sink.inner, kernel, launch)
            });
            sink.hide();
            say::bytes(&session.take_printed())?;
            warn_of_skipped(&session.take_skipped());
            let done = done?;
            if !self.quiet {
                say!("{}", repeats(&done))?;
                if let Some(configuration) = configuration {
                    let text = configuration_text(&configuration, &self.gpu_model);
                    say!("  {text}")?;
                }
                if self.mix {
                    say!("  {}", mix_text(&mix(&done)))?;
                }
            }
        }
        Ok(())
    }

    fn write_stream(
        &self,
        path: &Path,
        plan: &Plan,
        session: &mut Session,
        options: &Options,
        operations: ArithmeticFile,
    ) -> anyhow::Result<()> {
        let file = AtomicFile::create(path, self.force)?;
        let description = format!("{} on the interpreter", self.kernel.display());
        let inner = CollectorSink::new(WarpWriter::new(file, path, &description)?);
        let stream = WithArithmetic { inner, operations };
        let mut stream = MeteredSink::new(stream, self.quiet);
        self.steps(
            plan,
            session,
            options,
            &mut stream,
            |stream, kernel, launch| {
                stream.launch(kernel, launch)?;
                Ok(stream.inner.launch(kernel, launch)?)
            },
        )?;
        stream.inner.operations.finish(self.quiet)?;
        let writer = stream.inner.inner.finish()?;
        let records = writer.records();
        writer.finish()?.commit()?;
        if !self.quiet {
            let records = counted(records, "memory instruction", "memory instructions");
            say!("{}: {records} of warps", path.display())?;
        }
        Ok(())
    }

    fn next(&self, outs: &[(String, PathBuf)]) -> String {
        match (&self.output, outs) {
            (Some(path), _) => format!("reuselens gpu analyze {}", path.display()),
            (None, []) => "add --out NAME=FILE.npy for results, -o FILE.rlwarp for the stream of memory instructions".to_owned(),
            (None, [(_, path), ..]) => format!("look at {}; -o FILE.rlwarp writes the stream of memory instructions", path.display()),
        }
    }
}

/// The instructions that kernels have executed, by class.
fn mix(done: &Done) -> InstructionMix {
    let mut mix = InstructionMix::default();
    for row in &done.instructions {
        let counts = ClassCounts {
            warps: row.warps,
            threads: row.threads,
            float_operations: row.float_operations,
        };
        mix.add(row.class, &counts);
    }
    mix
}

fn repeats(done: &Done) -> String {
    let stats = done.stats;
    let lanes = stats.thread_instructions as f64 / stats.warp_instructions.max(1) as f64;
    let times = if done.times == 1 {
        String::new()
    } else {
        format!(", {} times", done.times)
    };
    let open = done.not_zero.as_ref().map_or(String::new(), |name| {
        format!("; '{name}' is not all zeros yet: raise its repeat")
    });
    format!(
        "{}{times}: {}, {} instructions of warps, {} of threads (on average {lanes:.1} of the 32 lanes of a warp at work){open}",
        done.kernel,
        counted(stats.blocks, "block", "blocks"),
        grouped(stats.warp_instructions),
        grouped(stats.thread_instructions)
    )
}
