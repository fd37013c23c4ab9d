//! Writes pictures as PNG.
//!
//! The shapes of [`Panel::shapes`] in the colours for light ground, two pixels to a unit. Letters
//! are drawn from outlines in this library, as a machine may have other fonts or none.

use tiny_skia::{
    Color, FillRule, LineJoin, Paint, Path, PathBuilder, Pixmap, PremultipliedColorU8, Rect,
    Stroke, StrokeDash, Transform,
};
use ttf_parser::{Face, OutlineBuilder};

use super::shape::{Anchor, ChartInk, ChartPoint, PictureShape, Role, Text};
use super::theme::{self, COLOURS, LIGHT};
use super::{Look, Panel, WIDTH, height};

/// Pixels to a unit: sharp on dense screens, and large enough for a column of a printed page.
const SCALE: f32 = 2.0;

/// Letters of titles, and all others. [How they were made](../../fonts/LICENSE).
const BOLD: &[u8] = include_bytes!("../../fonts/DejaVuSans-Bold.ttf");
const REGULAR: &[u8] = include_bytes!("../../fonts/DejaVuSans.ttf");

/// A file.
pub(super) fn file(panels: &[Panel]) -> Vec<u8> {
    let pixels = |units: f64| (units as f32 * SCALE).ceil().max(1.0) as u32;
    let (width, height) = (pixels(WIDTH), pixels(height(panels)));
    let pixmap = Pixmap::new(width, height).expect("neither side is zero, and both are small");
    let mut canvas = Canvas {
        pixmap,
        placed: Transform::identity(),
        bold: Face::parse(BOLD, 0).expect("the font is a part of this library"),
        regular: Face::parse(REGULAR, 0).expect("the font is a part of this library"),
    };
    canvas.pixmap.fill(colour(LIGHT.ground));
    let mut top = 0.0;
    for panel in panels {
        canvas.placed = Transform::from_translate(0.0, top as f32).post_scale(SCALE, SCALE);
        for shape in panel.shapes() {
            canvas.draw(&shape);
        }
        top += panel.height();
    }
    encode(&canvas.pixmap)
}

/// The pixels as a file: no transparency, as the ground is opaque.
fn encode(pixmap: &Pixmap) -> Vec<u8> {
    let rgb = |pixel: &PremultipliedColorU8| [pixel.red(), pixel.green(), pixel.blue()];
    let bytes: Vec<u8> = pixmap.pixels().iter().flat_map(rgb).collect();
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, pixmap.width(), pixmap.height());
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Balanced);
    let written = encoder
        .write_header()
        .and_then(|mut writer| writer.write_image_data(&bytes));
    written
        .expect("writing to memory does not fail, and the pixels are as many as the header says");
    out
}

/// A colour as the theme writes it: `#rrggbb`.
fn colour(text: &str) -> Color {
    let part = |from: usize| u8::from_str_radix(&text[from..from + 2], 16).unwrap_or(0);
    Color::from_rgba8(part(1), part(3), part(5), u8::MAX)
}

struct Canvas<'a> {
    pixmap: Pixmap,
    /// From units to pixels.
    placed: Transform,
    bold: Face<'a>,
    regular: Face<'a>,
}

impl Canvas<'_> {
    fn draw(&mut self, shape: &PictureShape) {
        let mut path = PathBuilder::new();
        let ink = match shape {
            PictureShape::Level(ink, start, right) => {
                move_to(&mut path, *start);
                line_to(&mut path, (*right, start.1));
                ink
            }
            PictureShape::Upright(ink, start, bottom) => {
                move_to(&mut path, *start);
                line_to(&mut path, (start.0, *bottom));
                ink
            }
            PictureShape::Curve(ink, places) => {
                let mut places = places.iter();
                places
                    .by_ref()
                    .take(1)
                    .for_each(|at| move_to(&mut path, *at));
                places.for_each(|at| line_to(&mut path, *at));
                ink
            }
            PictureShape::Rectangles(ink, rectangles) => {
                rectangles
                    .iter()
                    .for_each(|at| add_rectangle(&mut path, at.0, at.1));
                ink
            }
            PictureShape::Swatch(ink, (corner, size)) => {
                add_rectangle(&mut path, *corner, *size);
                ink
            }
            PictureShape::Disc(ink, at, radius) => {
                path.push_circle(at.0.get() as f32, at.1.get() as f32, *radius as f32);
                ink
            }
            PictureShape::Text(text) => return self.write(text),
        };
        if let Some(path) = path.finish() {
            self.apply(&path, *ink);
        }
    }

    /// Fills or strokes a path.
    fn apply(&mut self, path: &Path, ink: ChartInk) {
        let mut paint = Paint {
            anti_alias: true,
            ..Paint::default()
        };
        let of_series = |series: usize| colour(LIGHT.series[series % COLOURS]);
        let (mut colour, stroke) = match ink {
            ChartInk::Grid => (colour(LIGHT.rule), Some(line(theme::GRID_WIDTH))),
            ChartInk::Mark => {
                let dash = StrokeDash::new(vec![theme::DASH, theme::DASH], 0.0);
                let line = Stroke {
                    dash,
                    ..line(theme::MARK_WIDTH)
                };
                (colour(LIGHT.soft), Some(line))
            }
            ChartInk::Curve(series, look) => {
                let width = match look {
                    Look::Strong => theme::STRONG_WIDTH,
                    Look::Plain => theme::PLAIN_WIDTH,
                    Look::Soft => theme::SOFT_WIDTH,
                };
                (of_series(series), Some(line(width)))
            }
            ChartInk::Series(series, _) => (of_series(series), None),
        };
        match ink {
            ChartInk::Curve(_, Look::Soft) => {
                colour.set_alpha(f32::from(theme::SOFT_OPACITY) / 100.0)
            }
            ChartInk::Series(_, Some(opacity)) => colour.set_alpha(opacity as f32),
            _ => {}
        }
        paint.set_color(colour);
        match stroke {
            Some(stroke) => self
                .pixmap
                .stroke_path(path, &paint, &stroke, self.placed, None),
            None => self
                .pixmap
                .fill_path(path, &paint, FillRule::Winding, self.placed, None),
        }
    }

    /// Draws the outlines of a text's letters.
    fn write(&mut self, text: &Text) {
        let (face, size, ink) = match text.role {
            Role::Title => (&self.bold, theme::TITLE_SIZE, LIGHT.ink),
            Role::Label => (&self.regular, theme::LABEL_SIZE, LIGHT.soft),
            Role::Mark => (&self.regular, theme::MARK_SIZE, LIGHT.soft),
        };
        let mut letters = Letters {
            path: PathBuilder::new(),
            scale: size / f32::from(face.units_per_em()),
            across: 0.0,
        };
        for letter in text.words.chars() {
            // Glyph 0 is a box, for letters that the font lacks.
            let glyph = face.glyph_index(letter).unwrap_or_default();
            face.outline_glyph(glyph, &mut letters);
            let advance = face.glyph_hor_advance(glyph).unwrap_or_default();
            letters.across += f32::from(advance) * letters.scale;
        }
        let before = match text.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => letters.across / 2.0,
            Anchor::End => letters.across,
        };
        let Some(path) = letters.path.finish() else {
            return;
        };
        let turn = if text.turned { -90.0 } else { 0.0 };
        let (x, y) = text.at;
        let placed = Transform::from_translate(-before, 0.0)
            .post_concat(Transform::from_rotate(turn))
            .post_translate(x.get() as f32, y.get() as f32)
            .post_concat(self.placed);
        let mut paint = Paint::default();
        paint.set_color(colour(ink));
        self.pixmap
            .fill_path(&path, &paint, FillRule::Winding, placed, None);
    }
}

fn line(width: f32) -> Stroke {
    Stroke {
        width,
        line_join: LineJoin::Round,
        ..Stroke::default()
    }
}

fn move_to(path: &mut PathBuilder, at: ChartPoint) {
    path.move_to(at.0.get() as f32, at.1.get() as f32);
}

fn line_to(path: &mut PathBuilder, at: ChartPoint) {
    path.line_to(at.0.get() as f32, at.1.get() as f32);
}

fn add_rectangle(path: &mut PathBuilder, corner: ChartPoint, size: ChartPoint) {
    let number = |length: super::shape::Length| length.get() as f32;
    let (x, y) = (number(corner.0), number(corner.1));
    if let Some(rectangle) = Rect::from_xywh(x, y, number(size.0), number(size.1)) {
        path.push_rect(rectangle);
    }
}

/// Outlines, letter after letter, upright in a space whose vertical axis points down.
struct Letters {
    path: PathBuilder,
    /// From the font's units to the picture's.
    scale: f32,
    /// Where the next letter begins.
    across: f32,
}

impl Letters {
    fn place(&self, x: f32, y: f32) -> (f32, f32) {
        (self.across + x * self.scale, -y * self.scale)
    }
}

impl OutlineBuilder for Letters {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let (control, end) = (self.place(x1, y1), self.place(x, y));
        self.path.quad_to(control.0, control.1, end.0, end.1);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let (first, second, end) = (self.place(x1, y1), self.place(x2, y2), self.place(x, y));
        self.path
            .cubic_to(first.0, first.1, second.0, second.1, end.0, end.1);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ChartAxis, ChartLine, DotRow, HEAD, LEFT, RIGHT, Unit, chart};
    use super::*;

    /// Width, height and pixels.
    fn decode(file: &[u8]) -> (u32, u32, Vec<[u8; 3]>) {
        let mut reader = png::Decoder::new(std::io::Cursor::new(file))
            .read_info()
            .unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut bytes).unwrap();
        assert_eq!(info.color_type, png::ColorType::Rgb);
        let (pixels, rest) = bytes.as_chunks();
        assert!(rest.is_empty());
        (info.width, info.height, pixels.to_vec())
    }

    /// From the upper left corner of the axes to the lower right one, a mark at the middle.
    fn diagonal(title: &str) -> Panel {
        Panel::Lines {
            title: title.to_owned(),
            x: ChartAxis::logarithmic("bytes", Unit::Things),
            y: ChartAxis::logarithmic("misses", Unit::Things),
            lines: vec![ChartLine {
                name: "one".to_owned(),
                points: vec![(1.0, 100.0), (100.0, 1.0)],
                look: Look::Strong,
                ..ChartLine::default()
            }],
            marks: vec![(10.0, "L2".to_owned())],
        }
    }

    fn hex(colour: [u8; 3]) -> String {
        format!("#{:02x}{:02x}{:02x}", colour[0], colour[1], colour[2])
    }

    #[test]
    fn curve_grid_and_ground_have_their_places_and_the_colours_of_the_svg_file() {
        let panels = [diagonal("title")];
        let file = super::file(&panels);
        assert_eq!(&file[..8], b"\x89PNG\r\n\x1a\n");
        let (width, height, pixels) = decode(&file);
        assert_eq!((width, height), (1520, 760));
        let at = |x: f64, y: f64| hex(pixels[(y * 2.0) as usize * 1520 + (x * 2.0) as usize]);
        let svg = chart(&panels);
        let bottom = HEAD + 260.0;
        for share in [0.0, 0.1, 0.25, 0.49, 0.75, 1.0] {
            let (x, y) = (
                LEFT + share * (RIGHT - LEFT),
                HEAD + share * (bottom - HEAD),
            );
            let colour = at(x, y);
            assert!(svg.contains(&format!(".l.c0{{fill:none;stroke:{colour}}}")));
            // 3.5 wide: no longer there 8 beside it, but the ground or the grid.
            assert_ne!(at(x - 12.0, y + 8.0), colour, "{share}");
        }
        // Between the lines of the grid, which are at tenths of the height only at 0, 0.5 and 1.
        let ground = at(LEFT + 20.0, bottom - 20.0);
        assert!(svg.contains(&format!("<style>.chart{{background:{ground}}}")));
        let grid = at(LEFT + 30.0, bottom);
        assert!(svg.contains(&format!(".g{{stroke:{grid}}}")), "{grid}");
    }

    #[test]
    fn equal_panels_give_equal_bytes_and_other_words_others() {
        let picture = |title: &str| super::file(&[diagonal(title)]);
        assert_eq!(picture("title"), picture("title"));
        let (_, _, one) = decode(&picture("title"));
        let (_, _, other) = decode(&picture("other"));
        let differ: Vec<usize> = (0..one.len()).filter(|at| one[*at] != other[*at]).collect();
        let inside =
            |at: &usize| (2..60).contains(&(at / 1520)) && (30..130).contains(&(at % 1520));
        assert!(differ.len() > 100 && differ.iter().all(inside));
        // The words have no boxes, which are drawn for letters that the font lacks.
        assert_ne!(picture("ab"), picture("cd"));
        assert_eq!(picture("\u{4e00}"), picture("\u{4e8c}"));
    }

    #[test]
    fn panels_of_all_kinds_are_drawn_one_under_the_other() {
        let dots = Panel::Dots {
            title: "dots".to_owned(),
            x: "times".to_owned(),
            series: vec!["one".to_owned(), "two".to_owned()],
            rows: vec![DotRow {
                name: "row".to_owned(),
                dots: vec![(0, 1.0), (1, 10.0)],
            }],
        };
        let heat = Panel::Heat {
            title: "heat".to_owned(),
            axis: "block".to_owned(),
            rows: 2,
            values: vec![0.0, 5.0, 5.0, 0.0],
        };
        let top = dots.height();
        let (_, height, pixels) = decode(&super::file(&[dots, heat]));
        assert_eq!(f64::from(height), 2.0 * (top + HEAD + 420.0 + 62.0));
        let at = |x: f64, y: f64| hex(pixels[(y * 2.0) as usize * 1520 + (x * 2.0) as usize]);
        assert_eq!(at(LEFT, HEAD + 24.0), LIGHT.series[0]);
        assert_eq!(at(RIGHT, HEAD + 24.0), LIGHT.series[1]);
        assert_eq!(at(LEFT + 100.0, top + HEAD + 100.0), LIGHT.ground);
        assert_eq!(at(LEFT + 300.0, top + HEAD + 100.0), LIGHT.series[0]);
    }

    #[test]
    fn chart_without_panels_has_no_height() {
        assert_eq!(decode(&super::file(&[])).1, 1);
    }
}
