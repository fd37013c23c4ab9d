//! [`Plot`]: the frame of a page's picture, with axes, grid and marks. Shapes are SVG that
//! stretches with the page; words are HTML, placed in percent, so that they keep their size on a
//! narrow screen.

use std::fmt::Write;

use reuselens_document::html::escape;
use reuselens_locality::Log2Histogram;
use reuselens_units::Granularity;

use crate::caches::{self, Level};

/// The part of the width that finite distances have; the rest is for first touches.
const FINITE: f64 = 0.93;

/// From which share of the width on the label of a cache goes to the left of its line.
const FLIP: f64 = 0.86;

/// The same on narrow pages.
const NARROW_FLIP: f64 = 0.68;

/// A logarithmic axis of cache sizes in items. A distance d needs a cache of d + 1 items, so the
/// log2 bin [2^(x−1), 2^x − 1] is between 2^(x−1) and 2^x, and distance 0 in the half octave
/// before 1.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) granularity: Granularity,
}

impl Axis {
    /// An axis that shows all distances up to `max` and the caches that are not far beyond.
    pub(crate) fn new(max: Option<u64>, levels: &[Level], granularity: Granularity) -> Self {
        let data = max.map_or(0, Log2Histogram::bin) as f64;
        let mut high = data.max(5.0);
        for level in levels {
            let octave = (level.items.max(1) as f64).log2();
            if octave <= data.max(5.0) + 4.0 {
                high = high.max(octave + 0.8);
            }
        }
        Axis {
            low: -1.0,
            high: high.ceil(),
            granularity,
        }
    }

    /// The place of a cache of `items` items, as a share of the width.
    pub(crate) fn x(&self, items: f64) -> f64 {
        let octave = if items < 1.0 { self.low } else { items.log2() };
        ((octave - self.low) / (self.high - self.low) * FINITE).clamp(0.0, 1.0)
    }

    /// For the script: the octaves at the left and of the last finite distances, and the place of
    /// the latter.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::json!([self.low, self.high, FINITE])
    }

    /// The largest size that the axis reaches at its right end.
    pub(crate) fn end(&self) -> u64 {
        let octave = self.low + (self.high - self.low) / FINITE;
        octave.min(62.0).exp2() as u64
    }

    /// Whether a cache of this many items is in the picture.
    pub(crate) fn shows(&self, items: u64) -> bool {
        (items.max(1) as f64).log2() <= self.high
    }

    /// Sizes to write under the axis, and whether a narrow screen leaves them out.
    fn ticks(&self) -> Vec<(u64, bool)> {
        let step = if self.high - self.low > 22.0 { 4 } else { 2 };
        let last = self.high as usize;
        (0..=last)
            .step_by(step)
            .map(|octave| (1_u64 << octave.min(63), (octave / step) % 2 == 1))
            .collect()
    }
}

/// A picture to be framed.
pub(crate) struct Plot<'a> {
    pub(crate) id: &'a str,
    /// What it shows, for those who cannot see it.
    pub(crate) label: String,
    pub(crate) height: u32,
    pub(crate) axis: &'a Axis,
    /// The share at the top.
    pub(crate) top: f64,
    /// Shapes, in a square of 1000 × 1000.
    pub(crate) shapes: String,
    /// Words and marks, in percent.
    pub(crate) words: String,
    /// Whether the right end is for first touches.
    pub(crate) cold: bool,
    pub(crate) axis_name: &'a str,
}

impl Plot<'_> {
    /// Appends the picture.
    pub(crate) fn write(&self, out: &mut String) {
        let ticks = share_ticks(self.top);
        let _ = write!(
            out,
            "<div class=\"plot\" id=\"{}\" style=\"--h:{}px\"><div class=\"y\">",
            self.id, self.height
        );
        for tick in &ticks {
            let _ = write!(
                out,
                "<span style=\"bottom:{:.2}%\">{}</span>",
                tick / self.top * 100.0,
                tick_label(*tick)
            );
        }
        let _ = write!(
            out,
            "</div><div class=\"area\" data-flip=\"{FLIP}\" data-narrow-flip=\"{NARROW_FLIP}\" role=\"img\" \
             aria-label=\"{}\"><svg viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
            escape(&self.label)
        );
        for tick in ticks.iter().filter(|tick| **tick > 0.0) {
            let y = 1000.0 - tick / self.top * 1000.0;
            let _ = write!(out, "<path class=\"grid\" d=\"M0 {y:.1}H1000\"/>");
        }
        let _ = write!(
            out,
            "{}</svg>{}</div><div class=\"x\" aria-hidden=\"true\">",
            self.shapes, self.words
        );
        self.write_x(out);
        let _ = write!(
            out,
            "</div><div class=\"axis-name\" aria-hidden=\"true\">{}</div></div>",
            self.axis_name
        );
    }

    fn write_x(&self, out: &mut String) {
        for (items, minor) in self.axis.ticks() {
            let left = self.axis.x(items as f64) * 100.0;
            let class = if minor || self.cold && left > 75.0 {
                " class=\"minor\""
            } else {
                ""
            };
            if self.cold && left > FINITE * 100.0 - 4.0 {
                continue;
            }
            let label = caches::size(items, self.axis.granularity);
            let _ = write!(out, "<span{class} style=\"left:{left:.2}%\">{label}</span>");
        }
        if self.cold {
            let left = (1.0 + FINITE) * 50.0;
            let _ = write!(
                out,
                "<span class=\"bare\" style=\"left:{left:.2}%\">first</span>"
            );
        }
    }
}

/// The left and right edge of the bar of the first touches, in thousandths.
pub(crate) fn cold_bar() -> (f64, f64) {
    (FINITE * 1000.0 + 14.0, 996.0)
}

/// Dashed lines where the caches end, the chosen one drawn through. `value` adds a word to each.
pub(crate) fn marks(
    axis: &Axis,
    levels: &[Level],
    chosen: &Level,
    value: impl Fn(&Level) -> Option<String>,
) -> String {
    let mut shown: Vec<&Level> = levels
        .iter()
        .filter(|level| axis.shows(level.items))
        .collect();
    if !levels.contains(chosen) && axis.shows(chosen.items) {
        shown.push(chosen);
        shown.sort_by_key(|level| level.items);
    }
    let mut out = String::new();
    let (mut last, mut row) = (-1.0, 0);
    for (index, level) in shown.into_iter().enumerate() {
        let x = axis.x(level.items as f64);
        row = if x - last < 0.11 { row + 1 } else { 0 };
        last = x;
        let on = if level == chosen { " on" } else { "" };
        let flip = match x {
            FLIP.. => " flip narrow-flip",
            NARROW_FLIP.. => " narrow-flip",
            _ => "",
        };
        let name = level.name.as_deref().unwrap_or("cache");
        let value = value(level)
            .map(|value| format!("<br>{value}"))
            .unwrap_or_default();
        let _ = write!(
            out,
            "<div class=\"mark{on}{flip}\" data-items=\"{}\" style=\"left:{:.2}%;--row:{row};--narrow-row:{index};\
             --lines:{}\"><span><b>{name}</b> {}{value}</span></div>",
            level.items,
            x * 100.0,
            if value.is_empty() { 1 } else { 2 },
            level.size,
        );
    }
    out
}

/// A round number at or above `max` that the axis of shares ends at.
pub(crate) fn share_top(max: f64) -> f64 {
    if max <= 0.0 {
        return 1.0;
    }
    let step = share_step(max);
    ((max / step).ceil() * step).min(1.0).max(max)
}

fn share_step(max: f64) -> f64 {
    let rough = max / 4.0;
    let power = 10_f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0];
    let step = steps
        .into_iter()
        .find(|step| step * power >= rough * 0.999)
        .unwrap_or(10.0);
    step * power
}

fn share_ticks(top: f64) -> Vec<f64> {
    let step = share_step(top);
    let mut ticks: Vec<f64> = (0..=8).map(|index| f64::from(index) * step).collect();
    ticks.retain(|tick| *tick <= top * 1.001);
    ticks
}

fn tick_label(share: f64) -> String {
    let percent = share * 100.0;
    if percent == 0.0 {
        "0".to_owned()
    } else if (percent - percent.round()).abs() < 1e-6 {
        format!("{percent:.0} %")
    } else {
        format!("{} %", format!("{percent:.3}").trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axis_tops_are_round_and_not_below_the_data() {
        for max in [1e-6, 0.003, 0.04, 0.33, 0.5, 0.97, 1.0] {
            let top = share_top(max);
            assert!(top >= max && top <= 1.0_f64.max(max), "{max} {top}");
            let ticks = share_ticks(top);
            assert!((3..=8).contains(&ticks.len()), "{max} {ticks:?}");
        }
        assert_eq!(tick_label(0.025), "2.5 %");
        assert_eq!(tick_label(0.2), "20 %");
    }

    #[test]
    fn an_axis_shows_caches_near_the_data() {
        let level =
            |items: u64| Level::custom(reuselens_units::Bytes(items * 64), Granularity::LINE_64);
        let levels = [level(512), level(1 << 30)];
        let axis = Axis::new(Some(1000), &levels, Granularity::LINE_64);
        assert!(axis.shows(512) && !axis.shows(1 << 30));
        assert_eq!(axis.x(0.5), 0.0);
        assert!(axis.x(1.0) < axis.x(2.0));
        assert!(axis.end() > 1 << 10);
    }

    #[test]
    fn labels_go_left_only_where_the_right_has_no_room() {
        let level =
            |items: u64| Level::custom(reuselens_units::Bytes(items * 64), Granularity::LINE_64);
        let axis = Axis::new(Some(1 << 20), &[], Granularity::LINE_64);
        let class = |items: u64| {
            let out = marks(&axis, &[level(items)], &level(1), |_| None);
            let mark = out
                .split("<div ")
                .find(|mark| mark.contains(&format!("\"{items}\"")));
            mark.and_then(|mark| mark.split('"').nth(1))
                .map(str::to_owned)
        };
        assert!((0.6..NARROW_FLIP).contains(&axis.x(16384.0)));
        assert_eq!(class(16384).as_deref(), Some("mark"));
        assert!((NARROW_FLIP..FLIP).contains(&axis.x(65536.0)));
        assert_eq!(class(65536).as_deref(), Some("mark narrow-flip"));
        assert_eq!(class(1 << 20).as_deref(), Some("mark flip narrow-flip"));
    }
}
