//! Draws [`Panel::Dots`]: rows of dots on a logarithmic axis.

use super::axis::Axis;
use super::log_scale::{LogScale, is_shown};
use super::shape::{Anchor, ChartInk, Length, PictureShape, Text};
use super::{DotRow, HEAD, LEFT, RIGHT, Unit, horizontal};
use crate::numbers::significant;

/// Height of a row.
pub(super) const STEP: f64 = 48.0;

/// Numbers nearer to each other than this would overlap.
const NEAR: f64 = 36.0;

/// Appends the axis and the rows. Every value is written over its dot, or under
/// it where its neighbour is near.
pub(super) fn draw(out: &mut Vec<PictureShape>, x_name: &str, rows: &[DotRow], area: f64) {
    let dots = || rows.iter().flat_map(|row| row.dots.iter());
    let x = LogScale::around(Unit::Things, dots().map(|dot| dot.1));
    horizontal(out, Axis::Logarithmic(x), x_name, area);
    for (index, row) in rows.iter().enumerate() {
        let y = HEAD + STEP * (index as f64 + 0.5);
        let left = (Length::whole(LEFT), Length::whole(y));
        out.push(PictureShape::Level(
            ChartInk::Grid,
            left,
            Length::whole(RIGHT),
        ));
        let beside = (Length::whole(LEFT - 10.0), Length::whole(y + 4.0));
        out.push(Text::label(beside, Anchor::End, row.name.as_str()));
        let mut dots: Vec<(usize, f64)> = row.dots.clone();
        dots.retain(|dot| is_shown(dot.1));
        dots.sort_by(|a, b| a.1.total_cmp(&b.1));
        let (mut last, mut above) = (f64::NEG_INFINITY, false);
        for (series, value) in dots {
            let at = x.place(value, LEFT, RIGHT);
            above = at - last > NEAR || !above;
            last = at;
            let x = Length::tenths(at);
            let middle = (x, Length::whole(y));
            out.push(PictureShape::Disc(
                ChartInk::Series(series, None),
                middle,
                6.0,
            ));
            let beside = (x, Length::whole(if above { y - 9.0 } else { y + 19.0 }));
            out.push(Text::label(beside, Anchor::Middle, significant(value)));
        }
    }
}
