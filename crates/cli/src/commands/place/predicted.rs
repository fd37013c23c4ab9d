//! Plans for an input that was not run, from profiles of others.

use std::path::PathBuf;

use reuselens::profile::{CacheSize, Profile};
use reuselens::units::Bytes;
use reuselens_placement::{PlacementPlan, PlanOptions, TransferredPlan, plan, worth_elsewhere};
use reuselens_predict::{PredictOptions, PredictedProfile, predict_profile};
use reuselens_report::PlacementPrediction;

use crate::exit::Usage;
use crate::files::read_profile;
use crate::wanted_size::WantedSize;

/// Options of a plan for an input that was not run.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "An input that was not run")]
pub struct PredictedArgs {
    #[command(flatten)]
    wanted: WantedSize,

    /// Match objects of different programs or builds, by their names and call paths
    #[arg(long)]
    loose: bool,
}

/// The training runs, the run of `--check`, and what was predicted.
pub struct Predicted {
    runs: Vec<Profile>,
    names: Vec<String>,
    observed: Option<(String, Profile)>,
    options: PredictOptions,
    /// The predicted run.
    pub run: PredictedProfile,
}

impl PredictedArgs {
    /// What the profiles predict; `None` if there is one profile, which is planned itself.
    ///
    /// # Errors
    /// If the options do not fit the number of profiles, or nothing can be predicted from these.
    pub fn predict(&self, paths: &[PathBuf]) -> anyhow::Result<Option<Predicted>> {
        let wants = self.wanted.is_given() || !self.wanted.sizes.is_empty();
        match (paths.len(), wants) {
            (1, false) => return Ok(None),
            (1, true) => {
                let text = "an input that was not run is predicted from two or more profiles of other sizes; name them all: reuselens place SMALL.rlprof MEDIUM.rlprof LARGE.rlprof --size 64M …";
                return Err(Usage(text.to_owned()).into());
            }
            (_, false) => {
                let text = "several profiles are for an input that was not run; add its size: --size SIZE (64M), --like PROFILE (a run of that size), or --check PROFILE (a run to predict and compare with)";
                return Err(Usage(text.to_owned()).into());
            }
            (_, true) => {}
        }
        let runs = paths.iter().map(|path| read_profile(path));
        let runs: Vec<Profile> = runs.collect::<Result<_, _>>()?;
        let observed = self.wanted.check.as_deref();
        let observed = observed.map(|path| {
            let run = read_profile(path)?;
            anyhow::Ok((path.display().to_string(), run))
        });
        let observed = observed.transpose()?;
        let borrowed: Vec<&Profile> = runs.iter().collect();
        let size = self
            .wanted
            .of(&borrowed, observed.as_ref().map(|(_, run)| run))?;
        let options = PredictOptions {
            sizes: self.wanted.sizes.clone(),
            loose: self.loose,
            ..PredictOptions::default()
        };
        let run = predict_profile(&borrowed, size, &options)?;
        Ok(Some(Predicted {
            names: paths
                .iter()
                .map(|path| path.display().to_string())
                .collect(),
            runs,
            observed,
            options,
            run,
        }))
    }
}

impl Predicted {
    /// The name of the plan: the files that it is from.
    pub fn name(&self) -> String {
        self.names.join(", ")
    }

    /// What a report shows of the prediction beside the plan for it.
    ///
    /// # Errors
    /// If the run of `--check` has no plan on the machine.
    pub fn for_report(&self, plan: &PlacementPlan) -> anyhow::Result<PlacementPrediction<'_>> {
        let check = self.observed.as_ref().map(|(name, run)| {
            let worth = worth_elsewhere(plan, &self.run.profile, run)?;
            anyhow::Ok((name.as_str(), worth))
        });
        Ok(PlacementPrediction {
            predicted: &self.run,
            training: self.names.iter().map(String::as_str).collect(),
            rehearsal: self.rehearsal(plan),
            check: check.transpose()?,
        })
    }

    /// The largest run planned from all others, with capacities and cache in proportion to its
    /// size. `None` with two runs, or if there is no such plan.
    fn rehearsal(&self, planned: &PlacementPlan) -> Option<TransferredPlan> {
        let ((largest, size), others) = self.run.training.split_last()?;
        let runs: Vec<&Profile> = others.iter().map(|(run, _)| &self.runs[*run]).collect();
        let sizes = others
            .iter()
            .map(|(run, _)| self.options.sizes.get(*run).copied());
        let options = PredictOptions {
            sizes: sizes.collect::<Option<_>>().unwrap_or_default(),
            ..self.options.clone()
        };
        let predicted = predict_profile(&runs, *size, &options).ok()?.profile;
        let times = size / self.run.size;
        let options = PlanOptions {
            objective: planned.objective,
            cache: CacheSize {
                bytes: Bytes((planned.cache.bytes.get() as f64 * times).round() as u64),
                ..planned.cache
            },
        };
        let again = plan(&predicted, &planned.machine.scaled(times), options).ok()?;
        worth_elsewhere(&again, &predicted, &self.runs[*largest]).ok()
    }
}
