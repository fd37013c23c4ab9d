//! PTX of the kernels of all folders, made anew with both compilers.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

const SOURCES: [&str; 6] = [
    "kernels/distance",
    "kernels/graphs",
    NVCC_ONLY,
    "kernels/speed",
    "kernels/suite",
    "kernels/thesis",
];
/// What clang 19 cannot compile.
const NVCC_ONLY: &str = "kernels/nvcc";
const HEADERS: &str = "crates/ptx/include/cuda";
/// What most kernels are compiled for.
const ARCHITECTURE: &str = "sm_80";
/// Folders whose kernels run on older devices too, and the architecture of these.
const OLDER: [(&str, &str); 1] = [("kernels/distance", "sm_75")];

/// Compiles each file with clang-19, if that can, and with nvcc (`NVCC` says which).
///
/// # Errors
/// If a compiler is not there, or says no.
pub fn run(root: &Path) -> anyhow::Result<()> {
    for source in sources(root)? {
        let name = source.with_extension("ptx");
        let name = name.file_name().context("a source has a name")?;
        for (folder, compiler) in [
            ("clang", clang(root, architecture(&source))),
            ("nvcc", nvcc(architecture(&source))),
        ] {
            if !compiles(folder, &source) {
                continue;
            }
            let to = root.join("kernels/ptx").join(folder).join(name);
            compile(compiler, &source, &to)?;
            println!("{}", to.display());
        }
    }
    Ok(())
}

/// Whether the PTX of a source is kept in a folder of `kernels/ptx`.
pub fn compiles(folder: &str, source: &Path) -> bool {
    let is_for_nvcc = source.parent().is_some_and(|of| of.ends_with(NVCC_ONLY));
    folder == "nvcc" || !is_for_nvcc
}

/// The architecture that a source is compiled for.
pub fn architecture(source: &Path) -> &'static str {
    let older = OLDER
        .iter()
        .find(|(folder, _)| source.parent().is_some_and(|of| of.ends_with(folder)));
    older.map_or(ARCHITECTURE, |(_, architecture)| architecture)
}

/// clang-19, with the headers of this project. Products and sums stay two operations, so that
/// results can be calculated anywhere.
pub fn clang(root: &Path, architecture: &str) -> Command {
    let mut clang = Command::new("clang-19");
    clang.args([
        "-x",
        "cuda",
        "--cuda-device-only",
        "-nocudainc",
        "-nocudalib",
        "-S",
        "-O3",
    ]);
    clang.args([
        "--cuda-feature=+ptx70",
        "-ffp-contract=off",
        "-Wno-unknown-cuda-version",
    ]);
    clang.arg(format!("--cuda-gpu-arch={architecture}"));
    clang.args(["-Xclang", "-target-sdk-version=12.3"]);
    clang.arg("-isystem").arg(root.join(HEADERS));
    clang.args(["-include", "reuselens_nvcc.h"]);
    clang
}

/// nvcc, or what `NVCC` names. Products and sums stay two operations here too.
pub fn nvcc(architecture: &str) -> Command {
    let nvcc = std::env::var("NVCC").unwrap_or_else(|_| "nvcc".to_owned());
    let mut command = Command::new(&nvcc);
    command.args(["-ptx", "-fmad=false", "-arch", architecture]);
    command
}

/// All sources, in the order of their names.
///
/// # Errors
/// If a folder cannot be read.
pub fn sources(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for folder in SOURCES {
        for entry in std::fs::read_dir(root.join(folder))? {
            let path = entry?.path();
            if path.extension().is_some_and(|ending| ending == "cu") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Compiles a file.
///
/// # Errors
/// If the compiler is not there, or says no.
pub fn compile(mut command: Command, source: &Path, to: &Path) -> anyhow::Result<()> {
    command.arg("-o").arg(to).arg(source);
    let status = command.status().with_context(|| {
        let program = command.get_program().to_string_lossy();
        format!("cannot run {program}; install it, or name it in NVCC")
    })?;
    anyhow::ensure!(status.success(), "{} does not compile", source.display());
    Ok(())
}
