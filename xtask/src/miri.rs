//! Unsafe code under Miri, which finds undefined behaviour in the code that tests run.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::succeed;

/// Tests of a package that reach unsafe code.
struct Suite {
    package: &'static str,
    /// Parts of the tests' names; empty for all tests.
    names: &'static [&'static str],
    /// Whether the tests keep memory until they end.
    leaks: bool,
}

/// The packages whose unsafe code Miri can run. It cannot run what is assembly or a system call:
/// `guest`, `runtime`, `dbi`, `preload`, and of `capture` what traces and maps.
const SUITES: [Suite; 5] = [
    Suite {
        package: "reuselens-wire",
        names: &[],
        // Segments live for ever, as they do in a program that is recorded.
        leaks: true,
    },
    Suite {
        package: "reuselens-hugepages",
        names: &[],
        leaks: false,
    },
    Suite {
        package: "reuselens-simd",
        names: &["entry_point"],
        leaks: false,
    },
    Suite {
        package: "reuselens-ptx",
        names: &["lanes"],
        leaks: false,
    },
    Suite {
        package: "reuselens-distance",
        names: &["counting::compare", "counting::tests::all_compilations"],
        leaks: false,
    },
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
    for suite in SUITES {
        let mut cargo = Command::new("cargo");
        cargo.args([
            "+nightly",
            "miri",
            "test",
            "-p",
            suite.package,
            "--lib",
            "--",
        ]);
        cargo.args(suite.names);
        // Vectors of 256 bits, which Miri knows; those of 512 it does not.
        cargo.env("RUSTFLAGS", "-Ctarget-feature=+avx2");
        // Maps of memory ask the system for its page size.
        let mut flags = "-Zmiri-disable-isolation".to_owned();
        if suite.leaks {
            flags.push_str(" -Zmiri-ignore-leaks");
        }
        cargo.env("MIRIFLAGS", flags);
        succeed(cargo.current_dir(root))?;
    }
    Ok(())
}
