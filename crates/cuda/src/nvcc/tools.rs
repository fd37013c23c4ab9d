//! [`find`]: the compiler that is there, and [`write_libraries`]: what programs are linked to.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object, ObjectSymbol};

use super::NvccError;

/// The variable that names a compiler: the path of nvcc or of clang.
pub const VARIABLE: &str = "REUSELENS_NVCC";

/// Where CUDA is often installed.
const CUDA_FOLDERS: [&str; 2] = ["/usr/local/cuda", "/opt/cuda"];

/// Versions of clang by their names, the one that is tested first.
const CLANGS: [&str; 7] = [
    "clang-19", "clang-20", "clang-21", "clang-18", "clang-17", "clang-16", "clang",
];
/// The oldest version of clang that knows the architecture that is compiled for.
const OLDEST_CLANG: u32 = 16;

/// A compiler of CUDA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compiler {
    /// CUDA's own.
    Nvcc(PathBuf),
    /// clang, with our headers.
    Clang(PathBuf),
}

/// The compiler: the one that [`VARIABLE`] names, else nvcc, else a clang.
///
/// # Errors
/// If there is none, or the named one is missing.
pub fn find() -> Result<Compiler, NvccError> {
    if let Some(named) = std::env::var_os(VARIABLE).filter(|named| !named.is_empty()) {
        let path = on_path(&named).ok_or_else(|| NvccError::NotThere(named.clone()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        return Ok(if name.contains("clang") {
            Compiler::Clang(path)
        } else {
            Compiler::Nvcc(path)
        });
    }
    if let Some(nvcc) = nvcc() {
        return Ok(Compiler::Nvcc(nvcc));
    }
    let mut old = None;
    for name in CLANGS {
        let Some(path) = on_path(OsStr::new(name)) else {
            continue;
        };
        match version(&path) {
            Some(version) if version >= OLDEST_CLANG => return Ok(Compiler::Clang(path)),
            version => old = old.or(version),
        }
    }
    Err(NvccError::NoCompiler { old })
}

/// nvcc, unless it is this program by another name.
fn nvcc() -> Option<PathBuf> {
    let variables = ["CUDA_HOME", "CUDA_PATH"].map(std::env::var_os);
    let folders = variables.into_iter().flatten().map(PathBuf::from);
    let folders = folders.chain(CUDA_FOLDERS.map(PathBuf::from));
    let installed = folders.map(|folder| folder.join("bin/nvcc"));
    let candidates = on_path(OsStr::new("nvcc")).into_iter().chain(installed);
    candidates
        .filter(|path| is_program(path))
        .find(|path| !is_ours(path))
}

/// Whether this is a link to this program, or the script of a toolkit that we wrote.
fn is_ours(path: &Path) -> bool {
    let resolved = std::fs::canonicalize(path).ok();
    let own = std::env::current_exe().ok();
    let own = own.and_then(|own| std::fs::canonicalize(own).ok());
    let text = std::fs::metadata(path)
        .ok()
        .filter(|about| about.len() < 1000)
        .and_then(|_| std::fs::read_to_string(path).ok());
    (resolved.is_some() && resolved == own)
        || text.is_some_and(|text| text.contains(super::toolkit::MARK))
}

/// A program by its path, or as a shell finds it.
fn on_path(name: &OsStr) -> Option<PathBuf> {
    if Path::new(name).components().count() > 1 {
        return Some(PathBuf::from(name)).filter(|path| is_program(path));
    }
    let list = std::env::var_os("PATH")?;
    let mut paths = std::env::split_paths(&list).map(|folder| folder.join(name));
    paths.find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path)
        .is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// The major version of a clang.
fn version(clang: &Path) -> Option<u32> {
    let output = Command::new(clang).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (_, rest) = text.split_once("version ")?;
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    rest[..end].parse().ok()
}

/// Whether a clang finds its library of OpenMP, with which its header comes.
pub fn has_openmp(clang: &OsStr) -> bool {
    let found = Command::new(clang)
        .arg("-print-file-name=libomp.so")
        .output();
    // What it does not find it prints as it was given.
    found.is_ok_and(|found| found.stdout.starts_with(b"/"))
}

/// The package of Debian and Ubuntu that has a clang's library of OpenMP.
pub fn openmp_package(clang: &OsStr) -> String {
    let version = version(Path::new(clang));
    version.map_or("libomp-dev".to_owned(), |version| {
        format!("libomp-{version}-dev")
    })
}

/// Writes the library that programs are linked to into a folder, `libcudart.so`: it has the names
/// of the runtime's functions and none of their code. Beside it are `uses.o`, which names one, and
/// other names of CUDA's libraries, which lead to it.
///
/// # Errors
/// If the folder cannot be written, or the compiler does not make them.
pub fn write_libraries(clang: &OsStr, folder: &Path) -> Result<(), NvccError> {
    let (names, uses) = (folder.join("runtime.s"), folder.join("uses.s"));
    let write = |path: &Path, text: String| {
        std::fs::write(path, text).map_err(|source| NvccError::write(folder, source))
    };
    write(&names, runtime_names())?;
    write(&uses, USES.to_owned())?;
    for name in OTHER_LIBRARIES {
        write(&folder.join(name), "INPUT(-lcudart)\n".to_owned())?;
    }
    let mut library = Command::new(clang);
    library
        .args(["-shared", "-nostdlib", "-Wl,-soname,libcudart.so.13", "-o"])
        .args([folder.join("libcudart.so"), names]);
    let mut object = Command::new(clang);
    object
        .args(["-c", "-o"])
        .args([folder.join("uses.o"), uses]);
    for mut command in [library, object] {
        let done = command.output();
        let done = done.map_err(|source| NvccError::start(clang, source))?;
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            return Err(NvccError::Library(said));
        }
    }
    Ok(())
}

/// Libraries that makefiles link beside the shared one or in its place.
const OTHER_LIBRARIES: [&str; 3] = ["libcudart_static.a", "libcudadevrt.a", "libcuda.so"];

/// A word of data that the loader fills in with the address of the function that all programs of
/// CUDA call. Linkers keep it.
const USES: &str = "
.section .data.reuselens, \"awR\"
.quad __cudaRegisterFatBinary
.section .note.GNU-stack, \"\"
";

/// The runtime's functions, as an assembler reads them.
fn runtime_names() -> String {
    let library = object::File::parse(crate::run::LIBRARY).ok();
    let symbols = library.iter().flat_map(|library| library.dynamic_symbols());
    let names = symbols.filter(|symbol| symbol.is_definition());
    let mut text: String = names
        .filter_map(|symbol| symbol.name().ok().map(str::to_owned))
        .filter(|name| name.starts_with("cu") || name.starts_with("__cuda"))
        .map(|name| format!(".globl {name}\n.type {name}, @function\n{name}:\n"))
        .collect();
    text.push_str("ret\n.section .note.GNU-stack, \"\"\n");
    text
}
