//! `reuselens place`: what belongs in the fast memory.

use std::path::{Path, PathBuf};

use reuselens::io::AtomicFile;
use reuselens::locality::Profile;
use reuselens::units::{Bytes, shown_json};
use reuselens_placement::{MemoryMachine, Objective, PlanOptions, SHIPPED, plan};
use reuselens_report::{placement_json, placement_text};

use crate::exit::{Outcome, Usage};
use crate::files::{read_profile, unreadable};
use crate::output::{color, terminal_width, top, write_text};
use crate::say::say;

/// Choose the data objects that belong in a small fast memory, and bound how far that is from the
/// best choice
#[derive(clap::Args, Debug)]
#[command(override_usage = "reuselens place PROFILE --fast SIZE\n       \
                    reuselens place PROFILE --machine FILE|NAME")]
pub struct Args {
    /// The profile
    profile: PathBuf,

    /// Plan for a fast memory of this size beside all other memory: 16M, 4GiB
    #[arg(long, value_name = "SIZE", conflicts_with = "machine")]
    fast: Option<Bytes>,

    /// Plan for this machine: a TOML file of its memory tiers, or `keystone2`
    #[arg(long, value_name = "FILE|NAME")]
    machine: Option<String>,

    /// What to make large: `f` (accesses, as published), `misses` (accesses that the caches in
    /// front do not serve), `time` (a model of latency and bandwidth)
    #[arg(long, value_name = "OBJECTIVE", default_value = "misses")]
    objective: Objective,

    /// Size of the cache in front of the memory [default: the machine file's, else the last cache
    /// of the machine that the profile is from]
    #[arg(long, value_name = "SIZE")]
    cache: Option<Bytes>,

    /// Write the plan as JSON (schema reuselens-placement/1); `-` is standard output, and then
    /// nothing else is printed there
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    json: Option<PathBuf>,

    /// Name at most N objects
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = top, help_heading = "Output")]
    top: usize,

    /// Overwrite files
    #[arg(short, long, help_heading = "Output")]
    force: bool,

    /// Print no plan
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
}

impl Args {
    /// Plans.
    pub fn run(self) -> Outcome {
        let machine = self.memory()?;
        if self.objective == Objective::Time && self.fast.is_some() {
            let text = "--fast gives no latency or bandwidth to compute times from; describe the \
                        machine in a file and name it with --machine, or take --objective misses";
            return Err(Usage(text.to_owned()).into());
        }
        if let Some(path) = self.json.as_deref().filter(|path| *path != Path::new("-")) {
            AtomicFile::check(path, self.force)?;
        }
        let profile = read_profile(&self.profile)?;
        let options = PlanOptions {
            objective: self.objective,
            cache: self.cache_in_front(&machine, &profile)?,
        };
        let plan = plan(&profile, &machine, options)?;
        let name = self.profile.display().to_string();
        if let Some(path) = &self.json {
            write_text(path, &shown_json(&placement_json(&name, &plan)), self.force)?;
        }
        let is_shown = !self.quiet && self.json.as_deref() != Some(Path::new("-"));
        if is_shown {
            let text = placement_text(
                (&name, &profile),
                &plan,
                self.top,
                terminal_width(),
                color(),
            );
            write_text(Path::new("-"), &text, false)?;
            say!("\nNext: reuselens report {name} --by object,line")?;
        }
        Ok(Default::default())
    }

    /// The memory that the options describe.
    fn memory(&self) -> anyhow::Result<MemoryMachine> {
        match (self.fast, &self.machine) {
            (Some(Bytes(0)), _) => {
                let text = "--fast is 0, and nothing fits into that; give a size, as in --fast 16M";
                Err(Usage(text.to_owned()).into())
            }
            (Some(capacity), _) => Ok(MemoryMachine::of_fast_memory(capacity)),
            (None, Some(name)) => machine(name),
            (None, None) => {
                let text = format!(
                    "there is no fast memory to plan for; add --fast SIZE (16M), or --machine with \
                     a file of memory tiers (docs/commands/place.md) or one of: {}",
                    names()
                );
                Err(Usage(text).into())
            }
        }
    }

    /// The size of the cache in front of the memory.
    fn cache_in_front(&self, machine: &MemoryMachine, profile: &Profile) -> anyhow::Result<Bytes> {
        let known = profile.machine.data_caches();
        let last = known.last().map(|cache| cache.size);
        match self.cache.or(machine.cache).or(last) {
            Some(size) => Ok(size),
            // The published metric does not need caches.
            None if self.objective == Objective::F => Ok(Bytes(0)),
            None => {
                let text = "the profile does not say which caches its machine has; add --cache SIZE, \
                            as in --cache 1M";
                Err(Usage(text.to_owned()).into())
            }
        }
    }
}

/// The machine of a file, or one that comes with reuselens.
fn machine(name: &str) -> anyhow::Result<MemoryMachine> {
    let shipped = SHIPPED.iter().find(|(shipped, _)| *shipped == name);
    let text = match shipped {
        Some((_, text)) => (*text).to_owned(),
        None => std::fs::read_to_string(name).map_err(|error| {
            let next = format!(
                "name a TOML file of memory tiers (docs/commands/place.md), or one of: {}",
                names()
            );
            unreadable(Path::new(name), &error, &next)
        })?,
    };
    let machine = MemoryMachine::from_toml(&text);
    Ok(machine.map_err(|error| Usage(format!("{name}: {error}")))?)
}

/// The machines that come with reuselens.
fn names() -> String {
    let names: Vec<&str> = SHIPPED.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}
