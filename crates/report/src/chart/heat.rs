//! A square of cells.

use std::fmt::Write;

use super::{HEAD, LEFT};
use crate::html::escape;
use crate::numbers::significant;

/// Width and height.
pub(super) const SIDE: f64 = 420.0;
/// Steps of the scale.
const STEPS: u32 = 8;

/// Appends the cells, both axes and the scale. Cells of one row and step that lie side by side are one shape.
pub(super) fn write(out: &mut String, axis: &str, rows: usize, values: &[f64]) {
    let most = values.iter().copied().fold(1.0, f64::max);
    let cell = SIDE / rows.max(1) as f64;
    let step = |value: f64| match value {
        value if value <= 0.0 => 0,
        value => 1 + ((STEPS - 1) as f64 * (1.0 + value).ln() / (1.0 + most).ln()) as u32,
    };
    let _ = write!(
        out,
        "<path class=\"g\" d=\"M{LEFT} {HEAD}h{SIDE}v{SIDE}h-{SIDE}z\"/>"
    );
    for wanted in 1..=STEPS {
        let mut path = String::new();
        for (row, cells) in values.chunks(rows.max(1)).enumerate() {
            let mut at = 0;
            for same in cells.chunk_by(|a, b| step(*a) == step(*b)) {
                if step(same[0]) == wanted {
                    let (x, y) = (LEFT + cell * at as f64, HEAD + cell * row as f64);
                    let width = cell * same.len() as f64;
                    let _ = write!(path, "M{x:.2} {y:.2}h{width:.2}v{cell:.2}h-{width:.2}z");
                }
                at += same.len();
            }
        }
        let opacity = f64::from(wanted) / f64::from(STEPS);
        if !path.is_empty() {
            let _ = write!(
                out,
                "<path class=\"c0\" fill-opacity=\"{opacity:.2}\" d=\"{path}\"/>"
            );
        }
        scale(out, wanted, opacity);
    }
    let right = LEFT + SIDE;
    let _ = write!(
        out,
        "<text x=\"{:.0}\" y=\"{:.0}\">none</text><text x=\"{:.0}\" y=\"{:.0}\">{} items</text>\
         <text x=\"{LEFT}\" y=\"{:.0}\">0</text><text x=\"{right}\" y=\"{:.0}\" text-anchor=\"end\">{rows}</text>\
         <text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
        right + 52.0,
        HEAD + SIDE,
        right + 52.0,
        HEAD + SIDE - 8.0 * 24.0 + 4.0,
        significant(most),
        HEAD + SIDE + 18.0,
        HEAD + SIDE + 18.0,
        LEFT + SIDE / 2.0,
        HEAD + SIDE + 38.0,
        escape(axis)
    );
}

/// One step of the scale, at the right.
fn scale(out: &mut String, step: u32, opacity: f64) {
    let y = HEAD + SIDE - f64::from(step) * 24.0 - 8.0;
    let _ = write!(
        out,
        "<rect class=\"c0\" fill-opacity=\"{opacity:.2}\" x=\"{:.0}\" y=\"{y:.0}\" width=\"20\" height=\"22\"/>",
        LEFT + SIDE + 24.0
    );
}
