//! `gpu run --bypass`: kernels whose loads go by warps. With `best` they run once as they are, and
//! the model of caches says for how many warps of a block the L1 is worth most.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use reuselens::units::{counted, grouped};
use reuselens_gpu_advisor::{Advisor, AdvisorOptions, BypassOracle, GpuModel, KernelReport};
use reuselens_instrument::{BypassWarps, bypass};

/// How many warps of each block use the L1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BypassChoice {
    /// These.
    Warps(u32),
    /// As many as fetch the least from the L2, of each kernel by itself.
    Best,
}

impl FromStr for BypassChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<BypassChoice, String> {
        match text.parse() {
            Ok(warps @ 0..=64) => Ok(BypassChoice::Warps(warps)),
            _ if text == "best" => Ok(BypassChoice::Best),
            _ => Err("give a number of warps from 0 to 64, or best".to_owned()),
        }
    }
}

/// Analyses of caches alone, for a GPU.
pub fn advisor(model: GpuModel) -> Advisor {
    Advisor::new(AdvisorOptions {
        model,
        ..AdvisorOptions::default()
    })
}

/// The best number of a kernel, and what it saves.
#[derive(Clone, Debug)]
pub struct BestWarps {
    kernel: String,
    of: u32,
    oracle: BypassOracle,
}

impl BestWarps {
    /// Those of kernels that load on the first multiprocessor.
    pub fn of(reports: Vec<KernelReport>) -> Vec<BestWarps> {
        let best = |report: KernelReport| {
            let bypass = report.bypass?;
            Some(BestWarps {
                kernel: report.kernel,
                of: bypass.per_warp.warps_per_block,
                oracle: bypass.oracle?,
            })
        };
        reports.into_iter().filter_map(best).collect()
    }

    /// The numbers by kernels.
    pub fn numbers(best: &[BestWarps]) -> BypassWarps {
        let numbers = best.iter().map(|it| (it.kernel.clone(), it.oracle.best()));
        BypassWarps::Kernels(numbers.collect::<BTreeMap<_, _>>())
    }
}

impl fmt::Display for BestWarps {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let best = self.oracle.best();
        let (with, without) = (self.oracle.traffic(best), self.oracle.traffic(u32::MAX));
        write!(
            out,
            "{}: {} of {} use the L1, which then fetches {} from the L2",
            reuselens_ptx::readable(&self.kernel),
            grouped(best.into()),
            counted(self.of.into(), "warp", "warps"),
            counted(with, "sector", "sectors"),
        )?;
        if best < self.of {
            write!(out, "; {} if all do", grouped(without))?;
        }
        Ok(())
    }
}

/// PTX whose loads go by warps. What is no PTX stays as it is, for its reader to refuse.
pub fn rewritten(text: String, warps: &BypassWarps) -> String {
    bypass(&text, warps).map_or(text, |found| found.text)
}
