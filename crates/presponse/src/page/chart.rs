//! [`Chart`]: lines over batches, on a logarithmic scale.

use std::fmt::Write as _;

use reuselens_units::grouped;

use super::escape;

/// Lines over time.
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// The lines; all have equally many values.
    pub lines: Vec<Line>,
    /// How values are written.
    pub shown: fn(f64) -> String,
    /// Batches from the left edge to the right one.
    pub batches: u64,
}

/// A line of a chart.
pub struct Line {
    label: String,
    values: Vec<f64>,
}

impl Line {
    /// Values that are not above 0 have no point.
    pub fn new(label: &str, values: Vec<f64>) -> Self {
        Self {
            label: label.to_owned(),
            values,
        }
    }
}

/// A count with few digits.
pub fn plain(value: f64) -> String {
    match value {
        _ if value >= 10.0 => grouped(value.round() as u64),
        _ if value >= 1.0 => format!("{value:.1}").trim_end_matches(".0").to_owned(),
        _ => format!("{value:.3}").trim_end_matches('0').to_owned(),
    }
}

impl Chart {
    /// Appends it as HTML: shapes stretch with the page, words do not.
    pub fn write(&self, out: &mut String) {
        let values = self.lines.iter().flat_map(|line| &line.values);
        let (least, most) = values
            .filter(|value| **value > 0.0)
            .fold((f64::MAX, 0.0_f64), |(least, most), value| {
                (least.min(*value), most.max(*value))
            });
        let title = escape(&self.title);
        let _ = write!(out, "<figure><figcaption>{title}</figcaption>");
        if most == 0.0 {
            out.push_str("<p class=\"none\">nothing to show</p></figure>");
            return;
        }
        let (low, high) = (least.log10().floor() as i32, most.log10().ceil() as i32);
        let high = high.max(low + 1);
        let height = |value: f64| (value.log10() - f64::from(low)) / f64::from(high - low);
        out.push_str("<ul class=\"legend\">");
        for (at, line) in self.lines.iter().enumerate() {
            let last = line.values.iter().rev().find(|value| **value > 0.0);
            let last = last.map_or("none".to_owned(), |value| (self.shown)(*value));
            let label = escape(&line.label);
            let _ = write!(
                out,
                "<li><i class=\"v{at}\"></i>{label} <small>last {last}</small></li>"
            );
        }
        out.push_str("</ul><div class=\"plot\"><div class=\"y\">");
        for power in low..=high {
            let from_top = 100.0 * (1.0 - height(10_f64.powi(power)));
            let label = (self.shown)(10_f64.powi(power));
            let _ = write!(
                out,
                "<span style=\"top:{from_top:.1}%\">{}</span>",
                escape(&label)
            );
        }
        out.push_str("</div><svg viewBox=\"0 0 1000 100\" preserveAspectRatio=\"none\" aria-hidden=\"true\">");
        for power in low..=high {
            let y = 100.0 * (1.0 - height(10_f64.powi(power)));
            let _ = write!(out, "<path class=\"grid\" d=\"M0 {y:.1}H1000\"/>");
        }
        for (at, line) in self.lines.iter().enumerate() {
            let _ = write!(
                out,
                "<path class=\"line v{at}\" d=\"{}\"/>",
                path(&line.values, height)
            );
        }
        let last = grouped(self.batches);
        let _ = write!(
            out,
            "</svg><div class=\"x\"><span>batch 1</span><span>{last}</span></div></div></figure>"
        );
    }
}

/// The path of a line, with gaps where there are no points; a single point is a short dash.
fn path(values: &[f64], height: impl Fn(f64) -> f64) -> String {
    let step = 1000.0 / (values.len().max(2) - 1) as f64;
    let (mut path, mut is_down) = (String::new(), false);
    for (at, value) in values.iter().enumerate() {
        if *value <= 0.0 {
            is_down = false;
            continue;
        }
        let (x, y) = (at as f64 * step, 100.0 * (1.0 - height(*value)));
        let follows = values.get(at + 1).is_some_and(|next| *next > 0.0);
        let _ = match is_down {
            true => write!(path, "L{x:.1} {y:.2}"),
            false if follows => write!(path, "M{x:.1} {y:.2}"),
            false => write!(path, "M{:.1} {y:.2}h8", (x - 4.0).clamp(0.0, 992.0)),
        };
        is_down = true;
    }
    path
}
