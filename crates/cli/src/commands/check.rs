//! `reuselens check`: holds a profile against limits; the exit code reports whether one is broken.

use std::path::{Path, PathBuf};

use reuselens::profile::LocalityChange;
use reuselens::units::shown_json;
use reuselens_report::{Checked, check_json, check_junit, check_markdown, check_text};

use crate::exit::{Outcome, Usage};
use crate::files::read_profile;
use crate::limits::{self, Rules};
use crate::output::{check_outputs, color, terminal_width, write_text};
use crate::say::{say, tell};

/// Hold a profile against limits: exit code 3 if one is broken, for instance in continuous
/// integration
#[derive(clap::Args, Debug)]
#[command(override_usage = "reuselens check PROFILE [--against BASE] --fail-if RULE…")]
pub struct Args {
    /// The profile
    profile: PathBuf,

    /// Compare with this profile, for limits in percent
    #[arg(long, value_name = "BASE", help_heading = "Limits")]
    against: Option<PathBuf>,

    #[command(flatten)]
    rules: Rules,

    /// Write a table in Markdown, for the summary of a pull request; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    markdown: Option<PathBuf>,

    /// Write JSON (schema reuselens-check/1); `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    json: Option<PathBuf>,

    /// Write a JUnit report, a test for each limit, which services for continuous integration show;
    /// `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    junit: Option<PathBuf>,

    /// Overwrite files
    #[arg(short, long, help_heading = "Output")]
    force: bool,

    /// Print no table; limits that do not hold are still named on standard error
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
}

impl Args {
    /// Checks.
    pub fn run(self) -> Outcome {
        let outputs = [&self.markdown, &self.json, &self.junit]
            .into_iter()
            .flatten();
        let to_standard_output = check_outputs(outputs, self.force)?;
        if to_standard_output > 1 {
            let text = "only one of --markdown, --json and --junit can have standard output; name a file for the others";
            return Err(Usage(text.to_owned()).into());
        }
        let standard_output_is_taken = to_standard_output > 0;
        if !self.rules.are_given() {
            let text = "there is no limit to check; add for instance --fail-if \"miss-ratio@256K > 2 %\", or --limits FILE";
            return Err(Usage(text.to_owned()).into());
        }
        let rules = self.rules.read()?;
        if let (None, Some((limit, _))) = (
            &self.against,
            rules.iter().find(|(limit, _)| limit.needs_base()),
        ) {
            let text = format!(
                "'{limit}' is a change in percent, and there is no profile to compare with; add --against BASE.rlprof"
            );
            return Err(Usage(text).into());
        }
        let profile = read_profile(&self.profile)?;
        let base = self.against.as_deref().map(read_profile).transpose()?;
        if let Some(base) = &base {
            LocalityChange::comparable(base, &profile)?;
        }
        let name = self.profile.display().to_string();
        let base_name = self.against.as_deref().unwrap_or(Path::new(""));
        let base_name = base_name.display().to_string();
        let checked = Checked::new(
            (&name, &profile),
            base.as_ref().map(|base| (base_name.as_str(), base)),
            rules,
        );
        self.write(&checked)?;
        if !self.quiet && !standard_output_is_taken {
            let text = check_text(&checked, terminal_width(), color());
            write_text(Path::new("-"), &text, false)?;
            match base_name.as_str() {
                "" => say!("Next: reuselens report {name} --by line,object")?,
                base => say!("Next: reuselens diff {base} {name} --by line,object")?,
            }
        }
        if self.quiet || standard_output_is_taken {
            // The table is not shown, and a limit that holds for half a run must not pass silently.
            for warning in checked.warnings() {
                tell!("reuselens: warning: {warning}");
            }
        }
        Ok(limits::finish(&checked))
    }

    /// Writes the files that were asked for.
    fn write(&self, checked: &Checked<'_>) -> anyhow::Result<()> {
        if let Some(path) = &self.markdown {
            write_text(path, &check_markdown(checked), self.force)?;
        }
        if let Some(path) = &self.json {
            write_text(path, &shown_json(&check_json(checked)), self.force)?;
        }
        if let Some(path) = &self.junit {
            write_text(path, &check_junit(checked), self.force)?;
        }
        Ok(())
    }
}
