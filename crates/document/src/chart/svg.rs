//! Writes pictures as SVG, as files or as elements of a page.

use std::fmt::Write;

use super::shape::{Anchor, ChartInk, PictureShape, Role, Text};
use super::theme::{self, COLOURS, DARK, LIGHT, Theme};
use super::{Look, Panel, WIDTH, height};
use crate::html::escape;

/// A file, in colours for light and for dark ground.
pub(super) fn file(panels: &[Panel]) -> String {
    let (light, dark) = (colours(&LIGHT), colours(&DARK));
    let style = format!("{light}@media(prefers-color-scheme:dark){{{dark}}}");
    svg(panels, &style)
}

/// An element of a page, in the colours of its style sheet.
pub(super) fn element(panels: &[Panel]) -> String {
    let both = |light: &str, dark: &str| format!("light-dark({light},{dark})");
    let series = LIGHT.series.iter().zip(DARK.series);
    let series: Vec<String> = series.map(|(light, dark)| both(light, dark)).collect();
    let page = Theme {
        ground: "none",
        soft: "var(--soft)",
        ink: "var(--ink)",
        rule: "var(--rule)",
        series: &series.iter().map(String::as_str).collect::<Vec<_>>(),
    };
    // Within a page an element needs no name space, which looks like an address.
    svg(panels, &colours(&page)).replacen(NAME_SPACE, "", 1)
}

/// What makes a file of an element.
const NAME_SPACE: &str = " xmlns=\"http://www.w3.org/2000/svg\"";

/// The colours of all classes.
fn colours(theme: &Theme<'_>) -> String {
    let Theme {
        ground,
        soft,
        ink,
        rule,
        series,
    } = theme;
    let mut out = format!(
        ".chart{{background:{ground}}}.chart text{{fill:{soft}}}.chart .t{{fill:{ink}}}.chart .g{{stroke:{rule}}}.chart .mark{{stroke:{soft}}}"
    );
    for (index, colour) in series.iter().enumerate() {
        let _ = write!(
            out,
            ".chart .c{index}{{fill:{colour}}}.chart .l.c{index}{{fill:none;stroke:{colour}}}"
        );
    }
    out
}

/// The sizes of all classes.
fn sizes() -> String {
    use theme::{
        DASH, LABEL_SIZE, MARK_SIZE, MARK_WIDTH, PLAIN_WIDTH, SOFT_OPACITY, SOFT_WIDTH,
        STRONG_WIDTH, TITLE_SIZE,
    };
    format!(
        ".chart text{{font:{LABEL_SIZE}px system-ui,sans-serif}}.chart .t{{font-weight:600;font-size:{TITLE_SIZE}px}}\
         .chart .g,.chart .l{{fill:none}}.chart .l{{stroke-width:{PLAIN_WIDTH};stroke-linejoin:round}}\
         .chart .strong{{stroke-width:{STRONG_WIDTH}}}.chart .pale{{stroke-width:{SOFT_WIDTH};opacity:.{SOFT_OPACITY}}}\
         .chart .mark{{fill:none;stroke-width:{MARK_WIDTH};stroke-dasharray:{DASH} {DASH}}}\
         .chart .marked{{font-size:{MARK_SIZE}px}}"
    )
}

fn svg(panels: &[Panel], colours: &str) -> String {
    let (height, sizes) = (height(panels), sizes());
    let names: Vec<String> = panels.iter().map(Panel::name).collect();
    let label = escape(&names.join("; "));
    let mut out = format!(
        "<svg{NAME_SPACE} class=\"chart\" viewBox=\"0 0 {WIDTH} {height}\" \
         role=\"img\" aria-label=\"{label}\" width=\"100%\"><style>{colours}{sizes}</style>"
    );
    let mut top = 0.0;
    for panel in panels {
        let _ = write!(out, "<g transform=\"translate(0 {top})\">");
        for shape in panel.shapes() {
            write_shape(&mut out, &shape);
        }
        out.push_str("</g>");
        top += panel.height();
    }
    out.push_str("</svg>\n");
    out
}

fn write_shape(out: &mut String, shape: &PictureShape) {
    // Writing to a string cannot fail.
    let _ = match shape {
        PictureShape::Level(ink, (x, y), right) => {
            write!(out, "<path {} d=\"M{x} {y}H{right}\"/>", drawn_with(*ink))
        }
        PictureShape::Upright(ink, (x, y), bottom) => {
            write!(out, "<path {} d=\"M{x} {y}V{bottom}\"/>", drawn_with(*ink))
        }
        PictureShape::Curve(ink, places) => {
            let _ = write!(out, "<path {} d=\"", drawn_with(*ink));
            for (index, (x, y)) in places.iter().enumerate() {
                let _ = write!(out, "{}{x} {y}", if index == 0 { "M" } else { "L" });
            }
            write!(out, "\"/>")
        }
        PictureShape::Rectangles(ink, rectangles) => {
            let _ = write!(out, "<path {} d=\"", drawn_with(*ink));
            for ((x, y), (width, height)) in rectangles {
                let _ = write!(out, "M{x} {y}h{width}v{height}h-{width}z");
            }
            write!(out, "\"/>")
        }
        PictureShape::Swatch(ink, ((x, y), (width, height))) => write!(
            out,
            "<rect {} x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>",
            drawn_with(*ink)
        ),
        PictureShape::Disc(ink, (x, y), radius) => write!(
            out,
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" {}/>",
            drawn_with(*ink)
        ),
        PictureShape::Text(text) => write_text(out, text),
    };
}

fn write_text(out: &mut String, text: &Text) -> std::fmt::Result {
    let class = match text.role {
        Role::Title => " class=\"t\"",
        Role::Label => "",
        Role::Mark => " class=\"marked\"",
    };
    let (x, y) = text.at;
    let place = if text.turned {
        format!("transform=\"translate({x} {y}) rotate(-90)\"")
    } else {
        format!("x=\"{x}\" y=\"{y}\"")
    };
    let anchor = match text.anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let words = escape(&text.words);
    write!(out, "<text{class} {place}{anchor}>{words}</text>")
}

/// The attributes that say what a shape is drawn with.
fn drawn_with(ink: ChartInk) -> String {
    match ink {
        ChartInk::Grid => "class=\"g\"".to_owned(),
        ChartInk::Mark => "class=\"mark\"".to_owned(),
        ChartInk::Curve(series, look) => {
            let look = match look {
                Look::Strong => " strong",
                Look::Plain => "",
                Look::Soft => " pale",
            };
            format!("class=\"l c{}{look}\"", series % COLOURS)
        }
        ChartInk::Series(series, None) => format!("class=\"c{}\"", series % COLOURS),
        ChartInk::Series(series, Some(opacity)) => {
            let class = series % COLOURS;
            format!("class=\"c{class}\" fill-opacity=\"{opacity:.2}\"")
        }
    }
}
