//! `reuselens simt diff`: two streams' characteristics.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use reuselens::units::grouped_wide;
use reuselens_report::{SheetSection, sheet};
use reuselens_simt::{Characteristic, Difference};

use super::analyze::{heads, row};
use super::input::{Input, Machine, Output};
use super::pictures;
use crate::exit::Outcome;

/// What changed between two runs of a kernel: reuse after minus reuse before, distance by distance
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The stream before
    before: PathBuf,
    /// The stream after
    after: PathBuf,

    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    machine: Machine,

    #[command(flatten)]
    output: Output,
}

impl Args {
    /// Compares.
    pub fn run(self) -> Outcome {
        let before = self.machine.sum(&self.input.read(&self.before)?)?;
        let after = self.machine.sum(&self.input.read(&self.after)?)?;
        self.output.say(&format!(
            "Scenario {}: {}",
            self.machine.scenario().number(),
            self.machine.words()
        ))?;
        show(&self.output, &before, &after)?;
        self.output
            .csv(&csv(&Difference::between(&before, &after)))?;
        let title = format!("{} → {}", self.before.display(), self.after.display());
        self.output
            .html(|| sheet(&title, &[], &[section("Change", before, after)]))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Prints both and what changed.
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

/// Both and what changed, as a part of a page.
pub fn section(title: &str, before: Characteristic, after: Characteristic) -> SheetSection {
    let change = Difference::between(&before, &after);
    let (from, to) = change.domain;
    let mut panels = pictures::difference(&change);
    panels.extend(pictures::characteristics(&[
        ("before".to_owned(), before),
        ("after".to_owned(), after),
    ]));
    SheetSection {
        title: title.to_owned(),
        explain: format!(
            "After minus before, distance by distance. The differences add up to {}; the largest distance that has \
             reuse goes from {from} to {to}.",
            change.sum
        ),
        table: (Vec::new(), Vec::new()),
        panels,
    }
}

fn csv(change: &Difference) -> String {
    let mut text = "distance,change\n".to_owned();
    for (distance, change) in &change.changes {
        let _ = writeln!(text, "{distance},{change}");
    }
    text
}
