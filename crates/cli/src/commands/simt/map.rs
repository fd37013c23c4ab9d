//! `reuselens simt map`: which threads should be neighbours.

use std::path::PathBuf;
use std::process::ExitCode;

use reuselens::units::grouped;
use reuselens_report::{SheetSection, sheet};
use reuselens_simt::mapping::{Common, Groups, Hypergraph, Mapping, Stage, fits, go_on, map};
use reuselens_simt::transactions::{Layout, Transactions};
use reuselens_simt::{Characteristic, Run};

use super::analyze::one_block;
use super::diff;
use super::input::{Input, Machine, Output};
use crate::exit::Outcome;
use crate::output::write_whole;

/// Regroup a kernel's threads into warps and blocks that share data, and see what that gains
#[derive(clap::Args, Debug)]
pub struct Args {
    /// A stream of warp instructions (`reuselens simt run` writes one), or an Accel-Sim trace
    stream: PathBuf,

    /// How far to go: threads into warps, also warps into blocks, also blocks in order
    #[arg(long, value_name = "STAGE", value_enum, default_value_t = Upto::Blocks)]
    upto: Upto,

    /// What the threads of a warp should have in common: requests (fewest transactions), or data at any time (as in the literature)
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Gather::Requests)]
    common: Gather,

    /// Threads of a warp
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=1024))]
    lanes: u16,

    /// All data stays where it is: arrays that threads index by their own number are not permuted with them
    #[arg(long)]
    keep_layout: bool,

    /// Seed of the partitioner
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Take the mapping from this file instead: 32-bit little-endian numbers, as -o writes them
    #[arg(long, value_name = "FILE")]
    mapping: Option<PathBuf>,

    /// Write the mapping to this file, as a kernel loads it: whose work each thread does
    #[arg(short, value_name = "FILE")]
    o: Option<PathBuf>,

    /// Write the hypergraph that is partitioned into warps to this file, for other partitioners
    #[arg(long, value_name = "FILE")]
    hgr: Option<PathBuf>,

    /// Take the warps from this file, as another partitioner wrote it for that hypergraph: a line for each thread with its group
    #[arg(long, value_name = "FILE", conflicts_with = "mapping")]
    groups: Option<PathBuf>,

    /// Look at this block only (after mapping: at the block in its place)
    #[arg(long, value_name = "N")]
    block: Option<u32>,

    #[command(flatten)]
    input: Input,

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
    pub fn run(self) -> Outcome {
        let run = self.input.read(&self.stream)?;
        if let Some(path) = &self.hgr {
            fits(&run, self.lanes.into())?;
            let sharing = Hypergraph::common(&run, self.layout(), self.common());
            write_whole(path, sharing.to_hgr().as_bytes(), self.output.force)?;
        }
        let mapping = self.mapping(&run)?;
        let (before, after) = (Mapping::identity(&run)?.apply(&run)?, mapping.apply(&run)?);
        let facts = facts(&before, &after)?;
        for fact in &facts {
            self.output.say(fact)?;
        }
        let before = self.characteristic(before)?;
        let after = self.characteristic(after)?;
        diff::show(&self.output, &before, &after)?;
        if let Some(path) = &self.o {
            write_whole(path, &mapping.to_bytes(), self.output.force)?;
            self.output.say(&format!(
                "Mapping: {}  (load it as an array, and use map[blockIdx.x * blockDim.x + threadIdx.x])",
                path.display()
            ))?;
        } else {
            self.output.say(&format!(
                "Next: reuselens simt map {} -o map.u32",
                self.stream.display()
            ))?;
        }
        let sections: [SheetSection; 1] = [diff::section("Change", before, after)];
        self.output.html(|| {
            sheet(
                &format!("{}, re-mapped", run.launch().kernel),
                &facts,
                &sections,
            )
        })?;
        Ok(ExitCode::SUCCESS)
    }

    fn mapping(&self, run: &Run) -> anyhow::Result<Mapping> {
        let (layout, lanes) = (self.layout(), self.lanes.into());
        let stage = match self.upto {
            Upto::Threads => Stage::Threads,
            Upto::Warps => Stage::Warps,
            Upto::Blocks => Stage::Blocks,
        };
        if let Some(path) = &self.groups {
            let text = std::fs::read_to_string(path)
                .map_err(|error| anyhow::anyhow!("cannot read {}: {error}", path.display()))?;
            let groups = Groups::read(run, lanes, &text, &path.display().to_string())?;
            return Ok(go_on(run, layout, &groups, stage, self.seed)?);
        }
        let Some(path) = &self.mapping else {
            return Ok(map(run, layout, self.common(), lanes, stage, self.seed)?);
        };
        let bytes = std::fs::read(path)
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
        Ok(Mapping::new(threads, run.block_threads() as usize)?)
    }

    fn common(&self) -> Common {
        match self.common {
            Gather::Requests => Common::Requests,
            Gather::Data => Common::Data,
        }
    }

    fn layout(&self) -> Layout {
        if self.keep_layout {
            Layout::Kept
        } else {
            Layout::Moved
        }
    }

    fn characteristic(&self, run: Run) -> anyhow::Result<Characteristic> {
        let Some(number) = self.block else {
            return self.machine.sum(&run);
        };
        self.machine.sum(&one_block(&run, number)?)
    }
}

/// Transactions before and after, with data where it is and with threads' own data moved with them.
fn facts(before: &Run, after: &Run) -> anyhow::Result<Vec<String>> {
    let line = |what: &str, before: Transactions, after: Transactions| {
        let change = 100.0 * (after.sectors as f64 / before.sectors.max(1) as f64 - 1.0);
        format!(
            "Transactions (sectors of 32 B), {what}: {} → {} ({change:+.1} %), {:.2} → {:.2} a request",
            grouped(before.sectors),
            grouped(after.sectors),
            before.average(),
            after.average()
        )
    };
    let count = |layout| {
        anyhow::Ok((
            Transactions::of(before, layout)?,
            Transactions::of(after, layout)?,
        ))
    };
    let (kept, moved) = (count(Layout::Kept)?, count(Layout::Moved)?);
    Ok(vec![
        line("data where it is", kept.0, kept.1),
        line("own data moved too", moved.0, moved.1),
    ])
}
