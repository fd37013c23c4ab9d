//! [`chart`] and [`chart_png`]: pictures of any numbers, as curves, rows of dots or squares of
//! cells. The miss-ratio curve, predictions, benchmarks and latencies over time are drawn by it.
//!
//! An SVG file is readable on light and on dark ground, has no script and fetches nothing. Both
//! kinds of files draw the same shapes (`Panel::shapes`). Numbers of 0 or less have no place on a
//! logarithmic axis, and are left out.

mod axis;
mod dots;
mod heat;
mod linear_scale;
mod lines;
mod log_scale;
mod png;
mod shape;
mod svg;
mod theme;
mod unit;

use axis::Axis;
use shape::{Anchor, ChartInk, Length, PictureShape, Role, Text};

/// A named series of points, `(x, y)`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChartLine {
    /// What it is, in the legend.
    pub name: String,
    /// Ascending by x. The curve has a gap where y is not a number.
    pub points: Vec<(f64, f64)>,
    /// How prominent it is.
    pub look: Look,
    /// Whether a value holds until the next point, as a step, instead of leading to it. Points of
    /// steps are no dots.
    pub steps: bool,
}

/// How prominent a curve is beside the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Look {
    /// The main one: wide.
    Strong,
    /// As any other.
    #[default]
    Plain,
    /// One to compare with: narrow and pale.
    Soft,
}

/// What an axis counts: where ticks are on a logarithmic axis, and how they are written on any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Things: powers of ten, `10 k`.
    #[default]
    Things,
    /// Bytes of memory: powers of two, `32 KiB`.
    Bytes,
    /// Times: powers of ten of a nanosecond, `10 µs`.
    Nanoseconds,
    /// Parts of 1, written as percent.
    Share,
}

/// How places on an axis grow with values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AxisScale {
    /// Equal ratios are equally far apart. Numbers of 0 or less have no place.
    #[default]
    Logarithmic,
    /// Equal differences are equally far apart, and 0 is on the axis.
    Linear,
}

/// An axis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChartAxis {
    /// What it is, beside it.
    pub name: String,
    /// What it counts.
    pub unit: Unit,
    /// How places grow with values.
    pub scale: AxisScale,
}

impl ChartAxis {
    /// A logarithmic axis.
    pub fn logarithmic(name: impl Into<String>, unit: Unit) -> Self {
        ChartAxis {
            name: name.into(),
            unit,
            scale: AxisScale::Logarithmic,
        }
    }

    /// A linear axis.
    pub fn linear(name: impl Into<String>, unit: Unit) -> Self {
        ChartAxis {
            scale: AxisScale::Linear,
            ..ChartAxis::logarithmic(name, unit)
        }
    }

    /// Whether a value has a place on the axis: 0 has none on a logarithmic one.
    pub fn shows(&self, value: f64) -> bool {
        match self.scale {
            AxisScale::Logarithmic => log_scale::is_shown(value),
            AxisScale::Linear => value.is_finite(),
        }
    }
}

/// A row of dots, each with the index of its series.
#[derive(Clone, Debug, PartialEq)]
pub struct DotRow {
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
        x: ChartAxis,
        /// The vertical axis.
        y: ChartAxis,
        /// The curves.
        lines: Vec<ChartLine>,
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
        rows: Vec<DotRow>,
    },
    /// A square of cells: who has how much in common with whom. Darker is more, on a logarithmic
    /// scale.
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
/// Where titles begin, and legends that are too wide to begin above the axis.
const MARGIN: f64 = 16.0;
/// Height of title and legend.
const HEAD: f64 = 58.0;
/// Height of ticks and name of the horizontal axis, and the gap to the next panel.
const FOOT: f64 = 62.0;

/// The panels, one under the other, as an SVG file, for light and dark ground. Ends with a line
/// break; equal panels, equal bytes.
pub fn chart(panels: &[Panel]) -> String {
    svg::file(panels)
}

/// The panels, one under the other, as a PNG file: the same shapes and colours as [`chart`] on
/// light ground, 1,520 pixels wide. Equal panels give equal bytes on every machine: the fonts are
/// in this library.
pub fn chart_png(panels: &[Panel]) -> Vec<u8> {
    png::file(panels)
}

/// The panels as an element of a page, in the colours of its style sheet: those that the page's
/// switch of the theme has chosen. On a narrow page it keeps the size at which it can be read, and
/// is moved sideways.
pub fn chart_element(panels: &[Panel]) -> String {
    format!("<div class=\"scroll\">{}</div>", svg::element(panels))
}

/// Height of panels, one under the other.
fn height(panels: &[Panel]) -> f64 {
    panels.iter().map(Panel::height).sum()
}

impl Panel {
    fn height(&self) -> f64 {
        HEAD + self.area() + FOOT
    }

    /// What readers of screens call it: its title, or what its axes are.
    fn name(&self) -> String {
        match self {
            Panel::Lines { title, x, y, .. } if title.is_empty() => {
                format!("{} by {}", y.name, x.name)
            }
            Panel::Lines { title, .. } | Panel::Dots { title, .. } | Panel::Heat { title, .. } => {
                title.clone()
            }
        }
    }

    /// Height between the axes.
    fn area(&self) -> f64 {
        match self {
            // Over time there is one picture for each of several things, one under the other.
            Panel::Lines { x, .. } if x.scale == AxisScale::Linear => 150.0,
            Panel::Lines { .. } => 260.0,
            Panel::Dots { rows, .. } => dots::STEP * rows.len() as f64,
            Panel::Heat { .. } => heat::SIDE,
        }
    }

    /// What it is made of, from the back to the front.
    fn shapes(&self) -> Vec<PictureShape> {
        let mut out = Vec::new();
        match self {
            Panel::Lines {
                title,
                x,
                y,
                lines,
                marks,
            } => {
                let names: Vec<&str> = lines.iter().map(|line| line.name.as_str()).collect();
                head(&mut out, title, &names);
                lines::draw(&mut out, [x, y], (lines, marks), self.area());
            }
            Panel::Dots {
                title,
                x,
                series,
                rows,
            } => {
                let names: Vec<&str> = series.iter().map(String::as_str).collect();
                head(&mut out, title, &names);
                dots::draw(&mut out, x, rows, self.area());
            }
            Panel::Heat {
                title,
                axis,
                rows,
                values,
            } => {
                head(&mut out, title, &[]);
                heat::draw(&mut out, axis, *rows, values);
            }
        }
        out
    }
}

/// Appends title and legend. One series needs no legend.
fn head(out: &mut Vec<PictureShape>, title: &str, names: &[&str]) {
    out.push(PictureShape::Text(Text {
        at: (Length::whole(MARGIN), Length::whole(24.0)),
        role: Role::Title,
        anchor: Anchor::Start,
        turned: false,
        words: title.to_owned(),
    }));
    if names.len() < 2 {
        return;
    }
    let width = |name: &str| 30.0 + 7.5 * name.chars().count() as f64;
    let all: f64 = names.iter().map(|name| width(name)).sum();
    let mut x = if LEFT + all > WIDTH { MARGIN } else { LEFT };
    for (index, name) in names.iter().enumerate() {
        let at = |x, y| (Length::whole(x), Length::whole(y));
        out.push(PictureShape::Disc(
            ChartInk::Series(index, None),
            at(x, 42.0),
            5.0,
        ));
        out.push(Text::label(at(x + 10.0, 46.0), Anchor::Start, *name));
        x += width(name);
    }
}

/// Appends the horizontal axis under an area of this height: lines, labels, name.
fn horizontal(out: &mut Vec<PictureShape>, axis: Axis, name: &str, area: f64) {
    let bottom = HEAD + area;
    for (value, label) in axis.ticks() {
        let x = Length::tenths(axis.place(value, LEFT, RIGHT));
        let top = (x, Length::whole(HEAD));
        out.push(PictureShape::Upright(
            ChartInk::Grid,
            top,
            Length::whole(bottom),
        ));
        let under = (x, Length::whole(bottom + 18.0));
        out.push(Text::label(under, Anchor::Middle, label));
    }
    let middle = Length::whole(f64::midpoint(LEFT, RIGHT));
    let under = (middle, Length::whole(bottom + 38.0));
    out.push(Text::label(under, Anchor::Middle, name));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panels() -> Vec<Panel> {
        let line = |name: &str, points: &[(f64, f64)]| ChartLine {
            name: name.to_owned(),
            points: points.to_vec(),
            ..ChartLine::default()
        };
        vec![
            Panel::Dots {
                title: "a < b".to_owned(),
                x: "times".to_owned(),
                series: vec!["one".to_owned(), "two".to_owned()],
                rows: vec![DotRow {
                    name: "zipf".to_owned(),
                    dots: vec![(0, 1.0), (1, 20.0), (1, f64::NAN)],
                }],
            },
            Panel::Lines {
                title: "growth".to_owned(),
                x: ChartAxis::logarithmic("items", Unit::Things),
                y: ChartAxis::logarithmic("rate", Unit::Things),
                lines: vec![
                    line("one", &[(0.0, 3.0), (10.0, 3.0), (1e6, 0.02)]),
                    line("none", &[]),
                ],
                marks: vec![(50.0, "a & b".to_owned()), (1e9, "far".to_owned())],
            },
        ]
    }

    #[test]
    fn a_step_holds_its_value_and_bytes_have_ticks_at_powers_of_two() {
        let panel = |steps| Panel::Lines {
            title: String::new(),
            x: ChartAxis::logarithmic("bytes", Unit::Bytes),
            y: ChartAxis::default(),
            lines: vec![ChartLine {
                points: vec![(1024.0, 100.0), (4096.0, 1.0)],
                steps,
                ..ChartLine::default()
            }],
            marks: Vec::new(),
        };
        let (left, right, low) = (LEFT, RIGHT, HEAD + 260.0);
        let straight = format!("d=\"M{left:.1} {HEAD:.1}L{right:.1} {low:.1}\"");
        let step = format!("d=\"M{left:.1} {HEAD:.1}L{right:.1} {HEAD:.1}L{right:.1} {low:.1}\"");
        let (plain, steps) = (chart(&[panel(false)]), chart(&[panel(true)]));
        assert!(plain.contains(&straight), "{plain}");
        assert!(steps.contains(&step), "{steps}");
        assert!(plain.contains("<circle") && !steps.contains("<circle"));
        for tick in [">1 KiB<", ">2 KiB<", ">4 KiB<"] {
            assert!(steps.contains(tick), "{tick}: {steps}");
        }
        assert!(!steps.contains(">10 k<"), "{steps}");
    }

    #[test]
    fn chart_is_complete_and_escapes_its_texts() {
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
    fn values_over_time_have_gaps_and_go_below_zero() {
        let values = [3.0, f64::NAN, -1.0, 2.0];
        let times = (1..).map(f64::from);
        let panel = Panel::Lines {
            title: String::new(),
            x: ChartAxis::linear("batch", Unit::Things),
            y: ChartAxis::linear("", Unit::Nanoseconds),
            lines: vec![ChartLine {
                points: times.zip(values).collect(),
                ..ChartLine::default()
            }],
            marks: Vec::new(),
        };
        let text = chart(&[panel]);
        // What comes before the gap is a dot alone.
        assert_eq!(text.matches("<circle").count(), 3, "{text}");
        assert_eq!(text.matches("class=\"l c0\"").count(), 2, "{text}");
        assert!(
            text.contains(">-1 ns<") && text.contains(">0 ns<"),
            "{text}"
        );
    }

    #[test]
    fn empty_panels_give_an_empty_picture() {
        assert!(chart(&[]).contains("viewBox"));
        let empty = Panel::Lines {
            title: String::new(),
            x: ChartAxis::default(),
            y: ChartAxis::linear("", Unit::Share),
            lines: Vec::new(),
            marks: Vec::new(),
        };
        assert!(!chart_element(&[empty]).contains("NaN"));
    }
}
