//! A square of cells.

use std::fmt::Write;

use super::{HEAD, LEFT};
use crate::html::escape;
use reuselens_units::grouped;

/// Width and height.
pub(super) const SIDE: f64 = 420.0;
/// Steps of the scale.
const STEPS: u32 = 8;
/// Height of a step of the scale.
const STEP: f64 = 24.0;

/// Appends the cells, both axes and the scale. Cells of one row and step that lie side by side are one shape.
pub(super) fn write(out: &mut String, axis: &str, rows: usize, values: &[f64]) {
    let most = values.iter().copied().fold(1.0, f64::max);
    let cell = SIDE / rows.max(1) as f64;
    let step = |value: f64| step(value, most);
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
        if let Some(from) = from(wanted, most) {
            scale(out, wanted, opacity, from);
        }
    }
    let (right, bottom) = (LEFT + SIDE, HEAD + SIDE);
    let _ = write!(
        out,
        "<text x=\"{:.0}\" y=\"{:.0}\">items</text>\
         <rect class=\"g\" x=\"{:.0}\" y=\"{:.0}\" width=\"20\" height=\"22\"/><text x=\"{:.0}\" y=\"{:.0}\">none</text>\
         <text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
        right + 24.0,
        bottom - f64::from(STEPS) * STEP - 20.0,
        right + 24.0,
        bottom - 8.0,
        right + 52.0,
        bottom + 8.0,
        LEFT + SIDE / 2.0,
        bottom + 38.0,
        escape(axis)
    );
    numbers(out, rows, cell);
}

/// Numbers of rows and columns at round ones, beside their middles: at most eight.
fn numbers(out: &mut String, rows: usize, cell: f64) {
    let mut steps = (0..).flat_map(|power| [1, 2, 5].map(|step| step * 10_usize.pow(power)));
    let by = steps.find(|by| rows.div_ceil(*by) <= 8).unwrap_or(1);
    for number in (0..rows).step_by(by) {
        let middle = cell * (number as f64 + 0.5);
        let _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{number}</text>\
             <text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{number}</text>",
            LEFT + middle,
            HEAD + SIDE + 18.0,
            LEFT - 8.0,
            HEAD + middle + 5.0
        );
    }
}

/// Which shade a number of items has, where `most` is the largest; 0 is none.
fn step(value: f64, most: f64) -> u32 {
    if value <= 0.0 {
        return 0;
    }
    1 + (f64::from(STEPS - 1) * (1.0 + value).ln() / (1.0 + most).ln() + 1e-9) as u32
}

/// The least number of items that has a step's shade, if there is one: with few items in the largest cell, a step may have none.
fn from(step: u32, most: f64) -> Option<f64> {
    let least = |step: u32| (1.0 + most).powf(f64::from(step - 1) / f64::from(STEPS - 1)) - 1.0;
    let from = |step: u32| (least(step) - 1e-9).ceil().max(1.0);
    (step == STEPS || from(step) < from(step + 1)).then(|| from(step))
}

/// One step of the scale, at the right, and the number it begins with.
fn scale(out: &mut String, step: u32, opacity: f64, from: f64) {
    let y = HEAD + SIDE - f64::from(step) * STEP - 8.0;
    let (x, label) = (LEFT + SIDE + 24.0, grouped(from as u64));
    let _ = write!(
        out,
        "<rect class=\"c0\" fill-opacity=\"{opacity:.2}\" x=\"{x:.0}\" y=\"{y:.0}\" width=\"20\" height=\"22\"/>\
         <text x=\"{:.0}\" y=\"{:.0}\">{label}</text>",
        x + 28.0,
        y + 16.0
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_says_where_each_shade_begins() {
        let begins =
            |most: f64| -> Vec<Option<f64>> { (1..=STEPS).map(|step| from(step, most)).collect() };
        // (1 + 127)^(1/7) = 2: each step doubles.
        let doubling = [1.0, 1.0, 3.0, 7.0, 15.0, 31.0, 63.0, 127.0].map(Some);
        assert_eq!(begins(127.0)[1..], doubling[1..]);
        // 1 item is of the second step, so the first has none.
        assert_eq!(begins(127.0)[0], None);
        let mut one = [None; STEPS as usize];
        one[STEPS as usize - 1] = Some(1.0);
        assert_eq!(begins(1.0), one);
    }

    #[test]
    fn what_the_scale_says_is_what_is_drawn() {
        for most in [1.0, 2.0, 9.0, 127.0, 1000.0] {
            for value in 1..=most as u32 {
                let value = f64::from(value);
                let step = step(value, most);
                let begins = from(step, most).unwrap();
                let next = (step + 1..=STEPS).find_map(|step| from(step, most));
                assert!(
                    begins <= value && next.is_none_or(|next| value < next),
                    "{value} of {most}"
                );
            }
        }
    }
}
