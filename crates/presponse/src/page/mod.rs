//! Pages: single HTML files that fetch nothing, light and dark, narrow and wide. [`run`] is that of
//! a run, [`comparison`] that of `presponse compare`.

mod chart;

use std::fmt::Write as _;

use chart::{Chart, Line};
use reuselens_units::counted;

use crate::answers::SERIES;
use crate::latency::Latencies;
use crate::summary::{RunSummary, nanoseconds};

const STYLE: &str = include_str!("style.css");

/// A part of a page.
pub struct PageSection {
    /// Its heading.
    pub title: String,
    /// How to read it: one paragraph, or nothing.
    pub explain: String,
    /// Heads of columns, and rows; the first column has words, the others numbers. May be empty.
    pub table: (Vec<String>, Vec<Vec<String>>),
    charts: Vec<Chart>,
}

/// The page of a run.
pub fn run(facts: &[String], summary: &RunSummary) -> String {
    let sections = [latencies(summary), over_time(summary), work(summary)];
    document("Latency of exact answers", facts, &sections)
}

/// The page of a comparison: a table per question.
pub fn comparison(facts: &[String], sections: &[PageSection]) -> String {
    document("Exact answers, compared", facts, sections)
}

impl PageSection {
    /// A section that is a table.
    pub fn table(title: &str, explain: &str, heads: Vec<String>, rows: Vec<Vec<String>>) -> Self {
        Self {
            title: title.to_owned(),
            explain: explain.to_owned(),
            table: (heads, rows),
            charts: Vec::new(),
        }
    }
}

fn latencies(summary: &RunSummary) -> PageSection {
    let heads = [
        "",
        "p50",
        "p99",
        "p99.9",
        "longest",
        "unchanged",
        "repaired",
        "recomputed",
    ];
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
            Some(choices) => choices.map(reuselens_units::grouped),
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
        heads.map(str::to_owned).to_vec(),
        rows.collect(),
    )
}

fn over_time(summary: &RunSummary) -> PageSection {
    let windows = summary.timeline.windows();
    // Of fewer than 100 batches, the p99 is the longest one.
    let share = match windows.first().is_some_and(|window| window.batches >= 100) {
        true => 0.99,
        false => 0.9,
    };
    let high = format!("p{:.0}", 100.0 * share);
    let charts = SERIES.iter().enumerate().map(|(at, name)| {
        let line = |label: &str, value: &dyn Fn(&Latencies) -> u64| {
            let values = windows
                .iter()
                .map(|window| value(&window.series[at]) as f64);
            Line::new(label, values.collect())
        };
        Chart {
            title: (*name).to_owned(),
            lines: vec![
                line("p50", &|series| series.percentile(0.5)),
                line(&high, &|series| series.percentile(share)),
                line("longest", &Latencies::max),
            ],
            shown: |value| nanoseconds(value as u64),
            batches: summary.batches,
        }
    });
    PageSection {
        title: "Latency over time".to_owned(),
        explain: format!(
            "The batches in their order, from left to right, in {} windows of {} each. Heights are \
             logarithmic: each line of the grid is ten times the one below. A line that rises means \
             that batches become more expensive as the graph changes.",
            windows.len(),
            counted(
                windows.first().map_or(0, |window| window.batches),
                "batch",
                "batches"
            ),
        ),
        table: (Vec::new(), Vec::new()),
        charts: charts.collect(),
    }
}

fn work(summary: &RunSummary) -> PageSection {
    let windows = summary.timeline.windows();
    let lines = SERIES.iter().enumerate().take(SERIES.len() - 1);
    let lines = lines.map(|(at, name)| {
        let values = windows
            .iter()
            .map(|window| window.work[at] as f64 / window.batches as f64);
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
            shown: chart::plain,
            batches: summary.batches,
        }],
    }
}

fn document(title: &str, facts: &[String], sections: &[PageSection]) -> String {
    let mut out = String::with_capacity(64 << 10);
    let title = escape(title);
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{title}</title><style>{STYLE}</style></head><body><div class=\"wrap\">\
         <div class=\"brand\">presponse</div><h1>{title}</h1><ul class=\"facts\">"
    );
    for fact in facts {
        let _ = write!(out, "<li>{}</li>", escape(fact));
    }
    out.push_str("</ul>\n");
    for section in sections {
        let (title, explain) = (escape(&section.title), escape(&section.explain));
        let _ = write!(out, "<section><h2>{title}</h2>");
        if !explain.is_empty() {
            let _ = write!(out, "<p class=\"explain\">{explain}</p>");
        }
        out.push_str("<div class=\"card\">");
        table(&mut out, &section.table.0, &section.table.1);
        for chart in &section.charts {
            chart.write(&mut out);
        }
        out.push_str("</div></section>\n");
    }
    out.push_str("</div></body></html>");
    out
}

fn table(out: &mut String, heads: &[String], rows: &[Vec<String>]) {
    if heads.is_empty() {
        return;
    }
    out.push_str("<div class=\"scroll\"><table><thead><tr>");
    for head in heads {
        let _ = write!(out, "<th scope=\"col\">{}</th>", escape(head));
    }
    out.push_str("</tr></thead><tbody>");
    for row in rows {
        out.push_str("<tr>");
        for (at, cell) in row.iter().enumerate() {
            let cell = escape(cell);
            let _ = match at {
                0 => write!(out, "<th scope=\"row\">{cell}</th>"),
                _ => write!(out, "<td>{cell}</td>"),
            };
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
}

/// Text as HTML shows it.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in reuselens_units::shown_lines(text).chars() {
        match letter {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_is_complete_and_escapes_its_texts() {
        let facts = ["<b> & \"c\"\u{1b}".to_owned()];
        let page = run(&facts, &RunSummary::default());
        assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"));
        assert!(page.contains("<li>&lt;b&gt; &amp; &quot;c&quot;\\u{1b}</li>"));
        assert!(!page.contains("http") && !page.contains("NaN") && !page.contains("inf"));
    }
}
