//! `reuselens diff`: compares two profiles.

use std::path::{Path, PathBuf};

use reuselens::io::AtomicFile;
use reuselens::profile::Profile;
use reuselens_report::{Checked, CompareOptions, ProfileVariant, check_text};

use crate::exit::{Outcome, Usage};
use crate::files::read_profile;
use crate::limits::{self, Rules};
use crate::options::without_tables;
use crate::output::{
    DifferenceKind, Show, color, is_standard_output, terminal_width, write_text, write_whole,
};
use crate::say;

/// Compare two profiles: which cache sizes win, which lose, and which lines and objects it is
#[derive(clap::Args, Debug)]
#[command(override_usage = "reuselens diff BEFORE AFTER [OPTIONS]", mut_args = without_tables)]
pub struct Args {
    /// The profile before
    before: PathBuf,
    /// The profile after
    after: PathBuf,

    /// The two are one program with a small and a large input: show which reuses move with the
    /// input
    #[arg(long)]
    inputs: bool,

    /// Show the error of the second histogram against the first too: the average of a bin, and bin
    /// by bin
    #[arg(long)]
    error: bool,

    /// Write a page with both curves and histograms to this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    html: Option<PathBuf>,

    /// Write the comparison in Markdown, for the summary of a pull request; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    markdown: Option<PathBuf>,

    #[command(flatten)]
    rules: Rules,
    #[command(flatten)]
    show: Show,
}

impl Args {
    /// Compares.
    pub fn run(mut self) -> Outcome {
        self.show.refuse_tables()?;
        let markdown = self.markdown.as_ref();
        self.show.check_exports_and(markdown)?;
        // On standard output the Markdown is alone.
        self.show.quiet |= markdown.is_some_and(|path| is_standard_output(path));
        let rules = self.rules.read()?;
        if let Some(path) = &self.html {
            // What cannot be written is known before the work.
            AtomicFile::check(path, self.show.force)?;
        }
        let before = read_profile(&self.before)?;
        let after = read_profile(&self.after)?;
        self.show.check_told(&before, &after)?;
        self.check_error(&before, &after)?;
        let how = DifferenceKind {
            inputs: self.inputs,
            error: self.error,
        };
        let names = [&self.before, &self.after].map(|path| path.display().to_string());
        let checked = Checked::new((&names[1], &after), Some((&names[0], &before)), rules);
        self.show.difference(&before, &after, how, names.clone())?;
        self.show
            .difference_json(&before, &after, how, names.clone(), &checked)?;
        if let Some(path) = &self.markdown {
            let text = self
                .show
                .difference_markdown(&before, &after, how, names.clone())?;
            write_text(path, &text, self.show.force)?;
        }
        if self.rules.are_given() {
            let text = check_text(&checked, terminal_width(), color());
            self.show.say(&format!("\n{}", text.trim_end()))?;
        }
        if let Some(path) = &self.html {
            self.page(path, &before, &after, &names)?;
        } else {
            self.show.say(&format!(
                "\nNext: reuselens diff {} {} --html diff.html",
                self.before.display(),
                self.after.display()
            ))?;
        }
        Ok(limits::finish(&checked))
    }

    /// Refuses an error of histograms of which one has all distances and one the near ones.
    fn check_error(&self, before: &Profile, after: &Profile) -> Result<(), Usage> {
        let [one, other] = [before, after].map(|profile| profile.method.max_distance);
        if self.error && one != other {
            let text = "--error compares whole histograms, and these have distances up to different limits; leave it out, or profile both with the same --max-distance";
            return Err(Usage(text.to_owned()));
        }
        Ok(())
    }

    /// Writes the page.
    fn page(
        &self,
        path: &Path,
        before: &Profile,
        after: &Profile,
        names: &[String; 2],
    ) -> anyhow::Result<()> {
        let variants =
            [(before, &names[0]), (after, &names[1])].map(|(profile, name)| ProfileVariant {
                name,
                caption: "",
                profile,
            });
        let options = CompareOptions {
            title: format!("{} → {}", names[0], names[1]),
            cache: self.show.cache(after)?,
            ..CompareOptions::default()
        };
        let page = reuselens_report::compare(&variants, &options)?;
        write_whole(path, page.as_bytes(), self.show.force)?;
        self.show.say(&format!("\n{}", say::page(path)))
    }
}
