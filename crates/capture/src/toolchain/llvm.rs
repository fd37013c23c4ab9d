//! Compiles the LLVM pass (`llvm/pass.cpp`) when it is needed for the first time, with the headers
//! of the installed LLVM 19: a pass must match the LLVM that loads it.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Language, RunTimeFiles};
use crate::CaptureError;

/// The version of LLVM that the pass is written for.
const VERSION: &str = "19";

impl Language {
    /// The compiler used with `--llvm` unless another is named.
    pub const fn llvm_compiler(self) -> &'static str {
        match self {
            Language::C => "clang-19",
            Language::Cxx => "clang++-19",
            Language::Fortran => "flang-new-19",
        }
    }
}

/// Compiles the pass, unless that was done before. Several processes may do so at the same time:
/// each writes a file of its own, and renames it when it is complete. Calls `before` if the pass
/// has to be compiled.
///
/// # Errors
/// If LLVM 19 or its headers are not installed.
pub(super) fn install(files: &RunTimeFiles, before: impl FnOnce()) -> Result<(), CaptureError> {
    let pass = files.pass();
    if pass.is_file() {
        return Ok(());
    }
    let include = include_folder()?;
    let temporary = tempfile::Builder::new()
        .prefix(".new-")
        .suffix(".so")
        .tempfile_in(files.directory())
        .map_err(|source| CaptureError::RunTime {
            path: pass.clone(),
            source,
        })?;
    before();
    let mut reason = String::from("there is no C++ compiler");
    for compiler in ["clang++-19", "g++"] {
        match compile(compiler, &include, &files.pass_source(), temporary.path()) {
            Ok(()) => {
                return temporary
                    .persist(&pass)
                    .map(drop)
                    .map_err(|error| CaptureError::RunTime {
                        path: pass,
                        source: error.error,
                    });
            }
            Err(Some(said)) => reason = said,
            Err(None) => {}
        }
    }
    Err(CaptureError::Llvm { reason })
}

/// The folder of LLVM's headers.
fn include_folder() -> Result<PathBuf, CaptureError> {
    for config in [
        "llvm-config-19",
        "/usr/lib/llvm-19/bin/llvm-config",
        "llvm-config",
    ] {
        let Ok(done) = Command::new(config)
            .args(["--version", "--includedir"])
            .output()
        else {
            continue;
        };
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        let mut lines = said.lines();
        let version = lines.next().unwrap_or_default();
        if version.split('.').next() != Some(VERSION) {
            continue;
        }
        let folder = PathBuf::from(lines.next().unwrap_or_default());
        if folder.join("llvm/Passes/PassPlugin.h").is_file() {
            return Ok(folder);
        }
    }
    Err(CaptureError::Llvm {
        reason: "the headers of LLVM 19 are not there".to_owned(),
    })
}

/// Compiles the pass. On failure, returns the compiler's error message, or `None` if there is no
/// such compiler.
fn compile(
    compiler: &str,
    include: &Path,
    source: &Path,
    pass: &Path,
) -> Result<(), Option<String>> {
    let done = Command::new(compiler)
        .args([
            "-std=c++17",
            "-O1",
            "-fPIC",
            "-shared",
            "-fno-rtti",
            "-fno-exceptions",
            "-w",
        ])
        .args([
            "-D_GNU_SOURCE",
            "-D__STDC_CONSTANT_MACROS",
            "-D__STDC_FORMAT_MACROS",
        ])
        .args(["-D__STDC_LIMIT_MACROS", "-isystem"])
        .arg(include)
        .arg(source)
        .arg("-o")
        .arg(pass)
        .output()
        .map_err(|_| None)?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    let first = said
        .lines()
        .find(|line| line.contains("error"))
        .unwrap_or("it failed");
    Err(Some(format!("{compiler}: {first}")))
}

/// Whether a compiler that was named is of the right version.
///
/// # Errors
/// If it is not, or cannot be run.
pub(super) fn check(compiler: &std::ffi::OsStr) -> Result<(), CaptureError> {
    let done = Command::new(compiler).arg("--version").output();
    let done = done.map_err(|source| CaptureError::Compiler {
        compiler: compiler.to_owned(),
        source,
    })?;
    let said = String::from_utf8_lossy(&done.stdout);
    let mut words = said
        .split_whitespace()
        .skip_while(|word| *word != "version");
    if words
        .nth(1)
        .is_some_and(|version| version.split('.').next() == Some(VERSION))
    {
        return Ok(());
    }
    Err(CaptureError::Llvm {
        reason: format!("{} is not a compiler of LLVM 19", compiler.display()),
    })
}
