//! Unsafe code under Miri, which finds undefined behaviour in the code that tests run.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::succeed;

/// The packages whose unsafe code Miri can run, each with the tests that reach it; no name is all
/// tests. It cannot run what is assembly or a system call: `runtime`, `dbi`, and of `capture`
/// what traces and maps.
const TESTS: [(&str, &[&str]); 5] = [
    ("reuselens-wire", &[]),
    ("reuselens-hugepages", &[]),
    ("reuselens-simd", &["entry_point"]),
    ("reuselens-ptx", &["lanes"]),
    (
        "reuselens-distance",
        &["counting::compare", "dispatch::tests::all_compilations"],
    ),
];

/// Runs these tests with the nightly compiler, if that is there with Miri.
///
/// # Errors
/// If a test fails.
pub fn run(root: &Path) -> anyhow::Result<()> {
    let mut version = Command::new("cargo");
    version.args(["+nightly", "miri", "--version"]);
    let version = version.stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !version.is_ok_and(|status| status.success()) {
        println!(
            "skipped: no Miri; rustup toolchain install nightly --component miri --component rust-src"
        );
        return Ok(());
    }
    for (package, names) in TESTS {
        let mut cargo = Command::new("cargo");
        cargo.args(["+nightly", "miri", "test", "-p", package, "--lib", "--"]);
        cargo.args(names);
        // Vectors of 256 bits, which Miri knows; those of 512 it does not.
        cargo.env("RUSTFLAGS", "-Ctarget-feature=+avx2");
        // Maps of memory ask the system for its page size.
        cargo.env("MIRIFLAGS", "-Zmiri-disable-isolation");
        succeed(cargo.current_dir(root))?;
    }
    Ok(())
}
