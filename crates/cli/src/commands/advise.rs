//! `reuselens advise`: what to change in a program, from its profile; in GPU kernels, from a run.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use reuselens::units::{counted, shown_json};
use reuselens_gpu_advisor::AdvisorOptions;
use reuselens_ptx::LaunchSelection;
use reuselens_report::{
    AdviceReport, AdviceTextOptions, GpuFindings, ShownProfile, advice_gitlab, advice_json,
    advice_markdown, advice_sarif, advice_text,
};

use super::explain::rule_named;
use super::gpu::{input, report::stream_run};
use crate::exit::{LIMIT_BROKEN, Outcome, Usage};
use crate::files::{is_gpu_run, is_warp_stream, read_gpu_run, read_profile};
use crate::output::{
    check_outputs, color, is_standard_output, rows_of_list, terminal_width, write_text,
};
use crate::say::{say, tell};
use crate::sources::repository;

/// Say what to change in a program: where it misses needlessly, why, and what would help
#[derive(clap::Args, Debug)]
#[command(override_usage = "reuselens advise PROFILE [OPTIONS]")]
pub struct Args {
    /// The profile; `reuselens profile --why` records all that the rules look at. Of a CUDA program
    /// its run (NAME.rlgpu), or a stream of warp instructions (NAME.rlwarp)
    profile: PathBuf,

    /// How many findings are printed, the costliest first
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = most, help_heading = "Output")]
    most: usize,

    /// Write all findings as JSON (schema reuselens-advice/1); `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    json: Option<PathBuf>,

    /// Write all findings as SARIF 2.1.0, for tools that review code; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    sarif: Option<PathBuf>,

    /// Write all findings with a line as a report of code quality, for GitLab; `-` is standard
    /// output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    gitlab: Option<PathBuf>,

    /// Write the findings in Markdown, for the summary of a pull request; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    markdown: Option<PathBuf>,

    /// The folder at which paths begin in SARIF, Markdown and the report for GitLab. Without it,
    /// the one around the current folder that version control marks (.git)
    #[arg(long, value_name = "FOLDER", help_heading = "Output")]
    relative_to: Option<PathBuf>,

    /// End with exit code 3 if there is a finding of these rules (`any`: of any rule), for
    /// continuous integration; several allowed
    #[arg(long, value_name = "RULE", value_parser = fail_on, value_delimiter = ',')]
    fail_on: Vec<String>,

    /// Overwrite files
    #[arg(short, long, help_heading = "Output")]
    force: bool,
}

/// The name that stands for all rules.
const ANY: &str = "any";

impl Args {
    /// Applies the rules.
    pub fn run(self) -> Outcome {
        if check_outputs(self.outputs(), self.force)? > 1 {
            let text = "only one of --json, --sarif, --gitlab and --markdown can have standard \
                        output; name a file for the others";
            return Err(Usage(text.to_owned()).into());
        }
        if is_gpu_run(&self.profile) {
            let run = GpuFindings::from(read_gpu_run(&self.profile)?);
            return self.show(&AdviceReport::of_gpu_file(&run));
        }
        if is_warp_stream(&self.profile) {
            let mut source = input::open(&self.profile)?;
            let (run, read) = {
                let mut all = LaunchSelection::default();
                stream_run(
                    &self.profile,
                    &mut *source,
                    AdvisorOptions::default(),
                    &mut all,
                )
            };
            let code = self.show(&AdviceReport::of_gpu_run(&run))?;
            read?;
            return Ok(code);
        }
        let profile = read_profile(&self.profile)?;
        self.show(&AdviceReport::of(&ShownProfile::new(&profile)))
    }

    /// The outputs that were asked for.
    fn outputs(&self) -> impl Iterator<Item = &PathBuf> {
        let all = [&self.json, &self.sarif, &self.gitlab, &self.markdown];
        all.into_iter().flatten()
    }

    /// Writes the findings in all forms that are wanted.
    fn show(&self, report: &AdviceReport<'_>) -> Outcome {
        // Before anything is written: a wrong folder leaves no half of the files.
        let root = self.root()?;
        let root = root.as_deref();
        if let Some(path) = &self.json {
            write_text(path, &shown_json(&advice_json(report)), self.force)?;
        }
        if let Some(path) = &self.sarif {
            write_text(path, &shown_json(&advice_sarif(report, root)), self.force)?;
        }
        if let Some(path) = &self.gitlab {
            write_text(path, &shown_json(&advice_gitlab(report, root)), self.force)?;
        }
        if let Some(path) = &self.markdown {
            write_text(path, &advice_markdown(report, root, self.most), self.force)?;
        }
        if !self.outputs().any(|path| is_standard_output(path)) {
            let options = AdviceTextOptions {
                most: self.most,
                width: terminal_width(),
                color: color(),
            };
            write_text(Path::new("-"), &advice_text(report, &options), false)?;
            say!("\nNext: {}", self.next(report))?;
        }
        Ok(self.code(report))
    }

    /// The folder at which paths of the repository begin; `None` if there is none.
    fn root(&self) -> Result<Option<String>, Usage> {
        let folder = match &self.relative_to {
            Some(folder) => match std::fs::canonicalize(folder) {
                Ok(found) if found.is_dir() => Some(found),
                _ => {
                    let folder = folder.display();
                    return Err(Usage(format!(
                        "--relative-to {folder} is no folder; name the folder of the repository"
                    )));
                }
            },
            None => repository(),
        };
        Ok(folder.and_then(|folder| folder.into_os_string().into_string().ok()))
    }

    /// What to do after reading the findings.
    fn next(&self, report: &AdviceReport<'_>) -> String {
        let file = self.profile.display();
        let is_gpu = report.is_of_gpu();
        match (report.findings().first(), report.next()) {
            (Some(first), _) if is_gpu => format!(
                "reuselens explain {}, change it, then profile again and compare: reuselens gpu \
                 diff BEFORE.rlgpu AFTER.rlgpu",
                first.rule.name
            ),
            (Some(first), _) => format!(
                "reuselens explain {}, change it, profile again with -o after, then: reuselens \
                 diff {file} after.rlprof",
                first.rule.name
            ),
            (None, Some(next)) => next.to_owned(),
            (None, None) if is_gpu => "reuselens explain".to_owned(),
            (None, None) => format!("reuselens report {file}"),
        }
    }

    /// The exit code: 3 if there is a finding that `--fail-on` asks about.
    fn code(&self, report: &AdviceReport<'_>) -> ExitCode {
        let is_asked = |rule: &str| self.fail_on.iter().any(|name| name == ANY || name == rule);
        let rules = report.findings().iter().map(|it| it.rule.name);
        let rules: Vec<&str> = rules.filter(|rule| is_asked(rule)).collect();
        let Some(first) = rules.first() else {
            return ExitCode::SUCCESS;
        };
        let findings = counted(rules.len() as u64, "finding", "findings");
        tell!("reuselens: {findings} that --fail-on names, the first of {first}");
        ExitCode::from(LIMIT_BROKEN)
    }
}

/// How many findings are printed: 1 or more.
fn most(text: &str) -> Result<usize, String> {
    rows_of_list(text).ok_or_else(|| {
        "a list has 1 finding or more; write for instance --most 5; --json FILE writes all without \
         a list"
            .to_owned()
    })
}

/// A rule of `--fail-on`, or all.
fn fail_on(text: &str) -> Result<String, String> {
    match text {
        ANY => Ok(ANY.to_owned()),
        name => rule_named(name).map(|rule| rule.name.to_owned()),
    }
}
