//! Curves.

use std::fmt::Write;

use super::scale::{Scale, is_shown};
use super::{HEAD, LEFT, Line, Look, RIGHT, class, horizontal};
use crate::html::escape;

/// Appends axes and curves, each point a dot.
pub(super) fn write(
    out: &mut String,
    names: (&str, &str),
    (lines, marks): (&[Line], &[(f64, String)]),
    area: f64,
) {
    let points = || lines.iter().flat_map(|line| line.points.iter());
    let x = Scale::around(points().map(|point| point.0));
    let y = Scale::around(points().map(|point| point.1));
    let bottom = HEAD + area;
    horizontal(out, &x, names.0, area);
    for (value, label) in y.ticks() {
        let at = y.place(value, bottom, HEAD);
        let _ = write!(
            out,
            "<path class=\"g\" d=\"M{LEFT} {at:.1}H{RIGHT}\"/><text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">\
             {label}</text>",
            LEFT - 8.0,
            at + 4.0
        );
    }
    for (value, name) in marks.iter().filter(|mark| x.holds(mark.0)) {
        let at = x.place(*value, LEFT, RIGHT);
        let _ = write!(
            out,
            "<path class=\"mark\" d=\"M{at:.1} {HEAD}V{bottom}\"/><text class=\"marked\" transform=\"translate({:.1} {:.0}) \
             rotate(-90)\" text-anchor=\"end\">{}</text>",
            at - 5.0,
            HEAD + 6.0,
            escape(name)
        );
    }
    let middle = f64::midpoint(HEAD, bottom);
    let _ = write!(
        out,
        "<text transform=\"translate(22 {middle:.0}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
        escape(names.1)
    );
    for (index, line) in lines.iter().enumerate() {
        curve(out, line, &class(index), |point| {
            (
                x.place(point.0, LEFT, RIGHT),
                y.place(point.1, bottom, HEAD),
            )
        });
    }
}

fn curve(out: &mut String, line: &Line, class: &str, place: impl Fn((f64, f64)) -> (f64, f64)) {
    let shown = line
        .points
        .iter()
        .filter(|point| is_shown(point.0) && is_shown(point.1));
    let places: Vec<(f64, f64)> = shown.map(|point| place(*point)).collect();
    let mut path = String::new();
    for (index, (x, y)) in places.iter().enumerate() {
        let _ = write!(path, "{}{x:.1} {y:.1}", if index == 0 { "M" } else { "L" });
    }
    let look = match line.look {
        Look::Strong => " strong",
        Look::Plain => "",
        Look::Soft => " pale",
    };
    if !path.is_empty() {
        let _ = write!(out, "<path class=\"l {class}{look}\" d=\"{path}\"/>");
    }
    // Where points lie close, the curve says enough, and dots of what is to be compared with are in the way.
    if places.len() <= 30 && line.look != Look::Soft {
        for (x, y) in places {
            let _ = write!(
                out,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" class=\"{class}\"/>"
            );
        }
    }
}
