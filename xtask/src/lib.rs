//! Chores of the project. The one that matters: [`tidy`], which holds the project to its own rules.
//!
//! A rule that nobody checks is forgotten. Each rule here is one file under `checks/` with the same
//! names inside (`NAME`, `WHY`, `check`), and `ARCHITECTURE.md` names the check that holds each
//! invariant. `tests/tidy.rs` runs them all, so `cargo xtask test` does.
//!
//! For: whoever changes this project. Not for: users of reuselens; nothing of this is shipped.

mod checks;
mod csv;
mod finding;
pub mod gpu_day;
pub mod kernels;
pub mod machines;
pub mod miri;
pub mod promises;
pub mod same;
pub mod slowdown;
mod source;
pub mod sources;
pub mod test_suite;
pub mod third_party;
mod workspace;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail, ensure};

pub use checks::{CHECKS, Check};
pub use finding::Finding;
pub use workspace::Workspace;

/// What all checks find, in the order of files and lines.
pub fn tidy(workspace: &Workspace) -> Vec<Finding> {
    let mut findings: Vec<Finding> = CHECKS
        .iter()
        .flat_map(|check| (check.check)(workspace))
        .collect();
    findings.sort_by(|a, b| (&a.file, a.line, &a.what).cmp(&(&b.file, b.line, &b.what)));
    findings
}

/// Runs a command that must succeed.
fn succeed(command: &mut Command) -> anyhow::Result<()> {
    if command.status()?.success() {
        Ok(())
    } else {
        bail!("{:?} failed", command.get_program())
    }
}

/// Runs a command to its end and gives what it printed.
///
/// # Errors
/// If it cannot be run, or fails: then with what it wrote to standard error.
fn output_of(command: &mut Command) -> anyhow::Result<String> {
    let output = command
        .output()
        .with_context(|| format!("cannot run {:?}", command.get_program()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} failed:\n{said}");
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The folder that cargo builds into.
fn target_folder(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root.join("target"), |folder| root.join(folder))
}
