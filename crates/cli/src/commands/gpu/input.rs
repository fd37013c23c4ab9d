//! Options that the commands of `gpu` share: [`SimtInput`] (what is read), [`Machine`] (which
//! reference stream it becomes) and [`Output`] (where results go).

use std::path::Path;

use anyhow::Context as _;
use clap::ValueEnum;
use reuselens::trace::TraceError;
use reuselens::units::{Bytes, Granularity, counted};
use reuselens_simt::characteristic::{Limits, characteristic};
use reuselens_simt::scenario::{BlockScheduler, WarpScheduler, block_scheduler, warp_scheduler};
use reuselens_simt::{
    Alignment, Characteristic, Grain, ItemClass, KernelRun, Loading, Scenario, SimtError, Spaces,
};
use reuselens_warp::{Launch, Space, WarpSource, open_warps};

use crate::exit::Usage;
use crate::say::{self, tell};

/// What is looked at.
#[derive(clap::Args, Debug)]
pub struct SimtInput {
    /// Which launch of the stream, from 1
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    launch: u32,

    /// Which memory: several allowed
    #[arg(long, value_name = "SPACE", value_delimiter = ',', value_enum, default_values_t = [MemorySpace::Global])]
    space: Vec<MemorySpace>,

    /// Unit of data: `element` (where an access begins), or lines of this number of bytes
    #[arg(long, value_name = "BYTES", value_parser = grain, default_value = "element")]
    granularity: Grain,

    /// What warps issue together: the same instruction of the kernel, or the same position in the
    /// stream
    #[arg(long, value_name = "BY", value_enum, default_value_t = Align::Sites)]
    align: Align,
}

/// Opens a stream.
pub fn open(path: &Path) -> anyhow::Result<Box<dyn WarpSource>> {
    open_warps(path).map_err(|error| match error {
        // Its advice on --format is for traces of programs.
        TraceError::UnknownFormat { path, what } => anyhow::anyhow!("{}: {what}", path.display()),
        error => error.into(),
    })
}

/// How blocks share the machine.
#[derive(clap::Args, Debug)]
pub struct Machine {
    /// 1 blocks one after the other, 2 each block by itself (as `map` does), 3 all at once (as the
    /// others do), 4 some at once, 5 on clusters, 6 on all clusters together
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=6))]
    scenario: Option<u8>,

    /// Blocks that run at the same time (scenario 4), 2 without it
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    blocks: Option<u32>,

    /// Core clusters (scenarios 5 and 6), 16 without it
    #[arg(long, value_name = "C", value_parser = clap::value_parser!(u32).range(1..))]
    clusters: Option<u32>,

    /// Load/store units of a cluster (scenarios 5 and 6), 32 without it
    #[arg(long, value_name = "L", value_parser = clap::value_parser!(u32).range(1..))]
    units: Option<u32>,

    /// Which block runs next (scenarios 4 to 6): sequential, sharing
    #[arg(long, value_name = "NAME")]
    block_scheduler: Option<String>,

    /// Which warp is served next (scenarios 5 and 6): round-robin, sharing
    #[arg(long, value_name = "NAME")]
    warp_scheduler: Option<String>,

    /// Threads of the analysis; results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// Memory for the analysis. Beyond it, the stream is kept in a temporary file, and read in as
    /// many passes as that takes
    #[arg(long, value_name = "SIZE", default_value = "1G")]
    memory_limit: Bytes,
}

/// A memory space.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum MemorySpace {
    Global,
    Shared,
    Local,
    Const,
    Param,
    All,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Align {
    Sites,
    Positions,
}

fn grain(text: &str) -> Result<Grain, String> {
    if text == "element" {
        return Ok(Grain::Element);
    }
    let bytes: Bytes = text
        .parse()
        .map_err(|error| format!("{error}, or `element`"))?;
    let lines = Granularity::new(bytes.get()).map_err(|error| error.to_string())?;
    Ok(Grain::Lines(lines))
}

impl SimtInput {
    /// Reads a launch of the stream in a file, or one block of it, and of its items one class, for
    /// an analysis that may take `memory` bytes.
    pub fn read(
        &self,
        path: &Path,
        memory: u64,
        block: Option<u32>,
        class: ItemClass,
    ) -> anyhow::Result<KernelRun> {
        let spaces: Vec<Space> = self
            .space
            .iter()
            .flat_map(|space| space.spaces())
            .copied()
            .collect();
        let loading = Loading {
            launch: self.launch as usize,
            spaces: Spaces::of(&spaces),
            grain: self.granularity,
            alignment: match self.align {
                Align::Sites => Alignment::Sites,
                Align::Positions => Alignment::Positions,
            },
            block,
            class,
            memory,
        };
        let mut source = open(path)?;
        match KernelRun::read(&mut *source, loading) {
            // Such an error names the file itself.
            Err(SimtError::Trace(error)) => Err(error.into()),
            read => read.with_context(|| path.display().to_string()),
        }
    }

    /// The kernel's name as its source has it, and which launch it is where there are several.
    pub fn called(&self, launch: &Launch, is_last: bool) -> String {
        let name = reuselens_ptx::readable(&launch.kernel);
        match (self.launch, is_last) {
            (1, true) => name,
            (1, false) => format!("{name} (launch 1)"),
            (launch, _) => format!("{name} (launch {launch})"),
        }
    }

    /// That a stream has launches after the first, which is shown if nobody asks for another.
    pub fn left_out(&self, is_last: bool) -> Option<String> {
        let is_asked = self.launch > 1 || is_last;
        (!is_asked).then(|| {
            "The first launch of several is shown: --launch N takes another, and reuselens gpu \
             report all of them"
                .to_owned()
        })
    }

    /// What an item is, in words.
    pub fn items(&self) -> String {
        match self.granularity {
            Grain::Element => "elements".to_owned(),
            Grain::Lines(lines) => format!("lines of {} B", lines.bytes()),
        }
    }
}

impl MemorySpace {
    fn spaces(self) -> &'static [Space] {
        match self {
            MemorySpace::Global => &[Space::Global],
            MemorySpace::Shared => &[Space::Shared],
            MemorySpace::Local => &[Space::Local],
            MemorySpace::Const => &[Space::Constant],
            MemorySpace::Param => &[Space::Parameter],
            MemorySpace::All => &Space::ALL,
        }
    }
}

/// A reference stream's name and characteristic.
pub type Named = (String, Characteristic);

/// Characteristics added up.
pub fn added_up(named: &[Named]) -> Characteristic {
    let mut sum = Characteristic::default();
    named.iter().for_each(|(_, one)| sum.add(one));
    sum
}

impl Machine {
    /// Each block by itself, if nothing else was asked for.
    pub fn or_each(mut self) -> Machine {
        self.scenario = self.scenario.or(Some(2));
        self
    }

    /// Warns of options that the scenario ignores. They are no error, since users who try one
    /// scenario after the other may leave them.
    pub fn warn(&self) {
        let scenario = self.scenario().number();
        let options = [
            ("--blocks", self.blocks.is_some(), &[4][..]),
            ("--clusters", self.clusters.is_some(), &[5, 6]),
            ("--units", self.units.is_some(), &[5, 6]),
            (
                "--block-scheduler",
                self.block_scheduler.is_some(),
                &[4, 5, 6],
            ),
            ("--warp-scheduler", self.warp_scheduler.is_some(), &[5, 6]),
        ];
        for (option, given, scenarios) in options {
            if given && !scenarios.contains(&scenario) {
                let of: Vec<String> = scenarios.iter().map(u8::to_string).collect();
                tell!(
                    "reuselens: warning: {option} has no effect in scenario {scenario}; it is for --scenario {}",
                    of.join(", ")
                );
            }
        }
    }

    fn block_scheduler(&self) -> &str {
        self.block_scheduler.as_deref().unwrap_or("sequential")
    }

    fn warp_scheduler(&self) -> &str {
        self.warp_scheduler.as_deref().unwrap_or("round-robin")
    }

    /// The scenario that was asked for.
    pub fn scenario(&self) -> Scenario {
        let clusters = self.clusters.unwrap_or(16) as usize;
        let units = self.units.unwrap_or(32) as usize;
        match self.scenario {
            Some(1) => Scenario::Serialised,
            Some(2) => Scenario::Each,
            None | Some(3) => Scenario::Merged,
            Some(4) => Scenario::Concurrent {
                blocks: self.blocks.unwrap_or(2) as usize,
            },
            Some(5) => Scenario::Clusters { clusters, units },
            Some(_) => Scenario::Collective { clusters, units },
        }
    }

    /// The scenario in words.
    pub fn words(&self) -> String {
        match self.scenario() {
            Scenario::Serialised => "blocks one after the other".to_owned(),
            Scenario::Each => "each block by itself".to_owned(),
            Scenario::Merged => "all blocks at once".to_owned(),
            Scenario::Concurrent { blocks } => {
                format!("{blocks} blocks at once, {} order", self.block_scheduler())
            }
            Scenario::Clusters { clusters, units } => {
                format!(
                    "{} of {units} load/store units, each by itself",
                    counted(clusters as u64, "cluster", "clusters")
                )
            }
            Scenario::Collective { clusters, units } => {
                format!(
                    "{} of {units} load/store units, together",
                    counted(clusters as u64, "cluster", "clusters")
                )
            }
        }
    }

    /// The scenario with its number, as a line.
    pub fn line(&self) -> String {
        format!("Scenario {}: {}", self.scenario().number(), self.words())
    }

    /// Bytes that the analysis may take.
    pub fn memory(&self) -> u64 {
        self.memory_limit.get()
    }

    /// Refuses schedulers that look at all items at once.
    pub fn fits_classes(&self) -> Result<(), Usage> {
        if [self.block_scheduler(), self.warp_scheduler()].contains(&"sharing") {
            let what = "the distinct items take more than --memory-limit allows, and the scheduler \
                        'sharing' looks at all of them at once: raise it, or count lines \
                        (--granularity 128)";
            return Err(Usage(what.to_owned()));
        }
        Ok(())
    }

    /// The characteristics of the scenario's reference streams.
    pub fn characteristics(&self, run: &KernelRun) -> anyhow::Result<Vec<Named>> {
        let scenario = self.scenario();
        let (blocks, warps) = self.schedulers(run)?;
        let memory = self.memory();
        let mut limits = Limits {
            memory: memory.saturating_sub(run.bytes()).max(memory / 4),
            ..Limits::default()
        };
        limits.threads = self.threads.map_or(limits.threads, usize::from);
        let streams = scenario.streams(run, &*blocks, &*warps);
        let named = streams.iter().enumerate().map(|(at, stream)| {
            let name = match scenario {
                Scenario::Each => format!("block {}", run.blocks()[at].number),
                Scenario::Clusters { .. } => format!("cluster {at}"),
                _ => self.words(),
            };
            Ok((name, characteristic(stream, limits)?))
        });
        named.collect()
    }

    /// All streams' characteristics added up.
    pub fn sum(&self, run: &KernelRun) -> anyhow::Result<Characteristic> {
        Ok(added_up(&self.characteristics(run)?))
    }

    fn schedulers<'a>(
        &self,
        run: &'a KernelRun,
    ) -> anyhow::Result<(Box<dyn BlockScheduler + 'a>, Box<dyn WarpScheduler>)> {
        let unknown = |what: &str, name: &str, known: &[(&str, &str)]| {
            let names: Vec<&str> = known.iter().map(|known| known.0).collect();
            Usage(format!(
                "there is no {what} scheduler '{name}'; there are {}",
                names.join(", ")
            ))
        };
        let blocks = block_scheduler(self.block_scheduler(), run).ok_or_else(|| {
            unknown(
                "block",
                self.block_scheduler(),
                &reuselens_simt::scenario::BLOCK_SCHEDULERS,
            )
        })?;
        let warps = warp_scheduler(self.warp_scheduler()).ok_or_else(|| {
            unknown(
                "warp",
                self.warp_scheduler(),
                &reuselens_simt::scenario::WARP_SCHEDULERS,
            )
        })?;
        Ok((blocks, warps))
    }
}

/// Where results go.
#[derive(clap::Args, Debug)]
pub struct Output {
    /// Write a page with the pictures to this file
    #[arg(long, value_name = "FILE")]
    pub html: Option<std::path::PathBuf>,

    /// Write distances and degrees to this file; `-` for standard output
    #[arg(long, value_name = "FILE")]
    pub csv: Option<std::path::PathBuf>,

    /// Overwrite files that are there
    #[arg(short, long)]
    pub force: bool,

    /// Print nothing but warnings and errors
    #[arg(short, long)]
    pub quiet: bool,
}

impl Output {
    /// Prints a line, unless standard output is taken by numbers.
    pub fn say(&self, text: &str) -> anyhow::Result<()> {
        if !self.quiet && self.csv.as_deref() != Some(Path::new("-")) {
            say::line(text)?;
        }
        Ok(())
    }

    /// Says on standard error what [`say`](Self::say) cannot say, as numbers have standard output.
    pub fn remark(&self, text: &str) {
        if self.csv.as_deref() == Some(Path::new("-")) {
            tell!("reuselens: note: {text}");
        }
    }

    /// Writes numbers.
    pub fn csv(&self, text: &str) -> anyhow::Result<()> {
        match self.csv.as_deref() {
            None => Ok(()),
            Some(path) if path == Path::new("-") => Ok(say::bytes(text.as_bytes())?),
            Some(path) => crate::output::write_whole(path, text.as_bytes(), self.force),
        }
    }

    /// Writes the page.
    pub fn html(&self, page: impl FnOnce() -> String) -> anyhow::Result<()> {
        let Some(path) = &self.html else {
            return Ok(());
        };
        crate::output::write_whole(path, page().as_bytes(), self.force)?;
        self.say(&format!("\n{}", say::page(path)))
    }
}
