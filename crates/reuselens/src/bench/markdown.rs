//! What was measured, as Markdown tables.

use std::fmt::Write;

use reuselens_profile::EngineStep;
use reuselens_units::ratio_percent;

use super::{Heat, Long, Report, Timing};

impl Report {
    /// All of it as Markdown: for each stream and contender the ratio to Olken's tree and the share
    /// of the bound, then the rates.
    pub fn markdown(&self) -> String {
        let mut out = String::new();
        let _ = write!(
            out,
            "{}; {}; {} thread; ",
            self.processor, self.simd, self.threads
        );
        let in_chunks = self.streams.iter().flat_map(|heat| &heat.timings);
        let by_the_clock = if in_chunks.into_iter().any(|timing| !timing.steps.is_empty()) {
            " (time on the wall for hp-rda on several threads, and for engines on a device)"
        } else {
            ""
        };
        let how = match &self.long {
            Some(_) => "one run".to_owned(),
            None => format!(
                "processor time{by_the_clock}, median of {} runs (1 of those that take over 5 s); exact engines of a stream have equal histograms",
                self.repetitions
            ),
        };
        let _ = writeln!(out, "{how}\n");
        if !self.streams.is_empty() {
            table(&mut out, "stream", &self.streams, |heat| {
                heat.stream.clone()
            });
        }
        write_chunked(&mut out, &self.streams);
        for series in &self.series {
            let _ = writeln!(out, "\nOver {} ({}):\n", series.over, series.stream);
            table(&mut out, series.over, &series.heats, |heat| {
                heat.stream.clone()
            });
        }
        if let Some(long) = &self.long {
            write_long(&mut out, long);
        }
        out
    }
}

/// A row per heat and contender.
fn table(out: &mut String, first: &str, heats: &[Heat], name: impl Fn(&Heat) -> String) {
    let _ = writeln!(
        out,
        "| {first} | references | distinct | engine | ÷ olken | share of bound | M references/s | bytes per item | runs |"
    );
    let _ = writeln!(out, "|---|---:|---:|---|---:|---:|---:|---:|---:|");
    for heat in heats {
        for timing in &heat.timings {
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} |",
                name(heat),
                heat.references,
                heat.distinct,
                cells(timing)
            );
        }
    }
}

fn cells(timing: &Timing) -> String {
    let or = |number: Option<String>| number.unwrap_or_else(|| "—".to_owned());
    if !timing.measurable {
        let bytes = or(timing.bytes_per_item.map(|bytes| format!("{bytes:.0}")));
        let (name, runs) = (&timing.name, timing.runs);
        return format!("{name} | not measurable: machine is busy | — | — | {bytes} | {runs}");
    }
    format!(
        "{} | {} | {} | {:.2} | {} | {}",
        timing.name,
        or(timing.ratio_to_olken.map(|ratio| format!("{ratio:.2}"))),
        or(timing
            .share_of_bound
            .map(|share| format!("{:.0} %", share * 100.0))),
        timing.mega_references_per_second,
        or(timing.bytes_per_item.map(|bytes| format!("{bytes:.0}"))),
        timing.runs
    )
}

/// The errors of approximate engines, and the time of the steps of those that have some; nothing if
/// there are none.
fn write_chunked(out: &mut String, heats: &[Heat]) {
    let all = || {
        heats
            .iter()
            .flat_map(|heat| heat.timings.iter().map(move |timing| (heat, timing)))
    };
    if all().any(|(_, timing)| timing.error.is_some()) {
        let _ = writeln!(
            out,
            "\nError against the exact histogram, over its log2 bins:\n\n\
             | stream | engine | average of a bin | not adjusted | accesses in another bin | not adjusted |\n\
             |---|---|---:|---:|---:|---:|"
        );
    }
    for (heat, timing) in all() {
        let Some(error) = &timing.error else { continue };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} |",
            heat.stream,
            timing.name,
            ratio_percent(error.average_bin),
            ratio_percent(error.average_bin_not_adjusted),
            ratio_percent(error.total_variation),
            ratio_percent(error.total_variation_not_adjusted),
        );
    }
    let mut is_first = true;
    for (heat, timing) in all().filter(|(_, timing)| !timing.steps.is_empty()) {
        if std::mem::take(&mut is_first) {
            let _ = writeln!(out, "\nWhere the time of the fastest run went:\n");
        }
        let sum: f64 = timing.steps.iter().map(|step| step.seconds).sum();
        let share = |step: &EngineStep| {
            let share = step.seconds / sum.max(f64::MIN_POSITIVE);
            format!("{} {}", step.step, ratio_percent(share))
        };
        let shares: Vec<String> = timing.steps.iter().map(share).collect();
        let (stream, name) = (&heat.stream, &timing.name);
        let _ = writeln!(
            out,
            "- {stream}, {name}: {} of {sum:.3} s",
            shares.join(", ")
        );
    }
}

fn write_long(out: &mut String, long: &Long) {
    let peak = match (long.peak_resident_bytes, long.peak_resident_bytes_per_item) {
        (Some(bytes), Some(per_item)) => format!(
            "; the process had {:.1} MiB at its peak, {per_item:.1} bytes per item",
            bytes as f64 / f64::from(1 << 20)
        ),
        _ => String::new(),
    };
    let _ = writeln!(
        out,
        "Long run: {}, {} references to {} distinct items, not kept in memory: {:.1} s, {:.1} M references/s; \
         the engine held {:.1} MiB, {:.1} bytes per item{peak}.",
        long.engine,
        long.references,
        long.distinct,
        long.seconds,
        long.mega_references_per_second,
        long.engine_bytes as f64 / f64::from(1 << 20),
        long.engine_bytes_per_item,
    );
}
