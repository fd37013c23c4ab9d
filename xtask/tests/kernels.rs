//! The kept PTX of all kernels is what compilers make of their sources and of our headers.

use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::kernels::{architecture, clang, compile, compiles, nvcc, sources};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Compares the kept PTX of a compiler with what it makes of the sources.
fn compare(folder: &str, compiler: impl Fn(&str) -> Command) {
    let tool = compiler("sm_80")
        .get_program()
        .to_string_lossy()
        .into_owned();
    if !reuselens_testing::has(&tool) {
        return;
    }
    let made = tempfile::tempdir().unwrap();
    let mut compared = 0;
    let sources = sources(&root()).unwrap();
    for source in sources.iter().filter(|source| compiles(folder, source)) {
        let name = source.with_extension("ptx");
        let name = name.file_name().unwrap();
        let to = made.path().join(name);
        compile(compiler(architecture(source)), source, &to).unwrap();
        let kept = root().join("kernels/ptx").join(folder).join(name);
        let (new, kept) = (read(&to), read(&kept));
        if version(&new) != version(&kept) {
            reuselens_testing::skip(&format!("{tool} is of another version"));
            return;
        }
        assert!(
            new == kept,
            "{folder}/{} is not what {tool} makes of its source; run `cargo xtask kernels`",
            name.to_string_lossy()
        );
        compared += 1;
    }
    assert!(compared >= 22, "{compared} files");
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The line in which nvcc says its version; clang has none.
fn version(ptx: &str) -> Option<&str> {
    ptx.lines().find(|line| line.contains("release"))
}

#[test]
fn kept_ptx_of_clang_belongs_to_its_source() {
    compare("clang", |architecture| clang(&root(), architecture));
}

#[test]
fn kept_ptx_of_nvcc_belongs_to_its_source() {
    compare("nvcc", nvcc);
}
