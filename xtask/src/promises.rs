//! What the engines and readers promise: builds what is needed, and has `programs/engines/measure`
//! take the figures.

use std::path::Path;
use std::process::Command;

use crate::succeed;

/// Packages with examples that measure.
const MEASURING: [&str; 4] = [
    "reuselens-distance",
    "reuselens-rltrace",
    "reuselens-formats",
    "reuselens",
];

/// Builds everything and measures these parts, all if there are none: see the script. Traces and
/// tables go to `target/promises`.
///
/// # Errors
/// If something cannot be built or run.
pub fn run(root: &Path, parts: &[&str]) -> anyhow::Result<()> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "-p", "reuselens-cli"]);
    succeed(cargo.current_dir(root))?;
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--examples"]);
    cargo.args(MEASURING.map(|package| ["-p", package]).as_flattened());
    succeed(cargo.current_dir(root))?;
    let mut measure = Command::new(root.join("programs/engines/measure"));
    succeed(measure.arg(root.join("target/promises")).args(parts))
}
