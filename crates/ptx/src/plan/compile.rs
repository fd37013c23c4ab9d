//! CUDA C++ to PTX: [`compile`] runs nvcc or clang, whichever is found first. For clang it brings
//! headers of its own in place of CUDA's.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use reuselens_io::command_error;

use super::headers::{FORCED_HEADER, SDK_VERSION, UNDEFINED_ARGUMENTS, write_cuda_headers};
use super::vector_copies::{copies_as_vectors, from_ir};

/// Compilers that are looked for, in this order. nvcc knows all of CUDA.
const COMPILERS: [&str; 5] = ["nvcc", "clang-19", "clang-18", "clang-17", "clang"];

/// Without another choice: the oldest architecture with all instructions of warps.
const ARCHITECTURE: &str = "sm_80";

/// What the compiler's preprocessor is given, as with its options `-I` and `-D`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preprocessor {
    /// Folders in which `#include` looks for files, in order.
    pub include: Vec<PathBuf>,
    /// Macros, each as `NAME` or `NAME=VALUE`.
    pub define: Vec<String>,
}

impl Preprocessor {
    /// The options that nvcc and clang take alike.
    fn options(&self) -> impl Iterator<Item = OsString> {
        let option = |name: &str, value: &OsStr| {
            let mut option = OsString::from(name);
            option.push(value);
            option
        };
        let include = self.include.iter();
        let include = include.map(move |folder| option("-I", folder.as_os_str()));
        let define = self.define.iter();
        include.chain(define.map(move |define| option("-D", OsStr::new(define))))
    }
}

/// CUDA C++ that was not compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// No compiler.
    #[error("{path} has to be compiled, and neither nvcc nor clang is there; install one with `{command}`, or give the PTX", command = install())]
    NoCompiler {
        /// The source.
        path: PathBuf,
    },
    /// It does not compile.
    #[error("{compiler} does not compile {path}:\n{}{}", output.trim_end(), hint(compiler))]
    Failed {
        /// Which compiler.
        compiler: String,
        /// The source.
        path: PathBuf,
        /// What it says.
        output: String,
    },
    /// The compiler that was asked for is missing.
    #[error(
        "{variable} names '{compiler}', which is not there; give its path, or unset {variable}"
    )]
    NotThere {
        /// Of the environment.
        variable: &'static str,
        /// What it says.
        compiler: String,
    },
    /// The compiler cannot be run.
    #[error("cannot run {compiler}: {error}")]
    Io {
        /// Which compiler.
        compiler: String,
        /// Why.
        error: io::Error,
    },
}

fn install() -> &'static str {
    if Path::new("/usr/bin/apt-get").exists() {
        "sudo apt-get install clang-19"
    } else {
        "pip install nvidia-cuda-nvcc==13.0.* nvidia-cuda-crt==13.0.* nvidia-cuda-runtime==13.0.* nvidia-cuda-cccl==13.0.* nvidia-nvvm==13.0.*"
    }
}

/// What may be the reason where CUDA's own headers are not used.
fn hint(compiler: &str) -> &'static str {
    if is_nvcc(compiler) {
        ""
    } else {
        "\nclang gets headers of ours in place of CUDA's, with what ordinary programs use (docs/commands/nvcc.md); for more take nvcc (NVCC=PATH) or give its PTX"
    }
}

fn is_nvcc(compiler: &str) -> bool {
    let name = Path::new(compiler).file_name();
    name.is_some_and(|name| name.to_string_lossy().contains("nvcc"))
}

/// Compiles a file. The environment's `NVCC` or `CUDA_CLANG` chooses a compiler; then no other is
/// tried.
///
/// # Errors
/// If there is no compiler, or it says no.
pub fn compile(path: &Path, preprocessor: &Preprocessor) -> Result<String, CompileError> {
    for variable in ["NVCC", "CUDA_CLANG"] {
        let set = std::env::var(variable).ok();
        let Some(compiler) = set.filter(|value| !value.is_empty()) else {
            continue;
        };
        return with(&compiler, path, preprocessor).map_err(|error| match error {
            CompileError::Io { error, .. } if error.kind() == io::ErrorKind::NotFound => {
                CompileError::NotThere { variable, compiler }
            }
            error => error,
        });
    }
    let mut last = None;
    for compiler in COMPILERS {
        match with(compiler, path, preprocessor) {
            Err(CompileError::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => {}
            // An older clang may not know the options.
            Err(error @ CompileError::Failed { .. }) => last = last.or(Some(error)),
            done => return done,
        }
    }
    Err(last.unwrap_or_else(|| CompileError::NoCompiler {
        path: path.to_owned(),
    }))
}

fn with(compiler: &str, path: &Path, preprocessor: &Preprocessor) -> Result<String, CompileError> {
    let call = CompilerCall { compiler, path };
    let folder = tempfile::tempdir().map_err(|error| call.io(error))?;
    let ptx = folder.path().join("kernel.ptx");
    if is_nvcc(compiler) {
        let mut command = Command::new(compiler);
        command.args(["-ptx", "-lineinfo", "-std=c++17", "-arch", ARCHITECTURE]);
        command.args(preprocessor.options());
        call.run(command.arg("-o").arg(&ptx).arg(path))?;
    } else {
        call.by_clang(preprocessor, folder.path(), &ptx)?;
    }
    std::fs::read_to_string(&ptx).map_err(|error| call.io(error))
}

/// A compiler, and what it compiles.
struct CompilerCall<'a> {
    compiler: &'a str,
    path: &'a Path,
}

impl CompilerCall<'_> {
    fn io(&self, error: io::Error) -> CompileError {
        CompileError::Io {
            compiler: self.compiler.to_owned(),
            error,
        }
    }

    /// By way of clang's intermediate code, in which copies are made accesses of vectors.
    fn by_clang(
        &self,
        preprocessor: &Preprocessor,
        folder: &Path,
        ptx: &Path,
    ) -> Result<(), CompileError> {
        write_cuda_headers(folder).map_err(|error| self.io(error))?;
        let ir = folder.join("kernel.ll");
        let mut command = Command::new(self.compiler);
        command.args(["-x", "cuda", "--cuda-device-only", "-nocudainc"]);
        command.args(["-nocudalib", "-S", "-emit-llvm", "-O3"]);
        command.args(["-gline-tables-only", "--cuda-feature=+ptx70"]);
        command.args(["-Wno-unknown-cuda-version", "-include", FORCED_HEADER]);
        command.args(["-Xclang", SDK_VERSION, "-Xclang", UNDEFINED_ARGUMENTS]);
        command.arg("-isystem").arg(folder);
        command.arg(format!("--cuda-gpu-arch={ARCHITECTURE}"));
        command.args(preprocessor.options());
        self.run(command.arg("-o").arg(&ir).arg(self.path))?;
        let text = std::fs::read_to_string(&ir).map_err(|error| self.io(error))?;
        std::fs::write(&ir, copies_as_vectors(&text)).map_err(|error| self.io(error))?;
        let mut command = Command::new(self.compiler);
        command
            .args(from_ir(true))
            .arg(format!("-march={ARCHITECTURE}"));
        self.run(command.arg("-o").arg(ptx).arg(&ir))
    }

    fn run(&self, command: &mut Command) -> Result<(), CompileError> {
        let output = command.output();
        let Output {
            status,
            stdout,
            stderr,
        } = output.map_err(|error| self.io(command_error(self.compiler.as_ref(), error)))?;
        if status.success() {
            return Ok(());
        }
        let output = format!(
            "{}{}",
            String::from_utf8_lossy(&stdout),
            String::from_utf8_lossy(&stderr)
        );
        Err(CompileError::Failed {
            compiler: self.compiler.to_owned(),
            path: self.path.to_owned(),
            output,
        })
    }
}
