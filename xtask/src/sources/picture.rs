//! The picture of an item, as SVG: lines in panels, or bars of ours beside the published ones.

use std::fmt::Write as _;

use super::ComparedTable;
use super::comparison::{Compared, Curve, number};

const COLORS: [&str; 6] = [
    "#1f6fb4", "#d9730d", "#2a8c4a", "#8a4fb5", "#b03a48", "#5a6472",
];
const INK: &str = "#333";
/// Panels beside each other, and the size of one with its titles.
const ACROSS: usize = 3;
const PANEL: (f64, f64) = (300.0, 190.0);
/// What a panel has around its plot: left, top, right, bottom.
const MARGIN: (f64, f64, f64, f64) = (58.0, 24.0, 12.0, 36.0);
/// From this ratio of the largest to the smallest value on, bars are logarithmic.
const WIDE: f64 = 300.0;
/// Heights of a bar, and of a row with both bars.
const BAR: f64 = 11.0;
const GROUP: f64 = 27.0;
/// About how wide a letter is.
const LETTER: f64 = 6.6;

/// The picture, if the table has lines or numbers.
pub fn draw(heading: &str, table: &ComparedTable) -> Option<String> {
    if table.curves.is_empty() {
        bars(heading, table)
    } else {
        Some(lines(heading, table))
    }
}

/// One axis of a plot: values to places.
#[derive(Clone, Copy)]
struct PlotScale {
    low: f64,
    high: f64,
    is_log: bool,
    from: f64,
    to: f64,
}

impl PlotScale {
    /// An axis over these values, from 0 if it is linear.
    fn over(values: impl Iterator<Item = f64> + Clone, is_log: bool, from: f64, to: f64) -> Self {
        let used = values.filter(|value| !is_log || *value > 0.0);
        let high = used.clone().fold(f64::NEG_INFINITY, f64::max);
        let least = used.fold(f64::INFINITY, f64::min);
        let low = if is_log { least } else { least.min(0.0) };
        let (low, high) = if low < high {
            (low, high)
        } else {
            (low.min(0.0), low.max(0.0) + 1.0)
        };
        let low = if is_log { low.max(high * 1e-12) } else { low };
        PlotScale {
            low,
            high,
            is_log,
            from,
            to,
        }
    }

    fn place(&self, value: f64) -> f64 {
        let share = if self.is_log {
            let value = value.max(self.low);
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + share * (self.to - self.from)
    }

    /// Values with a tick.
    fn ticks(&self) -> Vec<f64> {
        if !self.is_log {
            let step = nice((self.high - self.low) / 4.0);
            let first = (self.low / step).ceil() as i64;
            let last = (self.high / step).floor() as i64;
            return (first..=last).map(|index| index as f64 * step).collect();
        }
        let (first, last) = (self.low.log10().ceil(), self.high.log10().floor());
        let step = ((last - first) / 4.0).ceil().max(1.0) as usize;
        let decades = (first as i64..=last as i64).step_by(step);
        decades.map(|decade| 10f64.powi(decade as i32)).collect()
    }
}

/// A step of 1, 2 or 5 times a power of ten, not below `least`.
fn nice(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let factors = [1.0, 2.0, 5.0, 10.0];
    let factor = factors
        .into_iter()
        .find(|factor| factor * power >= least * 0.999);
    factor.unwrap_or(10.0) * power
}

fn lines(heading: &str, table: &ComparedTable) -> String {
    let mut panels: Vec<&str> = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    for curve in &table.curves {
        for (list, name) in [(&mut panels, &curve.panel), (&mut names, &curve.name)] {
            if !list.contains(&name.as_str()) {
                list.push(name);
            }
        }
    }
    let across = panels.len().min(ACROSS);
    let height = panels.len().div_ceil(ACROSS) as f64 * PANEL.1 + 26.0;
    let mut svg = begin(heading, across as f64 * PANEL.0, height);
    for (index, panel) in panels.iter().enumerate() {
        let at = (
            (index % ACROSS) as f64 * PANEL.0,
            (index / ACROSS) as f64 * PANEL.1,
        );
        let mine: Vec<&Curve> = table
            .curves
            .iter()
            .filter(|curve| curve.panel == *panel)
            .collect();
        draw_panel(&mut svg, at, panel, table, &mine, &names);
    }
    if names.len() > 1 {
        legend(&mut svg, (MARGIN.0, height - 12.0), &names);
    }
    svg + "</svg>\n"
}

fn draw_panel(
    svg: &mut String,
    at: (f64, f64),
    title: &str,
    table: &ComparedTable,
    curves: &[&Curve],
    names: &[&str],
) {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let (left, right) = (at.0 + MARGIN.0, at.0 + PANEL.0 - MARGIN.2);
    let (top, bottom) = (at.1 + MARGIN.1, at.1 + PANEL.1 - MARGIN.3);
    let across = PlotScale::over(points().map(|point| point.0), table.axes.log_x, left, right);
    let up = PlotScale::over(points().map(|point| point.1), table.axes.log_y, bottom, top);
    text(svg, (left, top - 8.0), "start", title);
    text(svg, (right, bottom + 30.0), "end", &table.axes.x);
    let _ = writeln!(
        svg,
        r#"<path d="M{left:.0} {top:.0}V{bottom:.0}H{right:.0}" fill="none" stroke="{INK}"/>"#
    );
    for value in across.ticks() {
        text(
            svg,
            (across.place(value), bottom + 15.0),
            "middle",
            &short(value),
        );
    }
    for value in up.ticks() {
        text(
            svg,
            (left - 4.0, up.place(value) + 4.0),
            "end",
            &short(value),
        );
    }
    for curve in curves {
        let index = names
            .iter()
            .position(|name| *name == curve.name)
            .unwrap_or(0);
        let mut path = String::new();
        for (x, y) in &curve.points {
            let letter = if path.is_empty() { 'M' } else { 'L' };
            let _ = write!(path, "{letter}{:.1} {:.1}", across.place(*x), up.place(*y));
        }
        let color = COLORS[index % COLORS.len()];
        let _ = writeln!(
            svg,
            r#"<path d="{path}" fill="none" stroke="{color}" stroke-width="1.3"/>"#
        );
    }
}

fn bars(heading: &str, table: &ComparedTable) -> Option<String> {
    let is_number = |cell: &Compared| number(&cell.ours).or(number(&cell.published)).is_some();
    let has_numbers = |index: &usize| table.rows.iter().any(|row| is_number(&row.values[*index]));
    let shown: Vec<usize> = (0..table.quantities.len()).filter(has_numbers).collect();
    if shown.is_empty() {
        return None;
    }
    let labels: Vec<String> = table.rows.iter().map(|row| row.keys.join(", ")).collect();
    let widths = labels.iter().map(|label| label.chars().count());
    let left = 20.0 + LETTER * widths.max().unwrap_or(0) as f64;
    let panel = GROUP * labels.len() as f64 + 34.0;
    let width = left + 420.0;
    let mut svg = begin(heading, width, panel * shown.len() as f64 + 24.0);
    for (place, index) in shown.iter().enumerate() {
        let top = place as f64 * panel + 20.0;
        text(&mut svg, (left, top), "start", &table.quantities[*index]);
        let cells: Vec<&Compared> = table.rows.iter().map(|row| &row.values[*index]).collect();
        let scale = scale_of_bars(&cells, left, width - 80.0);
        for (at, (cell, label)) in cells.iter().zip(&labels).enumerate() {
            let y = top + 8.0 + at as f64 * GROUP;
            text(&mut svg, (left - 6.0, y + 12.0), "end", label);
            bar(&mut svg, &scale, y, COLORS[0], &cell.ours);
            bar(&mut svg, &scale, y + BAR, COLORS[1], &cell.published);
        }
    }
    let is_printed = |index: &usize| {
        let mut rows = table.rows.iter();
        rows.any(|row| number(&row.values[*index].published).is_some())
    };
    let names = if shown.iter().any(is_printed) {
        &["ours", "printed"][..]
    } else {
        &["ours"]
    };
    legend(&mut svg, (left, panel * shown.len() as f64 + 18.0), names);
    Some(svg + "</svg>\n")
}

/// The axis of a panel of bars.
fn scale_of_bars(cells: &[&Compared], from: f64, to: f64) -> PlotScale {
    let both = cells
        .iter()
        .flat_map(|cell| [number(&cell.ours), number(&cell.published)]);
    let values: Vec<f64> = both.flatten().collect();
    let above = values.iter().copied().filter(|one| *one > 0.0);
    let least = above.fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    let is_log = values.iter().all(|one| *one >= 0.0) && most > WIDE * least;
    // A logarithmic bar begins below the smallest value, so that this one is seen.
    let begins = is_log.then_some(least / 2.0);
    PlotScale::over(values.iter().copied().chain(begins), is_log, from, to)
}

/// A square and a name for each color, beside each other.
fn legend(svg: &mut String, at: (f64, f64), names: &[&str]) {
    let mut x = at.0;
    for (index, name) in names.iter().enumerate() {
        let color = COLORS[index % COLORS.len()];
        let _ = writeln!(
            svg,
            r#"<rect x="{x:.0}" y="{:.0}" width="10" height="10" fill="{color}"/>"#,
            at.1 - 9.0
        );
        text(svg, (x + 14.0, at.1), "start", name);
        x += 30.0 + LETTER * name.chars().count() as f64;
    }
}

fn bar(svg: &mut String, scale: &PlotScale, y: f64, color: &str, cell: &str) {
    let Some(value) = number(cell) else { return };
    let zero = scale.place(if scale.is_log { scale.low } else { 0.0 });
    let end = scale.place(value);
    let (x, width) = (zero.min(end), (end - zero).abs().max(0.5));
    let _ = writeln!(
        svg,
        r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{:.0}" fill="{color}"/>"#,
        BAR - 1.0
    );
    text(svg, (zero.max(end) + 4.0, y + BAR - 1.0), "start", cell);
}

fn begin(heading: &str, width: f64, height: f64) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         font-family=\"sans-serif\" font-size=\"11\" fill=\"{INK}\">\n"
    );
    let _ = writeln!(svg, "<title>{}</title>", escaped(heading));
    let _ = writeln!(svg, r##"<rect width="100%" height="100%" fill="#fff"/>"##);
    svg
}

fn text(svg: &mut String, at: (f64, f64), anchor: &str, words: &str) {
    let _ = writeln!(
        svg,
        r#"<text x="{:.1}" y="{:.1}" text-anchor="{anchor}">{}</text>"#,
        at.0,
        at.1,
        escaped(words)
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// A number of a tick.
fn short(value: f64) -> String {
    let size = value.abs();
    for (least, unit) in [(1e9, "G"), (1e6, "M"), (1e4, "k")] {
        if size >= least {
            let unit_size = if unit == "k" { 1e3 } else { least };
            return format!("{}{unit}", trimmed(value / unit_size));
        }
    }
    trimmed(value)
}

fn trimmed(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scale_puts_ends_of_values_at_ends_of_the_plot() {
        let linear = PlotScale::over([2.0, 8.0].into_iter(), false, 100.0, 0.0);
        assert_eq!((linear.place(0.0), linear.place(8.0)), (100.0, 0.0));
        let log = PlotScale::over([1.0, 100.0].into_iter(), true, 0.0, 10.0);
        assert_eq!(
            (log.place(1.0), log.place(10.0), log.place(100.0)),
            (0.0, 5.0, 10.0)
        );
        assert_eq!(log.ticks(), [1.0, 10.0, 100.0]);
        assert_eq!(linear.ticks(), [0.0, 2.0, 4.0, 6.0, 8.0]);
    }

    #[test]
    fn table_of_words_has_no_picture_and_numbers_have_two_bars_each() {
        let mut table = ComparedTable::new(&["program"], &["class"]);
        table.push(&["a"], vec![Compared::both("MB", "NMB")]);
        assert_eq!(draw("Table", &table), None);
        table.push(&["b & c"], vec![Compared::both("1.5 %", "1,200")]);
        let svg = draw("Table", &table).unwrap();
        assert!(svg.contains("b &amp; c"));
        // The ground, two bars and two squares of the legend.
        assert_eq!(svg.matches("<rect").count(), 5);
        assert!(svg.contains(">printed<"));
        table.rows[1].values[0].published.clear();
        let svg = draw("Table", &table).unwrap();
        // The ground, a bar and its square.
        assert_eq!(svg.matches("<rect").count(), 3);
        assert!(!svg.contains(">printed<"));
    }
}
