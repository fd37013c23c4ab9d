//! Rows of dots.

use std::fmt::Write;

use super::scale::{Scale, is_shown};
use super::{HEAD, LEFT, RIGHT, Row, class, horizontal};
use crate::html::escape;
use crate::numbers::significant;

/// Height of a row.
pub(super) const STEP: f64 = 40.0;

/// Appends the axis and the rows. Every value is written over its dot.
pub(super) fn write(out: &mut String, x_name: &str, rows: &[Row], area: f64) {
    let dots = || rows.iter().flat_map(|row| row.dots.iter());
    let x = Scale::around(dots().map(|dot| dot.1));
    horizontal(out, &x, x_name, area);
    for (index, row) in rows.iter().enumerate() {
        let y = HEAD + STEP * (index as f64 + 0.5);
        let _ = write!(
            out,
            "<path class=\"g\" d=\"M{LEFT} {y}H{RIGHT}\"/><text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\">{}</text>",
            LEFT - 10.0,
            y + 4.0,
            escape(&row.name)
        );
        for &(series, value) in row.dots.iter().filter(|dot| is_shown(dot.1)) {
            let at = x.place(value, LEFT, RIGHT);
            let _ = write!(
                out,
                "<circle cx=\"{at:.1}\" cy=\"{y}\" r=\"6\" class=\"{}\"/><text x=\"{at:.1}\" y=\"{:.0}\" \
                 text-anchor=\"middle\">{}</text>",
                class(series),
                y - 9.0,
                significant(value)
            );
        }
    }
}
