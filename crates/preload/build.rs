//! Compiles this crate once more, without std, as the shared library that is preloaded into
//! programs. It is embedded in the crate itself.

use std::error::Error;
use std::path::PathBuf;
use std::process::Command;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rustc-check-cfg=cfg(reuselens_preload)");
    let library = PathBuf::from(std::env::var("OUT_DIR")?).join("preload.so");
    let target = std::env::var("TARGET")?;
    // Fuzz targets run no program that it could be put into.
    let fuzzing = std::env::var_os("CARGO_CFG_FUZZING").is_some();
    if fuzzing || !target.starts_with("x86_64-unknown-linux") {
        std::fs::write(&library, b"")?;
        return Ok(());
    }
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let status = Command::new(rustc)
        .args(["--edition", "2024", "--crate-name", "reuselens_preload"])
        .args(["--crate-type", "cdylib", "--cfg", "reuselens_preload"])
        .args(["-Copt-level=3", "-Cpanic=abort", "-Ccodegen-units=1"])
        .args(["-Crelocation-model=pic", "-Cstrip=symbols"])
        // It names no library: what it calls is in the C library that the program has anyway.
        .args(["-Clink-arg=-nostartfiles", "-Clink-arg=-Wl,-z,now"])
        .args(["-Ctarget-feature=-crt-static", "--target", &target])
        .arg("-o")
        .arg(&library)
        .arg("src/lib.rs")
        .status()?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("cannot compile the preloaded library: {status}").into()),
    }
}
