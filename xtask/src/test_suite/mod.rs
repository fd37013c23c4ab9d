//! `cargo xtask test`: all tests, and at the end a list of those that were skipped.
//!
//! `cargo test` hides what a passing test prints, so a test that returned early for want of a tool
//! looks like one that has proven something. `reuselens_testing::skip` therefore appends a line to
//! the file that `REUSELENS_SKIPPED` names; this command makes that file, runs the tests, and
//! prints it.

mod binaries;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::Context as _;

use binaries::TestRun;

use crate::machines::Described;

/// The variable with the path of the file that skipped tests are written to. Crate `testing`
/// reads it, and its constant of the same name must agree with this one: xtask depends on no crate
/// of the workspace, so that it builds fast.
const RECORD: &str = "REUSELENS_SKIPPED";

/// The variable with the command that cargo runs tests by.
const RUNNER: &str = "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER";
/// Runs tests as another user than root, whose home does not exist.
const NOBODY: &str = "setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/nonexistent";

/// Runs the workspace's tests, with more arguments of `cargo test` if there are some, and prints
/// what was skipped. A test that fails does not keep others from running.
///
/// Two arguments of its own come first: `--on MACHINE` runs them as on a machine of
/// `xtask/machines.toml`, and `--as-nobody` as a user who owns nothing and has no home.
///
/// # Errors
/// If cargo cannot be run or the record cannot be read. Tests that fail are no error but a status.
pub fn run(root: &Path, arguments: &[&str]) -> anyhow::Result<ExitCode> {
    let folder = root.join("target");
    let mut variables = Vec::new();
    let mut arguments = arguments;
    loop {
        match arguments {
            ["--on", machine, rest @ ..] => {
                let machine = Described::find(root, machine)?;
                let files = folder.join("machines").join(&machine.name);
                machine.write(&files)?;
                variables.extend(machine.variables(files));
                arguments = rest;
            }
            ["--as-nobody", rest @ ..] => {
                variables.push((RUNNER, NOBODY.to_owned()));
                arguments = rest;
            }
            _ => break,
        }
    }
    std::fs::create_dir_all(&folder)?;
    let record = folder.join("skipped-tests");
    std::fs::write(&record, "").with_context(|| format!("cannot write {}", record.display()))?;
    let record_path = record.to_string_lossy().into_owned();
    variables.push((RECORD, record_path));
    let succeeded = if arguments.is_empty() {
        run_everything(root, &variables)?
    } else {
        let mut cargo = Command::new("cargo");
        cargo.args(["test", "--workspace", "--no-fail-fast"]);
        cargo.args(arguments).current_dir(root);
        cargo.envs(variables.iter().map(|(name, value)| (name, value)));
        cargo.status()?.success()
    };
    print!("{}", summary(&std::fs::read_to_string(&record)?));
    Ok(if succeeded {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Runs all tests but those of examples, which lints compile: those of documents, and the binaries
/// side by side. Whether all succeeded.
fn run_everything(root: &Path, variables: &[(&str, String)]) -> anyhow::Result<bool> {
    let mut runs = binaries::build(root)?;
    let runner = variables.iter().find(|(name, _)| *name == RUNNER);
    for run in &mut runs {
        if let Some((_, words)) = runner {
            run.run_by(words);
        }
    }
    let words = ["cargo", "test", "--workspace", "--no-fail-fast", "--doc"];
    // Second, as it takes long and compiles.
    runs.insert(1, TestRun::new("examples in documentation", &words, root));
    for run in &mut runs {
        for (name, value) in variables {
            run.set(name, value);
        }
    }
    let failed = binaries::run_all(runs);
    if !failed.is_empty() {
        println!("\nfailed: {}", failed.join(", "));
    }
    Ok(failed.is_empty())
}

/// The list for people: each reason once, with the tests below it, in order of names.
fn summary(record: &str) -> String {
    let mut reasons: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (test, reason) in record.lines().filter_map(|line| line.split_once('\t')) {
        reasons.entry(reason).or_default().insert(test);
    }
    if reasons.is_empty() {
        return "\nno test was skipped\n".to_owned();
    }
    let tests: BTreeSet<&&str> = reasons.values().flatten().collect();
    let mut text = format!("\nskipped, at least in part: {} tests\n", tests.len());
    for (reason, tests) in &reasons {
        let _ = writeln!(text, "  {reason}");
        for test in tests {
            let _ = writeln!(text, "    {test}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_lists_each_reason_once_and_counts_tests() {
        let record = "b\tno gcc\na\tno gcc\na\tno gcc\na\tno clang\nhalf a line";
        let text =
            "\nskipped, at least in part: 2 tests\n  no clang\n    a\n  no gcc\n    a\n    b\n";
        assert_eq!(summary(record), text);
    }

    #[test]
    fn summary_of_a_complete_run_says_that_nothing_was_skipped() {
        assert_eq!(summary(""), "\nno test was skipped\n");
    }
}
