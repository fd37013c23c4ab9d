//! The files that compilers need from us, written once per version into the user's cache.

use std::io;
use std::path::{Path, PathBuf};

use crate::CaptureError;

/// The run time for measured programs: one object file.
const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/reuselens.o"));
/// An archive without members: stands in for the compiler's own run time.
const EMPTY_ARCHIVE: &[u8] = b"!<arch>\n";
/// What a program exports to instrumented libraries that it loads.
const DYNAMIC_LIST: &[u8] = b"{ __tsan_*; __reuselens_*; __wrap_*; Record*; record*_; };\n";

const FILES: [(&str, &[u8]); 8] = [
    ("reuselens.o", OBJECT),
    ("pass.cpp", include_bytes!("../../llvm/pass.cpp")),
    ("dynamic.list", DYNAMIC_LIST),
    ("empty/libtsan.a", EMPTY_ARCHIVE),
    ("empty/libtsan_preinit.o", EMPTY_ARCHIVE),
    (
        "include/reuselens.h",
        include_bytes!("../../include/reuselens.h"),
    ),
    (
        "include/reuselens.inc",
        include_bytes!("../../include/reuselens.inc"),
    ),
    (
        "include/reuselens.f90",
        include_bytes!("../../include/reuselens.f90"),
    ),
];

/// Where the files are.
#[derive(Clone, Debug)]
pub struct RunTimeFiles {
    directory: PathBuf,
}

impl RunTimeFiles {
    /// Writes the files unless they are there already. Several compilers may do so at one time.
    ///
    /// # Errors
    /// If neither the user's cache nor the system's temporary directory can be written.
    pub fn install() -> Result<RunTimeFiles, CaptureError> {
        let name = format!(
            "reuselens/{}-{:016x}",
            env!("CARGO_PKG_VERSION"),
            fingerprint()
        );
        let temporary = std::env::temp_dir().join(&name);
        if let Some(cache) = cache_directory()
            && let Ok(directory) = install_in(&cache.join(&name))
        {
            return Ok(RunTimeFiles { directory });
        }
        match install_in(&temporary) {
            Ok(directory) => Ok(RunTimeFiles { directory }),
            Err(source) => Err(CaptureError::RunTime {
                path: temporary,
                source,
            }),
        }
    }

    /// Files that are known to be in `directory`.
    #[cfg(test)]
    pub(super) fn at(directory: PathBuf) -> RunTimeFiles {
        RunTimeFiles { directory }
    }

    /// The directory of everything.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The object file to link into a measured program.
    pub fn object(&self) -> PathBuf {
        self.directory.join("reuselens.o")
    }

    /// The directory of `reuselens.h`, `reuselens.inc` and `reuselens.f90`.
    pub fn include(&self) -> PathBuf {
        self.directory.join("include")
    }

    /// The source of the LLVM pass.
    pub(super) fn pass_source(&self) -> PathBuf {
        self.directory.join("pass.cpp")
    }

    /// The LLVM pass, once it has been compiled.
    pub(super) fn pass(&self) -> PathBuf {
        self.directory.join("pass-19.so")
    }

    /// A directory with empty stand-ins for the compiler's own run time, for `-B`.
    pub(super) fn empty_libraries(&self) -> PathBuf {
        self.directory.join("empty")
    }

    /// The linker's list of symbols to export.
    pub(super) fn dynamic_list(&self) -> PathBuf {
        self.directory.join("dynamic.list")
    }
}

fn cache_directory() -> Option<PathBuf> {
    let absolute = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|p| p.is_absolute())
    };
    absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))
}

/// A number that changes with the files' contents (FNV-1a).
fn fingerprint() -> u64 {
    let bytes = FILES
        .iter()
        .flat_map(|(name, content)| name.bytes().chain(content.iter().copied()));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Everything is written into a directory of our own and renamed, so that nobody sees half of it.
fn install_in(directory: &Path) -> io::Result<PathBuf> {
    if directory.join("include/reuselens.f90").is_file() {
        return Ok(directory.to_owned());
    }
    let parent = directory.parent().unwrap_or(directory);
    std::fs::create_dir_all(parent)?;
    let temporary = tempfile::Builder::new()
        .prefix(".new-")
        .tempdir_in(parent)?;
    for (name, content) in FILES {
        let path = temporary.path().join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, content)?;
    }
    match std::fs::rename(temporary.path(), directory) {
        // Another process was faster: its files are the same.
        Err(_) if directory.join("reuselens.o").is_file() => Ok(directory.to_owned()),
        Err(error) => Err(error),
        Ok(()) => {
            let _renamed = temporary.keep();
            Ok(directory.to_owned())
        }
    }
}
