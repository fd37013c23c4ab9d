//! [`Rules`]: the options that name limits, for `check` and `diff`; and the messages and exit codes
//! of limits that do not hold.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use reuselens::profile::Limit;
use reuselens_report::Checked;
use serde::Deserialize;

use crate::exit::{LIMIT_BROKEN, Usage};
use crate::files::{read_text, unreadable};
use crate::say::tell;

/// The rules that fail a check.
#[derive(clap::Args, Clone, Debug)]
pub struct Rules {
    /// Fail if this is so: METRIC[@SIZE] [of line|object|function NAME] >|< NUMBER or ±PERCENT, for
    /// instance "misses@256K > +5 %", "miss-ratio@L1d of object grid > 2 %" (several allowed)
    #[arg(long, value_name = "RULE", num_args = 1.., help_heading = "Limits")]
    pub fail_if: Vec<Limit>,

    /// Read rules from a file: TOML, for each a [[limit]] with fail-if = "RULE", and a note if you
    /// like (several allowed)
    #[arg(long, value_name = "FILE", help_heading = "Limits")]
    pub limits: Vec<PathBuf>,
}

/// A file of limits.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LimitsFile {
    #[serde(default)]
    limit: Vec<LimitEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct LimitEntry {
    fail_if: toml::Spanned<String>,
    #[serde(default)]
    note: String,
}

impl Rules {
    /// Whether an option names limits.
    pub fn are_given(&self) -> bool {
        !self.fail_if.is_empty() || !self.limits.is_empty()
    }

    /// All of them, each with its note: those of files first.
    pub fn read(&self) -> anyhow::Result<Vec<(Limit, String)>> {
        let mut rules = Vec::new();
        for path in &self.limits {
            rules.extend(read_file(path)?);
        }
        let typed = self.fail_if.iter().cloned();
        rules.extend(typed.map(|limit| (limit, String::new())));
        Ok(rules)
    }
}

/// The most bytes of a file of limits: far more than anyone writes.
const MAX_LIMITS_BYTES: u64 = 1 << 20;

fn read_file(path: &Path) -> anyhow::Result<Vec<(Limit, String)>> {
    let name = path.display();
    let text = read_text(path, MAX_LIMITS_BYTES).map_err(|error| {
        let next = "name a file of limits in TOML (docs/commands/check.md)";
        unreadable(path, &error, next)
    })?;
    let file: LimitsFile =
        toml::from_str(&text).map_err(|error| Usage(format!("{name}: {error}")))?;
    if file.limit.is_empty() {
        let text = format!(
            "{name} has no limits, so nothing would be checked; write for each a [[limit]] with fail-if = \"misses@256K > +5 %\""
        );
        return Err(Usage(text).into());
    }
    let read = |entry: LimitEntry| {
        let line = 1 + text[..entry.fail_if.span().start].matches('\n').count();
        let limit = entry.fail_if.get_ref().parse::<Limit>();
        let limit = limit.map_err(|error| Usage(format!("{name}, line {line}: {error}")))?;
        Ok((limit, entry.note))
    };
    file.limit.into_iter().map(read).collect()
}

/// A message on standard error for each limit that does not hold, and what the command ends with: 1
/// if one cannot be checked, since a rule that is never checked must not pass; else 3 if one is
/// broken.
pub fn finish(checked: &Checked<'_>) -> ExitCode {
    for message in checked.messages() {
        tell!("reuselens: {message}");
    }
    if checked.unchecked() > 0 {
        ExitCode::FAILURE
    } else if checked.broken() > 0 {
        ExitCode::from(LIMIT_BROKEN)
    } else {
        ExitCode::SUCCESS
    }
}
