//! Runs of GPU programs: [`GpuRun`] as text ([`gpu_text`]), page ([`gpu_page`]), JSON
//! ([`gpu_json`]) and CSV ([`gpu_csv`]); and runs read back from JSON ([`StoredGpuRun`]), compared
//! ([`gpu_diff`]) or with their findings ([`GpuFindings`]).

mod cache_sizes;
mod csv;
mod diff;
mod findings;
mod host;
mod instructions;
mod json;
mod page;
mod rows;
mod stored;
mod sums;
#[cfg(test)]
mod tests;
mod text;

pub use csv::gpu_csv;
pub use diff::{UnlikeOrigins, gpu_diff};
pub use findings::GpuFindings;
pub use host::{HostAccesses, HostSum};
pub use json::{GPU_SCHEMA, gpu_json};
pub use page::{GpuPageOptions, gpu_page};
pub use rows::{configuration_text, mix_text};
pub use stored::{StoppedKernel, StoredGpuRun, StoredGpuRunError};
pub use sums::SummedRun;
pub use text::{GpuTextOptions, gpu_text};

use std::collections::{BTreeSet, HashMap};

use reuselens_advice::{Finding, SourcePlace};
use reuselens_document::numbers::noun;
use reuselens_gpu_advisor::{KernelReport, LaunchFault, Ledger, source_line};

/// A call on the way from `main` to a function of CUDA, with names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostCall {
    /// The function that calls.
    pub function: String,
    /// Where it calls: `file:line`, or file and address where there is no debug information.
    pub place: String,
}

/// `function (file:line)`, the file without its folders.
impl std::fmt::Display for HostCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.function, rows::short_place(&self.place))
    }
}

/// What a run was read from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunOrigin {
    /// The program, while it ran.
    #[default]
    Program,
    /// A stream of memory instructions: no host side, objects and branches.
    Stream,
}

impl RunOrigin {
    /// The word for it in JSON.
    fn word(self) -> &'static str {
        match self {
            RunOrigin::Program => "program",
            RunOrigin::Stream => "stream",
        }
    }
}

/// A run of a GPU program: what its kernels did, and what the host side did, with names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GpuRun {
    /// The command, as one line; the file of a stream.
    pub command: String,
    /// What the run was read from.
    pub origin: RunOrigin,
    /// The launches of each kernel from each call path, in the order of the first launches. Kernels
    /// have their names in the source.
    pub kernels: Vec<KernelReport>,
    /// What the host side did.
    pub ledger: Ledger,
    /// The calls of each call path of the ledger, the outermost first.
    pub call_paths: Vec<Vec<HostCall>>,
    /// The name of each object of the ledger.
    pub objects: Vec<String>,
    /// What to change, the costliest first.
    pub findings: Vec<Finding>,
    /// What the host's code accesses, if that was analysed too.
    pub host: Option<HostAccesses>,
    /// Launches that ran, or are in the stream, and were not to be analysed.
    pub unanalysed_launches: u64,
    /// Launches on a GPU that nothing is known of.
    pub unseen: Vec<UnseenLaunches>,
    /// What is not known of kernels that ran on a GPU.
    pub unrecorded: Vec<UnrecordedAccesses>,
}

/// Launches of a kernel on a GPU that nothing is known of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnseenLaunches {
    /// The kernel, as its source names it.
    pub kernel: String,
    /// How often it was launched so.
    pub launches: u64,
    /// Why.
    pub why: String,
}

/// Instructions of a kernel on a GPU whose accesses are not recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnrecordedAccesses {
    /// The kernel, as its source names it.
    pub kernel: String,
    /// What they are, and how many.
    pub instructions: String,
}

impl GpuRun {
    /// Whether kernels were stopped, or launches refused.
    pub(crate) fn is_stopped(&self) -> bool {
        !self.ledger.faults.is_empty()
    }

    /// The files that kernels have lines of, in the order of their names.
    pub fn files(&self) -> BTreeSet<String> {
        let sites = self.kernels.iter().flat_map(|kernel| &kernel.by_site);
        let lines = sites.map(|site| source_line(&site.code.place));
        let files = lines.filter_map(|line| Some(SourcePlace::parse(&line)?.file.to_owned()));
        files.collect()
    }

    /// The calls of a call path; none if it is unknown.
    fn calls(&self, call_path: u32) -> &[HostCall] {
        let calls = self.call_paths.get(call_path as usize);
        calls.map_or(&[], Vec::as_slice)
    }

    /// A call path as one line, the outermost call first, with files without their folders; empty
    /// if it is unknown.
    fn path_text(&self, call_path: u32) -> String {
        let calls: Vec<String> = (self.calls(call_path).iter())
            .map(HostCall::to_string)
            .collect();
        calls.join(" › ")
    }

    /// Who launched a kernel that was stopped, and which object it missed or misused, as far as
    /// that is known.
    fn fault_facts(&self, fault: &LaunchFault) -> Vec<String> {
        let mut facts = Vec::new();
        if fault.count > 1 {
            facts.push(format!("{} times", fault.count));
        }
        if !self.calls(fault.call_path).is_empty() {
            facts.push(format!("called by {}", self.path_text(fault.call_path)));
        }
        if fault.object.is_some() {
            facts.push(format!(
                "nearest object: {}",
                self.object_name(fault.object)
            ));
        }
        facts
    }

    /// What stopped kernels, and then launches that were refused.
    fn faults(&self) -> Vec<&LaunchFault> {
        let mut faults: Vec<&LaunchFault> = self.ledger.faults.iter().collect();
        faults.sort_by_key(|fault| fault.is_refused);
        faults
    }

    /// The kernels that were stopped, as reports show them.
    pub(crate) fn stopped_kernels(&self) -> Vec<StoppedKernel> {
        let stopped = self.faults().into_iter().map(|fault| StoppedKernel {
            message: fault.message.clone(),
            facts: self.fault_facts(fault),
        });
        stopped.collect()
    }

    /// The name of an object.
    fn object_name(&self, object: Option<u32>) -> &str {
        let name = object.and_then(|object| self.objects.get(object as usize));
        name.map_or(UNKNOWN_OBJECT, String::as_str)
    }

    /// What was cut short, as sentences: sums that were left out, and analyses of pieces.
    fn cuts(&self) -> Vec<String> {
        let mut cuts = Vec::new();
        if self.unanalysed_launches > 0 {
            let launches = noun(self.unanalysed_launches, "launch was", "launches were");
            cuts.push(format!(
                "{launches} left out (--kernel, --launches): sums are those of the others."
            ));
        }
        for UnseenLaunches {
            kernel,
            launches,
            why,
        } in &self.unseen
        {
            let launches = noun(*launches, "launch", "launches");
            cuts.push(format!(
                "{launches} of {kernel} ran unseen, and no sum has them: {why}."
            ));
        }
        for unrecorded in &self.unrecorded {
            let (kernel, instructions) = (&unrecorded.kernel, &unrecorded.instructions);
            cuts.push(format!(
                "Accesses of {kernel} that no sum has: {instructions}."
            ));
        }
        if self.ledger.is_cut {
            cuts.push(
                "There were more call paths, objects or copies than are kept; the rest is counted as \
                 unknown or not at all."
                    .to_owned(),
            );
        }
        let sum = |count: fn(&KernelReport) -> u64| -> u64 { self.kernels.iter().map(count).sum() };
        let blocks = sum(|kernel| kernel.reuse.as_ref().map_or(0, |reuse| reuse.cut_blocks));
        let waves = sum(|kernel| kernel.caches.as_ref().map_or(0, |caches| caches.cut_waves));
        if blocks > 0 {
            let blocks = noun(blocks, "block was", "blocks were");
            cuts.push(format!(
                "{blocks} too long to be brought into one order; distances there are those of pieces."
            ));
        }
        if waves > 0 {
            let waves = noun(waves, "wave of blocks was", "waves of blocks were");
            cuts.push(format!(
                "{waves} too long for the cache model, and went through it in pieces."
            ));
        }
        let blocks = sum(|kernel| kernel.caches.as_ref().map_or(0, |caches| caches.cut_blocks));
        if blocks > 0 {
            let blocks = noun(blocks, "block was", "blocks were");
            cuts.push(format!(
                "{blocks} too long for the cache model; hit rates there are those of the first \
                 requests."
            ));
        }
        cuts
    }
}

/// The names of a run's objects without where they were allocated, where no other has that.
struct ShortNames<'a> {
    names: Vec<&'a str>,
}

impl<'a> ShortNames<'a> {
    fn of(run: &'a GpuRun) -> ShortNames<'a> {
        let short = |name: &'a String| match name.find(" (") {
            Some(end) if end > 0 => &name[..end],
            _ => name.as_str(),
        };
        let mut uses: HashMap<&str, u32> = HashMap::new();
        for name in &run.objects {
            *uses.entry(short(name)).or_default() += 1;
        }
        let names = run.objects.iter().map(|name| match uses[short(name)] {
            1 => short(name),
            _ => name.as_str(),
        });
        ShortNames {
            names: names.collect(),
        }
    }

    fn name(&self, object: Option<u32>) -> &'a str {
        let name = object.and_then(|object| self.names.get(object as usize));
        name.copied().unwrap_or(UNKNOWN_OBJECT)
    }
}

/// What is missing in the mix of a stream.
const STREAM_MIX: &str = "A stream has the instructions that access memory only.";

/// What findings are worth where kernels were stopped.
pub(crate) const STOPPED: &str =
    "Kernels were stopped or refused, and rules apply only to what ran.";

/// What is above the list of those.
pub(crate) const STOPPED_HEADING: &str = "Stopped and refused kernels";

/// What addresses of no known object are called.
const UNKNOWN_OBJECT: &str = "(unknown memory)";
