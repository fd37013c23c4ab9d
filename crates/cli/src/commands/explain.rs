//! `reuselens explain`: what a rule of `advise` means.

use std::path::Path;
use std::process::ExitCode;

use reuselens_advice::FindingRule;
use reuselens_report::{explain_text, rules_text};

use crate::exit::{Outcome, Usage};
use crate::output::{color, terminal_width, write_text};
use crate::say::say;

/// Explain a rule that `advise` names: when it applies, why that costs time, and code before and
/// after the change
#[derive(clap::Args, Debug)]
#[command(override_usage = "reuselens explain [RULE]")]
pub struct Args {
    /// The rule; without it, all rules are listed
    rule: Option<String>,
}

impl Args {
    /// Explains the rule, or lists all.
    pub fn run(self) -> Outcome {
        let Some(name) = &self.rule else {
            let groups = [
                ("Programs", reuselens_advisor::rules().collect()),
                ("GPU kernels", reuselens_gpu_advisor::rules().collect()),
            ];
            write_text(Path::new("-"), &rules_text(&groups, color()), false)?;
            say!("\nNext: reuselens explain RULE")?;
            return Ok(ExitCode::SUCCESS);
        };
        let Some(rule) = rules().find(|rule| rule.name == name) else {
            return Err(Usage(unknown(name)).into());
        };
        let text = explain_text(rule, terminal_width(), color());
        write_text(Path::new("-"), &text, false)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The rules of all advisors.
fn rules() -> impl Iterator<Item = &'static FindingRule> {
    reuselens_advisor::rules().chain(reuselens_gpu_advisor::rules())
}

/// The message about a name that no rule has; names that share a word with it are listed.
fn unknown(name: &str) -> String {
    let words: Vec<&str> = name
        .split(['-', '_', ' '])
        .filter(|word| word.len() > 2)
        .collect();
    let is_like = |rule: &&FindingRule| words.iter().any(|word| rule.name.contains(word));
    let like: Vec<&str> = rules().filter(is_like).map(|rule| rule.name).collect();
    let like = match like.is_empty() {
        true => String::new(),
        false => format!("; names like it: {}", like.join(", ")),
    };
    format!("there is no rule '{name}'{like}; `reuselens explain` lists all")
}
