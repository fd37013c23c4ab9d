//! `reuselens place`: what belongs in the fast memory.

use std::path::{Path, PathBuf};

use reuselens::io::AtomicFile;
use reuselens::locality::{CacheSize, CacheSpec, Profile};
use reuselens::units::{Bytes, counted, shown, shown_json};
use reuselens_placement::{
    MemoryMachine, Objective, PlacementFile, PlacementPlan, PlanOptions, SHIPPED, plan,
};
use reuselens_report::{placement_json, placement_text};

use crate::exit::{Outcome, Usage};
use crate::files::{read_profile, read_text, unreadable};
use crate::output::{color, terminal_width, top, write_text};
use crate::say::{say, tell};

/// Larger machine files are refused.
const MAX_MACHINE_BYTES: u64 = 1 << 20;

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

    /// The cache in front of the memory: its size, or its name on the profile's machine (1M, L2)
    /// [default: the machine file's, else the last cache of the machine that the profile is from]
    #[arg(long, value_name = "CACHE")]
    cache: Option<String>,

    /// Write the plan as JSON (schema reuselens-placement/1); `-` is standard output, and then
    /// nothing else is printed there
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    json: Option<PathBuf>,

    /// Write a placement file, by which `reuselens run --placement FILE` runs the program
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,

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
        let json = self.json.as_deref().filter(|path| *path != Path::new("-"));
        if let Some(path) = json {
            AtomicFile::check(path, self.force).map_err(|error| {
                // `-o` names another output here.
                anyhow::anyhow!(error.to_string().replace("as with -o", "with --json"))
            })?;
        }
        if let Some(path) = &self.output {
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
        if let Some(path) = &self.output {
            self.write_file(path, &profile, &plan)?;
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
            let next = match &self.output {
                Some(path) => format!(
                    "reuselens run --placement {} --verify -- {}",
                    path.display(),
                    shown(&profile.command.join(" "))
                ),
                None => format!(
                    "add -o NAME.rlplace for a file that reuselens run places the data by; \
                     reuselens report {name} --by object,line shows who accesses them"
                ),
            };
            say!("\nNext: {next}")?;
        }
        Ok(Default::default())
    }

    /// Writes the placement file.
    fn write_file(
        &self,
        path: &Path,
        profile: &Profile,
        plan: &PlacementPlan,
    ) -> anyhow::Result<()> {
        let (file, left_out) = PlacementFile::new(profile, plan)?;
        for name in left_out.names {
            tell!(
                "reuselens: warning: '{name}' is not in {}: another run cannot find it by an \
                 allocating call or a symbol",
                path.display()
            );
        }
        if left_out.small > 0 {
            tell!(
                "reuselens: warning: {} not in {}: they share their pages with other data",
                counted(left_out.small, "static object is", "static objects are"),
                path.display()
            );
        }
        write_text(path, &file.to_toml()?, self.force)
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
        let asked = self.cache.as_deref();
        let asked = asked.map(|text| asked_cache(text, profile)).transpose()?;
        match asked.or(machine.cache).or(last) {
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

/// The cache that `--cache` names.
fn asked_cache(text: &str, profile: &Profile) -> Result<Bytes, Usage> {
    let spec = text.parse::<CacheSpec>();
    let spec = spec.map_err(|error| Usage(format!("--cache {text}: {error}")))?;
    match spec.on(&profile.machine) {
        Some(CacheSize { bytes, ways: 0 }) => Ok(bytes),
        Some(_) => Err(Usage(format!(
            "--cache {text}: misses are those of a fully associative cache here; leave the ways \
             out: --cache {}",
            text.split(':').next().unwrap_or_default()
        ))),
        None => {
            let known = profile.machine.data_caches();
            let known: Vec<String> = known.iter().map(|cache| cache.name()).collect();
            Err(Usage(format!(
                "--cache {text} is neither a size (1M, 512KiB) nor a cache of the profile's \
                 machine ({})",
                match known.is_empty() {
                    true => "none known".to_owned(),
                    false => known.join(", "),
                }
            )))
        }
    }
}

/// The machine of a file, or one that comes with reuselens.
fn machine(name: &str) -> anyhow::Result<MemoryMachine> {
    let shipped = SHIPPED.iter().find(|(shipped, _)| *shipped == name);
    let text = match shipped {
        Some((_, text)) => (*text).to_owned(),
        None => read_text(Path::new(name), MAX_MACHINE_BYTES).map_err(|error| {
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
