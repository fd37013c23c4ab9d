//! Builds what a day needs into `target/gpu-day`: the commands, the programs by nvcc, and those
//! with bypassing loads by clang.

use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use super::bypass::WARPS;
use super::programs::{NAMES, SMALLEST_GPU};
use crate::{output_of, succeed, target_folder};

/// CUDA's runtime, as programs that clang makes name it.
const RUNTIME: &str = "libcudart.so.13";
/// The commands that the day runs.
const COMMANDS: [&str; 3] = ["reuselens", "presponse", "xtask"];

/// Builds everything.
///
/// # Errors
/// If something cannot be built.
pub(super) fn run() -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let target = target_folder(&root);
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
    succeed(cargo.args(["-p", "xtask"]).current_dir(&root))?;
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
    bypassing(&root, &folder)?;
    println!("{}", folder.display());
    Ok(())
}

/// The programs by clang, with loads that go by warps, and the runtime that they are linked to.
fn bypassing(root: &Path, folder: &Path) -> anyhow::Result<()> {
    for part in ["bypass", "lib"] {
        std::fs::create_dir_all(folder.join(part))?;
    }
    for name in NAMES {
        let source = root.join("programs/cuda").join(format!("{name}.cu"));
        for warps in WARPS {
            let mut compiler = Command::new(folder.join("reuselens"));
            compiler.env("REUSELENS_NVCC", "clang-19");
            compiler.args(["nvcc", "-O2", "-arch", "sm_80", "--rl-bypass"]);
            compiler.arg(warps.to_string()).arg(&source).arg("-o");
            let program = folder.join("bypass").join(format!("{name}-{warps}"));
            succeed(compiler.arg(program))?;
        }
    }
    let nvcc = output_of(Command::new("sh").args(["-c", "command -v nvcc"]))?;
    let toolkit = Path::new(nvcc.trim()).ancestors().nth(2);
    let toolkit = toolkit.context("nvcc is in a folder `bin`")?;
    let found = ["lib", "lib64"].map(|part| toolkit.join(part).join(RUNTIME));
    let runtime = found.iter().find(|path| path.exists());
    let runtime = runtime.with_context(|| format!("no {RUNTIME} in {}", toolkit.display()))?;
    std::fs::copy(runtime, folder.join("lib").join(RUNTIME))?;
    Ok(())
}
