//! [`Chart`]: lines over time.

use std::fmt::Write as _;

use reuselens_units::grouped;

use super::axis::{Axis, Scale, shows};
use super::escape;

/// Lines over time.
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// The lines; all have equally many values.
    pub lines: Vec<Line>,
    /// How heights grow with values.
    pub scale: Scale,
    /// How values are written.
    pub shown: fn(f64) -> String,
    /// What is at the left edge, and what at the right one.
    pub ends: [String; 2],
}

/// A line of a chart.
pub struct Line {
    label: String,
    /// A value that is not finite has no point.
    pub values: Vec<f64>,
}

impl Line {
    /// The values from the left edge to the right one.
    pub fn new(label: &str, values: Vec<f64>) -> Self {
        Self {
            label: label.to_owned(),
            values,
        }
    }
}

/// The ends of a chart over batches.
pub fn over_batches(count: u64) -> [String; 2] {
    ["batch 1".to_owned(), grouped(count)]
}

/// A count with few digits.
pub fn plain(value: f64) -> String {
    match value {
        _ if value >= 10.0 => grouped(value.round() as u64),
        _ if value >= 1.0 => format!("{value:.1}").trim_end_matches(".0").to_owned(),
        _ => format!("{value:.3}").trim_end_matches('0').to_owned(),
    }
}

/// A share from 0 to 1 as percent.
pub fn percent(value: f64) -> String {
    let text = format!("{:.1}", 100.0 * value);
    format!("{} %", text.trim_end_matches(".0"))
}

impl Chart {
    /// Appends it as HTML: shapes stretch with the page, words do not.
    pub fn write(&self, out: &mut String) {
        let title = escape(&self.title);
        let _ = write!(out, "<figure><figcaption>{title}</figcaption>");
        let Some(axis) = Axis::of(self.scale, &self.lines) else {
            out.push_str("<p class=\"none\">nothing to show</p></figure>");
            return;
        };
        self.legend(out);
        out.push_str("<div class=\"plot\"><div class=\"y\">");
        let from_top = |value: f64| 100.0 * (1.0 - axis.height(value).unwrap_or_default());
        for tick in &axis.ticks {
            let (top, label) = (from_top(*tick), escape(&(self.shown)(*tick)));
            let _ = write!(out, "<span style=\"top:{top:.1}%\">{label}</span>");
        }
        out.push_str("</div><svg viewBox=\"0 0 1000 100\" preserveAspectRatio=\"none\" aria-hidden=\"true\">");
        for tick in &axis.ticks {
            let class = if axis.is_zero(*tick) {
                "grid zero"
            } else {
                "grid"
            };
            let y = from_top(*tick);
            let _ = write!(out, "<path class=\"{class}\" d=\"M0 {y:.1}H1000\"/>");
        }
        for (at, line) in self.lines.iter().enumerate() {
            let path = path(&line.values, &axis);
            let _ = write!(out, "<path class=\"line v{at}\" d=\"{path}\"/>");
        }
        let [first, last] = self.ends.each_ref().map(|end| escape(end));
        let _ = write!(
            out,
            "</svg><div class=\"x\"><span>{first}</span><span>{last}</span></div></div></figure>"
        );
    }

    /// The names of the lines, with their last values.
    fn legend(&self, out: &mut String) {
        out.push_str("<ul class=\"legend\">");
        for (at, line) in self.lines.iter().enumerate() {
            let mut values = line.values.iter().rev();
            let last = values.find(|value| shows(self.scale, **value));
            let last = last.map_or("none".to_owned(), |value| (self.shown)(*value));
            let (label, last) = (escape(&line.label), escape(&last));
            let _ = write!(
                out,
                "<li><i class=\"v{at}\"></i>{label} <small>last {last}</small></li>"
            );
        }
        out.push_str("</ul>");
    }
}

/// The path of a line, with gaps where there are no points; a single point is a short dash.
fn path(values: &[f64], axis: &Axis) -> String {
    let step = 1000.0 / (values.len().max(2) - 1) as f64;
    let (mut path, mut is_down) = (String::new(), false);
    for (at, value) in values.iter().enumerate() {
        let Some(height) = axis.height(*value) else {
            is_down = false;
            continue;
        };
        let (x, y) = (at as f64 * step, 100.0 * (1.0 - height));
        let next = values.get(at + 1).and_then(|next| axis.height(*next));
        let _ = match is_down {
            true => write!(path, "L{x:.1} {y:.2}"),
            false if next.is_some() => write!(path, "M{x:.1} {y:.2}"),
            false => write!(path, "M{:.1} {y:.2}h8", (x - 4.0).clamp(0.0, 992.0)),
        };
        is_down = true;
    }
    path
}
