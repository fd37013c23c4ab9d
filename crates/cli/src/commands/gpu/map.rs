//! `reuselens gpu map`: regroups a kernel's threads, and shows what that gains.

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::ExitCode;

use reuselens::units::counted;
use reuselens_simt::mapping::{
    Common, Hypergraph, Mapping, MappingDepth, WarpGroups, fits, go_on, map,
};
use reuselens_simt::transactions::DataLayout;
use reuselens_simt::{Characteristic, Grain, ItemClass, KernelRun};
use reuselens_warp::{Extent, Launch};

use super::diff::{self, Counts, gained, transactions};
use super::input::{Machine, Output, SimtInput};
use super::passes::check_block;
use super::pictures;
use super::typed::typed;
use crate::exit::{Outcome, Usage};
use crate::files::read_text;
use crate::output::write_whole;
use crate::progress::Meter;

/// The most bytes of a file of a mapping: 16 bytes for each thread of the largest grid that is
/// mapped.
const MAX_MAPPING_BYTES: u64 = 1 << 30;

/// Regroup a kernel's threads into warps and blocks that share data, and see what that gains
#[derive(clap::Args, Debug)]
pub struct Args {
    /// A stream of warp instructions (`reuselens gpu run` writes one), or an Accel-Sim trace
    stream: PathBuf,

    /// How far to go: threads into warps, also warps into blocks, also blocks in order
    #[arg(long, value_name = "STAGE", value_enum, default_value_t = Upto::Blocks)]
    upto: Upto,

    /// What the threads of a warp should have in common: requests (fewest transactions), or data at
    /// any time (as in the literature)
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Gather::Requests)]
    common: Gather,

    /// Threads of a warp
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=1024))]
    lanes: u16,

    /// All data stays where it is: arrays that threads index by their own number are not permuted
    /// with them
    #[arg(long)]
    keep_layout: bool,

    /// Seed of the partitioner
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Take the mapping from this file instead: 32-bit little-endian numbers, as -o writes them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["upto", "common", "seed"])]
    mapping: Option<PathBuf>,

    /// Write the mapping to this file, as a kernel loads it: whose work each thread does
    #[arg(short, value_name = "FILE")]
    o: Option<PathBuf>,

    /// Write the hypergraph that is partitioned into warps to this file, for other partitioners
    #[arg(long, value_name = "FILE")]
    hgr: Option<PathBuf>,

    /// Take the warps from this file, as another partitioner wrote it for that hypergraph: a line
    /// for each thread with its group
    #[arg(long, value_name = "FILE", conflicts_with_all = ["mapping", "common"])]
    groups: Option<PathBuf>,

    /// Look at this block only (after mapping: at the block in its place)
    #[arg(long, value_name = "N")]
    block: Option<u32>,

    #[command(flatten)]
    input: SimtInput,

    #[command(flatten)]
    machine: Machine,

    #[command(flatten)]
    output: Output,
}

/// How far a mapping goes.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Upto {
    Threads,
    Warps,
    Blocks,
}

/// What the threads of a warp should have in common.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Gather {
    Requests,
    Data,
}

impl Args {
    /// Maps.
    pub fn run(mut self) -> Outcome {
        self.machine = self.machine.or_each();
        self.machine.warn();
        let run = self
            .input
            .read(&self.stream, u64::MAX, None, ItemClass::ALL)?;
        if run.grain() != Grain::Element {
            let what = "transactions are counted of elements; leave out --granularity";
            return Err(Usage(what.to_owned()).into());
        }
        if run.has_exchange() && self.mapping.is_none() && self.groups.is_none() {
            return self.offer_nothing(&run);
        }
        self.write_hypergraph(&run)?;
        let threads = counted(run.threads(), "thread", "threads");
        let meter = Meter::busy(format!("mapping {threads}"), self.output.quiet);
        let mapping = self.mapping(&run);
        meter.finish();
        let mapping = mapping?;
        let (before, after) = (Mapping::identity(&run)?.apply(&run)?, mapping.apply(&run)?);
        let lanes = self.lanes.into();
        let kept = transactions(&before, &after, DataLayout::Kept, lanes)?;
        let moved = transactions(&before, &after, DataLayout::Moved, lanes)?;
        let called = self.input.called(run.launch(), run.is_last());
        if let Some(left_out) = self.input.left_out(run.is_last()) {
            self.output.remark(&left_out);
            self.output.say(&left_out)?;
        }
        let facts = [
            format!("{called}, {}", self.machine.words()),
            gained("data where it is", &kept),
            gained("own data moved too", &moved),
        ];
        for fact in &facts {
            self.output.say(fact)?;
        }
        let before = self.characteristic(before)?;
        let after = self.characteristic(after)?;
        diff::show(&self.output, &before, &after)?;
        if let Some(path) = &self.o {
            write_whole(path, &mapping.to_bytes(), self.output.force)?;
            self.output.say(&format!(
                "Mapping: {}  (load it as an array, and use map[{}])",
                path.display(),
                thread_number(run.launch())
            ))?;
        }
        for line in self.advice(&run, &kept, &moved) {
            self.output.say(&line)?;
        }
        let sections = [diff::section(before, after)];
        self.output
            .html(|| pictures::page(&format!("{called}, re-mapped"), &facts, &sections))?;
        Ok(ExitCode::SUCCESS)
    }

    /// Says why there is no mapping: threads that exchange data cannot change places.
    fn offer_nothing(&self, run: &KernelRun) -> Outcome {
        let why = format!(
            "{}: its threads exchange data (in shared memory, by barriers, shuffles or votes), which \
             work that moves to another place misses, so no other order of threads is offered; --mapping FILE shows what one of \
             your own gains",
            self.input.called(run.launch(), run.is_last())
        );
        if self.o.is_some() || self.hgr.is_some() {
            anyhow::bail!("{why}; nothing was written");
        }
        self.output.say(&why)?;
        Ok(ExitCode::SUCCESS)
    }

    /// Writes the hypergraph, if it was asked for.
    fn write_hypergraph(&self, run: &KernelRun) -> anyhow::Result<()> {
        let Some(path) = &self.hgr else {
            return Ok(());
        };
        fits(run, self.lanes.into())?;
        let sharing = Hypergraph::common(run, self.layout(), self.common());
        write_whole(path, sharing.to_hgr().as_bytes(), self.output.force)?;
        let groups = sharing.vertices() / usize::from(self.lanes);
        let lanes = match self.lanes {
            32 => String::new(),
            lanes => format!(" --lanes {lanes}"),
        };
        let what = match sharing.edges() {
            0 => "no two threads have data in common: there is nothing to partition".to_owned(),
            _ => format!(
                "partition it into {groups} groups with an imbalance of 0, and come back with --groups FILE{lanes}"
            ),
        };
        self.output
            .say(&format!("Hypergraph: {}  ({what})", path.display()))?;
        Ok(())
    }

    /// What the two lines of transactions mean for users of the mapping, and what to do next.
    fn advice(&self, run: &KernelRun, kept: &Counts, moved: &Counts) -> Vec<String> {
        let gains = |(before, after): &Counts| after.sectors < before.sectors;
        let mut lines = Vec::new();
        if let Some(path) = self
            .groups
            .as_ref()
            .filter(|_| !gains(kept) && !gains(moved))
        {
            lines.push(format!(
                "The groups of {} gain nothing; without --groups threads are clustered here.",
                path.display()
            ));
        } else if !self.keep_layout && self.mapping.is_none() {
            if gains(moved) {
                lines.push("The second line holds if arrays that threads index by their own number are permuted with the mapping; with map[…] alone it is the first, and --keep-layout maps for that.".to_owned());
            } else if !gains(kept) {
                lines.push("Nothing is gained if own data moves with threads; --keep-layout maps for data that stays where it is.".to_owned());
            }
        }
        let gained = if self.keep_layout { kept } else { moved };
        if self.mapping.is_none() && gains(gained) && run.launch().used.is_none() {
            lines.push("The stream does not say whether the kernel has barriers, shuffles and votes: where it has, its threads cannot change places.".to_owned());
        }
        if self.o.is_none() && self.mapping.is_none() && gains(gained) {
            let output = &self.output;
            let written = output.html.is_some() || output.csv.is_some() || self.hgr.is_some();
            let again = if written && !output.force {
                " --force"
            } else {
                ""
            };
            lines.push(format!("Next: {} -o map.u32{again}", typed()));
        }
        lines
    }

    fn mapping(&self, run: &KernelRun) -> anyhow::Result<Mapping> {
        let (layout, lanes) = (self.layout(), self.lanes.into());
        let stage = match self.upto {
            Upto::Threads => MappingDepth::Threads,
            Upto::Warps => MappingDepth::Warps,
            Upto::Blocks => MappingDepth::Blocks,
        };
        if let Some(path) = &self.groups {
            let text = read_text(path, MAX_MAPPING_BYTES)
                .map_err(|error| anyhow::anyhow!("cannot read {}: {error}", path.display()))?;
            let groups = WarpGroups::read(run, lanes, &text, &path.display().to_string())?;
            return Ok(go_on(run, layout, &groups, stage, self.seed)?);
        }
        let Some(path) = &self.mapping else {
            return Ok(map(run, layout, self.common(), lanes, stage, self.seed)?);
        };
        let mut bytes = Vec::new();
        let file = File::open(path).map(|file| file.take(MAX_MAPPING_BYTES));
        file.and_then(|mut file| file.read_to_end(&mut bytes))
            .map_err(|error| anyhow::anyhow!("cannot read {}: {error}", path.display()))?;
        let words = bytes
            .chunks(4)
            .map(|word| word.try_into().map(u32::from_le_bytes));
        let threads = words.collect::<Result<Vec<u32>, _>>();
        let threads = threads.map_err(|_| {
            anyhow::anyhow!(
                "{} is no mapping: its length is not a multiple of 4 bytes",
                path.display()
            )
        })?;
        let (found, wanted) = (threads.len(), run.threads());
        let damaged = |why: &str| {
            anyhow::anyhow!(
                "{}: {why}; write one with -o FILE of this stream",
                path.display()
            )
        };
        if found as u64 != wanted {
            return Err(damaged(&format!(
                "it maps {found} threads, and the launch has {wanted}"
            )));
        }
        Mapping::new(threads, run.block_threads() as usize)
            .map_err(|_| damaged("it does not hold each thread once"))
    }

    fn common(&self) -> Common {
        match self.common {
            Gather::Requests => Common::Requests,
            Gather::Data => Common::Data,
        }
    }

    fn layout(&self) -> DataLayout {
        if self.keep_layout {
            DataLayout::Kept
        } else {
            DataLayout::Moved
        }
    }

    fn characteristic(&self, run: KernelRun) -> anyhow::Result<Characteristic> {
        let Some(number) = self.block else {
            return self.machine.sum(&run);
        };
        check_block(run.launch(), number)?;
        self.machine.sum(&run.only(number))
    }
}

/// The number of a thread of a launch in CUDA: blocks in their order, and threads of a block in
/// theirs.
fn thread_number(launch: &Launch) -> &'static str {
    let is_line = |extent: Extent| extent.y == 1 && extent.z == 1;
    if is_line(launch.grid) && is_line(launch.block) {
        "blockIdx.x * blockDim.x + threadIdx.x"
    } else {
        "block * threads + thread, with block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * \
         blockIdx.z), threads = blockDim.x * blockDim.y * blockDim.z and thread = threadIdx.x + \
         blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)"
    }
}
