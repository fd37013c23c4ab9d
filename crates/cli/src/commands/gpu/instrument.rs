//! `reuselens gpu instrument`: puts hooks into PTX that write what each warp accesses.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use reuselens::units::counted;
use reuselens_instrument::{HookKind, InstrumentOptions, Instrumented, instrument};

use crate::exit::Outcome;
use crate::files::{read_text, refuse_source, unreadable};
use crate::results::write_whole;
use crate::say::say;
use crate::shell_words::quoted_words;

/// The most bytes of a file with PTX that is read, 256 MiB.
const MOST_PTX: u64 = 256 << 20;

/// Places of left-out instructions that are shown of each reason.
const SHOWN: usize = 3;

/// Put hooks into PTX that write the memory instructions of each warp into a buffer on the GPU
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The PTX (`nvcc -ptx -lineinfo`)
    ptx: PathBuf,
    /// Write the PTX with hooks to this file
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Record the beginnings of basic blocks too
    #[arg(long)]
    blocks: bool,
    /// Record branches that lanes may leave differently too
    #[arg(long)]
    branches: bool,
    /// Count executions on the GPU, and record nothing
    #[arg(long)]
    counts: bool,
    /// Overwrite outputs
    #[arg(short, long)]
    force: bool,
    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

impl Args {
    /// Rewrites the file.
    pub fn run(self) -> Outcome {
        let text = read_ptx(&self.ptx)?;
        let options = InstrumentOptions {
            blocks: self.blocks,
            branches: self.branches,
            counts: self.counts,
            flow: false,
        };
        let found = instrument(&text, &options).with_context(|| self.ptx.display().to_string())?;
        write_whole(&self.output, found.text.as_bytes(), self.force)?;
        if !self.quiet {
            self.report(&found)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn report(&self, found: &Instrumented) -> anyhow::Result<()> {
        say!("{}: hooks at {}", self.output.display(), hooked(found))?;
        let left_out = found.left_out.iter();
        let left_out = left_out.map(|left| (left.reason, left.opcode.as_str(), left.line));
        for (reason, places) in by_reason(left_out) {
            say!(
                "  no hooks at {}: {reason} ({})",
                places.len(),
                shown(&places)
            )?;
        }
        if found.sites.is_empty() {
            say!("The kernels are as they were: there is nothing to record in them")?;
            return Ok(());
        }
        let what = if found.options.counts {
            "has the counts"
        } else {
            "names the buffer"
        };
        say!("The variable {} {what}", found.variable)?;
        let cubin = self.output.with_extension("cubin");
        let words = vec![
            "ptxas".to_owned(),
            format!("-arch={}", found.target),
            "-o".to_owned(),
            cubin.display().to_string(),
            self.output.display().to_string(),
        ];
        say!("Next: {}", quoted_words(words))?;
        Ok(())
    }
}

/// Reads a file that is to be PTX.
pub fn read_ptx(path: &Path) -> anyhow::Result<String> {
    refuse_source(path, "no PTX")?;
    let text = read_text(path, MOST_PTX);
    text.map_err(|error| unreadable(path, &error, "give PTX, as `nvcc -ptx` makes it"))
}

/// How many sites of each kind have hooks: `2 memory instructions and 1 barrier`.
fn hooked(found: &Instrumented) -> String {
    let count = |is_of_kind: fn(HookKind) -> bool| {
        let sites = found.sites.iter().filter(|site| is_of_kind(site.kind));
        sites.count() as u64
    };
    let accesses = count(|kind| matches!(kind, HookKind::Access { .. }));
    let branches = |kind| matches!(kind, HookKind::Branch | HookKind::IndirectBranch);
    let mut parts = vec![counted(
        accesses,
        "memory instruction",
        "memory instructions",
    )];
    for (number, one, some) in [
        (
            count(|kind| kind == HookKind::Block),
            "basic block",
            "basic blocks",
        ),
        (count(branches), "branch", "branches"),
        (
            count(|kind| kind == HookKind::Barrier),
            "barrier",
            "barriers",
        ),
    ] {
        if number > 0 {
            parts.push(counted(number, one, some));
        }
    }
    let last = parts.pop().unwrap_or_default();
    if parts.is_empty() {
        last
    } else {
        format!("{} and {last}", parts.join(", "))
    }
}

/// Opcode and line of instructions, by the reason why they stay as they are.
pub fn by_reason<'a, R: Ord>(
    instructions: impl Iterator<Item = (R, &'a str, u32)>,
) -> BTreeMap<R, Vec<String>> {
    let mut reasons: BTreeMap<R, Vec<String>> = BTreeMap::new();
    for (reason, opcode, line) in instructions {
        let place = format!("{opcode} in line {line}");
        reasons.entry(reason).or_default().push(place);
    }
    reasons
}

/// The first places of instructions.
pub fn shown(places: &[String]) -> String {
    let mut text = places[..places.len().min(SHOWN)].join(", ");
    if places.len() > SHOWN {
        text.push_str(", …");
    }
    text
}
