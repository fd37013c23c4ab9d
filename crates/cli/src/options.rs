//! Options that several commands have, above all [`Analysis`], and the parsers of their values.

use std::num::NonZeroUsize;

use clap::{Args, ValueEnum};
use reuselens::attribute::{DataFilter, Kinds, NamesMode};
use reuselens::capture::Capture;
use reuselens::profile::{self, CacheSize, CacheSpec, Dimension, PlacementData};
use reuselens::units::{Bytes, Granularity};
use reuselens::{AnalysisOptions, DeviceChoice, EngineChunks, MOST_PATHS};

use crate::exit::Usage;

/// Bytes of a page.
const SMALLEST_CHUNK: u64 = 4096;

/// Options of everything that analyses.
#[derive(Args, Clone, Debug)]
pub struct Analysis {
    /// Bytes of a data item, a power of two; `auto` is this machine's cache line
    #[arg(
        long,
        value_name = "BYTES",
        default_value = "auto",
        value_parser = granularity,
        allow_negative_numbers = true,
        help_heading = "Analysis"
    )]
    pub granularity: Option<Granularity>,

    /// Which accesses count
    #[arg(long, value_enum, default_value = "all", help_heading = "Analysis")]
    pub kind: AccessKinds,

    /// Which data count
    #[arg(long, value_enum, default_value = "all", help_heading = "Analysis")]
    pub data: Data,

    /// The engine (see `reuselens engines`)
    #[arg(
        long,
        value_name = "NAME",
        default_value = "auto",
        value_parser = engine,
        help_heading = "Analysis"
    )]
    pub engine: String,

    /// Worker threads of engines that can use several [default: one per processor]
    #[arg(long, value_name = "N", value_parser = threads, allow_negative_numbers = true, help_heading = "Analysis")]
    pub threads: Option<NonZeroUsize>,

    /// The device of the kernels of a CUDA program [default: interpreter], and of --engine gpu and
    /// hp-rda-gpu [default: auto, a GPU if there is one]: a GPU, or the processor as an interpreter
    /// of its kernels, which is slow
    #[arg(long, value_enum, value_name = "DEVICE", help_heading = "Analysis")]
    pub device: Option<KernelDevice>,

    /// Skip the adjustment of distances above the number of items (--engine hp-rda and hp-rda-gpu)
    #[arg(long, help_heading = "Analysis")]
    pub disable_adjusting: bool,

    /// Accesses of a chunk (--engine hp-rda, hp-rda-gpu and gpu) [default: 2048; gpu: what memory
    /// allows]
    #[arg(long, value_name = "N", value_parser = number, help_heading = "Analysis")]
    pub chunk: Option<u64>,

    /// Chunks of a block, each of which a thread of the GPU analyses (--engine hp-rda and
    /// hp-rda-gpu) [default: 64]
    #[arg(long, value_name = "N", value_parser = number, help_heading = "Analysis")]
    pub block_threads: Option<u64>,

    /// Blocks that are analysed together (--engine hp-rda and hp-rda-gpu) [default: 16; on a GPU
    /// 512]
    #[arg(long, value_name = "N", value_parser = number, help_heading = "Analysis")]
    pub blocks: Option<u64>,

    /// Report how long each step of the engine took (--engine hp-rda, hp-rda-gpu and gpu)
    #[arg(long, help_heading = "Analysis")]
    pub engine_times: bool,

    /// Count each access, or each element once per statement: statements of RecordStatement, or
    /// source lines
    #[arg(
        long,
        value_enum,
        default_value = "instruction",
        help_heading = "Analysis"
    )]
    pub names: StatementNames,

    /// Do not break accesses down by calling context
    #[arg(long, help_heading = "Analysis")]
    pub no_contexts: bool,

    /// Count accesses per element of arrays whose element size is known
    #[arg(long, help_heading = "Analysis")]
    pub elements: bool,

    /// Record what placing data in memory needs: chunks of large objects, lifetimes, footprints of
    /// calling contexts; CHUNK is the size of a chunk [default: 64 KiB, or 1/64 of the object]
    #[arg(
        long,
        value_name = "CHUNK",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "auto",
        value_parser = placement,
        help_heading = "Analysis"
    )]
    pub placement: Option<PlacementData>,

    /// Measure distances over all threads together, as in a shared cache, or within each thread, as
    /// in a private cache, with or without invalidation by stores of other threads
    #[arg(long, value_enum, default_value = "shared", help_heading = "Analysis")]
    pub sharing: SharingMode,

    /// Measure distances below this number of items only; memory then grows with that number alone
    #[arg(long, value_name = "ITEMS", value_parser = number, help_heading = "Analysis")]
    pub max_distance: Option<u64>,

    /// Count reuse times too, and from them the average footprint
    #[arg(long, conflicts_with = "max_distance", help_heading = "Analysis")]
    pub times: bool,

    /// Count forward distances too: how far ahead of each access is the next to its item
    #[arg(long, conflicts_with = "max_distance", help_heading = "Analysis")]
    pub forward: bool,

    /// Track at most N pairs of an instruction and a path with --by path; beyond that the rarest
    /// are merged with pairs that share their most recent branches [default: half a million]
    #[arg(long, value_name = "N", value_parser = number, help_heading = "Analysis")]
    pub most_paths: Option<u64>,

    /// Record why accesses miss in this cache (a size, or a name as L2): bytes used of each line,
    /// sharing between threads, conflicts, what carries reuses, phases [default: this machine's L2]
    #[arg(
        long,
        value_name = "CACHE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "auto",
        value_parser = why,
        conflicts_with_all = ["max_distance", "times", "forward"],
        help_heading = "Analysis"
    )]
    pub why: Option<Bytes>,

    /// Memory limit; at the limit the engine auto switches to sampling, and others stop [default:
    /// three quarters of what is free]
    #[arg(long, value_name = "SIZE", value_parser = memory, help_heading = "Analysis")]
    pub memory_limit: Option<Bytes>,

    /// Sample this share of the items (0.01, 1%), with a bound on the error; engines sampled and
    /// auto
    #[arg(long, value_name = "RATE", value_parser = rate, help_heading = "Analysis")]
    pub sample: Option<f64>,

    /// Random seed for sampling; engines sampled and auto [default: 1]
    #[arg(long, value_name = "N", help_heading = "Analysis")]
    pub seed: Option<u64>,
}

impl Analysis {
    /// The options for the library, if the results are wanted by these dimensions.
    pub fn options(&self, by: &[Dimension]) -> anyhow::Result<AnalysisOptions> {
        self.refuse_what_is_not_used(by)?;
        let options = self.asked(by);
        reuselens::check(&options)?;
        Ok(options)
    }

    fn asked(&self, by: &[Dimension]) -> AnalysisOptions {
        AnalysisOptions {
            engine: self.engine.clone(),
            granularity: self.granularity,
            kinds: match self.kind {
                AccessKinds::All => Kinds::All,
                AccessKinds::Loads => Kinds::Loads,
                AccessKinds::Stores => Kinds::Stores,
            },
            data: self.data.into(),
            names: match self.names {
                StatementNames::Instruction => NamesMode::Instruction,
                StatementNames::Statement => NamesMode::Statement,
            },
            contexts: !self.no_contexts,
            paths: by.contains(&Dimension::Path),
            most_paths: self.most_paths.unwrap_or(MOST_PATHS),
            causes: self.why,
            totals_only: self.placement.is_none()
                && !by.is_empty()
                && by.iter().all(|by| *by == Dimension::Program),
            elements: self.elements,
            placement: self.placement,
            weigh_bytes: false,
            sharing: match self.sharing {
                SharingMode::Shared => profile::Sharing::Shared,
                SharingMode::Private => profile::Sharing::Private,
                SharingMode::Coherent => profile::Sharing::Coherent,
            },
            max_distance: self.max_distance,
            reuse_times: self.times,
            forward: self.forward,
            threads: self.threads,
            adjusting: !self.disable_adjusting,
            chunks: EngineChunks {
                accesses: self.chunk,
                per_block: self.block_threads,
                blocks: self.blocks,
            },
            engine_times: self.engine_times,
            device: self.device.map_or_else(DeviceChoice::default, Into::into),
            memory_limit: self.memory_limit,
            sample: self.sample,
            bursts: false,
            seed: self.seed.unwrap_or(1),
        }
    }

    /// Whether the engine runs kernels on a device.
    pub fn has_kernels(&self) -> bool {
        ["gpu", "hp-rda-gpu"].contains(&self.engine.as_str())
    }

    /// Refuses options that the engine would ignore, since their user expects an effect.
    fn refuse_what_is_not_used(&self, by: &[Dimension]) -> Result<(), Usage> {
        if self.most_paths.is_some() && !by.contains(&Dimension::Path) {
            let text =
                "--most-paths is for paths, which nothing asks for; leave it out, or add --by path";
            return Err(Usage(text.to_owned()));
        }
        if let Some(most) = self.most_paths.filter(|most| *most > 1 << 28) {
            return Err(Usage(format!(
                "--most-paths {most} is more than fits any table; write 268M at most, or leave it out for half a million"
            )));
        }
        let engine = self.engine.as_str();
        if self.seed.is_some() && !["auto", "sampled"].contains(&engine) {
            return Err(Usage(format!(
                "--seed is for samples, and the engine '{engine}' takes none; leave it out, or take --engine sampled"
            )));
        }
        if self.device.is_some() && !self.has_kernels() {
            return Err(Usage(format!(
                "--device is for the engines gpu and hp-rda-gpu, and for programs that use CUDA (--cuda says that one does); --engine is {engine}; leave it out, or take --engine gpu"
            )));
        }
        if self.disable_adjusting && !["hp-rda", "hp-rda-gpu"].contains(&engine) {
            return Err(Usage(format!(
                "--disable-adjusting is a step of the engine hp-rda, which '{engine}' does not have; leave it out, or take --engine hp-rda"
            )));
        }
        Ok(())
    }
}

/// What kernels run on.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum KernelDevice {
    /// A GPU if there is one; else the interpreter for a CUDA program, and an error for an engine
    Auto,
    /// A GPU, by NVIDIA's driver
    Cuda,
    /// The processor, as an interpreter of the kernels
    Interpreter,
}

impl From<KernelDevice> for DeviceChoice {
    fn from(device: KernelDevice) -> Self {
        match device {
            KernelDevice::Auto => DeviceChoice::Auto,
            KernelDevice::Cuda => DeviceChoice::Cuda,
            KernelDevice::Interpreter => DeviceChoice::Interpreter,
        }
    }
}

/// How accesses are seen.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum CaptureWay {
    /// Compiled in if the program carries it, else rewriting
    Auto,
    /// By what `reuselens cc` builds in
    CompiledIn,
    /// By rewriting the code while it runs: any program, libraries and stack included
    Rewriting,
}

impl From<CaptureWay> for Capture {
    fn from(way: CaptureWay) -> Self {
        match way {
            CaptureWay::Auto => Capture::Automatic,
            CaptureWay::CompiledIn => Capture::CompiledIn,
            CaptureWay::Rewriting => Capture::Rewriting,
        }
    }
}

/// Which accesses count.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum AccessKinds {
    /// Loads and stores
    All,
    /// What reads
    Loads,
    /// What writes
    Stores,
}

/// Which data count.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Data {
    /// All data
    All,
    /// Blocks from allocation calls
    Heap,
    /// Stacks of threads
    Stack,
    /// Variables with a symbol
    Static,
}

impl From<Data> for DataFilter {
    fn from(data: Data) -> Self {
        match data {
            Data::All => DataFilter::All,
            Data::Heap => DataFilter::Heap,
            Data::Stack => DataFilter::Stack,
            Data::Static => DataFilter::Static,
        }
    }
}

/// What counts as an access where a statement names an element twice.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum StatementNames {
    /// Each mention counts
    Instruction,
    /// A statement counts an element once
    Statement,
}

/// What distances look back over.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum SharingMode {
    /// All threads, interleaved: a cache that they share
    Shared,
    /// One thread at a time: a cache for each
    Private,
    /// One thread at a time, but a store invalidates the other threads' copies
    Coherent,
}

/// `auto`, or a power of two.
pub fn granularity(text: &str) -> Result<Granularity, String> {
    if text == "auto" {
        let line = reuselens::this_machine().line();
        return Ok(line.unwrap_or(Granularity::LINE_64));
    }
    let bytes: Bytes = text.parse().map_err(|error| format!("{error}"))?;
    Granularity::new(bytes.get()).map_err(|error| error.to_string())
}

/// The name of a known format; for `csv:…`, with columns that are understood.
pub fn format(text: &str) -> Result<String, String> {
    let known = reuselens::formats::check_name(text);
    let text = known.map(|()| text.to_owned());
    text.map_err(|what| format!("{what}; `reuselens formats` lists what can be read"))
}

/// A number of accesses or items: digits, with `k`, `M` or `G` (`K`, `m`, `g`) for a thousand, a
/// million, a billion, and then with a fraction: `1.5M`. Commas may group digits by three.
pub fn number(text: &str) -> Result<u64, String> {
    let units = [
        (['k', 'K'], 1_000),
        (['m', 'M'], 1_000_000),
        (['g', 'G'], 1_000_000_000),
    ];
    let unit = units
        .iter()
        .find_map(|(unit, size)| Some((text.strip_suffix(unit)?, *size)));
    let (digits, size) = unit.unwrap_or((text, 1_u64));
    if !is_grouped(digits) {
        return Err(format!(
            "'{text}' is no whole number above 0: this takes one number, whose digits commas group by three (4,000,000); write for instance 4M or 4000000"
        ));
    }
    let digits = digits.replace(['_', ','], "");
    let number = times(&digits, size).filter(|number| *number > 0);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    number.ok_or_else(|| {
        if is_number && digits.bytes().any(|byte| byte != b'0') {
            format!("'{text}' is more than 64 bits hold; write for instance 4M or 4000000")
        } else {
            format!("'{text}' is no whole number above 0; write for instance 4M or 4000000")
        }
    })
}

/// Whether commas are only where they group digits by three, so that a list is no number.
fn is_grouped(digits: &str) -> bool {
    let whole = digits.split_once('.').map_or(digits, |(whole, _)| whole);
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or_default().len();
    let is_list = whole.contains(',') && !(1..=3).contains(&first);
    !is_list && groups.all(|group| group.len() == 3)
}

/// `digits` times `size`, if that is an integer.
fn times(digits: &str, size: u64) -> Option<u64> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let tenths = 10_u64.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let digits: u64 = format!("{whole}{fraction}").parse().ok()?;
    let number = u128::from(digits) * u128::from(size);
    let number = number
        .is_multiple_of(tenths.into())
        .then(|| number / u128::from(tenths))?;
    u64::try_from(number).ok()
}

/// An amount of memory above 0.
fn memory(text: &str) -> Result<Bytes, String> {
    let bytes: Bytes = text.parse().map_err(|error| format!("{error}"))?;
    if bytes == Bytes(0) {
        return Err("an analysis takes some memory; write for instance 64M".to_owned());
    }
    Ok(bytes)
}

/// `auto`, or the bytes of a chunk: a page at least, which is what a placement moves.
fn placement(text: &str) -> Result<PlacementData, String> {
    if text == "auto" {
        return Ok(PlacementData::default());
    }
    let bytes: Bytes = text.parse().map_err(|error| format!("{error}"))?;
    if bytes.get() >= SMALLEST_CHUNK {
        Ok(PlacementData {
            chunk_bytes: Some(bytes.get()),
        })
    } else {
        Err(format!(
            "a chunk has at least a page of {SMALLEST_CHUNK} bytes; write for instance --placement=1M"
        ))
    }
}

/// `auto`, or a cache by its size or its name: its size.
fn why(text: &str) -> Result<Bytes, String> {
    let machine = reuselens::this_machine();
    if text == "auto" {
        return Ok(machine.default_cause_cache());
    }
    let cache: CacheSpec = text.parse().map_err(|error| format!("{error}"))?;
    match cache.on(&machine) {
        Some(CacheSize { bytes, ways: 0 }) => Ok(bytes),
        Some(_) => Err(
            "the cache is fully associative, caches with sets are counted beside it; write its size alone, for instance --why=1M"
                .to_owned(),
        ),
        None => Err(format!(
            "this machine has no cache named '{text}'; write a size, for instance --why=1M"
        )),
    }
}

/// A number of threads.
pub fn threads(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| {
        "an analysis takes 1 thread or more; leave it out for one per processor".to_owned()
    })
}

/// A share above 0 and up to 1, as a number or in percent.
fn rate(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.strip_suffix('%') {
        Some(number) => (number.trim_end(), 0.01),
        None => (text, 1.0),
    };
    let rate = number.parse::<f64>().map(|number| number * unit);
    rate.ok()
        .filter(|rate| *rate > 0.0 && *rate <= 1.0)
        .ok_or_else(|| {
            "a rate is above 0 and at most 1; use for instance --sample 0.01, or --sample 1%"
                .to_owned()
        })
}

/// The name of a known engine.
fn engine(text: &str) -> Result<String, String> {
    let found = reuselens::engines::find(text);
    found
        .map(|_| text.to_owned())
        .map_err(|error| error.to_string())
}

/// A dimension by its name.
pub fn dimension(text: &str) -> Result<Dimension, String> {
    text.parse().map_err(|error| format!("{error}"))
}

/// The arguments that name files for tables and pictures of one profile.
pub const PROFILE_EXPORTS: [&str; 7] = [
    "csv",
    "csv_curve",
    "csv_histogram",
    "export",
    "parquet",
    "png",
    "svg",
];

/// Keeps out of the help what a comparison does not export: see
/// [`refuse_tables`](crate::output::Show::refuse_tables).
pub fn without_tables(arg: clap::Arg) -> clap::Arg {
    match arg.get_id().as_str() {
        "bins" => arg.hide(true),
        id if PROFILE_EXPORTS.contains(&id) => arg.hide(true),
        "json" => arg.help("Write JSON (schema reuselens-diff/1); `-` is standard output"),
        _ => arg,
    }
}

/// Keeps exports out of the help of commands that refuse them: see
/// [`refuse_exports`](crate::output::Show::refuse_exports).
pub fn without_exports(arg: clap::Arg) -> clap::Arg {
    let id = arg.get_id().as_str();
    let is_export = matches!(id, "json" | "bins") || PROFILE_EXPORTS.contains(&id);
    arg.hide(is_export)
}
