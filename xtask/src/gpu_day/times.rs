//! Times of the engines on a GPU, beside those of the processor.

use std::fs;

use anyhow::Context as _;
use serde_json::Value;

use super::equality::random_items;
use super::{Day, DayTable};

/// Engines by kernels, and what they are compared with.
const ENGINES: &str = "gpu,hp-rda-gpu,counting,olken";

/// Two streams of the yardstick, whose items have 32 bits, and one of items that have 40.
pub(super) fn run(day: &Day) -> anyhow::Result<DayTable> {
    let mut table = DayTable::new(&[
        "stream",
        "references",
        "engine",
        "seconds",
        "without transfer",
        "times as fast as olken",
        "average error of a bin %",
        "steps",
    ]);
    let references = day.pick(4_000, 64 << 20);
    fs::write(
        day.scratch.join("wide.u64"),
        random_items(references, 1 << 40),
    )?;
    let number = references.to_string();
    let words = [
        "engines", "--bench", "-q", "--json", "-", "--engine", ENGINES,
    ];
    let more = [
        "--device",
        "cuda",
        "--stream",
        "zipf,uniform",
        "--trace",
        "wide.u64",
    ];
    let size = ["--references", &number, "--repetitions", day.pick("1", "3")];
    let (text, _) = day.output("reuselens", &[&words[..], &more, &size].concat())?;
    let report: Value = serde_json::from_str(&text)?;
    for heat in report["streams"].as_array().context("no streams")? {
        let stream = heat["stream"].as_str().unwrap_or_default();
        for timing in heat["timings"].as_array().context("no timings")? {
            table.push(row(stream, &number, timing)?);
        }
    }
    Ok(table)
}

fn row(stream: &str, references: &str, timing: &Value) -> anyhow::Result<Vec<String>> {
    let name = timing["name"].as_str().context("an engine has a name")?;
    let seconds = timing["seconds"].as_f64().context("a run has a time")?;
    let none = Vec::new();
    let steps = timing["steps"].as_array().unwrap_or(&none);
    let time = |step: &Value| step["seconds"].as_f64().unwrap_or_default();
    let transfer = steps.iter().find(|step| step["step"] == "transfer");
    let shown: Vec<String> = steps
        .iter()
        .map(|step| {
            format!(
                "{} {:.4}",
                step["step"].as_str().unwrap_or_default(),
                time(step)
            )
        })
        .collect();
    let or_none = |value: Option<String>| value.unwrap_or_default();
    Ok(vec![
        stream.to_owned(),
        references.to_owned(),
        name.to_owned(),
        format!("{seconds:.4}"),
        or_none(transfer.map(|transfer| {
            let all: f64 = steps.iter().map(time).sum();
            format!("{:.4}", all - time(transfer))
        })),
        or_none(
            timing["ratio_to_olken"]
                .as_f64()
                .map(|ratio| format!("{ratio:.1}")),
        ),
        or_none(
            timing["error"]["average_bin"]
                .as_f64()
                .map(|error| format!("{:.3}", 100.0 * error)),
        ),
        shown.join("; "),
    ])
}
