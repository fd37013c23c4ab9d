//! `reuselens place`: what belongs in the fast memory.

mod predicted;

use std::path::{Path, PathBuf};

use reuselens::io::AtomicFile;
use reuselens::profile::{CacheSize, CacheSpec, Profile};
use reuselens::units::{Bytes, counted, shown, shown_json};
use reuselens_placement::{
    MAX_FILE_BYTES, MemoryMachine, Objective, PARALLELISM, PlacementFile, PlacementPlan,
    PlanOptions, import_flexmalloc, plan,
};
use reuselens_report::{PlacementReport, placement_json, placement_page, placement_text};

use crate::exit::{Outcome, Usage};
use crate::files::{read_profile, read_text, unreadable};
use crate::memory_machines;
use crate::output::{color, terminal_width, top, write_text};
use crate::say::{say, tell};
use predicted::{Predicted, PredictedArgs};

/// Choose the data objects that belong in a small fast memory, and bound how far that is from the
/// best choice
#[derive(clap::Args, Debug)]
#[command(override_usage = "reuselens place PROFILE --fast SIZE\n       \
                    reuselens place PROFILE --machine FILE|NAME\n       \
                    reuselens place PROFILE PROFILE [PROFILE…] --size SIZE --fast SIZE")]
pub struct Args {
    /// The profile; two or more of inputs of different size, to plan for one that was not run
    #[arg(value_name = "PROFILE", required = true)]
    profiles: Vec<PathBuf>,

    /// Plan for a fast memory of this size beside all other memory: 16M, 4GiB; with --machine, the
    /// capacity of its fastest tier
    #[arg(long, value_name = "SIZE", value_parser = fast_size)]
    fast: Option<FastSize>,

    /// Plan for this machine: a TOML file of its memory tiers, an XML file of hwloc, `here`, or one
    /// of `keystone2`, `knl7210`, `xeonmax9480`, `cxl`, `hugepages`
    #[arg(long, value_name = "FILE|NAME")]
    machine: Option<String>,

    /// What to make large: `f` (accesses, as published), `misses` (accesses that the caches in
    /// front do not serve), `time` (a model of latency and bandwidth)
    #[arg(long, value_name = "OBJECTIVE", default_value = "misses")]
    objective: Objective,

    /// The cache in front of the memory: its size, with :WAYS for sets, or its name on the
    /// profile's machine (1M, 1M:8, L2) [default: the machine file's, else the last cache of the
    /// machine that the profile is from]
    #[arg(long, value_name = "CACHE")]
    cache: Option<String>,

    /// Misses of all threads that wait for memory at the same time, for times [default: the machine
    /// file's, else 10 for each thread of the profile, the line-fill buffers of a core]
    #[arg(long, value_name = "N", value_parser = parallelism, requires = "machine")]
    parallelism: Option<f64>,

    #[command(flatten)]
    input: PredictedArgs,

    /// Write the plan as JSON (schema reuselens-placement/1); `-` is standard output, and then
    /// nothing else is printed there
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    json: Option<PathBuf>,

    /// Write the placement file for a location file of flexmalloc (ecoHMEM), and plan nothing;
    /// needs -o
    #[arg(
        long, value_name = "FILE", help_heading = "Output", requires = "output",
        conflicts_with_all = ["json", "html", "size", "like", "check", "sizes"]
    )]
    import: Option<PathBuf>,

    /// Write the plan as one offline HTML page
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    html: Option<PathBuf>,

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

/// A size as it was written.
#[derive(Clone, Copy, Debug)]
struct FastSize {
    bytes: Bytes,
    has_unit: bool,
}

fn fast_size(text: &str) -> Result<FastSize, String> {
    let bytes = text.parse::<Bytes>().map_err(|error| error.to_string())?;
    let has_unit = !text.trim().bytes().all(|byte| byte.is_ascii_digit());
    Ok(FastSize { bytes, has_unit })
}

fn parallelism(text: &str) -> Result<f64, String> {
    let number = text.parse().ok();
    let number = number.filter(|number| PARALLELISM.contains(number));
    number.ok_or_else(|| "it must be a number from 1 to 1,000,000".to_owned())
}

/// A size below this, a page, without a unit was hardly meant in bytes.
const FEW_BYTES: u64 = 4096;

impl Args {
    /// Plans.
    pub fn run(self) -> Outcome {
        let mut machine = self.memory()?;
        machine.parallelism = self.parallelism.or(machine.parallelism);
        if self.objective == Objective::Time && self.machine.is_none() {
            let text = "--fast gives no latency or bandwidth to compute times from; describe the \
                        machine in a file and name it with --machine, or take --objective misses";
            return Err(Usage(text.to_owned()).into());
        }
        self.check("--json", self.json.as_deref())?;
        self.check("--html", self.html.as_deref())?;
        if let Some(path) = &self.output {
            AtomicFile::check(path, self.force)?;
        }
        let predicted = self.input.predict(&self.profiles)?;
        if let Some(predicted) = &predicted {
            return self.plan(
                &predicted.name(),
                &predicted.run.profile,
                &machine,
                Some(predicted),
            );
        }
        let profile = read_profile(&self.profiles[0])?;
        if let (Some(from), Some(to)) = (&self.import, &self.output) {
            self.import(from, to, &profile, &machine)?;
            return Ok(Default::default());
        }
        self.plan(
            &self.profiles[0].display().to_string(),
            &profile,
            &machine,
            None,
        )
    }

    /// Plans for a profile, and writes what the options ask for.
    fn plan(
        &self,
        name: &str,
        profile: &Profile,
        machine: &MemoryMachine,
        predicted: Option<&Predicted>,
    ) -> Outcome {
        if let Some(wanted) = machine.granularity
            && profile.granularity.bytes() < wanted.get()
        {
            tell!(
                "reuselens: warning: the values of '{}' are for items of {wanted}, and this profile \
                 counts items of {} bytes, so its misses are others; profile again with \
                 --granularity {}",
                machine.name,
                profile.granularity.bytes(),
                wanted.get()
            );
        }
        let options = PlanOptions {
            objective: self.objective,
            cache: self.cache_in_front(machine, profile)?,
        };
        let plan = plan(profile, machine, options)?;
        let prediction = predicted
            .map(|predicted| predicted.for_report(&plan))
            .transpose()?;
        let report = PlacementReport {
            name,
            profile,
            plan: &plan,
            prediction: prediction.as_ref(),
        };
        if let Some(path) = &self.json {
            write_text(path, &shown_json(&placement_json(&report)), self.force)?;
        }
        if let Some(path) = &self.html {
            write_text(path, &placement_page(&report), self.force)?;
        }
        if let Some(path) = &self.output {
            self.write_file(path, profile, &plan)?;
        }
        if !self.quiet && self.json.as_deref() != Some(Path::new("-")) {
            let text = placement_text(&report, self.top, terminal_width(), color());
            write_text(Path::new("-"), &text, false)?;
            say!("\nNext: {}", self.next(&report))?;
        }
        Ok(Default::default())
    }

    /// What to type next.
    fn next(&self, report: &PlacementReport) -> String {
        match (&self.output, report.prediction) {
            (Some(path), None) => run_it(path, &shown(&report.profile.command.join(" "))),
            (Some(path), Some(_)) => {
                let program = report
                    .profile
                    .command
                    .first()
                    .map_or("PROGRAM", String::as_str);
                run_it(
                    path,
                    &format!("{} with the input of that size", shown(program)),
                )
            }
            (None, None) => format!(
                "add -o NAME.rlplace for a file that reuselens run places the data by; \
                 reuselens report {} --by object,line shows who accesses them",
                report.name
            ),
            (None, Some(_)) => "add -o NAME.rlplace for a file that reuselens run places the data \
                                by; --check PROFILE compares with a run of that size"
                .to_owned(),
        }
    }

    /// Writes the placement file for a location file of flexmalloc.
    fn import(
        &self,
        from: &Path,
        to: &Path,
        profile: &Profile,
        machine: &MemoryMachine,
    ) -> anyhow::Result<()> {
        let text = read_text(from, MAX_FILE_BYTES)
            .map_err(|error| unreadable(from, &error, "name a location file of flexmalloc"))?;
        let imported = import_flexmalloc(&text, profile, machine)
            .map_err(|error| anyhow::anyhow!("{}: {error}", from.display()))?;
        for line in &imported.left_out {
            tell!("reuselens: warning: {}: {}", from.display(), shown(line));
        }
        write_text(to, &imported.file.to_toml()?, self.force)?;
        if !self.quiet {
            let objects = counted(imported.file.objects.len() as u64, "object", "objects");
            let slow = counted(imported.slow as u64, "location needs", "locations need");
            let left = imported.left_out.len() as u64;
            let left = counted(left, "location", "locations");
            say!(
                "{objects} in {}; {slow} no placing; {left} left out",
                to.display()
            )?;
            let command = shown(&profile.command.join(" ")).to_string();
            say!("\nNext: {}", run_it(to, &command))?;
        }
        Ok(())
    }

    /// Refuses a file of this option that exists.
    fn check(&self, option: &str, path: Option<&Path>) -> anyhow::Result<()> {
        match path.filter(|path| *path != Path::new("-")) {
            None => Ok(()),
            Some(path) => AtomicFile::check(path, self.force).map_err(|error| {
                // `-o` names another output here.
                let with = format!("with {option}");
                anyhow::anyhow!(error.to_string().replace("as with -o", &with))
            }),
        }
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
        for name in left_out.other_tiers {
            tell!(
                "reuselens: warning: '{name}' has chunks in several tiers, and `reuselens run` \
                 places those of one: the others are not in {}",
                path.display()
            );
        }
        for (name, piece) in left_out.small_tiers {
            tell!(
                "reuselens: warning: tier '{name}' holds less than {piece}, the pieces in which \
                 `reuselens run` takes memory for it, so that it will refuse this file; plan for \
                 {piece} or more"
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
        if let Some(FastSize {
            bytes: Bytes(bytes @ 1..FEW_BYTES),
            has_unit: false,
        }) = self.fast
        {
            tell!(
                "reuselens: warning: --fast {bytes} is {bytes} bytes; write --fast {bytes}M for \
                 {bytes} MiB"
            );
        }
        match (self.fast.map(|size| size.bytes), &self.machine) {
            (Some(Bytes(0)), _) => {
                let text = "--fast is 0, and nothing fits into that; give a size, as in --fast 16M";
                Err(Usage(text.to_owned()).into())
            }
            (Some(capacity), None) => Ok(MemoryMachine::of_fast_memory(capacity)),
            (Some(capacity), Some(name)) => Ok(memory_machines::find(name)?.with_fast(capacity)),
            (None, Some(name)) => memory_machines::find(name),
            (None, None) => {
                let text = format!(
                    "there is no fast memory to plan for; add --fast SIZE (16M), or --machine with \
                     a file of memory tiers (docs/commands/place.md) or one of: {}",
                    memory_machines::names()
                );
                Err(Usage(text).into())
            }
        }
    }

    /// The cache in front of the memory.
    fn cache_in_front(
        &self,
        machine: &MemoryMachine,
        profile: &Profile,
    ) -> anyhow::Result<CacheSize> {
        let known = profile.machine.data_caches();
        let last = known.last().map(|cache| cache.size.into());
        let asked = self.cache.as_deref();
        let asked = asked.map(|text| asked_cache(text, profile)).transpose()?;
        match asked.or(machine.cache.map(CacheSize::from)).or(last) {
            Some(size) => Ok(size),
            // The published metric does not need caches.
            None if self.objective == Objective::F => Ok(Bytes(0).into()),
            None => {
                let text = "the profile does not say which caches its machine has; add --cache SIZE, \
                            as in --cache 1M";
                Err(Usage(text.to_owned()).into())
            }
        }
    }
}

/// What to type to run a command by a placement file.
fn run_it(path: &Path, command: &str) -> String {
    format!(
        "reuselens run --placement {} --verify -- {command}",
        path.display()
    )
}

/// The cache that `--cache` names.
fn asked_cache(text: &str, profile: &Profile) -> Result<CacheSize, Usage> {
    let spec = text.parse::<CacheSpec>();
    let spec = spec.map_err(|error| Usage(format!("--cache {text}: {error}")))?;
    match spec.on(&profile.machine) {
        Some(CacheSize {
            bytes: Bytes(0), ..
        }) => Err(Usage(format!(
            "--cache {text}: a cache of 0 bytes serves nothing; take --objective f to count all \
             accesses, or give a size, as in --cache 1M"
        ))),
        Some(cache) => match cache.model(profile.granularity) {
            Ok(_) => Ok(cache),
            Err(error) => Err(Usage(format!("--cache {text}: {error}"))),
        },
        None => {
            let known = profile.machine.data_caches();
            let known: Vec<String> = known.iter().map(|cache| cache.name()).collect();
            Err(Usage(format!(
                "--cache {text} is neither a size (1M, 512KiB) nor a cache of the profile's \
                 machine ({})",
                if known.is_empty() {
                    "none known".to_owned()
                } else {
                    known.join(", ")
                }
            )))
        }
    }
}
