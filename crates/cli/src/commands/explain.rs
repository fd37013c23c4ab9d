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

/// Letters in which a mistyped name differs at most from the name that is meant.
const MOST_TYPOS: usize = 3;

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
        let rule = rule_named(name).map_err(Usage)?;
        let text = explain_text(rule, terminal_width(), color());
        write_text(Path::new("-"), &text, false)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The rule of this name, in letters of any case and with any of `-`, `_` and space in it.
///
/// # Errors
/// What to write, if there is no such rule.
pub(super) fn rule_named(name: &str) -> Result<&'static FindingRule, String> {
    let plain = name.trim().to_lowercase().replace(['_', ' '], "-");
    let found = rules().find(|rule| rule.name == plain);
    found.ok_or_else(|| unknown(name, &plain))
}

/// The rules of all advisors.
fn rules() -> impl Iterator<Item = &'static FindingRule> {
    reuselens_advisor::rules().chain(reuselens_gpu_advisor::rules())
}

/// The message about a name that no rule has; names that are nearly the same or share a word with
/// it are listed.
fn unknown(name: &str, plain: &str) -> String {
    let words: Vec<&str> = plain.split('-').filter(|word| word.len() > 2).collect();
    let is_near = |rule: &FindingRule| strsim::damerau_levenshtein(rule.name, plain) <= MOST_TYPOS;
    let has_word = |rule: &FindingRule| words.iter().any(|word| rule.name.contains(word));
    let is_like = |rule: &&FindingRule| is_near(rule) || has_word(rule);
    let mut like: Vec<&FindingRule> = rules().filter(is_like).collect();
    like.sort_by_key(|rule| !is_near(rule));
    let like: Vec<&str> = like.iter().map(|rule| rule.name).collect();
    let like = if like.is_empty() {
        String::new()
    } else {
        format!("; names like it: {}", like.join(", "))
    };
    format!("there is no rule '{name}'{like}; `reuselens explain` lists all")
}
