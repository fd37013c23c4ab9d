//! [`run`]: runs a program to its end, with a device that answers its calls of CUDA.
//! [`CudaServer`] is the part that answers, for callers that start the program themselves.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};

use reuselens_gpu_advisor::Ledger;
use reuselens_io::shell_words;
use tempfile::TempDir;
use thiserror::Error;

use crate::device::Device;
use crate::protocol::SOCKET_VARIABLE;
use crate::server::{Refused, Server};

/// The file name of the library that programs get in place of CUDA's. Reports name it as it is; no
/// advice is given about files whose names begin so.
pub const LIBRARY_NAME: &str = "libreuselens-cuda.so";
/// The library for the program.
pub(crate) static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/cuda.so"));
/// The library that has the versions that programs look for.
static VERSIONS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/versions.so"));
/// Names under which programs look for the runtime.
const NAMES: [&str; 3] = ["libcudart.so", "libcudart.so.12", "libcudart.so.13"];
/// Names under which programs look for the driver. What they get is the preloaded library itself,
/// so that they find its functions by its handle.
const DRIVER_NAMES: [&str; 2] = ["libcuda.so", "libcuda.so.1"];

/// Why a program did not run.
#[derive(Debug, Error)]
pub enum RunError {
    /// Not for this processor.
    #[error("CUDA programs run on x86-64 Linux only")]
    Processor,
    /// The folder for the library cannot be made.
    #[error("cannot write into {}: {source}; set TMPDIR to a folder that can be written", folder.display())]
    Write {
        /// Where.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The program does not start.
    #[error("cannot start {}: {source}", program.to_string_lossy())]
    Start {
        /// Its name.
        program: OsString,
        /// Why.
        source: io::Error,
    },
    /// It cannot be waited for.
    #[error("cannot wait for {}: {source}", program.to_string_lossy())]
    Wait {
        /// Its name.
        program: OsString,
        /// Why.
        source: io::Error,
    },
}

/// Answers calls of CUDA, for a program that starts with the variables of
/// [`CudaServer::environment`].
#[derive(Debug)]
pub struct CudaServer<D> {
    server: Server<D>,
    /// Holds the library and the socket for as long as the program runs.
    folder: TempDir,
}

/// A program that runs with a device of ours.
#[derive(Debug)]
pub struct CudaRun<D> {
    program: OsString,
    child: Child,
    server: CudaServer<D>,
}

/// Starts `command`, a program and its arguments, with `device` to answer its calls of CUDA. With
/// `output_to_error` its output goes to the standard error.
///
/// # Errors
/// If it does not start.
pub fn run<D: Device + 'static>(
    command: &[OsString],
    device: D,
    output_to_error: bool,
) -> Result<CudaRun<D>, RunError> {
    let server = CudaServer::start(device)?;
    let program = command.first().cloned().unwrap_or_default();
    let start = |command: &[OsString]| {
        let mut started = Command::new(command.first().map_or(OsStr::new(""), OsString::as_os_str));
        started
            .args(command.iter().skip(1))
            .envs(server.environment());
        if output_to_error {
            started.stdout(io::stderr());
        }
        started.spawn()
    };
    // std hands a file that the system does not execute to no shell here: it starts programs by
    // `posix_spawn` as long as nothing is to be done between fork and exec.
    let child = start(command).or_else(|error| start(&shell_words(command, error)?));
    let child = child.map_err(|source| RunError::Start {
        program: program.clone(),
        source,
    })?;
    Ok(CudaRun {
        program,
        child,
        server,
    })
}

impl<D: Device + 'static> CudaServer<D> {
    /// Starts to listen, with `device` to answer.
    ///
    /// # Errors
    /// If this is no x86-64 processor, or temporary files cannot be written.
    pub fn start(device: D) -> Result<CudaServer<D>, RunError> {
        if LIBRARY.is_empty() {
            return Err(RunError::Processor);
        }
        let (folder, server) = prepare(device).map_err(|source| RunError::Write {
            folder: std::env::temp_dir(),
            source,
        })?;
        Ok(CudaServer { server, folder })
    }

    /// What the program needs in its environment to be served, with what is there now.
    pub fn environment(&self) -> [(&'static str, OsString); 3] {
        let folder = self.folder.path();
        let library = folder.join(LIBRARY_NAME);
        [
            ("LD_PRELOAD", before("LD_PRELOAD", library.as_os_str())),
            (
                "LD_LIBRARY_PATH",
                before("LD_LIBRARY_PATH", folder.as_os_str()),
            ),
            (SOCKET_VARIABLE, folder.join("socket").into_os_string()),
        ]
    }

    /// Ends all connections; what was asked for in vain, what the host side did, and the device.
    /// Processes that the program has left behind get errors from now on.
    pub fn finish(self) -> (Refused, Ledger, D) {
        self.server.finish()
    }
}

/// A folder with the library under its names, and a server that listens in it.
fn prepare<D: Device + 'static>(device: D) -> io::Result<(TempDir, Server<D>)> {
    let folder = TempDir::with_prefix("reuselens-")?;
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path(LIBRARY_NAME), LIBRARY)?;
    // A file for each name: a loader takes two names of one file for one library, and which of the
    // names is loaded says for which version of CUDA the program is made.
    for name in NAMES {
        std::fs::write(path(name), VERSIONS)?;
    }
    for name in DRIVER_NAMES {
        symlink(LIBRARY_NAME, path(name))?;
    }
    let server = Server::listen(&path("socket"), device)?;
    Ok((folder, server))
}

/// A list of paths in a variable, with one before the others. Without another stand-in: where this
/// process has one, the program is still to be served by this process.
fn before(variable: &str, first: &OsStr) -> OsString {
    let mut list = first.to_owned();
    let others = std::env::var_os(variable).unwrap_or_default();
    let is_separator = |byte: &u8| matches!(byte, b':' | b' ');
    for other in others.as_bytes().split(is_separator) {
        let path = Path::new(OsStr::from_bytes(other));
        let is_own =
            path.file_name() == Some(LIBRARY_NAME.as_ref()) || path.join(LIBRARY_NAME).exists();
        if !other.is_empty() && !is_own {
            list.push(":");
            list.push(path);
        }
    }
    list
}

impl<D: Device + 'static> CudaRun<D> {
    /// The program's status, if it has ended.
    ///
    /// # Errors
    /// If the system does not report it.
    pub fn try_wait(&mut self) -> Result<Option<ExitStatus>, RunError> {
        self.child.try_wait().map_err(|source| RunError::Wait {
            program: self.program.clone(),
            source,
        })
    }

    /// Sends a signal to the program, unless it has been waited for.
    pub fn signal(&mut self, signal: i32) {
        if let Ok(None) = self.child.try_wait()
            && let Ok(process) = libc::pid_t::try_from(self.child.id())
        {
            // SAFETY: no pointers. The child has not been waited for, so the number is its.
            unsafe { libc::kill(process, signal) };
        }
    }

    /// As [`CudaServer::finish`].
    pub fn finish(self) -> (Refused, Ledger, D) {
        self.server.finish()
    }
}
