//! Other programs that answer the same questions, as processes of their own.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::latency::Latencies;

/// The program that runs peers from PyPI.
const SCRIPT: &str = include_str!("../../../programs/graphs/peers.py");

/// The answers that are compared.
pub const QUESTIONS: [&str; 3] = ["depths", "components", "triangles"];

/// What a way of answering took, and what it found.
#[derive(Clone, Debug, Default)]
pub struct PeerResult {
    /// What it is called.
    pub name: String,
    /// Latencies by [`QUESTIONS`]; none of a question that it does not have.
    pub latencies: [Option<Latencies>; QUESTIONS.len()],
    /// Sums of its final answers by their names in JSON, as far as it got through all batches.
    pub totals: serde_json::Map<String, Value>,
}

/// Runs a peer of the script on a file of differences.
///
/// # Errors
/// Why there is no result, as for a package that is not installed.
pub fn run_python(
    python: &Path,
    peer: &str,
    file: &Path,
    root: u64,
    limit: Duration,
) -> Result<PeerResult, String> {
    let mut command = Command::new(python);
    command.arg("-").arg(file).args(["--peer", peer]);
    command.args([
        "--root",
        &root.to_string(),
        "--limit",
        &limit.as_secs().to_string(),
    ]);
    run(command, SCRIPT)
}

/// Runs the program of `programs/graphs/dataflow` on a file of differences.
///
/// # Errors
/// Why there is no result.
pub fn run_dataflow(
    program: &Path,
    workers: usize,
    file: &Path,
    root: u64,
    limit: Duration,
) -> Result<PeerResult, String> {
    let mut command = Command::new(program);
    command.args(["--workers", &workers.to_string()]);
    let mut found = run_program(command, file, root, limit)?;
    found.name = format!("{}, workers: {workers}", found.name);
    Ok(found)
}

/// Runs a program on a file of differences, as those in `programs/graphs` take it.
///
/// # Errors
/// Why there is no result.
pub fn run_program(
    mut command: Command,
    file: &Path,
    root: u64,
    limit: Duration,
) -> Result<PeerResult, String> {
    command.arg(file).args(["--root", &root.to_string()]);
    command.args(["--limit", &limit.as_secs().to_string()]);
    run(command, "")
}

/// Starts a program, gives it text on its standard input, and reads its result.
fn run(mut command: Command, input: &str) -> Result<PeerResult, String> {
    let shown = command.get_program().to_string_lossy().into_owned();
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command
        .spawn()
        .map_err(|error| format!("cannot run {shown}: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that ends early reports its own reason.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child
        .wait_with_output()
        .map_err(|error| format!("{shown}: {error}"))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let last = text
            .trim()
            .lines()
            .last()
            .unwrap_or("no message")
            .to_owned();
        return Err(last);
    }
    let value: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("{shown} printed no result: {error}"))?;
    parse(&value).ok_or_else(|| format!("{shown} printed a result without its parts"))
}

fn parse(value: &Value) -> Option<PeerResult> {
    let (peer, version) = (value["peer"].as_str()?, value["version"].as_str()?);
    let mut found = PeerResult {
        name: format!("{peer} {version}"),
        totals: value["totals"].as_object()?.clone(),
        ..PeerResult::default()
    };
    for (question, place) in QUESTIONS.iter().zip(&mut found.latencies) {
        if let Some(list) = value["answers"][question]["latency_ns"].as_array() {
            let mut latencies = Latencies::default();
            for nanoseconds in list {
                latencies.add(Duration::from_nanos(nanoseconds.as_u64()?));
            }
            *place = Some(latencies);
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_peers_are_read_and_missing_parts_noticed() {
        let text = r#"{"peer": "p", "version": "1", "totals": {"reached": 4},
            "answers": {"depths": {"latency_ns": [5, 7]}}}"#;
        let value: Value = serde_json::from_str(text).unwrap();
        let found = parse(&value).unwrap();
        let depths = found.latencies[0].as_ref().unwrap();
        assert_eq!(
            (&found.name[..], depths.count(), depths.max()),
            ("p 1", 2, 7)
        );
        assert!(found.latencies[1].is_none() && found.totals["reached"] == 4);
        assert!(parse(&Value::Null).is_none());
    }

    #[test]
    fn last_line_of_a_failing_program_is_the_reason() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo one >&2; echo two >&2; exit 3"]);
        assert_eq!(run(command, "").unwrap_err(), "two");
        let error = run(Command::new("no-such-program-of-ours"), "").unwrap_err();
        assert!(
            error.contains("cannot run no-such-program-of-ours"),
            "{error}"
        );
    }
}
