//! Pictures of numbers that are not a profile's: curves, and dots in rows, on logarithmic axes.
//!
//! [`chart`] makes one SVG file, readable on light and on dark ground, with no script and nothing to
//! fetch. Only numbers above zero have a place on such an axis; others are left out.

mod dots;
mod heat;
mod lines;
mod scale;

use std::fmt::Write;

use crate::html::escape;
use scale::Scale;

/// A named series of points, `(x, y)`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// What it is, in the legend.
    pub name: String,
    /// Ascending by x.
    pub points: Vec<(f64, f64)>,
    /// How much it is to be looked at.
    pub look: Look,
}

/// How much a curve is to be looked at, beside the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Look {
    /// It is what the others are there for: wide.
    Strong,
    /// As any other.
    #[default]
    Plain,
    /// It is there to compare with: narrow and pale.
    Soft,
}

/// A row of dots, each with the index of its series.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What it is, at its left.
    pub name: String,
    /// Index into [`Panel::Dots::series`], and value.
    pub dots: Vec<(usize, f64)>,
}

/// One picture of a chart.
#[derive(Clone, Debug, PartialEq)]
pub enum Panel {
    /// Curves: how something grows with something.
    Lines {
        /// What it shows.
        title: String,
        /// The horizontal axis.
        x: String,
        /// The vertical axis.
        y: String,
        /// The curves.
        lines: Vec<Line>,
        /// Upright lines, ascending: where they are on the horizontal axis, and what is there.
        marks: Vec<(f64, String)>,
    },
    /// Rows of dots: who is how far ahead, on what.
    Dots {
        /// What it shows.
        title: String,
        /// The horizontal axis.
        x: String,
        /// Names of the series.
        series: Vec<String>,
        /// The rows, from the top.
        rows: Vec<Row>,
    },
    /// A square of cells: who has how much in common with whom. Darker is more, on a logarithmic scale.
    Heat {
        /// What it shows.
        title: String,
        /// Both axes, and what a row is.
        axis: String,
        /// Rows and columns.
        rows: usize,
        /// Values, row by row.
        values: Vec<f64>,
    },
}

/// Width of a chart.
const WIDTH: f64 = 760.0;
/// Where the axes begin and end, horizontally; there is room for the name of a trace at the left.
const LEFT: f64 = 150.0;
const RIGHT: f64 = WIDTH - 24.0;
/// Height of title and legend.
const HEAD: f64 = 58.0;
/// Height of ticks and name of the horizontal axis, and the gap to the next panel.
const FOOT: f64 = 62.0;
/// Colours of series; of more, they repeat.
const COLOURS: usize = 6;

/// Colours as such, not as variables: not every program that shows SVG files knows those.
const COLOURS_LIGHT: [&str; COLOURS] = [
    "#c2500f", "#3d7ea6", "#7d64a8", "#4c8a3f", "#a3336b", "#8a7000",
];
const COLOURS_DARK: [&str; COLOURS] = [
    "#f28c4c", "#5fa8d3", "#b59ce0", "#86c274", "#e884b4", "#d6bb4a",
];
const SHAPES: &str = ".chart text{font:13px system-ui,sans-serif}.chart .t{font-weight:600;font-size:15px}\
.chart .g,.chart .l{fill:none}.chart .l{stroke-width:2;stroke-linejoin:round}.chart .strong{stroke-width:3.5}.chart .pale{stroke-width:1.5;opacity:.55}\
.chart .mark{fill:none;stroke-width:1.2;stroke-dasharray:4 4}.chart .marked{font-size:11.5px}";

/// The style of all classes: ground, writing, titles, grid, series.
fn theme(ground: &str, soft: &str, ink: &str, rule: &str, series: &[&str]) -> String {
    let mut out = format!(
        ".chart{{background:{ground}}}.chart text{{fill:{soft}}}.chart .t{{fill:{ink}}}.chart .g{{stroke:{rule}}}.chart .mark{{stroke:{soft}}}"
    );
    for (index, colour) in series.iter().enumerate() {
        let _ = write!(
            out,
            ".chart .c{index}{{fill:{colour}}}.chart .l.c{index}{{fill:none;stroke:{colour}}}"
        );
    }
    out
}

/// The panels, one under the other, as an SVG file. Ends with a line break; equal panels, equal bytes.
pub fn chart(panels: &[Panel]) -> String {
    let light = theme("#ffffff", "#565d66", "#1a1d21", "#dfdfd9", &COLOURS_LIGHT);
    let dark = theme("#1b1e23", "#a3abb4", "#e9e8e3", "#31363d", &COLOURS_DARK);
    let style = format!("{light}@media(prefers-color-scheme:dark){{{dark}}}");
    svg(panels, &style)
}

/// The panels as an element of a page, with colours of their own, of which there are more than the page has.
pub(crate) fn embedded(panels: &[Panel]) -> String {
    let file = chart(panels);
    // Within a page an element needs no name space, which looks like an address.
    match (file.find(" xmlns="), file.find(" class=\"chart\"")) {
        (Some(from), Some(to)) if from < to => format!("{}{}", &file[..from], &file[to..]),
        _ => file,
    }
}

/// The panels as an element of a page in the colours of its style sheet.
pub(crate) fn inline(panels: &[Panel]) -> String {
    let series = ["var(--miss)", "var(--hit)", "var(--cold)"];
    let style = theme("none", "var(--soft)", "var(--ink)", "var(--rule)", &series);
    svg(panels, &style)
}

fn svg(panels: &[Panel], style: &str) -> String {
    let height: f64 = panels.iter().map(Panel::height).sum();
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" viewBox=\"0 0 {WIDTH} {height}\" \
         role=\"img\" width=\"100%\"><style>{style}{SHAPES}</style>"
    );
    let mut top = 0.0;
    for panel in panels {
        let _ = write!(out, "<g transform=\"translate(0 {top})\">");
        panel.write(&mut out);
        out.push_str("</g>");
        top += panel.height();
    }
    out.push_str("</svg>\n");
    out
}

impl Panel {
    fn height(&self) -> f64 {
        HEAD + self.area() + FOOT
    }

    /// Height between the axes.
    fn area(&self) -> f64 {
        match self {
            Panel::Lines { .. } => 260.0,
            Panel::Dots { rows, .. } => dots::STEP * rows.len() as f64,
            Panel::Heat { .. } => heat::SIDE,
        }
    }

    fn write(&self, out: &mut String) {
        match self {
            Panel::Lines {
                title,
                x,
                y,
                lines,
                marks,
            } => {
                let names: Vec<&str> = lines.iter().map(|line| line.name.as_str()).collect();
                head(out, title, &names);
                lines::write(out, (x, y), (lines, marks), self.area());
            }
            Panel::Dots {
                title,
                x,
                series,
                rows,
            } => {
                let names: Vec<&str> = series.iter().map(String::as_str).collect();
                head(out, title, &names);
                dots::write(out, x, rows, self.area());
            }
            Panel::Heat {
                title,
                axis,
                rows,
                values,
            } => {
                head(out, title, &[]);
                heat::write(out, axis, *rows, values);
            }
        }
    }
}

/// Appends title and legend. One series needs no legend.
fn head(out: &mut String, title: &str, names: &[&str]) {
    let _ = write!(
        out,
        "<text class=\"t\" x=\"16\" y=\"24\">{}</text>",
        escape(title)
    );
    if names.len() < 2 {
        return;
    }
    let mut x = LEFT;
    for (index, name) in names.iter().enumerate() {
        let _ = write!(
            out,
            "<circle cx=\"{x:.0}\" cy=\"42\" r=\"5\" class=\"{}\"/><text x=\"{:.0}\" y=\"46\">{}</text>",
            class(index),
            x + 10.0,
            escape(name)
        );
        x += 30.0 + 7.5 * name.chars().count() as f64;
    }
}

/// Appends the horizontal axis under an area of this height: lines, labels, name.
fn horizontal(out: &mut String, scale: &Scale, name: &str, area: f64) {
    let bottom = HEAD + area;
    for (value, label) in scale.ticks() {
        let x = scale.place(value, LEFT, RIGHT);
        let _ = write!(
            out,
            "<path class=\"g\" d=\"M{x:.1} {HEAD}V{bottom}\"/><text x=\"{x:.1}\" y=\"{:.0}\" text-anchor=\"middle\">\
             {label}</text>",
            bottom + 18.0
        );
    }
    let _ = write!(
        out,
        "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
        f64::midpoint(LEFT, RIGHT),
        bottom + 38.0,
        escape(name)
    );
}

/// The class of a series.
fn class(series: usize) -> String {
    format!("c{}", series % COLOURS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panels() -> Vec<Panel> {
        let line = |name: &str, points: &[(f64, f64)]| Line {
            name: name.to_owned(),
            points: points.to_vec(),
            ..Line::default()
        };
        vec![
            Panel::Dots {
                title: "a < b".to_owned(),
                x: "times".to_owned(),
                series: vec!["one".to_owned(), "two".to_owned()],
                rows: vec![Row {
                    name: "zipf".to_owned(),
                    dots: vec![(0, 1.0), (1, 20.0), (1, f64::NAN)],
                }],
            },
            Panel::Lines {
                title: "growth".to_owned(),
                x: "items".to_owned(),
                y: "rate".to_owned(),
                lines: vec![
                    line("one", &[(0.0, 3.0), (10.0, 3.0), (1e6, 0.02)]),
                    line("none", &[]),
                ],
                marks: vec![(50.0, "a & b".to_owned()), (1e9, "far".to_owned())],
            },
        ]
    }

    #[test]
    fn a_chart_is_whole_and_escapes_what_it_is_told() {
        let text = chart(&panels());
        assert!(text.starts_with("<svg xmlns=") && text.ends_with("</svg>\n"));
        assert_eq!(text.matches("<g ").count(), text.matches("</g>").count());
        for part in ["a &lt; b", "prefers-color-scheme:dark", ">1 M<", ">zipf<"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(
            text.contains("a &amp; b") && !text.contains("far"),
            "{text}"
        );
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        assert_eq!(text, chart(&panels()));
    }

    #[test]
    fn nothing_to_show_is_an_empty_picture() {
        assert!(chart(&[]).contains("viewBox"));
        let empty = Panel::Lines {
            title: String::new(),
            x: String::new(),
            y: String::new(),
            lines: Vec::new(),
            marks: Vec::new(),
        };
        assert!(!inline(&[empty]).contains("NaN"));
    }
}
