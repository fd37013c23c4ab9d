//! Compiles the rewriter's image with cargo, for the build script of the capture crate, which
//! includes this file by its path.
//!
//! The image is a shared object without std and without a libc: it has no symbols to resolve, only
//! addresses to shift. Its crate has dependencies, so cargo compiles it, in a folder of its own.

use std::error::Error;
use std::path::Path;
use std::process::Command;

/// Flags of the linker: nothing from elsewhere, and the first instruction is the image's own.
const FLAGS: &str = "--cfg reuselens_dbi -Crelocation-model=pic -Clink-arg=-nostdlib \
                     -Clink-arg=-nostartfiles -Clink-arg=-Wl,-Bsymbolic,-z,now,-z,norelro,-e,rl_start";
const PROFILE: [&str; 6] = [
    "profile.release.panic=\"abort\"",
    "profile.release.lto=\"fat\"",
    "profile.release.codegen-units=1",
    "profile.release.debug=0",
    "profile.release.opt-level=3",
    "profile.release.strip=true",
];

/// Compiles the image into `out/dbi.so`, which is empty if the target is not x86-64 Linux.
/// `crates` is the folder with `wire`, `guest` and `dbi` in it. Prints for cargo which files the
/// image depends on.
pub fn compile(crates: &Path, out: &Path) -> Result<(), Box<dyn Error>> {
    let own = ["dbi/src", "dbi/Cargo.toml", "dbi/build_support.rs"];
    for source in own.into_iter().chain(["guest/src", "wire/src"]) {
        println!("cargo::rerun-if-changed={}", crates.join(source).display());
    }
    let target = std::env::var("TARGET")?;
    let image = out.join("dbi.so");
    if !target.starts_with("x86_64-unknown-linux") {
        std::fs::write(&image, b"")?;
        return Ok(());
    }
    let folder = out.join("dbi");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args([
            "rustc",
            "--quiet",
            "--lib",
            "--release",
            "--crate-type",
            "cdylib",
        ])
        .args(["--target", &target])
        .arg("--manifest-path")
        .arg(crates.join("dbi/Cargo.toml"))
        .arg("--target-dir")
        .arg(&folder)
        .env("RUSTFLAGS", FLAGS);
    for setting in PROFILE {
        command.args(["--config", setting]);
    }
    // Settings of the outer build, which must not apply to this one.
    for name in [
        "CARGO_ENCODED_RUSTFLAGS",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "CARGO_TARGET_DIR",
    ] {
        command.env_remove(name);
    }
    let status = command.status()?;
    if !status.success() {
        return Err(format!("cannot compile the rewriter: {status}").into());
    }
    let made = folder.join(&target).join("release/libreuselens_dbi.so");
    std::fs::copy(made, image)?;
    Ok(())
}
