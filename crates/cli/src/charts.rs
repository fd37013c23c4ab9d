//! The pictures of `reuselens engines --bench`: [`panels`] makes them from a [`Report`].

use reuselens::bench::{Heat, Report, Series, Timing};
use reuselens_document::{ChartAxis, ChartLine, DotRow, Panel, Unit};

/// Ratios per stream, then rates over whatever a series is over.
pub fn panels(report: &Report) -> Vec<Panel> {
    let mut panels = Vec::new();
    let ratio = |timing: &Timing| timing.ratio_to_olken;
    if report
        .streams
        .iter()
        .any(|heat| heat.timings.iter().any(|t| ratio(t).is_some()))
    {
        panels.push(dots(
            "Speed on each stream",
            "times as fast as Olken's tree",
            &report.streams,
            ratio,
        ));
    } else if !report.streams.is_empty() {
        let rate = |timing: &Timing| Some(timing.mega_references_per_second);
        panels.push(dots(
            "Speed on each stream",
            "M references/s",
            &report.streams,
            rate,
        ));
    }
    // A line needs two points.
    let series = report.series.iter();
    panels.extend(series.filter(|series| series.heats.len() > 1).map(lines));
    panels
}

/// The contenders that took part anywhere, in their order.
fn names(heats: &[Heat]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for timing in heats.iter().flat_map(|heat| &heat.timings) {
        if !names.contains(&timing.name) {
            names.push(timing.name.clone());
        }
    }
    names
}

fn dots(title: &str, x: &str, heats: &[Heat], value: impl Fn(&Timing) -> Option<f64>) -> Panel {
    let series = names(heats);
    let row = |heat: &Heat| DotRow {
        name: heat.stream.clone(),
        dots: series
            .iter()
            .enumerate()
            .filter_map(|(index, name)| Some((index, value(heat.of(name)?)?)))
            .collect(),
    };
    Panel::Dots {
        title: title.to_owned(),
        x: x.to_owned(),
        rows: heats.iter().map(row).collect(),
        series,
    }
}

fn lines(series: &Series) -> Panel {
    let of = |heat: &Heat| match series.over {
        "references" => heat.references,
        _ => heat.distinct,
    };
    let point = |heat: &Heat, name: &str| {
        let timing = heat.of(name)?;
        Some((of(heat) as f64, timing.mega_references_per_second))
    };
    let line = |name: String| ChartLine {
        points: series
            .heats
            .iter()
            .filter_map(|heat| point(heat, &name))
            .collect(),
        name,
        ..ChartLine::default()
    };
    Panel::Lines {
        title: format!("Throughput over {}, {}", series.over, series.stream),
        x: ChartAxis::logarithmic(series.over, Unit::Things),
        y: ChartAxis::logarithmic("M references/s", Unit::Things),
        lines: names(&series.heats).into_iter().map(line).collect(),
        marks: Vec::new(),
    }
}
