//! The page of `presponse run`.

use reuselens_units::{counted, grouped};

use super::axis::Scale;
use super::chart::{self, Chart, Line};
use super::{PageSection, document};
use crate::answers::SERIES;
use crate::latency::Latencies;
use crate::summary::{RunSummary, RunWindow, nanoseconds};
use crate::timeline::Window;

/// The page of a run.
pub fn page(facts: &[String], summary: &RunSummary) -> String {
    let sections = [latencies(summary), over_time(summary), work(summary)];
    document("Latency of exact answers", facts, &sections)
}

const HEADS: [&str; 8] = [
    "",
    "p50",
    "p99",
    "p99.9",
    "longest",
    "unchanged",
    "repaired",
    "recomputed",
];

fn latencies(summary: &RunSummary) -> PageSection {
    let rows = SERIES.iter().enumerate().map(|(at, name)| {
        let series = &summary.latencies[at];
        let mut row = vec![(*name).to_owned()];
        let shares = [(0.5, 1), (0.99, 100), (0.999, 1000)];
        row.extend(shares.map(|(share, least)| match series.count() >= least {
            true => nanoseconds(series.percentile(share)),
            false => "–".to_owned(),
        }));
        row.push(nanoseconds(series.max()));
        let choices = at
            .checked_sub(1)
            .and_then(|answer| summary.choices.get(answer));
        row.extend(match choices {
            Some(choices) => choices.map(grouped),
            None => std::array::from_fn(|_| String::new()),
        });
        row
    });
    PageSection::table(
        "Latency of a batch",
        "The time from a batch to its exact answer. p99 is the time that 99 of 100 batches do not \
         exceed. “graph” is the change of the stored edges, “all” is everything together. The last \
         columns count batches: those that could not change an answer, those after which it was \
         repaired, and those after which it was computed again.",
        HEADS.map(str::to_owned).to_vec(),
        rows.collect(),
    )
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

fn over_time(summary: &RunSummary) -> PageSection {
    let windows = summary.timeline.windows();
    let each = windows.first().map_or(0, |window| window.batches);
    let lines = latency_lines(each);
    let charts = SERIES.iter().enumerate().map(|(at, name)| {
        let line = |(label, value): &LatencyLine| {
            let values = windows
                .iter()
                .map(|window: &Window<RunWindow>| value(&window.sums.latencies[at]) as f64);
            Line::new(label, values.collect())
        };
        Chart {
            title: (*name).to_owned(),
            lines: lines.iter().map(line).collect(),
            scale: Scale::Logarithmic,
            shown: |value| nanoseconds(value as u64),
            ends: chart::over_batches(summary.batches),
        }
    });
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
    PageSection {
        title: "Latency over time".to_owned(),
        explain: format!(
            "The batches in their order, from left to right. {windows} Heights are logarithmic: \
             each line of the grid is ten times the one below. A line that rises means that \
             batches become more expensive as the graph changes.",
        ),
        table: (Vec::new(), Vec::new()),
        charts: charts.collect(),
        is_words: false,
    }
}

fn work(summary: &RunSummary) -> PageSection {
    let windows = summary.timeline.windows();
    let lines = SERIES.iter().enumerate().take(SERIES.len() - 1);
    let lines = lines.map(|(at, name)| {
        let values = windows
            .iter()
            .map(|window| window.sums.affected[at] as f64 / window.batches as f64);
        let label = match at {
            0 => "changed edges",
            _ => name,
        };
        Line::new(label, values.collect())
    });
    PageSection {
        title: "Affected work".to_owned(),
        explain: "Changed edges per batch, and vertices per batch whose answer had to be found \
                  again. Where the lines of answers are far below the number of vertices, \
                  repairing beats recomputing. A window without any affected vertex has no point."
            .to_owned(),
        table: (Vec::new(), Vec::new()),
        charts: vec![Chart {
            title: "per batch".to_owned(),
            lines: lines.collect(),
            scale: Scale::Logarithmic,
            shown: chart::plain,
            ends: chart::over_batches(summary.batches),
        }],
        is_words: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_is_complete_and_escapes_its_texts() {
        let facts = ["<b> & \"c\"\u{1b}".to_owned()];
        let page = page(&facts, &RunSummary::default());
        assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"));
        assert!(page.contains("<li>&lt;b&gt; &amp; &quot;c&quot;\\u{1b}</li>"));
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
