//! For tests: builds the programs that are difficult to rewrite.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A program that is built with the system's own compiler and no flag of ours.
pub fn build(folder: &Path, source: &str, flags: &[&str]) -> PathBuf {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/rewrite");
    let output = folder.join(source.split('.').next().unwrap());
    let compiler = if source.ends_with("cpp") {
        "g++"
    } else {
        "gcc"
    };
    let status = Command::new(compiler)
        .args(["-O2", "-w", "-pthread"])
        .args(flags)
        .arg("-o")
        .args([&output, &programs.join(source)])
        .status()
        .unwrap();
    assert!(status.success());
    output
}
