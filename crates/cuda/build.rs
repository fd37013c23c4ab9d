//! Compiles the side of the program: this crate once more, as a shared library that is put into
//! programs, and beside it a library that only has the versions that programs look for. Both are
//! embedded in the crate itself.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "../guest/build_support.rs"]
mod guest_support;

/// Versions of CUDA's runtime library that programs are linked to.
const VERSIONS: [&str; 2] = ["libcudart.so.12", "libcudart.so.13"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rustc-check-cfg=cfg(reuselens_cuda)");
    let folder = PathBuf::from(std::env::var("OUT_DIR")?);
    let (library, versions) = (folder.join("cuda.so"), folder.join("versions.so"));
    let target = std::env::var("TARGET")?;
    // Fuzz targets run no program that it could be put into.
    let fuzzing = std::env::var_os("CARGO_CFG_FUZZING").is_some();
    if fuzzing || !target.starts_with("x86_64-unknown-linux") {
        std::fs::write(&library, b"")?;
        std::fs::write(&versions, b"")?;
        return Ok(());
    }
    let crates = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?).join("..");
    let mut options = guest_support::compile(&crates, &folder)?;
    let own = [
        "--cfg",
        "reuselens_cuda",
        // In place of the level that `rustc` gives below: of the two, the last one counts.
        "-Copt-level=2",
        "-Cstrip=symbols",
        "-Ctarget-feature=-crt-static",
    ];
    options.extend(own.map(str::to_owned));
    let source = Path::new("src/lib.rs");
    guest_support::rustc(source, "reuselens_cuda", "cdylib", &library, &options)?;
    link_versions(&folder, &versions)
}

/// Links a library without functions. The loader demands that the library that a program names has
/// the versions that the program was linked to; the functions it takes from the preloaded one.
fn link_versions(folder: &Path, versions: &Path) -> Result<(), Box<dyn Error>> {
    let (script, source) = (folder.join("versions.map"), folder.join("versions.c"));
    let nodes: Vec<String> = VERSIONS
        .iter()
        .map(|name| format!("{name} {{}};"))
        .collect();
    std::fs::write(&script, nodes.join("\n"))?;
    std::fs::write(&source, "")?;
    run(Command::new("cc")
        .args(["-shared", "-nostdlib", "-s"])
        .arg(format!("-Wl,--version-script={}", script.display()))
        .arg("-o")
        .arg(versions)
        .arg(&source))
}

fn run(command: &mut Command) -> Result<(), Box<dyn Error>> {
    let status = command.status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{command:?}: {status}").into())
    }
}
