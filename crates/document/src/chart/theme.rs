//! The colours and sizes of pictures, for SVG and PNG alike.

/// Colours of series; of more, they repeat.
pub(super) const COLOURS: usize = 6;

/// Colours, as CSS writes them.
pub(super) struct Theme<'a> {
    pub(super) ground: &'a str,
    /// Writing and marks.
    pub(super) soft: &'a str,
    /// Titles.
    pub(super) ink: &'a str,
    /// The grid.
    pub(super) rule: &'a str,
    pub(super) series: &'a [&'a str],
}

/// On light ground. Colours as such, not as variables: not every program that shows SVG files knows
/// those.
pub(super) const LIGHT: Theme<'static> = Theme {
    ground: "#ffffff",
    soft: "#565d66",
    ink: "#1a1d21",
    rule: "#dfdfd9",
    series: &[
        "#c2500f", "#3d7ea6", "#7d64a8", "#4c8a3f", "#a3336b", "#8a7000",
    ],
};

/// On dark ground.
pub(super) const DARK: Theme<'static> = Theme {
    ground: "#1b1e23",
    soft: "#a3abb4",
    ink: "#e9e8e3",
    rule: "#31363d",
    series: &[
        "#f28c4c", "#5fa8d3", "#b59ce0", "#86c274", "#e884b4", "#d6bb4a",
    ],
};

/// Sizes of letters.
pub(super) const TITLE_SIZE: f32 = 15.0;
pub(super) const LABEL_SIZE: f32 = 13.0;
pub(super) const MARK_SIZE: f32 = 11.5;

/// Widths of lines.
pub(super) const GRID_WIDTH: f32 = 1.0;
pub(super) const MARK_WIDTH: f32 = 1.2;
pub(super) const STRONG_WIDTH: f32 = 3.5;
pub(super) const PLAIN_WIDTH: f32 = 2.0;
pub(super) const SOFT_WIDTH: f32 = 1.5;

/// The opacity of a line to compare with, in percent.
pub(super) const SOFT_OPACITY: u8 = 55;
/// Length of the dashes of a mark, and of the gaps between them.
pub(super) const DASH: f32 = 4.0;
