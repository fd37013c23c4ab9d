//! What measuring costs: builds what is needed, and has `programs/slowdown/measure` take its
//! tables.

use std::path::Path;
use std::process::Command;

use crate::succeed;

/// Builds everything and prints the table `what`, of so many turns: see the script.
///
/// # Errors
/// If something cannot be built or run.
pub fn run(root: &Path, what: &str, turns: Option<&str>) -> anyhow::Result<()> {
    let count = ["-p", "reuselens-capture", "--example", "count"];
    for packages in [&["-p", "reuselens-cli"][..], &count] {
        let mut cargo = Command::new("cargo");
        cargo.args(["build", "--release"]).args(packages);
        succeed(cargo.current_dir(root))?;
    }
    let release = root.join("target/release");
    let mut measure = Command::new(root.join("programs/slowdown/measure"));
    measure
        .args([release.join("reuselens"), release.join("examples/count")])
        .arg(what)
        .args(turns);
    succeed(&mut measure)
}
