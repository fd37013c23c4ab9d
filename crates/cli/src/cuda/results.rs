//! [`GpuResults`]: what `profile` leaves behind of a CUDA program: NAME.rlgpu, NAME.html, exports,
//! and the summary.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use reuselens::io::{AtomicFile, path_of};
use reuselens::units::shown_json;
use reuselens_gpu_advisor::{
    KernelNames, KernelReport, Ledger, RunFacts, findings, renumber_call_paths,
};
use reuselens_report::{
    GpuPageOptions, GpuRun, GpuTextOptions, RunOrigin, SummedRun, gpu_csv, gpu_json, gpu_page,
    gpu_text,
};

use super::names::RunNames;
use super::own_lines::in_own_lines;
use crate::output::{
    Results, Show, color, numbered, stem, terminal_width, with_ending, write_text,
};
use crate::sources::ProfileOrigin;

/// The ending of the file of a run.
pub const ENDING: &str = "rlgpu";

/// A run with the names of all that is in it, and what to change.
pub fn named(command: String, kernels: Vec<KernelReport>, mut ledger: Ledger) -> GpuRun {
    let names = RunNames::of(&ledger, kernels.iter().map(|kernel| kernel.kernel.as_str()));
    // Calls in one line that the compiler has put in several places are shown as one.
    let numbers = names.equal_paths();
    ledger.renumber_call_paths(&numbers);
    let mut kernels = renumber_call_paths(kernels, &numbers);
    kernels.iter_mut().for_each(in_own_lines);
    let facts = RunFacts {
        kernels: &kernels,
        ledger: &ledger,
        names: &names,
    };
    let findings = findings(&facts);
    for kernel in &mut kernels {
        kernel.name_functions(|function| names.kernel(function));
    }
    GpuRun {
        command,
        origin: RunOrigin::Program,
        kernels,
        ledger,
        call_paths: names.call_paths,
        objects: names.objects,
        findings,
        host: None,
        unanalysed_launches: 0,
        unseen: Vec::new(),
        unrecorded: Vec::new(),
    }
}

/// The files of a run, begun before the work.
pub struct GpuResults {
    run: AtomicFile,
    page: AtomicFile,
    path: PathBuf,
    /// The name that gets a number where another run takes both paths meanwhile; `None` if they
    /// were asked for.
    numbered: Option<String>,
    /// The command by which another run is made.
    pub again: &'static str,
}

impl GpuResults {
    /// `output` is the value of `-o`; without it, the files are called `name`, with a number if
    /// there are such files.
    pub fn begin(output: Option<&Path>, name: &str, show: &Show) -> anyhow::Result<GpuResults> {
        show.check_exports()?;
        let path = match output {
            Some(path) if path.extension().is_some_and(|it| it == ENDING) => path.to_owned(),
            Some(path) => with_ending(path, ENDING),
            None if show.force => path_of(&format!("{name}.{ENDING}")),
            None => numbered(name, &[ENDING, "html"]),
        };
        Ok(GpuResults {
            run: AtomicFile::create(&path, show.force)?,
            page: AtomicFile::create(&path.with_extension("html"), show.force)?,
            path,
            numbered: (output.is_none() && !show.force).then(|| name.to_owned()),
            again: "profile",
        })
    }

    /// Begins the files with what the host's code accesses: NAME.host.rlprof and NAME.host.html.
    pub fn begin_host(&self, show: &Show) -> anyhow::Result<Results> {
        let path = self.path.with_extension("host.rlprof");
        let mut results = Results::begin(Some(&path), &stem(&path), show.force)?;
        if let Some(name) = &self.numbered {
            results.number(name, ["host.rlprof", "host.html"]);
        }
        Ok(results)
    }

    /// Writes the files, then exports and summary, and prints what to do next.
    pub fn finish(mut self, run: GpuRun, show: &Show) -> anyhow::Result<()> {
        let summed = SummedRun::of(&run);
        let json = shown_json(&gpu_json(&summed)).into_owned();
        let page = gpu_page(&summed, &page_options(&run, show));
        let failed = |path: &Path| format!("cannot write {}: is the disk full?", path.display());
        self.run
            .write_all(json.as_bytes())
            .with_context(|| failed(&self.path))?;
        self.page
            .write_all(page.as_bytes())
            .with_context(|| failed(&self.path.with_extension("html")))?;
        if let Some(name) = &self.numbered {
            self.path = self.run.commit_or(|| numbered(name, &[ENDING, "html"]))?;
            self.page.rename_target(&self.path.with_extension("html"));
        } else {
            self.run.commit()?;
        }
        self.page.commit()?;
        if let Some(path) = &show.json {
            write_text(path, &json, show.force)?;
        }
        if let Some(path) = &show.csv {
            write_text(path, &gpu_csv(&summed), show.force)?;
        }
        if show.quiet || show.standard_output_is_taken() {
            return Ok(());
        }
        if run.kernels.is_empty() {
            show.say(match run.unanalysed_launches {
                0 => "no kernel ran",
                _ => "no launch was analysed",
            })?;
        }
        let options = GpuTextOptions {
            top: show.top << show.verbose.min(8),
            width: terminal_width(),
            color: color(),
        };
        write_text(Path::new("-"), &gpu_text(&summed, &options), false)?;
        show.say(&format!(
            "\nPage:    {}  (open it in a browser)",
            self.path.with_extension("html").display()
        ))?;
        show.say(&format!("Run:     {}", self.path.display()))?;
        if let Some(host) = &run.host {
            show.say(&format!("Host:    {}", host.profile))?;
        }
        let is_after = self.path.file_stem().is_some_and(|stem| stem == "after");
        let next = if is_after { "after2" } else { "after" };
        show.say(&format!(
            "Next:    change something, {} again with -o {next}, then: reuselens gpu diff {} \
             {next}.{ENDING}",
            self.again,
            self.path.display()
        ))
    }
}

/// The sources of the kernels that may be shown.
fn page_options(run: &GpuRun, show: &Show) -> GpuPageOptions {
    let files = run.files();
    let files = files.iter().map(String::as_str).collect();
    GpuPageOptions {
        sources: show.sources.texts_of(files, ProfileOrigin::RanHere),
    }
}
