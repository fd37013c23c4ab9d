//! `reuselens gpu bypass`: lets the loads of some warps pass the L1 by.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use reuselens::units::counted;
use reuselens_instrument::{BypassWarps, Bypassed, bypass};
use reuselens_ptx::{readable, without_parameters};

use super::instrument::{by_reason, read_ptx, shown};
use crate::exit::Outcome;
use crate::results::write_whole;
use crate::say::say;

/// Let the loads of some warps of each block pass the L1 cache by
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The PTX (`nvcc -ptx -lineinfo`)
    ptx: PathBuf,
    /// Warps of each block that use the L1: the first N
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=64))]
    warps: u32,
    /// Rewrite this kernel only, and no functions
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Write the rewritten PTX to this file
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
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
        let warps = match &self.kernel {
            None => BypassWarps::All(self.warps),
            Some(kernel) => {
                let kernel = mangled(&text, kernel)?;
                BypassWarps::Kernels([(kernel, self.warps)].into())
            }
        };
        let found = bypass(&text, &warps).with_context(|| self.ptx.display().to_string())?;
        write_whole(&self.output, found.text.as_bytes(), self.force)?;
        if !self.quiet {
            self.report(&found)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn report(&self, found: &Bypassed) -> anyhow::Result<()> {
        let rewritten = found.loads.iter().filter(|load| load.kept.is_none());
        let rewritten = counted(rewritten.count() as u64, "load", "loads");
        let warps = match self.warps {
            0 => "no warp of a block uses".to_owned(),
            1 => "the first warp of each block uses".to_owned(),
            some => format!("the first {some} warps of each block use"),
        };
        say!("{}: {warps} the L1 at {rewritten}", self.output.display())?;
        let loads = found.loads.iter();
        let kept = loads.filter_map(|load| Some((load.kept?, load.opcode.as_str(), load.line)));
        for (reason, places) in by_reason(kept) {
            say!(
                "  as before at {}: {reason} ({})",
                places.len(),
                shown(&places)
            )?;
        }
        say!(
            "Next: reuselens gpu run {} -o FILE.rlwarp with the options of the kernel, and reuselens \
             gpu report FILE.rlwarp",
            self.output.display()
        )?;
        Ok(())
    }
}

/// The kernel of a file that a user names by its name in the source or in the PTX.
fn mangled(text: &str, name: &str) -> anyhow::Result<String> {
    let module = reuselens_ptx::PtxModule::parse(text)?;
    let is_named = |kernel: &&str| {
        let names = [readable(kernel), without_parameters(kernel)];
        *kernel == name || names.iter().any(|known| known == name)
    };
    let found: Vec<&str> = module.kernels().filter(is_named).collect();
    match found[..] {
        [kernel] => Ok(kernel.to_owned()),
        [_, ..] => {
            let all: Vec<String> = found.iter().map(|kernel| readable(kernel)).collect();
            anyhow::bail!(
                "several kernels are named {name}; give one of {}",
                all.join(", ")
            )
        }
        [] => {
            let all: Vec<String> = module.kernels().map(readable).collect();
            anyhow::bail!("there is no kernel {name}; it is one of {}", all.join(", "))
        }
    }
}
