//! `reuselens info`: prints what a trace contains.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use reuselens::formats::survey;
use reuselens::profile::Profile;
use reuselens::units::{Bytes, counted, shown_json, shown_lines};
use reuselens_document::numbers::grouped;

use crate::exit::{self, Outcome};
use crate::files::{is_profile, read_profile, refuse_what_is_no_trace};
use crate::holdings;
use crate::options;
use crate::output::{check_outputs, write_whole};
use crate::part::{self, PartArgs};
use crate::say::{say, stdout};
use crate::shell_words::for_a_shell;

/// Say what a trace holds: accesses, threads, modules, whether it is complete
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The trace (or a profile); `-` is standard input
    trace: PathBuf,

    /// The format of the trace (see `reuselens formats`); without it, found from its content
    #[arg(long, value_name = "NAME", value_parser = options::format)]
    format: Option<String>,

    #[command(flatten)]
    part: PartArgs,

    /// Write it as JSON; `-` is standard output, and then nothing else is printed there
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    json: Option<PathBuf>,

    /// Overwrite the JSON file
    #[arg(short, long, help_heading = "Output")]
    force: bool,
}

impl Args {
    /// Reads the trace and prints what it contains.
    pub fn run(self) -> Outcome {
        if self.format.is_none() && is_profile(&self.trace) {
            return self.profile();
        }
        refuse_what_is_no_trace(&self.trace, self.format.as_deref())?;
        let format = self.format.as_deref();
        let json_is_out = check_outputs(&self.json, self.force)? > 0;
        let part = self.part.selection(&self.trace, format)?;
        let mut survey = survey(&self.trace, format, &part)?;
        let is_nothing = survey.summary.accesses() == 0 && survey.incomplete.is_none();
        if let Some(chosen) = part::chosen(&part).filter(|_| is_nothing) {
            return Err(part::nothing(&chosen, &self.trace).into());
        }
        if !part.is_all() {
            // The file's bytes are not those of the part.
            survey.bytes = None;
        }
        let mut out = stdout();
        if let Some(path) = &self.json {
            let text = holdings::document(&self.trace, &survey).to_string();
            let mut text = shown_json(&text).into_owned();
            text.push('\n');
            if json_is_out {
                out.write_all(text.as_bytes())?;
                return Ok(exit::done(holdings::is_truncated(&survey)));
            }
            write_whole(path, text.as_bytes(), self.force)?;
        }
        let text = holdings::text(&self.trace, &survey);
        out.write_all(shown_lines(&text).as_bytes())?;
        let next = self.next();
        writeln!(out, "\nNext: {}", shown_lines(&next))?;
        Ok(exit::done(holdings::is_truncated(&survey)))
    }

    /// What to do next: to analyse the trace, in the same format.
    fn next(&self) -> String {
        let mut words = vec!["analyze".to_owned()];
        let format = self.format.iter().cloned();
        words.extend(format.flat_map(|format| ["--format".to_owned(), format]));
        if self.trace == Path::new("-") {
            words.push("FILE".to_owned());
            let analyze = for_a_shell(words);
            return format!("save the trace to a file, then {analyze}");
        }
        words.push(self.trace.display().to_string());
        let analyze = for_a_shell(words);
        format!("{analyze}, or a part: --from 25% --until 50%")
    }

    /// Prints what a profile is of.
    fn profile(&self) -> Outcome {
        if self.json.is_some() {
            anyhow::bail!(
                "{0} is a profile, and `reuselens report {0} --json FILE` writes what is in it",
                self.trace.display()
            );
        }
        let profile = read_profile(&self.trace)?;
        say!(
            "{}: a profile of {}, made by reuselens {} with the engine {}\n{}\n{}; {}",
            self.trace.display(),
            profile.command.join(" "),
            profile.version,
            profile.method.engine,
            profile.method.source,
            what(&profile),
            counted(profile.warnings.len() as u64, "warning", "warnings"),
        )?;
        say!("\nNext: reuselens report {}", self.trace.display())?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The number of accesses of a profile, and of their data.
fn what(profile: &Profile) -> String {
    let accesses = counted(profile.histogram.accesses(), "access", "accesses");
    if let Some(limit) = profile.method.max_distance {
        return format!(
            "{accesses}; distances of {} and more are not measured",
            grouped(limit)
        );
    }
    let about = reuselens_report::about(&profile.method);
    let items = counted(profile.first_touches(), "distinct item", "distinct items");
    let size = if profile.method.ids {
        String::new()
    } else {
        format!(" of {}", Bytes(profile.granularity.bytes()))
    };
    format!("{accesses} to {about}{items}{size}")
}
