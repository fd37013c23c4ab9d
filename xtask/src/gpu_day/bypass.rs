//! Times of the applications whose loads go by warps: what passing the L1 by costs or gains.

use std::time::Duration;

use super::programs::NAMES;
use super::{Day, DayTable};

/// Warps of a block that use the L1. The programs' blocks have 32 at most, so with the last all do.
pub(super) const WARPS: [u32; 6] = [0, 1, 2, 4, 8, 32];
/// Runs, of which the fastest counts.
const RUNS: usize = 3;

pub(super) fn run(day: &Day) -> anyhow::Result<DayTable> {
    let mut table = DayTable::new(&["program", "warps that use the L1", "s", "÷ all warps"]);
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

/// A row for each number of warps.
fn program(day: &Day, name: &str, table: &mut DayTable) -> anyhow::Result<()> {
    let mut times = Vec::new();
    for warps in WARPS {
        times.push((warps, fastest(day, name, warps)?));
    }
    let all = times.last().map_or(0.0, |(_, time)| time.as_secs_f64());
    for (warps, time) in times {
        let seconds = time.as_secs_f64();
        let numbers = [
            format!("{seconds:.4}"),
            format!("{:.3}", seconds / all.max(1e-9)),
        ];
        table.push(
            [name.to_owned(), warps.to_string()]
                .into_iter()
                .chain(numbers),
        );
    }
    Ok(())
}

/// The whole time of the fastest run, the host's part included, which is the same for all.
fn fastest(day: &Day, name: &str, warps: u32) -> anyhow::Result<Duration> {
    let program = day.built.join("bypass").join(format!("{name}-{warps}"));
    let program = program.display().to_string();
    let arguments: &[&str] = day.pick(&["64", "64"], &[]);
    let mut fastest = Duration::MAX;
    for _ in 0..day.pick(1, RUNS) {
        let (_, time) = day.output(&program, arguments)?;
        fastest = fastest.min(time);
    }
    Ok(fastest)
}
