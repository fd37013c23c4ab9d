//! Draws [`Panel::Lines`]: curves on two axes.

use super::axis::Axis;
use super::shape::{Anchor, ChartInk, ChartPoint, Length, PictureShape, Role, Text};
use super::{ChartAxis, ChartLine, HEAD, LEFT, Look, RIGHT, horizontal};

/// Appends axes and curves, each point a dot.
pub(super) fn draw(
    out: &mut Vec<PictureShape>,
    axes: [&ChartAxis; 2],
    (lines, marks): (&[ChartLine], &[(f64, String)]),
    area: f64,
) {
    let points = || lines.iter().flat_map(|line| line.points.iter());
    let times = || points().map(|point| point.0);
    let x = Axis::around(axes[0], times()).across(times());
    let y = Axis::around(axes[1], points().map(|point| point.1));
    let has_place = |point: &(f64, f64)| axes[0].shows(point.0) && axes[1].shows(point.1);
    let bottom = HEAD + area;
    if !points().any(has_place) {
        let middle = Length::whole(f64::midpoint(LEFT, RIGHT));
        let at = (middle, Length::whole(f64::midpoint(HEAD, bottom)));
        out.push(Text::label(at, Anchor::Middle, "nothing to show"));
        return;
    }
    horizontal(out, x, &axes[0].name, area);
    for (value, label) in y.ticks() {
        let at = y.place(value, bottom, HEAD);
        let left = (Length::whole(LEFT), Length::tenths(at));
        out.push(PictureShape::Level(
            ChartInk::Grid,
            left,
            Length::whole(RIGHT),
        ));
        let beside = (Length::whole(LEFT - 8.0), Length::tenths(at + 4.0));
        out.push(Text::label(beside, Anchor::End, label));
    }
    for (value, name) in marks.iter().filter(|mark| x.holds(mark.0)) {
        mark(out, x.place(*value, LEFT, RIGHT), name, bottom);
    }
    out.push(PictureShape::Text(Text {
        at: (
            Length::whole(22.0),
            Length::whole(f64::midpoint(HEAD, bottom)),
        ),
        role: Role::Label,
        anchor: Anchor::Middle,
        turned: true,
        words: axes[1].name.clone(),
    }));
    for (index, line) in lines.iter().enumerate() {
        // Values without a place are skipped and the curve goes on; what is no number is a gap.
        for part in line.points.split(|point| point.1.is_nan()) {
            let shown = part.iter().filter(|point| has_place(point));
            let places = shown.map(|point| {
                (
                    Length::tenths(x.place(point.0, LEFT, RIGHT)),
                    Length::tenths(y.place(point.1, bottom, HEAD)),
                )
            });
            curve(out, line, index, places.collect());
        }
    }
}

/// Appends a mark and its name, which is read from below.
fn mark(out: &mut Vec<PictureShape>, at: f64, name: &str, bottom: f64) {
    let top = (Length::tenths(at), Length::whole(HEAD));
    out.push(PictureShape::Upright(
        ChartInk::Mark,
        top,
        Length::whole(bottom),
    ));
    out.push(PictureShape::Text(Text {
        at: (Length::tenths(at - 5.0), Length::whole(HEAD + 6.0)),
        role: Role::Mark,
        anchor: Anchor::End,
        turned: true,
        words: name.to_owned(),
    }));
}

/// Appends a curve, or the part of one between gaps.
fn curve(
    out: &mut Vec<PictureShape>,
    line: &ChartLine,
    series: usize,
    mut places: Vec<ChartPoint>,
) {
    if places.is_empty() {
        return;
    }
    if line.steps {
        places = steps(&places);
        out.push(PictureShape::Curve(
            ChartInk::Curve(series, line.look),
            places,
        ));
        return;
    }
    out.push(PictureShape::Curve(
        ChartInk::Curve(series, line.look),
        places.clone(),
    ));
    // Where points are close, the curve is enough, but not for a point between two gaps. Dots of a
    // series that is only there to compare with would hide the others.
    let has_dots = line.points.len() <= 30 || places.len() == 1;
    if has_dots && line.look != Look::Soft {
        for place in places {
            out.push(PictureShape::Disc(
                ChartInk::Series(series, None),
                place,
                3.5,
            ));
        }
    }
}

/// Goes across before it goes down to the next place; level pieces have no places inside.
fn steps(places: &[ChartPoint]) -> Vec<ChartPoint> {
    let mut out: Vec<ChartPoint> = Vec::new();
    let runs = places.chunk_by(|a, b| a.1 == b.1);
    for run in runs {
        let (Some(first), Some(last)) = (run.first(), run.last()) else {
            continue;
        };
        out.extend(out.last().map(|before| (first.0, before.1)));
        out.push(*first);
        out.extend((run.len() > 1).then_some(*last));
    }
    out
}
