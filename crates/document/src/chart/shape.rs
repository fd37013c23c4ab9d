//! [`PictureShape`]: the shapes that a picture is made of. Both SVG and PNG files draw these.

use std::fmt;

use super::Look;

/// A place or a length, rounded to what an SVG file writes; PNG files use the same number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Length {
    value: f64,
    decimals: u8,
}

impl Length {
    /// Rounded to an integer.
    pub(super) fn whole(value: f64) -> Self {
        Length { value, decimals: 0 }
    }

    /// Rounded to tenths.
    pub(super) fn tenths(value: f64) -> Self {
        Length { value, decimals: 1 }
    }

    /// Rounded to hundredths.
    pub(super) fn hundredths(value: f64) -> Self {
        Length { value, decimals: 2 }
    }

    /// The number, rounded.
    pub(super) fn get(self) -> f64 {
        let steps = 10_f64.powi(self.decimals.into());
        (self.value * steps).round_ties_even() / steps
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.*}", usize::from(self.decimals), self.value)
    }
}

/// A place: across from the left, down from the top.
pub(super) type ChartPoint = (Length, Length);

/// A rectangle: its corner at the upper left, its width and its height.
pub(super) type Rectangle = (ChartPoint, (Length, Length));

/// What a shape is drawn with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ChartInk {
    /// A thin line: the grid.
    Grid,
    /// A dashed line: a mark.
    Mark,
    /// A line in the colour of a series.
    Curve(usize, Look),
    /// An area in the colour of a series, and how opaque it is, in hundredths.
    Series(usize, Option<f64>),
}

/// What a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// What the picture is called.
    Title,
    /// A number, or the name of an axis or a series.
    Label,
    /// The name of a mark.
    Mark,
}

/// Which part of a text is at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A line of text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Text {
    pub(super) at: ChartPoint,
    pub(super) role: Role,
    pub(super) anchor: Anchor,
    /// Whether it is read from below.
    pub(super) turned: bool,
    pub(super) words: String,
}

impl Text {
    /// A label.
    pub(super) fn label(at: ChartPoint, anchor: Anchor, words: impl Into<String>) -> PictureShape {
        PictureShape::Text(Text {
            at,
            role: Role::Label,
            anchor,
            turned: false,
            words: words.into(),
        })
    }
}

/// One thing in a picture.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PictureShape {
    /// A line across: its left end and its right one.
    Level(ChartInk, ChartPoint, Length),
    /// An upright line: its upper end and its lower one.
    Upright(ChartInk, ChartPoint, Length),
    /// A line through places.
    Curve(ChartInk, Vec<ChartPoint>),
    /// Rectangles that are one shape.
    Rectangles(ChartInk, Vec<Rectangle>),
    /// A rectangle of the scale.
    Swatch(ChartInk, Rectangle),
    /// A disc: its middle and its radius.
    Disc(ChartInk, ChartPoint, f64),
    Text(Text),
}
