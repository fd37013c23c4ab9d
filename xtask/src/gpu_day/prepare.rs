//! Builds what a day needs into `target/gpu-day`: the commands, and the programs by nvcc.

use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use super::programs::{NAMES, SMALLEST_GPU};
use crate::succeed;

/// The commands that the day runs.
const COMMANDS: [&str; 3] = ["reuselens", "presponse", "xtask"];

/// Builds everything.
///
/// # Errors
/// If something cannot be built.
pub(super) fn run() -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root.join("target"), |folder| root.join(folder));
    let folder = target.join("gpu-day");
    std::fs::create_dir_all(folder.join("programs"))?;
    let mut cargo = Command::new("cargo");
    cargo.args([
        "build",
        "--release",
        "-p",
        "reuselens-cli",
        "-p",
        "reuselens-presponse",
    ]);
    succeed(cargo.args(["-p", "xtask"]).current_dir(root))?;
    for name in COMMANDS {
        let built = target.join("release").join(name);
        let copied = std::fs::copy(&built, folder.join(name));
        copied.with_context(|| format!("cannot copy {}", built.display()))?;
        // Names of functions are a half of it.
        succeed(Command::new("strip").arg(folder.join(name)))?;
    }
    for name in NAMES {
        let source = root.join("programs/cuda").join(format!("{name}.cu"));
        let mut nvcc = Command::new("nvcc");
        nvcc.args(["-O2", "-lineinfo", "-gencode", SMALLEST_GPU])
            .arg(source);
        succeed(nvcc.arg("-o").arg(folder.join("programs").join(name)))?;
    }
    println!("{}", folder.display());
    Ok(())
}
