//! `reuselens predict`: predicts an input that has not been run from profiles of others.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;
use reuselens::locality::PatternRule;
use reuselens::profile::{CacheSize, CacheSpec, Profile, Warning};
use reuselens::units::shown_json;
use reuselens_predict::{By, Merging, PredictOptions, Prediction, RARE, Shape};
use reuselens_report::Forecast;

use crate::exit::{Outcome, Usage};
use crate::files::read_profile;
use crate::output::{color, terminal_width, top, write_text};
use crate::say;
use crate::wanted_size::WantedSize;

/// Predict an input that has not been run from two or more that have: misses per cache and line,
/// and where they begin
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Profiles of two or more inputs of different size
    #[arg(
        value_name = "PROFILE",
        required_unless_present = "train",
        conflicts_with = "train"
    )]
    profiles: Vec<PathBuf>,

    /// The same, by an option
    #[arg(long, value_name = "PROFILE", num_args = 1..)]
    train: Vec<PathBuf>,

    #[command(flatten)]
    wanted: WantedSize,

    /// Predict for a cache of this size too, beside those of the machine: 48K, or 48K:12 with sets
    /// of 12 ways
    #[arg(long, value_name = "SIZE[:WAYS]")]
    cache: Option<String>,

    /// Predict by this dimension too, beside the whole program
    #[arg(long, value_enum, default_value = "line")]
    by: ByArg,

    /// Branch outcomes that distinguish paths, for --by path
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(0..=32))]
    history: u32,

    /// Ways of growing to choose from
    #[arg(long, value_enum, default_value = "all")]
    models: Models,

    /// Where a locality pattern ends: valley:DEPTH or threshold:SHARE
    #[arg(long, value_name = "RULE", default_value = "valley:2")]
    patterns: PatternRule,

    /// Leave out of patterns what is rarer than this share of a line's reuses, at the ends of a
    /// pattern or between; 0 leaves nothing out, as published
    #[arg(long, value_name = "SHARE", default_value_t = RARE, value_parser = share)]
    rare: f64,

    /// Match different programs or builds, by the names of their lines
    #[arg(long)]
    loose: bool,

    /// Write the prediction as JSON; `-` is standard output, and then nothing else is printed there
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    json: Option<PathBuf>,

    /// Write a page with curves, hills and tables to this file
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,

    /// How many lines each table names
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = top, help_heading = "Output")]
    top: usize,

    /// Overwrite files
    #[arg(short, long, help_heading = "Output")]
    force: bool,

    /// Print no summary
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
}

/// What to break the prediction down by.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ByArg {
    /// Source lines
    Line,
    /// Instructions
    Instruction,
    /// Instructions and the outcomes of branches before them (profiles made with --by path)
    Path,
}

/// Ways of growing.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Models {
    /// constant, log s, s^1/3, s^1/2, s^2/3, s
    All,
    /// Without log s, and of the size of all data, as in the literature
    Published,
}

impl Args {
    /// Predicts.
    pub fn run(mut self) -> Outcome {
        self.train.append(&mut self.profiles);
        // clap would name --size alone.
        if !self.wanted.is_given() {
            let text = "there is no size to predict for; add one of --size SIZE (64M), --like PROFILE (a run of that size), --check PROFILE (a run to predict and compare with)";
            return Err(Usage(text.to_owned()).into());
        }
        let runs: Vec<Profile> = self
            .train
            .iter()
            .map(|path| read_profile(path))
            .collect::<Result<_, _>>()?;
        let runs: Vec<&Profile> = runs.iter().collect();
        let observed = self.wanted.check.as_deref().map(read_profile).transpose()?;
        let options = PredictOptions {
            cache: self.asked_cache(runs[0])?,
            ..self.options()
        };
        let size = self.wanted.of(&runs, observed.as_ref())?;
        let mut prediction = reuselens_predict::predict(&runs, size, &options)?;
        let check = observed
            .as_ref()
            .map(|run| prediction.check(run, &runs, &options))
            .transpose()?;
        prediction.warnings.extend(
            check
                .as_ref()
                .and_then(|check| other_size(&prediction, check.size)),
        );
        let names: Vec<String> = self.train.iter().map(|path| name(path)).collect();
        let checked = self.wanted.check.as_deref().map(name).unwrap_or_default();
        let forecast = Forecast {
            prediction: &prediction,
            training: names
                .iter()
                .map(String::as_str)
                .zip(runs.iter().copied())
                .collect(),
            observed: observed
                .as_ref()
                .zip(check.as_ref())
                .map(|(run, check)| (checked.as_str(), run, check)),
            by: match self.by {
                ByArg::Line => "line",
                ByArg::Instruction => "instruction",
                ByArg::Path => "path",
            },
            top: self.top,
            width: terminal_width(),
            color: color(),
        };
        self.show(&forecast)
    }

    fn options(&self) -> PredictOptions {
        PredictOptions {
            shapes: match self.models {
                Models::All => Shape::ALL.to_vec(),
                Models::Published => Shape::PUBLISHED.to_vec(),
            },
            merging: Merging {
                rule: self.patterns,
                rare: self.rare,
            },
            fixed: matches!(self.models, Models::All),
            by: match (self.by, self.loose) {
                (ByArg::Instruction, false) => By::Instruction,
                (ByArg::Path, false) => By::Path(self.history),
                _ => By::Line,
            },
            sizes: self.wanted.sizes.clone(),
            loose: self.loose,
            ..PredictOptions::default()
        }
    }

    /// The cache asked for, if there can be one of that size for these items.
    fn asked_cache(&self, run: &Profile) -> Result<Option<CacheSize>, Usage> {
        let Some(text) = &self.cache else {
            return Ok(None);
        };
        let wrong = |error: &dyn std::fmt::Display| Usage(format!("--cache {text}: {error}"));
        let cache = match text.parse().map_err(|error| wrong(&error))? {
            CacheSpec::Sized(cache) => cache,
            CacheSpec::Named(_) => {
                let what = "the caches of the machine are predicted anyhow; write a size, for instance 48K, or 48K:12 with its ways";
                return Err(wrong(&what));
            }
        };
        let model = cache.model(run.granularity);
        model.map_err(|error| wrong(&error))?;
        if cache.items(run.granularity) == 0 {
            return Err(wrong(&"it holds not even one item; write a larger one"));
        }
        Ok(Some(cache))
    }

    fn show(&self, forecast: &Forecast) -> Outcome {
        let taken = self.json.as_deref() == Some(Path::new("-"));
        if let Some(path) = &self.json {
            let text = reuselens_report::forecast_json(forecast);
            write_text(path, &shown_json(&text), self.force)?;
        }
        if let Some(path) = &self.output {
            write_text(path, &reuselens_report::forecast_page(forecast), self.force)?;
        }
        if !self.quiet && !taken {
            let text = reuselens_report::forecast(forecast);
            let next = self.next(forecast.prediction);
            write_text(Path::new("-"), &format!("{text}\n{next}\n"), false)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn next(&self, prediction: &Prediction) -> String {
        if let Some(page) = &self.output {
            return say::page(page);
        }
        let runs: Vec<String> = self
            .train
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        let (train, items) = (runs.join(" "), prediction.size);
        match &self.wanted.check {
            Some(run) => format!(
                "Next: reuselens predict --train {train} --check {} -o prediction.html",
                run.display()
            ),
            None if prediction.given => format!(
                "Next: profile an input of size {items}, and compare: reuselens predict --train {train} --sizes {} --size {items} --check THAT.rlprof",
                self.wanted
                    .sizes
                    .iter()
                    .map(f64::to_string)
                    .collect::<Vec<_>>()
                    .join(",")
            ),
            None => {
                let bytes = (items as u64).saturating_mul(prediction.granularity.bytes());
                format!(
                    "Next: profile an input of that size ({bytes} bytes), and compare: reuselens predict --train {train} --check THAT.rlprof"
                )
            }
        }
    }
}

/// The warning that the run to compare with has far more or less data than was asked for.
fn other_size(prediction: &Prediction, observed: f64) -> Option<Warning> {
    let times = observed / prediction.size;
    let is_other = !prediction.given && !(0.9..=1.1).contains(&times);
    is_other.then(|| Warning {
        code: "other-size".to_owned(),
        message: format!(
            "the run of --check has {times:.2} times the data that was asked for: what is predicted here is of another size than \
             what was observed"
        ),
        hint: "leave out --size and --like to predict for the size of the run of --check".to_owned(),
    })
}

/// How a profile is called: its file without folder and ending.
fn name(path: &Path) -> String {
    path.file_stem().map_or_else(
        || path.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// A share from 0 to below a half.
fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..0.5).contains(share));
    share.ok_or_else(|| {
        "what is rare is 0 or more and less than 0.5; write for instance --rare 0.01".to_owned()
    })
}
