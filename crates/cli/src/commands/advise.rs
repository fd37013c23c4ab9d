//! `reuselens advise`: what to change in a program, from its profile.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use reuselens::io::AtomicFile;
use reuselens::units::shown_json;
use reuselens_advisor::{MissAdvice, advise};
use reuselens_report::{AdviceTextOptions, advice_json, advice_sarif, advice_text};

use crate::exit::{Outcome, Usage};
use crate::files::read_profile;
use crate::output::{color, terminal_width, top, write_text};
use crate::say::say;

/// Say what to change in a program: where it misses needlessly, why, and what would help
#[derive(clap::Args, Debug)]
#[command(override_usage = "reuselens advise PROFILE [OPTIONS]")]
pub struct Args {
    /// The profile; `reuselens profile --why` records all that the rules look at
    profile: PathBuf,

    /// How many findings are printed, the costliest first
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = top, help_heading = "Output")]
    most: usize,

    /// Write all findings as JSON (schema reuselens-advice/1); `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    json: Option<PathBuf>,

    /// Write all findings as SARIF 2.1.0, for tools that review code; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    sarif: Option<PathBuf>,

    /// Overwrite files
    #[arg(short, long, help_heading = "Output")]
    force: bool,
}

impl Args {
    /// Applies the rules.
    pub fn run(self) -> Outcome {
        let standard_output = self.prepare_outputs()?;
        let profile = read_profile(&self.profile)?;
        let command = profile.command_line();
        let advice = advise(&profile);
        if let Some(path) = &self.json {
            let text = advice_json(&advice, &command);
            write_text(path, &shown_json(&text), self.force)?;
        }
        if let Some(path) = &self.sarif {
            let text = advice_sarif(&advice, &command);
            write_text(path, &shown_json(&text), self.force)?;
        }
        if !standard_output {
            let options = AdviceTextOptions {
                most: self.most,
                width: terminal_width(),
                color: color(),
            };
            write_text(
                Path::new("-"),
                &advice_text(&advice, &command, &options),
                false,
            )?;
            say!("\nNext: {}", self.next(&advice))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// What to do after reading the findings.
    fn next(&self, advice: &MissAdvice) -> String {
        let profile = self.profile.display();
        match (advice.findings.first(), advice.unknown.first()) {
            (Some(first), _) => format!(
                "reuselens explain {}, change it, profile again with -o after, then: reuselens \
                 diff {profile} after.rlprof",
                first.rule.name
            ),
            (None, Some(unknown)) if advice.lacks_causes() => {
                unknown.how.trim_start_matches("Run: ").to_owned()
            }
            _ => format!("reuselens report {profile}"),
        }
    }

    /// Fails before the work if an output cannot be written. Returns whether standard output
    /// belongs to one.
    fn prepare_outputs(&self) -> anyhow::Result<bool> {
        let is_standard = |path: &Path| path == Path::new("-");
        let files = [&self.json, &self.sarif].into_iter().flatten();
        for path in files.filter(|path| !is_standard(path)) {
            AtomicFile::check(path, self.force)?;
        }
        let json = self.json.as_deref().is_some_and(is_standard);
        let sarif = self.sarif.as_deref().is_some_and(is_standard);
        if json && sarif {
            let text = "only one of --json and --sarif can have standard output; name a file for \
                        the other";
            return Err(Usage(text.to_owned()).into());
        }
        Ok(json || sarif)
    }
}
