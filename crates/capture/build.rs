//! Compiles the run time for measured programs and takes the one object file that matters out of it,
//! to be embedded in this crate.
//!
//! The run time is a static library without std, linked with whole-program optimisation, so that all
//! of it lies in one object, which `reuselens cc` adds to the programs that it links.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::Object as _;
use object::ObjectSymbol as _;
use object::read::archive::ArchiveFile;

fn main() -> Result<(), Box<dyn Error>> {
    let crates = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?).join("..");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    for name in ["wire", "runtime"] {
        println!("cargo::rerun-if-changed={}", crates.join(name).join("src").display());
    }
    let wire = out.join("libreuselens_wire.rlib");
    rustc(&crates.join("wire/src/lib.rs"), "reuselens_wire", "rlib", &wire, &[])?;
    let library = out.join("libreuselens_runtime.a");
    let dependency = format!("reuselens_wire={}", wire.display());
    let options = ["--cfg", "reuselens_runtime", "-Clto=fat", "--extern", &dependency];
    let source = crates.join("runtime/src/lib.rs");
    rustc(&source, "reuselens_runtime", "staticlib", &library, &options)?;
    std::fs::write(out.join("reuselens.o"), main_object(&std::fs::read(&library)?)?)?;
    Ok(())
}

fn rustc(
    source: &Path,
    name: &str,
    kind: &str,
    output: &Path,
    options: &[&str],
) -> Result<(), Box<dyn Error>> {
    let status = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["--edition", "2024", "--crate-name", name, "--crate-type", kind])
        .args(["-Copt-level=3", "-Cpanic=abort", "-Ccodegen-units=1", "-Crelocation-model=pic"])
        .args(["--target", &std::env::var("TARGET")?])
        .args(options)
        .arg("-o")
        .arg(output)
        .arg(source)
        .status()?;
    if status.success() { Ok(()) } else { Err(format!("cannot compile {name}: {status}").into()) }
}

/// The member that defines the hooks.
fn main_object(archive: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    for member in ArchiveFile::parse(archive)?.members() {
        let data = member?.data(archive)?;
        let Ok(file) = object::File::parse(data) else { continue };
        if file.symbols().any(|symbol| symbol.name() == Ok("__tsan_read8") && symbol.is_definition())
        {
            return Ok(data.to_vec());
        }
    }
    Err("the run time's library has no hooks in it".into())
}
