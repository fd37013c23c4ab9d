//! Compiles the run time with plain `rustc`, for the build scripts that need it: they include this
//! file by its path.
//!
//! The run time is a static library without std, linked with whole-program optimisation, so that
//! all of it is in one object. Only that object is used: the others in the library are parts of
//! Rust's own libraries, which must not get into measured programs.

use std::error::Error;
use std::path::Path;

#[path = "../guest/build_support.rs"]
mod guest_support;

/// Magic number of `ar` archives.
const ARCHIVE: &[u8] = b"!<arch>\n";
/// Bytes of the head of a member; bytes 48..58 are the member's size in decimal digits.
const MEMBER_HEAD: usize = 60;
/// A hook that only the run time defines, as it is in a table of symbols.
const HOOK: &[u8] = b"\0__tsan_read8\0";

/// Compiles the run time into `out/reuselens.o`, and returns its bytes. `crates` is the folder with
/// `wire`, `guest` and `runtime` in it. Prints for cargo which files the run time depends on.
pub fn compile(crates: &Path, out: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    for source in ["runtime/src", "runtime/build_support.rs"] {
        println!("cargo::rerun-if-changed={}", crates.join(source).display());
    }
    let mut options = guest_support::compile(crates, out)?;
    options.extend(["--cfg", "reuselens_runtime", "-Clto=fat"].map(str::to_owned));
    let source = crates.join("runtime/src/lib.rs");
    let library = out.join("libreuselens_runtime_whole.a");
    let name = "reuselens_runtime";
    guest_support::rustc(&source, name, "staticlib", &library, &options)?;
    let object = main_object(&std::fs::read(&library)?)?;
    std::fs::write(out.join("reuselens.o"), &object)?;
    Ok(object)
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
