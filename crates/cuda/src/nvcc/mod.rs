//! `reuselens nvcc`: compiles CUDA programs ([`compile`]), on machines with and without CUDA.
//!
//! Where nvcc is installed, it does everything, with line information. Else clang compiles, with
//! headers of ours; the program is linked to names of the runtime's functions, and runs under
//! `reuselens profile` or where CUDA's own runtime is installed.
//!
//! | what | modules |
//! |---|---|
//! | the command line | `options`, `table` |
//! | what is done for it | `steps`, `launches`, `container` |
//! | what it is done with | `tools`, `toolkit` |

mod container;
mod launches;
mod options;
mod steps;
mod table;
#[cfg(test)]
mod tests;
mod toolkit;
mod tools;

use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use reuselens_instrument::{BypassWarps, InstrumentError, bypass};
use reuselens_io::command_error;
use reuselens_ptx::plan::copies_as_vectors;

pub use options::{InputKind, LinkItem, NvccCall, NvccPhase, OptionError};
pub use steps::{ClangTools, NvccStep, plan};
use tools::Compiler;

/// The version of CUDA that clang stands in for.
const RELEASE: &str = "13.0";

/// Why nothing was compiled.
#[derive(Debug, thiserror::Error)]
pub enum NvccError {
    /// No compiler.
    #[error("neither nvcc nor clang 16 or newer is installed{}; install one: sudo apt-get install clang-19", old_clang(*old))]
    NoCompiler {
        /// The version of the clang that is too old.
        old: Option<u32>,
    },
    /// The compiler that the environment names.
    #[error("{} names '{}', which is no program; give its path, or unset {}", tools::VARIABLE, _0.display(), tools::VARIABLE)]
    NotThere(OsString),
    /// The command line.
    #[error(transparent)]
    Options(#[from] OptionError),
    /// A program that does not start.
    #[error("cannot run {}: {source}", program.display())]
    Start {
        /// Which.
        program: OsString,
        /// Why.
        source: io::Error,
    },
    /// A file that cannot be written or read.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// OpenMP without its library.
    #[error(
        "{} has no library of OpenMP; install it: sudo apt-get install {}",
        _0.display(), tools::openmp_package(_0)
    )]
    OpenMp(OsString),
    /// The library to link to.
    #[error("cannot make the library that programs are linked to: {0}")]
    Library(String),
    /// PTX whose loads cannot be rewritten.
    #[error("{}: {source}", path.display())]
    Bypass {
        /// The PTX.
        path: PathBuf,
        /// Why.
        source: InstrumentError,
    },
    /// An option of ours, where CUDA's nvcc compiles.
    #[error(
        "--{} is for clang, and CUDA's nvcc compiles here; set {}=clang-19, or leave it out",
        table::BYPASS,
        tools::VARIABLE
    )]
    NeedsClang,
    /// Functions of other files, or missing ones.
    #[error(
        "{}: the device code calls what is not defined in this file: {}; linking device code of several files, and functions that our headers lack, need CUDA's own nvcc",
        source_file.display(), names.join(", ")
    )]
    Undefined {
        /// The source.
        source_file: PathBuf,
        /// The functions.
        names: Vec<String>,
    },
}

fn old_clang(version: Option<u32>) -> String {
    version.map_or_else(String::new, |version| format!(" (clang {version} is)"))
}

impl NvccError {
    fn write(path: &Path, source: io::Error) -> NvccError {
        NvccError::File {
            path: path.to_owned(),
            source,
        }
    }

    fn start(program: &OsStr, source: io::Error) -> NvccError {
        NvccError::Start {
            program: program.to_owned(),
            source: command_error(program, source),
        }
    }
}

/// Does what a command line of nvcc asks for, and waits. Steps are printed to the standard error as
/// nvcc does, if asked for.
///
/// # Errors
/// If there is no compiler, or the arguments cannot be served. A compiler that fails is no error:
/// its status is returned.
pub fn compile(arguments: &[OsString]) -> Result<ExitStatus, NvccError> {
    let (root, arguments) = match arguments {
        [word, root, arguments @ ..] if word == toolkit::ROOT => (Some(Path::new(root)), arguments),
        arguments => (None, arguments),
    };
    match tools::find()? {
        Compiler::Nvcc(_) if arguments.iter().any(is_bypass) => Err(NvccError::NeedsClang),
        Compiler::Nvcc(nvcc) => {
            let mut command = Command::new(&nvcc);
            command.args(with_lines(arguments));
            let status = command.status();
            status.map_err(|source| NvccError::start(nvcc.as_os_str(), source))
        }
        Compiler::Clang(clang) => by_clang(clang.as_os_str(), root, &NvccCall::read(arguments)?),
    }
}

/// Whether an argument is the option that lets loads pass the L1 by.
fn is_bypass(argument: &OsString) -> bool {
    let found = table::find(argument.as_encoded_bytes());
    found.is_some_and(|(meaning, _)| meaning == table::Meaning::Bypass)
}

/// The arguments with `-lineinfo`, unless there is debug information of the device, which nvcc
/// refuses together with it, or nothing is compiled.
fn with_lines(arguments: &[OsString]) -> Vec<OsString> {
    const WITHOUT: [&str; 8] = [
        "-lineinfo",
        "--generate-line-info",
        "-G",
        "--device-debug",
        "--version",
        "-V",
        "--help",
        "-h",
    ];
    let mut arguments = arguments.to_vec();
    let has_own = arguments
        .iter()
        .any(|word| WITHOUT.iter().any(|known| word == known));
    if !has_own {
        arguments.push("-lineinfo".into());
    }
    arguments
}

/// Writes a folder that makefiles and CMake take for an installation of CUDA, with this program as
/// its nvcc.
///
/// # Errors
/// If there is no clang, or the folder cannot be written.
pub fn write_toolkit(folder: &Path) -> Result<(), NvccError> {
    let clang = match tools::find()? {
        Compiler::Clang(clang) | Compiler::Nvcc(clang) => clang,
    };
    let program = std::env::current_exe().map_err(|source| NvccError::write(folder, source))?;
    toolkit::write(folder, &program, clang.as_os_str())
}

/// Compiles with clang, with the headers and the library of a toolkit or with new ones.
fn by_clang(clang: &OsStr, root: Option<&Path>, call: &NvccCall) -> Result<ExitStatus, NvccError> {
    if call.version {
        return version(clang);
    }
    let folder = tempfile::Builder::new().prefix("reuselens-").tempdir();
    let folder = folder.map_err(|source| NvccError::write(&std::env::temp_dir(), source))?;
    let top = root.unwrap_or(folder.path());
    let (sources, folders) = (call.sources(), call.include_folders());
    let overlay = launches::overlay(&sources, &folders, folder.path())
        .map_err(|source| NvccError::write(folder.path(), source))?;
    if call.uses_openmp() && !tools::has_openmp(clang) {
        return Err(NvccError::OpenMp(clang.to_owned()));
    }
    let tools = ClangTools {
        clang: clang.to_owned(),
        headers: top.join("include"),
        libraries: top.join("lib64"),
        temporary: folder.path().to_owned(),
        overlay,
    };
    if call.verbose {
        announce_folders(top, &tools);
    }
    if root.is_none() && !call.dry_run {
        write_files(&tools, call.phase)?;
    }
    for step in plan(call, &tools) {
        if call.verbose {
            announce(&step);
        }
        if call.dry_run {
            continue;
        }
        let status = perform(&step)?;
        if !status.success() {
            return Ok(status);
        }
    }
    Ok(ExitStatus::from_raw(0))
}

/// Writes the headers, and what programs are linked to if one is linked.
fn write_files(tools: &ClangTools, phase: NvccPhase) -> Result<(), NvccError> {
    for part in [&tools.headers, &tools.libraries] {
        std::fs::create_dir_all(part).map_err(|source| NvccError::write(part, source))?;
    }
    reuselens_ptx::plan::write_cuda_headers(&tools.headers)
        .map_err(|source| NvccError::write(&tools.headers, source))?;
    if phase == NvccPhase::Link {
        tools::write_libraries(&tools.clang, &tools.libraries)?;
    }
    Ok(())
}

/// Prints where everything is, in nvcc's words, which CMake reads.
fn announce_folders(top: &Path, tools: &ClangTools) {
    let text = format!(
        "#$ TOP={}\n#$ INCLUDES=\"-I{}\"\n#$ LIBRARIES={}\n",
        top.display(),
        tools.headers.display(),
        tools.library_option().display()
    );
    // A closed standard error is no reason not to compile.
    let _ = io::stderr().write_all(text.as_bytes());
}

/// The version in nvcc's words, which scripts and CMake look for, and clang's own.
fn version(clang: &OsStr) -> Result<ExitStatus, NvccError> {
    let text = format!(
        "nvcc: NVIDIA (R) Cuda compiler driver: reuselens nvcc and clang stand in for it\n\
         Cuda compilation tools, release {RELEASE}, V{RELEASE}.0\n"
    );
    let mut output = io::stdout();
    output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
        .map_err(|source| NvccError::write(Path::new("standard output"), source))?;
    let status = Command::new(clang).arg("--version").status();
    status.map_err(|source| NvccError::start(clang, source))
}

/// Prints a step as nvcc prints its own: after `#$ `.
fn announce(step: &NvccStep) {
    let line = match step {
        NvccStep::Run(words) => {
            let words = words.iter().map(|word| {
                let word = word.to_string_lossy();
                if word.contains([' ', '"', '$', '\'']) {
                    format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""))
                } else {
                    word.into_owned()
                }
            });
            words.collect::<Vec<_>>().join(" ")
        }
        NvccStep::JoinCopies(ir) => format!("joincopies {}", ir.display()),
        NvccStep::Bypass { ptx, warps } => {
            let ptx = ptx.display();
            format!("reuselens gpu bypass {ptx} --warps {warps} -f -o {ptx}")
        }
        NvccStep::Pack {
            ptx,
            architecture,
            to,
            ..
        } => format!(
            "fatbinary -arch compute_{architecture} {} {}",
            ptx.display(),
            to.display()
        ),
    };
    // A closed standard error is no reason not to compile.
    let _ = writeln!(io::stderr(), "#$ {line}");
}

fn perform(step: &NvccStep) -> Result<ExitStatus, NvccError> {
    match step {
        NvccStep::Run(words) => {
            let (program, arguments) = words.split_first().ok_or(OptionError::NoInput)?;
            let status = Command::new(program).args(arguments).status();
            status.map_err(|source| NvccError::start(program, source))
        }
        NvccStep::JoinCopies(ir) => {
            let text = std::fs::read_to_string(ir);
            let text = text.map_err(|error| NvccError::write(ir, error))?;
            std::fs::write(ir, copies_as_vectors(&text))
                .map_err(|error| NvccError::write(ir, error))?;
            Ok(ExitStatus::from_raw(0))
        }
        NvccStep::Bypass { ptx, warps } => {
            let text = std::fs::read_to_string(ptx);
            let text = text.map_err(|error| NvccError::write(ptx, error))?;
            let rewritten = bypass(&text, &BypassWarps::All(*warps));
            let rewritten = rewritten.map_err(|source| NvccError::Bypass {
                path: ptx.clone(),
                source,
            })?;
            std::fs::write(ptx, rewritten.text).map_err(|error| NvccError::write(ptx, error))?;
            Ok(ExitStatus::from_raw(0))
        }
        NvccStep::Pack {
            ptx,
            architecture,
            to,
            source,
        } => {
            let text = std::fs::read_to_string(ptx);
            let text = text.map_err(|error| NvccError::write(ptx, error))?;
            let names = container::undefined(&text);
            if !names.is_empty() {
                return Err(NvccError::Undefined {
                    source_file: source.clone(),
                    names,
                });
            }
            let bytes = container::fat_binary(&text, *architecture);
            std::fs::write(to, bytes).map_err(|error| NvccError::write(to, error))?;
            Ok(ExitStatus::from_raw(0))
        }
    }
}
