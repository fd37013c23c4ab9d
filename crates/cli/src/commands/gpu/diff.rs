//! `reuselens gpu diff`: compares two runs of a kernel, each read from a stream, which is a file
//! of warp instructions. It compares the total reuse degree at each distance ([`Characteristic`])
//! and the memory transactions. `map` shows its gain by [`transactions`], [`gained`], [`show`] and
//! [`section`] too.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use reuselens::units::{counted, grouped, grouped_wide};
use reuselens_document::Section;
use reuselens_simt::transactions::{DataLayout, Transactions};
use reuselens_simt::{Characteristic, Difference, KernelRun, SimtError};

use super::analyze::{heads, row};
use super::diff_runs;
use super::input::{Machine, Output, SimtInput, added_up};
use super::passes::{Wanted, analysed};
use super::pictures;
use crate::exit::{Outcome, Usage};
use crate::files;
use crate::say::tell;

/// What changed between two runs of a CUDA program (.rlgpu), or of a kernel (.rlwarp): its reuse
/// after minus that before, distance by distance
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The run or stream before
    before: PathBuf,
    /// The run or stream after
    after: PathBuf,

    #[command(flatten)]
    input: SimtInput,

    #[command(flatten)]
    machine: Machine,

    #[command(flatten)]
    output: Output,
}

impl Args {
    /// Refuses profiles of a program, which another command compares.
    fn refuse_profiles(&self) -> Result<(), Usage> {
        let (before, after) = (&self.before, &self.after);
        let is_profile = |path: &&PathBuf| files::is_profile(path);
        match [before, after].into_iter().find(is_profile) {
            None => Ok(()),
            Some(path) => Err(Usage(format!(
                "{} is the profile of a program, and no run of a kernel; compare profiles with: \
                 reuselens diff {} {}",
                path.display(),
                before.display(),
                after.display()
            ))),
        }
    }

    /// Reads both runs, prints what changed, and writes the files that the options ask for.
    pub fn run(self) -> Outcome {
        if diff_runs::compare(&self.before, &self.after, &self.output)?.is_some() {
            return Ok(ExitCode::SUCCESS);
        }
        self.refuse_profiles()?;
        self.machine.warn();
        let wanted = Wanted {
            block: None,
            sharing: false,
        };
        let analyse = |path| analysed(path, &self.input, &self.machine, wanted);
        let (before, after) = (analyse(&self.before)?, analyse(&self.after)?);
        for (path, run) in [(&self.before, &before), (&self.after, &after)] {
            let called = self.input.called(&run.launch, run.is_last);
            let blocks = counted(run.launch.grid.count(), "block", "blocks");
            let threads = counted(run.launch.block.count(), "thread", "threads");
            let path = path.display();
            self.output
                .say(&format!("{path}: {called}, {blocks} of {threads}"))?;
        }
        if before.launch.kernel != after.launch.kernel {
            tell!(
                "reuselens: warning: these are runs of two kernels, not of one before and after a change"
            );
        }
        // Each run's data counts at the addresses that the run had. Where items are lines
        // (`--granularity`), transactions cannot be counted, and their line is left out.
        if let Some(counts) = before.transactions.zip(after.transactions) {
            let line = gained("data where it is", &counts);
            self.output.say(&line)?;
        }
        // The scenario may make several reference streams of a run: these are added up.
        let (before, after) = (added_up(&before.named), added_up(&after.named));
        self.output.say(&self.machine.line())?;
        show(&self.output, &before, &after)?;
        self.output
            .csv(&csv(&Difference::between(&before, &after)))?;
        let title = format!("{} → {}", self.before.display(), self.after.display());
        self.output
            .html(|| pictures::page(&title, &[], &[section(before, after)]))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Transactions before and after.
pub type Counts = (Transactions, Transactions);

/// Transactions of two runs, by warps of `lanes` threads.
///
/// # Errors
/// [`SimtError::Unfit`] if the items of a run are lines and not elements, or if `lanes` is 0.
pub fn transactions(
    before: &KernelRun,
    after: &KernelRun,
    layout: DataLayout,
    lanes: usize,
) -> Result<Counts, SimtError> {
    Ok((
        Transactions::of_warps(before, layout, lanes)?,
        Transactions::of_warps(after, layout, lanes)?,
    ))
}

/// Transactions before and after, in words: the sum, and the average of a request. A request is one
/// memory instruction of one warp. `what` is where the data are.
pub fn gained(what: &str, (before, after): &Counts) -> String {
    let change = 100.0 * (after.sectors as f64 / before.sectors.max(1) as f64 - 1.0);
    format!(
        "Transactions (sectors of 32 B), {what}: {} → {} ({change:+.1} %), {:.2} → {:.2} a request",
        grouped(before.sectors),
        grouped(after.sectors),
        before.average(),
        after.average()
    )
}

/// Prints both characteristics, the change of the total reuse degree, and the reuse-distance
/// domain, which is the largest distance that has reuse.
pub fn show(
    output: &Output,
    before: &Characteristic,
    after: &Characteristic,
) -> anyhow::Result<()> {
    let change = Difference::between(before, after);
    output.say(&heads())?;
    output.say(&row("before", before))?;
    output.say(&row("after", after))?;
    let sum = change.sum;
    let total = match sum {
        0 => "unchanged".to_owned(),
        _ => format!(
            "{}{}",
            if sum > 0 { '+' } else { '−' },
            grouped_wide(sum.unsigned_abs())
        ),
    };
    let domain = match change.domain {
        (from, to) if from == to => format!("{from}, unchanged"),
        (from, to) => format!("{from} → {to}"),
    };
    output.say(&format!("Total reuse degree: {total}; domain: {domain}"))
}

/// Both characteristics and their difference, as a part of a page.
pub fn section(before: Characteristic, after: Characteristic) -> Section {
    let change = Difference::between(&before, &after);
    let (from, to) = change.domain;
    let mut panels = pictures::difference(&change);
    panels.extend(pictures::characteristics(&[
        ("before".to_owned(), before),
        ("after".to_owned(), after),
    ]));
    let sum = grouped_wide(change.sum.unsigned_abs());
    let sign = if change.sum < 0 { "−" } else { "" };
    let explain = if change.changes.is_empty() {
        "Reuse is the same before and after, at every distance.".to_owned()
    } else {
        format!(
            "After minus before, distance by distance. The differences add up to {sign}{sum}; the largest distance that has \
             reuse goes from {from} to {to}."
        )
    };
    Section::new("change", "Change", explain).with_pictures(panels)
}

/// The distances at which the reuse degree changed, and by how much, nearest first.
fn csv(change: &Difference) -> String {
    let mut text = "distance,change\n".to_owned();
    for (distance, change) in &change.changes {
        let _ = writeln!(text, "{distance},{change}");
    }
    text
}
