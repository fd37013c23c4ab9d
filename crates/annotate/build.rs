//! With the feature `record`: compiles the run time and has it linked into every program that uses
//! this crate. Without it: nothing.

use std::error::Error;
use std::path::PathBuf;

#[path = "../runtime/build_support.rs"]
mod build_support;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_RECORD").is_none() {
        return Ok(());
    }
    check_target()?;
    let crates = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?).join("..");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let object = build_support::compile(&crates, &out)?;
    std::fs::write(out.join("libreuselens_annotate.a"), archive(&object))?;
    println!("cargo::rustc-link-search=native={}", out.display());
    println!("cargo::rustc-link-lib=static=reuselens_annotate");
    Ok(())
}

fn check_target() -> Result<(), Box<dyn Error>> {
    let part = |name: &str| std::env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    let target = [part("ARCH"), part("OS"), part("ENV")];
    if target == ["x86_64", "linux", "gnu"] {
        return Ok(());
    }
    Err(format!(
        "reuselens records on x86_64-unknown-linux-gnu only, and this is {}; build without the \
         feature `record` of reuselens-annotate, which makes its calls disappear",
        target.join("-")
    )
    .into())
}

/// An archive with one member, as `ar` would write it.
fn archive(object: &[u8]) -> Vec<u8> {
    let (name, time, owner, group, mode) = ("reuselens.o/", 0, 0, 0, 644);
    let size = object.len();
    let head = format!("{name:<16}{time:<12}{owner:<6}{group:<6}{mode:<8}{size:<10}`\n");
    let padding: &[u8] = if size.is_multiple_of(2) { b"" } else { b"\n" };
    [b"!<arch>\n", head.as_bytes(), object, padding].concat()
}
