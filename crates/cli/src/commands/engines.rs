//! `reuselens engines`: lists the engines, or measures them on this machine.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use reuselens::bench::{self, Contender, Race, Report};
use reuselens::distance::Simd;
use reuselens::distance::generate::YARDSTICK;
use reuselens::engines::ENGINES;
use reuselens::formats;
use reuselens::units::{Accesses, Granularity, shown_json, shown_lines};
use reuselens::{DeviceChoice, EngineChunks, Error, Progress};

use crate::exit::{self, Outcome, Usage};
use crate::options::{KernelDevice, granularity};
use crate::output::{check_outputs, write_whole};
use crate::progress::Meter;
use crate::say::{stdout, tell};
use crate::watched::DamageWatch;
use crate::{charts, options};

/// List the engines, or measure them on this machine
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Measure the exact engines, or those that are named, on the four streams of the yardstick, as
    /// ratios
    #[arg(long)]
    bench: bool,

    #[command(flatten)]
    bench_options: BenchOptions,
}

/// What is measured, and where the numbers go.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "With --bench")]
struct BenchOptions {
    /// References of each stream: 4M, 32M, …
    #[arg(long, value_name = "N", value_parser = options::number, default_value = "4M", requires = "bench")]
    references: u64,

    /// Runs of each engine, whose median counts
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000), requires = "bench")]
    repetitions: u32,

    /// A look of some seconds: 500,000 references, one run each
    #[arg(long, requires = "bench", conflicts_with_all = ["references", "repetitions"])]
    quick: bool,

    /// Measure only these engines (`bound` is the look-up alone); several allowed
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = contender, requires = "bench")]
    engine: Vec<Contender>,

    /// Accesses of a chunk of hp-rda, hp-rda-gpu and gpu; several are measured one beside the other
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = options::number, requires = "bench")]
    chunk: Vec<u64>,

    /// Chunks of a block of hp-rda and hp-rda-gpu
    #[arg(long, value_name = "N", value_parser = options::number, requires = "bench")]
    block_threads: Option<u64>,

    /// Blocks that hp-rda and hp-rda-gpu analyse together
    #[arg(long, value_name = "N", value_parser = options::number, requires = "bench")]
    blocks: Option<u64>,

    /// Threads of hp-rda, or of the interpreter of kernels; several numbers are measured one beside
    /// the other [default: 1]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = options::threads, requires = "bench")]
    threads: Vec<NonZeroUsize>,

    /// The device of gpu and hp-rda-gpu
    #[arg(long, value_enum, value_name = "DEVICE", requires = "bench")]
    device: Option<KernelDevice>,

    /// Measure on these streams of the yardstick only; `none` for none
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = stream, requires = "bench")]
    stream: Vec<&'static str>,

    /// Use no more than these vector instructions: portable, avx2, avx512 [default: the best there
    /// are]
    #[arg(long, value_name = "SET", value_parser = simd, requires = "bench")]
    simd: Option<Simd>,

    /// Measure on this trace too; several allowed
    #[arg(long, value_name = "FILE", requires = "bench")]
    trace: Vec<PathBuf>,

    /// Bytes of a data item in the traces
    #[arg(long, value_name = "BYTES", value_parser = granularity, default_value = "auto", requires = "trace")]
    granularity: Option<Granularity>,

    /// Measure over 1000, 10,000, … up to this number of distinct items too, and over lengths
    #[arg(long, value_name = "ITEMS", value_parser = options::number, requires = "bench")]
    scaling: Option<u64>,

    /// Only one long run, over items that are not kept: time and memory
    #[arg(long, value_name = "N", value_parser = options::number, requires = "bench", conflicts_with_all = ["scaling", "trace", "granularity", "stream", "quick", "repetitions", "references", "svg"])]
    long: Option<u64>,

    /// Write the numbers as JSON; `-` is standard output, and then nothing else is printed there
    #[arg(long, value_name = "FILE", requires = "bench")]
    json: Option<PathBuf>,

    /// Write a picture of the ratios and the series
    #[arg(long, value_name = "FILE", requires = "bench")]
    svg: Option<PathBuf>,

    /// Overwrite files
    #[arg(short, long, requires = "bench")]
    force: bool,

    /// Print no progress
    #[arg(short, long, requires = "bench")]
    quiet: bool,
}

impl Args {
    /// Prints the list, or measures.
    pub fn run(self) -> Outcome {
        if self.bench {
            return self.bench_options.run();
        }
        let mut out = stdout();
        let auto = "the default: counting, and sampled where memory is short, which is said then";
        writeln!(out, "{:10} {:12} {auto}", "auto", "exact or not")?;
        for engine in ENGINES {
            let exact = if engine.exact { "exact" } else { "approximate" };
            writeln!(out, "{:10} {exact:12} {}", engine.name, engine.summary)?;
            writeln!(out, "{:23} {}", "", engine.source)?;
        }
        writeln!(out, "\nNext: reuselens profile --engine NAME -- PROGRAM")?;
        Ok(ExitCode::SUCCESS)
    }
}

impl BenchOptions {
    fn run(self) -> Outcome {
        self.check()?;
        let mut meter = Meter::new("measuring", self.quiet);
        let mut done = 0;
        let report = self.measure(&mut |more| {
            done += more;
            meter.tick(Progress {
                accesses: Accesses(done),
                source_bytes: None,
            });
        });
        meter.finish();
        let (report, incomplete) = report?;
        self.show(&report)?;
        Ok(exit::done(incomplete))
    }

    /// Fails before the measuring if something would fail after it.
    fn check(&self) -> anyhow::Result<()> {
        if let Some(text) = self.contradiction() {
            return Err(Usage(text.to_owned()).into());
        }
        check_outputs(self.json.iter().chain(&self.svg), self.force)?;
        for path in &self.trace {
            formats::open(path, None)?;
        }
        Ok(())
    }

    /// A contradiction among the options, with advice.
    fn contradiction(&self) -> Option<&'static str> {
        let is_dash = |path: &PathBuf| path == Path::new("-");
        let no_single_engine = self.engine.len() > 1 || self.engine.contains(&Contender::Bound);
        let is_cut = !self.chunk.is_empty()
            || self.block_threads.is_some()
            || self.blocks.is_some()
            || !self.threads.is_empty()
            || self.device.is_some();
        let is_chunked = |contender: &Contender| matches!(contender, Contender::Chunked(_));
        let no_streams = !self.stream.is_empty() && self.stream.iter().all(|name| *name == "none");
        if self.trace.iter().any(is_dash) {
            Some("--trace needs the name of a file, which is read more than once")
        } else if is_cut && !self.engine.iter().any(is_chunked) {
            Some(
                "--chunk, --block-threads, --blocks, --threads and --device are for engines in chunks; add for instance --engine hp-rda,counting",
            )
        } else if self.long.is_some() && self.engine.iter().any(is_chunked) {
            Some(
                "--long measures an engine that counts as it goes; take --engine counting, or leave out --long",
            )
        } else if self.long.is_some() && no_single_engine {
            Some("--long is one run, of one engine; name one with --engine")
        } else if no_streams && self.trace.is_empty() && self.scaling.is_none() {
            Some("--stream none leaves nothing to measure; add --trace FILE or --scaling ITEMS")
        } else if self.svg.as_ref().is_some_and(is_dash) {
            Some("--svg needs the name of a file; standard output is for the table, or --json -")
        } else {
            None
        }
    }

    /// The measurements, and whether a trace was cut off or damaged.
    fn measure(&self, tick: &mut dyn FnMut(u64)) -> anyhow::Result<(Report, bool)> {
        let (references, repetitions) = if self.quick {
            (500_000, 1)
        } else {
            (self.references, self.repetitions)
        };
        let mut race = Race::new(repetitions);
        race.simd = self.simd.unwrap_or(race.simd);
        let mut report = Report::new(&race);
        let contenders = self.contenders()?;
        if let Some(references) = self.long {
            let engine = self
                .engine
                .first()
                .map_or("auto".to_owned(), Contender::name);
            report.repetitions = 1;
            report.long = Some(bench::long(&engine, references, race.simd, tick)?);
            return Ok((report, false));
        }
        let streams = if self.stream.is_empty() {
            YARDSTICK.to_vec()
        } else {
            each_once(&self.stream)
        };
        for name in streams {
            if let Some(items) = bench::yardstick_items(name, references)? {
                report
                    .streams
                    .push(race.run(name, &items, &contenders, tick)?);
            }
        }
        let mut incomplete = false;
        for path in &self.trace {
            let (items, damage) = self.trace_items(path, references)?;
            if let Some(damage) = damage {
                tell!("reuselens: warning: {damage}; what comes before is measured");
                incomplete = true;
            }
            let name = path.file_stem().unwrap_or(path.as_os_str());
            let heat = race.run(&name.to_string_lossy(), &items, &contenders, tick)?;
            report.streams.push(heat);
        }
        if let Some(items) = self.scaling {
            report.series = bench::scaling(&race, &contenders, references, items, tick)?;
        }
        Ok((report, incomplete))
    }

    /// Who takes part, in the chunks that are asked for.
    fn contenders(&self) -> anyhow::Result<Vec<Contender>> {
        if self.engine.is_empty() {
            return Ok(Contender::exact());
        }
        let accesses: Vec<Option<u64>> = if self.chunk.is_empty() {
            vec![None]
        } else {
            each_once(&self.chunk).into_iter().map(Some).collect()
        };
        let chunks: Vec<EngineChunks> = accesses
            .into_iter()
            .map(|accesses| EngineChunks {
                accesses,
                per_block: self.block_threads,
                blocks: self.blocks,
            })
            .collect();
        let threads = if self.threads.is_empty() {
            vec![NonZeroUsize::MIN]
        } else {
            each_once(&self.threads)
        };
        let device = self.device.map_or(DeviceChoice::Auto, Into::into);
        let mut contenders = Vec::new();
        for contender in each_once(&self.engine) {
            contenders.extend(contender.in_chunks(&chunks, &threads, device));
        }
        for contender in &contenders {
            contender.check()?;
        }
        Ok(contenders)
    }

    /// The items of a trace, and what is wrong with it if anything is.
    fn trace_items(
        &self,
        path: &Path,
        references: u64,
    ) -> anyhow::Result<(Vec<u64>, Option<String>)> {
        let mut source = DamageWatch::new(formats::open(path, None)?);
        bench::room(references, references)?;
        let granularity = self.granularity.unwrap_or(Granularity::LINE_64);
        let items: Result<Vec<u64>, Error> =
            bench::items(&mut source, granularity, references as usize);
        let items = items?;
        if items.is_empty() {
            anyhow::bail!(
                "{} has no accesses, so there is nothing to measure",
                path.display()
            );
        }
        Ok((items, source.damage().map(str::to_owned)))
    }

    fn show(&self, report: &Report) -> anyhow::Result<()> {
        let json_is_out = self.json.as_deref() == Some(Path::new("-"));
        if let Some(path) = self.json.as_deref().filter(|_| !json_is_out) {
            write_whole(path, shown_json(&report.json()).as_bytes(), self.force)?;
        }
        if let Some(path) = &self.svg {
            let picture = reuselens_document::chart(&charts::panels(report));
            write_whole(path, picture.as_bytes(), self.force)?;
        }
        let mut out = stdout();
        if json_is_out {
            out.write_all(shown_json(&report.json()).as_bytes())?;
            out.flush()?;
            return Ok(());
        }
        out.write_all(shown_lines(&report.markdown()).as_bytes())?;
        writeln!(
            out,
            "\nNext: reuselens engines --bench --references 32M --scaling 1M --svg engines.svg"
        )?;
        Ok(())
    }
}

/// Each name once, in the order of the first mention.
fn each_once<T: Clone + PartialEq>(named: &[T]) -> Vec<T> {
    let is_new = |(at, one): &(usize, &T)| !named[..*at].contains(one);
    let once = named.iter().enumerate().filter(is_new);
    once.map(|(_, one)| one.clone()).collect()
}

/// A known engine, or the bound.
fn contender(text: &str) -> Result<Contender, String> {
    Contender::named(text).map_err(|error| error.to_string())
}

/// A known stream, or `none`.
fn stream(text: &str) -> Result<&'static str, String> {
    let names = YARDSTICK.iter().copied().chain(["none"]);
    let mut found = names.clone().filter(|name| *name == text);
    found.next().ok_or_else(|| {
        let names: Vec<&str> = names.collect();
        format!(
            "there is no stream '{text}'; take one of {}",
            names.join(", ")
        )
    })
}

/// A set of instructions that this processor has.
fn simd(text: &str) -> Result<Simd, String> {
    let names = Simd::ALL.map(Simd::name).join(", ");
    let found = Simd::ALL.into_iter().find(|simd| simd.name() == text);
    let simd = found.ok_or_else(|| format!("there is no '{text}'; take one of {names}"))?;
    if simd.is_here() {
        Ok(simd)
    } else {
        Err(format!(
            "this processor has no {text}; take {} or less",
            Simd::best().name()
        ))
    }
}
