//! Draws [`Panel::Heat`]: a square of cells, darker where there is more.

use super::shape::{Anchor, ChartInk, Length, PictureShape, Rectangle, Text};
use super::{HEAD, LEFT};
use reuselens_units::grouped;

/// Width and height.
pub(super) const SIDE: f64 = 420.0;
/// Steps of the scale.
const STEPS: u32 = 8;
/// Height of a step of the scale.
const STEP: f64 = 24.0;
/// Width and height of what shows it.
const SWATCH: (f64, f64) = (20.0, 22.0);

/// Appends the cells, both axes and the scale. Neighbouring cells of one row and step are
/// one shape.
pub(super) fn draw(out: &mut Vec<PictureShape>, axis: &str, rows: usize, values: &[f64]) {
    let most = values.iter().copied().fold(1.0, f64::max);
    let cell = SIDE / rows.max(1) as f64;
    let frame = rectangle(Length::whole, (LEFT, HEAD), (SIDE, SIDE));
    out.push(PictureShape::Rectangles(ChartInk::Grid, vec![frame]));
    for wanted in 1..=STEPS {
        let cells = cells(wanted, rows, values, most);
        let opacity = f64::from(wanted) / f64::from(STEPS);
        let ink = ChartInk::Series(0, Some(opacity));
        if !cells.is_empty() {
            out.push(PictureShape::Rectangles(ink, cells));
        }
        if let Some(from) = from(wanted, most) {
            scale(out, wanted, ink, from);
        }
    }
    let (right, bottom) = (LEFT + SIDE, HEAD + SIDE);
    let at = |x, y| (Length::whole(x), Length::whole(y));
    let above = at(right + 24.0, bottom - f64::from(STEPS) * STEP - 20.0);
    out.push(Text::label(above, Anchor::Start, "items"));
    let none = rectangle(Length::whole, (right + 24.0, bottom - 8.0), SWATCH);
    out.push(PictureShape::Swatch(ChartInk::Grid, none));
    let beside = at(right + 52.0, bottom + 8.0);
    out.push(Text::label(beside, Anchor::Start, "none"));
    let under = at(LEFT + SIDE / 2.0, bottom + 38.0);
    out.push(Text::label(under, Anchor::Middle, axis));
    numbers(out, rows, cell);
}

/// The cells of one step, those side by side as one.
fn cells(wanted: u32, rows: usize, values: &[f64], most: f64) -> Vec<Rectangle> {
    let cell = SIDE / rows.max(1) as f64;
    let step = |value: f64| step(value, most);
    let mut found = Vec::new();
    for (row, cells) in values.chunks(rows.max(1)).enumerate() {
        let mut at = 0;
        for same in cells.chunk_by(|a, b| step(*a) == step(*b)) {
            if step(same[0]) == wanted {
                let corner = (LEFT + cell * at as f64, HEAD + cell * row as f64);
                let size = (cell * same.len() as f64, cell);
                found.push(rectangle(Length::hundredths, corner, size));
            }
            at += same.len();
        }
    }
    found
}

fn rectangle(round: fn(f64) -> Length, corner: (f64, f64), size: (f64, f64)) -> Rectangle {
    let both = |pair: (f64, f64)| (round(pair.0), round(pair.1));
    (both(corner), both(size))
}

/// Numbers of rows and columns at round ones, beside their middles: at most eight.
fn numbers(out: &mut Vec<PictureShape>, rows: usize, cell: f64) {
    let mut steps = (0..).flat_map(|power| [1, 2, 5].map(|step| step * 10_usize.pow(power)));
    let by = steps.find(|by| rows.div_ceil(*by) <= 8).unwrap_or(1);
    for number in (0..rows).step_by(by) {
        let middle = cell * (number as f64 + 0.5);
        let under = (
            Length::tenths(LEFT + middle),
            Length::whole(HEAD + SIDE + 18.0),
        );
        out.push(Text::label(under, Anchor::Middle, number.to_string()));
        let beside = (
            Length::whole(LEFT - 8.0),
            Length::tenths(HEAD + middle + 5.0),
        );
        out.push(Text::label(beside, Anchor::End, number.to_string()));
    }
}

/// Which shade a number of items has, where `most` is the largest; 0 is none.
fn step(value: f64, most: f64) -> u32 {
    if value <= 0.0 {
        return 0;
    }
    1 + (f64::from(STEPS - 1) * (1.0 + value).ln() / (1.0 + most).ln() + 1e-9) as u32
}

/// The least number of items that has a step's shade, if there is one: with few items in the
/// largest cell, a step may have none.
fn from(step: u32, most: f64) -> Option<f64> {
    let least = |step: u32| (1.0 + most).powf(f64::from(step - 1) / f64::from(STEPS - 1)) - 1.0;
    let from = |step: u32| (least(step) - 1e-9).ceil().max(1.0);
    (step == STEPS || from(step) < from(step + 1)).then(|| from(step))
}

/// One step of the scale, at the right, and the number it begins with.
fn scale(out: &mut Vec<PictureShape>, step: u32, ink: ChartInk, from: f64) {
    let y = HEAD + SIDE - f64::from(step) * STEP - 8.0;
    let x = LEFT + SIDE + 24.0;
    out.push(PictureShape::Swatch(
        ink,
        rectangle(Length::whole, (x, y), SWATCH),
    ));
    let beside = (Length::whole(x + 28.0), Length::whole(y + 16.0));
    out.push(Text::label(beside, Anchor::Start, grouped(from as u64)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heat_scale_labels_where_each_shade_begins() {
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
    fn heat_scale_matches_drawn_colours() {
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
