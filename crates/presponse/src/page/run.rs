//! The page of `presponse run`.

use reuselens_document::{ChartAxis, Section, Unit};
use reuselens_units::counted;

use super::{OverTime, plain};
use crate::answers::SERIES;
use crate::latency::Latencies;
use crate::summary::{RunSummary, RunWindow, nanoseconds};
use crate::timeline::Window;

/// The page of a run.
pub fn page(facts: &[String], summary: &RunSummary) -> String {
    let sections = [latencies(summary), over_time(summary), work(summary)];
    super::page("Latency of exact answers", facts, &sections)
}

fn latencies(summary: &RunSummary) -> Section {
    Section::new(
        "latency",
        "Latency of a batch",
        "The time from a batch to its exact answer. p99 is the time that 99 of 100 batches do not \
         exceed. “graph” is the change of the stored edges, “all” is everything together. The last \
         columns count batches: those that could not change an answer, those after which it was \
         repaired, and those after which it was computed again; and the vertices whose answer had \
         to be found again.",
    )
    .with_table(summary.table())
}

/// A line of latencies, and what it shows of those of a window.
type LatencyLine = (&'static str, fn(&Latencies) -> u64);

/// The lines that windows of so many batches have values for.
fn latency_lines(batches: u64) -> Vec<LatencyLine> {
    match batches {
        0..=1 => vec![("the batch", Latencies::max)],
        2..=99 => vec![
            ("p50", |series| series.percentile(0.5)),
            ("longest", Latencies::max),
        ],
        _ => vec![
            ("p50", |series| series.percentile(0.5)),
            ("p99", |series| series.percentile(0.99)),
            ("longest", Latencies::max),
        ],
    }
}

fn over_time(summary: &RunSummary) -> Section {
    let windows = summary.timeline.windows();
    let each = windows.first().map_or(0, |window| window.batches);
    let lines = latency_lines(each);
    let panel = |(at, name): (usize, &&str)| {
        let line = |(label, value): &LatencyLine| {
            let values = windows.iter();
            let values =
                values.map(|window: &Window<RunWindow>| value(&window.sums.latencies[at]) as f64);
            (*label, values.collect())
        };
        let y = ChartAxis::logarithmic("", Unit::Nanoseconds);
        let picture =
            OverTime::of_batches(name, summary.batches, y, |value| nanoseconds(value as u64));
        picture.panel(lines.iter().map(line).collect())
    };
    let panels = SERIES.iter().enumerate().map(panel).collect();
    let windows = match each {
        0..=1 => "Each point is a batch.".to_owned(),
        _ => format!(
            "Each point is a window of {}: the time that half of them do not exceed (p50){}, and \
             the longest.",
            counted(each, "batch", "batches"),
            if each < 100 {
                ""
            } else {
                ", that 99 of 100 do not exceed (p99)"
            },
        ),
    };
    let explain = format!(
        "The batches in their order, from left to right. {windows} Heights are logarithmic. A line \
         that rises means that batches become more expensive as the graph changes."
    );
    Section::new("time", "Latency over time", explain).with_pictures(panels)
}

fn work(summary: &RunSummary) -> Section {
    let windows = summary.timeline.windows();
    let lines = SERIES.iter().enumerate().take(SERIES.len() - 1);
    let lines = lines.map(|(at, name)| {
        let values = windows
            .iter()
            .map(|window| window.sums.affected[at] as f64 / window.batches as f64);
        let label = if at == 0 { "changed edges" } else { name };
        (label, values.collect())
    });
    let y = ChartAxis::logarithmic("", Unit::Things);
    let panel = OverTime::of_batches("per batch", summary.batches, y, plain);
    Section::new(
        "work",
        "Affected work",
        "Changed edges per batch, and vertices per batch whose answer had to be found again. Where \
         the lines of answers are far below the number of vertices, repairing beats recomputing. A \
         window without any affected vertex has no point.",
    )
    .with_pictures(vec![panel.panel(lines.collect())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_is_complete_and_escapes_its_texts() {
        let facts = ["<b> & \"c\"\u{1b}".to_owned()];
        let page = page(&facts, &RunSummary::default());
        assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"));
        assert!(page.contains("<li>&lt;b&gt; &amp; &quot;c&quot;\u{fffd}</li>"));
        assert!(!page.contains("http") && !page.contains("NaN") && !page.contains("inf"));
    }

    #[test]
    fn percentiles_are_shown_where_windows_have_batches_for_them() {
        let labels = |batches| -> Vec<&str> {
            let lines = latency_lines(batches).into_iter();
            lines.map(|(label, _)| label).collect()
        };
        assert_eq!(labels(1), ["the batch"]);
        assert_eq!(labels(99), ["p50", "longest"]);
        assert_eq!(labels(100), ["p50", "p99", "longest"]);
    }
}
