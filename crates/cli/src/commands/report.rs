//! `reuselens report`: shows a profile again.

use std::path::PathBuf;
use std::process::ExitCode;

use reuselens::io::{path_of, text_of};
use reuselens::profile::Profile;
use reuselens::units::counted;
use reuselens_report::{ShownProfile, Viewer};

use crate::exit::{Outcome, Usage};
use crate::files::read_profile;
use crate::output::{Show, write_whole};
use crate::say::{self, tell};
use crate::sources::{ProfileOrigin, changed_after};

/// Show a profile again: on the terminal, as a page, as JSON, CSV or Parquet
#[derive(clap::Args, Debug)]
#[command(override_usage = "reuselens report PROFILE [OPTIONS]")]
pub struct Args {
    /// The profile
    profile: PathBuf,

    /// One too many
    #[arg(hide = true)]
    others: Vec<PathBuf>,

    /// Write the page to this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    html: Option<PathBuf>,

    /// Write what the ending of this file's name says: .html, .json, .csv, .parquet, .svg, .png, or
    /// what --export writes
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,

    /// Print the summary (the default unless another output is asked for)
    #[arg(long, help_heading = "Output")]
    text: bool,

    #[command(flatten)]
    show: Show,
}

impl Args {
    /// Shows it.
    pub fn run(mut self) -> Outcome {
        self.place_output()?;
        self.show.check_exports()?;
        if let Some(other) = self.others.first() {
            let (one, other) = (self.profile.display(), other.display());
            let text =
                format!("report shows one profile; to compare two: reuselens diff {one} {other}");
            return Err(Usage(text).into());
        }
        let profile = read_profile(&self.profile)?;
        let name = self.profile.file_stem().map_or_else(String::new, text_of);
        let shown = ShownProfile::new(&profile);
        if let Some(path) = &self.html {
            self.warn_of_changed_sources(&profile);
            write_whole(
                path,
                self.show
                    .page(&shown, &name, ProfileOrigin::Anywhere)?
                    .as_bytes(),
                self.show.force,
            )?;
            self.show.say(&say::page(path))?;
        }
        self.show.exports(&shown)?;
        self.show.warn(&profile);
        let other = self.html.is_some() || self.show.export_files().next().is_some();
        if self.text || !other {
            self.show.summary(&shown)?;
            let page = format!("{name}.html");
            let again = match std::fs::exists(path_of(&page)) {
                Ok(true) => " --force",
                _ => "",
            };
            self.show.say(&format!(
                "\nNext: reuselens report {} --html {page}{again}\n  or: reuselens diff {} OTHER.rlprof",
                self.profile.display(),
                self.profile.display()
            ))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Warns of source files that are newer than the profile, since the page shows them by line.
    fn warn_of_changed_sources(&self, profile: &Profile) {
        let made = std::fs::metadata(&self.profile).and_then(|about| about.modified());
        let Ok(made) = made else { return };
        let changed = changed_after(profile, made);
        let Some(first) = changed.first() else {
            return;
        };
        let others = match changed.len() - 1 {
            0 => String::new(),
            others => format!(
                " and {}",
                counted(others as u64, "other file", "other files")
            ),
        };
        tell!(
            "reuselens: warning: {first}{others} changed after the profile was made: the page shows the numbers of the old lines beside \
             the new ones; profile the program again"
        );
    }

    /// Turns `-o` into the option that its ending means.
    fn place_output(&mut self) -> Result<(), Usage> {
        let Some(path) = self.output.take() else {
            return Ok(());
        };
        if Viewer::of(&path).is_some() {
            self.show.export.push(path);
            return Ok(());
        }
        let ending = path.extension().and_then(|ending| ending.to_str());
        let (option, place) = match ending.unwrap_or_default() {
            "html" => ("--html", &mut self.html),
            "json" => ("--json", &mut self.show.json),
            "csv" => ("--csv", &mut self.show.csv),
            "parquet" => ("--parquet", &mut self.show.parquet),
            "svg" => ("--svg", &mut self.show.svg),
            "png" => ("--png", &mut self.show.png),
            _ => {
                let path = path.display();
                return Err(Usage(format!(
                    "the ending of {path} does not say what to write; use .html, .json, .csv, .parquet, .svg, .png or --export's {}, or --html {path}",
                    Viewer::ENDINGS,
                )));
            }
        };
        match place.replace(path) {
            None => Ok(()),
            Some(_) => Err(Usage(format!(
                "-o and {option} write the same; leave one of them out"
            ))),
        }
    }
}
