//! Test binaries as cargo builds them, run side by side.
//!
//! `cargo test` runs one binary after the other, so at the end of each all processors but one are
//! idle, and where a test waits for a program none works for it. Here as many binaries run at a
//! time as there are processors. Those of the command line have a thread for each processor, since
//! they take longest and their tests mostly wait; those of the others have one thread.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde::Deserialize;

/// The package whose binaries begin first and have all threads.
const LONGEST: &str = "reuselens-cli";

/// A command that runs tests.
pub(super) struct TestRun {
    /// What it is called when it ends.
    name: String,
    /// The program and its arguments.
    words: Vec<OsString>,
    folder: PathBuf,
    /// What is set in its environment.
    variables: Vec<(String, OsString)>,
}

/// A line of what cargo writes about its work, as far as it matters here.
#[derive(Deserialize)]
struct BuildMessage {
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
    profile: Option<Profile>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// Builds all tests but those of examples and documents, and gives a command for each binary, the
/// longest first.
///
/// # Errors
/// If they cannot be built.
pub(super) fn build(root: &Path) -> anyhow::Result<Vec<TestRun>> {
    let mut cargo = Command::new("cargo");
    cargo.args(["test", "--workspace", "--lib", "--bins", "--tests"]);
    cargo.args(["--no-run", "--message-format", "json-render-diagnostics"]);
    let output = cargo.current_dir(root).stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "the tests cannot be built");
    let mut runs = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        runs.extend(test_run(line)?);
    }
    ensure!(!runs.is_empty(), "cargo names no test binaries");
    runs.sort_by_key(|run| !run.name.starts_with(LONGEST));
    Ok(runs)
}

/// The binary that a line of cargo is about, if it is one with tests.
fn test_run(line: &str) -> anyhow::Result<Option<TestRun>> {
    let message: BuildMessage = serde_json::from_str(line)
        .with_context(|| format!("cargo writes another form than is known: {line}"))?;
    let (Some(executable), Some(manifest), Some(target)) =
        (message.executable, message.manifest_path, message.target)
    else {
        return Ok(None);
    };
    if !message.profile.is_some_and(|profile| profile.test) {
        return Ok(None);
    }
    let folder = manifest.parent().context("a manifest is in a folder")?;
    let text = std::fs::read_to_string(&manifest)?;
    let package = text.parse::<toml::Table>()?["package"]["name"]
        .as_str()
        .context("a package has a name")?
        .to_owned();
    let threads = if package == LONGEST { processors() } else { 1 };
    let name = format!("{package}: {}", target.name);
    // As cargo runs it: in its package's folder.
    let mut run = TestRun::new(&name, &[executable], folder);
    run.set("CARGO_MANIFEST_DIR", folder);
    run.set("CARGO_PKG_NAME", &package);
    run.set("RUST_TEST_THREADS", threads.to_string());
    Ok(Some(run))
}

impl TestRun {
    /// A program and its arguments, under a name, in a folder.
    pub(super) fn new(name: &str, words: &[impl AsRef<OsStr>], folder: &Path) -> TestRun {
        TestRun {
            name: name.to_owned(),
            words: words.iter().map(|word| word.as_ref().to_owned()).collect(),
            folder: folder.to_owned(),
            variables: Vec::new(),
        }
    }

    /// Sets a variable of its environment.
    pub(super) fn set(&mut self, name: &str, value: impl AsRef<OsStr>) {
        let value = value.as_ref().to_owned();
        self.variables.push((name.to_owned(), value));
    }

    /// Has another command run it, with words of its own first.
    pub(super) fn run_by(&mut self, words: &str) {
        let words = words.split_whitespace().map(OsString::from);
        self.words.splice(0..0, words);
    }

    /// Runs it to its end: whether it succeeded, what it printed, and how long it took.
    fn finish(&self) -> (bool, String, Duration) {
        let start = Instant::now();
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).current_dir(&self.folder);
        command.envs(self.variables.iter().cloned());
        let output = command.stdin(Stdio::null()).output();
        let (succeeded, text) = match output {
            Ok(output) => {
                let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
                text += &String::from_utf8_lossy(&output.stderr);
                (output.status.success(), text)
            }
            Err(error) => (false, format!("cannot be run: {error}\n")),
        };
        (succeeded, text, start.elapsed())
    }
}

/// Runs all, as many at a time as there are processors. Prints how many tests passed in each that
/// succeeds, and all output of each that fails. Returns the names of those that failed.
pub(super) fn run_all(runs: Vec<TestRun>) -> Vec<String> {
    let waiting = Mutex::new(VecDeque::from(runs));
    let failed = Mutex::new(Vec::new());
    let next = || {
        let mut waiting = waiting.lock().unwrap_or_else(|broken| broken.into_inner());
        waiting.pop_front()
    };
    std::thread::scope(|scope| {
        for _ in 0..processors() {
            scope.spawn(|| {
                while let Some(run) = next() {
                    let (succeeded, text, time) = run.finish();
                    // One thread prints at a time.
                    let mut failed = failed.lock().unwrap_or_else(|broken| broken.into_inner());
                    let seconds = time.as_secs_f64();
                    if succeeded {
                        println!("{seconds:6.1} s  {}: {}", run.name, passed(&text));
                    } else {
                        println!("{seconds:6.1} s  {}: FAILED\n{text}", run.name);
                        failed.push(run.name);
                    }
                }
            });
        }
    });
    let mut failed = failed
        .into_inner()
        .unwrap_or_else(|broken| broken.into_inner());
    failed.sort();
    failed
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// How many tests passed, by the lines in which binaries say so.
fn passed(text: &str) -> String {
    let results = text.lines().filter_map(|line| {
        let rest = line.strip_prefix("test result: ok. ")?;
        rest.split(" passed").next()?.parse::<u64>().ok()
    });
    format!("{} passed", results.sum::<u64>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_about_binaries_without_tests_are_left_out() {
        for line in [
            r#"{"reason":"build-finished","success":true}"#,
            r#"{"reason":"compiler-artifact","manifest_path":"/p/Cargo.toml","target":{"name":"a"},"profile":{"test":false},"executable":"/t/a"}"#,
            r#"{"reason":"compiler-artifact","manifest_path":"/p/Cargo.toml","target":{"name":"a"},"profile":{"test":true},"executable":null}"#,
        ] {
            assert!(test_run(line).unwrap().is_none(), "{line}");
        }
        assert!(test_run("no JSON").is_err());
    }

    #[test]
    fn commands_that_fail_are_named_and_the_others_run() {
        let shell =
            |name: &str, script: &str| TestRun::new(name, &["sh", "-c", script], Path::new("."));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ran");
        let mut last = shell("d", &format!("echo $WORD >> {}", file.display()));
        last.set("WORD", "yes");
        last.run_by("env OTHER=1");
        let runs = vec![
            shell("c", "exit 3"),
            shell("a", "exit 1"),
            shell("b", "true"),
            last,
        ];
        assert_eq!(run_all(runs), ["a", "c"]);
        assert_eq!(std::fs::read_to_string(file).unwrap(), "yes\n");
    }

    #[test]
    fn passed_tests_are_summed_over_the_binaries_of_a_command() {
        let text = "test result: ok. 3 passed; 0 failed; …\nother\ntest result: ok. 4 passed; 0 failed; …\n";
        assert_eq!(passed(text), "7 passed");
    }
}
