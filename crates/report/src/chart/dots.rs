//! Rows of dots.

use std::fmt::Write;

use super::scale::{Scale, is_shown};
use super::{HEAD, LEFT, RIGHT, Row, class, horizontal};
use crate::html::escape;
use crate::numbers::significant;

/// Height of a row.
pub(super) const STEP: f64 = 48.0;

/// Numbers nearer to each other than this would overlap.
const NEAR: f64 = 36.0;

/// Appends the axis and the rows. Every value is written over its dot, or under
/// it where its neighbour is near.
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
        let mut dots: Vec<(usize, f64)> = row.dots.clone();
        dots.retain(|dot| is_shown(dot.1));
        dots.sort_by(|a, b| a.1.total_cmp(&b.1));
        let (mut last, mut above) = (f64::NEG_INFINITY, false);
        for (series, value) in dots {
            let at = x.place(value, LEFT, RIGHT);
            above = at - last > NEAR || !above;
            last = at;
            let _ = write!(
                out,
                "<circle cx=\"{at:.1}\" cy=\"{y}\" r=\"6\" class=\"{}\"/><text x=\"{at:.1}\" y=\"{:.0}\" \
                 text-anchor=\"middle\">{}</text>",
                class(series),
                if above { y - 9.0 } else { y + 19.0 },
                significant(value)
            );
        }
    }
}
