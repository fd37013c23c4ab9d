//! The ten applications: what instrumenting costs them, and whether a GPU counts what the
//! interpreter counts.

use std::time::Duration;

use serde_json::Value;

use super::{Day, DayTable};

/// The applications of `programs/cuda`.
pub(super) const NAMES: [&str; 10] = [
    "backprop", "bfs", "bicg", "hotspot", "lavaMD", "nn", "nw", "srad_v2", "syr2k", "syrk",
];
/// What nvcc compiles for: PTX, which is instrumented, and code for no GPU.
pub(super) const SMALLEST_GPU: &str = "arch=compute_80,code=compute_80";

/// Fields that differ between two runs: times, addresses, and the device.
const OF_THE_RUN: [&str; 3] = ["seconds", "address", "device"];

pub(super) fn run(day: &Day) -> anyhow::Result<DayTable> {
    let mut table = DayTable::new(&[
        "program",
        "alone s",
        "instrumented s",
        "times alone",
        "interpreter s",
        "equal",
    ]);
    for name in day.pick(&["bicg"][..], &NAMES[..]) {
        if day.is_over() {
            table.faults.push(format!(
                "{name} and what follows was not run: the time was over"
            ));
            break;
        }
        if let Err(error) = program(day, name, &mut table) {
            table.faults.push(format!("{name}: {error:#}"));
        }
    }
    Ok(table)
}

/// A row.
fn program(day: &Day, name: &str, table: &mut DayTable) -> anyhow::Result<()> {
    let program = day.built.join("programs").join(name);
    let program = program.display().to_string();
    let arguments: &[&str] = day.pick(&["64", "64"], &[]);
    let (_, alone) = day.output(&program, arguments)?;
    let (on_gpu, instrumented) = profile(day, &program, arguments, &["--device", "cuda"])?;
    let (interpreted, interpreter) = profile(day, &program, arguments, &[])?;
    let is_equal = on_gpu == interpreted;
    if !is_equal {
        table.faults.push(format!(
            "{name}: the GPU's profile differs from the interpreter's"
        ));
    }
    let seconds = |time: Duration| format!("{:.3}", time.as_secs_f64());
    let times = instrumented.as_secs_f64() / alone.as_secs_f64().max(1e-9);
    table.push([
        name.to_owned(),
        seconds(alone),
        seconds(instrumented),
        format!("{times:.1}"),
        seconds(interpreter),
        u8::from(is_equal).to_string(),
    ]);
    Ok(())
}

/// What a profile of the program counts, and how long making it took.
fn profile(
    day: &Day,
    program: &str,
    arguments: &[&str],
    options: &[&str],
) -> anyhow::Result<(Value, Duration)> {
    let words = ["profile", "-q", "-f", "--json", "counts.json"];
    let words = [&words[..], options, &["--", program], arguments].concat();
    let (_, time) = day.output("reuselens", &words)?;
    let text = std::fs::read_to_string(day.scratch.join("counts.json"))?;
    let mut counts: Value = serde_json::from_str(&text)?;
    forget(&mut counts);
    Ok((counts, time))
}

/// Takes out what no two runs have in common.
fn forget(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !OF_THE_RUN.contains(&name.as_str()));
            fields.values_mut().for_each(forget);
        }
        Value::Array(values) => values.iter_mut().for_each(forget),
        _ => {}
    }
}
