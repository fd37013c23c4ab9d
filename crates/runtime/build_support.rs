//! Compiles the run time with plain `rustc`, for the build scripts that need it: they include this
//! file by its path.
//!
//! The run time is a static library without std, linked with whole-program optimisation, so that
//! all of it is in one object. Only that object is used: the others in the library are parts of
//! Rust's own libraries, which must not get into measured programs.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Magic number of `ar` archives.
const ARCHIVE: &[u8] = b"!<arch>\n";
/// Bytes of the head of a member; bytes 48..58 are the member's size in decimal digits.
const MEMBER_HEAD: usize = 60;
/// A hook that only the run time defines, as it is in a table of symbols.
const HOOK: &[u8] = b"\0__tsan_read8\0";

/// Compiles the run time into `out/reuselens.o`, and returns its bytes. `crates` is the folder with
/// `wire` and `runtime` in it. Prints for cargo which files the run time depends on.
pub fn compile(crates: &Path, out: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    for source in ["wire/src", "runtime/src", "runtime/build_support.rs"] {
        println!("cargo::rerun-if-changed={}", crates.join(source).display());
    }
    let wire = out.join("libreuselens_wire.rlib");
    rustc(
        &crates.join("wire/src/lib.rs"),
        "reuselens_wire",
        "rlib",
        &wire,
        &[],
    )?;
    let library = out.join("libreuselens_runtime_whole.a");
    let dependency = format!("reuselens_wire={}", wire.display());
    let options = [
        "--cfg",
        "reuselens_runtime",
        "-Clto=fat",
        "--extern",
        &dependency,
    ];
    let source = crates.join("runtime/src/lib.rs");
    rustc(
        &source,
        "reuselens_runtime",
        "staticlib",
        &library,
        &options,
    )?;
    let object = main_object(&std::fs::read(&library)?)?;
    std::fs::write(out.join("reuselens.o"), &object)?;
    Ok(object)
}

fn rustc(
    source: &Path,
    name: &str,
    kind: &str,
    output: &Path,
    options: &[&str],
) -> Result<(), Box<dyn Error>> {
    let rustc = std::env::var_os("RUSTC").map_or_else(|| PathBuf::from("rustc"), PathBuf::from);
    let status = Command::new(rustc)
        .args([
            "--edition",
            "2024",
            "--crate-name",
            name,
            "--crate-type",
            kind,
        ])
        .args([
            "-Copt-level=3",
            "-Cpanic=abort",
            "-Ccodegen-units=1",
            "-Crelocation-model=pic",
        ])
        .args(["--target", &std::env::var("TARGET")?])
        .args(options)
        .arg("-o")
        .arg(output)
        .arg(source)
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("cannot compile {name}: {status}").into())
    }
}

/// The member of a library that has the hooks in it.
fn main_object(archive: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut rest = archive
        .strip_prefix(ARCHIVE)
        .ok_or("rustc wrote no archive")?;
    while let Some((head, after)) = rest.split_at_checked(MEMBER_HEAD) {
        let size: usize = std::str::from_utf8(&head[48..58])?.trim_end().parse()?;
        let (member, after) = after
            .split_at_checked(size)
            .ok_or("an archive that is cut short")?;
        if member.starts_with(b"\x7fELF") && member.windows(HOOK.len()).any(|bytes| bytes == HOOK) {
            return Ok(member.to_vec());
        }
        // Members begin at even offsets.
        rest = after.get(size % 2..).unwrap_or_default();
    }
    Err("the run time's library has no hooks in it".into())
}
