//! Compiles this crate once more, without std, as the shared library that is preloaded into
//! programs. It is embedded in the crate itself.

use std::error::Error;
use std::path::{Path, PathBuf};

#[path = "../guest/build_support.rs"]
mod guest_support;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rustc-check-cfg=cfg(reuselens_preload)");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let library = out.join("preload.so");
    let target = std::env::var("TARGET")?;
    // Fuzz targets run no program that it could be put into.
    let fuzzing = std::env::var_os("CARGO_CFG_FUZZING").is_some();
    if fuzzing || !target.starts_with("x86_64-unknown-linux") {
        std::fs::write(&library, b"")?;
        return Ok(());
    }
    let crates = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?).join("..");
    let mut options = guest_support::compile(&crates, &out)?;
    let own = [
        "--cfg",
        "reuselens_preload",
        "-Clto=fat",
        "-Cstrip=symbols",
        // It names no library: what it calls is in the C library that the program has anyway.
        "-Clink-arg=-nostartfiles",
        "-Clink-arg=-Wl,-z,now",
        "-Ctarget-feature=-crt-static",
    ];
    options.extend(own.map(str::to_owned));
    let source = Path::new("src/lib.rs");
    guest_support::rustc(source, "reuselens_preload", "cdylib", &library, &options)
}
