//! What tests of several crates share: which tools the machine has, [`traces`] to try, and the
//! [time](processor_seconds) that an example takes.
//!
//! A test that needs a tool asks [`has`] and returns where the tool is missing. Such a test proves
//! nothing, so it must not pass where it is meant to run: in CI, `REUSELENS_REQUIRE_TOOLS` lists
//! the tools that `.ci/run` has installed, and a test that misses one of them fails. Elsewhere
//! `cargo xtask test` ends with a list of what was [skipped](skip).
//!
//! For: tests and examples of this workspace. Not for: anything that is shipped.

mod clock;
pub mod traces;

pub use clock::processor_seconds;

use std::env;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

/// The variable that lists tools, as commands or as paths of files, separated by spaces.
const REQUIRED: &str = "REUSELENS_REQUIRE_TOOLS";
/// The variable with the path of the file to which [`skip`] appends; `cargo xtask test` sets it.
/// The constant of the same name in `xtask/src/test_suite.rs` must agree with this one.
const RECORD: &str = "REUSELENS_SKIPPED";

/// Whether a command can be run; prints that the test is skipped where not. `tool` is a name on the
/// path, or the path of a file that must exist.
///
/// # Panics
/// If the tool is missing and `REUSELENS_REQUIRE_TOOLS` lists it.
pub fn has(tool: &str) -> bool {
    let found = is_there(tool);
    if !found {
        let required = env::var(REQUIRED).unwrap_or_default();
        assert!(
            !is_listed(&required, tool),
            "{tool} is missing, and {REQUIRED} lists it"
        );
        skip(&format!("no {tool}"));
    }
    found
}

/// Whether the file exists, or the command can be run.
fn is_there(tool: &str) -> bool {
    if tool.starts_with('/') {
        Path::new(tool).exists()
    } else {
        Command::new(tool).arg("--version").output().is_ok()
    }
}

/// Prints and records that the running test, or a part of it, is skipped, and why. The caller then
/// returns.
///
/// # Panics
/// If the record cannot be written.
pub fn skip(reason: &str) {
    eprintln!("skipped: {reason}");
    let Some(path) = env::var_os(RECORD) else {
        return;
    };
    let thread = std::thread::current();
    let line = format!("{}\t{reason}\n", thread.name().unwrap_or("?"));
    // One write of a short line to a file that is opened for appending: lines of several
    // processes do not mix.
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(line.as_bytes()).unwrap();
}

fn is_listed(required: &str, tool: &str) -> bool {
    required.split_whitespace().any(|listed| listed == tool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_commands_or_files() {
        // Not `has`, which would record a skipped test.
        assert!(is_there("cargo"));
        assert!(is_there(env!("CARGO_MANIFEST_DIR")));
        assert!(!is_there("no-such-tool-of-ours"));
        assert!(!is_there("/no/such/library.so"));
    }

    #[test]
    fn required_tools_are_listed_by_their_names() {
        let required = "gcc clang-19 /usr/lib/libomp.so";
        assert!(is_listed(required, "clang-19") && is_listed(required, "/usr/lib/libomp.so"));
        assert!(!is_listed(required, "clang") && !is_listed("", "gcc"));
    }
}
